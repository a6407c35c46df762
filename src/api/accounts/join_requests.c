/* Requests about joining: agents that wait to be accepted, and tokens with which agents join (joining.h). */
#include <string.h>

#include "api/accounts/token_rules.h"
#include "api/cluster/joining.h"
#include "api/pipeline/convert.h"
#include "api/pipeline/identity.h"
#include "api/pipeline/internal.h"
#include "common/config/config.h"
#include "common/system/log.h"
#include "gen/handlers.h"
#include "store/functions.h"

static int check_pool(const struct req *r, const char *pool, struct error *err)
{
    const struct api_defaults *d = &r->api->defaults;
    if (!*pool)
        return 0;
    for (size_t i = 0; i < d->pool_n; i++)
        if (strcmp(d->pool[i].name, pool) == 0)
            return 0;
    return error_set(err, ERR_NOT_FOUND, "resource pool \"%.80s\" does not exist", pool);
}

static const char *or_empty(const char *s)
{
    return s ? s : "";
}

/* ---- agents that wait -------------------------------------------------------------------------------------------- */

int api_get_pending_agents(struct req *r, struct core *core, const struct wire_get_pending_agents_request *in,
                           struct wire_get_pending_agents_response *ret, struct error *err)
{
    size_t n;
    const struct pending_agent *p = joining_pending(r->api->joining, r->now_us, &n);
    struct wire_agent_pending_agent *w = arena_array(&r->arena, struct wire_agent_pending_agent, n + 1);
    for (size_t i = 0; i < n; i++)
        w[i] = (struct wire_agent_pending_agent){.id = arena_strdup(&r->arena, p[i].id),
                                                 .fingerprint = arena_strdup(&r->arena, p[i].fingerprint),
                                                 .address = arena_strdup(&r->arena, p[i].address),
                                                 .hostname = arena_strdup(&r->arena, p[i].hostname),
                                                 .version = arena_strdup(&r->arena, p[i].version),
                                                 .resource_pool = arena_strdup(&r->arena, p[i].pool),
                                                 .first_seen = p[i].first_us,
                                                 .has_first_seen = true,
                                                 .last_seen = p[i].last_us,
                                                 .has_last_seen = true};
    ret->agents = w;
    ret->agents_n = n;
    return 0;
}

struct acceptance {
    struct store_agent_key row;
};

/* The key is stored: from now on the agent may show it. */
static int let_in(struct req *r, struct core *core, struct error *err)
{
    const struct acceptance *a = r->state;
    const struct api_services *s = &r->api->services;
    char fingerprint[JOINING_FINGERPRINT + 1];
    const struct pending_agent *p;
    cleanup_error struct error gone = ERROR_INIT;
    joining_fingerprint(a->row.hash, fingerprint);
    s->agent_key_accepted(s->ctx, a->row.agent_id, a->row.hash, a->row.pool);
    if (joining_find_pending(r->api->joining, a->row.agent_id, fingerprint, r->now_us, &p, &gone) == 0)
        joining_drop_pending(r->api->joining, p);
    log_info("agent.accepted", "id=%s fingerprint=%s by=%s", log_quote(a->row.agent_id), fingerprint,
             log_quote(r->who.username));
    return 0;
}

static int store_acceptance(struct req *r, struct store *db, struct error *err)
{
    const struct acceptance *a = r->state;
    return store_agent_key_put(db, &a->row, r->now_us, err) < 0 ? -1 : req_then_loop(r, let_in);
}

int api_accept_agent(struct req *r, struct core *core, const struct wire_accept_agent_request *in,
                     struct wire_accept_agent_response *ret, struct error *err)
{
    const struct api_services *s = &r->api->services;
    const char *id = or_empty(in->agent_id), *pool = or_empty(in->resource_pool);
    const struct pending_agent *p;
    if (req_need_admin(r, "accept agents", err) < 0 || check_pool(r, pool, err) < 0 ||
        joining_find_pending(r->api->joining, id, or_empty(in->fingerprint), r->now_us, &p, err) < 0)
        return -1;
    if (s->agent_has_key(s->ctx, id))
        return error_set(err, ERR_CONFLICT,
                         "agent '%s' has a key, which another machine may have: revoke it first (det agent revoke-key "
                         "%s)",
                         id, id);
    struct acceptance *a = arena_new(&r->arena, struct acceptance);
    memcpy(a->row.agent_id, p->id, sizeof(a->row.agent_id));
    memcpy(a->row.hash, p->hash, sizeof(a->row.hash));
    snprintf(a->row.pool, sizeof(a->row.pool), "%s", pool);
    r->state = a;
    return req_then_write(r, store_acceptance);
}

int api_reject_agent(struct req *r, struct core *core, const struct wire_reject_agent_request *in,
                     struct wire_reject_agent_response *ret, struct error *err)
{
    const struct pending_agent *p;
    if (req_need_admin(r, "reject agents", err) < 0 ||
        joining_find_pending(r->api->joining, or_empty(in->agent_id), or_empty(in->fingerprint), r->now_us, &p, err) <
            0)
        return -1;
    log_info("agent.rejected", "id=%s fingerprint=%s by=%s", log_quote(p->id), p->fingerprint,
             log_quote(r->who.username));
    joining_drop_pending(r->api->joining, p);
    return 0;
}

/* ---- tokens ------------------------------------------------------------------------------------------------------ */

