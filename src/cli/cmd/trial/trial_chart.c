/* Draws what a trial has reported of its metrics, over batches. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "cli/cmd/metric_lines.h"
#include "cli/cmd/show.h"
#include "cli/terminal/output.h"
#include "common/base/clock.h"

struct choice {
    struct metric_line *line;
    size_t n;
};

static const char *names_of(struct arena *a, const struct choice *all)
{
    struct strbuf names = STRBUF_INIT;
    for (size_t i = 0; i < all->n; i++)
        strbuf_addf(&names, "%s%s", i ? ", " : "", all->line[i].id);
    const char *ret = arena_strdup(a, strbuf_str(&names));
    strbuf_release(&names);
    return ret;
}

static void choose(struct choice *to, const struct metric_line *l)
{
    for (size_t i = 0; i < to->n; i++)
        if (strcmp(to->line[i].id, l->id) == 0)
            return;
    to->line[to->n++] = *l;
}

/* Chooses the metric GROUP.NAME, or each metric NAME of whatever group. Returns whether there is one. */
static bool choose_by_name(const struct choice *all, const char *name, struct choice *to)
{
    bool found = false;
    for (size_t i = 0; i < all->n; i++) {
        if (strcmp(all->line[i].id, name) != 0 && strcmp(all->line[i].name, name) != 0)
            continue;
        choose(to, &all->line[i]);
        found = true;
    }
    return found;
}

static int choose_named(struct cli *cli, const struct args_trial_chart *args, const struct choice *all,
                        struct choice *ret, struct error *err)
{
    for (size_t i = 0; i < args->metrics_n; i++)
        if (!choose_by_name(all, args->metrics[i], ret))
            return error_set(err, ERR_NOT_FOUND,
                             "Failed to %s: trial %" PRId64 " has not reported a metric \"%s\"; it has reported %s",
                             cli->command->help, args->trial_id, args->metrics[i], names_of(&cli->arena, all));
    if (ret->n > CHART_LINES_MAX)
        return error_set(err, ERR_INVALID,
                         "Failed to %s: these are %zu metrics, and a chart holds at most %d; name fewer",
                         cli->command->help, ret->n, CHART_LINES_MAX);
    return 0;
}

/* Chooses the metric that the experiment's searcher compares, of whatever group. */
static int choose_searched(struct cli *cli, const struct wire_trial *trial, const struct choice *all,
                           struct choice *ret, struct error *err)
{
    struct searched_metric searched;
    if (searched_metric_fetch(cli, trial->experiment_id, &searched, err) < 0)
        return -1;
    if (all->n && !choose_by_name(all, searched.name, ret))
        cli_say(cli, CLI_PLAIN,
                "Trial %d has not reported the searcher's metric %s yet. Name one or several of these instead: %s.",
                trial->id, searched.name, names_of(&cli->arena, all));
    return 0;
}

static struct json_object *point_document(const struct metric_line *l, size_t i)
{
    char time[CLOCK_TEXT_MAX];
    struct json_object *v = json_object_new_object();
    double y = l->point[i].y;
    clock_format(l->time_us[i], time);
    json_object_object_add(v, "batches", json_object_new_int64((int64_t)l->point[i].x));
    json_object_object_add(v, "time", json_object_new_string(time));
    json_object_object_add(v, "value",
                           isfinite(y) ? json_object_new_double(y)
                           : isnan(y)  ? json_object_new_string("NaN")
                                       : json_object_new_string(y > 0 ? "Infinity" : "-Infinity"));
    return v;
}

static void print_documents(struct cli *cli, const struct choice *chosen)
{
    cleanup_json struct json_object *all = json_object_new_array();
    for (size_t i = 0; i < chosen->n; i++) {
        const struct metric_line *l = &chosen->line[i];
        struct json_object *v = json_object_new_object(), *points = json_object_new_array();
        json_object_object_add(v, "group", json_object_new_string(l->group));
        json_object_object_add(v, "name", json_object_new_string(l->name));
        json_object_object_add(v, "points", points);
        for (size_t k = 0; k < l->point_n; k++)
            json_object_array_add(points, point_document(l, k));
        json_object_array_add(all, v);
    }
    output_json(cli, all);
}

static void print_chart(struct cli *cli, const struct choice *chosen)
{
    enum { WIDTH = 80, HEIGHT = 24, HEIGHT_MAX = 40 };
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    /* one line of a terminal is left to the prompt that follows */
    size_t height = cli->out_height ? cli->out_height - 1 : HEIGHT;
    metric_lines_draw(cli, chosen->line, chosen->n,
                      (struct chart_size){.width = cli->out_width ? cli->out_width : WIDTH,
                                          .height = height > HEIGHT_MAX ? HEIGHT_MAX : height},
                      &text);
    fputs(strbuf_str(&text), cli->out);
}

int cmd_trial_chart(struct cli *cli, const struct args_trial_chart *args, struct error *err)
{
    enum { POINTS_DRAWN = 1000, POINTS_PRINTED = 100000 };
    struct wire_get_trial_request in = {.trial_id = (int32_t)args->trial_id};
    struct wire_get_trial_response out;
    struct choice all = {0}, chosen = {0};
    if (api_call(cli, ROUTE_ID_GET_TRIAL, &in, &out, err) < 0)
        return -1;
    all.line = metric_lines_reported(&cli->arena, out.trial, &all.n);
    chosen.line = arena_array(&cli->arena, struct metric_line, all.n + 1);
    if (all.n == 0)
        cli_say(cli, CLI_PLAIN, "Trial %d has not reported any metrics yet.", out.trial->id);
    else if (args->metrics_n ? choose_named(cli, args, &all, &chosen, err) < 0
                             : choose_searched(cli, out.trial, &all, &chosen, err) < 0)
        return -1;
    if (chosen.n &&
        metric_lines_fetch(cli, chosen.line, chosen.n, cli->format ? POINTS_PRINTED : POINTS_DRAWN, err) < 0)
        return -1;
    if (cli->format)
        print_documents(cli, &chosen);
    else if (chosen.n)
        print_chart(cli, &chosen);
    return 0;
}
