/* What the names of filters and sorts stand for. */
#include <stdio.h>
#include <string.h>

#include "store/search_internal.h"

#define EXPRESSION(f) .expression = (f)
#define SORTED_AS(f) .has_sort = true, .sort = (f)

static const struct search_column experiment_columns[] = {
    {"id", SEARCH_NUMBER, EXPRESSION(F_SEARCH_X_ID)},
    {"description", SEARCH_TEXT, EXPRESSION(F_SEARCH_X_DESCRIPTION), SORTED_AS(F_SEARCH_X_DESCRIPTION_SORT)},
    {"name", SEARCH_TEXT, EXPRESSION(F_SEARCH_X_NAME), SORTED_AS(F_SEARCH_X_NAME_SORT)},
    {"tags", SEARCH_LABELS, EXPRESSION(F_SEARCH_X_LABELS)},
    {"searcherType", SEARCH_TEXT, EXPRESSION(F_SEARCH_X_SEARCHER_TYPE)},
    {"searcherMetric", SEARCH_TEXT, EXPRESSION(F_SEARCH_X_SEARCHER_METRIC)},
    {"startTime", SEARCH_TIME, EXPRESSION(F_SEARCH_X_START)},
    {"endTime", SEARCH_TIME, .nullable = true, EXPRESSION(F_SEARCH_X_END)},
    {"duration", SEARCH_NUMBER, .takes_now = true, EXPRESSION(F_SEARCH_X_DURATION)},
    {"state", SEARCH_STATE, EXPRESSION(F_SEARCH_X_STATE)},
    {"numTrials", SEARCH_NUMBER, EXPRESSION(F_SEARCH_X_NUM_TRIALS)},
    {"progress", SEARCH_NUMBER, EXPRESSION(F_SEARCH_X_PROGRESS), SORTED_AS(F_SEARCH_X_PROGRESS_SORT)},
    {"user", SEARCH_USER, EXPRESSION(F_SEARCH_X_USER), SORTED_AS(F_SEARCH_X_USER_SORT)},
    {"forkedFrom", SEARCH_NUMBER, .nullable = true, EXPRESSION(F_SEARCH_X_PARENT)},
    {"resourcePool", SEARCH_TEXT, EXPRESSION(F_SEARCH_X_POOL)},
    {"projectId", SEARCH_NUMBER, EXPRESSION(F_SEARCH_X_PROJECT)},
    {"checkpointSize", SEARCH_NUMBER, EXPRESSION(F_SEARCH_X_CHECKPOINT_SIZE)},
    {"checkpointCount", SEARCH_NUMBER, EXPRESSION(F_SEARCH_X_CHECKPOINT_COUNT)},
    {"searcherMetricsVal", SEARCH_NUMBER, .nullable = true, EXPRESSION(F_SEARCH_X_METRIC)},
    {"externalExperimentId", SEARCH_TEXT, .nullable = true, EXPRESSION(F_SEARCH_X_EXTERNAL)},
    {"externalTrialId", SEARCH_TEXT, .nullable = true, EXPRESSION(F_SEARCH_X_EXTERNAL_TRIAL)},
    {NULL},
};

static const struct search_column run_columns[] = {
    {"id", SEARCH_NUMBER, EXPRESSION(F_SEARCH_T_ID)},
    {"experimentDescription", SEARCH_TEXT, EXPRESSION(F_SEARCH_X_DESCRIPTION)},
    {"experimentName", SEARCH_TEXT, EXPRESSION(F_SEARCH_X_NAME)},
    {"tags", SEARCH_LABELS, EXPRESSION(F_SEARCH_X_LABELS)},
    {"searcherType", SEARCH_TEXT, EXPRESSION(F_SEARCH_X_SEARCHER_TYPE)},
    {"searcherMetric", SEARCH_TEXT, EXPRESSION(F_SEARCH_X_SEARCHER_METRIC)},
    {"startTime", SEARCH_TIME, EXPRESSION(F_SEARCH_T_START)},
    {"endTime", SEARCH_TIME, .nullable = true, EXPRESSION(F_SEARCH_T_END)},
    {"duration", SEARCH_NUMBER, .takes_now = true, EXPRESSION(F_SEARCH_T_DURATION)},
    {"state", SEARCH_STATE, EXPRESSION(F_SEARCH_T_STATE)},
    {"experimentProgress", SEARCH_NUMBER, EXPRESSION(F_SEARCH_X_PROGRESS)},
    {"user", SEARCH_USER, EXPRESSION(F_SEARCH_X_USER), SORTED_AS(F_SEARCH_X_USER_SORT)},
    {"forkedFrom", SEARCH_NUMBER, .nullable = true, EXPRESSION(F_SEARCH_X_PARENT)},
    {"resourcePool", SEARCH_TEXT, EXPRESSION(F_SEARCH_X_POOL)},
    {"projectId", SEARCH_NUMBER, EXPRESSION(F_SEARCH_X_PROJECT)},
    {"checkpointSize", SEARCH_NUMBER, EXPRESSION(F_SEARCH_T_CHECKPOINT_SIZE)},
    {"checkpointCount", SEARCH_NUMBER, EXPRESSION(F_SEARCH_T_CHECKPOINT_COUNT)},
    {"searcherMetricsVal", SEARCH_NUMBER, .nullable = true, EXPRESSION(F_SEARCH_T_METRIC)},
    {"externalExperimentId", SEARCH_TEXT, .nullable = true, EXPRESSION(F_SEARCH_X_EXTERNAL)},
    {"externalRunId", SEARCH_TEXT, .nullable = true, EXPRESSION(F_SEARCH_T_EXTERNAL)},
    {"experimentId", SEARCH_NUMBER, EXPRESSION(F_SEARCH_X_ID)},
    {"localId", SEARCH_TEXT, EXPRESSION(F_SEARCH_T_LOCAL_ID), SORTED_AS(F_SEARCH_T_ID)},
    {"isExpMultitrial", SEARCH_TRUTH, EXPRESSION(F_SEARCH_X_MULTITRIAL)},
    {"parentArchived", SEARCH_TRUTH, EXPRESSION(F_SEARCH_X_PARENT_ARCHIVED)},
    {"archived", SEARCH_TRUTH, .only_sort = true, EXPRESSION(F_SEARCH_T_ARCHIVED)},
    {NULL},
};

