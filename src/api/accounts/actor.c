#include "api/accounts/actor.h"

#include "store/functions.h"

int actor_check_again(struct req *r, struct store *db, bool as_admin, struct error *err)
{
    struct store_user actor;
    bool lives;
    if (store_session_lives(db, r->who.token_hash, &lives, err) < 0 ||
        store_user_get(db, r->who.user_id, &r->arena, &actor, err) < 0)
        return -1;
    if (!lives || !actor.active)
        return error_set(err, ERR_UNAUTHENTICATED, "this login has ended meanwhile; nothing was changed. Log in again");
    if (as_admin && !actor.admin)
        return error_set(err, ERR_FORBIDDEN, "user '%s' is not an admin any more; nothing was changed", actor.username);
    return 0;
}
