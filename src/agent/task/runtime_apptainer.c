/* A task in a container of Apptainer or Singularity (engine/apptainer.h). The supervisor is a process of the machine,
 * as it is for a task without a container, and starts the command as the task's user: Apptainer sources scripts of the
 * image, and these get no more rights than the task has. All that the agent needs while the task runs is the
 * supervisor's socket.
 *
 *   agent ─▶ supervisor (as the agent) ─▶ apptainer exec (as the task's user) ─▶ determined-task --inside ─▶ entrypoint
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/engine/apptainer.h"
#include "agent/engine/program_run.h"
#include "agent/machine/user_namespaces.h"
#include "agent/task/runtime_container.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/must.h"
#include "common/system/child_program.h"
#include "common/system/files.h"
#include "common/system/log.h"
#include "common/system/process.h"
#include "common/system/sha256_digits.h"
#include "common/task/command_cause.h"
#include "common/task/taskspec.h"

enum {
    TELL_EVERY_US = 5000000,
    ENVIRONMENT_MAX = 4 * 1024 * 1024,
    UNFINISHED_OLD_S = 24 * 60 * 60,
    UNFINISHED_PREFIX_BYTES = 8,
    LEFTOVERS_MAX = 10000 /* at a time */
};

#define UNFINISHED_SUFFIX ".unfinished"

struct apptainer_ask {
    struct runtime_ask base;
    struct loop_timer *soon; /* the first step: nothing may be answered from within the call that asks */
    struct apptainer_image image;
    const char *program, *unfinished;
    struct program_run *run;
    bool is_start;      /* the supervisor is started */
    struct strbuf said; /* why the command has failed, by its output */
    int64_t began_us, told_us;
};

static void ask_free(struct apptainer_ask *ask)
{
    loop_timer_free(ask->soon);
    strbuf_release(&ask->said);
    free(ask);
}

/* A supervisor that is being started goes on by itself. A pull is killed, because nobody needs the image any more. */
static void ask_cancel(struct runtime_ask *base)
{
    struct apptainer_ask *ask = (struct apptainer_ask *)base;
    if (ask->run && ask->is_start)
        program_run_leave(ask->run);
    else
        program_run_cancel(ask->run);
    if (ask->unfinished)
        unlink(ask->unfinished);
    ask_free(ask);
}

static struct apptainer_ask *ask_new(struct runtime_task *t, const struct runtime_ask_handler *h, loop_fn *begin)
{
    struct apptainer_ask *ask = must_calloc(1, sizeof(*ask));
    *ask = (struct apptainer_ask){.base = {.task = t, .handler = *h, .cancel = ask_cancel}};
    ask->soon = loop_timer_new(t->engines->command.loop, begin, ask);
    loop_timer_arm(ask->soon, 0);
    return ask;
}

static void ask_end(struct apptainer_ask *ask, const struct error *err)
{
    struct runtime_ask_handler h = ask->base.handler;
    ask_free(ask);
    h.on_done(h.ctx, err);
}

static const char *name_of(const struct apptainer_ask *ask)
{
    return ask->base.task->engines->command.name;
}

/* ---- running a command ------------------------------------------------------------------------------------------- */

/* The environment of a pull: `more`, and then the agent's without what may hold secrets. Of two variables with one name
 * a program takes the first. */
static char **environment_with(const char *const *more, size_t more_n, struct arena *a)
{
    char **own = child_program_environment(NULL, a);
    size_t n = 0;
    while (own[n])
        n++;
    char **env = arena_array(a, char *, n + more_n + 1);
    for (size_t i = 0; i < more_n; i++)
        env[i] = (char *)more[i];
    memcpy(env + more_n, own, n * sizeof(*env));
    return env;
}

/* Adds the proxies of the configuration by the names that Apptainer looks at first; the agent's own environment has
 * them by their other names (agent_config_use_proxies()). */
