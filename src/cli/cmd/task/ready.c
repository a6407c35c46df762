/* Waits until a task is ready. Meanwhile a terminal shows on one line what it waits for: its state, the reason why it
 * waits in the queue, the newest line of its log. A pipe gets a line when the state or the reason changes. */
#include <string.h>
#include <time.h>

#include "cli/cmd/task/launched.h"
#include "cli/terminal/status_line.h"
#include "cli/terminal/terminal.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"

enum {
    LOOK_US = 50 * 1000,        /* between two looks in the beginning … */
    LOOK_LATER_US = 500 * 1000, /* … and after BEGINNING_US */
    BEGINNING_US = 5 * 1000000,
    DETAIL_US = 1000 * 1000,    /* before the first look at the reason and the log, and between two */
    PATIENCE_US = 60 * 1000000, /* how long the master may be away */
};

struct waiting {
    struct cli *cli;
    const struct launched_kind *kind;
    const char *id, *hint; /* the message at Ctrl-C */
    bool told;             /* "Waiting for …" was printed */
    int64_t began_us;
    int64_t detailed_us; /* when the details were looked at, or waiting began */
    int64_t away_us;     /* since when the master does not answer; 0: it does */
    struct strbuf said;  /* the state and the reason, as a pipe was told them last */
    struct status_line line;
};

/* ---- the task's log ---------------------------------------------------------------------------------------------- */

struct newest {
    struct cli *cli;
    const char *field; /* "log": the text alone; "message": the line as people read it */
    const char **line; /* the newest first */
    size_t n, most;
};

static int keep_line(struct json_object *record, void *ctx, struct error *err)
{
    struct newest *newest = ctx;
    (void)err;
    if (newest->n < newest->most)
        newest->line[newest->n++] = arena_strdup(&newest->cli->arena, launched_text(record, newest->field));
    return 0;
}

/* Fetches the newest lines of the log; fewer or none if there are no more, or if they cannot be had. */
static struct newest fetch_newest(struct cli *cli, const char *task_id, const char *field, int32_t most)
{
    struct wire_task_logs_request in = {.task_id = task_id, .limit = most, .order_by = WIRE_ORDER_BY_DESC};
    struct newest newest = {.cli = cli, .field = field, .most = (size_t)most};
    newest.line = arena_array(&cli->arena, const char *, newest.most);
    cleanup_error struct error none = ERROR_INIT;
    bool dropped;
    api_stream(cli, ROUTE_ID_TASK_LOGS, &in, keep_line, &newest, &dropped, &none);
    return newest;
}

static const char *newest_line(struct cli *cli, const char *task_id)
{
    struct newest newest = fetch_newest(cli, task_id, "log", 1);
    return newest.n ? newest.line[0] : "";
}

static void print_last_lines(struct cli *cli, const char *task_id)
{
    enum { LINES = 5 };
    struct newest newest = fetch_newest(cli, task_id, "message", LINES);
    for (size_t i = newest.n; i-- > 0;) {
        size_t n = strlen(newest.line[i]);
        fprintf(cli->err, "%s%s", newest.line[i], n > 0 && newest.line[i][n - 1] == '\n' ? "" : "\n");
    }
}

/* ---- is it ready? ------------------------------------------------------------------------------------------------ */

static int tell_ended(struct waiting *w, struct error *err)
{
    cleanup_json struct json_object *answer = NULL;
    cleanup_error struct error none = ERROR_INIT;
    const char *how = "";
    if (launched_fetch(w->cli, w->kind, w->id, &answer, &none) == 0)
        how = launched_text(json_object_object_get(answer, w->kind->noun), "exitStatus");
    status_line_end(&w->line);
    print_last_lines(w->cli, w->id);
    return error_set(err, ERR_ABORTED, "%s %s has ended before it was ready%s%s; its whole log: det %s logs %s",
                     w->kind->title, w->id, *how ? ": " : "", how, w->kind->noun, w->id);
}

static int look(struct waiting *w, bool *ret_ready, struct error *err)
{
    struct wire_get_task_request in = {.task_id = w->id};
    struct wire_get_task_response out;
    if (api_call(w->cli, ROUTE_ID_GET_TASK, &in, &out, err) < 0)
        return -1;
    if (out.task->has_end_time)
        return tell_ended(w, err);
    *ret_ready = false;
    for (size_t i = 0; i < out.task->allocations_n; i++)
        *ret_ready = *ret_ready || out.task->allocations[i].is_ready;
    return 0;
}

/* A master that restarts is waited for. */
static int look_patiently(struct waiting *w, bool *ret_ready, struct error *err)
{
    cleanup_error struct error why = ERROR_INIT;
    if (look(w, ret_ready, &why) == 0) {
        w->away_us = 0;
        return 0;
    }
    int64_t now = clock_monotonic_us();
    if (why.kind != ERR_UNAVAILABLE || (w->away_us && now - w->away_us > PATIENCE_US)) {
        error_move(err, &why);
        return -1;
    }
    w->away_us = w->away_us ? w->away_us : now;
    *ret_ready = false;
    return 0;
}

