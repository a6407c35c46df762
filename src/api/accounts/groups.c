/* Groups of users: made, listed, shown, changed and deleted. What the members may do by the roles of their groups is in
 * roles.c. The permissions in memory follow each commit. */
#include <string.h>

#include "api/accounts/actor.h"
#include "api/accounts/groups.h"
#include "api/pipeline/convert.h"
#include "api/pipeline/internal.h"
#include "api/pipeline/names.h"
#include "api/rights/permissions.h"
#include "common/base/clock.h"
#include "gen/handlers.h"
#include "store/functions.h"

enum { LIMIT_MAX = 500 };

/* Release 0.38.1 keeps such a group for each user and refuses the word in names of others, so that scripts that look
 * for it stay right. */
#define PERSONAL_GROUP "DeterminedPersonalGroup"

static int check_name(const char *name, struct error *err)
{
    if (name_check("group", name, "", err) < 0)
        return -1;
    if (strstr(name, PERSONAL_GROUP))
        return error_set(err, ERR_INVALID, "group name cannot contain '" PERSONAL_GROUP "'");
    return 0;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

int group_read(struct req *r, struct store *db, int32_t id, const struct wire_group_details **ret, struct error *err)
{
    struct store_group g;
    struct store_user *user;
    size_t n;
    if (store_group_get(db, id, &r->arena, &g, err) < 0 || store_group_members(db, id, &r->arena, &user, &n, err) < 0)
        return -1;
    struct wire_group_details *w = arena_new(&r->arena, struct wire_group_details);
    *w = (struct wire_group_details){.group_id = id,
                                     .name = g.name,
                                     .users = arena_array(&r->arena, struct wire_user, n + 1),
                                     .users_n = n};
    for (size_t i = 0; i < n; i++)
        w->users[i] = *user_to_wire(&user[i], &r->arena);
    *ret = w;
    return 0;
}

int api_get_group(struct req *r, struct store *db, const struct wire_get_group_request *in,
                  struct wire_get_group_response *ret, struct error *err)
{
    return group_read(r, db, in->group_id, &ret->group, err);
}

int api_get_groups(struct req *r, struct store *db, const struct wire_get_groups_request *in,
                   struct wire_get_groups_response *ret, struct error *err)
{
    struct store_group_filter f = {.name = in->name, .user_id = in->user_id, .page = page_of(in->offset, in->limit)};
    struct store_group_list list;
    if (in->limit < 1 || in->limit > LIMIT_MAX)
        return error_set(err, ERR_INVALID,
                         "Bad request: limit is required and must be <= %d (and at least 1), it is %d", LIMIT_MAX,
                         in->limit);
    if (store_group_list(db, &f, &r->arena, &list, err) < 0)
        return -1;
    ret->groups = arena_array(&r->arena, struct wire_group_search_result, list.group_n + 1);
    ret->groups_n = list.group_n;
    for (size_t i = 0; i < list.group_n; i++) {
        struct wire_group *g = arena_new(&r->arena, struct wire_group);
        *g = (struct wire_group){.group_id = list.group[i].id, .name = list.group[i].name};
        ret->groups[i] = (struct wire_group_search_result){.group = g, .num_members = list.group[i].members};
    }
    ret->pagination = pagination(f.page, list.window, &r->arena);
    return 0;
}

/* ---- changing ---------------------------------------------------------------------------------------------------- */

struct change {
    int32_t group_id;
    const int32_t *add, *remove; /* users */
    size_t add_n, remove_n;
    size_t done; /* of both, by the loop */
    bool deleted;
};

static int remember(struct req *r, struct core *core, struct error *err)
{
    struct change *c = r->state;
    struct permissions *p = r->api->permissions;
    for (int64_t began_us = clock_monotonic_us(); c->done < c->add_n + c->remove_n; c->done++) {
        if (req_turn_is_over(began_us))
            return req_then_next_turn(r, remember);
        if (c->done < c->add_n)
            permissions_join(p, c->group_id, c->add[c->done]);
        else
            permissions_leave(p, c->group_id, c->remove[c->done - c->add_n]);
    }
    if (c->deleted)
        permissions_drop_group(p, c->group_id);
    return 0;
}

static int store_members(struct req *r, struct store *db, const struct change *c, struct error *err)
{
    struct store_user u;
    int64_t n;
    for (size_t i = 0; i < c->add_n; i++)
        if (store_user_get(db, c->add[i], &r->arena, &u, err) < 0 ||
            store_group_member_add(db, c->group_id, c->add[i], err) < 0)
            return -1;
    for (size_t i = 0; i < c->remove_n; i++) {
        if (store_group_member_remove(db, c->group_id, c->remove[i], &n, err) < 0)
            return -1;
        if (n == 0)
            return error_set(err, ERR_NOT_FOUND, "user '%d' is not in group '%d'; nothing was changed", c->remove[i],
                             c->group_id);
    }
    return 0;
}

int api_create_group(struct req *r, struct store *db, const struct wire_create_group_request *in,
                     struct wire_create_group_response *ret, struct error *err)
{
    struct change *c = arena_new(&r->arena, struct change);
    *c = (struct change){.add = in->add_users, .add_n = in->add_users_n};
    if (check_name(in->name, err) < 0 || actor_check_again(r, db, /* as_admin= */ true, err) < 0 ||
        store_group_insert(db, in->name, &c->group_id, err) < 0 || store_members(r, db, c, err) < 0 ||
        group_read(r, db, c->group_id, &ret->group, err) < 0)
        return -1;
    r->state = c;
    return req_then_loop(r, remember);
}

int api_update_group(struct req *r, struct store *db, const struct wire_update_group_request *in,
                     struct wire_update_group_response *ret, struct error *err)
{
    struct change *c = arena_new(&r->arena, struct change);
    struct store_group before;
    bool renamed = in->name && *in->name;
    *c = (struct change){.group_id = in->group_id,
                         .add = in->add_users,
                         .add_n = in->add_users_n,
                         .remove = in->remove_users,
                         .remove_n = in->remove_users_n};
    if ((renamed && check_name(in->name, err) < 0) || actor_check_again(r, db, /* as_admin= */ true, err) < 0 ||
        store_group_get(db, in->group_id, &r->arena, &before, err) < 0 ||
        (renamed && store_group_rename(db, in->group_id, in->name, err) < 0) || store_members(r, db, c, err) < 0 ||
        group_read(r, db, in->group_id, &ret->group, err) < 0)
        return -1;
    r->state = c;
    return req_then_loop(r, remember);
}

int api_delete_group(struct req *r, struct store *db, const struct wire_delete_group_request *in,
                     struct wire_delete_group_response *ret, struct error *err)
{
    struct change *c = arena_new(&r->arena, struct change);
    *c = (struct change){.group_id = in->group_id, .deleted = true};
    if (actor_check_again(r, db, /* as_admin= */ true, err) < 0 || store_group_delete(db, in->group_id, err) < 0)
        return -1;
    r->state = c;
    return req_then_loop(r, remember);
}

/* Adds the users to all groups and removes them from all others that are named. */
struct many {
    const struct wire_assign_multiple_groups_request *in;
    size_t done;
};

static int remember_many(struct req *r, struct core *core, struct error *err)
{
    struct many *m = r->state;
    const struct wire_assign_multiple_groups_request *in = m->in;
    size_t groups = in->add_groups_n + in->remove_groups_n;
    for (int64_t began_us = clock_monotonic_us(); m->done < groups * in->user_ids_n; m->done++) {
        size_t g = m->done % groups;
        int32_t user_id = in->user_ids[m->done / groups];
        if (req_turn_is_over(began_us))
            return req_then_next_turn(r, remember_many);
        if (g < in->add_groups_n)
            permissions_join(r->api->permissions, in->add_groups[g], user_id);
        else
            permissions_leave(r->api->permissions, in->remove_groups[g - in->add_groups_n], user_id);
    }
    return 0;
}

static int add_to_groups(struct req *r, struct store *db, const struct wire_assign_multiple_groups_request *in,
                         struct error *err)
{
    struct store_group g;
    for (size_t i = 0; i < in->add_groups_n; i++) {
        struct change c = {.group_id = in->add_groups[i], .add = in->user_ids, .add_n = in->user_ids_n};
        if (store_group_get(db, in->add_groups[i], &r->arena, &g, err) < 0 || store_members(r, db, &c, err) < 0)
            return -1;
    }
    return 0;
}

static int remove_from_groups(struct req *r, struct store *db, const struct wire_assign_multiple_groups_request *in,
                              struct error *err)
{
    struct store_group g;
    int64_t n;
    for (size_t i = 0; i < in->remove_groups_n; i++) {
        if (store_group_get(db, in->remove_groups[i], &r->arena, &g, err) < 0)
            return -1;
        for (size_t k = 0; k < in->user_ids_n; k++)
            if (store_group_member_remove(db, in->remove_groups[i], in->user_ids[k], &n, err) < 0)
                return -1;
    }
    return 0;
}

int api_assign_multiple_groups(struct req *r, struct store *db, const struct wire_assign_multiple_groups_request *in,
                               struct wire_assign_multiple_groups_response *ret, struct error *err)
{
    struct many *m = arena_new(&r->arena, struct many);
    m->in = in;
    for (size_t i = 0; i < in->add_groups_n; i++)
        for (size_t k = 0; k < in->remove_groups_n; k++)
            if (in->add_groups[i] == in->remove_groups[k])
                return error_set(err, ERR_INVALID,
                                 "group %d is in addGroups and in removeGroups: name it in one of them",
                                 in->add_groups[i]);
    if (actor_check_again(r, db, /* as_admin= */ true, err) < 0 || add_to_groups(r, db, in, err) < 0 ||
        remove_from_groups(r, db, in, err) < 0)
        return -1;
    r->state = m;
    return req_then_loop(r, remember_many);
}
