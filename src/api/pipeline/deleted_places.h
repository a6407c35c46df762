/* Workspaces and projects that requests are deleting or have deleted a short time ago, by id.
 *
 * A request that creates an experiment or a task reads its project and workspace on a reader's thread, and gives the
 * event to the core later, on the loop. In between, another request may have deleted the project; the experiment's row
 * could not be stored then. So a deletion enters its place here, on the loop, before it writes, and every creation asks
 * here right before its step of the core: either the deletion sees the new row and refuses, or the creation finds the
 * place here and fails. Ids are not used again, so a place that stays entered does no harm. */
#ifndef DET_API_PIPELINE_DELETED_PLACES_H
#define DET_API_PIPELINE_DELETED_PLACES_H

#include <stdint.h>

#include "common/base/error.h"

/* Far longer than a request takes from its read to its step of the core. */
#define DELETED_PLACES_KEPT_US 600000000

struct deleted_places;

struct deleted_places *deleted_places_new(void);
void deleted_places_free(struct deleted_places *d);
/* Enters a workspace (project_id 0) or a project (workspace_id 0), and forgets what was entered long before now_us (of
 * the wall clock). */
void deleted_places_add(struct deleted_places *d, int32_t workspace_id, int32_t project_id, int64_t now_us);
/* The deletion has failed. */
void deleted_places_remove(struct deleted_places *d, int32_t workspace_id, int32_t project_id);
/* Fails with ERR_PRECONDITION if the workspace or the project (0: none) is entered. */
int deleted_places_check(const struct deleted_places *d, int32_t workspace_id, int32_t project_id, struct error *err);

#endif
