/* Users: list, look at, create, change. Passwords are hashed on a worker; the identities in memory follow each
 * commit. */
#include <ctype.h>
#include <string.h>

#include "api/convert.h"
#include "api/identity.h"
#include "api/internal.h"
#include "api/password.h"
#include "gen/handlers.h"
#include "store/sessions.h"
#include "store/users.h"

enum { NAME_MAX_BYTES = 127 };

/* ---- look ---- */

int api_get_users(struct req *r, const struct wire_get_users_request *in, struct wire_get_users_response *ret,
                  struct error *err)
{
    struct store_user_filter f = {.name = in->name, .has_active = in->has_active, .active = in->active, .has_admin = in->has_admin,
                                  .admin = in->admin, .sort_by = (int32_t)in->sort_by,
                                  .descending = in->order_by == WIRE_ORDER_BY_DESC, .page = page_of(in->offset, in->limit)};
    struct store_user_list list;
    if (store_user_list(r->db, &f, &r->arena, &list, err) < 0)
        return -1;
    ret->users = arena_array(&r->arena, struct wire_user, list.user_n + 1);
    ret->users_n = list.user_n;
    for (size_t i = 0; i < list.user_n; i++)
        ret->users[i] = *user_to_wire(&list.user[i], &r->arena);
    ret->pagination = pagination(f.page, list.window, &r->arena);
    return 0;
}

int api_get_user(struct req *r, const struct wire_get_user_request *in, struct wire_get_user_response *ret,
                 struct error *err)
{
    struct store_user u;
    if (store_user_get(r->db, in->user_id, &r->arena, &u, err) < 0)
        return -1;
    ret->user = user_to_wire(&u, &r->arena);
    return 0;
}

int api_get_user_by_username(struct req *r, const struct wire_get_user_by_username_request *in,
                             struct wire_get_user_by_username_response *ret, struct error *err)
{
    struct store_user u;
    if (store_user_by_name(r->db, in->username, &r->arena, &u, err) < 0)
        return -1;
    ret->user = user_to_wire(&u, &r->arena);
    return 0;
}

/* ---- create and change: hash (work) → store (write) → remember (loop) ---- */

struct change {
    struct store_user user;
    const char *wire_password; /* NULL: stays as it is */
    char stored[PASSWORD_STORED_MAX];
    bool create;
};

static int remember_user(struct req *r, struct error *err)
{
    const struct change *c = r->state;
    struct identity_user u;
    identity_of_store(&c->user, &u);
    identities_put_user(api_identities(r->api), &u);
    if (c->wire_password && !c->create) /* a changed password ends every login */
        identities_drop_sessions_of_user(api_identities(r->api), u.id, /* only_logins= */ true);
    return 0;
}

static void fill_reply(struct req *r, const struct change *c)
{
    const struct wire_user *w = user_to_wire(&c->user, &r->arena);
    if (c->create)
        ((struct wire_post_user_response *)r->ret)->user = w;
    else
        ((struct wire_patch_user_response *)r->ret)->user = w;
}

static int store_change(struct req *r, struct error *err)
{
    struct change *c = r->state;
    int64_t last = 0;
    c->user.modified_us = r->now_us;
    if (c->create) {
        if (store_last_id(r->db, STORE_IDS_USERS, &last, err) < 0)
            return -1;
        c->user.id = (int32_t)last + 1;
        c->user.password_hash = c->wire_password ? c->stored : NULL;
        if (store_user_insert(r->db, &c->user, err) < 0)
            return -1;
    } else if (store_user_update(r->db, &c->user, err) < 0) {
        return -1;
    } else if (c->wire_password && (store_user_set_password(r->db, c->user.id, c->stored, r->now_us, err) < 0 ||
                                    store_sessions_delete_of_user(r->db, c->user.id, "LOGIN", err) < 0 ||
                                    store_sessions_delete_of_user(r->db, c->user.id, "TASK", err) < 0)) {
        return -1;
    }
    fill_reply(r, c);
    return req_then(r, REQ_LOOP, remember_user);
}

static int hash_change(struct req *r, struct error *err)
{
    struct change *c = r->state;
    if (c->wire_password && password_store_form(c->wire_password, c->stored, err) < 0)
        return -1;
    return req_then(r, REQ_WRITE, store_change);
}

static int check_name(const char *name, const char *what, struct error *err)
{
    size_t n = strlen(name);
    if (n == 0 || n > NAME_MAX_BYTES)
        return error_set(err, ERR_INVALID, "%s must have 1 to %d bytes, it has %zu", what, NAME_MAX_BYTES, n);
    for (size_t i = 0; i < n; i++)
        if (iscntrl((unsigned char)name[i]))
            return error_set(err, ERR_INVALID, "%s must not contain control characters", what);
    return 0;
}

