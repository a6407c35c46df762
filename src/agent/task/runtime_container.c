/* A task in a container of Docker or Podman. The engine makes the container and starts determined-task in it, as its
 * first process, from a mount: the image needs nothing of ours. From there on the engine is not asked again until the
 * container is removed: output, signals and exit go through the supervisor's socket, which lies in a mount, so an
 * engine that is restarted or away disturbs none of them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/engine/container.h"
#include "agent/task/runtime.h"
#include "agent/task/runtime_container.h"
#include "common/base/cleanup.h"
#include "common/base/must.h"
#include "common/base/strbuf.h"
#include "common/system/log.h"
#include "common/task/taskspec.h"

/* ---- finding an engine and the image ----------------------------------------------------------------------------- */

struct container_ask {
    struct runtime_ask base;
    size_t engine_i; /* the engine that is greeted */
    struct engine_greeting *greeting;
    struct image_fetch *fetch;
    struct container_launch *launch;
    struct engine_call *call;
    struct strbuf silence; /* why the engines before this one were not taken */
};

static void ask_cancel(struct runtime_ask *base);

static struct container_ask *ask_new(struct runtime_task *t, const struct runtime_ask_handler *h)
{
    struct container_ask *ask = must_calloc(1, sizeof(*ask));
    *ask = (struct container_ask){.base = {.task = t, .handler = *h, .cancel = ask_cancel}};
    return ask;
}

static void ask_free(struct container_ask *ask)
{
    strbuf_release(&ask->silence);
    free(ask);
}

static void ask_end(struct container_ask *ask, const struct error *err)
{
    struct runtime_ask_handler h = ask->base.handler;
    ask->greeting = NULL;
    ask_free(ask);
    h.on_done(h.ctx, err);
}

static void ask_cancel(struct runtime_ask *base)
{
    struct container_ask *ask = (struct container_ask *)base;
    engine_greeting_cancel(ask->greeting);
    image_fetch_cancel(ask->fetch);
    container_launch_cancel(ask->launch);
    engine_call_cancel(ask->call);
    ask_free(ask);
}

static void warn_of_other_processor(struct container_ask *ask, const struct image_facts *facts)
{
    const struct runtime_task *t = ask->base.task;
    if (!*facts->arch || !*t->engine->arch || strcmp(facts->arch, t->engine->arch) == 0)
        return;
    engine_tell(&ask->base.handler.lines, "WARNING: the image %s is built for %s, and this machine is %s",
                t->start->image, facts->arch, t->engine->arch);
}

static bool has_network_of_machine(const struct runtime_task *t)
{
    const struct wire_link_task_container *c = t->start->container;
    return !c || !c->network_mode || !*c->network_mode || strcmp(c->network_mode, "host") == 0;
}

/* The agent connects to ports of the machine (agent/streams.h), and finds nothing there if the network is another. */
static void warn_of_other_network(struct container_ask *ask)
{
    const struct runtime_task *t = ask->base.task;
    if (has_network_of_machine(t) || t->start->proxy_ports_n == 0)
        return;
    engine_tell(
        &ask->base.handler.lines,
        "WARNING: the container has the network \"%s\" (task_container_defaults.network_mode) and not that of the "
        "machine, so the task's ports cannot be reached through the master",
        t->start->container->network_mode);
}

static void on_image(void *ctx, const struct image_facts *facts, const struct error *err)
{
    struct container_ask *ask = ctx;
    ask->fetch = NULL;
    if (facts) {
        warn_of_other_processor(ask, facts);
        warn_of_other_network(ask);
        ask->base.task->image = arena_dup(&ask->base.task->arena, facts, sizeof(*facts));
    }
    ask_end(ask, err);
}

