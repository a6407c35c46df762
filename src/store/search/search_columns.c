/* What the names of filters and sorts stand for. */
#include <stdio.h>
#include <string.h>

#include "store/search/search_internal.h"
#include "store/search/search_paths.h"

#define X(c) .table = SEARCH_TABLE_EXPERIMENTS, .column = (c)
#define T(c) .table = SEARCH_TABLE_RUNS, .column = (c)
#define IS(h) .how = (h)

static const struct search_column experiment_columns[] = {
    {"id", SEARCH_NUMBER, X(0), IS(SEARCH_BY_ID)},
    {"description", SEARCH_TEXT, X(X_DESCRIPTION)},
    {"name", SEARCH_TEXT, X(X_NAME)},
    {"tags", SEARCH_LABELS, X(X_LABELS)},
    {"searcherType", SEARCH_TEXT, X(X_SEARCHER_TYPE)},
    {"searcherMetric", SEARCH_TEXT, X(X_SEARCHER_METRIC)},
    {"startTime", SEARCH_TIME, X(X_START)},
    {"endTime", SEARCH_TIME, X(X_END)},
    {"duration", SEARCH_NUMBER, X(0), IS(SEARCH_BY_DURATION)},
    {"state", SEARCH_STATE, X(X_STATE)},
    {"numTrials", SEARCH_NUMBER, X(X_NUM_TRIALS)},
    {"progress", SEARCH_NUMBER, X(X_PROGRESS)},
    {"user", SEARCH_USER, .table = SEARCH_TABLE_USERS, .column = U_SHOWN},
    {"forkedFrom", SEARCH_NUMBER, X(X_PARENT)},
    {"resourcePool", SEARCH_TEXT, X(X_POOL)},
    {"projectId", SEARCH_NUMBER, X(X_PROJECT)},
    {"checkpointSize", SEARCH_NUMBER, X(X_CHECKPOINT_SIZE)},
    {"checkpointCount", SEARCH_NUMBER, X(X_CHECKPOINT_COUNT)},
    {"searcherMetricsVal", SEARCH_NUMBER, X(X_METRIC)},
    {"externalExperimentId", SEARCH_TEXT, X(X_EXTERNAL)},
    {"externalTrialId", SEARCH_TEXT, T(T_EXTERNAL)}, /* of the best run */
    {NULL},
};

static const struct search_column run_columns[] = {
    {"id", SEARCH_NUMBER, T(0), IS(SEARCH_BY_ID)},
    {"experimentDescription", SEARCH_TEXT, X(X_DESCRIPTION)},
    {"experimentName", SEARCH_TEXT, X(X_NAME)},
    {"tags", SEARCH_LABELS, X(X_LABELS)},
    {"searcherType", SEARCH_TEXT, X(X_SEARCHER_TYPE)},
    {"searcherMetric", SEARCH_TEXT, X(X_SEARCHER_METRIC)},
    {"startTime", SEARCH_TIME, T(T_START)},
    {"endTime", SEARCH_TIME, T(T_END)},
    {"duration", SEARCH_NUMBER, T(0), IS(SEARCH_BY_DURATION)},
    {"state", SEARCH_STATE, T(T_STATE)},
    {"experimentProgress", SEARCH_NUMBER, X(X_PROGRESS)},
    {"user", SEARCH_USER, .table = SEARCH_TABLE_USERS, .column = U_SHOWN},
    {"forkedFrom", SEARCH_NUMBER, X(X_PARENT)},
    {"resourcePool", SEARCH_TEXT, X(X_POOL)},
    {"projectId", SEARCH_NUMBER, X(X_PROJECT)},
    {"checkpointSize", SEARCH_NUMBER, T(T_CHECKPOINT_SIZE)},
    {"checkpointCount", SEARCH_NUMBER, T(T_CHECKPOINT_COUNT)},
    {"searcherMetricsVal", SEARCH_NUMBER, T(T_METRIC)},
    {"externalExperimentId", SEARCH_TEXT, X(X_EXTERNAL)},
    {"externalRunId", SEARCH_TEXT, T(T_EXTERNAL)},
    {"experimentId", SEARCH_NUMBER, T(T_EXPERIMENT)},
    {"localId", SEARCH_TEXT, T(0), IS(SEARCH_BY_LOCAL_ID)},
    {"isExpMultitrial", SEARCH_TRUTH, X(0), IS(SEARCH_BY_MULTITRIAL)},
    {"parentArchived", SEARCH_TRUTH, X(0), IS(SEARCH_BY_PARENT_ARCHIVED)},
    {"archived", SEARCH_TRUTH, .only_sort = true, T(T_ARCHIVED)},
    {NULL},
};

