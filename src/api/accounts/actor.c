#include "api/accounts/actor.h"

#include "api/pipeline/internal.h"
#include "gen/permissions.h"
#include "store/functions.h"

/* With roles, whoever has ClusterAdmin in the whole cluster is an admin. */
static int is_admin(struct req *r, struct store *db, const struct store_user *u, bool *ret, struct error *err)
{
    struct store_role_assignment *given;
    size_t n;
    *ret = u->admin;
    if (u->admin || !r->api->by_roles)
        return 0;
    if (store_role_assignments_of_user(db, u->id, &r->arena, &given, &n, err) < 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        *ret = *ret || (given[i].role_id == ROLE_CLUSTER_ADMIN && !given[i].workspace_id);
    return 0;
}

int actor_check_again(struct req *r, struct store *db, bool as_admin, struct error *err)
{
    struct store_user actor;
    bool lives, admin;
    if (store_session_lives(db, r->who.token_hash, &lives, err) < 0 ||
        store_user_get(db, r->who.user_id, &r->arena, &actor, err) < 0)
        return -1;
    if (!lives || !actor.active)
        return error_set(err, ERR_UNAUTHENTICATED, "this login has ended meanwhile; nothing was changed. Log in again");
    if (as_admin && is_admin(r, db, &actor, &admin, err) < 0)
        return -1;
    if (as_admin && !admin)
        return error_set(err, ERR_FORBIDDEN, "user '%s' is not an admin any more; nothing was changed", actor.username);
    return 0;
}
