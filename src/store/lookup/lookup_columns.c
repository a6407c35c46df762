/* The columns that the names in filters and sorts stand for. */
#include <stdio.h>
#include <string.h>

#include "store/lookup/lookup_internal.h"
#include "store/lookup/lookup_paths.h"

#define X(c) .table = LOOKUP_TABLE_EXPERIMENTS, .column = (c)
#define T(c) .table = LOOKUP_TABLE_RUNS, .column = (c)
#define IS(h) .how = (h)

static const struct lookup_column experiment_columns[] = {
    {"id", LOOKUP_NUMBER, X(0), IS(LOOKUP_BY_ID)},
    {"description", LOOKUP_TEXT, X(X_DESCRIPTION)},
    {"name", LOOKUP_TEXT, X(X_NAME)},
    {"tags", LOOKUP_LABELS, X(X_LABELS)},
    {"searcherType", LOOKUP_TEXT, X(X_SEARCHER_TYPE)},
    {"searcherMetric", LOOKUP_TEXT, X(X_SEARCHER_METRIC)},
    {"startTime", LOOKUP_TIME, X(X_START)},
    {"endTime", LOOKUP_TIME, X(X_END)},
    {"duration", LOOKUP_NUMBER, X(0), IS(LOOKUP_BY_DURATION)},
    {"state", LOOKUP_STATE, X(X_STATE)},
    {"numTrials", LOOKUP_NUMBER, X(X_NUM_TRIALS)},
    {"progress", LOOKUP_NUMBER, X(X_PROGRESS)},
    {"user", LOOKUP_USER, .table = LOOKUP_TABLE_USERS, .column = U_SHOWN},
    {"forkedFrom", LOOKUP_NUMBER, X(X_PARENT)},
    {"resourcePool", LOOKUP_TEXT, X(X_POOL)},
    {"projectId", LOOKUP_NUMBER, X(X_PROJECT)},
    {"checkpointSize", LOOKUP_NUMBER, X(X_CHECKPOINT_SIZE)},
    {"checkpointCount", LOOKUP_NUMBER, X(X_CHECKPOINT_COUNT)},
    {"searcherMetricsVal", LOOKUP_NUMBER, X(X_METRIC)},
    {"externalExperimentId", LOOKUP_TEXT, X(X_EXTERNAL)},
    {"externalTrialId", LOOKUP_TEXT, T(T_EXTERNAL)}, /* the best run's */
    {NULL},
};

static const struct lookup_column run_columns[] = {
    {"id", LOOKUP_NUMBER, T(0), IS(LOOKUP_BY_ID)},
    {"experimentDescription", LOOKUP_TEXT, X(X_DESCRIPTION)},
    {"experimentName", LOOKUP_TEXT, X(X_NAME)},
    {"tags", LOOKUP_LABELS, X(X_LABELS)},
    {"searcherType", LOOKUP_TEXT, X(X_SEARCHER_TYPE)},
    {"searcherMetric", LOOKUP_TEXT, X(X_SEARCHER_METRIC)},
    {"startTime", LOOKUP_TIME, T(T_START)},
    {"endTime", LOOKUP_TIME, T(T_END)},
    {"duration", LOOKUP_NUMBER, T(0), IS(LOOKUP_BY_DURATION)},
    {"state", LOOKUP_STATE, T(T_STATE)},
    {"experimentProgress", LOOKUP_NUMBER, X(X_PROGRESS)},
    {"user", LOOKUP_USER, .table = LOOKUP_TABLE_USERS, .column = U_SHOWN},
    {"forkedFrom", LOOKUP_NUMBER, X(X_PARENT)},
    {"resourcePool", LOOKUP_TEXT, X(X_POOL)},
    {"projectId", LOOKUP_NUMBER, X(X_PROJECT)},
    {"checkpointSize", LOOKUP_NUMBER, T(T_CHECKPOINT_SIZE)},
    {"checkpointCount", LOOKUP_NUMBER, T(T_CHECKPOINT_COUNT)},
    {"searcherMetricsVal", LOOKUP_NUMBER, T(T_METRIC)},
    {"externalExperimentId", LOOKUP_TEXT, X(X_EXTERNAL)},
    {"externalRunId", LOOKUP_TEXT, T(T_EXTERNAL)},
    {"experimentId", LOOKUP_NUMBER, T(T_EXPERIMENT)},
    {"localId", LOOKUP_TEXT, T(0), IS(LOOKUP_BY_LOCAL_ID)},
    {"isExpMultitrial", LOOKUP_TRUTH, X(0), IS(LOOKUP_BY_MULTITRIAL)},
    {"parentArchived", LOOKUP_TRUTH, X(0), IS(LOOKUP_BY_PARENT_ARCHIVED)},
    {"archived", LOOKUP_TRUTH, .only_sort = true, T(T_ARCHIVED)},
    {NULL},
};

