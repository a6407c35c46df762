#include "cli/cmd/metric_lines.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/terminal/terminal.h"

/* The group that a section of a trial's summary is about. */
static const char *group_of(const char *section)
{
    return strcmp(section, "avg_metrics") == 0          ? "training"
           : strcmp(section, "validation_metrics") == 0 ? "validation"
                                                        : section;
}

struct metric_line metric_line_of(struct arena *a, int32_t trial_id, const char *group, const char *name)
{
    const char *id = arena_printf(a, "%s.%s", group, name);
    return (struct metric_line){
        .trial_id = trial_id, .group = arena_strdup(a, group), .name = arena_strdup(a, name), .id = id, .label = id};
}

static size_t count_metrics(struct json_object *summary)
{
    size_t n = 0;
    json_object_object_foreach(summary, section, metrics)
    {
        (void)section;
        n += json_object_is_type(metrics, json_type_object) ? (size_t)json_object_object_length(metrics) : 0;
    }
    return n;
}

static int by_id(const void *a, const void *b)
{
    return strcmp(((const struct metric_line *)a)->id, ((const struct metric_line *)b)->id);
}

struct metric_line *metric_lines_reported(struct arena *a, const struct wire_trial *trial, size_t *ret_n)
{
    cleanup_json struct json_object *summary = NULL;
    const char *text = trial->summary_metrics;
    *ret_n = 0;
    if (!text || json_parse(text, strlen(text), &summary, NULL) < 0 || !json_object_is_type(summary, json_type_object))
        return NULL;
    struct metric_line *line = arena_array(a, struct metric_line, count_metrics(summary) + 1);
    json_object_object_foreach(summary, section, metrics)
    {
        if (!json_object_is_type(metrics, json_type_object))
            continue;
        json_object_object_foreach(metrics, name, what)
        {
            (void)what;
            line[(*ret_n)++] = metric_line_of(a, trial->id, group_of(section), name);
        }
    }
    qsort(line, *ret_n, sizeof(*line), by_id);
    return line;
}

/* JSON has no NaN and no infinity: the API writes them as texts. */
static double number_of(struct json_object *v)
{
    if (json_object_is_type(v, json_type_double) || json_object_is_type(v, json_type_int))
        return json_object_get_double(v);
    const char *text = json_object_is_type(v, json_type_string) ? json_object_get_string(v) : "";
    return strcmp(text, "Infinity") == 0 ? INFINITY : strcmp(text, "-Infinity") == 0 ? -INFINITY : NAN;
}

/* A report of the group may lack the metric; it adds no point then. */
static void take_point(struct metric_line *l, const struct wire_data_point *p)
{
    cleanup_json struct json_object *values = NULL;
    struct json_object *v;
    if (!p->values || json_parse(p->values, strlen(p->values), &values, NULL) < 0 ||
        !json_object_is_type(values, json_type_object) || !json_object_object_get_ex(values, l->name, &v))
        return;
    l->time_us[l->point_n] = p->time;
    l->point[l->point_n++] = (struct chart_point){.x = p->batches, .y = number_of(v)};
}

static void take_points(struct arena *a, struct metric_line *l, const struct wire_downsampled_metrics *m)
{
    l->point = arena_array(a, struct chart_point, m->data_n + 1);
    l->time_us = arena_array(a, int64_t, m->data_n + 1);
    for (size_t i = 0; i < m->data_n; i++)
        take_point(l, &m->data[i]);
}

static void take_trial(struct arena *a, struct metric_line *line, size_t n, const struct wire_comparable_trial *t)
{
    for (size_t k = 0; k < t->metrics_n; k++)
        for (size_t i = 0; i < n; i++)
            if (t->trial && line[i].trial_id == t->trial->id && t->metrics[k].group &&
                strcmp(line[i].group, t->metrics[k].group) == 0)
                take_points(a, &line[i], &t->metrics[k]);
}

static void add_trial(int32_t *id, size_t *n, int32_t trial_id)
{
    for (size_t i = 0; i < *n; i++)
        if (id[i] == trial_id)
            return;
    id[(*n)++] = trial_id;
}

static void add_metric(const char **id, size_t *n, const char *metric)
{
    for (size_t i = 0; i < *n; i++)
        if (strcmp(id[i], metric) == 0)
            return;
    id[(*n)++] = metric;
}

int metric_lines_fetch(struct cli *cli, struct metric_line *line, size_t n, int32_t most, struct error *err)
{
    int32_t *trial = arena_array(&cli->arena, int32_t, n + 1);
    const char **metric = arena_array(&cli->arena, const char *, n + 1);
    struct wire_compare_trials_request in = {.trial_ids = trial, .metric_ids = metric, .max_datapoints = most};
    struct wire_compare_trials_response out;
    for (size_t i = 0; i < n; i++) {
        add_trial(trial, &in.trial_ids_n, line[i].trial_id);
        add_metric(metric, &in.metric_ids_n, line[i].id);
    }
    if (api_call(cli, ROUTE_ID_COMPARE_TRIALS, &in, &out, err) < 0)
        return -1;
    for (size_t i = 0; i < out.trials_n; i++)
        take_trial(&cli->arena, line, n, &out.trials[i]);
    return 0;
}

void metric_lines_draw(const struct cli *cli, const struct metric_line *line, size_t n, struct chart_size size,
                       struct strbuf *to)
{
    struct arena scratch = ARENA_INIT;
    struct chart_line *drawn = arena_array(&scratch, struct chart_line, n + 1);
    for (size_t i = 0; i < n; i++)
        drawn[i] = (struct chart_line){.name = line[i].label, .point = line[i].point, .point_n = line[i].point_n};
    chart_draw(&(struct chart){.line = drawn,
                               .line_n = n,
                               .x_name = "batches",
                               .width = size.width,
                               .height = size.height,
                               .utf8 = terminal_is_utf8(),
                               .colored = cli->out_terminal && !getenv("NO_COLOR")},
               to);
    arena_release(&scratch);
}
