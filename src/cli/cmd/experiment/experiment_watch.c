/* Shows an experiment on one screen until it is over: its state, its trials, a chart of the searcher's metric, and the
 * last lines of a log. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cmd/experiment.h"
#include "cli/cmd/metric_lines.h"
#include "cli/cmd/show.h"
#include "cli/connection/logs.h"
#include "cli/terminal/screen.h"
#include "cli/terminal/terminal.h"
#include "common/base/clock.h"

enum { BAR = 10, TRIALS_DRAWN = 4, POINTS_DRAWN = 500 };

/* What is left to say when the screen is gone. */
struct watch {
    int32_t experiment_id;
    enum wire_experiment_state end; /* the state in which the experiment has ended */
    struct strbuf failure;
};

struct watch_view {
    const struct wire_experiment *experiment;
    const char *reason; /* why it waits; NULL: it does not, or nobody knows */
    struct searched_metric searched;
    double batches; /* how many batches a trial trains; 0: the configuration does not say */
    const struct wire_trial *best[TRIALS_DRAWN];
    size_t best_n;
    const struct wire_trial **trial; /* the trials that are shown: first those that run, then the best */
    size_t trial_n;
};

/* ---- fetching ---------------------------------------------------------------------------------------------------- */

/* The length of a trial in batches, as searcher.max_length says it. */
static double length_in_batches(const char *config)
{
    cleanup_json struct json_object *v = NULL;
    struct json_object *searcher, *length, *batches;
    if (!config || json_parse(config, strlen(config), &v, NULL) < 0 ||
        !json_object_object_get_ex(v, "searcher", &searcher) ||
        !json_object_object_get_ex(searcher, "max_length", &length))
        return 0;
    if (json_object_is_type(length, json_type_object) && json_object_object_get_ex(length, "batches", &batches))
        return json_object_get_double(batches);
    return 0;
}

static int fetch_experiment(struct cli *cli, int32_t id, struct watch_view *v, struct error *err)
{
    struct wire_get_experiment_request in = {.experiment_id = id};
    struct wire_get_experiment_response out;
    if (api_call(cli, ROUTE_ID_GET_EXPERIMENT, &in, &out, err) < 0 ||
        searched_metric_read(&cli->arena, &out, &v->searched, err) < 0)
        return -1;
    v->experiment = out.experiment;
    v->reason = out.job_summary ? out.job_summary->reason : NULL;
    v->batches = length_in_batches(out.config);
    return 0;
}

static void add_trial(struct watch_view *v, const struct wire_trial *t, size_t most)
{
    for (size_t i = 0; i < v->trial_n; i++)
        if (v->trial[i]->id == t->id)
            return;
    if (v->trial_n < most)
        v->trial[v->trial_n++] = t;
}

static int fetch_trials(struct cli *cli, size_t most, struct watch_view *v, struct error *err)
{
    enum wire_experiment_state active = WIRE_EXPERIMENT_STATE_ACTIVE;
    struct wire_get_experiment_trials_request running = {.experiment_id = v->experiment->id,
                                                         .limit = (int32_t)most,
                                                         .states = &active,
                                                         .states_n = 1,
                                                         .sort_by = WIRE_GET_EXPERIMENT_TRIALS_REQUEST_SORT_BY_ID};
    struct wire_get_experiment_trials_request best = {
        .experiment_id = v->experiment->id,
        .limit = (int32_t)most,
        .sort_by = WIRE_GET_EXPERIMENT_TRIALS_REQUEST_SORT_BY_BEST_VALIDATION_METRIC,
        .order_by = v->searched.smaller_is_better ? WIRE_ORDER_BY_ASC : WIRE_ORDER_BY_DESC};
    struct wire_get_experiment_trials_response out;
    v->trial = arena_array(&cli->arena, const struct wire_trial *, most + 1);
    if (api_call(cli, ROUTE_ID_GET_EXPERIMENT_TRIALS, &running, &out, err) < 0)
        return -1;
    for (size_t i = 0; i < out.trials_n; i++)
        add_trial(v, &out.trials[i], most);
    if (api_call(cli, ROUTE_ID_GET_EXPERIMENT_TRIALS, &best, &out, err) < 0)
        return -1;
    for (size_t i = 0; i < out.trials_n; i++) {
        add_trial(v, &out.trials[i], most);
        if (out.trials[i].best_validation && v->best_n < TRIALS_DRAWN)
            v->best[v->best_n++] = &out.trials[i];
    }
    return 0;
}

/* ---- printing ---------------------------------------------------------------------------------------------------- */

/* "42%" with a bar; NULL: unknown. */
static const char *progress_text(struct arena *a, double part)
{
    return isnan(part) ? NULL : arena_printf(a, "%.0f%% %s", part * 100, format_bar(a, part, BAR));
}

