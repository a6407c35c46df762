/* Creates, lists, changes and revokes access tokens. A token is a session (api/pipeline/identity.h) that its user makes
 * for a program: it has a lifespan, a scope and a description, and only its hash is stored. Users have to do with their
 * own tokens, admins with everybody's. */
#include <string.h>

#include "api/accounts/actor.h"
#include "api/accounts/token_rules.h"
#include "api/pipeline/convert.h"
#include "api/pipeline/identity.h"
#include "api/pipeline/internal.h"
#include "common/config/config.h"
#include "common/system/log.h"
#include "gen/handlers.h"
#include "store/functions.h"

static bool is_for_another(const struct req *r, int32_t user_id)
{
    return user_id != r->who.user_id;
}

static const struct wire_user_token_info *token_to_wire(const struct store_access_token *t, struct arena *a)
{
    struct wire_user_token_info *w = arena_new(a, struct wire_user_token_info);
    *w = (struct wire_user_token_info){.id = (int32_t)t->id,
                                       .user_id = t->user_id,
                                       .expiry = t->expiry_us,
                                       .has_expiry = true,
                                       .created_at = t->created_us,
                                       .has_created_at = true,
                                       .token_type = WIRE_USER_TOKEN_TYPE_ACCESS_TOKEN,
                                       .revoked = t->revoked,
                                       .description = t->description ? t->description : "",
                                       .has_scope = true,
                                       .scope = access_scope_to_wire(access_scope_of_name(t->scope))};
    return w;
}

/* ---- creating ---------------------------------------------------------------------------------------------------- */

struct new_token {
    struct token token;
    struct store_session row;
    enum access_scope scope;
    int64_t id;
};

static int remember_token(struct req *r, struct core *core, struct error *err)
{
    const struct new_token *t = r->state;
    struct identity_session s = {.kind = PRINCIPAL_USER,
                                 .scope = t->scope,
                                 .access_token = true,
                                 .id = t->id,
                                 .user_id = t->row.user_id,
                                 .expires_at_us = t->row.expiry_us};
    struct wire_post_access_token_response *ret = r->ret;
    identities_put_session(api_identities(r->api), t->token.hash, &s);
    ret->token = arena_strdup(&r->arena, t->token.text);
    ret->token_id = (int32_t)t->id;
    log_info("token.created", "token=%lld user=%d scope=%s by=%s", (long long)t->id, t->row.user_id,
             access_scope_word(t->scope), log_quote(r->who.username));
    return 0;
}

static int store_token(struct req *r, struct store *db, struct error *err)
{
    struct new_token *t = r->state;
    struct store_user owner;
    int64_t n = 0;
    if (actor_check_again(r, db, is_for_another(r, t->row.user_id), err) < 0 ||
        store_user_get(db, t->row.user_id, &r->arena, &owner, err) < 0 ||
        store_access_token_count(db, t->row.user_id, r->now_us, &n, err) < 0)
        return -1;
    if (!owner.active)
        return error_set(err, ERR_PRECONDITION, "user '%s' is deactivated: a token of theirs could do nothing",
                         owner.username);
    if (n >= TOKENS_IN_FORCE_MAX)
        return error_set(err, ERR_PRECONDITION,
                         "user '%s' has %lld access tokens in force, at most %d are allowed: revoke those that are not "
                         "needed any more (det token list, det token revoke)",
                         owner.username, (long long)n, TOKENS_IN_FORCE_MAX);
    return store_session_insert(db, &t->row, &t->id, err) < 0 ? -1 : req_then_loop(r, remember_token);
}

int api_post_access_token(struct req *r, struct core *core, const struct wire_post_access_token_request *in,
                          struct wire_post_access_token_response *ret, struct error *err)
{
    const struct config *c = api_info(r->api)->config;
    struct token_days days = {.has_default = config_is_set(c, "security.token.default_lifespan_days"),
                              .by_default = config_int(c, "security.token.default_lifespan_days"),
                              .max = config_int(c, "security.token.max_lifespan_days")};
    struct new_token *t = arena_new(&r->arena, struct new_token);
    int64_t lifespan_us;
    if (token_lifespan(in->lifespan, &days, &lifespan_us, err) < 0 ||
        token_description_check(in->description, err) < 0 || access_scope_of_wire(in->scope, &t->scope, err) < 0 ||
        token_new(&t->token, err) < 0)
        return -1;
    t->row = (struct store_session){.user_id = in->user_id,
                                    .kind = "ACCESS_TOKEN",
                                    .scope = access_scope_name(t->scope),
                                    .created_us = r->now_us,
                                    .expiry_us = r->now_us + lifespan_us,
                                    .description = in->description ? in->description : ""};
    memcpy(t->row.token_hash, t->token.hash, sizeof(t->row.token_hash));
    r->state = t;
    return req_then_write(r, store_token);
}

