/* Names that are found only in the data of a project: those of hyperparameters, metadata and metrics. */
#include "store/lookup/lookup_internal.h"
#include "store/row_io.h"

const char *const lookup_qualifier_name[LOOKUP_QUALIFIER_NR] = {"min", "max", "mean", "last"};

int store_lookup_value_names(struct store *st, int32_t project_id, bool metadata, struct arena *a,
                             struct lookup_name **ret, size_t *ret_n, struct error *err)
{
    struct value_name *found;
    size_t n;
    if (list_lookup_value_names(st, SQL_ARGS(sql_int(project_id), sql_bool(metadata)), a, &found, &n, err) < 0)
        return -1;
    struct lookup_name *name = arena_array(a, struct lookup_name, n + 1);
    for (size_t i = 0; i < n; i++)
        name[i] = (struct lookup_name){.name = found[i].name,
                                       .type = found[i].numbers ? LOOKUP_NAME_NUMBER
                                               : found[i].texts ? LOOKUP_NAME_TEXT
                                                                : LOOKUP_NAME_MIXED};
    *ret = name;
    *ret_n = n;
    return 0;
}

int store_lookup_metrics(struct store *st, enum lookup_kind kind, int32_t project_id, struct arena *a,
                         struct lookup_metric **ret, size_t *ret_n, struct error *err)
{
    return list_lookup_metric_names(st, SQL_ARGS(sql_int(project_id), sql_bool(kind == LOOKUP_RUNS)), a, ret, ret_n,
                                    err);
}

int store_lookup_searcher_metric(struct store *st, int32_t project_id, struct lookup_extent *ret, struct error *err)
{
    *ret = (struct lookup_extent){.known = false};
    return get_lookup_searcher_metric_extent(st, SQL_ARGS(sql_int(project_id)), NULL, ret, err) < 0 ? -1 : 0;
}
