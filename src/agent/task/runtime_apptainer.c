/* A task in a container of Apptainer or Singularity (engine/apptainer.h). As in every container, determined-task is the
 * first process, and its socket in a mount is all that the agent needs while the task runs. The container lives below
 * the command that was started for it. The agent may end meanwhile: the command is no part of its session, and its
 * process id lies in the supervisor's directory. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "agent/engine/apptainer.h"
#include "agent/engine/program_run.h"
#include "agent/task/runtime_container.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/hex.h"
#include "common/base/must.h"
#include "common/system/child_program.h"
#include "common/system/files.h"
#include "common/system/log.h"
#include "common/system/process.h"
#include "common/task/taskspec.h"

enum {
    TELL_EVERY_US = 5000000,
    END_PATIENCE_US = 10000000, /* for a command whose container's first process has ended */
    ENVIRONMENT_MAX = 4 * 1024 * 1024,
    VARIABLES_MAX = 1024,
    TAIL_BYTES = 2000,
    UNFINISHED_OLD_S = 24 * 60 * 60,
    UNFINISHED_PREFIX_BYTES = 8,
};

#define COMMAND_FILE "command"    /* in the supervisor's directory: process id and start of the command */
#define COMMAND_LOG "command.log" /* what the command prints */
#define UNFINISHED_SUFFIX ".unfinished"

struct apptainer_ask {
    struct runtime_ask base;
    struct loop_timer *soon; /* the first step: nothing may be answered from within the call that asks */
    struct apptainer_image image;
    const char *program, *unfinished;
    struct program_run *run;
    struct program_wait *wait;
    struct strbuf said;  /* the last line of the command that tells of a failure, else its last line */
    struct error failed; /* why the container could not be started, while it is found out who is to blame */
    int64_t began_us, told_us;
    int ready_fd;
    struct loop_watch *ready;
};

static void ask_free(struct apptainer_ask *ask)
{
    loop_timer_free(ask->soon);
    loop_watch_free(ask->ready);
    if (ask->ready_fd >= 0)
        close(ask->ready_fd);
    strbuf_release(&ask->said);
    error_release(&ask->failed);
    free(ask);
}

/* A container that is being started goes on by itself. A pull is killed, because nobody needs the image any more. */
static void ask_cancel(struct runtime_ask *base)
{
    struct apptainer_ask *ask = (struct apptainer_ask *)base;
    if (ask->run && ask->ready_fd >= 0)
        program_run_leave(ask->run);
    else
        program_run_cancel(ask->run);
    if (ask->unfinished)
        unlink(ask->unfinished);
    program_wait_cancel(ask->wait);
    ask_free(ask);
}

