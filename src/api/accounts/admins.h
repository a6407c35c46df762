/* There is always an admin who can log in: a change that would leave none is refused. */
#ifndef DET_API_ACCOUNTS_ADMINS_H
#define DET_API_ACCOUNTS_ADMINS_H

#include "common/base/error.h"
#include "store/functions.h"

/* Call it on the writer's thread, with the user as they are before and after the change. ERR_PRECONDITION: the user is
 * the only admin who can log in, and could not do so afterwards. */
int admins_check_one_is_left(struct store *db, const struct store_user *before, const struct store_user *after,
                             struct error *err);

#endif
