/* The Python that a task asks for, before anything else of the task is prepared. Its environment may have to be made,
 * which takes minutes: progress goes into the task's log (task_log.c). */
#include "agent/task/task_internal.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/bytes.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/utf8.h"
#include "common/config/python_requirements.h"
#include "common/system/log.h"

bool task_wants_python(const struct task *t)
{
    const struct wire_link_start_task *s = t->rt->start;
    return s->extras_n > 0 || (s->python && ((s->python->interpreter && *s->python->interpreter) ||
                                             (s->python->requirements && *s->python->requirements)));
}

/* ---- the environment --------------------------------------------------------------------------------------------- */

static void on_line(void *ctx, const char *line, size_t n)
{
    task_log_line(ctx, line, n);
}

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
    if (task_open_log(t, &err) == 0 && (again || task_start_keep(t->rt, &err) == 0) && start_job(t, &err) == 0) {
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
