/* The provider `local`: each of its machines is an agent, started as a process of the master's own machine. It takes
 * the place of a cloud, to try out and to test elastic pools. Its slots stand for no devices, unless
 * agent_config_file_contents says which.
 *
 *     <data_dir>-instances/<pool>/<id>/   agent.json, token, agent.log, and the agent's own data
 *
 * The tag of an instance is that directory. It stands in the agent's arguments (--data-dir), so that the system's list
 * of processes shows what runs, whoever has started it. A directory without a process is an instance that has stopped.
 * */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/hex.h"
#include "common/base/must.h"
#include "common/base/percent.h"
#include "common/json/json.h"
#include "common/system/files.h"
#include "common/system/process.h"
#include "common/system/random.h"
#include "master/pools/local_agent.h"
#include "master/pools/provider.h"

#define YOUNG_US 2000000

enum { AGENT_PATIENCE_MS = 5000, SUPERVISORS_PATIENCE_MS = 3000, LOG_TAIL = 4096, DETAIL_MAX = 300 };

struct known {
    char *id;
    struct process process;
};

struct provider {
    struct provider_setup setup;
    struct arena arena;
    const char *directory; /* the directory of the pool's instances */
    const char *program;
    struct known *known;
    size_t known_n;
    bool scanned; /* the table of processes has been read once; some processes may have no directory */
};

/* ---- directories ------------------------------------------------------------------------------------------------- */

static const char *root_of(const char *data_dir, struct arena *a)
{
    size_t n = strlen(data_dir);
    while (n > 1 && data_dir[n - 1] == '/')
        n--;
    return arena_printf(a, "%.*s-instances", (int)n, data_dir);
}

