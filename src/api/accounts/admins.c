#include "api/accounts/admins.h"

static bool can_administer(const struct store_user *u)
{
    return u->admin && u->active && !u->remote && u->password_hash && *u->password_hash;
}

int admins_check_one_is_left(struct store *db, const struct store_user *before, const struct store_user *after,
                             struct error *err)
{
    int64_t others = 0;
    if (!can_administer(before) || can_administer(after))
        return 0;
    if (store_user_count_other_admins(db, before->id, &others, err) < 0)
        return -1;
    if (others)
        return 0;
    return error_set(err, ERR_PRECONDITION,
                     "user '%s' is the only admin who can log in: make another user an admin first, with a password",
                     before->username);
}
