/* The Python that a task asks for, before anything else of the task is prepared. Its environment may have to be made,
 * which takes minutes: progress goes into the task's log. There is no supervisor yet, so the agent itself puts these
 * lines into the task's spool, and sends them; the supervisor goes on with the next number. */
#include "agent/task/task_internal.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/bytes.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/utf8.h"
#include "common/config/python_requirements.h"
#include "common/system/log.h"

#define LINE_BYTES_MAX (TASK_LINE_MAX - 1)

bool task_wants_python(const struct task *t)
{
    const struct wire_link_start_task *s = t->rt->start;
    return s->extras_n > 0 || (s->python && ((s->python->interpreter && *s->python->interpreter) ||
                                             (s->python->requirements && *s->python->requirements)));
}

/* ---- its log before it has a supervisor -------------------------------------------------------------------------- */

static int open_log(struct task *t, struct error *err)
{
    cleanup_close int dir = taskdir_open_spool(&t->rt->dir, err);
    return dir < 0 ? -1 : spool_open(take_fd(dir), TASKDIR_SPOOL_MAX, &t->log, err);
}

void task_send_log(struct task *t, uint64_t after)
{
    struct spool_batch batch = {0};
    while (t->log && link_is_up(t->agent->link) && !t->discard &&
           spool_read(t->log, after, TASK_BATCH_BYTES, &batch, NULL) == 0 && batch.count) {
        task_send_lines(t, batch.first, batch.count, batch.line.s, batch.line.n);
        after = batch.first + batch.count - 1;
    }
    t->log_sent = after;
    strbuf_release(&batch.line);
}

void task_close_log(struct task *t)
{
    spool_free(t->log);
    t->log = NULL;
}

/* Adds a text whose bytes may be no UTF-8. */
static void add_text(struct strbuf *b, const char *s, size_t n)
{
    for (size_t length; n > 0; s += length ? length : 1, n -= length ? length : 1) {
        length = utf8_sequence(s, n);
        if (length)
            strbuf_add(b, s, length);
        else
            strbuf_adds(b, UTF8_REPLACEMENT);
    }
}

static void on_line(void *ctx, const char *line, size_t n)
{
    struct task *t = ctx;
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    add_text(&text, line, n < LINE_BYTES_MAX ? n : LINE_BYTES_MAX);
    strbuf_addc(&text, '\n');
    struct task_line l = {
        .time_us = clock_now_us(), .stdtype = TASK_STDOUT, .level = TASK_LEVEL_INFO, .text = text.s, .text_n = text.n};
    spool_append(t->log, &l);
    if (spool_flush(t->log, NULL) == 0) /* otherwise the disk is full, and the next line tries again */
        task_send_log(t, t->log_sent);
}

/* ---- the environment --------------------------------------------------------------------------------------------- */

static const char **copy_texts(const char *const *text, size_t n, struct arena *a)
{
    const char **copy = arena_array(a, const char *, n + 1);
    for (size_t i = 0; i < n; i++)
        copy[i] = arena_strdup(a, text[i]);
    return copy;
}

static const struct python_place *copy_place(const struct python_place *p, struct arena *a)
{
    struct python_place *copy = arena_new(a, struct python_place);
    *copy = (struct python_place){.interpreter = arena_strdup(a, p->interpreter),
                                  .environment = arena_strdup(a, p->environment),
                                  .bin = copy_texts(p->bin, p->bin_n, a),
                                  .bin_n = p->bin_n,
                                  .root = copy_texts(p->root, p->root_n, a),
                                  .root_n = p->root_n,
                                  .lock = copy_texts(p->lock, p->lock_n, a),
                                  .lock_n = p->lock_n};
    return copy;
}

static void on_done(void *ctx, const struct python_place *place, const struct error *err)
{
    struct task *t = ctx;
    if (t->agent->stopping)
        return;
    task_start_forget(t->rt);
    if (!place) {
        task_release_python(t);
        task_end_unstarted(t, err);
        return;
    }
    t->python_waits = false;
    t->rt->python = copy_place(place, &t->rt->arena);
    task_close_log(t); /* from here on the spool is the supervisor's */
    log_info("task.python", "container=%s interpreter=%s", t->container_id, log_quote(place->interpreter));
    task_prepare(t);
}

/* The task's PATH as far as it is known before the environment: the user's, else the agent's. */
static const char *path_of_task(const struct wire_link_start_task *s)
{
    const char *path = getenv("PATH");
    path = path ? path : "/usr/local/bin:/usr/bin:/bin";
    for (size_t i = 0; i < s->env_n; i++)
        if (strncmp(s->env[i], "PATH=", 5) == 0)
            path = s->env[i] + 5;
    return path;
}

static int start_job(struct task *t, struct error *err)
{
    const struct wire_link_start_task *s = t->rt->start;
    cleanup_strbuf struct strbuf requirements = STRBUF_INIT;
    if (s->python && s->python->requirements)
        python_requirements_normalize(s->python->requirements, &requirements);
    struct python_order order = {.settings = t->agent->config->python,
                                 .interpreter = s->python && s->python->interpreter ? s->python->interpreter : "",
                                 .path = path_of_task(s),
                                 .requirements = strbuf_str(&requirements),
                                 .extra = (const char **)s->extras,
                                 .extra_n = s->extras_n};
    struct environment_job_handler h = {.on_line = on_line, .on_done = on_done, .ctx = t};
    return environment_job_new(t->agent->loop, &order, &h, &t->python_job, err);
}

void task_find_python(struct task *t, bool again)
{
    static const char restarted[] = "The agent was restarted, and begins again to prepare the task's Python.";
    cleanup_error struct error err = ERROR_INIT;
    t->python_waits = true;
    if (open_log(t, &err) == 0 && (again || task_start_keep(t->rt, &err) == 0) && start_job(t, &err) == 0) {
        if (again)
            on_line(t, restarted, sizeof(restarted) - 1);
        return;
    }
    task_start_forget(t->rt);
    task_release_python(t);
    task_end_unstarted(t, &err);
}

void task_release_python(struct task *t)
{
    environment_job_free(t->python_job);
    t->python_job = NULL;
    t->python_waits = false;
}