static size_t add_proxies(const struct agent_config *c, const char **variable, struct arena *a)
{
    size_t n = 0;
    if (*c->http_proxy)
        variable[n++] = arena_printf(a, "HTTP_PROXY=%s", c->http_proxy);
    if (*c->https_proxy)
        variable[n++] = arena_printf(a, "HTTPS_PROXY=%s", c->https_proxy);
    if (*c->no_proxy)
        variable[n++] = arena_printf(a, "NO_PROXY=%s", c->no_proxy);
    return n;
}

static int run_command(struct apptainer_ask *ask, const struct program_order *o,
                       void (*on_line)(void *, const char *, size_t),
                       void (*on_end)(void *, int, const struct strbuf *), struct error *err)
{
    struct program_handler h = {.on_line = on_line, .on_end = on_end, .ctx = ask};
    strbuf_reset(&ask->said);
    ask->run = program_run_start(ask->base.task->engines->command.loop, o, &h, err);
    return ask->run ? 0 : -1;
}

/* ---- the image --------------------------------------------------------------------------------------------------- */

/* The image's own variables are known within the container only (task/image_environment.h). These are the ones that the
 * task's environment adds directories to. */
static void end_with_image(struct apptainer_ask *ask)
{
    static char *const env[] = {"PATH=" TASKSPEC_OF_IMAGE, "PYTHONPATH=" TASKSPEC_OF_IMAGE, NULL};
    struct runtime_task *t = ask->base.task;
    struct image_facts *facts = arena_new(&t->arena, struct image_facts);
    *facts = (struct image_facts){.env = (char **)env, .entrypoint = arena_array(&t->arena, char *, 1), .arch = ""};
    t->image = facts;
    t->image_file = ask->image.path;
    ask_end(ask, NULL);
}

static void on_pull_line(void *ctx, const char *line, size_t n)
{
    struct apptainer_ask *ask = ctx;
    int64_t now_us = clock_monotonic_us();
    command_cause_take(&ask->said, line, n);
    if (now_us - ask->told_us < TELL_EVERY_US)
        return;
    ask->told_us = now_us;
    engine_tell(&ask->base.handler.lines, "Pulling image %s: %.*s", ask->base.task->start->image, (int)n, line);
}

static void on_pulled(void *ctx, int status, const struct strbuf *output)
{
    struct apptainer_ask *ask = ctx;
    const char *image = ask->base.task->start->image, *unfinished = ask->unfinished;
    cleanup_error struct error err = ERROR_INIT;
    cleanup_strbuf struct strbuf cause = STRBUF_INIT;
    (void)output;
    ask->run = NULL;
    ask->unfinished = NULL;
    /* everybody's tasks run it as their own users */
    if (status == 0 && chmod(unfinished, 0644) == 0 && rename(unfinished, ask->image.path) == 0) {
        engine_tell(&ask->base.handler.lines, "Image %s is pulled, after %.0f s", image,
                    (double)(clock_monotonic_us() - ask->began_us) / 1e6);
        end_with_image(ask);
        return;
    }
    if (status == 0)
        strbuf_addf(&cause, "%s cannot be renamed: %s", unfinished, strerror(errno));
    else
        command_cause_describe(name_of(ask), &ask->said, status, &cause);
    unlink(unfinished);
    if (cause_is_disk_full(strbuf_str(&cause)))
        error_set(
            &err, ERR_UNAVAILABLE,
            "the image %s cannot be pulled: %s; make room on this machine, in container_images_dir (%s) and where "
            "%s keeps temporary files",
            image, strbuf_str(&cause), ask->base.task->config->images_dir, name_of(ask));
    else
        error_set(
            &err, ERR_INVALID,
            "the image %s cannot be pulled: %s; check environment.image, environment.registry_auth and the way to the "
            "registry",
            image, strbuf_str(&cause));
    ask_end(ask, &err);
}

