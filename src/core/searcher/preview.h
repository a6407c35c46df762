/* The plan of a search, before anything runs: how many trials train for how long (docs/spec/searchers.md#preview). */
#ifndef DET_CORE_SEARCHER_PREVIEW_H
#define DET_CORE_SEARCHER_PREVIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/base/strbuf.h"

struct search_plan_row {
    int64_t trials;
    bool whole;    /* these trials train to their end, however far that is; otherwise … */
    int64_t units; /* … they train until this much of time_metric, or of max_length */
};

/* The rows are in the order of their units. */
struct search_plan {
    struct search_plan_row *row;
    size_t n;
    char *unit; /* the name of what `units` counts; NULL when every row is whole */
};
void search_plan_release(struct search_plan *p);
/* Adds the trials to the row that has these units. */
void search_plan_add(struct search_plan *p, int64_t trials, int64_t units);
void search_plan_set_whole(struct search_plan *p, int64_t trials);

void search_plan_set_unit(struct search_plan *p, const char *unit);

struct searcher;
void searcher_preview(const struct searcher *s, struct search_plan *ret);
/* Makes the plan of the search in an experiment's configuration (JSON). Only those keys that a search needs have to be
 * in it. ret_searcher gets the configuration's `searcher` section with all defaults. */
int search_preview(const char *config, size_t n, struct search_plan *ret, struct strbuf *ret_searcher,
                   struct error *err);
/* Finds the seed of the first trial of an experiment with such a configuration. */
int search_first_seed(const char *config, size_t n, uint32_t experiment_seed, uint32_t *ret, struct error *err);

#endif
