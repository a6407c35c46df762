/* What Prometheus set-ups of release 0.38.1 read: which container belongs to which allocation, task and experiment, and
 * where the exporters of the agents' machines are. */
#include <string.h>

#include "api/pipeline/convert.h"
#include "api/pipeline/internal.h"
#include "api/pipeline/raw_handlers.h"
#include "common/config/config.h"
#include "common/json/json.h"
#include "store/functions.h"

/* The ports on which the exporters listen that those set-ups start on each machine: DCGM and cAdvisor. */
#define DCGM_PORT "9400"
#define CADVISOR_PORT "8080"

/* The page, and the experiments that are not over, which the store knows. */
struct state_page {
    struct store_labelled *experiment;
    size_t experiment_n;
};

static int check_switched_on(const struct req *r, struct error *err)
{
    return config_bool(api_info(r->api)->config, "observability.enable_prometheus")
               ? 0
               : error_set(err, ERR_NOT_FOUND, "metrics are switched off (observability.enable_prometheus)");
}

/* ---- samples ----------------------------------------------------------------------------------------------------- */

struct label {
    const char *name, *value;
};

static void add_sample(struct strbuf *out, const char *name, const struct label *label, size_t n)
{
    strbuf_addf(out, "det_%s", name);
    for (size_t i = 0; i < n; i++) {
        strbuf_addf(out, "%s%s=\"", i ? "," : "{", label[i].name);
        for (const char *p = label[i].value; *p; p++) {
            if (*p == '\\' || *p == '"' || *p == '\n')
                strbuf_addc(out, '\\');
            strbuf_addc(out, *p == '\n' ? 'n' : *p);
        }
        strbuf_addc(out, '"');
    }
    strbuf_adds(out, "} 1\n");
}
#define ADD_SAMPLE(out, name, ...) \
    add_sample(out, name, (const struct label[]){__VA_ARGS__}, \
               sizeof((const struct label[]){__VA_ARGS__}) / sizeof(struct label))

static void begin_family(struct strbuf *out, const char *name, const char *help)
{
    strbuf_addf(out, "# HELP det_%s %s\n# TYPE det_%s gauge\n", name, help, name);
}

/* ---- what runs --------------------------------------------------------------------------------------------------- */

static void add_containers(struct strbuf *out, const struct core *core, const struct allocation_row *const *row,
                           size_t n)
{
    const struct container_row *k;
    begin_family(out, "container_id_allocation_id", "The allocation of each container");
    for (size_t i = 0; i < n; i++)
        for (size_t at = 0; (k = core_allocation_container(core, row[i]->id, at)); at++)
            ADD_SAMPLE(out, "container_id_allocation_id", {"container_id", k->id}, {"allocation_id", row[i]->id});
}

/* A process has no such id. */
static void add_runtime_ids(struct strbuf *out, const struct core *core, const struct allocation_row *const *row,
                            size_t n)
{
    const struct container_row *k;
    begin_family(out, "container_id_runtime_container_id", "The engine's own id of each container");
    for (size_t i = 0; i < n; i++)
        for (size_t at = 0; (k = core_allocation_container(core, row[i]->id, at)); at++)
            if (*k->runtime_id)
                ADD_SAMPLE(out, "container_id_runtime_container_id", {"container_runtime_id", k->runtime_id},
                           {"container_id", k->id});
}

/* Adds the GPUs of one container, which has some of its agent's devices. */
static void add_gpus_of(struct strbuf *out, const struct core *core, const struct container_row *k)
{
    struct core_slot_view slot[CORE_DEVICES_MAX];
    size_t n = core_slots(core, k->agent_id, slot);
    for (int32_t d = 0; d < k->device_n; d++)
        for (size_t i = 0; i < n; i++)
            if (slot[i].device->id == k->device_id[d] && slot[i].device->type == WIRE_DEVICE_TYPE_CUDA &&
                slot[i].device->uuid && *slot[i].device->uuid)
                ADD_SAMPLE(out, "gpu_uuid_container_id", {"gpu_uuid", slot[i].device->uuid}, {"container_id", k->id});
}

static void add_gpus(struct strbuf *out, const struct core *core, const struct allocation_row *const *row, size_t n)
{
    const struct container_row *k;
    begin_family(out, "gpu_uuid_container_id", "The container that each GPU belongs to, by the GPU's UUID");
    for (size_t i = 0; i < n; i++)
        for (size_t at = 0; (k = core_allocation_container(core, row[i]->id, at)); at++)
            add_gpus_of(out, core, k);
}

