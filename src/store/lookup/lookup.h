/* Lookups: what users filter and sort experiments and runs by, in the language of docs/reference/searches.md.
 *
 *     filter   {"filterGroup": GROUP, "showArchived": true}
 *     GROUP    {"kind": "group", "conjunction": "and" | "or", "children": [GROUP | FIELD, …]}
 *     FIELD    {"kind": "field", "columnName": "searcherMetricsVal", "location": …, "operator": "<", "value": 0.1}
 *     sort     "startTime=desc,id=asc"
 *
 * lookup_parse() checks the texts and makes a tree of them. store_lookup() finds the rows of a page in columns that its
 * connection holds in memory (lookup_tables.h), so one connection of a program should do all lookups. The contents of
 * the rows are read afterwards, by any connection.
 *
 * `!=` and `notContains` are the opposites of `=` and `contains`: a row without a value matches them. Sorts put rows
 * without a value last. */
#ifndef DET_STORE_LOOKUP_LOOKUP_H
#define DET_STORE_LOOKUP_LOOKUP_H

#include "common/base/arena.h"
#include "common/base/error.h"
#include "store/experiments/experiments.h"
#include "store/lists/page.h"

enum lookup_kind { LOOKUP_EXPERIMENTS, LOOKUP_RUNS };

struct lookup;

/* Parses a filter and a sort. NULL and "" mean no filter, and the order of ids. Fails with ERR_INVALID, which names
 * the wrong part of the text. */
int lookup_parse(enum lookup_kind kind, const char *filter, const char *sort, int64_t now_us, struct arena *a,
                 struct lookup **ret, struct error *err);

/* Only rows in these workspaces are found; no ids at all: rows everywhere. */
void lookup_limit(struct lookup *s, struct store_ints workspaces);

struct lookup_found {
    struct store_ints ids; /* the ids of the page, in their order */
    struct page_window window;
};
/* project_id 0 means all projects. */
int store_lookup(struct store *st, const struct lookup *s, int32_t project_id, struct page page, struct arena *a,
                 struct lookup_found *ret, struct error *err);
struct lookup_state {
    size_t bytes; /* memory that the columns take */
    bool trim;    /* many stored changes have been seen by every connection, and store_lookup_trim() should be called */
};
/* Brings the columns in memory up to date with the database, so that the next lookup finds little to do. */
int store_lookup_refresh(struct store *st, struct lookup_state *ret, struct error *err);
/* deletes a part of the old changes; called by the writer */
int store_lookup_trim(struct store *st, struct error *err);

/* ---- experiments ------------------------------------------------------------------------------------------------- */

/* A filter on numbers, like common.v1.Int32FieldFilter. */
struct store_int_filter {
    bool has_lt, has_lte, has_gt, has_gte;
    int32_t lt, lte, gt, gte;
    struct store_ints incl, not_in;
};
/* All filters of GET /experiments. Orders are numbers of api.v1.GetExperimentsRequest.SortBy; if none is specified,
 * the order is by id. Rows without a value come last in both directions. */
struct store_experiment_filter {
    const char *name, *description; /* texts that are searched for, without regard to the case of ASCII letters */
    struct store_texts labels;      /* an experiment must have all of them */
    bool has_archived, archived;
    struct store_texts states; /* states as they are stored */
    bool only_live, only_over; /* only_live: not over; only_over: over, and not being deleted */
    struct store_texts usernames;
    struct store_ints user_ids; /* a user matches one of user_ids or one of usernames */
    int32_t project_id;         /* 0: any project */
    struct store_ints visible;  /* workspaces; no ids at all: all of them */
    struct store_int_filter id;
    int32_t sort_by;
    bool descending;
    struct page page;
};
/* Does the same as store_lookup(), and needs the same connection. */
int store_experiment_find(struct store *st, const struct store_experiment_filter *f, struct arena *a,
                          struct lookup_found *ret, struct error *err);

/* Reads the experiments in the order of the ids. Experiments that were deleted meanwhile are left out. */
int store_experiments_shown(struct store *st, struct store_ints ids, struct arena *a, struct store_experiment **ret,
                            size_t *ret_n, struct error *err);

/* ---- names that filters and sorts of a project can use ----------------------------------------------------------- */

struct lookup_name {
    const char *name;
    enum { LOOKUP_NAME_MIXED, LOOKUP_NAME_NUMBER, LOOKUP_NAME_TEXT, LOOKUP_NAME_TIME } type;
};
/* Returns the columns that every project has, in the order of their table. */
void lookup_fixed_names(enum lookup_kind kind, struct arena *a, struct lookup_name **ret, size_t *ret_n);
/* Returns the names of the values of hyperparameters or metadata. The parts of a name are joined by dots. Objects
 * and null are not values. */
int store_lookup_value_names(struct store *st, int32_t project_id, bool metadata, struct arena *a,
                             struct lookup_name **ret, size_t *ret_n, struct error *err);

enum lookup_qualifier { LOOKUP_MIN, LOOKUP_MAX, LOOKUP_MEAN, LOOKUP_LAST, LOOKUP_QUALIFIER_NR };
extern const char *const lookup_qualifier_name[LOOKUP_QUALIFIER_NR];
struct lookup_extent {
    bool known;
    double min, max;
}; /* the bounds are unknown if no finite number was reported */
struct lookup_metric {
    const char *group, *name;
    bool number; /* only numbers were reported */
    struct lookup_extent extent[LOOKUP_QUALIFIER_NR];
};
/* For experiments the metrics are those of their best runs. */
int store_lookup_metrics(struct store *st, enum lookup_kind kind, int32_t project_id, struct arena *a,
                         struct lookup_metric **ret, size_t *ret_n, struct error *err);
int store_lookup_searcher_metric(struct store *st, int32_t project_id, struct lookup_extent *ret, struct error *err);

/* ---- runs -------------------------------------------------------------------------------------------------------- */

int store_runs_shown(struct store *st, struct store_ints ids, struct arena *a, struct store_run **ret, size_t *ret_n,
                     struct error *err);

#endif