/* What the names of this agent's unfinished pulls begin with: the directory may belong to several agents. */
static const char *unfinished_prefix(const struct agent_config *c, struct arena *a)
{
    const char *agent = arena_printf(a, "%s\n%s", c->agent_id, c->run_root);
    char prefix[2 * UNFINISHED_PREFIX_BYTES + 1];
    sha256_digits(agent, strlen(agent), UNFINISHED_PREFIX_BYTES, prefix);
    return arena_printf(a, "%s.", prefix);
}

/* The images lie there as files that everybody may read who knows their names. */
static int make_images_dir(const struct agent_config *c, struct error *err)
{
    return dir_make(c->images_dir, 0711, err) < 0 ? error_wrap(err, "container_images_dir") : 0;
}

static void pull(struct apptainer_ask *ask)
{
    struct runtime_task *t = ask->base.task;
    const struct wire_link_task_container *c = t->start->container;
    const char *variable[2 + 3];
    cleanup_error struct error err = ERROR_INIT;
    size_t n = apptainer_credentials(name_of(ask), c && c->registry_auth ? c->registry_auth : "", &t->arena, variable);
    n += add_proxies(t->config, variable + n, &t->arena);
    if (make_images_dir(t->config, &err) < 0) {
        ask_end(ask, &err);
        return;
    }
    ask->unfinished = arena_printf(&t->arena, "%s/%s%s" UNFINISHED_SUFFIX, t->config->images_dir,
                                   unfinished_prefix(t->config, &t->arena), t->container_id);
    ask->began_us = ask->told_us = clock_monotonic_us();
    engine_tell(&ask->base.handler.lines, "Pulling image %s with %s", t->start->image, name_of(ask));
    struct program_order o = {.argv = apptainer_pull_words(ask->program, ask->unfinished, ask->image.reference,
                                                           &t->arena),
                              .env = environment_with(variable, n, &t->arena)};
    if (run_command(ask, &o, on_pull_line, on_pulled, &err) < 0)
        ask_end(ask, &err);
}

static void on_begin_image(void *ctx)
{
    struct apptainer_ask *ask = ctx;
    struct runtime_task *t = ask->base.task;
    const struct wire_link_task_container *c = t->start->container;
    cleanup_error struct error err = ERROR_INIT;
    ask->program = runtime_find_command(t->config, &t->arena);
    if (!ask->program) {
        error_set(&err, ERR_UNAVAILABLE, "no container engine answers: there is no program %s on the agent's PATH (%s)",
                  name_of(ask), getenv("PATH") ? getenv("PATH") : "");
        ask_end(ask, &err);
        return;
    }
    t->engine = &t->engines->command;
    if (apptainer_image_read(t->start->image, t->config->images_dir, &t->arena, &ask->image, &err) < 0)
        ask_end(ask, &err);
    else if (ask->image.reference && ((c && c->force_pull) || access(ask->image.path, F_OK) < 0))
        pull(ask);
    else
        end_with_image(ask);
}

static struct runtime_ask *ask_image(struct runtime_task *t, const struct runtime_ask_handler *h)
{
    t->engine = NULL;
    return &ask_new(t, h, on_begin_image)->base;
}

/* ---- preparing --------------------------------------------------------------------------------------------------- */

static struct container_order order_of(struct runtime_task *t)
{
    static char *const argv[] = {CONTAINER_PROGRAM, "--inside", NULL};
    const struct wire_link_task_container none = {0}, *c = t->start->container ? t->start->container : &none;
    struct container_order o = {.image = t->image_file,
                                .argv = argv,
                                .network_mode = c->network_mode ? c->network_mode : "",
                                .device = c->devices,
                                .device_n = c->devices_n,
                                .add_capability = (const char *const *)c->add_capabilities,
                                .add_capability_n = c->add_capabilities_n,
                                .port = c->ports,
                                .port_n = c->ports_n};
    container_list_gpus(t, &o);
    container_list_mounts(t, &o);
    return o;
}

