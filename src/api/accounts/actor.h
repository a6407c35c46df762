/* Whether the one who asks may still change accounts. */
#ifndef DET_API_ACCOUNTS_ACTOR_H
#define DET_API_ACCOUNTS_ACTOR_H

#include "api/pipeline/handler.h"

/* Between a request's arrival and its turn with the writer, the asking user's session may have ended, their account
 * may have been deactivated, or their admin's rights taken away. The store has the current facts. Call it on the
 * writer's thread. as_admin: only an admin may make this change. */
int actor_check_again(struct req *r, struct store *db, bool as_admin, struct error *err);

#endif
