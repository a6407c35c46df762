/* Names for the filters of a project's lists: the columns that can be shown, the ranges of metrics, the values of
 * metadata. */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "api/pipeline/internal.h"
#include "common/base/strbuf.h"
#include "gen/handlers.h"
#include "store/accounts/workspaces.h"
#include "store/lookup/lookup.h"

static int check_project(struct req *r, struct store *db, int32_t id, struct error *err)
{
    struct store_project project;
    return store_project_get(db, id, &r->arena, &project, err);
}

/* ---- columns ----------------------------------------------------------------------------------------------------- */

/* Makes a title of a name: "startTime" becomes "Start time", "localId" becomes "Local ID". */
static const char *title_of(const char *name, struct arena *a)
{
    cleanup_strbuf struct strbuf title = STRBUF_INIT;
    for (const char *c = name; *c; c++) {
        bool capital = isupper((unsigned char)*c);
        if (capital)
            strbuf_addc(&title, ' ');
        if (strcasecmp(c, "id") == 0 && (capital || c == name)) {
            strbuf_addf(&title, "ID");
            break;
        }
        strbuf_addc(&title, (char)(c == name ? toupper((unsigned char)*c) : tolower((unsigned char)*c)));
    }
    return arena_strdup(a, title.s);
}

static enum wire_project_column_type type_of(const struct lookup_name *n)
{
    switch (n->type) {
    case LOOKUP_NAME_NUMBER:
        return WIRE_PROJECT_COLUMN_TYPE_NUMBER;
    case LOOKUP_NAME_TEXT:
        return WIRE_PROJECT_COLUMN_TYPE_TEXT;
    case LOOKUP_NAME_TIME:
        return WIRE_PROJECT_COLUMN_TYPE_DATE;
    default:
        return WIRE_PROJECT_COLUMN_TYPE_UNSPECIFIED;
    }
}

static enum wire_project_location_type location_of_group(const char *group)
{
    if (strcmp(group, "validation") == 0)
        return WIRE_PROJECT_LOCATION_TYPE_VALIDATIONS;
    return strcmp(group, "training") == 0 ? WIRE_PROJECT_LOCATION_TYPE_TRAINING
                                          : WIRE_PROJECT_LOCATION_TYPE_CUSTOM_METRIC;
}

/* Adds columns. `prefix` is "" for columns that every project has. */
static void add_names(const struct lookup_name *name, size_t n, const char *prefix,
                      enum wire_project_location_type location, struct arena *a, struct wire_project_column *to)
{
    for (size_t i = 0; i < n; i++) {
        to[i].column = arena_printf(a, "%s%s", prefix, name[i].name);
        to[i].location = location;
        to[i].type = type_of(&name[i]);
        to[i].display_name = *prefix ? name[i].name : title_of(name[i].name, a);
    }
}

/* Adds the columns of one metric. Numbers have four (last, mean, min, max), other values only `last`. */
static size_t add_metric(const struct lookup_metric *m, struct arena *a, struct wire_project_column *to)
{
    size_t n = 0;
    for (int i = m->number ? 0 : LOOKUP_LAST; i < LOOKUP_QUALIFIER_NR; i++) {
        to[n].column = arena_printf(a, "%s.%s.%s", m->group, m->name, lookup_qualifier_name[i]);
        to[n].location = location_of_group(m->group);
        to[n++].type = m->number ? WIRE_PROJECT_COLUMN_TYPE_NUMBER : WIRE_PROJECT_COLUMN_TYPE_TEXT;
    }
    return n;
}