/* In a directory that it names as an image, a task must not see what belongs to an agent that runs it as its own user.
 * Any other account reads what it may read: the command runs as the task's user. */
static int check_secret(const struct runtime_task *t, struct error *err)
{
    cleanup_free char *real = *t->start->image == '/' ? realpath(t->image_file, NULL) : NULL;
    const char *secret = real ? container_secret_in(t, real) : NULL;
    return secret ? error_set(err, ERR_INVALID,
                              "environment.image: %s cannot be an image: it would show the task %s, which belongs to "
                              "the agent",
                              t->image_file, secret)
                  : 0;
}

static int check_image_file(const struct runtime_task *t, struct error *err)
{
    const struct account *who = &t->account;
    if (check_secret(t, err) < 0)
        return -1;
    if (account_reaches(who, t->image_file, R_OK))
        return 0;
    if (*t->start->image == '/')
        return error_set(err, ERR_INVALID,
                         "environment.image: the account %s (uid %u), as which the task runs, may not read %s on this "
                         "machine (%s)",
                         who->name, (unsigned)who->uid, t->image_file, t->config->agent_id);
    return error_set(err, ERR_PRECONDITION,
                     "the account %s (uid %u), as which the task and its container run, may not read %s on this "
                     "machine (%s): let everybody enter container_images_dir and the directories above it (chmod a+x "
                     "%s), and read the file",
                     who->name, (unsigned)who->uid, t->image_file, t->config->agent_id, t->config->images_dir);
}

/* The command runs as the task's user: that user has to reach it, and what it mounts for us. */
static int check_places(const struct runtime_task *t, const char *program, struct error *err)
{
    const struct account *who = &t->account;
    const char *need[] = {program, t->config->task_program, t->dir.path, t->config->python_path};
    for (size_t i = 0; i < sizeof(need) / sizeof(need[0]); i++)
        if (*need[i] && !account_reaches(who, need[i], X_OK))
            return error_set(err, ERR_PRECONDITION,
                             "the account %s (uid %u), as which the task and its container run, may not enter or "
                             "execute %s on this machine (%s): permit it to everybody, there and in the directories "
                             "above (chmod a+x), or put it elsewhere",
                             who->name, (unsigned)who->uid, need[i], t->config->agent_id);
    return 0;
}

/* Root needs no user namespace. */
static bool needs_user_namespace(const struct runtime_task *t)
{
    uid_t uid = t->account.change ? t->account.uid : geteuid();
    return uid != 0 && !t->config->setuid_starter;
}

static int check_namespaces(const struct runtime_task *t, struct error *err)
{
    const struct account *who = &t->account;
    cleanup_error struct error why = ERROR_INIT;
    if (!needs_user_namespace(t) || user_namespaces_try(who->change, who->uid, who->gid, &why) == 0)
        return 0;
    return error_set(err, ERR_PRECONDITION,
                     "%s cannot make a container for the account %s (%s): %s; or install its setuid starter and set "
                     "container_setuid_starter: true",
                     t->engine->name, who->name, t->config->agent_id, error_msg(&why));
}

static int apptainer_prepare(struct runtime_task *t, struct error *err)
{
    const char *program = runtime_find_command(t->config, &t->arena);
    if (!program)
        return error_set(err, ERR_PRECONDITION, "there is no program %s on the agent's PATH any more", t->engine->name);
    if (runtime_container_prepare(t, err) < 0 || check_places(t, program, err) < 0 || check_image_file(t, err) < 0 ||
        check_namespaces(t, err) < 0)
        return -1;
    /* Apptainer looks its user up in /etc/passwd, where an account of the agent's own range is not. */
    if (runtime_put_passwd(t, t->account.passwd, err) < 0)
        return -1;
    struct container_order o = order_of(t);
    if (apptainer_check(&o, err) < 0)
        return -1;
    runtime_make_cgroup(t);
    return 0;
}

