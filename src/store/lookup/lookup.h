/* Lookups: what people filter and sort experiments and runs by, in the language of docs/reference/searches.md.
 *
 *     filter   {"filterGroup": GROUP, "showArchived": true}
 *     GROUP    {"kind": "group", "conjunction": "and" | "or", "children": [GROUP | FIELD, …]}
 *     FIELD    {"kind": "field", "columnName": "searcherMetricsVal", "location": …, "operator": "<", "value": 0.1}
 *     sort     "startTime=desc,id=asc"
 *
 * lookup_parse() judges the texts and keeps them as a tree. store_lookup() finds the rows of a page, by columns that
 * its connection holds in memory (lookup_tables.h): one connection of a program should do all of them. What the rows
 * hold is read afterwards, by any connection.
 *
 * `!=` and `notContains` are the opposites of `=` and `contains`: what has no value matches them. Sorts put what has no
 * value last. */
#ifndef DET_STORE_LOOKUP_LOOKUP_H
#define DET_STORE_LOOKUP_LOOKUP_H

#include "common/base/arena.h"
#include "common/base/error.h"
#include "store/experiments/experiments.h"
#include "store/lists/page.h"

enum lookup_kind { LOOKUP_EXPERIMENTS, LOOKUP_RUNS };

struct lookup;

/* NULL and "" are no filter and the order of ids. ERR_INVALID says which part of which text cannot be. */
int lookup_parse(enum lookup_kind kind, const char *filter, const char *sort, int64_t now_us, struct arena *a,
                 struct lookup **ret, struct error *err);

struct lookup_found {
    struct store_ints ids; /* of the page, in their order */
    struct page_window window;
};
/* project_id 0: all. */
int store_lookup(struct store *st, const struct lookup *s, int32_t project_id, struct page page, struct arena *a,
                 struct lookup_found *ret, struct error *err);
struct lookup_state {
    size_t bytes; /* of memory */
    bool trim;    /* many changes are kept that every connection has seen by now: store_lookup_trim() */
};
/* Has the columns follow the database, so that the next lookup finds little to do. */
int store_lookup_refresh(struct store *st, struct lookup_state *ret, struct error *err);
int store_lookup_trim(struct store *st, struct error *err); /* for the writer; a part at a time */

/* ---- experiments ------------------------------------------------------------------------------------------------- */

/* A filter on numbers, as common.v1.Int32FieldFilter. */
struct store_int_filter {
    bool has_lt, has_lte, has_gt, has_gte;
    int32_t lt, lte, gt, gte;
    struct store_ints incl, not_in;
};
/* GET /experiments with all its filters; sorting by the numbers of api.v1.GetExperimentsRequest.SortBy, unspecified is
 * by id. Rows without a value come last in both directions. */
struct store_experiment_filter {
    const char *name, *description; /* substrings without regard to the case of ASCII letters */
    struct store_texts labels;      /* every one of them */
    bool has_archived, archived;
    struct store_texts states; /* stored states */
    bool only_live, only_over; /* not over; over, and not being deleted */
    struct store_texts usernames;
    struct store_ints user_ids; /* joined with usernames by "or" */
    int32_t project_id;         /* 0: any */
    struct store_int_filter id;
    int32_t sort_by;
    bool descending;
    struct page page;
};
/* As store_lookup(), on the same connection. */
int store_experiment_find(struct store *st, const struct store_experiment_filter *f, struct arena *a,
                          struct lookup_found *ret, struct error *err);

/* In the order of the ids; who is gone meanwhile is missing. */
int store_experiments_shown(struct store *st, struct store_ints ids, struct arena *a, struct store_experiment **ret,
                            size_t *ret_n, struct error *err);

/* ---- what experiments and runs of a project can be looked up by -------------------------------------------------- */

struct lookup_name {
    const char *name;
    enum { LOOKUP_NAME_MIXED, LOOKUP_NAME_NUMBER, LOOKUP_NAME_TEXT, LOOKUP_NAME_TIME } type;
};
/* Columns that every project has, in the order of their table. */
void lookup_fixed_names(enum lookup_kind kind, struct arena *a, struct lookup_name **ret, size_t *ret_n);
/* Names of values of hyperparameters or metadata, their parts joined by dots. Objects and null are no values. */
int store_lookup_value_names(struct store *st, int32_t project_id, bool metadata, struct arena *a,
                             struct lookup_name **ret, size_t *ret_n, struct error *err);

enum lookup_qualifier { LOOKUP_MIN, LOOKUP_MAX, LOOKUP_MEAN, LOOKUP_LAST, LOOKUP_QUALIFIER_NR };
extern const char *const lookup_qualifier_name[LOOKUP_QUALIFIER_NR];
struct lookup_extent {
    bool known;
    double min, max;
}; /* unknown: there is no finite number */
struct lookup_metric {
    const char *group, *name;
    bool number; /* whatever was reported */
    struct lookup_extent extent[LOOKUP_QUALIFIER_NR];
};
/* For experiments those of their best runs. */
int store_lookup_metrics(struct store *st, enum lookup_kind kind, int32_t project_id, struct arena *a,
                         struct lookup_metric **ret, size_t *ret_n, struct error *err);
int store_lookup_searcher_metric(struct store *st, int32_t project_id, struct lookup_extent *ret, struct error *err);

/* ---- runs -------------------------------------------------------------------------------------------------------- */

int store_runs_shown(struct store *st, struct store_ints ids, struct arena *a, struct store_run **ret, size_t *ret_n,
                     struct error *err);

#endif
