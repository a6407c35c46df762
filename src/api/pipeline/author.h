/* Who is named in the audit log as the author of what a request changes (store/changes/changes.h). */
#ifndef DET_API_PIPELINE_AUTHOR_H
#define DET_API_PIPELINE_AUTHOR_H

#include "api/pipeline/handler.h"

/* The topic (topics.h) that is woken when a change with an author is committed. */
#define CHANGES_TOPIC "changes"

/* Returns the text for store_act_as(), in the request's arena. NULL: what the request changes is not recorded, because
 * a task has sent it about itself. Call it on the loop. */
const char *req_author(struct req *r);
/* Returns req_author() of the request whose step is running on the loop now; NULL if there is none. */
const char *api_author_now(const struct api *a);

#endif