/* ---- starting ---------------------------------------------------------------------------------------------------- */

/* Makes an image with nothing in it but the places that Apptainer mounts at. Everybody can read it, whatever the umask
 * of this agent is, or was when the image was made; what another agent's user has made stays as it is. Returns its
 * path; NULL if it cannot be made. */
static const char *make_empty_image(struct runtime_task *t)
{
    static const char *const place[] = {"", "/dev", "/etc", "/proc", "/run", "/sys", "/tmp"};
    struct arena *a = &t->arena;
    const char *image = arena_printf(a, "%s/empty", t->config->images_dir);
    if (make_images_dir(t->config, NULL) < 0)
        return NULL;
    for (size_t i = 0; i < sizeof(place) / sizeof(place[0]); i++) {
        const char *path = arena_printf(a, "%s%s", image, place[i]);
        if (mkdir(path, 0755) < 0 && errno != EEXIST)
            return NULL;
        chmod(path, 0755);
    }
    cleanup_close int fd = open(arena_printf(a, "%s" CONTAINER_PROGRAM, image), O_RDONLY | O_CREAT | O_CLOEXEC, 0755);
    if (fd < 0)
        return NULL;
    fchmod(fd, 0755);
    return image;
}

static char **words_of(struct runtime_task *t, const struct container_order *o)
{
    const char *program = runtime_find_command(t->config, &t->arena);
    return apptainer_exec_words(program ? program : t->engine->name, o, needs_user_namespace(t), t->dir.path,
                                &t->arena);
}

/* The words of a container with the task's options in an empty image: each option may be what the machine cannot do.
 * Our own program alone is mounted, so that what the task has mounted is not touched. */
static char **probe_words(struct runtime_task *t)
{
    struct container_order o = order_of(t);
    struct container_mount m = {.source = t->config->task_program, .target = CONTAINER_PROGRAM, .read_only = true};
    o.image = make_empty_image(t);
    o.mount = &m;
    o.mount_n = 1;
    return o.image ? words_of(t, &o) : arena_array(&t->arena, char *, 1);
}

/* The environment of the command. Nothing else of the agent's gets there, since the task's user can read it. What the
 * command keeps on the disk is the task's. */
static char **command_environment(struct runtime_task *t)
{
    struct arena *a = &t->arena;
    const char *path = getenv("PATH"),
               *name = strcmp(t->engine->name, "singularity") == 0 ? "SINGULARITY" : "APPTAINER";
    const char *entry[] = {
        arena_printf(a, "PATH=%s", path ? path : "/usr/bin:/bin"),
        arena_printf(a, "HOME=%s", t->dir.tmp),
        arena_printf(a, "TMPDIR=%s", t->dir.tmp),
        arena_printf(a, "%s_TMPDIR=%s", name, t->dir.tmp),
        /* a directory of its own, which it closes to others: for a task of root /tmp is open to all */
        arena_printf(a, "%s_CACHEDIR=%s/.apptainer", name, t->dir.tmp),
        arena_printf(a, "%s_CONFIGDIR=%s/.apptainer", name, t->dir.tmp),
        arena_printf(a, "USER=%s", t->account.name),
        arena_printf(a, "LOGNAME=%s", t->account.name),
        arena_printf(a, "DET_CONTAINER_ID=%s", t->container_id), /* by which what is left is found (task/proctree.h) */
        arena_printf(a, APPTAINER_MARK "=%s", t->dir.path),
        "LANG=C.UTF-8",
        NULL,
    };
    return arena_dup(a, entry, sizeof(entry));
}

/* What the command finds around it: /etc/passwd with its user, processes and terminals of the task alone, and the
 * task's own /dev/shm, which Apptainer shows the container with the machine's /dev. An agent that is not root leaves
 * the command where it is itself. */
