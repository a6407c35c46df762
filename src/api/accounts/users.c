/* Lists, shows, creates and changes users. A change names its columns. Whether the one who asks may make the change
 * is checked again on the writer's thread. The identities in memory follow each commit. */
#include <string.h>

#include "api/accounts/account_rules.h"
#include "api/accounts/actor.h"
#include "api/accounts/admins.h"
#include "api/accounts/password.h"
#include "api/accounts/password_lane.h"
#include "api/checkpoints/task_account.h"
#include "api/cluster/quota_follow.h"
#include "api/pipeline/convert.h"
#include "api/pipeline/identity.h"
#include "api/pipeline/internal.h"
#include "api/pipeline/unchanged.h"
#include "common/config/config.h"
#include "common/json/json.h"
#include "gen/handlers.h"
#include "store/functions.h"

/* ---- reading ----------------------------------------------------------------------------------------------------- */

int api_get_users(struct req *r, struct store *db, const struct wire_get_users_request *in,
                  struct wire_get_users_response *ret, struct error *err)
{
    struct store_user_filter f = {.name = in->name,
                                  .has_active = in->has_active,
                                  .active = in->active,
                                  .has_admin = in->has_admin,
                                  .admin = in->admin,
                                  .sort_by = (int32_t)in->sort_by,
                                  .descending = in->order_by == WIRE_ORDER_BY_DESC,
                                  .page = page_of(in->offset, in->limit)};
    struct store_user_list list;
    if (store_user_list(db, &f, &r->arena, &list, err) < 0)
        return -1;
    ret->users = arena_array(&r->arena, struct wire_user, list.user_n + 1);
    ret->users_n = list.user_n;
    for (size_t i = 0; i < list.user_n; i++)
        ret->users[i] = *user_to_wire(&list.user[i], &r->arena);
    ret->pagination = pagination(f.page, list.window, &r->arena);
    return 0;
}

int api_get_user(struct req *r, struct store *db, const struct wire_get_user_request *in,
                 struct wire_get_user_response *ret, struct error *err)
{
    struct store_user u;
    if (store_user_get(db, in->user_id, &r->arena, &u, err) < 0)
        return -1;
    ret->user = user_to_wire(&u, &r->arena);
    return 0;
}

int api_get_user_by_username(struct req *r, struct store *db, const struct wire_get_user_by_username_request *in,
                             struct wire_get_user_by_username_response *ret, struct error *err)
{
    struct store_user u;
    if (store_user_by_name(db, in->username, &r->arena, &u, err) < 0)
        return -1;
    ret->user = user_to_wire(&u, &r->arena);
    return 0;
}

/* ---- creating and changing ----
 * The steps: check (loop) → hash the password (the password lane) → store (write) → update the identities (loop). */

/* Somebody who changes their own password must have shown the old password this recently: a stolen token of an older
 * login is not enough. */
#define FRESH_LOGIN_US (10LL * 60 * 1000000)

struct change {
    struct store_user user; /* the user as it is in the store afterwards; if it is new, as it will be */
    struct store_user_patch patch;
    const struct wire_user **ret; /* the reply's */
    int32_t id;
    bool has_if_modified; /* the change is made only if the user was last changed at that time */
    int64_t if_modified_us;
    const char *wire_password; /* NULL: the password does not change */
    char stored[PASSWORD_STORED_MAX];
    bool create, own, as_admin; /* as_admin: only an admin may make this change */
    struct quota_news *renamed; /* NULL: the user is called as before */
};

static int remember_user(struct req *r, struct core *core, struct error *err)
{
    const struct change *c = r->state;
    struct identities *ids = api_identities(r->api);
    struct identity_user u;
    identity_of_store(&c->user, &u);
    identities_put_user(ids, &u);
    if (!u.active)
        identities_drop_sessions_of_user(ids, u.id, IDENTITY_END_ALL, NULL);
    else if (c->wire_password && !c->create)
        identities_drop_sessions_of_user(ids, u.id, IDENTITY_END_PASSWORD, c->own ? r->who.token_hash : NULL);
    return c->renamed ? quota_tell(r, core, c->renamed, err) : 0;
}