static const struct lookup_column hparam = {"hp.NAME", LOOKUP_HPARAM, T(0)};
static const struct lookup_column metadata = {"metadata.KEY", LOOKUP_METADATA, T(0)};
static const struct lookup_column metric = {"GROUP.NAME.min|max|mean|last", LOOKUP_METRIC, T(0)};

static const struct lookup_column *table(enum lookup_kind kind)
{
    return kind == LOOKUP_RUNS ? run_columns : experiment_columns;
}

/* Finds a column. Some columns are also found by the other names that the predecessor's table of the web interface
 * had for them. */
const struct lookup_column *lookup_column_find(enum lookup_kind kind, const char *name, const char *location)
{
    for (const struct lookup_column *c = table(kind); c->name; c++)
        if (strcmp(c->name, name) == 0)
            return c;
    bool is_hparam = location && strstr(location, "HYPERPARAMETERS");
    if (is_hparam || strncmp(name, "hp.", 3) == 0)
        return &hparam;
    if (kind == LOOKUP_RUNS && strncmp(name, "metadata.", 9) == 0)
        return &metadata;
    return strchr(name, '.') ? &metric : NULL;
}

static const char *column_names(enum lookup_kind kind, struct arena *a)
{
    cleanup_strbuf struct strbuf all = STRBUF_INIT;
    for (const struct lookup_column *c = table(kind); c->name; c++)
        strbuf_addf(&all, "%s, ", c->name);
    strbuf_addf(&all, "%s%s%s or %s", hparam.name, kind == LOOKUP_RUNS ? ", " : "",
                kind == LOOKUP_RUNS ? metadata.name : "", metric.name);
    return arena_strdup(a, all.s);
}

void lookup_fixed_names(enum lookup_kind kind, struct arena *a, struct lookup_name **ret, size_t *ret_n)
{
    size_t n = 0;
    while (table(kind)[n].name)
        n++;
    *ret = arena_array(a, struct lookup_name, n + 1);
    *ret_n = 0;
    for (const struct lookup_column *c = table(kind); c->name; c++)
        if (!c->only_sort)
            (*ret)[(*ret_n)++] = (struct lookup_name){.name = c->name,
                                                      .type = c->type == LOOKUP_NUMBER ? LOOKUP_NAME_NUMBER
                                                              : c->type == LOOKUP_TIME ? LOOKUP_NAME_TIME
                                                                                       : LOOKUP_NAME_TEXT};
}

/* ---- paths ------------------------------------------------------------------------------------------------------- */

/* Makes the name of a path, which begins with the letter of its kind of document (lookup_paths.h). */
static int make_path(enum lookup_document kind, const char *name, struct arena *a, const char **ret, struct error *err)
{
    for (const char *p = name;;) {
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

static int parse_metric(const char *name, struct arena *a, struct lookup_operand *ret, struct error *err)
{
    const char *first = strchr(name, '.'), *last = strrchr(name, '.');
    bool known = false;
    for (size_t i = 0; i < LOOKUP_QUALIFIER_NR; i++)
        known = known || strcmp(last + 1, lookup_qualifier_name[i]) == 0;
    if (!known || first == last || first == name)
        return error_set(err, ERR_INVALID,
                         "\"%s\" is no metric: GROUP.NAME.QUALIFIER is expected, with one of min, max, "
                         "mean and last at the end",
                         name);
    ret->may_be_text = strcmp(last, ".last") == 0;
    ret->path = arena_printf(a, "%c%s", LOOKUP_SUMMARY, name);
    return 0;
}

int lookup_operand_parse(enum lookup_kind kind, const char *name, const char *location, struct arena *a,
                         struct lookup_operand *ret, struct error *err)
{
    *ret = (struct lookup_operand){.column = lookup_column_find(kind, name, location)};
    if (!ret->column)
        return error_set(err, ERR_INVALID, "there is no column \"%s\" (columns: %s)", name, column_names(kind, a));
    switch (ret->column->type) {
    case LOOKUP_HPARAM:
        ret->may_be_text = true;
        return make_path(LOOKUP_HPARAMS, strncmp(name, "hp.", 3) == 0 ? name + 3 : name, a, &ret->path, err);
    case LOOKUP_METADATA:
        ret->may_be_text = true;
        return make_path(LOOKUP_METADATA_OF_RUN, name + strlen("metadata."), a, &ret->path, err);
    case LOOKUP_METRIC:
        return parse_metric(name, a, ret, err);
    default:
        return 0;
    }
}