/* ---- what does it wait for? -------------------------------------------------------------------------------------- */

/* Why the job waits in the queue; NULL: it is not in the queue, or nobody says. */
static const char *queue_reason(struct cli *cli, const char *pool, const char *job_id)
{
    struct wire_get_jobs_v2_request in = {.resource_pool = *pool ? pool : NULL};
    struct wire_get_jobs_v2_response out;
    cleanup_error struct error none = ERROR_INIT;
    if (api_call(cli, ROUTE_ID_GET_JOBS_V2, &in, &out, &none) < 0)
        return NULL;
    for (size_t i = 0; i < out.jobs_n; i++) {
        const struct wire_job *job = out.jobs[i].full;
        if (job && strcmp(job->job_id, job_id) == 0)
            return job->summary ? job->summary->reason : NULL;
    }
    return NULL;
}

static void describe(struct waiting *w, struct json_object *task, struct strbuf *ret)
{
    const char *state = launched_state(task), *reason = NULL;
    strbuf_addf(ret, "%s is %s", w->kind->title, state);
    if (strcmp(state, "QUEUED") == 0)
        reason = queue_reason(w->cli, launched_text(task, "resourcePool"), launched_text(task, "jobId"));
    if (reason)
        strbuf_addf(ret, ": %s", reason);
}

static void show_details(struct waiting *w)
{
    cleanup_json struct json_object *answer = NULL;
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    cleanup_error struct error none = ERROR_INIT;
    if (w->away_us) {
        strbuf_adds(&text, "The master does not answer; trying again");
    } else {
        if (launched_fetch(w->cli, w->kind, w->id, &answer, &none) < 0)
            return;
        describe(w, json_object_object_get(answer, w->kind->noun), &text);
    }
    if (!w->cli->err_terminal && strcmp(strbuf_str(&w->said), strbuf_str(&text)) != 0) {
        cli_say(w->cli, CLI_PLAIN, "%s", strbuf_str(&text));
        strbuf_reset(&w->said);
        strbuf_adds(&w->said, strbuf_str(&text));
    }
    const char *line = w->cli->err_terminal && !w->away_us ? newest_line(w->cli, w->id) : "";
    status_line_draw(&w->line, arena_printf(&w->cli->arena, "%s%s%s", strbuf_str(&text), *line ? " · " : "", line));
}

/* ---- waiting ----------------------------------------------------------------------------------------------------- */

static void begin(struct waiting *w)
{
    w->told = true;
    fprintf(w->cli->out, "Waiting for %s to become ready\n", w->kind->noun);
    fflush(w->cli->out);
    interrupt_hint(w->hint);
}

static int take_turn(struct waiting *w, bool *ret_ready, struct error *err)
{
    if (look_patiently(w, ret_ready, err) < 0)
        return -1;
    if (*ret_ready)
        return 0;
    if (!w->told)
        begin(w);
    int64_t now = clock_monotonic_us();
    if (now - w->detailed_us >= DETAIL_US) {
        show_details(w);
        w->detailed_us = now;
    }
    return 0;
}

/* What a turn needs is released at once: waiting may take days. */
static int wait_until_ready(struct waiting *w, struct error *err)
{
    for (bool ready = false;;) {
        struct arena kept = w->cli->arena;
        w->cli->arena = (struct arena)ARENA_INIT;
        int rc = take_turn(w, &ready, err);
        arena_release(&w->cli->arena);
        w->cli->arena = kept;
        if (rc < 0 || ready)
            return rc;
        bool early = clock_monotonic_us() - w->began_us < BEGINNING_US;
        nanosleep(&(struct timespec){.tv_nsec = (early ? LOOK_US : LOOK_LATER_US) * 1000l}, NULL);
    }
}

int launched_wait_ready(struct cli *cli, const struct launched_kind *k, const char *id, struct error *err)
{
    struct waiting w = {.cli = cli, .kind = k, .id = id, .began_us = clock_monotonic_us(), .line = {.cli = cli}};
    const char *user;
    w.detailed_us = w.began_us;
    w.hint = arena_printf(&cli->arena,
                          "The %s goes on. To open it later, run: det %s open %s; to end it: det %s kill %s\n", k->noun,
                          k->noun, id, k->noun, id);
    if (api_username(cli, &user, err) < 0) /* logs in, which must outlive a turn */
        return -1;
    int rc = wait_until_ready(&w, err);
    status_line_end(&w.line);
    strbuf_release(&w.said);
    interrupt_hint(NULL);
    if (rc == 0 && w.told)
        fprintf(cli->out, "%s (id: %s) is ready.\n", k->noun, id);
    fflush(cli->out);
    return rc;
}
