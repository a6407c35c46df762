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

static const char *substitute_value(const char *path, const char *name, const char *value, struct arena *a)
{
    const char *at = strstr(path, name);
    return at ? arena_printf(a, "%.*s%s%s", (int)(at - path), path, value, at + strlen(name)) : path;
}

static const char *work_dir_of(struct runtime_task *t)
{
    struct arena *a = &t->arena;
    const char *path = t->start->work_dir && *t->start->work_dir ? t->start->work_dir : "/run/determined/workdir";
    path = substitute_value(path, "$AGENT_USER", t->account.name, a);
    for (size_t i = 0; i < t->start->env_n; i++)
        if (strncmp(t->start->env[i], "DET_USER=", 9) == 0)
            path = substitute_value(path, "$DET_USER", t->start->env[i] + 9, a);
    return taskenv_map_path(path, t->dir.run, a);
}

/* Makes the task's control groups. A limit that this machine cannot set is logged; the task runs all the same. */
static void make_cgroup(struct runtime_task *t)
{
    const struct wire_link_task_limits *l = t->start->limits;
    struct task_limits asked = {0};
    if (l)
        asked = (struct task_limits){.memory_bytes = l->memory_bytes,
                                     .disk_bytes = l->disk_bytes,
                                     .processes = l->pids};
    t->limits = agent_config_limits(t->config, &asked);
    struct cgroup_limits limits = {.memory_bytes = t->limits.memory_bytes,
                                   .cpus = l ? l->cpus : 0,
                                   .pids = t->limits.processes};
    t->cgroup = (struct cgroup){.procs = arena_array(&t->arena, char *, 1), .oom_file = "", .pids_file = ""};
    cleanup_error struct error err = ERROR_INIT;
    if (cgroup_wanted(&limits) && cgroup_make(t->cgroups, t->container_id, &limits, &t->arena, &t->cgroup, &err) < 0)
        log_warning("task.limits", "container=%s error=%s", t->container_id, log_quote(error_msg(&err)));
}

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

/* Writes the task's /etc/passwd. Without an entry for the uid, some programs, such as ssh, refuse to work. */
static int put_passwd(struct runtime_task *t, struct error *err)
{
    bool shell = t->start->task_type == WIRE_TASK_TYPE_SHELL;
    const char *text = shell ? shell_server_passwd(&t->account, &t->arena) : t->account.passwd;
    if (!text || !t->config->mount_namespaces)
        return 0;
    t->passwd_file = arena_printf(&t->arena, "%s/info/passwd", t->dir.run);
    return taskdir_put_file(&t->dir, "info/passwd", text, strlen(text), 0644, err);
}

/* Writes the /etc/group of a task that needs one of its own. */
static int put_group(struct runtime_task *t, struct error *err)
{
    bool shell = t->start->task_type == WIRE_TASK_TYPE_SHELL;
    const char *text = shell ? shell_server_group(&t->account, &t->arena) : NULL;
    if (!text || !t->config->mount_namespaces)
        return 0;
    t->group_file = arena_printf(&t->arena, "%s/info/group", t->dir.run);
    return taskdir_put_file(&t->dir, "info/group", text, strlen(text), 0644, err);
}

/* Whether python3 in the interpreter's directory is another program: /usr/bin/python3 beside /usr/bin/python3.9. */
static bool needs_shims(const struct python_place *p, struct arena *a)
{
    struct stat st, other;
    const char *path = p && p->bin_n ? arena_printf(a, "%s/python3", p->bin[0]) : NULL;
    return path && stat(p->interpreter, &st) == 0 &&
           (stat(path, &other) < 0 || st.st_dev != other.st_dev || st.st_ino != other.st_ino);
}

/* Writes programs `python3` and `python` that execute the interpreter which the task has named, where it has another
 * name. They are no links, because an interpreter finds its packages by the path that it is executed by. */
static int put_python_shims(struct runtime_task *t, const char **ret, struct error *err)
{
    static const char *const name[] = {"python3", "python"};
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    *ret = "";
    if (!needs_shims(t->python, &t->arena))
        return 0;
    strbuf_adds(&text, "#!/bin/sh\nexec '");
    for (const char *c = t->python->interpreter; *c; c++)
        strbuf_adds(&text, *c == '\'' ? "'\\''" : (char[]){*c, 0});
    strbuf_adds(&text, "' \"$@\"\n");
    *ret = arena_printf(&t->arena, "%s/python/bin", t->dir.run);
    for (size_t i = 0; i < sizeof(name) / sizeof(name[0]); i++)
        if (taskdir_put_path(&t->dir, arena_printf(&t->arena, "%s/%s", *ret, name[i]), text.s, text.n, 0755, err) < 0)
            return -1;
    return 0;
}

