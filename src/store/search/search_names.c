/* Names of a project that only its data know: hyperparameters, metadata and metrics. */
#include "store/row_io.h"
#include "store/search/search_internal.h"

const char *const search_qualifier_name[SEARCH_QUALIFIER_NR] = {"min", "max", "mean", "last"};

int store_search_value_names(struct store *st, int32_t project_id, bool metadata, struct arena *a,
                             struct search_name **ret, size_t *ret_n, struct error *err)
{
    struct value_name *found;
    size_t n;
    if (list_search_value_names(st, SQL_ARGS(sql_int(project_id), sql_bool(metadata)), a, &found, &n, err) < 0)
        return -1;
    struct search_name *name = arena_array(a, struct search_name, n + 1);
    for (size_t i = 0; i < n; i++)
        name[i] = (struct search_name){.name = found[i].name, .type = found[i].numbers ? SEARCH_NAME_NUMBER
                                       : found[i].texts ? SEARCH_NAME_TEXT : SEARCH_NAME_MIXED};
    *ret = name;
    *ret_n = n;
    return 0;
}

int store_search_metrics(struct store *st, enum search_kind kind, int32_t project_id, struct arena *a,
                         struct search_metric **ret, size_t *ret_n, struct error *err)
{
    return list_search_metric_names(st, SQL_ARGS(sql_int(project_id), sql_bool(kind == SEARCH_RUNS)), a, ret, ret_n, err);
}

int store_search_searcher_metric(struct store *st, int32_t project_id, struct search_extent *ret, struct error *err)
{
    *ret = (struct search_extent){.known = false};
    return get_search_searcher_metric_extent(st, SQL_ARGS(sql_int(project_id)), NULL, ret, err) < 0 ? -1 : 0;
}
