/* What every runtime prepares for a task: account, directory, environment, files, context, and the order for its
 * supervisor. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
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
    return taskenv_map_path(path, t->dir.seen, a);
}

/* Writes a file that the task is to see in place of a file of the machine's; nothing if text is NULL. */
static int put_over(struct runtime_task *t, const char *name, const char *text, const char **ret_file,
                    struct error *err)
{
    if (!text || !t->config->mount_namespaces)
        return 0;
    *ret_file = arena_printf(&t->arena, "%s/%s", t->dir.run, name);
    return taskdir_put_file(&t->dir, name, text, strlen(text), 0644, err);
}

int runtime_put_passwd(struct runtime_task *t, const char *text, struct error *err)
{
    return put_over(t, "info/passwd", text, &t->passwd_file, err);
}

/* Without an entry for the uid, some programs, such as ssh, refuse to work. */
static int put_account_files(struct runtime_task *t, struct error *err)
{
    bool shell = t->start->task_type == WIRE_TASK_TYPE_SHELL;
    struct arena *a = &t->arena;
    if (t->dir.in_image)
        return 0;
    if (runtime_put_passwd(t, shell ? shell_server_passwd(&t->account, a) : t->account.passwd, err) < 0)
        return -1;
    return put_over(t, "info/group", shell ? shell_server_group(&t->account, a) : NULL, &t->group_file, err);
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

/* The directory of our library as the task sees it. */
static const char *library_of(const struct runtime_task *t)
{
    return t->dir.in_image && *t->config->python_path ? RUNTIME_LIBRARY_DIR : t->config->python_path;
}

static void set_limits(struct runtime_task *t)
{
    const struct wire_link_task_limits *l = t->start->limits;
    struct task_limits asked = {0};
    if (l)
        asked = (struct task_limits){.memory_bytes = l->memory_bytes,
                                     .disk_bytes = l->disk_bytes,
                                     .processes = l->pids};
    t->limits = agent_config_limits(t->config, &asked);
    t->cgroup = (struct cgroup){.procs = arena_array(&t->arena, char *, 1), .oom_file = "", .pids_file = ""};
}

void runtime_make_cgroup(struct runtime_task *t)
{
    const struct wire_link_task_limits *l = t->start->limits;
    struct cgroup_limits limits = {.memory_bytes = t->limits.memory_bytes,
                                   .cpus = l ? l->cpus : 0,
                                   .pids = t->limits.processes,
                                   .cpuset = slots_cores(t->slots, t->start->device_ids, t->start->device_ids_n,
                                                         &t->arena)};
    cleanup_error struct error err = ERROR_INIT;
    if (cgroup_wanted(&limits) && cgroup_make(t->cgroups, t->container_id, &limits, &t->arena, &t->cgroup, &err) < 0)
        log_warning("task.limits", "container=%s error=%s", t->container_id, log_quote(error_msg(&err)));
}

static int64_t memory_of_machine(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    return pages > 0 && size > 0 ? (int64_t)pages * size : 0;
}

int64_t runtime_shm_bytes(const struct runtime_task *t)
{
    const struct wire_link_task_limits *l = t->start->limits;
    int64_t memory = t->limits.memory_bytes > 0 ? t->limits.memory_bytes : memory_of_machine();
    return l && l->shm_bytes > 0 ? l->shm_bytes : memory / 2;
}

int runtime_prepare_files(struct runtime_task *t, struct error *err)
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
    set_limits(t);
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
                                  .image_env = t->image ? t->image->env : NULL,
                                  .library = library_of(t),
                                  .run_dir = t->dir.seen,
                                  .work_dir = t->work_dir,
                                  .python = t->python,
                                  .python_shims = shims};
    taskenv_build(&t->env, s, &facts, environ, &t->arena);
    if (put_account_files(t, err) < 0 || taskfiles_write_info(&t->dir, s, &t->env, t->slots, err) < 0 ||
        taskfiles_move_large(&t->dir, &t->env, err) < 0 || taskfiles_write_given(&t->dir, s, err) < 0 ||
        taskfiles_write_entrypoint(&t->dir, s, &t->arena, &t->argv, err) < 0 ||
        (!s->rendezvous && taskfiles_write_rendezvous(&t->dir, s, NULL, err) < 0))
        return -1;
    const struct shell_server_places *places = t->dir.in_image ? &shell_server_places_in_image : &shell_server_places;
    if (s->task_type == WIRE_TASK_TYPE_SHELL &&
        shell_server_prepare(&t->dir, places, t->config->mount_namespaces, &t->arena, err) < 0)
        return -1;
    return s->fetch_context ? context_fetch(t, err) : 0;
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

/* Whether the limit of memory is what the task has asked for, and not less. */
static bool is_memory_asked(const struct runtime_task *t)
{
    const struct wire_link_task_limits *l = t->start->limits;
    return l && l->memory_asked && l->memory_bytes == t->limits.memory_bytes;
}

int runtime_fill_spec(const struct runtime_task *t, struct taskspec *ret, struct error *err)
{
    struct arena *a = (struct arena *)&t->arena;
    bool trial = t->start->task_type == WIRE_TASK_TYPE_TRIAL;
    *ret = (struct taskspec){.argv = t->argv,
                             .env = t->env.list.item,
                             .cwd = t->work_dir,
                             .change_user = t->account.change,
                             .uid = t->account.uid,
                             .gid = t->account.gid,
                             .group = (uint32_t *)t->account.group,
                             .group_n = t->account.group_n,
                             .limit = {.memory_bytes = (uint64_t)t->limits.memory_bytes,
                                       .memory_asked = is_memory_asked(t),
                                       .processes = (uint64_t)t->limits.processes,
                                       .disk_bytes = (uint64_t)t->limits.disk_bytes},
                             .boot_id = t->boot_id,
                             .log_links = trial ? arena_printf(a, "%s/train/logs", t->dir.seen) : "",
                             .spool_max = TASKDIR_SPOOL_MAX};
    return capabilities_of(t->start, &ret->drop_capabilities, err);
}

int runtime_write_spec(const struct runtime_task *t, const struct taskspec *spec, struct error *err)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    const char *path = arena_printf((struct arena *)&t->arena, "%s/spec", t->dir.supervisor);
    taskspec_encode(spec, &text);
    cleanup_close int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, text.s, text.n) != (ssize_t)text.n)
        return error_errno(err, "cannot write %s", path);
    return 0;
}

/* Renames the directory of an ended task, so that the next agent does not take it for a task. */
static int keep_ended_directory(struct runtime_task *t, struct error *err)
{
    const char *name = arena_printf(&t->arena, "%s/.ended-%s", t->config->run_root, t->container_id);
    return rename(t->dir.path, name) < 0 ? error_errno(err, "cannot rename %s to %s", t->dir.path, name) : 0;
}

int runtime_remove_directory(struct runtime_task *t, struct error *err)
{
    return t->config->keep_ended ? keep_ended_directory(t, err) : tree_remove(t->dir.path, err);
}

int runtime_cleanup(struct runtime_task *t, struct error *err)
{
    cgroup_remove(t->cgroups, t->container_id);
    return runtime_remove_directory(t, err);
}