int api_get_project_columns(struct req *r, struct store *db, const struct wire_get_project_columns_request *in,
                            struct wire_get_project_columns_response *ret, struct error *err)
{
    const bool runs = in->has_table_type && in->table_type == WIRE_TABLE_TYPE_RUN;
    const enum lookup_kind kind = runs ? LOOKUP_RUNS : LOOKUP_EXPERIMENTS;
    struct lookup_name *fixed, *hparam, *metadata = NULL;
    struct lookup_metric *metric;
    size_t fixed_n, hparam_n, metadata_n = 0, metric_n;
    if (check_project(r, db, in->id, err) < 0 ||
        store_lookup_value_names(db, in->id, false, &r->arena, &hparam, &hparam_n, err) < 0 ||
        (runs && store_lookup_value_names(db, in->id, true, &r->arena, &metadata, &metadata_n, err) < 0) ||
        store_lookup_metrics(db, kind, in->id, &r->arena, &metric, &metric_n, err) < 0)
        return -1;
    lookup_fixed_names(kind, &r->arena, &fixed, &fixed_n);
    size_t max = fixed_n + hparam_n + metadata_n + metric_n * LOOKUP_QUALIFIER_NR;
    struct wire_project_column *to = ret->columns = arena_array(&r->arena, struct wire_project_column, max + 1);
    add_names(fixed, fixed_n, "", runs ? WIRE_PROJECT_LOCATION_TYPE_RUN : WIRE_PROJECT_LOCATION_TYPE_EXPERIMENT,
              &r->arena, to);
    to += fixed_n;
    add_names(hparam, hparam_n, "hp.",
              runs ? WIRE_PROJECT_LOCATION_TYPE_RUN_HYPERPARAMETERS : WIRE_PROJECT_LOCATION_TYPE_HYPERPARAMETERS,
              &r->arena, to);
    to += hparam_n;
    for (size_t i = 0; i < metric_n; i++)
        to += add_metric(&metric[i], &r->arena, to);
    add_names(metadata, metadata_n, "metadata.", WIRE_PROJECT_LOCATION_TYPE_RUN_METADATA, &r->arena, to);
    ret->columns_n = (size_t)(to - ret->columns) + metadata_n;
    return 0;
}

/* ---- ranges of metrics ------------------------------------------------------------------------------------------- */

int api_get_project_numeric_metrics_range(struct req *r, struct store *db,
                                          const struct wire_get_project_numeric_metrics_range_request *in,
                                          struct wire_get_project_numeric_metrics_range_response *ret,
                                          struct error *err)
{
    struct lookup_metric *metric;
    struct lookup_extent searcher;
    size_t metric_n;
    if (check_project(r, db, in->id, err) < 0 ||
        store_lookup_metrics(db, LOOKUP_EXPERIMENTS, in->id, &r->arena, &metric, &metric_n, err) < 0 ||
        store_lookup_searcher_metric(db, in->id, &searcher, err) < 0)
        return -1;
    struct wire_project_metrics_range *to = ret->ranges = arena_array(&r->arena, struct wire_project_metrics_range,
                                                                      metric_n * LOOKUP_QUALIFIER_NR + 1);
    if (searcher.known)
        *to++ = (struct wire_project_metrics_range){.metrics_name = "searcherMetricsVal",
                                                    .min = searcher.min,
                                                    .max = searcher.max};
    for (size_t i = 0; i < metric_n * LOOKUP_QUALIFIER_NR; i++) {
        const struct lookup_metric *m = &metric[i / LOOKUP_QUALIFIER_NR];
        const struct lookup_extent *e = &m->extent[i % LOOKUP_QUALIFIER_NR];
        if (!m->number || !e->known)
            continue;
        to->metrics_name = arena_printf(&r->arena, "%s.%s.%s", m->group, m->name,
                                        lookup_qualifier_name[i % LOOKUP_QUALIFIER_NR]);
        to->min = e->min;
        to++->max = e->max;
    }
    ret->ranges_n = (size_t)(to - ret->ranges);
    return 0;
}

/* ---- metadata ---------------------------------------------------------------------------------------------------- */

int api_get_metadata_values(struct req *r, struct store *db, const struct wire_get_metadata_values_request *in,
                            struct wire_get_metadata_values_response *ret, struct error *err)
{
    if (check_project(r, db, in->project_id, err) < 0)
        return -1;
    return store_lookup_metadata_values(db, in->project_id, in->key, &r->arena, &ret->values, &ret->values_n, err);
}