static void add_surroundings(const struct runtime_task *t, struct taskspec *spec)
{
    if (geteuid() != 0 || !t->config->mount_namespaces)
        return;
    spec->own_terminals = true;
    spec->own_processes = t->config->pid_namespaces;
    spec->shm_bytes = (uint64_t)runtime_shm_bytes(t);
    spec->terminal_gid = account_terminal_gid(&t->account);
    spec->mount = arena_array((struct arena *)&t->arena, struct taskspec_mount, 2);
    spec->mount[spec->mount_n++] = (struct taskspec_mount){.source = t->dir.run, .target = TASKENV_RUN_DIR};
    if (t->passwd_file)
        spec->mount[spec->mount_n++] = (struct taskspec_mount){.source = t->passwd_file,
                                                               .target = "/etc/passwd",
                                                               .read_only = true};
}

static int apptainer_start(struct runtime_task *t, struct error *err)
{
    struct taskspec spec;
    if (taskdir_give(&t->dir, err) < 0 || runtime_fill_spec(t, &spec, err) < 0)
        return -1;
    struct container_order o = order_of(t);
    spec.image = t->start->image;
    spec.engine = t->engine->name;
    spec.place = t->place;
    spec.place_n = t->place_n;
    spec.cgroup_procs = t->cgroup.procs;
    spec.oom_file = t->cgroup.oom_file;
    spec.pids_file = t->cgroup.pids_file;
    spec.command = words_of(t, &o);
    spec.command_env = command_environment(t);
    spec.probe = probe_words(t);
    spec.command_may_gain = t->config->setuid_starter;
    add_surroundings(t, &spec);
    return runtime_write_spec(t, &spec, err);
}

static void on_line(void *ctx, const char *line, size_t n)
{
    struct apptainer_ask *ask = ctx;
    command_cause_take(&ask->said, line, n);
}

/* determined-task has left its supervisor behind: it knows by now whether the task was executed. If somebody has killed
 * it while it waited for that, the supervisor goes on, and has to be asked. */
static void on_started(void *ctx, int status, const struct strbuf *output)
{
    struct apptainer_ask *ask = ctx;
    cleanup_error struct error err = ERROR_INIT;
    (void)output;
    ask->run = NULL;
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    ask->base.task->executed = code == 0;
    if (code != 0 && code != TASKSPEC_NOT_EXECUTED)
        error_set(&err, ERR_PRECONDITION, "%s",
                  ask->said.n ? strbuf_str(&ask->said) : "the supervisor ended while it started");
    ask_end(ask, err.kind ? &err : NULL);
}

static void on_begin_start(void *ctx)
{
    struct apptainer_ask *ask = ctx;
    struct runtime_task *t = ask->base.task;
    cleanup_error struct error err = ERROR_INIT;
    char *argv[] = {(char *)t->config->task_program, (char *)t->dir.supervisor, NULL};
    char *env[] = {arena_printf(&t->arena, APPTAINER_MARK "=%s", t->dir.path), NULL};
    struct program_order o = {.argv = argv, .env = env};
    ask->is_start = true;
    if (run_command(ask, &o, on_line, on_started, &err) < 0)
        ask_end(ask, &err);
}

static struct runtime_ask *ask_start(struct runtime_task *t, const struct runtime_ask_handler *h)
{
    return &ask_new(t, h, on_begin_start)->base;
}

/* ---- what a killed agent has left -------------------------------------------------------------------------------- */

/* The id of the task below run_root that the process was started for; NULL if there is none. A command and the first
 * process of its container say it in their environment. A supervisor does so in its last argument, since nobody but
 * root reads its environment. */