static int check_display_name_is_free(struct req *r, struct store *db, const char *name, int32_t id, struct error *err)
{
    int64_t n = 0;
    if (!name || !*name)
        return 0;
    if (store_user_count_shown_as(db, name, id, &n, err) < 0)
        return -1;
    if (n > 0)
        return error_set(err, ERR_INVALID,
                         "the display name \"%s\" is taken: it is another user's user name or display name", name);
    return 0;
}

static int store_new(struct req *r, struct store *db, struct change *c, struct error *err)
{
    int64_t last = 0;
    if (store_last_id(db, STORE_IDS_USERS, &last, err) < 0 ||
        check_display_name_is_free(r, db, c->user.display_name, 0, err) < 0)
        return -1;
    c->user.id = (int32_t)last + 1;
    c->user.modified_us = r->now_us;
    c->user.password_hash = c->wire_password ? c->stored : NULL;
    return store_user_insert(db, &c->user, err);
}

static int store_patch(struct req *r, struct store *db, struct change *c, struct error *err)
{
    static const uint8_t nobody[STORE_TOKEN_HASH_SIZE];
    struct store_user before;
    if (store_user_get(db, c->id, &r->arena, &before, err) < 0 ||
        need_unchanged(c->has_if_modified, c->if_modified_us, before.modified_us,
                       arena_printf(&r->arena, "user '%s'", before.username), err) < 0 ||
        check_display_name_is_free(r, db, c->patch.display_name, c->id, err) < 0)
        return -1;
    if (c->wire_password && (c->patch.has_remote ? c->patch.remote : before.remote))
        return error_set(err, ERR_INVALID, "user '%s' is remote and logs in elsewhere: no password can be set",
                         before.username);
    c->patch.password_hash = c->wire_password ? c->stored : NULL;
    if (store_user_patch(db, &c->patch, c->id, r->now_us, err) < 0 ||
        store_user_get(db, c->id, &r->arena, &c->user, err) < 0 ||
        admins_check_one_is_left(db, &before, &c->user, err) < 0 ||
        (c->patch.username && quota_read_names(r, db, &c->renamed, err) < 0))
        return -1;
    if (!c->user.active)
        return store_sessions_end_of_user(db, c->id, err);
    if (c->wire_password)
        return store_sessions_end_of_password(db, c->id, c->own ? r->who.token_hash : nobody, err);
    return 0;
}

static int store_change(struct req *r, struct store *db, struct error *err)
{
    struct change *c = r->state;
    if (actor_check_again(r, db, c->as_admin, err) < 0 ||
        (c->create ? store_new(r, db, c, err) : store_patch(r, db, c, err)) < 0)
        return -1;
    *c->ret = user_to_wire(&c->user, &r->arena);
    return req_then_loop(r, remember_user);
}

static int hash_change(struct req *r, struct store *db, struct error *err)
{
    struct change *c = r->state;
    return password_store_form(c->wire_password, c->stored, err);
}

static int password_hashed(struct req *r, struct core *core, struct error *err)
{
    return req_then_write(r, store_change);
}

static int make_change(struct req *r, struct core *core, struct error *err)
{
    const struct change *c = r->state;
    if (!c->wire_password)
        return req_then_write(r, store_change);
    return password_lane_run(r, hash_change, password_hashed, err);
}

/* The cluster's storage, which the user's tasks use unless their workspace or experiment names another. Runs on a
 * thread that may wait for the disk. */
static int check_link_with_storage(struct req *r, struct error *err)
{
    const struct change *c = r->state;
    const struct store_agent_user_group *g = c->create ? &c->user.agent : &c->patch.agent;
    const struct store_workspace_agent account = {
        .has_uid = true, .uid = g->uid, .has_gid = true, .gid = g->gid, .user = g->user};
    const char *text = r->api->defaults.checkpoint_storage;
    cleanup_json struct json_object *storage = NULL;
    if (text && json_parse(text, strlen(text), &storage, err) < 0)
        return -1;
    return task_account_check_storage(storage, &account, &r->arena, err) < 0 ? -1 : req_then_loop(r, make_change);
}

static int go_on(struct req *r, struct core *core, struct change *c, struct error *err)
{
    r->state = c;
    if (c->create ? c->user.agent.set : c->patch.agent.set)
        return req_then_transfer(r, check_link_with_storage);
    return make_change(r, core, err);
}

