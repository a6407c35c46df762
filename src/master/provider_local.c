/* Machines that are none: each instance is an agent, started as a process of the master's own machine. A stand-in for a
 * cloud, to try out and to test elastic pools; its slots stand for nothing unless agent_config_file_contents says what
 * they are.
 *
 *     <data_dir>-instances/<pool>/<id>/   agent.json, token, agent.log, and the agent's own data
 *
 * The tag of an instance is that directory: it stands in the agent's arguments (--data-dir), so the table of processes
 * tells what runs, whoever has started it. A directory without a process is an instance that has stopped. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/files.h"
#include "common/process.h"
#include "master/provider.h"

#define YOUNG_US 2000000

enum { AGENT_PATIENCE_MS = 5000, SUPERVISORS_PATIENCE_MS = 3000, LOG_TAIL = 4096, DETAIL_MAX = 300 };

struct provider {
    struct provider_setup setup;
    struct arena arena;
    const char *directory; /* of the pool's instances */
    const char *program;
    pid_t *child; /* launched in this life, not yet known to have ended */
    size_t child_n;
};

static struct json_object *member(struct json_object *o, const char *name)
{
    struct json_object *v = NULL;
    return o && json_object_object_get_ex(o, name, &v) ? v : NULL;
}

static int slots_per_instance(struct json_object *config)
{
    return json_object_get_int(member(config, "instance_slots"));
}

/* ---- where ------------------------------------------------------------------------------------------------------- */

static const char *root_of(const char *data_dir, struct arena *a)
{
    size_t n = strlen(data_dir);
    while (n > 1 && data_dir[n - 1] == '/')
        n--;
    return arena_printf(a, "%.*s-instances", (int)n, data_dir);
}