static void fetch_image(struct container_ask *ask)
{
    struct runtime_task *t = ask->base.task;
    const struct wire_link_task_container *c = t->start->container;
    cleanup_error struct error err = ERROR_INIT;
    if (!image_name_is_good(t->start->image)) {
        error_set(&err, ERR_INVALID, "environment.image: \"%.200s\" is no name of an image", t->start->image);
        ask_end(ask, &err);
        return;
    }
    struct image_order o = {.name = t->start->image,
                            .force_pull = c && c->force_pull,
                            .registry_auth = c && c->registry_auth ? c->registry_auth : "",
                            .arena = &t->arena};
    struct image_handler h = {.lines = ask->base.handler.lines, .on_done = on_image, .ctx = ask};
    ask->fetch = image_fetch_start(t->engine, &o, &h);
}

static void greet_next(struct container_ask *ask);

static void on_greeted(void *ctx, const struct error *err)
{
    struct container_ask *ask = ctx;
    struct runtime_task *t = ask->base.task;
    ask->greeting = NULL;
    if (!err) {
        t->engine = &t->engines->engine[ask->engine_i];
        fetch_image(ask);
        return;
    }
    strbuf_addf(&ask->silence, "%s%s", ask->silence.n ? "; " : "", error_msg(err));
    ask->engine_i++;
    greet_next(ask);
}

static void greet_next(struct container_ask *ask)
{
    struct runtime_task *t = ask->base.task;
    cleanup_error struct error err = ERROR_INIT;
    if (ask->engine_i < t->engines->n) {
        ask->greeting = engine_greet(&t->engines->engine[ask->engine_i], on_greeted, ask);
        return;
    }
    error_set(&err, ERR_UNAVAILABLE, "no container engine answers: %s", strbuf_str(&ask->silence));
    ask_end(ask, &err);
}

static struct runtime_ask *ask_image(struct runtime_task *t, const struct runtime_ask_handler *h)
{
    struct container_ask *ask = ask_new(t, h);
    t->engine = NULL;
    greet_next(ask);
    return &ask->base;
}

/* ---- preparing --------------------------------------------------------------------------------------------------- */

static int refuse_environment(const struct wire_link_start_task *s, struct error *err)
{
    if (s->python && s->python->requirements && *s->python->requirements)
        return error_set(err, ERR_INVALID,
                         "environment.python: no packages are installed for a task that runs in a container; put them "
                         "into the image %s, or run the task on an agent with container_runtime: process",
                         s->image);
    return 0;
}

/* The order's interpreter is one of the image. */
static void name_interpreter(struct runtime_task *t)
{
    const struct wire_link_start_task *s = t->start;
    if (s->python && s->python->interpreter && *s->python->interpreter &&
        strcmp(taskenv_get(&t->env, "DET_PYTHON_EXECUTABLE"), "python3") == 0)
        taskenv_set(&t->env, "DET_PYTHON_EXECUTABLE", s->python->interpreter);
}

/* What the image has as its entrypoint runs before the task's command, as with other platforms. */
static void put_entrypoint_first(struct runtime_task *t)
{
    size_t before = 0, n = 0;
    while (t->image->entrypoint[before])
        before++;
    while (t->argv[n])
        n++;
    char **argv = arena_array(&t->arena, char *, before + n + 1);
    memcpy(argv, t->image->entrypoint, before * sizeof(*argv));
    memcpy(argv + before, t->argv, n * sizeof(*argv));
    t->argv = argv;
}

int runtime_container_prepare(struct runtime_task *t, struct error *err)
{
    taskdir_set_in_image(&t->dir, TASKENV_RUN_DIR, &t->arena);
    if (refuse_environment(t->start, err) < 0 || runtime_prepare_files(t, err) < 0)
        return -1;
    name_interpreter(t);
    put_entrypoint_first(t);
    return container_check_order(t, err);
}

/* ---- starting ---------------------------------------------------------------------------------------------------- */