static int take_link(struct req *r, const struct wire_user_agent_user_group *g, struct store_agent_user_group *ret,
                     struct error *err)
{
    if (!g)
        return 0;
    if (account_check_link_is_whole(g, err) < 0 || account_check_link(g, api_allows_root_links(r->api), err) < 0)
        return -1;
    *ret = (struct store_agent_user_group){
        .set = true, .uid = g->agent_uid, .gid = g->agent_gid, .user = g->agent_user, .group = g->agent_group};
    return 0;
}

/* Takes the new password over into the change. An account without a password cannot log in until an admin sets one:
 * a password is never blank. */
static int take_password(struct req *r, struct change *c, const char *password, bool is_hashed, const char *username,
                         struct error *err)
{
    if (!password || !*password)
        return 0;
    size_t min = (size_t)config_int(api_info(r->api)->config, "security.password_min_length");
    if (password_check_new(password, is_hashed, min, username, err) < 0)
        return -1;
    return password_wire_form(password, is_hashed, &r->arena, &c->wire_password, err);
}

int api_post_user(struct req *r, struct core *core, const struct wire_post_user_request *in,
                  struct wire_post_user_response *ret, struct error *err)
{
    const struct wire_user *u = in->user;
    if (!u)
        return error_set(err, ERR_INVALID, "user is missing");
    struct change *c = arena_new(&r->arena, struct change);
    *c = (struct change){.ret = &ret->user,
                         .create = true,
                         .as_admin = true,
                         .user = {.admin = u->admin, .active = u->active, .remote = u->remote}};
    if (req_need_admin(r, "create users", err) < 0 ||
        account_username(u->username, &r->arena, &c->user.username, err) < 0 ||
        (u->display_name && account_display_name(u->display_name, &r->arena, &c->user.display_name, err) < 0) ||
        take_link(r, u->agent_user_group, &c->user.agent, err) < 0 ||
        take_password(r, c, in->password, in->is_hashed, c->user.username, err) < 0)
        return -1;
    return go_on(r, core, c, err);
}

static int take_patch(struct req *r, struct change *c, const struct wire_user_patch_user *p, struct error *err)
{
    const struct identity_user *now = identities_user(api_identities(r->api), c->id);
    struct store_user_patch *to = &c->patch;
    *to = (struct store_user_patch){.has_admin = p->has_admin,
                                    .admin = p->admin,
                                    .has_active = p->has_active,
                                    .active = p->active,
                                    .has_remote = p->has_remote,
                                    .remote = p->remote};
    if ((p->username && account_username(p->username, &r->arena, &to->username, err) < 0) ||
        (p->display_name && account_display_name(p->display_name, &r->arena, &to->display_name, err) < 0) ||
        take_link(r, p->agent_user_group, &to->agent, err) < 0)
        return -1;
    if (p->password && !*p->password)
        return error_set(err, ERR_INVALID, "the password must not be empty");
    return take_password(r, c, p->password, p->is_hashed, to->username ? to->username : now ? now->username : "", err);
}

/* The released client sends no old password. A recent login proves that the user knows it. */
static int check_login_is_fresh(const struct req *r, struct error *err)
{
    if (r->who.password_at_us && r->now_us - r->who.password_at_us <= FRESH_LOGIN_US)
        return 0;
    return error_set(err, ERR_FORBIDDEN,
                     "to change your own password, you must have logged in with the present one within the last "
                     "%lld minutes: log in again (det user login %s), then change it",
                     FRESH_LOGIN_US / 60000000, r->who.username);
}

int api_patch_user(struct req *r, struct core *core, const struct wire_patch_user_request *in,
                   struct wire_patch_user_response *ret, struct error *err)
{
    static const struct wire_user_patch_user nothing;
    const struct wire_user_patch_user *p = in->user ? in->user : &nothing; /* the body is empty or null */
    struct change *c = arena_new(&r->arena, struct change);
    bool open_to_owner = !p->username && !p->has_admin && !p->has_active && !p->has_remote && !p->agent_user_group;
    *c = (struct change){.ret = &ret->user,
                         .id = in->user_id,
                         .own = in->user_id == r->who.user_id,
                         .has_if_modified = p->has_if_modified_at,
                         .if_modified_us = p->if_modified_at};
    c->as_admin = !(c->own && open_to_owner);
    if ((c->as_admin && req_need_admin(r, "change other users, names, rights or agent accounts", err) < 0) ||
        req_need_user(r, err) < 0 || take_patch(r, c, p, err) < 0 ||
        (c->own && c->wire_password && check_login_is_fresh(r, err) < 0))
        return -1;
    return go_on(r, core, c, err);
}

