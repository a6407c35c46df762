#include "agent/task/task_internal.h"

#include <fcntl.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/system/files.h"
#include "common/system/log.h"
#include "common/task/taskspec.h"

static bool send_report(void *ctx, const struct wire_link_task_metrics *m)
{
    struct task *t = ctx;
    if (!link_is_up(t->agent->link))
        return false;
    link_send(t->agent->link, &(struct wire_link_agent_message){.metrics = m});
    return true;
}

static const char *shared_fs_of(const struct taskspec *spec)
{
    for (size_t i = 0; i < spec->mount_n; i++)
        if (strcmp(spec->mount[i].target, TASKENV_SHARED_FS_DIR) == 0)
            return spec->mount[i].source;
    return "";
}

/* Watches for requests of system metrics if the task is a trial. The order that was left for the supervisor says
 * whether it is, so an agent that was restarted knows, too. */
void task_watch_profile(struct task *t)
{
    const struct slots *slots = &t->agent->slots;
    struct taskspec spec;
    if (!task_read_spec(t, &spec) || !*taskspec_env(&spec, "DET_TRIAL_ID"))
        return;
    struct profile_task task = {.dir = "profiling",
                                .run = t->rt->dir.run,
                                .agent_id = t->agent->config->agent_id,
                                .container_id = t->container_id,
                                .allocation_id = t->allocation_id,
                                .shared_fs = shared_fs_of(&spec),
                                .maker = slots->maker,
                                .gpu = slots->gpu,
                                .gpu_n = slots->maker ? slots->gpu_n : 0,
                                .gpu_uuids = slots->maker ? taskspec_env(&spec, slots->maker->visible_variable) : "",
                                .roots = {"/proc", "/sys"}};
    t->profile = profile_new(t->agent->loop, t->agent->sampler, &task, send_report, t);
    /* If the agent cannot watch the directory, it is removed: without it the task measures its metrics itself. */
    cleanup_close int run = t->profile ? -1 : taskdir_open_run(&t->rt->dir, NULL);
    if (run >= 0 && unlinkat(run, task.dir, AT_REMOVEDIR) < 0)
        log_warning("profile.directory_left", "container=%s", t->container_id);
}

/* The GPUs of the task are found in what was left for the supervisor, so an agent that was restarted knows them, too.
 */
void task_watch_use(struct task *t)
{
    const struct slots *slots = &t->agent->slots;
    const struct wire_link_watch_use *wanted = t->rt->kept ? t->rt->kept->watch_use : NULL;
    cleanup_arena struct arena a = ARENA_INIT;
    struct taskspec spec;
    if (!wanted || !task_read_spec(t, &spec))
        return;
    const struct gpu **gpu = arena_array(&a, const struct gpu *, slots->gpu_n + 1);
    size_t n = 0;
    for (size_t i = 0; slots->maker && i < slots->gpu_n; i++)
        if (slots_gpu_is_listed(taskspec_env(&spec, slots->maker->visible_variable), &slots->gpu[i]))
            gpu[n++] = &slots->gpu[i];
    use_watch_add(t->agent->use_watch, &(struct use_watch_task){.container_id = t->container_id,
                                                                .every_us = wanted->every_ms * INT64_C(1000),
                                                                .below_percent = (unsigned)wanted->below_percent,
                                                                .gpu = gpu,
                                                                .gpu_n = n});
}
