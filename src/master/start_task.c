/* A start effect of the core becomes a StartTask message: the writer stores the task's sessions and, with the
 * configuration and the owner's account at hand, makes the message; after the commit it goes to the agent.
 * The master's part of the environment (docs/spec/task-environment.md#variables-from-the-master) is made here; the
 * agent adds its own. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "api/checkpoints/task_account.h"
#include "api/pipeline/identity.h"
#include "common/base/clock.h"
#include "common/base/must.h"
#include "common/config/schema.h"
#include "common/json/json.h"
#include "common/system/log.h"
#include "core/config/taskconf.h"
#include "master/commands/tls_files.h"
#include "master/master.h"
#include "master/programs/task_program.h"
#include "master/removal/collection_tasks.h"
#include "master/start_configs.h"
#include "master/start_container.h"
#include "store/accounts/workspaces.h"
#include "store/experiments/experiments.h"
#include "store/functions.h"

#define SHARED_FS_DIR "/determined_shared_fs"
#define CERT_FILE "/run/determined/etc/ssl/master.crt"
/* The hook of the cluster. The agent runs it before the experiment's own hook. */
#define HOOK_FILE "/run/determined/dynamic-tcd-startup-hook.sh"

enum {
    ENV_MAX = 4096, /* variables of one task, including those that the user sets */
    /* Bytes of one StartTask message; an agent accepts frames of 64 MiB. The part that comes from an experiment is
     * limited when its configuration is made (core/config/expconf_limits.c). The cluster's own hook and variables are
     * added to it. */
    START_MESSAGE_MAX = 32 * 1024 * 1024,
};

struct start {
    struct master *m;
    struct arena arena;
    const struct core_start *s; /* one of the step's effects */
    struct token session, user;
    int64_t session_id, user_session_id;
    enum access_scope user_scope; /* what DET_USER_TOKEN may do */
    const char *cert_pem;         /* NULL: the master has no TLS */
    /* the kind of the device of the task's first slot, which decides the image and the variables */
    const char *device_kind;
    struct strbuf message;
    struct error err; /* why the message could not be made */
    bool too_large;   /* the message is too large, and would be too large at the next attempt as well */
};

/* ---- environment ------------------------------------------------------------------------------------------------- */

struct env {
    struct arena *arena;
    const char **item;
    size_t n;
};