/* The password comes as plain text, as in release 0.38.1. */
int api_set_user_password(struct req *r, struct core *core, const struct wire_set_user_password_request *in,
                          struct wire_set_user_password_response *ret, struct error *err)
{
    const struct wire_user_patch_user patch = {.password = in->password ? in->password : ""};
    struct change *c = arena_new(&r->arena, struct change);
    *c = (struct change){.ret = &ret->user, .id = in->user_id, .own = in->user_id == r->who.user_id};
    c->as_admin = !c->own;
    if (take_patch(r, c, &patch, err) < 0 || (c->own && check_login_is_fresh(r, err) < 0))
        return -1;
    return go_on(r, core, c, err);
}

/* ---- settings of the web interface ------------------------------------------------------------------------------- */

int api_get_user_setting(struct req *r, struct store *db, const struct wire_get_user_setting_request *in,
                         struct wire_get_user_setting_response *ret, struct error *err)
{
    struct store_user_setting *s;
    size_t n;
    if (store_user_settings(db, r->who.user_id, &r->arena, &s, &n, err) < 0)
        return -1;
    ret->settings = arena_array(&r->arena, struct wire_user_web_setting, n + 1);
    ret->settings_n = n;
    for (size_t i = 0; i < n; i++)
        ret->settings[i] = (struct wire_user_web_setting){.key = s[i].key,
                                                          .storage_path = s[i].storage_path,
                                                          .value = s[i].value};
    return 0;
}

enum { SETTING_NAME_MAX = 1024, SETTING_VALUE_MAX = 256 * 1024, SETTINGS_MAX = 1000 };

static int check_setting(const struct wire_user_web_setting *w, size_t i, struct error *err)
{
    if (!w->key || !*w->key)
        return error_set(err, ERR_INVALID, "settings[%zu].key is missing", i);
    if (strlen(w->key) > SETTING_NAME_MAX || (w->storage_path && strlen(w->storage_path) > SETTING_NAME_MAX))
        return error_set(err, ERR_INVALID, "settings[%zu]: key and storagePath have at most %d bytes each", i,
                         SETTING_NAME_MAX);
    if (w->value && strlen(w->value) > SETTING_VALUE_MAX)
        return error_set(err, ERR_INVALID, "settings[%zu].value has %zu bytes, at most %d are allowed", i,
                         strlen(w->value), SETTING_VALUE_MAX);
    return 0;
}

int api_post_user_setting(struct req *r, struct store *db, const struct wire_post_user_setting_request *in,
                          struct wire_post_user_setting_response *ret, struct error *err)
{
    for (size_t i = 0; i < in->settings_n; i++) {
        const struct wire_user_web_setting *w = &in->settings[i];
        if (check_setting(w, i, err) < 0)
            return -1;
        struct store_user_setting s = {.key = w->key,
                                       .storage_path = w->storage_path ? w->storage_path : "",
                                       .value = w->value ? w->value : ""};
        if (store_user_setting_set(db, &s, r->who.user_id, err) < 0)
            return -1;
    }
    int64_t n;
    if (store_user_settings_count(db, r->who.user_id, &n, err) < 0)
        return -1;
    if (n > SETTINGS_MAX)
        return error_set(err, ERR_PRECONDITION,
                         "user '%s' would have %lld settings, at most %d settings are kept: reset them first",
                         r->who.username, (long long)n, SETTINGS_MAX);
    return 0;
}

int api_reset_user_setting(struct req *r, struct store *db, const struct wire_reset_user_setting_request *in,
                           struct wire_reset_user_setting_response *ret, struct error *err)
{
    return store_user_settings_reset(db, r->who.user_id, err);
}