static bool is_plain(char c)
{
    return (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z') || c == '-' || c == '_';
}

/* A pool may have any name, a directory may not. */
static const char *directory_name(const char *pool, struct arena *a)
{
    cleanup_strbuf struct strbuf name = STRBUF_INIT;
    for (const char *p = pool; *p; p++) {
        if (is_plain(*p))
            strbuf_addc(&name, *p);
        else
            strbuf_addf(&name, "%%%02X", (unsigned char)*p);
    }
    return arena_strdup(a, strbuf_str(&name));
}

static const char *pool_name(const char *directory, struct arena *a)
{
    char *name = arena_strdup(a, directory), *to = name;
    unsigned byte;
    for (const char *p = directory; *p; p++) {
        if (*p == '%' && sscanf(p + 1, "%2X", &byte) == 1) {
            *to++ = (char)byte;
            p += 2;
        } else {
            *to++ = *p;
        }
    }
    *to = '\0';
    return name;
}

static const char *file_of(const struct provider *p, const char *id, const char *name, struct arena *a)
{
    return arena_printf(a, "%s/%s%s%s", p->directory, id, *name ? "/" : "", name);
}

/* Beside this program, as in the build directory and where it is installed. */
static const char *agent_program(struct arena *a)
{
    char exe[4096];
    ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
    exe[n > 0 ? n : 0] = '\0';
    char *slash = strrchr(exe, '/');
    return arena_printf(a, "%.*s/determined-agent", slash ? (int)(slash - exe) : 0, exe);
}

static struct provider *open_local(const struct provider_setup *setup)
{
    struct provider *p = calloc(1, sizeof(*p));
    if (!p)
        abort();
    p->setup = *setup;
    struct json_object *program = member(setup->config, "agent_program");
    p->program = program ? arena_strdup(&p->arena, json_object_get_string(program)) : agent_program(&p->arena);
    p->directory = arena_printf(&p->arena, "%s/%s", root_of(setup->data_dir, &p->arena),
                                directory_name(setup->pool, &p->arena));
    return p;
}

static void close_local(struct provider *p)
{
    free(p->child);
    arena_release(&p->arena);
    free(p);
}

static int for_each_entry(const char *directory, int (*fn)(const char *name, void *ctx), void *ctx, struct error *err)
{
    DIR *d = opendir(directory);
    int rc = 0;
    if (!d)
        return errno == ENOENT ? 0 : error_errno(err, "reading %s", directory);
    for (struct dirent *e; rc == 0 && (e = readdir(d));)
        if (e->d_name[0] != '.')
            rc = fn(e->d_name, ctx);
    closedir(d);
    return rc;
}

struct pools {
    struct arena *arena;
    const char **name;
    size_t n;
};

static int add_pool(const char *name, void *ctx)
{
    struct pools *s = ctx;
    const char **all = arena_array(s->arena, const char *, s->n + 1);
    if (s->n)
        memcpy(all, s->name, s->n * sizeof(*all));
    all[s->n++] = pool_name(name, s->arena);
    s->name = all;
    return 0;
}

static int pools_local(const char *data_dir, struct arena *a, const char ***ret, size_t *ret_n, struct error *err)
{
    struct pools s = {.arena = a};
    if (for_each_entry(root_of(data_dir, a), add_pool, &s, err) < 0)
        return -1;
    *ret = s.name;
    *ret_n = s.n;
    return 0;
}

/* ---- list -------------------------------------------------------------------------------------------------------- */

struct listing {
    struct provider *provider;
    struct arena *arena;
    struct core_instance *instance;
    size_t n;
};

static struct core_instance *find_instance(const struct listing *l, const char *id)
{
    for (size_t i = 0; i < l->n; i++)
        if (strcmp(l->instance[i].id, id) == 0)
            return &l->instance[i];
    return NULL;
}

static struct core_instance *add_instance(struct listing *l, const char *id)
{
    struct core_instance *all = arena_array(l->arena, struct core_instance, l->n + 1);
    if (l->n)
        memcpy(all, l->instance, l->n * sizeof(*all));
    l->instance = all;
    all[l->n] = (struct core_instance){.id = arena_strdup(l->arena, id)};
    return &all[l->n++];
}

/* The id of the instance whose agent a process is; NULL: it is none of the directory. */
static const char *id_of(const struct process *p, const char *directory)
{
    size_t n = strlen(directory);
    for (const char *arg = p->args, *next; arg && (next = process_next_arg(p, arg)); arg = next)
        if (strcmp(arg, "--data-dir") == 0 && strncmp(next, directory, n) == 0 && next[n] == '/' && next[n + 1] &&
            !strchr(next + n + 1, '/'))
            return next + n + 1;
    return NULL;
}

static void list_process(const struct process *p, void *ctx)
{
    struct listing *l = ctx;
    const char *id = id_of(p, l->provider->directory);
    struct core_instance *known = id ? find_instance(l, id) : NULL;
    if (!id)
        return;
    if (!known)
        known = add_instance(l, id);
    known->state = INSTANCE_RUNNING;
    known->launch_us = process_start_us(p);
}

/* The last line of an agent's log, for whoever wonders why it has ended. */
static const char *last_words(const struct provider *p, const char *id, struct arena *a)
{
    char text[LOG_TAIL];
    cleanup_close int fd = open(file_of(p, id, "agent.log", a), O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    off_t end = lseek(fd, 0, SEEK_END);
    ssize_t n = pread(fd, text, sizeof(text) - 1, end > LOG_TAIL - 1 ? end - (LOG_TAIL - 1) : 0);
    while (n > 0 && text[n - 1] == '\n')
        n--;
    if (n <= 0)
        return NULL;
    text[n] = '\0';
    const char *newline = strrchr(text, '\n');
    return arena_printf(a, "%.*s", DETAIL_MAX, newline ? newline + 1 : text);
}

/* A process that has just been started has no arguments for a moment, which makes it no process of ours: what is as young
 * as that is not called stopped. */
static int list_directory(const char *id, void *ctx)
{
    struct listing *l = ctx;
    struct stat st = {0};
    if (find_instance(l, id) || (stat(file_of(l->provider, id, "agent.json", l->arena), &st) < 0 &&
                                 stat(file_of(l->provider, id, "", l->arena), &st) < 0))
        return 0;
    struct core_instance *x = add_instance(l, id);
    x->launch_us = st.st_mtim.tv_sec * 1000000ll + st.st_mtim.tv_nsec / 1000;
    x->state = clock_now_us() - x->launch_us < YOUNG_US ? INSTANCE_RUNNING : INSTANCE_STOPPED;
    if (x->state == INSTANCE_STOPPED)
        x->detail = last_words(l->provider, id, l->arena);
    return 0;
}

static void reap(struct provider *p)
{
    for (size_t i = p->child_n; i-- > 0;)
        if (waitpid(p->child[i], NULL, WNOHANG) != 0)
            p->child[i] = p->child[--p->child_n];
}

static int list_local(struct provider *p, struct arena *a, struct core_instance **ret, size_t *ret_n, struct error *err)
{
    struct listing l = {.provider = p, .arena = a};
    reap(p);
    process_each(list_process, &l);
    if (for_each_entry(p->directory, list_directory, &l, err) < 0)
        return -1;
    *ret = l.instance;
    *ret_n = l.n;
    return 0;
}

/* ---- launch ------------------------------------------------------------------------------------------------------ */

static void set_text(struct json_object *o, const char *key, const char *value)
{
    json_object_object_add(o, key, json_object_new_string(value));
}

static struct json_object *part_of(struct json_object *o, const char *name)
{
    struct json_object *part = member(o, name);
    if (!json_object_is_type(part, json_type_object)) {
        part = json_object_new_object();
        json_object_object_add(o, name, part);
    }
    return part;
}

static void add_tls(struct json_object *c, const struct provider_setup *s)
{
    struct json_object *tls = part_of(part_of(c, "security"), "tls"), *name = member(s->config, "master_cert_name");
    json_object_object_add(tls, "enabled", json_object_new_boolean(true));
    if (!member(tls, "master_cert") && !json_object_get_boolean(member(tls, "skip_verify")) && *s->master_cert)
        set_text(tls, "master_cert", s->master_cert);
    if (name && *json_object_get_string(name))
        set_text(tls, "master_cert_name", json_object_get_string(name));
}

/* What the administrator gives the agents, and over it what makes them ours. */
static struct json_object *agent_config(const struct provider *p, const char *id, const char *token_file)
{
    const struct provider_setup *s = &p->setup;
    struct json_object *given = member(s->config, "agent_config_file_contents"), *c = NULL;
    if (!given || json_object_deep_copy(given, &c, NULL) < 0)
        c = json_object_new_object();
    set_text(c, "master_host", s->master_host);
    json_object_object_add(c, "master_port", json_object_new_int(s->master_port));
    set_text(c, "agent_id", id);
    set_text(c, "resource_pool", s->pool);
    set_text(c, "token_file", token_file);
    int slots = slots_per_instance(s->config);
    if (!member(c, "artificial_slots") && !member(c, "slot_type") && slots > 0)
        json_object_object_add(c, "artificial_slots", json_object_new_int(slots));
    else if (!member(c, "artificial_slots") && !member(c, "slot_type"))
        set_text(c, "slot_type", "none");
    static const char *const same[] = {"agent_reconnect_attempts", "agent_reconnect_backoff"};
    for (size_t i = 0; i < 2; i++)
        if (!member(c, same[i]))
            json_object_object_add(c, same[i], json_object_get(member(s->config, same[i])));
    if (s->master_tls)
        add_tls(c, s);
    return c;
}

static int write_files(const struct provider *p, const char *id, struct arena *a, struct error *err)
{
    const char *token_file = file_of(p, id, "token", a);
    cleanup_json struct json_object *config = agent_config(p, id, token_file);
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    json_print(config, &text);
    if (file_write(token_file, p->setup.agent_token, strlen(p->setup.agent_token), 0600, err) < 0)
        return -1;
    return file_write(file_of(p, id, "agent.json", a), text.s, text.n, 0600, err);
}

/* The master's own settings, and its secrets, are not the agent's. */
static char **environment(struct arena *a)
{
    size_t n = 0, kept = 0;
    while (environ[n])
        n++;
    char **env = arena_array(a, char *, n + 1);
    for (size_t i = 0; i < n; i++)
        if (strncmp(environ[i], "DET_", 4) != 0)
            env[kept++] = environ[i];
    return env;
}

/* A session of its own, so that what ends the master ends no agent; with no signals blocked or ignored. */
static int spawn(struct provider *p, char *const argv[], const char *log, struct arena *a, struct error *err)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    sigset_t none, all;
    pid_t pid;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, log, O_WRONLY | O_CREAT | O_APPEND, 0600);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    posix_spawnattr_init(&attr);
    posix_spawnattr_setsigmask(&attr, &none);
    posix_spawnattr_setsigdefault(&attr, &all);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    int rc = posix_spawn(&pid, argv[0], &actions, &attr, argv, environment(a));
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&actions);
    if (rc != 0)
        return error_set(err, ERR_PRECONDITION, "cannot run %s: %s", argv[0], strerror(rc));
    pid_t *children = realloc(p->child, (p->child_n + 1) * sizeof(*children));
    if (!children)
        abort();
    p->child = children;
    p->child[p->child_n++] = pid;
    return 0;
}