static void env_add(struct env *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void env_add(struct env *e, const char *fmt, ...)
{
    if (e->n == ENV_MAX)
        return;
    struct strbuf text = STRBUF_INIT;
    va_list ap;
    va_start(ap, fmt);
    strbuf_vaddf(&text, fmt, ap);
    va_end(ap);
    e->item[e->n++] = arena_strdup(e->arena, strbuf_str(&text));
    strbuf_release(&text);
}

static void env_of_task(struct env *e, const struct start *st, const char *username)
{
    const struct core_start *s = st->s;
    env_add(e, "DET_USE_TLS=%s", st->cert_pem ? "true" : "false");
    if (st->cert_pem)
        env_add(e, "DET_MASTER_CERT_FILE=" CERT_FILE);
    env_add(e, "DET_TASK_ID=%s", s->task_id);
    env_add(e, "DET_ALLOCATION_ID=%s", s->allocation_id);
    env_add(e, "DET_RESOURCES_ID=%s", s->container_id);
    env_add(e, "DET_RESOURCES_TYPE=docker-container");
    env_add(e, "DET_SESSION_TOKEN=%s", st->session.text);
    env_add(e, "DET_USER_TOKEN=%s", st->user.text);
    env_add(e, "DET_USER=%s", username);
    env_add(e, "DET_TASK_TYPE=%s", s->trial_id ? "TRIAL" : task_kind_name(s->kind));
    env_add(e, "DET_TASK_LOGGING_METADATA={\"allocation_id\":\"%s\",\"task_id\":\"%s\"}", s->allocation_id, s->task_id);
    env_add(e, "DET_SEGMENT_ENABLED=false");
}

/* Returns the configuration as the trial gets it: without the credentials of the registry, which only the agent needs.
 * Few configurations have any, so that few are parsed. */
static const char *without_registry_auth(const char *config, struct arena *a)
{
    cleanup_json struct json_object *tree = NULL;
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    struct json_object *environment, *auth;
    if (!strstr(config, "\"registry_auth\":{") || json_parse(config, strlen(config), &tree, NULL) < 0 ||
        !json_object_object_get_ex(tree, "environment", &environment) ||
        !json_object_object_get_ex(environment, "registry_auth", &auth) || !auth)
        return config;
    json_object_object_add(environment, "registry_auth", NULL);
    json_print(tree, &text);
    return arena_strdup(a, strbuf_str(&text));
}

static void env_of_trial(struct env *e, const struct core_start *s, const char *config)
{
    env_add(e, "DET_EXPERIMENT_ID=%d", s->experiment_id);
    env_add(e, "DET_TRIAL_ID=%d", s->trial_id);
    env_add(e, "DET_TRIAL_RUN_ID=%d", s->run_id);
    env_add(e, "DET_TRIAL_SEED=%u", s->trial_seed);
    env_add(e, "DET_EXPERIMENT_CONFIG=%s", without_registry_auth(config, e->arena));
    env_add(e, "DET_HPARAMS=%s", s->hparams);
    env_add(e, "DET_STEPS_COMPLETED=%d", s->steps_completed);
    if (s->latest_checkpoint)
        env_add(e, "DET_LATEST_CHECKPOINT=%s", s->latest_checkpoint);
    for (int i = 0; i < CORE_PORTS; i++)
        if (s->port[i])
            env_add(e, "%s=%d", core_port_names[i], s->port[i]);
}

/* Returns a value of task_container_defaults for which an experiment's configuration has no key. The pool's value goes
 * before the cluster's. "": the value is not set. */
static const char *task_default(const struct start *st, const char *name)
{
    struct json_object *pools = config_get(st->m->config, "resource_pools"), *v;
    for (size_t i = 0; pools && i < json_object_array_length(pools); i++) {
        struct json_object *pool = json_object_array_get_idx(pools, i);
        const char *pool_name = json_object_get_string(json_object_object_get(pool, "pool_name"));
        if (strcmp(pool_name, st->s->pool) == 0 &&
            json_object_object_get_ex(json_object_object_get(pool, "task_container_defaults"), name, &v) && v)
            return json_object_get_string(v);
    }
    struct json_object *cluster = config_get(st->m->config, "task_container_defaults");
    return json_object_object_get_ex(cluster, name, &v) && v ? json_object_get_string(v) : "";
}

static void env_of_network(struct env *e, const struct start *st)
{
    static const struct {
        const char *variable, *name;
    } defaults[] = {
        {"DET_INTER_NODE_NETWORK_INTERFACE", "dtrain_network_interface"},
        {"NCCL_PORT_RANGE", "nccl_port_range"},
        {"GLOO_PORT_RANGE", "gloo_port_range"},
    };
    for (size_t i = 0; i < sizeof(defaults) / sizeof(*defaults); i++) {
        const char *value = task_default(st, defaults[i].name);
        if (*value)
            env_add(e, "%s=%s", defaults[i].variable, value);
    }
}

/* Tells the containers of a trial on several agents to try each other first (determined/exec/gang_probe.py). */
static void env_of_gang(struct env *e, const struct start *st)
{
    int64_t bytes = 0;
    if (!st->s->trial_id || st->s->container_n < 2 || strcmp(task_default(st, "gang_probe"), "true") != 0)
        return;
    size_parse(task_default(st, "gang_probe_min_bandwidth"), &bytes);
    env_add(e, "DET_GANG_PROBE=%lld", (long long)bytes);
}

static void env_of_user(struct env *e, const char *const *variable, size_t n)
{
    for (size_t i = 0; i < n; i++)
        env_add(e, "%s", variable[i]);
}

/* ---- the message ------------------------------------------------------------------------------------------------- */

static void argv_of(struct json_object *entrypoint, struct wire_link_start_task *t, struct arena *a)
{
    bool list = json_object_is_type(entrypoint, json_type_array);
    size_t n = list ? json_object_array_length(entrypoint) : 1;
    t->argv = arena_array(a, const char *, n + 1);
    t->argv_n = n;
    for (size_t i = 0; i < n; i++)
        t->argv[i] = arena_strdup(a,
                                  json_object_get_string(list ? json_object_array_get_idx(entrypoint, i) : entrypoint));
}

static bool is_at_or_below(const char *path, const char *dir)
{
    size_t n = strlen(dir);
    return *dir && strncmp(path, dir, n) == 0 && (path[n] == '/' || path[n] == 0);
}

/* Returns whether the task needs a mount to see its storage. A task that runs without a container has a /tmp of its
 * own, so a storage in the machine's /tmp needs a mount, unless it lies in one of the user's mounts. */
static bool needs_mount(const struct exp_values *v)
{
    const struct exp_checkpoint_storage *storage = &v->checkpoint_storage;
    if (storage->kind != EXP_CHECKPOINT_STORAGE_DIRECTORY || !is_at_or_below(storage->container_path, "/tmp"))
        return false;
    for (size_t i = 0; i < v->bind_mounts_n; i++)
        if (is_at_or_below(storage->container_path, v->bind_mounts[i].container_path))
            return false;
    return true;
}

/* Sets the user's mounts. The list has room for `room` more. */
static void bind_mounts_of_user(const struct exp_bind_mount *mount, size_t n, size_t room,
                                struct wire_link_start_task *t, struct arena *a)
{
    t->bind_mounts = arena_array(a, struct wire_link_bind_mount, n + room + 1);
    for (; t->bind_mounts_n < n; t->bind_mounts_n++) {
        const struct exp_bind_mount *m = &mount[t->bind_mounts_n];
        t->bind_mounts[t->bind_mounts_n] = (struct wire_link_bind_mount){.host_path = m->host_path,
                                                                         .container_path = m->container_path,
                                                                         .propagation = m->propagation,
                                                                         .read_only = m->read_only};
    }
}

/* Sets the mounts: first the user's, then the one through which the task sees its storage, if it needs one. */
static void bind_mounts_of(const struct exp_values *v, struct wire_link_start_task *t, struct arena *a)
{
    const char *place = exp_checkpoint_storage_path(&v->checkpoint_storage);
    bind_mounts_of_user(v->bind_mounts, v->bind_mounts_n, 1, t, a);
    if (v->checkpoint_storage.kind == EXP_CHECKPOINT_STORAGE_SHARED_FS)
        t->bind_mounts[t->bind_mounts_n++] = (struct wire_link_bind_mount){
            .host_path = place, .container_path = SHARED_FS_DIR, .propagation = exp_bind_mount_defaults.propagation};
    else if (needs_mount(v))
        t->bind_mounts[t->bind_mounts_n++] = (struct wire_link_bind_mount){
            .host_path = place, .container_path = place, .propagation = exp_bind_mount_defaults.propagation};
}

static void capabilities_of(const struct exp_environment *e, struct wire_link_start_task *t, struct arena *a)
{
    t->drop_capabilities_n = e->drop_capabilities_n;
    t->drop_capabilities = arena_dup(a, e->drop_capabilities, e->drop_capabilities_n * sizeof(*e->drop_capabilities));
}

/* The Python that the configuration names. */
static const struct wire_link_task_python *python_of(const struct exp_environment *e, struct arena *a)
{
    const struct exp_python *p = &e->python;
    if (!p->tree)
        return NULL;
    cleanup_strbuf struct strbuf requirements = STRBUF_INIT;
    for (size_t i = 0; i < p->requirements_n; i++)
        strbuf_addf(&requirements, "%s\n", p->requirements[i]);
    struct wire_link_task_python *w = arena_new(a, struct wire_link_task_python);
    *w = (struct wire_link_task_python){.interpreter = p->interpreter ? p->interpreter : "",
                                        .requirements = arena_strdup(a, strbuf_str(&requirements))};
    return w;
}

/* Bytes of /dev/shm in a container. 0: nothing is set, and the agent decides. */
static int64_t shm_bytes(const struct start *st, int64_t asked)
{
    int64_t bytes = 0;
    if (asked > 0)
        return asked;
    return size_parse(task_default(st, "shm_size_bytes"), &bytes) == 0 ? bytes : 0;
}

static const struct wire_link_task_container *container_of(const struct start *st, const struct exp_environment *e,
                                                           const struct exp_device *device, size_t device_n,
                                                           struct arena *a)
{
    struct start_container_order o = {.environment = e,
                                      .device = device,
                                      .device_n = device_n,
                                      .device_kind = st->device_kind,
                                      .network_mode = task_default(st, "network_mode"),
                                      .container_n = st->s->container_n};
    return start_container_fill(&o, a);
}

/* The ports to which the agent lets the master's streams through. */
static void proxy_ports_of(const struct exp_environment *e, struct wire_link_start_task *t, struct arena *a)
{
    t->proxy_ports = arena_array(a, int32_t, e->proxy_ports_n + 1);
    for (; t->proxy_ports_n < e->proxy_ports_n; t->proxy_ports_n++)
        t->proxy_ports[t->proxy_ports_n] = (int32_t)e->proxy_ports[t->proxy_ports_n].proxy_port;
}

/* Finds the account that the task runs as: docs/spec/task-environment.md#account. If its uid is 0, the agent gives the
 * owner a uid of their own, so the message names the owner. */
static const struct wire_link_task_user *task_user(const struct store_user *u,
                                                   const struct store_workspace_agent *place,
                                                   const struct api_defaults *defaults, struct arena *a)
{
    const struct store_agent_user_group x = task_account_of(&u->agent, place, &defaults->default_task);
    struct wire_link_task_user *w = arena_new(a, struct wire_link_task_user);
    *w = (struct wire_link_task_user){
        .user = x.user, .uid = x.uid, .group = x.group, .gid = x.gid, .owner_id = u->id, .owner = u->username};
    return w;
}

static void add_file(const char *path, int mode, const char *text, struct wire_link_start_task *t)
{
    if (text && *text)
        t->files[t->files_n++] = (struct wire_link_task_file){.path = path,
                                                              .mode = mode,
                                                              .content = {.data = (uint8_t *)text, .n = strlen(text)}};
}

/* The files of a start message besides those of a launched task's program: certificate and hook, and three files of a
 * task that removes checkpoints. */
enum { FILES_MAX = 5 };

/* What of a start is read from the store, whatever the task is. */
struct start_account {
    struct store_user owner;
    struct store_workspace_agent place; /* the account that is set for the workspace */
};

static enum wire_task_type task_type(const struct core_start *s)
{
    int32_t type = WIRE_TASK_TYPE_TRIAL;
    char name[64];
    snprintf(name, sizeof(name), "TASK_TYPE_%s", task_kind_name(s->kind));
    if (!s->trial_id)
        codec_enum_number(&wire_enum_task_type, name, &type);
    return (enum wire_task_type)type;
}

/* What the agent is to tell of the use of the task's slots; NULL: nothing. */
static const struct wire_link_watch_use *watch_use(const struct core_start *s, struct arena *a)
{
    if (s->tell_use_every_us == 0)
        return NULL;
    struct wire_link_watch_use *w = arena_new(a, struct wire_link_watch_use);
    *w = (struct wire_link_watch_use){.every_ms = (int32_t)(s->tell_use_every_us / 1000),
                                      .below_percent = CORE_USE_PERCENT};
    return w;
}

/* Fills in what every task has. */
static void fill_task(const struct start *st, const struct start_account *account, const struct env *env,
                      struct wire_link_start_task *t, struct arena *a)
{
    const struct core_start *s = st->s;
    *t = (struct wire_link_start_task){.container_id = s->container_id,
                                       .allocation_id = s->allocation_id,
                                       .task_id = s->task_id,
                                       .task_type = task_type(s),
                                       .description = s->description,
                                       .device_ids = (int32_t *)s->device_id,
                                       .device_ids_n = s->device_n,
                                       .env = env->item,
                                       .env_n = env->n,
                                       .work_dir = "",
                                       .user = task_user(&account->owner, &account->place, &st->m->defaults, a),
                                       .files = arena_array(a, struct wire_link_task_file,
                                                            FILES_MAX + TASK_PROGRAM_FILES),
                                       .rendezvous = s->trial_id != 0,
                                       .preemption_timeout_s = s->preemption_timeout_s,
                                       .watch_use = watch_use(s, a),
                                       .isolated = strcmp(config_str(st->m->config, "security.task_isolation"),
                                                          "required") == 0};
}

static int encode_message(struct start *st, struct wire_link_start_task *t, struct error *err)
{
    add_file(CERT_FILE, 0644, st->cert_pem, t);
    add_file(HOOK_FILE, 0744, task_default(st, "startup_hook"), t);
    struct wire_link_master_message out = {.epoch = st->m->info.epoch, .start = t};
    codec_encode(&wire_msg_link_master_message, &out, &st->message);
    if (st->message.n <= START_MESSAGE_MAX)
        return 0;
    st->too_large = true;
    return error_set(err, ERR_TOO_LARGE,
                     "the order to start the task has %zu bytes, at most %d can be sent to an agent: make the "
                     "task's configuration smaller, or task_container_defaults",
                     st->message.n, START_MESSAGE_MAX);
}

/* What a task has asked for is also the most that it gets. Of its request and its own limit of memory the smaller one
 * counts. */
static void limit_to_request(struct wire_link_task_limits *l, double cpus, int64_t memory_bytes)
{
    l->cpus = cpus;
    l->memory_asked = memory_bytes > 0 && (l->memory_bytes == 0 || memory_bytes <= l->memory_bytes);
    if (l->memory_asked)
        l->memory_bytes = memory_bytes;
}

/* ---- a trial, or a task that removes checkpoints ----------------------------------------------------------------- */

static int encode_start(struct start *st, struct store *db, const struct exp_config *config, const char *config_json,
                        const struct start_account *account, struct arena *a, struct error *err)
{
    const struct core_start *s = st->s;
    const struct exp_values *v = &config->values;
    struct env env = {.arena = a, .item = arena_array(a, const char *, ENV_MAX)};
    struct wire_link_start_task t;
    size_t n;
    env_of_task(&env, st, account->owner.username);
    if (s->trial_id)
        env_of_trial(&env, s, config_json);
    env_of_network(&env, st);
    env_of_gang(&env, st);
    const char *const *variable = exp_config_environment_variables(config, st->device_kind, &n);
    env_of_user(&env, variable, n);

    fill_task(st, account, &env, &t, a);
    struct wire_link_task_limits limits = {.memory_bytes = v->resources.memory_limit_bytes,
                                           .pids = v->resources.process_limit,
                                           .shm_bytes = shm_bytes(st, v->resources.shm_size_bytes),
                                           .disk_bytes = v->resources.disk_limit_bytes};
    if (s->trial_id) /* a task that removes checkpoints is placed without the experiment's request */
        limit_to_request(&limits, v->resources.cpus, v->resources.memory_bytes);
    t.limits = &limits;
    /* A task that only removes files of a file system has no use for the experiment's Python, and should not fail
     * because an environment cannot be made any more. */
    if (s->trial_id || !exp_checkpoint_storage_path(&v->checkpoint_storage))
        t.python = python_of(&v->environment, a);
    t.fetch_context = s->trial_id != 0;
    t.image = exp_config_image(config, st->device_kind);
    t.container = container_of(st, &v->environment, v->resources.devices, v->resources.devices_n, a);
    if (s->trial_id)
        argv_of(v->entrypoint, &t, a);
    else if (collection_task_fill(db, s->task_id, s->experiment_id, config_json, &t, a, err) < 0)
        return -1;
    bind_mounts_of(v, &t, a);
    capabilities_of(&v->environment, &t, a);
    if (s->trial_id)
        proxy_ports_of(&v->environment, &t, a);
    return encode_message(st, &t, err);
}

/* Reads the experiment's configuration, and makes the message of it. */
static int start_for_experiment(struct start *st, struct store *db, struct start_account *account, struct arena *a,
                                struct error *err)
{
    struct store_experiment x;
    const struct exp_config *config;
    if (store_experiment_get(db, st->s->experiment_id, /* with_config= */ true, a, &x, err) < 0 ||
        store_workspace_agent_get(db, x.project_id, a, &account->place, err) < 0 ||
        start_configs_read(st->m->start_configs, x.id, x.config, &config, err) < 0)
        return -1;
    return encode_start(st, db, config, x.config, account, a, err);
}

/* ---- a task that a user has launched ----------------------------------------------------------------------------- */

static int encode_launched(struct start *st, const struct task_program *p, const struct store_launched_task *task,
                           const struct start_account *account, struct arena *a, struct error *err)
{
    const struct task_values *v = &p->config->values;
    struct env env = {.arena = a, .item = arena_array(a, const char *, ENV_MAX + TASK_PROGRAM_VARIABLES)};
    struct wire_link_start_task t;
    size_t n;
    env_of_task(&env, st, account->owner.username);
    env_of_network(&env, st);
    const char *const *variable = taskconf_environment_variables(p->config, st->device_kind, &n);
    env_of_user(&env, variable, n);

    fill_task(st, account, &env, &t, a);
    struct wire_link_task_limits limits = {.memory_bytes = v->resources.memory_limit_bytes,
                                           .pids = v->resources.process_limit,
                                           .shm_bytes = shm_bytes(st, v->resources.shm_size_bytes),
                                           .disk_bytes = v->resources.disk_limit_bytes};
    limit_to_request(&limits, v->resources.cpus, v->resources.memory_bytes);
    t.limits = &limits;
    t.fetch_context = task->context_hash != NULL;
    t.python = python_of(&v->environment, a);
    t.image = taskconf_image(p->config, st->device_kind);
    t.container = container_of(st, &v->environment, v->resources.devices, v->resources.devices_n, a);
    bind_mounts_of_user(v->bind_mounts, v->bind_mounts_n, p->source_n + TASK_PROGRAM_MOUNTS, &t, a);
    capabilities_of(&v->environment, &t, a);
    task_program_fill(p, &t, a);
    return encode_message(st, &t, err);
}

/* Where services of tasks listen: at the address of the machine only if the master itself is to connect to it. */
static const char *listen_address(const struct start *st)
{
    return strcmp(config_str(st->m->config, "task_streams.route"), "direct") == 0 ? "0.0.0.0" : NULL;
}

static int start_launched(struct start *st, struct store *db, struct start_account *account, struct arena *a,
                          struct error *err)
{
    struct store_launched_task task;
    struct task_program_source *source = NULL;
    size_t source_n = 0;
    cleanup_taskconf struct taskconf *config = NULL;
    if (store_launched_task_get(db, st->s->task_id, a, &task, err) < 0 ||
        store_workspace_agent_of(db, task.workspace_id, a, &account->place, err) < 0 ||
        taskconf_from_json(task.kind, task.config, strlen(task.config), &config, err) < 0)
        return -1;
    if (task.kind == TASK_KIND_TENSORBOARD &&
        task_program_sources(db, task.experiment_ids, task.trial_ids, a, &source, &source_n, err) < 0)
        return -1;
    const struct task_program program = {.config = config,
                                         .port = st->s->port[0],
                                         .listen_address = listen_address(st),
                                         .public_key = task.public_key,
                                         .service_token = task.service_token,
                                         .source = source,
                                         .source_n = source_n};
    return encode_launched(st, &program, &task, account, a, err);
}

/* ---- on the writer's thread -------------------------------------------------------------------------------------- */

static int insert_session(struct store *db, const struct start *st, const struct token *token, const char *kind,
                          const char *scope, int64_t now_us, int64_t *ret_id, struct error *err)
{
    struct store_session row = {.user_id = st->s->owner_id,
                                .kind = kind,
                                .scope = scope,
                                .allocation_id = st->s->allocation_id,
                                .created_us = now_us,
                                /* both sessions of a task are valid as long as its allocation is open */
                                .expiry_us = INT64_MAX};
    memcpy(row.token_hash, token->hash, sizeof(row.token_hash));
    return store_session_insert(db, &row, ret_id, err);
}

static int start_store(struct store *db, void *job, struct error *err)
{
    struct start *st = job;
    int64_t now_us = clock_now_us();
    /* not part of `st`: many starts may wait for one commit, and each of them keeps only its message */
    cleanup_arena struct arena a = ARENA_INIT;
    struct start_account account;
    const char *scope;
    strbuf_reset(&st->message);
    if (store_user_get(db, st->s->owner_id, &a, &account.owner, err) < 0)
        return -1;
    if (!account.owner
             .active) /* a deactivated account has no sessions, and a task without a session cannot do anything */
        return error_set(err, ERR_PRECONDITION,
                         "user '%s', to whom this task belongs, is deactivated: none of their tasks starts until "
                         "an admin activates the account",
                         account.owner.username);
    if (store_task_scope(db, st->s->task_id, &a, &scope, err) < 0 ||
        insert_session(db, st, &st->session, "ALLOCATION", access_scope_name(ACCESS_SCOPE_ALL), now_us, &st->session_id,
                       err) < 0 ||
        insert_session(db, st, &st->user, "TASK", scope, now_us, &st->user_session_id, err) < 0)
        return -1;
    st->user_scope = access_scope_of_name(scope);
    if (!st->s->trial_id && task_kind_is_launched(st->s->kind))
        return start_launched(st, db, &account, &a, err);
    return start_for_experiment(st, db, &account, &a, err);
}

/* Tells the core that the container could not be launched, so that it tries again after growing pauses. A message that
 * is too large counts as the task's own failure, so that max_restarts ends the attempts. */
static void report_failure(struct start *st, const struct error *err)
{
    log_error("task.start_failed", "allocation=%s reason=%s", st->s->allocation_id, log_quote(error_msg(err)));
    struct core_event ev = {.type = CORE_CONTAINER_CHANGED,
                            .now_us = clock_now_us(),
                            .container = {.agent_id = st->s->agent_id,
                                          .report = {.container_id = st->s->container_id,
                                                     .state = CONTAINER_TERMINATED,
                                                     .exit_kind = st->too_large ? EXIT_TASK_ERROR : EXIT_AGENT_ERROR,
                                                     .by_master = true,
                                                     .exit_text = error_msg(err)}}};
    cleanup_error struct error failed = ERROR_INIT;
    if (master_step(st->m, &ev, NULL, &failed) < 0)
        log_error("task.start_failure_ignored", "allocation=%s reason=%s", st->s->allocation_id,
                  log_quote(error_msg(&failed)));
}

void start_send(struct start *st)
{
    if (st->err.kind)
        report_failure(st, &st->err);
    else
        agent_hub_send(st->m->agents, st->s->agent_id, &st->message);
    error_release(&st->err);
    strbuf_release(&st->message);
    arena_release(&st->arena);
    free(st);
}

/* Enters the task's sessions in memory. This is done in the order of the commits, and not when the message is sent. So
 * if an account is deactivated in a later commit, that finds these sessions and ends them (api/pipeline/identity.h). */
static void know_sessions(struct start *st)
{
    struct identities *ids = api_identities(st->m->api);
    struct identity_session s = {.kind = PRINCIPAL_TASK,
                                 .scope = ACCESS_SCOPE_ALL,
                                 .id = st->session_id,
                                 .user_id = st->s->owner_id};
    snprintf(s.allocation_id, sizeof(s.allocation_id), "%s", st->s->allocation_id);
    identities_put_session(ids, st->session.hash, &s);
    struct identity_session u = {.kind = PRINCIPAL_USER_TOKEN,
                                 .scope = st->user_scope,
                                 .id = st->user_session_id,
                                 .user_id = st->s->owner_id};
    memcpy(u.allocation_id, s.allocation_id, sizeof(u.allocation_id));
    identities_put_session(ids, st->user.hash, &u);
}

static void start_stored(void *job, const struct error *err)
{
    struct start *st = job;
    error_copy(&st->err, err);
    if (!err)
        know_sessions(st);
}

static const char *device_kind(const struct core *c, const struct core_start *s)
{
    struct core_slot_view v;
    for (size_t i = 0; s->device_n > 0 && core_slot(c, s->agent_id, i, &v); i++)
        if (v.device->id == s->device_id[0])
            return v.device->type == WIRE_DEVICE_TYPE_CUDA   ? "cuda"
                   : v.device->type == WIRE_DEVICE_TYPE_ROCM ? "rocm"
                                                             : "cpu";
    return "cpu";
}

struct start *start_prepare(struct master *m, const struct core_start *s)
{
    struct start *st = must_calloc(1, sizeof(*st));
    st->m = m;
    st->s = s;
    st->device_kind = device_kind(m->core, s);
    if (m->tls) /* copied, because the message is made on the writer's thread */
        st->cert_pem = arena_strdup(&st->arena, tls_files_pem(m->tls));
    if (token_new(&st->session, &st->err) < 0 || token_new(&st->user, &st->err) < 0)
        return st;
    struct writer_job job = {start_store, start_stored, st, .must = true};
    writer_submit(m->writer, &job, 1);
    return st;
}
