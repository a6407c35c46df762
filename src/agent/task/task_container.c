/* What a container engine is asked for a task: whether it answers, the image, the start, the removal. */
#include "agent/task/task_internal.h"

#include <signal.h>
#include <string.h>

#include "agent/task/runtime_container.h"
#include "common/base/cleanup.h"
#include "common/system/log.h"

static void on_line(void *ctx, const char *line, size_t n)
{
    task_log_line(ctx, line, n);
}

static void ask(struct task *t, runtime_ask_fn *fn, void (*on_done)(void *, const struct error *))
{
    struct runtime_ask_handler h = {.lines = {on_line, t}, .on_done = on_done, .ctx = t};
    t->ask = fn(t->rt, &h);
}

/* ---- the image --------------------------------------------------------------------------------------------------- */

/* No engine answers, and the configuration leaves the choice to the agent. The task's log says what that means. */
static void run_as_process(struct task *t, const struct error *why)
{
    cleanup_strbuf struct strbuf line = STRBUF_INIT;
    strbuf_addf(
        &line,
        "WARNING: this task runs as a process of the machine %s, and not in the image %s, which its configuration "
        "names: %s",
        t->agent->config->hostname, t->rt->start->image, error_msg(why));
    task_log_line(t, line.s, line.n);
    log_info("task.as_process", "container=%s image=%s reason=%s", t->container_id, log_quote(t->rt->start->image),
             log_quote(error_msg(why)));
    t->rt->runtime = &runtime_process;
    task_begin(t);
}

static void on_image(void *ctx, const struct error *err)
{
    struct task *t = ctx;
    bool may_choose = strcmp(t->agent->config->container_runtime, "auto") == 0;
    t->ask = NULL;
    if (t->agent->stopping)
        return;
    if (err && !t->rt->engine && may_choose)
        run_as_process(t, err);
    else if (err)
        task_end_unstarted(t, err);
    else
        task_begin(t);
}

void task_find_image(struct task *t)
{
    cleanup_error struct error err = ERROR_INIT;
    t->rt->runtime = runtime_of_containers(t->agent->config);
    if (task_open_log(t, &err) < 0) {
        task_end_unstarted(t, &err);
        return;
    }
    ask(t, t->rt->runtime->ask_image, on_image);
}

/* ---- the start --------------------------------------------------------------------------------------------------- */

static void on_container(void *ctx, const struct error *err)
{
    struct task *t = ctx;
    t->ask = NULL;
    if (!t->agent->stopping)
        t->container_done(t, err);
}

void task_start_container(struct task *t, void (*done)(struct task *, const struct error *))
{
    t->container_done = done;
    ask(t, t->rt->runtime->ask_start, on_container);
}

void task_set_engine(struct task *t, const char *name)
{
    struct runtime_engines *all = &t->agent->engines;
    t->rt->runtime = &runtime_container;
    for (size_t i = 0; i < all->n; i++)
        if (strcmp(all->engine[i].name, name) == 0)
            t->rt->engine = &all->engine[i];
    if (all->command.name && strcmp(all->command.name, name) == 0) {
        t->rt->engine = &all->command;
        t->rt->runtime = &runtime_apptainer;
    }
}

/* ---- the removal ------------------------------------------------------------------------------------------------- */

/* The container's first process has ended, and the container with it. One that cannot be removed now, because the
 * engine is away, is removed later (container_leftovers.c). */
static void on_removed(void *ctx, const struct error *err)
{
    struct task *t = ctx;
    t->ask = NULL;
    if (t->agent->stopping)
        return;
    if (err) {
        log_warning("task.container_left", "container=%s error=%s action=\"it is removed later\"", t->container_id,
                    log_quote(error_msg(err)));
        container_leftovers_look_again(t->agent->leftovers);
    }
    if (!t->rt->executed)
        container_leftovers_look_for_unborn(t->agent->leftovers);
    task_remove_files(t);
}

/* The version of the API is known once the engine has been greeted, which an agent that has found this task may not
 * have done. */
static void on_greeted(void *ctx, const struct error *err)
{
    struct task *t = ctx;
    t->greeting = NULL;
    if (err)
        on_removed(t, err);
    else
        ask(t, t->rt->runtime->ask_removal, on_removed);
}

void task_remove_container(struct task *t)
{
    if (t->rt->engine->known)
        ask(t, t->rt->runtime->ask_removal, on_removed);
    else
        t->greeting = engine_greet(t->rt->engine, on_greeted, t);
}