static int new_id(struct arena *a, const char **ret, struct error *err)
{
    unsigned char b[6];
    if (getrandom(b, sizeof(b), 0) != (ssize_t)sizeof(b))
        return error_errno(err, "the system gives no random bytes");
    *ret = arena_printf(a, "local-%02x%02x%02x%02x%02x%02x", b[0], b[1], b[2], b[3], b[4], b[5]);
    return 0;
}

static int launch_one(struct provider *p, struct error *err)
{
    cleanup_arena struct arena a = ARENA_INIT;
    const char *id = NULL;
    if (new_id(&a, &id, err) < 0)
        return -1;
    char *directory = (char *)file_of(p, id, "", &a);
    char *const argv[] = {(char *)p->program, "run", "--config-file", (char *)file_of(p, id, "agent.json", &a),
                          "--data-dir", directory, NULL};
    /* 0711: tasks of other users find their own directories below */
    if (dir_make(directory, 0711, err) == 0 && write_files(p, id, &a, err) == 0 &&
        spawn(p, argv, file_of(p, id, "agent.log", &a), &a, err) == 0)
        return 0;
    tree_remove(directory, NULL);
    return -1;
}

static int launch_local(struct provider *p, int n, struct error *err)
{
    for (int i = 0; i < n; i++)
        if (launch_one(p, err) < 0)
            return -1;
    return 0;
}

