/* Searches: what people filter and sort experiments and runs by, in the language of docs/reference/searches.md.
 *
 *     filter   {"filterGroup": GROUP, "showArchived": true}
 *     GROUP    {"kind": "group", "conjunction": "and" | "or", "children": [GROUP | FIELD, …]}
 *     FIELD    {"kind": "field", "columnName": "searcherMetricsVal", "location": …, "operator": "<", "value": 0.1}
 *     sort     "startTime=desc,id=asc"
 *
 * search_parse() judges the texts and keeps them as a tree. store_search() finds the rows of a page, by columns that its
 * connection holds in memory (search_tables.h): one connection of a program should do all of them. What the rows hold is
 * read afterwards, by any connection.
 *
 * `!=` and `notContains` are the opposites of `=` and `contains`: what has no value matches them. Sorts put what has no
 * value last. */
#ifndef DET_STORE_SEARCH_H
#define DET_STORE_SEARCH_H

#include "common/base/arena.h"
#include "common/base/error.h"
#include "store/experiments/experiments.h"
#include "store/lists/page.h"

enum search_kind { SEARCH_EXPERIMENTS, SEARCH_RUNS };

struct search;

/* NULL and "" are no filter and the order of ids. ERR_INVALID says which part of which text cannot be. */
int search_parse(enum search_kind kind, const char *filter, const char *sort, int64_t now_us, struct arena *a,
                 struct search **ret, struct error *err);

struct search_found {
    struct store_ints ids; /* of the page, in their order */
    struct page_window window;
};
/* project_id 0: all. */
int store_search(struct store *st, const struct search *s, int32_t project_id, struct page page, struct arena *a,
                 struct search_found *ret, struct error *err);
struct search_state {
    size_t bytes; /* of memory */
    bool trim;    /* many changes are kept that every connection has seen by now: store_search_trim() */
};
/* Has the columns follow the database, so that the next search finds little to do. */
int store_search_refresh(struct store *st, struct search_state *ret, struct error *err);
int store_search_trim(struct store *st, struct error *err); /* for the writer; a part at a time */

/* ---- experiments ---- */

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
/* As store_search(), on the same connection. */
int store_experiment_find(struct store *st, const struct store_experiment_filter *f, struct arena *a, struct search_found *ret,
                          struct error *err);

/* In the order of the ids; who is gone meanwhile is missing. */
int store_experiments_shown(struct store *st, struct store_ints ids, struct arena *a, struct store_experiment **ret,
                            size_t *ret_n, struct error *err);

/* ---- what a project can be searched by ---- */

struct search_name {
    const char *name;
    enum { SEARCH_NAME_MIXED, SEARCH_NAME_NUMBER, SEARCH_NAME_TEXT, SEARCH_NAME_TIME } type;
};
/* Columns that every project has, in the order of their table. */
void search_fixed_names(enum search_kind kind, struct arena *a, struct search_name **ret, size_t *ret_n);
/* Names of values of hyperparameters or metadata, their parts joined by dots. Objects and null are no values. */
int store_search_value_names(struct store *st, int32_t project_id, bool metadata, struct arena *a,
                             struct search_name **ret, size_t *ret_n, struct error *err);

enum search_qualifier { SEARCH_MIN, SEARCH_MAX, SEARCH_MEAN, SEARCH_LAST, SEARCH_QUALIFIER_NR };
extern const char *const search_qualifier_name[SEARCH_QUALIFIER_NR];
struct search_extent { bool known; double min, max; }; /* unknown: there is no finite number */
struct search_metric {
    const char *group, *name;
    bool number; /* whatever was reported */
    struct search_extent extent[SEARCH_QUALIFIER_NR];
};
/* For experiments those of their best runs. */
int store_search_metrics(struct store *st, enum search_kind kind, int32_t project_id, struct arena *a,
                         struct search_metric **ret, size_t *ret_n, struct error *err);
int store_search_searcher_metric(struct store *st, int32_t project_id, struct search_extent *ret, struct error *err);

/* ---- runs ---- */

int store_runs_shown(struct store *st, struct store_ints ids, struct arena *a, struct store_run **ret, size_t *ret_n,
                     struct error *err);

#endif
