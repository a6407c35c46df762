#include "api/accounts/remote_account.h"

#include <string.h>

#include "api/accounts/account_rules.h"
#include "api/pipeline/internal.h"
#include "api/rights/permissions.h"
#include "store/functions.h"
#include "store/store.h"

/* ---- the account ------------------------------------------------------------------------------------------------- */

int remote_display_name(struct store *db, const char *name, int32_t id, const char **ret, struct error *err)
{
    int64_t n = 0;
    if (name && store_user_count_shown_as(db, name, id, &n, err) < 0)
        return -1;
    *ret = n ? NULL : name;
    return 0;
}

static int make_account(struct req *r, struct store *db, const struct remote_person *p, struct error *err)
{
    struct store_user u = {.username = p->username, .active = true, .remote = true, .modified_us = r->now_us};
    int64_t last = 0;
    if (store_last_id(db, STORE_IDS_USERS, &last, err) < 0)
        return -1;
    u.id = (int32_t)last + 1;
    return store_user_insert(db, &u, err);
}

static int find_account(struct req *r, struct store *db, const struct remote_person *p, bool provision,
                        struct remote_account *x, struct error *err)
{
    cleanup_error struct error why = ERROR_INIT;
    if (store_user_by_name(db, p->username, &r->arena, &x->user, &why) == 0)
        return 0;
    if (error_pass_unless(&why, ERR_NOT_FOUND, err))
        return -1;
    if (!provision)
        return error_set(err, ERR_FORBIDDEN,
                         "user '%s' has no account here: an admin makes one (det user create %s --remote)", p->username,
                         p->username);
    x->is_new = true;
    return make_account(r, db, p, err) < 0 ? -1 : store_user_by_name(db, p->username, &r->arena, &x->user, err);
}

static int check_may_log_in(const struct store_user *u, const char *by, struct error *err)
{
    if (!u->remote)
        return error_set(err, ERR_FORBIDDEN,
                         "user '%s' logs in with a password here: an admin can hand the account over to the %s (det "
                         "user edit %s --remote true)",
                         u->username, by, u->username);
    if (!u->active)
        return error_set(err, ERR_FORBIDDEN, "user '%s' is not active", u->username);
    return 0;
}

/* ---- what follows the service ------------------------------------------------------------------------------------ */

/* The account on agents with what the service says in place of what was there. */
static int agent_account(struct req *r, const struct remote_person *p, const struct remote_rules *rules,
                         const struct store_agent_user_group *before, struct store_agent_user_group *ret,
                         struct error *err)
{
    struct wire_user_agent_user_group g = {.has_agent_uid = p->has_uid || before->set,
                                           .agent_uid = p->has_uid ? p->uid : before->uid,
                                           .has_agent_gid = p->has_gid || before->set,
                                           .agent_gid = p->has_gid ? p->gid : before->gid,
                                           .agent_user = p->agent_user ? p->agent_user : before->user,
                                           .agent_group = p->agent_group ? p->agent_group : before->group};
    if (!p->has_uid && !p->has_gid && !p->agent_user && !p->agent_group)
        return 0;
    cleanup_error struct error why = ERROR_INIT;
    if (account_check_link_is_whole(&g, &why) < 0 || account_check_link(&g, api_allows_root_links(r->api), &why) < 0)
        return error_set(err, ERR_FORBIDDEN, "what the %s says of the account on agents of '%s' is refused: %s",
                         rules->by, p->username, error_msg(&why));
    bool same = before->set && before->uid == g.agent_uid && before->gid == g.agent_gid &&
                strcmp(before->user, g.agent_user) == 0 && strcmp(before->group, g.agent_group) == 0;
    if (!same)
        *ret = (struct store_agent_user_group){
            .set = true, .uid = g.agent_uid, .gid = g.agent_gid, .user = g.agent_user, .group = g.agent_group};
    return 0;
}