static const struct search_column hparam = {"hp.NAME", SEARCH_HPARAM, T(0)};
static const struct search_column metadata = {"metadata.KEY", SEARCH_METADATA, T(0)};
static const struct search_column metric = {"GROUP.NAME.min|max|mean|last", SEARCH_METRIC, T(0)};

static const struct search_column *table(enum search_kind kind)
{
    return kind == SEARCH_RUNS ? run_columns : experiment_columns;
}

/* The predecessor's table knew some columns of the web interface by other names. */
const struct search_column *search_column_find(enum search_kind kind, const char *name, const char *location)
{
    for (const struct search_column *c = table(kind); c->name; c++)
        if (strcmp(c->name, name) == 0)
            return c;
    bool is_hparam = location && strstr(location, "HYPERPARAMETERS");
    if (is_hparam || strncmp(name, "hp.", 3) == 0)
        return &hparam;
    if (kind == SEARCH_RUNS && strncmp(name, "metadata.", 9) == 0)
        return &metadata;
    return strchr(name, '.') ? &metric : NULL;
}

static const char *column_names(enum search_kind kind, struct arena *a)
{
    cleanup_strbuf struct strbuf all = STRBUF_INIT;
    for (const struct search_column *c = table(kind); c->name; c++)
        strbuf_addf(&all, "%s, ", c->name);
    strbuf_addf(&all, "%s%s%s or %s", hparam.name, kind == SEARCH_RUNS ? ", " : "",
                kind == SEARCH_RUNS ? metadata.name : "", metric.name);
    return arena_strdup(a, all.s);
}

void search_fixed_names(enum search_kind kind, struct arena *a, struct search_name **ret, size_t *ret_n)
{
    size_t n = 0;
    while (table(kind)[n].name)
        n++;
    *ret = arena_array(a, struct search_name, n + 1);
    *ret_n = 0;
    for (const struct search_column *c = table(kind); c->name; c++)
        if (!c->only_sort)
            (*ret)[(*ret_n)++] = (struct search_name){
                .name = c->name,
                .type = c->type == SEARCH_NUMBER ? SEARCH_NAME_NUMBER
                        : c->type == SEARCH_TIME ? SEARCH_NAME_TIME : SEARCH_NAME_TEXT};
}

/* ---- paths ------------------------------------------------------------------------------------------------------- */

/* A path's name after the letter of its kind of document (search_paths.h). */
static int make_path(enum search_document kind, const char *name, struct arena *a, const char **ret, struct error *err)
{
    for (const char *p = name; ;) {
        size_t n = strcspn(p, ".");
        if (n == 0)
            return error_set(err, ERR_INVALID, "\"%s\" is no name: its parts must not be empty", name);
        if (!p[n])
            break;
        p += n + 1;
    }
    *ret = arena_printf(a, "%c%s", kind, name);
    return 0;
}

static int parse_metric(const char *name, struct arena *a, struct search_operand *ret, struct error *err)
{
    const char *first = strchr(name, '.'), *last = strrchr(name, '.');
    bool known = false;
    for (size_t i = 0; i < SEARCH_QUALIFIER_NR; i++)
        known = known || strcmp(last + 1, search_qualifier_name[i]) == 0;
    if (!known || first == last || first == name)
        return error_set(err, ERR_INVALID, "\"%s\" is no metric: GROUP.NAME.QUALIFIER is expected, with one of min, max, "
                         "mean and last at the end", name);
    ret->may_be_text = strcmp(last, ".last") == 0;
    ret->path = arena_printf(a, "%c%s", SEARCH_SUMMARY, name);
    return 0;
}

int search_operand_parse(enum search_kind kind, const char *name, const char *location, struct arena *a,
                         struct search_operand *ret, struct error *err)
{
    *ret = (struct search_operand){.column = search_column_find(kind, name, location)};
    if (!ret->column)
        return error_set(err, ERR_INVALID, "there is no column \"%s\" (columns: %s)", name, column_names(kind, a));
    switch (ret->column->type) {
    case SEARCH_HPARAM:
        ret->may_be_text = true;
        return make_path(SEARCH_HPARAMS, strncmp(name, "hp.", 3) == 0 ? name + 3 : name, a, &ret->path, err);
    case SEARCH_METADATA:
        ret->may_be_text = true;
        return make_path(SEARCH_METADATA_OF_RUN, name + strlen("metadata."), a, &ret->path, err);
    case SEARCH_METRIC:
        return parse_metric(name, a, ret, err);
    default:
        return 0;
    }
}
