/* Tasks and their context. */
#include <string.h>

#include "api/pipeline/access.h"
#include "api/pipeline/convert.h"
#include "api/pipeline/internal.h"
#include "api/pipeline/raw_handlers.h"
#include "api/tasks/generic_tasks.h"
#include "common/base/cleanup.h"
#include "common/config/schema.h"
#include "common/json/json.h"
#include "core/config/expconf_secrets.h"
#include "core/core.h"
#include "core/sched/policy.h"
#include "gen/handlers.h"
#include "store/cluster/tasks.h"
#include "store/experiments/experiments.h"
#include "store/experiments/trials.h"

int api_get_task(struct req *r, struct store *db, const struct wire_get_task_request *in,
                 struct wire_get_task_response *ret, struct error *err)
{
    struct store_task t;
    struct allocation_row *row;
    size_t n;
    if (store_task_get(db, in->task_id, &r->arena, &t, err) < 0 ||
        store_allocations_of_task(db, in->task_id, &r->arena, &row, &n, err) < 0)
        return -1;
    struct wire_task *w = arena_new(&r->arena, struct wire_task);
    int32_t type = 0;
    codec_enum_number(&wire_enum_task_type, arena_printf(&r->arena, "TASK_TYPE_%s", t.type), &type);
    *w = (struct wire_task){.task_id = t.id,
                            .task_type = (enum wire_task_type)type,
                            .start_time = t.start_us,
                            .has_start_time = true,
                            .end_time = t.end_us,
                            .has_end_time = t.end_us != 0,
                            .config = access_sees_secrets(r, 0)
                                          ? t.config
                                          : expconf_hide_secrets(t.config, SCHEMA_MASKED, &r->arena),
                            .allocations = arena_array(&r->arena, struct wire_task_allocation, n + 1),
                            .allocations_n = n};
    for (size_t i = 0; i < n; i++)
        allocation_to_wire(&row[i], &r->arena, &w->allocations[i]);
    ret->task = w;
    return strcmp(t.type, task_kind_name(TASK_KIND_GENERIC)) == 0 ? generic_task_show(r, db, t.id, w, err) : 0;
}

/* ---- tasks that run or wait now ---------------------------------------------------------------------------------- */

enum { TASKS_ON_LOOP_MAX = 100 };

static void resources_to_summary(const struct core *c, const struct allocation_row *row, struct arena *a,
                                 struct wire_task_allocation_summary *ret)
{
    const struct container_row *container;
    size_t n = 0;
    while (core_allocation_container(c, row->id, n))
        n++;
    ret->resources = arena_array(a, struct wire_task_resources_summary, n + 1);
    ret->resources_n = n;
    for (size_t i = 0; (container = core_allocation_container(c, row->id, i)); i++) {
        struct wire_map_task_resources_summary_devices *devices =
            arena_new(a, struct wire_map_task_resources_summary_devices);
        devices->key = arena_strdup(a, container->agent_id);
        devices->value.devices = arena_array(a, struct wire_device, (size_t)container->device_n + 1);
        devices->value.devices_n = (size_t)container->device_n;
        for (int32_t d = 0; d < container->device_n; d++)
            devices->value.devices[d].id = container->device_id[d];
        ret->resources[i] = (struct wire_task_resources_summary){.resources_id = arena_strdup(a, container->id),
                                                                 .resources_type = "docker-container",
                                                                 .allocation_id = arena_strdup(a, row->id),
                                                                 .agent_devices = devices,
                                                                 .agent_devices_n = 1,
                                                                 .container_id = arena_strdup(a, container->id)};
    }
}

struct tasks_listing {
    struct core *core;
    const struct api_defaults *defaults;
    struct arena *arena;
    struct wire_map_task_allocation_summary *entry;
    size_t n;
    int32_t experiment_id, priority; /* of the last call of priority_of() */
};

static const struct sched_policy_type *policy_of_pool(const struct api_defaults *all, const char *pool)
{
    for (size_t i = 0; i < all->pool_n; i++)
        if (strcmp(all->pool[i].name, pool) == 0)
            return sched_policy_type(all->pool[i].sched.policy);
    return sched_policy_type(SCHED_BY_PRIORITY);
}