/* Returns the name of the pool's directory. Bytes that a file name should not have are written as %XX. */
static const char *directory_name(const char *pool, struct arena *a)
{
    cleanup_strbuf struct strbuf name = STRBUF_INIT;
    strbuf_add_percent(&name, pool, "-_");
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

static const char *agent_program(struct arena *a)
{
    cleanup_free char *path = path_beside_program("determined-agent");
    return arena_strdup(a, path);
}

static struct provider *open_local(const struct provider_setup *setup)
{
    struct provider *p = must_calloc(1, sizeof(*p));
    p->setup = *setup;
    struct json_object *program = json_member(setup->config, "agent_program");
    p->program = program ? arena_strdup(&p->arena, json_object_get_string(program)) : agent_program(&p->arena);
    p->directory = arena_printf(&p->arena, "%s/%s", root_of(setup->data_dir, &p->arena),
                                directory_name(setup->pool, &p->arena));
    return p;
}

static void close_local(struct provider *p)
{
    for (size_t i = 0; i < p->known_n; i++)
        free(p->known[i].id);
    free(p->known);
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
    bool complete; /* for every directory a process is known */
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

/* Returns the id of the instance whose agent the process is; NULL: it is not the agent of any instance in the
 * directory. */
static const char *id_of(const struct process *p, const char *directory)
{
    size_t n = strlen(directory);
    const char *own = process_option(p, "--data-dir");
    bool below = own && strncmp(own, directory, n) == 0 && own[n] == '/' && own[n + 1];
    return below && !strchr(own + n + 1, '/') ? own + n + 1 : NULL;
}

/* Returns the last line of an agent's log, which may tell why the agent has ended. */
static const char *last_log_line(const struct provider *p, const char *id, struct arena *a)
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

/* ---- known processes: so that the table of all is not read each time --------------------------------------------- */

static void remember_process(struct provider *p, const char *id, const struct process *process)
{
    struct known *all = must_reallocarray(p->known, p->known_n + 1, sizeof(*all));
    all[p->known_n].id = must_strdup(id);
    p->known = all;
    p->known[p->known_n++].process = *process;
}

static void forget_ended_processes(struct provider *p)
{
    for (size_t i = p->known_n; i-- > 0;) {
        struct known *k = &p->known[i];
        struct process now;
        if (process_alive(k->process.pid) && process_find(k->process.pid, &now) && now.start == k->process.start)
            continue;
        free(k->id);
        *k = p->known[--p->known_n];
    }
}

static const struct known *known_of(const struct provider *p, const char *id)
{
    for (size_t i = 0; i < p->known_n; i++)
        if (strcmp(p->known[i].id, id) == 0)
            return &p->known[i];
    return NULL;
}

static void set_running(struct core_instance *x, const struct process *process)
{
    x->state = INSTANCE_RUNNING;
    x->launch_us = process_start_us(process);
}

static int list_directory(const char *id, void *ctx)
{
    struct listing *l = ctx;
    const struct known *known = known_of(l->provider, id);
    struct core_instance *x = add_instance(l, id);
    x->state = INSTANCE_STOPPED;
    if (known)
        set_running(x, &known->process);
    l->complete = l->complete && known;
    return 0;
}

static void list_process(const struct process *process, void *ctx)
{
    struct listing *l = ctx;
    const char *id = id_of(process, l->provider->directory);
    if (!id)
        return;
    struct core_instance *x = find_instance(l, id);
    if (!x)
        x = add_instance(l, id);
    set_running(x, process);
    if (!known_of(l->provider, id))
        remember_process(l->provider, id, process);
}

/* Describes an instance for which no process was found. A process that has just been started has no arguments for a
 * moment, so it is not recognized as an agent. For this reason a young instance counts as running, not as stopped. */
static void describe_stopped(struct listing *l, struct core_instance *x)
{
    struct stat st = {0};
    if (stat(file_of(l->provider, x->id, "agent.json", l->arena), &st) == 0 ||
        stat(file_of(l->provider, x->id, "", l->arena), &st) == 0)
        x->launch_us = st.st_mtim.tv_sec * 1000000ll + st.st_mtim.tv_nsec / 1000;
    if (clock_now_us() - x->launch_us < YOUNG_US)
        x->state = INSTANCE_RUNNING;
    else
        x->detail = last_log_line(l->provider, x->id, l->arena);
}

static int list_local(struct provider *p, struct arena *a, struct core_instance **ret, size_t *ret_n, struct error *err)
{
    struct listing l = {.provider = p, .arena = a, .complete = p->scanned};
    forget_ended_processes(p);
    if (for_each_entry(p->directory, list_directory, &l, err) < 0)
        return -1;
    if (!l.complete)
        process_each(list_process, &l);
    p->scanned = true;
    for (size_t i = 0; i < l.n; i++)
        if (l.instance[i].state == INSTANCE_STOPPED)
            describe_stopped(&l, &l.instance[i]);
    *ret = l.instance;
    *ret_n = l.n;
    return 0;
}

/* ---- launch ------------------------------------------------------------------------------------------------------ */

static int new_id(struct arena *a, const char **ret, struct error *err)
{
    unsigned char b[6];
    if (random_bytes(b, sizeof(b), err) < 0)
        return -1;
    *ret = arena_printf(a, "local-%s", hex_in_arena(b, sizeof(b), a));
    return 0;
}

static int launch_one(struct provider *p, struct error *err)
{
    cleanup_arena struct arena a = ARENA_INIT;
    const char *id = NULL;
    struct process started;
    pid_t pid;
    if (new_id(&a, &id, err) < 0)
        return -1;
    const char *directory = file_of(p, id, "", &a);
    if (local_agent_start(&p->setup, p->program, id, directory, &pid, err) < 0) {
        tree_remove(directory, NULL);
        return -1;
    }
    if (process_find(pid, &started))
        remember_process(p, id, &started);
    return 0;
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

/* Ends the agent first, and then its supervisors. In the other order the agent would report that its tasks have ended
 * by themselves. */
static int terminate_local(struct provider *p, const char *id, struct error *err)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct machine m = {p->directory, id, file_of(p, id, "", &a)};
    if (!process_end(is_agent, &m, AGENT_PATIENCE_MS, p->setup.stopping) ||
        !process_end(is_supervisor, &m, SUPERVISORS_PATIENCE_MS, p->setup.stopping))
        return error_set(err, ERR_UNAVAILABLE, "processes of %s go on", id);
    forget_ended_processes(p);
    if (tree_remove(m.directory, err) < 0)
        return -1;
    rmdir(p->directory); /* succeeds only if this was the pool's last instance */
    return 0;
}

const struct provider_type provider_local = {
    .name = "local",
    .list_period_us = 1000000,
    .slots_per_instance = local_agent_slots,
    .open = open_local,
    .close = close_local,
    .list = list_local,
    .launch = launch_local,
    .terminate = terminate_local,
    .pools = pools_local,
};