/* When work that has come so far since `start_us` will be done if it goes on like this; NULL: it cannot be said. */
static const char *end_text(struct arena *a, int64_t start_us, double part)
{
    const double too_little = 0.01;
    int64_t now_us = clock_now_us();
    if (isnan(part) || part < too_little || part >= 1 || now_us <= start_us)
        return NULL;
    return format_ago(a, now_us + (int64_t)((double)(now_us - start_us) * (1 - part) / part), now_us);
}

static bool experiment_runs(const struct wire_experiment *e)
{
    return e->state == WIRE_EXPERIMENT_STATE_RUNNING;
}

static double trial_progress(const struct watch_view *v, const struct wire_trial *t)
{
    if (t->state == WIRE_TRIAL_STATE_COMPLETED)
        return 1;
    if (v->experiment->num_trials == 1 && v->experiment->has_progress)
        return v->experiment->progress;
    return v->batches > 0 ? fmin(t->total_batches_processed / v->batches, 1) : NAN;
}

static void print_head(struct cli *cli, const struct watch_view *v)
{
    struct arena *a = &cli->arena;
    const struct wire_experiment *e = v->experiment;
    double part = e->has_progress ? e->progress : NAN;
    const char *progress = progress_text(a, part);
    const char *end = experiment_runs(e) ? end_text(a, e->start_time, part) : NULL;
    fprintf(cli->out, "Experiment %d: %s%s%s%s%s%s\n", e->id,
            state_text(&wire_enum_experiment_state, (int32_t)e->state), progress ? "   " : "", progress ? progress : "",
            end ? "   ends " : "", end ? end : "", cli->out_width ? "   q: leave, it goes on" : "");
    fprintf(cli->out, "%s\n", e->name);
    if (v->reason)
        fprintf(cli->out, "It waits: %s\n", v->reason);
    const struct wire_trial *best = v->best_n ? v->best[0] : NULL;
    const char *value = best ? metric_text(a, best->best_validation->metrics, v->searched.name) : NULL;
    if (value)
        fprintf(cli->out, "Best %s: %s, by trial %d after %d batches\n", v->searched.name, value, best->id,
                best->best_validation->total_batches);
    fputc('\n', cli->out);
}

static void print_trials(struct cli *cli, const struct watch_view *v)
{
    cleanup_table struct table t = TABLE_INIT;
    if (v->trial_n == 0) {
        fputs("No trial has begun yet.\n", cli->out);
        return;
    }
    table_columns(&t, (const char *const[]){"Trial", "State", "Batches", "Progress", "Ends", v->searched.name,
                                            "Restarts", NULL});
    for (size_t i = 0; i < v->trial_n; i++) {
        const struct wire_trial *trial = v->trial[i];
        const struct wire_trial_metrics_workload *best = trial->best_validation;
        double part = trial_progress(v, trial);
        bool runs = trial->state == WIRE_TRIAL_STATE_RUNNING;
        table_int(&t, trial->id);
        table_text(&t, state_text(&wire_enum_trial_state, (int32_t)trial->state));
        table_int(&t, trial->total_batches_processed);
        table_text(&t, progress_text(&t.arena, part));
        table_text(&t, runs ? end_text(&t.arena, trial->start_time, part) : NULL);
        table_text(&t, best ? metric_text(&t.arena, best->metrics, v->searched.name) : NULL);
        table_text(&t, trial->restarts ? arena_printf(&t.arena, "%d", trial->restarts) : NULL);
    }
    table_show(cli, &t, false);
    if ((size_t)v->experiment->num_trials > v->trial_n)
        fprintf(cli->out, " and %zu more: det experiment list-trials %d\n",
                (size_t)v->experiment->num_trials - v->trial_n, v->experiment->id);
}

/* Draws nothing where there is nothing to draw, or too little room. */
static int print_chart(struct cli *cli, const struct watch_view *v, size_t height, struct error *err)
{
    enum { WIDTH = 80, HEIGHT_MIN = 8 };
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    struct metric_line line[TRIALS_DRAWN];
    if (v->best_n == 0 || height < HEIGHT_MIN)
        return 0;
    for (size_t i = 0; i < v->best_n; i++) {
        line[i] = metric_line_of(&cli->arena, v->best[i]->id, "validation", v->searched.name);
        line[i].label = arena_printf(&cli->arena, "trial %d, %s", v->best[i]->id, v->searched.name);
    }
    if (metric_lines_fetch(cli, line, v->best_n, POINTS_DRAWN, err) < 0)
        return -1;
    struct chart_size size = {.width = cli->out_width ? cli->out_width : WIDTH, .height = height};
    metric_lines_draw(cli, line, v->best_n, size, &text);
    fprintf(cli->out, "\n%s", strbuf_str(&text));
    return 0;
}