/* The priority of an experiment's job. Tasks of one experiment are often consecutive, and finding the priority takes
 * time in proportion to its trials, so that the last result is kept. */
static int32_t priority_of(struct tasks_listing *l, int32_t experiment_id)
{
    struct core_experiment_view experiment;
    if (experiment_id != l->experiment_id) {
        l->experiment_id = experiment_id;
        l->priority = core_experiment(l->core, experiment_id, &experiment) ? experiment.priority : 0;
    }
    return l->priority;
}

/* What the list shows of a trial or of a task that a user has launched. */
struct listed {
    const char *name;
    bool known; /* the core knows it */
    int32_t priority;
};

static struct listed listed_of(struct tasks_listing *l, const struct allocation_row *row)
{
    struct core_trial_view trial;
    struct core_task_view task;
    if (row->trial_id && core_trial(l->core, row->trial_id, &trial))
        return (struct listed){.name = arena_printf(l->arena, "Trial %d (Experiment %d)", row->trial_id,
                                                    trial.row->experiment_id),
                               .known = true,
                               .priority = priority_of(l, trial.row->experiment_id)};
    if (!row->trial_id && core_task(l->core, row->task_id, &task))
        return (struct listed){.name = arena_strdup(l->arena, task.launched->description),
                               .known = true,
                               .priority = task.launched->priority};
    return (struct listed){.name = ""};
}

static void add_allocation(struct tasks_listing *l, const struct allocation_row *row)
{
    const struct sched_policy_type *policy = policy_of_pool(l->defaults, row->pool);
    struct listed shown = listed_of(l, row);
    struct wire_map_task_allocation_summary *e = &l->entry[l->n++];
    e->key = arena_strdup(l->arena, row->id);
    e->value = (struct wire_task_allocation_summary){.task_id = arena_strdup(l->arena, row->task_id),
                                                     .allocation_id = e->key,
                                                     .name = shown.name,
                                                     .registered_time = row->request_us,
                                                     .has_registered_time = true,
                                                     .resource_pool = arena_strdup(l->arena, row->pool),
                                                     /* clients know round_robin as "priority" */
                                                     .slots_needed = row->slots,
                                                     .scheduler_type = policy->has_queue ? "priority" : policy->name,
                                                     .has_priority = shown.known && policy->has_queue,
                                                     .priority = shown.priority};
    resources_to_summary(l->core, row, l->arena, &e->value);
}

/* Goes on to encode the reply on a worker if there are many tasks; nothing of the core is in the reply any more. */
static int leave_loop(struct req *r, struct error *err)
{
    return 0;
}

static void list_allocations(struct req *r, struct core *core, struct wire_get_tasks_response *ret)
{
    struct core *c = core;
    const struct allocation_row *const *row;
    size_t n = core_allocations(c, &r->arena, &row);
    struct tasks_listing l = {.core = c,
                              .defaults = &r->api->defaults,
                              .arena = &r->arena,
                              .entry = arena_array(&r->arena, struct wire_map_task_allocation_summary, n + 1)};
    access_has(r, PERMISSION_VIEW_NSC, 0); /* for access_check_asked(): there may be no allocation */
    for (size_t i = 0; i < n; i++)
        if (access_sees_allocation(r, c, row[i]))
            add_allocation(&l, row[i]);
    ret->allocation_id_to_summary = l.entry;
    ret->allocation_id_to_summary_n = l.n;
}

int api_get_tasks(struct req *r, struct core *core, const struct wire_get_tasks_request *in,
                  struct wire_get_tasks_response *ret, struct error *err)
{
    list_allocations(r, core, ret);
    return ret->allocation_id_to_summary_n > TASKS_ON_LOOP_MAX ? req_then_work(r, leave_loop) : 0;
}

/* ---- the same list in the older form ----------------------------------------------------------------------------- */

struct renamed {
    const char *from, *to;
};

/* Makes an object with those members of `v` that exist, under their older names. */
static struct json_object *rename_members(struct json_object *v, const struct renamed *name, size_t n)
{
    struct json_object *ret = json_object_new_object(), *member;
    for (size_t i = 0; i < n; i++)
        if (json_object_object_get_ex(v, name[i].from, &member))
            json_object_object_add(ret, name[i].to, json_object_get(member));
    return ret;
}

