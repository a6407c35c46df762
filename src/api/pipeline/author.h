/* Who is named in the audit log as the author of what a request changes (store/changes/changes.h). */
#ifndef DET_API_PIPELINE_AUTHOR_H
#define DET_API_PIPELINE_AUTHOR_H

#include "api/pipeline/handler.h"

/* The topic (topics.h) that is woken when a change with an author is committed. */
#define CHANGES_TOPIC "changes"

/* Returns the text for store_act_as(), in the request's arena. NULL: what the request changes is not recorded, because
 * a task has sent it about itself. Call it on the loop. */
const char *req_author(struct req *r);
/* For a raw route whose handler itself has found out who asks, such as that of a login: what the request changes from
 * now on is recorded with this name, whether the user has an account yet or not. `via` says by what the name was
 * proved, and `route` is the route. Call it on the loop. */
void req_act_as(struct req *r, const char *username, const char *via, const char *route);
/* Returns req_author() of the request whose step is running on the loop now; NULL if there is none. */
const char *api_author_now(const struct api *a);

#endif