static struct apptainer_ask *ask_new(struct runtime_task *t, const struct runtime_ask_handler *h, loop_fn *begin)
{
    struct apptainer_ask *ask = must_calloc(1, sizeof(*ask));
    *ask = (struct apptainer_ask){.base = {.task = t, .handler = *h, .cancel = ask_cancel}, .ready_fd = -1};
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

/* Keeps the line that says why a command failed: the first one that begins with FATAL or ERROR, else the last one. */
static void keep_cause(struct strbuf *said, const char *line, size_t n)
{
    bool has_cause = strncmp(strbuf_str(said), "FATAL", 5) == 0 || strncmp(strbuf_str(said), "ERROR", 5) == 0;
    if (has_cause || n == 0)
        return;
    strbuf_reset(said);
    for (size_t i = 0; i < n && i < TAIL_BYTES; i++)
        strbuf_addc(said, (unsigned char)line[i] < 32 || line[i] == 127 ? ' ' : line[i]);
}

static const char *cause_of(const struct apptainer_ask *ask, int status, struct strbuf *out)
{
    strbuf_addf(out, "%s says: %s (", name_of(ask), ask->said.n ? strbuf_str(&ask->said) : "nothing");
    program_status_describe(status, out);
    strbuf_addc(out, ')');
    return out->s;
}

/* The environment of a command: `more`, and then the agent's without what may hold secrets. Of two variables with one
 * name a program takes the first. */
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

static void on_line(void *ctx, const char *line, size_t n)
{
    struct apptainer_ask *ask = ctx;
    keep_cause(&ask->said, line, n);
}

/* ---- who is to blame --------------------------------------------------------------------------------------------- */

/* Makes an image with nothing in it but the places that Apptainer mounts at. Returns its path; NULL if it cannot be
 * made. */
static const char *make_empty_image(struct runtime_task *t)
{
    static const char *const place[] = {"", "/dev", "/etc", "/proc", "/run", "/sys", "/tmp"};
    struct arena *a = &t->arena;
    const char *image = arena_printf(a, "%s/empty", t->config->images_dir);
    if (dir_make(t->config->images_dir, 0700, NULL) < 0)
        return NULL;
    for (size_t i = 0; i < sizeof(place) / sizeof(place[0]); i++)
        if (mkdir(arena_printf(a, "%s%s", image, place[i]), 0755) < 0 && errno != EEXIST)
            return NULL;
    cleanup_close int fd = open(arena_printf(a, "%s" CONTAINER_PROGRAM, image), O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
    return fd >= 0 ? image : NULL;
}

static void on_empty_image(void *ctx, int status, const struct strbuf *output)
{
    struct apptainer_ask *ask = ctx;
    cleanup_error struct error err = ERROR_INIT;
    cleanup_strbuf struct strbuf cause = STRBUF_INIT;
    (void)output;
    ask->run = NULL;
    if (status == 0)
        error_set(&err, ERR_INVALID, "%s", error_msg(&ask->failed));
    else
        error_set(&err, ERR_PRECONDITION,
                  "%s; no other image can be run on this machine either, not even an empty one: %s",
                  error_msg(&ask->failed), cause_of(ask, status, &cause));
    ask_end(ask, &err);
}

/* Ends the ask with this failure of a container. It is the image's fault, and so the task's, if an empty image can be
 * run on this machine by such a command as has failed; else it is the machine's. What the command prints does not tell
 * the two apart, unless it says that a disk is full. */
static void end_by_blame(struct apptainer_ask *ask,
                         char **(*words_of)(struct apptainer_ask *, const char *program, const char *image),
                         const struct error *failed)
{
    struct runtime_task *t = ask->base.task;
    const char *program = runtime_find_command(t->config, &t->arena), *image = make_empty_image(t);
    error_copy(&ask->failed, failed);
    if (ask->ready_fd >= 0) {
        loop_watch_free(ask->ready);
        ask->ready = NULL;
        close(ask->ready_fd);
        ask->ready_fd = -1;
    }
    if (!program || !image || image_is_disk_full(error_msg(failed))) {
        ask_end(ask, failed);
        return;
    }
    struct program_order o = {.argv = words_of(ask, program, image), .env = environment_with(NULL, 0, &t->arena)};
    if (run_command(ask, &o, on_line, on_empty_image, NULL) < 0)
        ask_end(ask, failed);
}

/* ---- the image --------------------------------------------------------------------------------------------------- */

/* Variables that Apptainer sets for whoever runs a command, and that are no part of the image. */
static bool is_of_the_image(const char *entry)
{
    static const char *const others[] = {
        "APPTAINER_", "SINGULARITY_", "HOME=", "PWD=",       "OLDPWD=",         "SHLVL=",
        "_=",         "PS1=",         "USER=", "USER_PATH=", "PROMPT_COMMAND=", APPTAINER_MARK "="};
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        if (strncmp(entry, others[i], strlen(others[i])) == 0)
            return false;
    return strchr(entry, '=') != NULL;
}

static char **variables_of(const struct strbuf *output, struct arena *a)
{
    char **ret = arena_array(a, char *, VARIABLES_MAX + 1);
    size_t n = 0;
    for (size_t at = 0; at < output->n && n < VARIABLES_MAX;) {
        size_t length = strnlen(output->s + at, output->n - at);
        const char *entry = arena_strndup(a, output->s + at, length);
        if (is_of_the_image(entry))
            ret[n++] = (char *)entry;
        at += length + 1;
    }
    return ret;
}

/* Runs our own program in an image, which prints the image's variables. */
static char **environment_words(struct apptainer_ask *ask, const char *program, const char *image)
{
    struct runtime_task *t = ask->base.task;
    return apptainer_environment_words(program, image, t->config->task_program, CONTAINER_PROGRAM, &t->arena);
}

static void on_environment(void *ctx, int status, const struct strbuf *output)
{
    struct apptainer_ask *ask = ctx;
    struct runtime_task *t = ask->base.task;
    cleanup_error struct error err = ERROR_INIT;
    cleanup_strbuf struct strbuf cause = STRBUF_INIT;
    ask->run = NULL;
    if (status != 0) {
        error_set(&err, ERR_PRECONDITION, "the image %s cannot be run on this machine: %s", t->start->image,
                  cause_of(ask, status, &cause));
        end_by_blame(ask, environment_words, &err);
        return;
    }
    struct image_facts *facts = arena_new(&t->arena, struct image_facts);
    *facts = (struct image_facts){.env = variables_of(output, &t->arena),
                                  .entrypoint = arena_array(&t->arena, char *, 1),
                                  .arch = ""};
    t->image = facts;
    t->image_file = ask->image.path;
    ask_end(ask, NULL);
}

/* Asks what variables the image sets, by running our own program in it. */
static void ask_environment(struct apptainer_ask *ask)
{
    struct runtime_task *t = ask->base.task;
    cleanup_error struct error err = ERROR_INIT;
    struct program_order o = {.argv = environment_words(ask, ask->program, ask->image.path),
                              .env = environment_with(NULL, 0, &t->arena)};
    if (run_command(ask, &o, on_line, on_environment, &err) < 0)
        ask_end(ask, &err);
}

static void on_pull_line(void *ctx, const char *line, size_t n)
{
    struct apptainer_ask *ask = ctx;
    int64_t now_us = clock_monotonic_us();
    keep_cause(&ask->said, line, n);
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
    if (status == 0 && rename(unfinished, ask->image.path) == 0) {
        engine_tell(&ask->base.handler.lines, "Image %s is pulled, after %.0f s", image,
                    (double)(clock_monotonic_us() - ask->began_us) / 1e6);
        ask_environment(ask);
        return;
    }
    if (status == 0)
        strbuf_addf(&cause, "%s cannot be renamed: %s", unfinished, strerror(errno));
    else
        cause_of(ask, status, &cause);
    unlink(unfinished);
    if (image_is_disk_full(strbuf_str(&cause)))
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
    unsigned char digest[EVP_MAX_MD_SIZE];
    char prefix[2 * UNFINISHED_PREFIX_BYTES + 1];
    EVP_Digest(agent, strlen(agent), digest, NULL, EVP_sha256(), NULL);
    hex_encode(digest, UNFINISHED_PREFIX_BYTES, prefix);
    return arena_printf(a, "%s.", prefix);
}

static void pull(struct apptainer_ask *ask)
{
    struct runtime_task *t = ask->base.task;
    const struct wire_link_task_container *c = t->start->container;
    const char *variable[2 + 3];
    cleanup_error struct error err = ERROR_INIT;
    size_t n = apptainer_credentials(name_of(ask), c && c->registry_auth ? c->registry_auth : "", &t->arena, variable);
    n += add_proxies(t->config, variable + n, &t->arena);
    if (dir_make(t->config->images_dir, 0700, &err) < 0) {
        error_wrap(&err, "container_images_dir");
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
        ask_environment(ask);
}

static struct runtime_ask *ask_image(struct runtime_task *t, const struct runtime_ask_handler *h)
{
    t->engine = NULL;
    return &ask_new(t, h, on_begin_image)->base;
}

/* ---- preparing --------------------------------------------------------------------------------------------------- */

static struct container_order order_of(struct runtime_task *t)
{
    static char *const argv[] = {CONTAINER_PROGRAM, "--container", CONTAINER_SUPERVISOR, NULL};
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

/* The command opens an image file with the agent's rights. The task must not see a file that its account may not read,
 * nor, in a directory that it names as an image, what belongs to the agent. */
static int check_image_file(const struct runtime_task *t, struct error *err)
{
    cleanup_free char *real = *t->start->image == '/' ? realpath(t->image_file, NULL) : NULL;
    const char *secret = real ? container_secret_in(t, real) : NULL;
    if (secret)
        return error_set(err, ERR_INVALID,
                         "environment.image: %s cannot be an image: it would show the task %s, which belongs to the "
                         "agent",
                         t->image_file, secret);
    if (*t->start->image != '/' || account_reaches(&t->account, t->image_file, R_OK))
        return 0;
    return error_set(err, ERR_INVALID,
                     "environment.image: the account %s (uid %u), as which the task runs, may not read %s on this "
                     "machine (%s)",
                     t->account.name, (unsigned)t->account.uid, t->image_file, t->config->agent_id);
}

static int apptainer_prepare(struct runtime_task *t, struct error *err)
{
    if (runtime_container_prepare(t, err) < 0 || check_image_file(t, err) < 0)
        return -1;
    struct container_order o = order_of(t);
    if (apptainer_check(&o, err) < 0)
        return -1;
    runtime_make_cgroup(t);
    return 0;
}

/* ---- starting ---------------------------------------------------------------------------------------------------- */

/* A shell that joins the task's control groups before it becomes the command: what the command starts is then limited
 * from its first process on. */
static char **in_control_groups(char *const *procs, char *const *words, struct arena *a)
{
    static const char join[] = "while [ \"$1\" != -- ]; do { echo $$ >\"$1\"; } 2>/dev/null; shift; done; shift; "
                               "exec \"$@\"";
    size_t procs_n = 0, words_n = 0, n = 0;
    while (procs[procs_n])
        procs_n++;
    while (words[words_n])
        words_n++;
    char **ret = arena_array(a, char *, procs_n + words_n + 6);
    ret[n++] = "/bin/sh";
    ret[n++] = "-c";
    ret[n++] = (char *)join;
    ret[n++] = "sh";
    for (size_t i = 0; i < procs_n; i++)
        ret[n++] = procs[i];
    ret[n++] = "--";
    memcpy(ret + n, words, words_n * sizeof(*ret));
    return ret;
}

/* Keeps the process id for an agent that comes after this one. */
static void note_command(const struct runtime_task *t)
{
    struct process p;
    char text[64];
    cleanup_error struct error err = ERROR_INIT;
    cleanup_free char *path = path_join(t->dir.supervisor, COMMAND_FILE);
    if (!process_find(t->command_pid, &p))
        return;
    int n = snprintf(text, sizeof(text), "%d %llu\n", (int)p.pid, p.start);
    if (file_write(path, text, (size_t)n, 0600, &err) < 0)
        log_warning("task.command_not_noted", "container=%s error=%s", t->container_id, log_quote(error_msg(&err)));
}

static pid_t noted_command(const struct runtime_task *t)
{
    struct process p;
    int pid = 0;
    unsigned long long start = 0;
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    cleanup_free char *path = path_join(t->dir.supervisor, COMMAND_FILE);
    if (t->command_pid)
        return t->command_pid;
    if (file_read(path, 64, &text, NULL) < 0 || sscanf(strbuf_str(&text), "%d %llu", &pid, &start) != 2)
        return 0;
    return process_find(pid, &p) && p.start == start ? p.pid : 0;
}

/* Reads what the command has printed. */
static void read_command_log(struct apptainer_ask *ask)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    cleanup_free char *path = path_join(ask->base.task->dir.supervisor, COMMAND_LOG);
    if (file_read(path, 64 * 1024, &text, NULL) < 0)
        return;
    for (const char *line = strbuf_str(&text); *line; line += strcspn(line, "\n"), line += *line == '\n')
        keep_cause(&ask->said, line, strcspn(line, "\n"));
}

/* The words of a start in another image, with the task's options: each of them may be what the machine cannot do. Our
 * own program alone is mounted, so that what the task has mounted is not touched. */
static char **probe_words(struct apptainer_ask *ask, const char *program, const char *image)
{
    static char *const argv[] = {CONTAINER_PROGRAM, "--environment", NULL};
    struct runtime_task *t = ask->base.task;
    struct container_order o = order_of(t);
    struct container_mount m = {.source = t->config->task_program, .target = CONTAINER_PROGRAM, .read_only = true};
    o.image = image;
    o.argv = argv;
    o.mount = &m;
    o.mount_n = 1;
    return apptainer_exec_words(program, &o, t->dir.path, &t->arena);
}

static void on_command_end(void *ctx, int status, const struct strbuf *output)
{
    struct apptainer_ask *ask = ctx;
    cleanup_error struct error err = ERROR_INIT;
    cleanup_strbuf struct strbuf cause = STRBUF_INIT;
    (void)output;
    ask->run = NULL;
    ask->base.task->command_pid = 0;
    read_command_log(ask);
    error_set(&err, ERR_PRECONDITION, "the task's container ended before its supervisor was there: %s",
              cause_of(ask, status, &cause));
    end_by_blame(ask, probe_words, &err);
}

static void on_ready(int fd, void *ctx)
{
    struct apptainer_ask *ask = ctx;
    cleanup_error struct error err = ERROR_INIT;
    char message[512];
    ssize_t n = read(fd, message, sizeof(message) - 1);
    if (n <= 0)
        return;
    message[n] = 0;
    if (message[0] == TASKSPEC_TOLD_FAILED)
        error_set(&err, ERR_PRECONDITION, "the task's supervisor could not start in its container: %s", message + 1);
    ask->base.task->executed = message[0] == TASKSPEC_TOLD_READY;
    program_run_leave(ask->run);
    ask->run = NULL;
    ask_end(ask, err.kind ? &err : NULL);
}

static void on_begin_start(void *ctx)
{
    struct apptainer_ask *ask = ctx;
    struct runtime_task *t = ask->base.task;
    cleanup_error struct error err = ERROR_INIT;
    struct container_order o = order_of(t);
    const char *mark = arena_printf(&t->arena, APPTAINER_MARK "=%s", t->dir.path);
    const char *program = runtime_find_command(t->config, &t->arena);
    char **words = apptainer_exec_words(program ? program : name_of(ask), &o, t->dir.path, &t->arena);
    struct program_order order = {.argv = *t->cgroup.procs ? in_control_groups(t->cgroup.procs, words, &t->arena)
                                                           : words,
                                  .env = environment_with(&mark, 1, &t->arena),
                                  .output_path = arena_printf(&t->arena, "%s/" COMMAND_LOG, t->dir.supervisor)};
    /* The pipe is opened for writing as well: then the first process finds a reader, and its end is no end of file. */
    ask->ready_fd = open(arena_printf(&t->arena, "%s/" TASKSPEC_PIPE, t->dir.supervisor),
                         O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (ask->ready_fd < 0 || run_command(ask, &order, on_line, on_command_end, &err) < 0) {
        if (!err.kind)
            error_errno(&err, "cannot open the pipe of the task's supervisor");
        ask_end(ask, &err);
        return;
    }
    ask->ready = loop_watch_readable(t->engines->command.loop, ask->ready_fd, on_ready, ask);
    t->command_pid = program_run_pid(ask->run);
    note_command(t);
}

static struct runtime_ask *ask_start(struct runtime_task *t, const struct runtime_ask_handler *h)
{
    return &ask_new(t, h, on_begin_start)->base;
}

/* ---- removing ---------------------------------------------------------------------------------------------------- */

static void on_gone(void *ctx)
{
    struct apptainer_ask *ask = ctx;
    ask->wait = NULL;
    ask_end(ask, NULL);
}

/* The container ends with its first process, and the command with the container. */
static void on_begin_removal(void *ctx)
{
    struct apptainer_ask *ask = ctx;
    struct runtime_task *t = ask->base.task;
    ask->wait = program_wait_start(t->engines->command.loop, noted_command(t), END_PATIENCE_US, on_gone, ask);
}

static struct runtime_ask *ask_removal(struct runtime_task *t, const struct runtime_ask_handler *h)
{
    return &ask_new(t, h, on_begin_removal)->base;
}

/* ---- what a killed agent has left -------------------------------------------------------------------------------- */

/* The id of the task below run_root that the process was started for; NULL if there is none. */
static const char *task_of_process(const char *pid, const char *run_root, struct arena *a)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    const char *path = arena_printf(a, "/proc/%s/environ", pid),
               *mark = arena_printf(a, APPTAINER_MARK "=%s/", run_root);
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

/* Removes what pulls of this agent have left that nobody waits for. A file of another agent may grow at this moment; it
 * is removed once nothing has been written to it for a day. */
static void remove_unfinished_pulls(const struct agent_config *c, bool (*is_known)(void *ctx, const char *container_id),
                                    void *ctx)
{
    cleanup_arena struct arena a = ARENA_INIT;
    const char *prefix = unfinished_prefix(c, &a);
    size_t begin = strlen(prefix), suffix = strlen(UNFINISHED_SUFFIX);
    DIR *d = opendir(c->images_dir);
    for (struct dirent *e; d && (e = readdir(d));) {
        size_t n = strlen(e->d_name);
        if (n <= suffix || strcmp(e->d_name + n - suffix, UNFINISHED_SUFFIX) != 0)
            continue;
        bool own = n > begin + suffix && strncmp(e->d_name, prefix, begin) == 0;
        if (own ? !is_known(ctx, arena_strndup(&a, e->d_name + begin, n - begin - suffix))
                : is_old(dirfd(d), e->d_name))
            unlinkat(dirfd(d), e->d_name, 0);
    }
    if (d)
        closedir(d);
}

void runtime_apptainer_end_leftovers(const struct agent_config *c,
                                     bool (*is_known)(void *ctx, const char *container_id), void *ctx)
{
    DIR *d = opendir("/proc");
    for (struct dirent *e; d && (e = readdir(d));) {
        cleanup_arena struct arena a = ARENA_INIT;
        const char *id = strspn(e->d_name, "0123456789") == strlen(e->d_name)
                             ? task_of_process(e->d_name, c->run_root, &a)
                             : NULL;
        if (!id || is_known(ctx, id))
            continue;
        log_info("agent.container_leftover", "container=%s engine=%s pid=%s action=kill", log_quote(id),
                 c->container_runtime, e->d_name);
        kill((pid_t)strtol(e->d_name, NULL, 10), SIGKILL);
    }
    if (d)
        closedir(d);
    remove_unfinished_pulls(c, is_known, ctx);
}

const struct runtime runtime_apptainer = {
    .name = "apptainer",
    .prepare = apptainer_prepare,
    .start = runtime_container_start,
    .adopt = runtime_adopt,
    .cleanup = runtime_cleanup,
    .ask_image = ask_image,
    .ask_start = ask_start,
    .ask_removal = ask_removal,
};
