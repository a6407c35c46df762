/* Names of a project that only its data know: hyperparameters, metadata and metrics. */
#include "store/search_internal.h"
#include "store/take.h"

const char *const search_qualifier_name[SEARCH_QUALIFIER_NR] = {"min", "max", "mean", "last"};

static void read_value_name(struct query *q, struct arena *a, void *row)
{
    struct search_name *n = row;
    n->name = take_text(q, a);
    bool numbers = take_bool(q), texts = take_bool(q);
    n->type = numbers ? SEARCH_NAME_NUMBER : texts ? SEARCH_NAME_TEXT : SEARCH_NAME_MIXED;
}

int store_search_value_names(struct store *st, int32_t project_id, bool metadata, struct arena *a,
                             struct search_name **ret, size_t *ret_n, struct error *err)
{
    return query_all(st, Q_SEARCH_VALUE_NAMES, SQL_ARGS(sql_int(project_id), sql_bool(metadata)), read_value_name,
                     sizeof(**ret), a, ret, ret_n, err);
}

static void read_text(struct query *q, struct arena *a, void *row) { *(const char **)row = take_text(q, a); }

int store_search_metadata_values(struct store *st, int32_t project_id, const char *key, struct arena *a,
                                 const char ***ret, size_t *ret_n, struct error *err)
{
    return query_all(st, Q_SEARCH_METADATA_VALUES, SQL_ARGS(sql_int(project_id), sql_text(key)), read_text,
                     sizeof(**ret), a, ret, ret_n, err);
}

static struct search_extent take_extent(struct query *q)
{
    struct search_extent e;
    e.known = take_opt_real(q, &e.min);
    e.known = take_opt_real(q, &e.max) && e.known;
    return e;
}

static void read_metric(struct query *q, struct arena *a, void *row)
{
    struct search_metric *m = row;
    m->group = take_text(q, a);
    m->name = take_text(q, a);
    m->number = take_bool(q);
    for (int i = 0; i < SEARCH_QUALIFIER_NR; i++)
        m->extent[i] = take_extent(q);
}

int store_search_metrics(struct store *st, enum search_kind kind, int32_t project_id, struct arena *a,
                         struct search_metric **ret, size_t *ret_n, struct error *err)
{
    return query_all(st, Q_SEARCH_METRIC_NAMES, SQL_ARGS(sql_int(project_id), sql_bool(kind == SEARCH_RUNS)),
                     read_metric, sizeof(**ret), a, ret, ret_n, err);
}

static void read_extent(struct query *q, struct arena *a, void *row)
{
    (void)a;
    *(struct search_extent *)row = take_extent(q);
}

int store_search_searcher_metric(struct store *st, int32_t project_id, struct search_extent *ret, struct error *err)
{
    *ret = (struct search_extent){.known = false};
    return query_one(st, Q_SEARCH_SEARCHER_METRIC_EXTENT, SQL_ARGS(sql_int(project_id)), read_extent, NULL, ret, err) < 0
           ? -1 : 0;
}