static const char *task_of_process(const struct process *p, const char *run_root, struct arena *a)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    char path[64];
    cleanup_free char *mark = must_asprintf(APPTAINER_MARK "=%s/", run_root);
    const char *last = p->args;
    snprintf(path, sizeof(path), "/proc/%d/environ", (int)p->pid);
    for (const char *arg = last; arg; arg = process_next_arg(p, arg))
        last = arg;
    if (process_supervises_below(p, run_root)) {
        const char *id = last + strlen(run_root) + 1;
        return arena_strndup(a, id, strcspn(id, "/"));
    }
    if (file_read(path, ENVIRONMENT_MAX, &text, NULL) < 0)
        return NULL;
    for (size_t at = 0; at < text.n; at += strlen(text.s + at) + 1)
        if (strncmp(text.s + at, mark, strlen(mark)) == 0)
            return arena_strdup(a, text.s + at + strlen(mark));
    return NULL;
}

static bool is_old(int dir, const char *name)
{
    struct stat st;
    return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && time(NULL) - st.st_mtime > UNFINISHED_OLD_S;
}

struct leftovers {
    const struct agent_config *config;
    struct arena *arena;
    struct apptainer_leftover *list;
    size_t n;
};

static void add_leftover(struct leftovers *l, struct apptainer_leftover leftover)
{
    if (l->n < LEFTOVERS_MAX)
        l->list[l->n++] = leftover;
}

/* Lists what pulls of this agent have left. A file of another agent may grow at this moment; it is listed once nothing
 * has been written to it for a day. */
static void list_unfinished_pulls(struct leftovers *l)
{
    const char *prefix = unfinished_prefix(l->config, l->arena);
    size_t begin = strlen(prefix), suffix = strlen(UNFINISHED_SUFFIX);
    DIR *d = opendir(l->config->images_dir);
    for (struct dirent *e; d && (e = readdir(d));) {
        size_t n = strlen(e->d_name);
        if (n <= suffix || strcmp(e->d_name + n - suffix, UNFINISHED_SUFFIX) != 0)
            continue;
        bool own = n > begin + suffix && strncmp(e->d_name, prefix, begin) == 0;
        if (own || is_old(dirfd(d), e->d_name))
            add_leftover(l, (struct apptainer_leftover){
                                .task = own ? arena_strndup(l->arena, e->d_name + begin, n - begin - suffix) : NULL,
                                .unfinished = arena_printf(l->arena, "%s/%s", l->config->images_dir, e->d_name)});
    }
    if (d)
        closedir(d);
}

static void list_process(const struct process *p, void *ctx)
{
    struct leftovers *l = ctx;
    const char *task = task_of_process(p, l->config->run_root, l->arena);
    if (task)
        add_leftover(l, (struct apptainer_leftover){.task = task, .pid = p->pid, .start = p->start});
}

size_t runtime_apptainer_list_leftovers(const struct agent_config *c, struct arena *a, struct apptainer_leftover **ret)
{
    struct leftovers l = {c, a, arena_array(a, struct apptainer_leftover, LEFTOVERS_MAX), 0};
    process_each(list_process, &l);
    list_unfinished_pulls(&l);
    *ret = l.list;
    return l.n;
}

void runtime_apptainer_end_leftovers(const struct agent_config *c, const struct apptainer_leftover *list, size_t n,
                                     bool (*is_known)(void *ctx, const char *container_id), void *ctx)
{
    for (size_t i = 0; i < n; i++) {
        const struct apptainer_leftover *l = &list[i];
        struct process p;
        if (l->task && is_known(ctx, l->task))
            continue;
        if (l->unfinished)
            unlink(l->unfinished);
        if (l->unfinished || !process_find(l->pid, &p) || p.start != l->start)
            continue;
        log_info("agent.container_leftover", "container=%s engine=%s pid=%d action=kill", log_quote(l->task),
                 c->container_runtime, (int)l->pid);
        kill(l->pid, SIGKILL);
    }
}

const struct runtime runtime_apptainer = {
    .name = "apptainer",
    .prepare = apptainer_prepare,
    .start = apptainer_start,
    .adopt = runtime_adopt,
    .cleanup = runtime_cleanup,
    .ask_image = ask_image,
    .ask_start = ask_start,
};