static int follow_name(struct store *db, const struct remote_person *p, const struct remote_account *x,
                       const char **ret, struct error *err)
{
    const char *shown = x->user.display_name ? x->user.display_name : "";
    return p->display_name && strcmp(p->display_name, shown) != 0
               ? remote_display_name(db, p->display_name, x->user.id, ret, err)
               : 0;
}

static int change_account(struct req *r, struct store *db, const struct remote_person *p,
                          const struct remote_rules *rules, struct remote_account *x, struct error *err)
{
    struct store_user_patch patch = {.has_admin = rules->sync_admin && p->admin != x->user.admin, .admin = p->admin};
    if ((rules->sync_agent && agent_account(r, p, rules, &x->user.agent, &patch.agent, err) < 0) ||
        (rules->provision && follow_name(db, p, x, &patch.display_name, err) < 0))
        return -1;
    if (!patch.display_name && !patch.agent.set && !patch.has_admin)
        return 0;
    if (store_user_patch(db, &patch, x->user.id, r->now_us, err) < 0)
        return -1;
    return store_user_get(db, x->user.id, &r->arena, &x->user, err);
}

/* ---- groups ------------------------------------------------------------------------------------------------------ */

static bool is_named(const struct remote_person *p, const char *group)
{
    for (size_t i = 0; i < p->group_n; i++)
        if (strcmp(p->group[i], group) == 0)
            return true;
    return false;
}

/* A group that this cluster does not have is passed over: the service's groups are about more than this cluster. */
static int join(struct req *r, struct store *db, const char *name, struct remote_account *x, struct error *err)
{
    cleanup_error struct error why = ERROR_INIT;
    struct store_group g;
    bool in = false;
    if (store_group_by_name(db, name, &r->arena, &g, &why) < 0)
        return error_pass_unless(&why, ERR_NOT_FOUND, err) ? -1 : 0;
    if (store_group_has_member(db, g.id, x->user.id, &in, err) < 0)
        return -1;
    if (in)
        return 0;
    x->joined[x->joined_n++] = g.id;
    return store_group_member_add(db, g.id, x->user.id, err);
}

static int sync_groups(struct req *r, struct store *db, const struct remote_person *p, struct remote_account *x,
                       struct error *err)
{
    struct store_group *now;
    size_t n;
    int64_t removed;
    if (store_groups_of_user(db, x->user.id, &r->arena, &now, &n, err) < 0)
        return -1;
    x->left = arena_array(&r->arena, int32_t, n + 1);
    x->joined = arena_array(&r->arena, int32_t, p->group_n + 1);
    for (size_t i = 0; i < n; i++) {
        if (is_named(p, now[i].name))
            continue;
        x->left[x->left_n++] = now[i].id;
        if (store_group_member_remove(db, now[i].id, x->user.id, &removed, err) < 0)
            return -1;
    }
    for (size_t i = 0; i < p->group_n; i++)
        if (join(r, db, p->group[i], x, err) < 0)
            return -1;
    return 0;
}

int remote_account_store(struct req *r, struct store *db, const struct remote_person *p,
                         const struct remote_rules *rules, struct remote_account *ret, struct error *err)
{
    struct remote_account x = {0};
    if (find_account(r, db, p, rules->provision, &x, err) < 0 || check_may_log_in(&x.user, rules->by, err) < 0 ||
        change_account(r, db, p, rules, &x, err) < 0 || (rules->sync_groups && sync_groups(r, db, p, &x, err) < 0))
        return -1;
    *ret = x;
    return 0;
}

void remote_account_remember(struct req *r, const struct remote_account *x)
{
    struct permissions *p = r->api->permissions;
    for (size_t i = 0; i < x->left_n; i++)
        permissions_leave(p, x->left[i], x->user.id);
    for (size_t i = 0; i < x->joined_n; i++)
        permissions_join(p, x->joined[i], x->user.id);
}
