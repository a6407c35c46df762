/* Between the two files of searcher cases. */
#ifndef DET_TESTS_CASES_SEARCHER_CASES_H
#define DET_TESTS_CASES_SEARCHER_CASES_H

#include "core/searcher/searcher.h"
#include "helpers.h"

/* From the members `searcher`, `hyperparameters`, `experiment_seed` of a case; `name` is that of a searcher that names
 * none. NULL: refused, and counted as a failed case. */
struct searcher *case_searcher(struct cases *c, struct json_object *v, const char *name);

#endif