static const char *passwd_line(const struct runtime_task *t)
{
    struct arena *a = (struct arena *)&t->arena;
    const char *home = taskenv_get(&t->env, "HOME");
    return arena_printf(a, "%s:x:%u:%u::%s:/bin/sh", t->account.name, (unsigned)t->account.uid,
                        (unsigned)t->account.gid, home ? home : "/");
}

int runtime_container_start(struct runtime_task *t, struct error *err)
{
    struct taskspec spec;
    const char *pipe = arena_printf(&t->arena, "%s/" TASKSPEC_PIPE, t->dir.supervisor);
    if (taskdir_give(&t->dir, err) < 0 || runtime_fill_spec(t, &spec, err) < 0)
        return -1;
    spec.image = t->start->image;
    spec.engine = t->engine->name;
    spec.place = t->place;
    spec.place_n = t->place_n;
    spec.passwd_line = t->account.change ? passwd_line(t) : "";
    if (mkfifo(pipe, 0600) < 0)
        return error_errno(err, "cannot make %s", pipe);
    return runtime_write_spec(t, &spec, err);
}

static void on_started(void *ctx, const char *id, bool executed, const struct error *err)
{
    struct container_ask *ask = ctx;
    ask->launch = NULL;
    ask->base.task->runtime_id = arena_strdup(&ask->base.task->arena, id);
    ask->base.task->executed = executed;
    ask_end(ask, err);
}

/* The user of the container's first process. It becomes the task's user itself, so it begins as root where the agent is
 * root. An agent that is not root gives nobody more rights than it has; an engine without root makes the user that it
 * runs as root of its containers. */
static const char *container_user(const struct runtime_task *t)
{
    struct arena *a = (struct arena *)&t->arena;
    return geteuid() == 0 || t->engine->rootless ? "0:0"
                                                 : arena_printf(a, "%u:%u", (unsigned)geteuid(), (unsigned)getegid());
}

const char *container_name(const char *container_id, struct arena *a)
{
    return arena_printf(a, "determined-%s", container_id);
}

static void list_labels(struct runtime_task *t, struct container_order *o)
{
    cleanup_strbuf struct strbuf devices = STRBUF_INIT;
    const struct wire_link_start_task *s = t->start;
    for (size_t i = 0; i < s->device_ids_n; i++)
        strbuf_addf(&devices, "%s%d", i ? "," : "", s->device_ids[i]);
    const struct container_label label[] = {
        {CONTAINER_LABEL "type", "task-container"},
        {CONTAINER_LABEL "version", "0"},
        {CONTAINER_LABEL "id", t->container_id},
        {CONTAINER_LABEL "devices", arena_strdup(&t->arena, strbuf_str(&devices))},
        {CONTAINER_LABEL "description", s->description ? s->description : ""},
        {CONTAINER_LABEL "agent", t->config->agent_id},
        {CONTAINER_LABEL "cluster", t->cluster_id},
        {CONTAINER_LABEL "master", t->master_id},
        {CONTAINER_LABEL "run_root", t->config->run_root},
    };
    o->label = arena_dup(&t->arena, label, sizeof(label));
    o->label_n = sizeof(label) / sizeof(label[0]);
}

void container_list_gpus(struct runtime_task *t, struct container_order *o)
{
    const struct wire_link_start_task *s = t->start;
    if (!t->slots->maker)
        return;
    struct slots_share *share;
    size_t n = slots_shares(t->slots, s->device_ids, s->device_ids_n, &t->arena, &share);
    const char **uuid = arena_array(&t->arena, const char *, n + 1);
    while (o->gpu_n < n) {
        uuid[o->gpu_n] = share[o->gpu_n].gpu->uuid;
        o->gpu_n++;
    }
    o->gpu = uuid;
    o->gpu_type = t->slots->maker->type;
}

static bool mounts_at(const struct container_mount *mount, size_t n, const char *target)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(mount[i].target, target) == 0)
            return true;
    return false;
}