static struct wire_agent_join_token token_to_wire(const struct store_join_token *t, struct arena *a)
{
    return (struct wire_agent_join_token){.id = (int32_t)t->id,
                                          .description = arena_strdup(a, t->description),
                                          .resource_pool = arena_strdup(a, t->pool),
                                          .uses = t->uses,
                                          .uses_max = t->uses_max,
                                          .user_id = (int32_t)t->user_id,
                                          .created_at = t->created_us,
                                          .has_created_at = true,
                                          .expiry = t->expiry_us,
                                          .has_expiry = true};
}

struct new_join_token {
    const char *text;
    struct store_join_token row;
};

static int remember_token(struct req *r, struct core *core, struct error *err)
{
    const struct new_join_token *t = r->state;
    struct wire_post_join_token_response *ret = r->ret;
    struct wire_agent_join_token *w = arena_new(&r->arena, struct wire_agent_join_token);
    joining_put_token(r->api->joining, &t->row);
    *w = token_to_wire(&t->row, &r->arena);
    ret->token = t->text;
    ret->join_token = w;
    log_info("agent.join_token_created", "token=%lld pool=%s uses=%d by=%s", (long long)t->row.id,
             log_quote(t->row.pool), t->row.uses_max, log_quote(r->who.username));
    return 0;
}

/* Stores the token. Tokens that have ended are deleted on this occasion. */
static int store_token(struct req *r, struct store *db, struct error *err)
{
    struct new_join_token *t = r->state;
    int64_t id;
    if (store_join_tokens_forget(db, r->now_us, err) < 0 || store_join_token_insert(db, &t->row, &id, err) < 0)
        return -1;
    t->row.id = (int32_t)id;
    return req_then_loop(r, remember_token);
}

static int check_uses(const struct wire_post_join_token_request *in, int32_t *ret, struct error *err)
{
    enum { USES_MAX = 100000 };
    *ret = in->has_uses ? in->uses : 1;
    if (*ret < 0 || *ret > USES_MAX)
        return error_set(err, ERR_INVALID, "uses is %d: it must be from 0 (any number of agents) to %d", in->uses,
                         USES_MAX);
    return 0;
}

int api_post_join_token(struct req *r, struct core *core, const struct wire_post_join_token_request *in,
                        struct wire_post_join_token_response *ret, struct error *err)
{
    const struct api_services *s = &r->api->services;
    const struct token_days days = {.has_default = true, .by_default = 1, .max = -1};
    const char *pool = or_empty(in->resource_pool), *pin = s->certificate_fingerprint(s->ctx);
    struct new_join_token *t = arena_new(&r->arena, struct new_join_token);
    struct token token;
    int64_t lifespan_us;
    int32_t uses_max;
    if (req_need_admin(r, "create tokens with which agents join", err) < 0 || check_pool(r, pool, err) < 0 ||
        token_lifespan(in->lifespan, &days, &lifespan_us, err) < 0 || check_uses(in, &uses_max, err) < 0 ||
        token_description_check(in->description, err) < 0 || token_new(&token, err) < 0)
        return -1;
    joining_forget_ended(r->api->joining, r->now_us);
    if (joining_token_n(r->api->joining) >= JOINING_TOKENS_MAX)
        return error_set(err, ERR_PRECONDITION,
                         "there are %d join tokens, more are not allowed: revoke those that are not needed any more "
                         "(det agent join-token list, det agent join-token revoke)",
                         JOINING_TOKENS_MAX);
    const char *secret = arena_printf(&r->arena, JOIN_TOKEN_PREFIX "%s", token.text);
    t->text = pin ? arena_printf(&r->arena, "%s.%s", secret, pin) : secret;
    t->row = (struct store_join_token){.description = or_empty(in->description),
                                       .uses_max = uses_max,
                                       .user_id = r->who.user_id,
                                       .created_us = r->now_us,
                                       .expiry_us = r->now_us + lifespan_us};
    snprintf(t->row.pool, sizeof(t->row.pool), "%s", pool);
    token_hash(secret, t->row.hash);
    r->state = t;
    return req_then_write(r, store_token);
}

int api_get_join_tokens(struct req *r, struct store *db, const struct wire_get_join_tokens_request *in,
                        struct wire_get_join_tokens_response *ret, struct error *err)
{
    struct store_join_token *row;
    size_t n;
    if (req_need_admin(r, "list the tokens with which agents join", err) < 0 ||
        store_join_tokens_all(db, &r->arena, &row, &n, err) < 0)
        return -1;
    ret->join_tokens = arena_array(&r->arena, struct wire_agent_join_token, n + 1);
    ret->join_tokens_n = n;
    for (size_t i = 0; i < n; i++)
        ret->join_tokens[i] = token_to_wire(&row[i], &r->arena);
    return 0;
}

static int forget_token(struct req *r, struct core *core, struct error *err)
{
    const struct wire_delete_join_token_request *in = r->state;
    joining_drop_token(r->api->joining, in->token_id);
    log_info("agent.join_token_revoked", "token=%d by=%s", in->token_id, log_quote(r->who.username));
    return 0;
}

int api_delete_join_token(struct req *r, struct store *db, const struct wire_delete_join_token_request *in,
                          struct wire_delete_join_token_response *ret, struct error *err)
{
    if (req_need_admin(r, "revoke tokens with which agents join", err) < 0 ||
        store_join_token_delete(db, in->token_id, err) < 0)
        return -1;
    r->state = (void *)in;
    return req_then_loop(r, forget_token);
}
