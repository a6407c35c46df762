/* PATCH /users: activates or deactivates many users at once. All that succeed are stored in one transaction; each of
 * the others has its reason in the reply. */
#include "api/accounts/actor.h"
#include "api/accounts/admins.h"
#include "api/pipeline/convert.h"
#include "api/pipeline/identity.h"
#include "api/pipeline/internal.h"
#include "common/base/clock.h"
#include "gen/handlers.h"
#include "store/functions.h"

struct activation {
    struct store_user *changed; /* the users whose account changes, as they are afterwards */
    size_t n, remembered;
};

static int remember_changes(struct req *r, struct core *core, struct error *err)
{
    struct activation *x = r->state;
    struct identities *ids = api_identities(r->api);
    for (int64_t began_us = clock_monotonic_us(); x->remembered < x->n; x->remembered++) {
        const struct store_user *changed = &x->changed[x->remembered];
        struct identity_user u;
        if (req_turn_is_over(began_us))
            return req_then_next_turn(r, remember_changes);
        identity_of_store(changed, &u);
        identities_put_user(ids, &u);
        if (!u.active)
            identities_drop_sessions_of_user(ids, u.id, IDENTITY_END_ALL, NULL);
    }
    return 0;
}

/* Changes one account, if it is not so already. An error concerns this account only, and has changed nothing. */
static int change_one(struct req *r, struct store *db, int32_t id, bool active, struct activation *x, struct error *err)
{
    const struct store_user_patch patch = {.has_active = true, .active = active};
    struct store_user before, *after = &x->changed[x->n];
    if (store_user_get(db, id, &r->arena, &before, err) < 0)
        return -1;
    if (before.active == active)
        return 0;
    if (!active && id == r->who.user_id)
        return error_set(err, ERR_PRECONDITION,
                         "your own account is not deactivated together with others: do it by itself, if it is meant");
    *after = before;
    after->active = active;
    after->modified_us = r->now_us;
    if (admins_check_one_is_left(db, &before, after, err) < 0 || store_user_patch(db, &patch, id, r->now_us, err) < 0 ||
        (!active && store_sessions_end_of_user(db, id, err) < 0))
        return -1;
    x->n++;
    return 0;
}

/* The ids that the request names, or those of the users that its filters choose. */
static int choose_users(struct req *r, struct store *db, const struct wire_patch_users_request *in,
                        struct store_ints *ret, struct error *err)
{
    const struct wire_user_filters *by = in->filters;
    *ret = (struct store_ints){in->user_ids, in->user_ids_n};
    if (!by && !in->user_ids_n)
        return error_set(err, ERR_INVALID, "userIds and filters are missing: say which users are meant");
    if (!by)
        return 0;
    if (in->user_ids_n)
        return error_set(err, ERR_INVALID, "userIds and filters are both given: choose users by one of them");
    struct store_user_filter f = {.name = by->name, .has_admin = by->has_admin, .admin = by->admin};
    struct store_user_list list;
    if (store_user_list(db, &f, &r->arena, &list, err) < 0)
        return -1;
    int32_t *ids = arena_array(&r->arena, int32_t, list.user_n + 1);
    for (size_t i = 0; i < list.user_n; i++)
        ids[i] = list.user[i].id;
    *ret = (struct store_ints){ids, list.user_n};
    return 0;
}

int api_patch_users(struct req *r, struct store *db, const struct wire_patch_users_request *in,
                    struct wire_patch_users_response *ret, struct error *err)
{
    struct activation *x = arena_new(&r->arena, struct activation);
    struct store_ints ids;
    if (actor_check_again(r, db, /* as_admin= */ true, err) < 0 || choose_users(r, db, in, &ids, err) < 0)
        return -1;
    x->changed = arena_array(&r->arena, struct store_user, ids.n + 1);
    ret->results = arena_array(&r->arena, struct wire_user_action_result, ids.n + 1);
    for (ret->results_n = 0; ret->results_n < ids.n; ret->results_n++) {
        struct wire_user_action_result *result = &ret->results[ret->results_n];
        cleanup_error struct error failed = ERROR_INIT;
        *result = (struct wire_user_action_result){.id = ids.value[ret->results_n], .error = ""};
        if (change_one(r, db, result->id, in->activate, x, &failed) == 0)
            continue;
        /* the database itself has failed, or refused a statement: then nothing of the request is stored */
        if (failed.kind != ERR_NOT_FOUND && failed.kind != ERR_PRECONDITION) {
            error_move(err, &failed);
            return -1;
        }
        result->error = arena_strdup(&r->arena, error_msg(&failed));
    }
    r->state = x;
    return x->n ? req_then_loop(r, remember_changes) : 0;
}
