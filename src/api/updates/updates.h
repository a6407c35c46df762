/* The subscribers of GET /stream. One read of the store is under way at a time, either of changes for everybody or of
 * what one subscriber lacks, so that no change falls between the two. Call these functions on the loop. */
#ifndef DET_API_UPDATES_UPDATES_H
#define DET_API_UPDATES_UPDATES_H

#include "api/pipeline/handler.h"

struct updates;

struct updates *updates_new(struct api *a);
void updates_free(struct updates *u); /* NULL is allowed; no connection is left */

#endif
