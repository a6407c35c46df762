#include "api/proxy/task_service.h"

#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#include "common/base/must.h"
#include "common/json/json.h"
#include "core/config/taskconf.h"
#include "core/core.h"
#include "gen/experiment_config.h"
#include "store/cluster/tasks.h"
#include "store/experiments/experiments.h"
#include "store/experiments/trials.h"
#include "store/logs/task_logs.h"

enum { CACHED_MAX = 4096, LINE_MAX_BYTES = 500 };
#define CACHED_FOR_US (30 * 1000000ll)

static int not_found(const char *name, const char *why, struct error *err)
{
    return error_set(err, ERR_NOT_FOUND, "service not found: %.200s: %s", name, why);
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

/* Splits TASKID and TASKID:PORT. *ret_port is 0 for the former. */
static int parse_name(const char *name, struct arena *a, const char **ret_task, int *ret_port, struct error *err)
{
    const char *colon = strrchr(name, ':');
    char *end = NULL;
    long port = colon ? strtol(colon + 1, &end, 10) : 0;
    if (colon && (colon[1] < '0' || colon[1] > '9' || *end || port < 1 || port > 65535))
        return not_found(name, "it must be TASK or TASK:PORT", err);
    *ret_task = arena_strndup(a, name, colon ? (size_t)(colon - name) : strlen(name));
    *ret_port = (int)port;
    return 0;
}

/* ---- ports of trials --------------------------------------------------------------------------------------------- */

static const struct exp_environment_proxy_ports *find_port(const struct exp_environment *e, int port)
{
    for (size_t i = 0; i < e->proxy_ports_n; i++)
        if (port ? e->proxy_ports[i].proxy_port == port : e->proxy_ports[i].default_service_id)
            return &e->proxy_ports[i];
    return NULL;
}

static int read_port(const struct exp_environment *environment, struct task_service *s, struct error *err)
{
    const struct exp_environment_proxy_ports *one = find_port(environment, s->port);
    if (!one)
        return not_found(s->name,
                         s->port ? "the port is not among environment.proxy_ports of its configuration"
                                 : "none of environment.proxy_ports of its configuration has default_service_id; use "
                                   "TASK:PORT",
                         err);
    s->port = one->proxy_port;
    s->tcp = one->proxy_tcp;
    s->open = one->unauthenticated;
    return 0;
}

static int find_of_trial(struct store *db, struct arena *a, struct task_service *s, struct error *err)
{
    cleanup_json struct json_object *config = NULL;
    struct exp_values values;
    struct store_trial trial;
    struct store_experiment x;
    if (store_trial_get(db, s->trial_id, /* full= */ false, a, &trial, err) < 0 ||
        store_experiment_get(db, trial.row.experiment_id, /* with_config= */ true, a, &x, err) < 0)
        return -1;
    s->owner_id = x.user_id;
    s->experiment_id = trial.row.experiment_id;
    s->workspace_id = x.workspace_id;
    s->permission = PERMISSION_UPDATE_EXPERIMENT;
    if (json_parse(x.config, strlen(x.config), &config, err) < 0)
        return -1;
    exp_values_read(config, a, &values);
    return read_port(&values.environment, s, err);
}

/* ---- ports of tasks that users launch ---------------------------------------------------------------------------- */

static int find_launched(struct store *db, struct arena *a, struct task_service *s, struct error *err)
{
    cleanup_taskconf struct taskconf *config = NULL;
    struct store_launched_task t;
    if (store_launched_task_get(db, s->task_id, a, &t, err) < 0)
        return err->kind == ERR_NOT_FOUND ? (error_release(err), not_found(s->name, "the task has no ports", err)) : -1;
    s->owner_id = t.owner_id;
    s->workspace_id = t.workspace_id;
    /* who looks at a TensorBoard only looks; everything else runs what its visitors tell it */
    s->permission = t.kind == TASK_KIND_TENSORBOARD ? PERMISSION_VIEW_NSC : PERMISSION_UPDATE_NSC;
    s->has_token = t.service_token != NULL;
    if (s->has_token)
        token_hash(t.service_token, s->token_hash);
    if (s->port == 0 && taskconf_kinds[t.kind].has_service) {
        /* sshd lets in whoever has the shell's key, and nobody else; the tunnel of release 0.38.1 shows no token */
        s->tcp = s->open = t.kind == TASK_KIND_SHELL;
        return 0;
    }
    if (taskconf_from_json(t.kind, t.config, strlen(t.config), &config, err) < 0)
        return -1;
    return read_port(&config->values.environment, s, err);
}

int task_service_find(struct store *db, const char *name, struct arena *a, struct task_service *ret, struct error *err)
{
    struct task_service s = {.name = name};
    struct store_task task;
    if (parse_name(name, a, &s.task_id, &s.port, err) < 0)
        return -1;
    if (store_task_get(db, s.task_id, a, &task, err) < 0)
        return err->kind == ERR_NOT_FOUND ? (error_release(err), not_found(name, "there is no such task", err)) : -1;
    s.trial_id = task.has_trial ? task.trial_id : 0;
    if ((task.has_trial ? find_of_trial : find_launched)(db, a, &s, err) < 0)
        return -1;
    *ret = s;
    return 0;
}

/* ---- kept in memory ---------------------------------------------------------------------------------------------- */

struct cached {
    struct task_service service;
    int64_t until_us;
    UT_hash_handle hh;
};

struct service_cache {
    struct cached *table;
};

struct service_cache *service_cache_new(void)
{
    return must_calloc(1, sizeof(struct service_cache));
}

static void drop_cached(struct service_cache *c, struct cached *e)
{
    HASH_DEL(c->table, e);
    free((char *)e->service.name);
    free((char *)e->service.task_id);
    free(e);
}

void service_cache_free(struct service_cache *c)
{
    if (!c)
        return;
    struct cached *e, *next;
    HASH_ITER(hh, c->table, e, next)
        drop_cached(c, e);
    free(c);
}

const struct task_service *service_cache_get(const struct service_cache *c, const char *name, int64_t now_us)
{
    struct cached *e;
    HASH_FIND_STR(c->table, name, e);
    return e && e->until_us > now_us ? &e->service : NULL;
}

void service_cache_put(struct service_cache *c, const struct task_service *s, int64_t now_us)
{
    struct cached *e;
    HASH_FIND_STR(c->table, s->name, e);
    if (e)
        drop_cached(c, e);
    else if (HASH_COUNT(c->table) >= CACHED_MAX)
        drop_cached(c, c->table); /* the oldest one */
    e = must_calloc(1, sizeof(*e));
    e->service = *s;
    e->service.name = must_strdup(s->name);
    e->service.task_id = must_strdup(s->task_id);
    e->until_us = now_us + CACHED_FOR_US;
    HASH_ADD_KEYPTR(hh, c->table, e->service.name, strlen(e->service.name), e);
}

/* ---- the task's state -------------------------------------------------------------------------------------------- */

static void describe_wait(const struct core *core, const struct task_service *s, int64_t now_us, struct arena *a,
                          struct service_state *ret)
{
    const struct core_job_owner owner = {s->experiment_id, s->trial_id ? NULL : s->task_id};
    struct core_wait_notes notes = {0};
    struct core_wait_view wait;
    ret->stage = SERVICE_WAITS;
    if (core_wait_noted(core, owner, now_us, a, &notes, &wait))
        ret->text = arena_printf(a, "is queued: %s", wait.reason);
    else
        ret->text = "is queued";
}

/* The state of a task by its allocation, which has not ended. */
static void describe_allocation(const struct core *core, const struct task_service *s, const char *allocation_id,
                                int64_t now_us, struct arena *a, struct service_state *ret)
{
    const struct allocation_row *row = core_allocation(core, allocation_id);
    const struct container_row *chief = core_allocation_container(core, allocation_id, 0);
    if (!row || row->state == ALLOCATION_PENDING) {
        describe_wait(core, s, now_us, a, ret);
    } else if (row->state >= ALLOCATION_TERMINATING || (chief && chief->state == CONTAINER_TERMINATED)) {
        *ret = (struct service_state){.stage = SERVICE_WAITS, .text = "is ending"};
    } else if (!chief || chief->state != CONTAINER_RUNNING) {
        *ret = (struct service_state){.stage = SERVICE_STARTS,
                                      .text = row->state == ALLOCATION_ASSIGNED ? "is about to start on an agent"
                                                                                : "is being prepared by its agent"};
    } else {
        *ret = (struct service_state){.stage = SERVICE_RUNS,
                                      .text = "runs",
                                      .container_id = arena_strdup(a, chief->id),
                                      .port = s->port ? s->port : row->port[0]};
    }
}

static void describe_trial(const struct core *core, const struct task_service *s, int64_t now_us, struct arena *a,
                           struct service_state *ret)
{
    struct core_trial_view view;
    if (!core_trial(core, s->trial_id, &view) || strcmp(view.row->task_id, s->task_id) != 0 ||
        run_state_is_terminal(view.row->state))
        return;
    if (view.allocation_id)
        describe_allocation(core, s, view.allocation_id, now_us, a, ret);
    else if (view.row->state == RUN_PAUSED)
        *ret = (struct service_state){.stage = SERVICE_WAITS, .text = "is paused, and runs when it is activated"};
    else
        *ret = (struct service_state){.stage = SERVICE_WAITS, .text = "is not running at the moment"};
}

static void describe_launched(const struct core *core, const struct task_service *s, int64_t now_us, struct arena *a,
                              struct service_state *ret)
{
    struct core_task_view view;
    if (!core_task(core, s->task_id, &view))
        return;
    if (view.allocation)
        describe_allocation(core, s, view.allocation->id, now_us, a, ret);
    else
        *ret = (struct service_state){.stage = SERVICE_WAITS, .text = "is not running at the moment"};
}

void task_service_state(const struct core *core, const struct task_service *s, int64_t now_us, struct arena *a,
                        struct service_state *ret)
{
    *ret = (struct service_state){.stage = SERVICE_OVER, .text = "has ended"};
    (s->trial_id ? describe_trial : describe_launched)(core, s, now_us, a, ret);
}

/* ---- what the store knows of it ---------------------------------------------------------------------------------- */

const char *task_service_end(struct store *db, const struct task_service *s, struct arena *a)
{
    struct allocation_row *row;
    size_t n;
    if (store_allocations_of_task(db, s->task_id, a, &row, &n, NULL) < 0 || n == 0)
        return "has ended without having run";
    const struct allocation_row *last = &row[n - 1];
    const char *text = exit_kind_text(last->exit_kind);
    if (last->exit_kind == EXIT_FAILED)
        return arena_printf(a, "has ended: %s %d", text, (int)last->exit_code);
    return *text ? arena_printf(a, "has ended: %s", text) : "has ended";
}

const char *task_service_last_line(struct store *db, const struct task_service *s, struct arena *a)
{
    struct store_log_filter filter = {.task_id = s->task_id};
    struct store_log_reader *reader;
    struct store_log_line *line;
    size_t n = 0;
    int64_t cursor = 0;
    bool at_end = false;
    const char *text = NULL;
    if (store_log_reader_new(&filter, /* descending= */ true, &reader, NULL) < 0)
        return NULL;
    if (store_log_read(db, reader, &cursor, 1, a, &line, &n, &at_end, NULL) == 0 && n == 1) {
        size_t text_n = line->text_n < LINE_MAX_BYTES ? line->text_n : LINE_MAX_BYTES;
        while (text_n > 0 && (line->text[text_n - 1] == '\n' || line->text[text_n - 1] == '\r'))
            text_n--;
        text = arena_strndup(a, line->text, text_n);
    }
    store_log_reader_free(reader);
    return text;
}
