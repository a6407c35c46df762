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
    bool whole;    /* to the end, whatever that is; else … */
    int64_t units; /* … until this much of time_metric, or of max_length */
};

/* Ordered by units. */
struct search_plan {
    struct search_plan_row *row;
    size_t n;
    char *unit; /* what `units` counts; NULL when every row is whole */
};
void search_plan_release(struct search_plan *p);
void search_plan_add(struct search_plan *p, int64_t trials, int64_t units); /* adds to the row of these units */
void search_plan_set_whole(struct search_plan *p, int64_t trials);

void search_plan_set_unit(struct search_plan *p, const char *unit);

struct searcher;
void searcher_preview(const struct searcher *s, struct search_plan *ret);
/* The plan of the search of an experiment's configuration (JSON), of which only the keys that a search needs have to be
 * there. ret_searcher gets its `searcher` section with all defaults. */
int search_preview(const char *config, size_t n, struct search_plan *ret, struct strbuf *ret_searcher,
                   struct error *err);
/* The seed of such an experiment's first trial. */
int search_first_seed(const char *config, size_t n, uint32_t experiment_seed, uint32_t *ret, struct error *err);

#endif