static int print_log(struct cli *cli, const struct watch_view *v, size_t line_n, struct error *err)
{
    if (v->trial_n == 0)
        return 0;
    struct log_query q = {.trial_id = v->trial[0]->id, .has_tail = true, .tail = (int64_t)line_n, .lines_only = true};
    fprintf(cli->out, "\nLog of trial %d:\n", q.trial_id);
    return logs_print(cli, &q, err);
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

enum { ROWS_IN_A_PIPE = 20, ROWS_LEAST = 3 };

/* How many rows the table of trials, and as many the log, may have; the chart gets what the others leave. */
static size_t rows_of_a_part(const struct cli *cli)
{
    enum { SHARE = 6 };
    if (cli->out_height == 0)
        return ROWS_IN_A_PIPE;
    return cli->out_height / SHARE > ROWS_LEAST ? cli->out_height / SHARE : ROWS_LEAST;
}

static size_t line_count(const char *text)
{
    size_t n = 0;
    for (; (text = strchr(text, '\n')) != NULL; text++)
        n++;
    return n;
}

/* What prints to cli->out between page_begin() and page_end() becomes a text, so that its lines can be counted. */
struct page {
    FILE *out, *memory;
    char *text;
    size_t n;
};

static int page_begin(struct cli *cli, struct page *p, struct error *err)
{
    p->memory = open_memstream(&p->text, &p->n);
    if (!p->memory)
        return error_errno(err, "drawing the screen");
    p->out = cli->out;
    cli->out = p->memory;
    return 0;
}

static void page_end(struct cli *cli, struct page *p)
{
    cli->out = p->out;
    fclose(p->memory);
}

/* Prints the state and the trials, then the chart, then the log. The log is fetched before the chart is drawn, which
 * fills the rows that are left. */
static int print_all(struct cli *cli, const struct watch_view *v, struct error *err)
{
    enum { EMPTY_LINE = 1 };
    struct page top = {0}, log = {0};
    if (page_begin(cli, &top, err) < 0)
        return -1;
    print_head(cli, v);
    print_trials(cli, v);
    page_end(cli, &top);
    int rc = page_begin(cli, &log, err);
    if (rc == 0) {
        rc = print_log(cli, v, rows_of_a_part(cli), err);
        page_end(cli, &log);
    }
    if (rc == 0) {
        size_t used = line_count(top.text) + line_count(log.text) + EMPTY_LINE;
        size_t left = cli->out_height > used ? cli->out_height - used : 0;
        fputs(top.text, cli->out);
        rc = print_chart(cli, v, cli->out_height ? left : ROWS_IN_A_PIPE, err);
        fputs(log.text, cli->out);
    }
    free(top.text);
    free(log.text);
    return rc;
}

static void note_end(struct watch *w, const struct wire_experiment *e)
{
    w->end = e->state;
    strbuf_reset(&w->failure);
    strbuf_adds(&w->failure, e->failure ? e->failure : "");
}

static int draw(struct cli *cli, void *ctx, bool *ret_over, struct error *err)
{
    struct watch *w = ctx;
    struct watch_view v = {0};
    if (fetch_experiment(cli, w->experiment_id, &v, err) < 0 || fetch_trials(cli, rows_of_a_part(cli), &v, err) < 0 ||
        print_all(cli, &v, err) < 0)
        return -1;
    *ret_over = experiment_is_final(v.experiment->state);
    if (*ret_over)
        note_end(w, v.experiment);
    return 0;
}

int cmd_experiment_watch(struct cli *cli, const struct args_experiment_watch *args, struct error *err)
{
    enum { DAY_S = 86400 };
    struct watch w = {.experiment_id = (int32_t)args->experiment_id, .failure = STRBUF_INIT};
    int64_t pause_s = args->interval > DAY_S ? DAY_S : args->interval;
    bool left;
    interrupt_hint(
        arena_printf(&cli->arena, "The experiment goes on. To end it: det experiment kill %d\n", w.experiment_id));
    int rc = screen_run(cli, draw, &w, (int)pause_s * 1000, &left, err);
    interrupt_hint(NULL);
    if (rc == 0 && left) {
        cli_say(cli, CLI_PLAIN, "Experiment %d goes on. To end it: det experiment kill %d", w.experiment_id,
                w.experiment_id);
        cli->exit_code = CLI_EXIT_INTERRUPTED;
    } else if (rc == 0 && experiment_is_final(w.end)) {
        struct wire_experiment e = {.id = w.experiment_id,
                                    .state = w.end,
                                    .failure = w.failure.n ? strbuf_str(&w.failure) : NULL};
        experiment_exit_as_it_ended(cli, &e, /* quiet= */ false);
    }
    strbuf_release(&w.failure);
    return rc;
}