static struct json_object *legacy_resources(struct json_object *list)
{
    static const struct renamed names[] = {{"resourcesId", "resources_id"},
                                           {"resourcesType", "resources_type"},
                                           {"allocationId", "allocation_id"},
                                           {"containerId", "container_id"},
                                           {"started", "Started"},
                                           {"exited", "Exited"}};
    struct json_object *ret = json_object_new_array();
    for (size_t i = 0; i < json_object_array_length(list); i++) {
        struct json_object *v = json_object_array_get_idx(list, i), *agents;
        struct json_object *resources = rename_members(v, names, sizeof(names) / sizeof(*names));
        struct json_object *devices = json_object_new_object();
        if (json_object_object_get_ex(v, "agentDevices", &agents)) {
            json_object_object_foreach(agents, agent, held)
                json_object_object_add(devices, agent, json_object_get(json_object_object_get(held, "devices")));
        }
        json_object_object_add(resources, "agent_devices", devices);
        json_object_array_add(ret, resources);
    }
    return ret;
}

static struct json_object *legacy_summary(struct json_object *v)
{
    static const struct renamed names[] = {{"taskId", "task_id"},
                                           {"allocationId", "allocation_id"},
                                           {"name", "name"},
                                           {"registeredTime", "registered_time"},
                                           {"resourcePool", "resource_pool"},
                                           {"slotsNeeded", "slots_needed"},
                                           {"schedulerType", "scheduler_type"},
                                           {"priority", "priority"}};
    struct json_object *summary = rename_members(v, names, sizeof(names) / sizeof(*names)), *resources = NULL;
    json_object_object_get_ex(v, "resources", &resources);
    json_object_object_add(summary, "resources", legacy_resources(resources));
    return summary;
}

static int print_legacy(struct req *r, struct error *err)
{
    const struct wire_get_tasks_response *listed = r->state;
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    cleanup_json struct json_object *reply = NULL, *legacy = json_object_new_object();
    codec_encode(&wire_msg_get_tasks_response, listed, &text);
    if (json_parse(strbuf_str(&text), text.n, &reply, err) < 0)
        return -1;
    json_object_object_foreach(json_object_object_get(reply, "allocationIdToSummary"), id, summary)
        json_object_object_add(legacy, id, legacy_summary(summary));
    json_print(legacy, &r->reply.body);
    strbuf_addc(&r->reply.body, '\n');
    return 0;
}

int raw_tasks(struct req *r, struct core *core, struct error *err)
{
    struct wire_get_tasks_response *listed = arena_new(&r->arena, struct wire_get_tasks_response);
    list_allocations(r, core, listed);
    r->state = listed;
    return req_then_work(r, print_legacy);
}

/* ---- context: for a trial's task the model definition of its experiment, for a launched task the files sent with it -
 */

/* Fails if files were sent with the task, or taken over by it, and are not kept any more. */
static int check_kept(struct store *db, const char *task_id, struct error *err)
{
    bool sent;
    if (store_context_sent(db, task_id, &sent, err) < 0)
        return -1;
    return !sent ? 0
                 : error_set(err, ERR_NOT_FOUND,
                             "the files of task '%s' are no longer kept: they are removed some days after the task's "
                             "end (retention_policy.context_days)",
                             task_id);
}

int api_get_task_context_directory(struct req *r, struct store *db,
                                   const struct wire_get_task_context_directory_request *in,
                                   struct wire_get_task_context_directory_response *ret, struct error *err)
{
    struct store_task t;
    struct store_trial trial;
    const void *tgz = NULL;
    size_t n = 0;
    if (store_task_get(db, in->task_id, &r->arena, &t, err) < 0)
        return -1;
    if (!t.has_trial && store_context_get(db, t.id, &r->arena, &tgz, &n, err) < 0)
        return -1;
    if (t.has_trial && (store_trial_get(db, t.trial_id, /* full= */ false, &r->arena, &trial, err) < 0 ||
                        store_experiment_model_definition(db, trial.row.experiment_id, &r->arena, &tgz, &n, err) < 0))
        return -1;
    if (!t.has_trial && n == 0 && check_kept(db, t.id, err) < 0)
        return -1;
    ret->b64_tgz = base64_in_arena(tgz, n, &r->arena);
    return 0;
}