void container_list_mounts(struct runtime_task *t, struct container_order *o)
{
    const struct wire_link_start_task *s = t->start;
    struct container_mount *m = arena_array(&t->arena, struct container_mount, s->bind_mounts_n + 5);
    size_t n = 0;
    for (size_t i = 0; i < s->bind_mounts_n; i++)
        m[n++] = (struct container_mount){.source = s->bind_mounts[i].host_path,
                                          .target = container_mount_target(t, &s->bind_mounts[i]),
                                          .propagation = s->bind_mounts[i].propagation,
                                          .read_only = s->bind_mounts[i].read_only};
    if (!mounts_at(m, n, "/tmp"))
        m[n++] = (struct container_mount){.source = t->dir.tmp, .target = "/tmp"};
    m[n++] = (struct container_mount){.source = t->dir.run, .target = TASKENV_RUN_DIR};
    if (!t->engine->by_command) /* there the supervisor is outside of the container */
        m[n++] = (struct container_mount){.source = t->dir.supervisor, .target = CONTAINER_SUPERVISOR};
    m[n++] = (struct container_mount){.source = t->config->task_program,
                                      .target = CONTAINER_PROGRAM,
                                      .read_only = true};
    if (*t->config->python_path)
        m[n++] = (struct container_mount){.source = t->config->python_path,
                                          .target = RUNTIME_LIBRARY_DIR,
                                          .read_only = true};
    o->mount = m;
    o->mount_n = n;
}

static struct runtime_ask *ask_start(struct runtime_task *t, const struct runtime_ask_handler *h)
{
    static char *const argv[] = {CONTAINER_PROGRAM, "--container", CONTAINER_SUPERVISOR, NULL};
    const struct wire_link_task_container none = {0}, *c = t->start->container ? t->start->container : &none;
    const struct wire_link_task_limits *l = t->start->limits;
    struct container_ask *ask = ask_new(t, h);
    struct container_order o = {.name = container_name(t->container_id, &t->arena),
                                .image = t->start->image,
                                .argv = argv,
                                .user = container_user(t),
                                .network_mode = c->network_mode && *c->network_mode ? c->network_mode : "host",
                                .device = c->devices,
                                .device_n = c->devices_n,
                                .add_capability = (const char *const *)c->add_capabilities,
                                .add_capability_n = c->add_capabilities_n,
                                .port = c->ports,
                                .port_n = c->ports_n,
                                .memory_bytes = t->limits.memory_bytes,
                                .shm_bytes = runtime_shm_bytes(t),
                                .processes = t->limits.processes,
                                .cpus = l ? l->cpus : 0,
                                .cpuset = slots_cores(t->slots, t->start->device_ids, t->start->device_ids_n,
                                                      &t->arena)};
    list_labels(t, &o);
    container_list_gpus(t, &o);
    container_list_mounts(t, &o);
    const char *pipe = arena_printf(&t->arena, "%s/" TASKSPEC_PIPE, t->dir.supervisor);
    ask->launch = container_launch_start(t->engine, &o, pipe, on_started, ask);
    return &ask->base;
}

/* ---- removing ---------------------------------------------------------------------------------------------------- */

static void on_removed(void *ctx, struct json_object *body, const struct error *err)
{
    struct container_ask *ask = ctx;
    (void)body;
    ask->call = NULL;
    ask_end(ask, err && err->kind != ERR_NOT_FOUND ? err : NULL);
}

static struct runtime_ask *ask_removal(struct runtime_task *t, const struct runtime_ask_handler *h)
{
    struct container_ask *ask = ask_new(t, h);
    ask->call = container_remove(t->engine, container_name(t->container_id, &t->arena), on_removed, ask);
    return &ask->base;
}

const struct runtime runtime_container = {
    .name = "container",
    .prepare = runtime_container_prepare,
    .start = runtime_container_start,
    .adopt = runtime_adopt,
    .cleanup = runtime_remove_directory,
    .ask_image = ask_image,
    .ask_start = ask_start,
    .ask_removal = ask_removal,
};
