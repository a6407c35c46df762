/* The runtime without containers: a task is a process tree of this machine, in a directory of its own, under a user
 * that is not root, and within control groups if the machine has them. */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/task/context.h"
#include "agent/task/runtime.h"
#include "agent/task/shell_server.h"
#include "agent/task/taskfiles.h"
#include "common/base/cleanup.h"
#include "common/base/strbuf.h"
#include "common/config/capabilities.h"
#include "common/system/files.h"
#include "common/system/log.h"
#include "common/task/taskspec.h"

/* Whether a mount is the task's checkpoint storage. The master mounts a storage at TASKENV_SHARED_FS_DIR; a storage in
 * the machine's /tmp, which the task would not see, is mounted at its own path. The directory need not exist yet. */
static bool is_storage(const char *from, const char *to)
{
    return strcmp(to, TASKENV_SHARED_FS_DIR) == 0 || (strncmp(to, "/tmp/", 5) == 0 && strcmp(from, to) == 0);
}

/* Lists the task's mounts: its own directory at /run/determined (docs/spec/task-environment.md#files), then the mounts
 * of the order. The machine's own paths stay visible, and our library uses those. */
static void add_mounts(const struct runtime_task *t, struct taskspec *spec)
{
    struct arena *a = (struct arena *)&t->arena;
    const struct wire_link_start_task *s = t->start;
    if (!t->config->mount_namespaces)
        return;
    size_t python_n = t->python ? t->python->root_n : 0;
    spec->own_terminals = true;
    spec->own_processes = t->config->pid_namespaces;
    spec->shm_bytes = (uint64_t)runtime_shm_bytes(t);
    spec->terminal_gid = account_terminal_gid(&t->account);
    spec->mount = arena_array(a, struct taskspec_mount, s->bind_mounts_n + python_n + 3);
    spec->mount[spec->mount_n++] = (struct taskspec_mount){.source = t->dir.run, .target = TASKENV_RUN_DIR};
    if (t->passwd_file)
        spec->mount[spec->mount_n++] = (struct taskspec_mount){.source = t->passwd_file,
                                                               .target = "/etc/passwd",
                                                               .read_only = true};
    if (t->group_file)
        spec->mount[spec->mount_n++] = (struct taskspec_mount){.source = t->group_file,
                                                               .target = "/etc/group",
                                                               .read_only = true};
    /* Tasks share environments. Under an agent that is not root they run as the user who owns these; the mount keeps
     * them from writing there. */
    for (size_t i = 0; i < python_n; i++)
        spec->mount[spec->mount_n++] = (struct taskspec_mount){.source = t->python->root[i],
                                                               .target = t->python->root[i],
                                                               .read_only = true};
    for (size_t i = 0; i < s->bind_mounts_n; i++) {
        const struct wire_link_bind_mount *m = &s->bind_mounts[i];
        const char *to = m->container_path && *m->container_path ? m->container_path : m->host_path;
        if (*to != '/')
            to = arena_printf(a, "%s/%s", t->work_dir, to);
        spec->mount[spec->mount_n++] = (struct taskspec_mount){.source = m->host_path,
                                                               .target = taskenv_map_path(to, t->dir.run, a),
                                                               .read_only = m->read_only,
                                                               .make_source = is_storage(m->host_path, to)};
    }
}

static int process_prepare(struct runtime_task *t, struct error *err)
{
    if (runtime_prepare_files(t, err) < 0)
        return -1;
    runtime_make_cgroup(t);
    return 0;
}

static int write_spec(const struct runtime_task *t, struct error *err)
{
    struct taskspec spec;
    if (runtime_fill_spec(t, &spec, err) < 0)
        return -1;
    spec.isolated = t->start->isolated;
    spec.cgroup_procs = t->cgroup.procs;
    spec.oom_file = t->cgroup.oom_file;
    spec.pids_file = t->cgroup.pids_file;
    spec.hidden = t->account.change ? NULL : t->config->secret_path;
    spec.lock = t->python ? (char **)t->python->lock : NULL;
    spec.tmp = t->dir.tmp;
    add_mounts(t, &spec);
    return runtime_write_spec(t, &spec, err);
}

/* Runs determined-task until it reports that the supervisor listens. If it reports an error, that becomes *err. */
static int run_task_program(struct runtime_task *t, bool adopt, struct error *err)
{
    char *argv[4] = {(char *)t->config->task_program}, *env[] = {NULL};
    int said[2], n_args = 1;
    if (adopt)
        argv[n_args++] = "--adopt";
    argv[n_args] = (char *)t->dir.supervisor;
    if (pipe2(said, O_CLOEXEC) < 0)
        return error_errno(err, "cannot make a pipe");
    cleanup_close int in = said[0];
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDWR, 0);
    posix_spawn_file_actions_adddup2(&actions, 0, 1);
    posix_spawn_file_actions_adddup2(&actions, said[1], 2);
    pid_t pid;
    int r = posix_spawn(&pid, argv[0], &actions, NULL, argv, env);
    posix_spawn_file_actions_destroy(&actions);
    close(said[1]);
    if (r != 0)
        return error_set(err, ERR_PRECONDITION, "cannot run %s: %s", argv[0], strerror(r));
    char text[1024];
    ssize_t n = read(in, text, sizeof(text) - 1); /* 0 once determined-task has detached without an error */
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    t->executed = status == 0;
    if (status == 0 || (WIFEXITED(status) && WEXITSTATUS(status) == TASKSPEC_NOT_EXECUTED))
        return 0;
    text[n > 0 ? n : 0] = 0;
    text[strcspn(text, "\n")] = 0;
    return error_set(err, ERR_PRECONDITION, "%s", *text ? text : "the supervisor ended while it started");
}

/* Starts to find the task's Python while the supervisor starts. A failure is logged, and is no reason not to run the
 * task. */
static void start_python_probe(struct runtime_task *t)
{
    cleanup_error struct error err = ERROR_INIT;
    if (python_probe_process_start(t->config->task_program, t->dir.supervisor, &t->python_process, &err) < 0)
        log_warning("task.python_not_looked_for", "container=%s error=%s", t->container_id, log_quote(error_msg(&err)));
}

static int process_start(struct runtime_task *t, struct error *err)
{
    if (taskdir_give(&t->dir, err) < 0 || write_spec(t, err) < 0)
        return -1;
    if (t->start->task_type == WIRE_TASK_TYPE_TRIAL)
        start_python_probe(t);
    return run_task_program(t, /* adopt= */ false, err);
}

int runtime_adopt(struct runtime_task *t, struct error *err)
{
    return run_task_program(t, /* adopt= */ true, err);
}

const struct runtime runtime_process = {
    .name = "process",
    .prepare = process_prepare,
    .start = process_start,
    .adopt = runtime_adopt,
    .cleanup = runtime_cleanup,
};
