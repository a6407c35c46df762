/* The routes of the contract as functions with the names that the released library gives them: `get_GetExperiment`,
 * with a parameter for each field of the path and the query, and `body`. Names of nested fields are joined by "_". */
#ifndef DET_CLI_CMD_DEV_BINDINGS_H
#define DET_CLI_CMD_DEV_BINDINGS_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/arena.h"
#include "gen/routes.h"

struct binding_param {
    const char *name;   /* experimentIdFilter_gt */
    const char *dotted; /* experimentIdFilter.gt, as it is in the query */
    const char *type;   /* as a signature shows it */
    bool required, list, in_path, body;
};

struct binding {
    const char *name;
    enum route_id id;
    struct binding_param *param; /* required ones first, then by name */
    size_t param_n;
};

/* All bindings by name, in the arena. planned: also those that this version's master does not serve. */
size_t bindings_list(struct arena *a, bool planned, struct binding **ret);
/* "get_GetExperiment <= experimentId: int" */
const char *binding_signature(const struct binding *b, struct arena *a);

#endif