static void add_task(struct strbuf *out, struct req *r, const struct core *core, const struct allocation_row *row)
{
    struct core_trial_view trial;
    struct core_experiment_view experiment;
    struct core_task_view task;
    const char *actor = NULL, *job = NULL;
    if (row->trial_id && core_trial(core, row->trial_id, &trial) &&
        core_experiment(core, trial.row->experiment_id, &experiment)) {
        actor = arena_printf(&r->arena, "Trial %d (Experiment %d)", row->trial_id, trial.row->experiment_id);
        job = experiment.row->job_id;
    } else if (!row->trial_id && core_task(core, row->task_id, &task)) {
        actor = task.launched->description;
        job = task.row->job_id;
    }
    if (actor && job)
        ADD_SAMPLE(out, "allocation_id_task_id_task_actor", {"allocation_id", row->id}, {"task_id", row->task_id},
                   {"task_actor", actor}, {"job_id", job});
}

static int add_experiments(struct strbuf *out, struct req *r, const struct state_page *page, struct error *err)
{
    begin_family(out, "job_id_experiment_id", "The experiment of each job");
    for (size_t i = 0; i < page->experiment_n; i++)
        ADD_SAMPLE(out, "job_id_experiment_id", {"job_id", page->experiment[i].job_id},
                   {"experiment_id", arena_printf(&r->arena, "%d", page->experiment[i].id)});
    begin_family(out, "experiment_id_label", "The labels of each experiment");
    for (size_t i = 0; i < page->experiment_n; i++) {
        const char **label;
        size_t n;
        if (string_list_of_json(page->experiment[i].labels, &r->arena, &label, &n, err) < 0)
            return -1;
        for (size_t l = 0; l < n; l++)
            ADD_SAMPLE(out, "experiment_id_label",
                       {"experiment_id", arena_printf(&r->arena, "%d", page->experiment[i].id)}, {"label", label[l]});
    }
    return 0;
}

static int print_state(struct req *r, struct core *core, struct error *err)
{
    struct strbuf *out = &r->reply.body;
    const struct allocation_row *const *row;
    size_t n = core_allocations(core, &r->arena, &row);
    r->reply.content_type = "text/plain; version=0.0.4; charset=utf-8";
    add_containers(out, core, row, n);
    add_runtime_ids(out, core, row, n);
    add_gpus(out, core, row, n);
    begin_family(out, "allocation_id_task_id_task_actor", "The task of each allocation, with the task's name and job");
    for (size_t i = 0; i < n; i++)
        add_task(out, r, core, row[i]);
    return add_experiments(out, r, r->state, err);
}

int raw_prom_state(struct req *r, struct store *db, struct error *err)
{
    struct state_page *page = arena_new(&r->arena, struct state_page);
    if (check_switched_on(r, err) < 0 ||
        store_experiments_labelled(db, &r->arena, &page->experiment, &page->experiment_n, err) < 0)
        return -1;
    r->state = page;
    return req_then_loop(r, print_state);
}

/* ---- where the exporters are ------------------------------------------------------------------------------------- */

static void add_target(struct strbuf *out, const char *peer, const char *port)
{
    char text[CORE_ADDRESS_MAX + 16];
    int n = snprintf(text, sizeof(text), strchr(peer, ':') ? "[%s]:%s" : "%s:%s", peer, port);
    strbuf_add_json(out, text, (size_t)n);
}

int raw_prom_targets(struct req *r, struct core *core, struct error *err)
{
    const struct api_services *s = &r->api->services;
    struct strbuf *out = &r->reply.body;
    struct core_agent_view v;
    bool first = true;
    if (check_switched_on(r, err) < 0)
        return -1;
    strbuf_addc(out, '[');
    for (const struct agent *at = NULL; core_agent_next(core, &at, &v);) {
        const char *peer = v.connected_us ? s->agent_peer(s->ctx, v.id) : NULL;
        if (!peer)
            continue; /* nobody knows where it is while it is away */
        strbuf_adds(out, first ? "{\"targets\":[" : ",{\"targets\":[");
        add_target(out, peer, DCGM_PORT);
        strbuf_addc(out, ',');
        add_target(out, peer, CADVISOR_PORT);
        strbuf_adds(out, "],\"labels\":{\"det_agent_id\":");
        strbuf_add_json(out, v.id, strlen(v.id));
        strbuf_adds(out, ",\"det_resource_pool\":");
        strbuf_add_json(out, v.pool, strlen(v.pool));
        strbuf_adds(out, "}}");
        first = false;
    }
    strbuf_adds(out, "]\n");
    return 0;
}