/* ---- listing ----------------------------------------------------------------------------------------------------- */

/* Sets the user whose tokens are listed; 0 stands for everybody's. */
static int choose_user(struct req *r, struct store *db, const char *username, int32_t *ret, struct error *err)
{
    struct store_user u;
    *ret = r->who.admin ? 0 : r->who.user_id;
    if (!username || !*username)
        return 0;
    if (!r->who.admin && strcmp(username, r->who.username) != 0)
        return req_need_admin(r, "list access tokens of other users", err);
    if (store_user_by_name(db, username, &r->arena, &u, err) < 0)
        return -1;
    *ret = u.id;
    return 0;
}

int api_get_access_tokens(struct req *r, struct store *db, const struct wire_get_access_tokens_request *in,
                          struct wire_get_access_tokens_response *ret, struct error *err)
{
    /* whoever names tokens by their ids wants to see them, also those that have ended */
    bool all = in->show_inactive || in->token_ids_n;
    struct store_access_token_filter f = {.ids = {in->token_ids, in->token_ids_n},
                                          .in_force_at = all ? 0 : r->now_us,
                                          .sort_by = (int32_t)in->sort_by,
                                          .descending = in->order_by == WIRE_ORDER_BY_DESC,
                                          .page = page_of(in->offset, in->limit)};
    struct store_access_token_list list;
    if (choose_user(r, db, in->username, &f.user_id, err) < 0 ||
        store_access_token_list(db, &f, &r->arena, &list, err) < 0)
        return -1;
    ret->token_info = arena_array(&r->arena, struct wire_user_token_info, list.access_token_n + 1);
    ret->token_info_n = list.access_token_n;
    for (size_t i = 0; i < list.access_token_n; i++)
        ret->token_info[i] = *token_to_wire(&list.access_token[i], &r->arena);
    ret->pagination = pagination(f.page, list.window, &r->arena);
    return 0;
}

/* ---- changing and revoking --------------------------------------------------------------------------------------- */

static int forget_token(struct req *r, struct core *core, struct error *err)
{
    const struct store_access_token *t = r->state;
    identities_drop_session(api_identities(r->api), t->token_hash);
    log_info("token.revoked", "token=%lld user=%d by=%s", (long long)t->id, t->user_id, log_quote(r->who.username));
    return 0;
}

static int check_change(struct req *r, struct store *db, const struct store_access_token *t, struct error *err)
{
    if (is_for_another(r, t->user_id) && req_need_admin(r, "change access tokens of other users", err) < 0)
        return -1;
    if (t->revoked)
        return error_set(err, ERR_PRECONDITION, "access token %lld is revoked: it can't be changed any more",
                         (long long)t->id);
    return actor_check_again(r, db, is_for_another(r, t->user_id), err);
}

int api_patch_access_token(struct req *r, struct store *db, const struct wire_patch_access_token_request *in,
                           struct wire_patch_access_token_response *ret, struct error *err)
{
    struct store_access_token *t = arena_new(&r->arena, struct store_access_token);
    if (token_description_check(in->description, err) < 0 ||
        store_access_token_get(db, in->token_id, &r->arena, t, err) < 0 || check_change(r, db, t, err) < 0 ||
        (in->description && store_access_token_describe(db, t->id, in->description, err) < 0) ||
        (in->set_revoked && store_access_token_revoke(db, t->id, err) < 0) ||
        store_access_token_get(db, t->id, &r->arena, t, err) < 0)
        return -1;
    ret->token_info = token_to_wire(t, &r->arena);
    r->state = t;
    return in->set_revoked ? req_then_loop(r, forget_token) : 0;
}