/* ---- terminate --------------------------------------------------------------------------------------------------- */

struct machine {
    const char *pool_directory, *id, *directory;
};

static bool is_agent(const struct process *p, void *ctx)
{
    const struct machine *m = ctx;
    const char *id = id_of(p, m->pool_directory);
    return id && strcmp(id, m->id) == 0;
}

static bool is_supervisor(const struct process *p, void *ctx)
{
    return process_supervises_below(p, ((const struct machine *)ctx)->directory);
}

/* The agent first: it would take an end of its tasks for theirs. */
static int terminate_local(struct provider *p, const char *id, struct error *err)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct machine m = {p->directory, id, file_of(p, id, "", &a)};
    if (!process_end(is_agent, &m, AGENT_PATIENCE_MS, p->setup.stopping) ||
        !process_end(is_supervisor, &m, SUPERVISORS_PATIENCE_MS, p->setup.stopping))
        return error_set(err, ERR_UNAVAILABLE, "processes of %s go on", id);
    reap(p);
    if (tree_remove(m.directory, err) < 0)
        return -1;
    rmdir(p->directory); /* when it was the last one */
    return 0;
}

const struct provider_type provider_local = {
    .name = "local",
    .list_period_us = 1000000,
    .slots_per_instance = slots_per_instance,
    .open = open_local,
    .close = close_local,
    .list = list_local,
    .launch = launch_local,
    .terminate = terminate_local,
    .pools = pools_local,
};