static void set_agent_user(const struct wire_user_agent_user_group *g, struct store_agent_user_group *ret)
{
    *ret = (struct store_agent_user_group){.set = true,
                                           .uid = g->agent_uid,
                                           .gid = g->agent_gid,
                                           .user = g->agent_user ? g->agent_user : "",
                                           .group = g->agent_group ? g->agent_group : ""};
}

/* An account without a password cannot log in until an admin gives it one: none is ever blank. */
static int take_password(struct req *r, struct change *c, const char *password, bool is_hashed, struct error *err)
{
    if (!password || !*password)
        return 0;
    return password_wire_form(password, is_hashed, &r->arena, &c->wire_password, err);
}

int api_post_user(struct req *r, const struct wire_post_user_request *in, struct wire_post_user_response *ret,
                  struct error *err)
{
    const struct wire_user *u = in->user;
    if (!u)
        return error_set(err, ERR_INVALID, "user is missing");
    if (req_need_admin(r, "create users", err) < 0 || check_name(u->username ? u->username : "", "username", err) < 0)
        return -1;
    struct change *c = arena_new(&r->arena, struct change);
    *c = (struct change){.create = true, .user = {.username = u->username, .display_name = u->display_name, .admin = u->admin,
                                                  .active = u->active, .remote = u->remote}};
    if (u->agent_user_group)
        set_agent_user(u->agent_user_group, &c->user.agent);
    if (take_password(r, c, in->password, in->is_hashed, err) < 0)
        return -1;
    r->state = c;
    return req_then(r, REQ_WORK, hash_change);
}

static int apply_patch(struct req *r, struct change *c, const struct wire_user_patch_user *p, struct error *err)
{
    struct store_user *u = &c->user;
    if (p->username) {
        if (check_name(p->username, "username", err) < 0)
            return -1;
        u->username = p->username;
    }
    if (p->display_name)
        u->display_name = p->display_name;
    if (p->has_admin)
        u->admin = p->admin;
    if (p->has_active)
        u->active = p->active;
    if (p->has_remote)
        u->remote = p->remote;
    if (p->agent_user_group)
        set_agent_user(p->agent_user_group, &u->agent);
    if (p->password && !*p->password)
        return error_set(err, ERR_INVALID, "the password must not be empty");
    return take_password(r, c, p->password, p->is_hashed, err);
}

int api_patch_user(struct req *r, const struct wire_patch_user_request *in, struct wire_patch_user_response *ret,
                   struct error *err)
{
    static const struct wire_user_patch_user nothing;
    const struct wire_user_patch_user *p = in->user ? in->user : &nothing; /* an empty body, or null */
    bool own = in->user_id == r->who.user_id;
    bool own_matters_only = !p->username && !p->has_admin && !p->has_active && !p->has_remote && !p->agent_user_group;
    if (!(own && own_matters_only) && req_need_admin(r, "change other users, names, rights or agent accounts", err) < 0)
        return -1;
    if (req_need_user(r, err) < 0)
        return -1;
    struct change *c = arena_new(&r->arena, struct change);
    if (store_user_get(r->db, in->user_id, &r->arena, &c->user, err) < 0 || apply_patch(r, c, p, err) < 0)
        return -1;
    r->state = c;
    return req_then(r, REQ_WORK, hash_change);
}

/* ---- settings of the web interface ---- */

int api_get_user_setting(struct req *r, const struct wire_get_user_setting_request *in,
                         struct wire_get_user_setting_response *ret, struct error *err)
{
    struct store_user_setting *s;
    size_t n;
    if (store_user_settings(r->db, r->who.user_id, &r->arena, &s, &n, err) < 0)
        return -1;
    ret->settings = arena_array(&r->arena, struct wire_user_web_setting, n + 1);
    ret->settings_n = n;
    for (size_t i = 0; i < n; i++)
        ret->settings[i] = (struct wire_user_web_setting){.key = s[i].key,
                                                          .storage_path = s[i].storage_path,
                                                          .value = s[i].value};
    return 0;
}

int api_post_user_setting(struct req *r, const struct wire_post_user_setting_request *in,
                          struct wire_post_user_setting_response *ret, struct error *err)
{
    for (size_t i = 0; i < in->settings_n; i++) {
        const struct wire_user_web_setting *w = &in->settings[i];
        if (!w->key || !*w->key)
            return error_set(err, ERR_INVALID, "settings[%zu].key is missing", i);
        struct store_user_setting s = {.key = w->key, .storage_path = w->storage_path ? w->storage_path : "",
                                       .value = w->value ? w->value : ""};
        if (store_user_setting_set(r->db, r->who.user_id, &s, err) < 0)
            return -1;
    }
    return 0;
}

int api_reset_user_setting(struct req *r, const struct wire_reset_user_setting_request *in,
                           struct wire_reset_user_setting_response *ret, struct error *err)
{
    return store_user_settings_reset(r->db, r->who.user_id, err);
}