static const struct search_column hparam = {"hp.NAME", SEARCH_HPARAM, .nullable = true};
static const struct search_column metadata = {"metadata.KEY", SEARCH_METADATA, .nullable = true};
static const struct search_column metric = {"GROUP.NAME.min|max|mean|last", SEARCH_METRIC, .nullable = true};

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

const char *search_column_names(enum search_kind kind, struct arena *a)
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

/* "a.b" → $."a"."b" for SQLite, ["a","b"] for PostgreSQL; index -1: none. */
static int make_path(const char *names, bool nested, int index, struct arena *a, struct search_path *ret, struct error *err)
{
    cleanup_strbuf struct strbuf sqlite = STRBUF_INIT, postgres = STRBUF_INIT;
    strbuf_addc(&sqlite, '$');
    strbuf_addc(&postgres, '[');
    for (const char *p = names; ;) {
        size_t n = nested ? strcspn(p, ".") : strlen(p);
        if (n == 0 || memchr(p, '"', n) || memchr(p, '\\', n))
            return error_set(err, ERR_INVALID, "\"%s\" is no name: its parts must not be empty, nor hold quotes or "
                             "backslashes", names);
        strbuf_addf(&sqlite, ".\"%.*s\"", (int)n, p);
        if (p != names)
            strbuf_addc(&postgres, ',');
        strbuf_add_json(&postgres, p, n);
        if (!p[n])
            break;
        p += n + 1;
    }
    if (index >= 0) {
        strbuf_addf(&sqlite, "[%d]", index);
        strbuf_addf(&postgres, ",\"%d\"", index);
    }
    strbuf_addc(&postgres, ']');
    ret->text[SQL_SQLITE] = arena_strdup(a, sqlite.s);
    ret->text[SQL_POSTGRES] = arena_strdup(a, postgres.s);
    return 0;
}

/* Positions within a kept summary: metric_summary.h. */
enum { SUMMARY_COUNT = 1, SUMMARY_SUM = 2, SUMMARY_MIN = 3, SUMMARY_MAX = 4, SUMMARY_LAST = 5 };

static int parse_metric(const char *name, struct arena *a, struct search_operand *ret, struct error *err)
{
    const char *first = strchr(name, '.'), *last = strrchr(name, '.');
    static const struct { const char *name; int index; } qualifiers[] = {
        {"min", SUMMARY_MIN}, {"max", SUMMARY_MAX}, {"mean", SUMMARY_SUM}, {"last", SUMMARY_LAST}};
    int index = -1;
    for (size_t i = 0; i < sizeof(qualifiers) / sizeof(*qualifiers); i++)
        if (strcmp(last + 1, qualifiers[i].name) == 0)
            index = qualifiers[i].index;
    if (index < 0 || first == last || first == name)
        return error_set(err, ERR_INVALID, "\"%s\" is no metric: GROUP.NAME.QUALIFIER is expected, with one of min, max, "
                         "mean and last at the end", name);
    ret->may_be_text = index == SUMMARY_LAST;
    ret->group = arena_strndup(a, name, (size_t)(first - name));
    const char *metric_name = arena_strndup(a, first + 1, (size_t)(last - first - 1));
    if (make_path(metric_name, /* nested= */ false, index, a, &ret->path, err) < 0)
        return -1;
    return index == SUMMARY_SUM ? make_path(metric_name, false, SUMMARY_COUNT, a, &ret->divisor, err) : 0;
}

int search_operand_parse(enum search_kind kind, const char *name, const char *location, struct arena *a,
                         struct search_operand *ret, struct error *err)
{
    *ret = (struct search_operand){.column = search_column_find(kind, name, location)};
    if (!ret->column)
        return error_set(err, ERR_INVALID, "there is no column \"%s\" (columns: %s)", name, search_column_names(kind, a));
    switch (ret->column->type) {
    case SEARCH_HPARAM:
        ret->may_be_text = true;
        return make_path(strncmp(name, "hp.", 3) == 0 ? name + 3 : name, true, -1, a, &ret->path, err);
    case SEARCH_METADATA:
        ret->may_be_text = true;
        return make_path(name + strlen("metadata."), true, -1, a, &ret->path, err);
    case SEARCH_METRIC:
        return parse_metric(name, a, ret, err);
    default:
        return 0;
    }
}