static int process_prepare(struct runtime_task *t, struct error *err)
{
    const struct wire_link_start_task *s = t->start;
    const struct wire_link_task_user *u = s->user;
    struct account_order who = {.user = ""};
    if (u)
        who = (struct account_order){
            .owner_id = u->owner_id, .owner = u->owner, .user = u->user, .uid = u->uid, .gid = u->gid};
    if (account_resolve(&who, &t->config->accounts, &t->arena, &t->account, err) < 0)
        return -1;
    t->dir.owner = &t->account;
    if (taskdir_make(&t->dir, s->task_type == WIRE_TASK_TYPE_TRIAL, err) < 0)
        return -1;
    t->work_dir = work_dir_of(t);
    const char *shims;
    if (put_python_shims(t, &shims, err) < 0)
        return -1;
    struct taskenv_facts facts = {.config = t->config,
                                  .slots = t->slots,
                                  .account = &t->account,
                                  .master_id = t->master_id,
                                  .cluster_id = t->cluster_id,
                                  .run_dir = t->dir.run,
                                  .work_dir = t->work_dir,
                                  .python = t->python,
                                  .python_shims = shims};
    taskenv_build(&t->env, s, &facts, environ, &t->arena);
    if (put_passwd(t, err) < 0 || put_group(t, err) < 0 ||
        taskfiles_write_info(&t->dir, s, &t->env, t->slots, err) < 0 ||
        taskfiles_move_large(&t->dir, &t->env, err) < 0 || taskfiles_write_given(&t->dir, s, err) < 0 ||
        taskfiles_write_entrypoint(&t->dir, s, &t->arena, &t->argv, err) < 0 ||
        (!s->rendezvous && taskfiles_write_rendezvous(&t->dir, s, NULL, err) < 0))
        return -1;
    if (s->task_type == WIRE_TASK_TYPE_SHELL &&
        shell_server_prepare(&t->dir, &shell_server_places, t->config->mount_namespaces, &t->arena, err) < 0)
        return -1;
    if (s->fetch_context && context_fetch(t, err) < 0)
        return -1;
    make_cgroup(t);
    return 0;
}

/* The capabilities that the order drops, as bits. They are checked before anything runs, since a task must not keep a
 * capability that it was to lose. */
static int capabilities_of(const struct wire_link_start_task *s, uint64_t *ret, struct error *err)
{
    uint64_t all = 0, one;
    for (size_t i = 0; i < s->drop_capabilities_n; i++) {
        if (capability_mask(s->drop_capabilities[i], &one) < 0)
            return error_set(err, ERR_INVALID,
                             "environment.drop_capabilities: this agent knows no Linux capability \"%s\"",
                             s->drop_capabilities[i]);
        all |= one;
    }
    *ret = all;
    return 0;
}

static int write_spec(const struct runtime_task *t, struct error *err)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    struct arena *a = (struct arena *)&t->arena;
    bool trial = t->start->task_type == WIRE_TASK_TYPE_TRIAL;
    struct taskspec spec = {.argv = t->argv,
                            .env = t->env.item,
                            .cwd = t->work_dir,
                            .change_user = t->account.change,
                            .isolated = t->start->isolated,
                            .uid = t->account.uid,
                            .gid = t->account.gid,
                            .group = (uint32_t *)t->account.group,
                            .group_n = t->account.group_n,
                            .cgroup_procs = t->cgroup.procs,
                            .oom_file = t->cgroup.oom_file,
                            .pids_file = t->cgroup.pids_file,
                            .limit = {.memory_bytes = (uint64_t)t->limits.memory_bytes,
                                      .processes = (uint64_t)t->limits.processes,
                                      .disk_bytes = (uint64_t)t->limits.disk_bytes},
                            .hidden = t->account.change ? NULL : t->config->secret_path,
                            .boot_id = t->boot_id,
                            .log_links = trial ? arena_printf(a, "%s/train/logs", t->dir.run) : "",
                            .spool_max = TASKDIR_SPOOL_MAX,
                            .lock = t->python ? (char **)t->python->lock : NULL,
                            .tmp = t->dir.tmp};
    if (capabilities_of(t->start, &spec.drop_capabilities, err) < 0)
        return -1;
    add_mounts(t, &spec);
    taskspec_encode(&spec, &text);
    const char *path = arena_printf(a, "%s/spec", t->dir.supervisor);
    cleanup_close int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, text.s, text.n) != (ssize_t)text.n)
        return error_errno(err, "cannot write %s", path);
    return 0;
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

static int process_adopt(struct runtime_task *t, struct error *err)
{
    return run_task_program(t, /* adopt= */ true, err);
}

/* Renames the directory of an ended task, so that the next agent does not take it for a task. */
static int keep_ended_directory(struct runtime_task *t, struct error *err)
{
    const char *name = arena_printf(&t->arena, "%s/.ended-%s", t->config->run_root, t->container_id);
    return rename(t->dir.path, name) < 0 ? error_errno(err, "cannot rename %s to %s", t->dir.path, name) : 0;
}

static int process_cleanup(struct runtime_task *t, struct error *err)
{
    cgroup_remove(t->cgroups, t->container_id);
    if (t->config->keep_ended)
        return keep_ended_directory(t, err);
    return tree_remove(t->dir.path, err);
}

const struct runtime runtime_process = {
    .name = "process",
    .prepare = process_prepare,
    .start = process_start,
    .adopt = process_adopt,
    .cleanup = process_cleanup,
};
