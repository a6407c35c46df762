/* Resource pools and their queues. */
#include <ctype.h>
#include <string.h>

#include "api/cluster/config_policies.h"
#include "api/cluster/pool_bindings.h"
#include "api/pipeline/access.h"
#include "api/pipeline/convert.h"
#include "api/pipeline/identity.h"
#include "api/pipeline/internal.h"
#include "common/config/config.h"
#include "core/core.h"
#include "core/sched/policy.h"
#include "gen/handlers.h"
#include "store/cluster/pool_bindings.h"
#include "store/experiments/experiments.h"

/* ---- pools ------------------------------------------------------------------------------------------------------- */

static const struct wire_job_queue_stats *queue_stats(struct req *r, struct core *core, const char *pool)
{
    struct core_job_view *job;
    size_t n = core_queue(core, pool, &r->arena, &job);
    struct wire_job_queue_stats *w = arena_new(&r->arena, struct wire_job_queue_stats);
    for (size_t i = 0; i < n; i++) {
        w->scheduled_count += job[i].scheduled;
        w->queued_count += !job[i].scheduled;
    }
    return w;
}

static enum wire_resourcepool_scheduler_type scheduler_type(const struct api_pool_defaults *d)
{
    int32_t number = WIRE_RESOURCEPOOL_SCHEDULER_TYPE_UNSPECIFIED;
    cleanup_strbuf struct strbuf name = STRBUF_INIT;
    strbuf_adds(&name, "SCHEDULER_TYPE_");
    for (const char *c = sched_policy_type(d->sched.policy)->name; *c != '\0'; c++)
        strbuf_addc(&name, (char)toupper((unsigned char)*c));
    codec_enum_number(&wire_enum_resourcepool_scheduler_type, strbuf_str(&name), &number);
    return (enum wire_resourcepool_scheduler_type)number;
}

/* Details of the scheduler. Priorities are shown only if the pool's jobs are in a queue. */
static const struct wire_resourcepool_resource_pool_detail *pool_detail(const struct api_pool_defaults *d,
                                                                        struct arena *a)
{
    struct wire_resourcepool_resource_pool_detail *w = arena_new(a, struct wire_resourcepool_resource_pool_detail);
    if (!sched_policy_type(d->sched.policy)->has_queue)
        return w;
    struct wire_resourcepool_resource_pool_priority_scheduler_detail *p =
        arena_new(a, struct wire_resourcepool_resource_pool_priority_scheduler_detail);
    p->preemption = d->sched.preemption;
    p->default_priority = d->default_priority;
    w->priority_scheduler = p;
    return w;
}

/* The number of slots of each agent if all agents of the pool have the same number, else 0; and the most common type
 * among the first agent's slots. */
static void slots_of_agents(const struct core *core, const char *pool, int32_t *ret_slots,
                            enum wire_device_type *ret_type)
{
    bool seen = false;
    *ret_slots = 0;
    *ret_type = WIRE_DEVICE_TYPE_UNSPECIFIED;
    struct core_agent_view v;
    for (const struct agent *at = NULL; core_agent_next(core, &at, &v);) {
        struct core_slot_view s;
        if (v.lost_us != 0 || strcmp(v.pool, pool) != 0)
            continue;
        if (!seen && core_slot(core, v.id, 0, &s))
            *ret_type = (enum wire_device_type)s.device->type;
        *ret_slots = !seen || *ret_slots == (int32_t)v.slot_n ? (int32_t)v.slot_n : 0;
        seen = true;
    }
}

/* Shows the limits of an elastic pool. The contract has no word for a provider that is not a cloud. */
static void add_scaling(struct req *r, const struct core_pool_view *v, const struct api_pool_defaults *d,
                        struct wire_resourcepool_resource_pool *ret)
{
    const struct scale_opts *o = v->scale;
    ret->type = WIRE_RESOURCEPOOL_RESOURCE_POOL_TYPE_UNSPECIFIED;
    ret->provider = ret->location = d->provider;
    ret->master_url = d->master_url;
    ret->master_cert_name = d->master_cert_name;
    ret->min_agents = o->min_instances;
    ret->max_agents = o->max_instances;
    ret->slots_per_agent = o->slots_per_instance;
    ret->max_idle_agent_period = (float)o->max_idle_us / 1e6f;
    ret->max_agent_starting_period = (float)o->max_starting_us / 1e6f;
    ret->instances = v->instance_n;
    ret->starting_instances = v->starting_n;
    ret->launch_problem = v->problem ? arena_strdup(&r->arena, v->problem) : NULL;
}

static void pool_to_wire(struct req *r, struct core *core, const struct core_pool_view *v,
                         const struct api_pool_defaults *d, struct wire_resourcepool_resource_pool *ret)
{
    const struct api_defaults *all = &r->api->defaults;
    *ret = (struct wire_resourcepool_resource_pool){
        .name = arena_strdup(&r->arena, v->name),
        .description = d->description,
        .type = WIRE_RESOURCEPOOL_RESOURCE_POOL_TYPE_STATIC,
        .num_agents = v->agent_n,
        .slots_available = v->slots,
        .slots_used = v->slots_used,
        .aux_container_capacity = v->aux_capacity,
        .aux_containers_running = v->aux_used,
        .default_compute_pool = all->compute_pool && strcmp(v->name, all->compute_pool) == 0,
        .default_aux_pool = all->aux_pool && strcmp(v->name, all->aux_pool) == 0,
        .aux_container_capacity_per_agent = v->agent_n ? v->aux_capacity / v->agent_n : d->aux_per_agent,
        .scheduler_type = scheduler_type(d),
        .scheduler_fitting_policy = d->sched.fitting == FITTING_WORST ? WIRE_RESOURCEPOOL_FITTING_POLICY_WORST
                                                                      : WIRE_RESOURCEPOOL_FITTING_POLICY_BEST,
        .location = "on-prem",
        .details = pool_detail(d, &r->arena),
        .stats = queue_stats(r, core, v->name),
        .cluster_name = "default"};
    slots_of_agents(core, v->name, &ret->slots_per_agent, &ret->slot_type);
    if (v->elastic)
        add_scaling(r, v, d, ret);
}

/* Indexes of the pools to be listed: all, or those that are bound to no workspace. */
struct pool_list {
    size_t *index, n;
};

static int show_pools(struct req *r, struct core *core, struct error *err)
{
    const struct wire_get_resource_pools_request *in = r->in;
    struct wire_get_resource_pools_response *ret = r->ret;
    const struct pool_list *list = r->state;
    struct page page = page_of(in->offset, in->limit);
    struct page_window w;
    if (page_of_memory_list(page, (int64_t)list->n, &w, err) < 0)
        return -1;
    ret->resource_pools = arena_array(&r->arena, struct wire_resourcepool_resource_pool, (size_t)(w.end - w.start) + 1);
    for (int32_t i = w.start; i < w.end; i++) {
        struct core_pool_view v;
        size_t at = list->index[i];
        if (core_pool(core, at, &v))
            pool_to_wire(r, core, &v, &r->api->defaults.pool[at], &ret->resource_pools[ret->resource_pools_n++]);
    }
    ret->pagination = pagination(page, w, &r->arena);
    return 0;
}

static bool is_among(const char *name, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(name, list[i]) == 0)
            return true;
    return false;
}

static int leave_out_bound(struct req *r, struct store *db, struct error *err)
{
    const struct api_defaults *d = &r->api->defaults;
    struct pool_list *list = r->state;
    const char **bound;
    size_t n;
    if (store_pools_bound(db, &r->arena, &bound, &n, err) < 0)
        return -1;
    list->n = 0;
    for (size_t i = 0; i < d->pool_n; i++)
        if (!is_among(d->pool[i].name, bound, n))
            list->index[list->n++] = i;
    return req_then_loop(r, show_pools);
}

int api_get_resource_pools(struct req *r, struct core *core, const struct wire_get_resource_pools_request *in,
                           struct wire_get_resource_pools_response *ret, struct error *err)
{
    struct pool_list *list = arena_new(&r->arena, struct pool_list);
    size_t n = core_pool_n(core);
    list->index = arena_array(&r->arena, size_t, n + 1);
    for (size_t i = 0; i < n; i++)
        list->index[list->n++] = i;
    r->state = list;
    return in->unbound ? req_then_read(r, leave_out_bound) : show_pools(r, core, err);
}

/* ---- jobs: the order from the core, names and owners from the store ---------------------------------------------- */

enum { JOBS_DEFAULT = 100 };

struct jobs {
    struct core_job_view *job;
    bool *limited;               /* the one who asks may not see what the job is; in the order of `job` */
    const char **id;             /* copies, since the view belongs to the core */
    struct core_wait_view *wait; /* for the jobs in the window */
    double *progress;
    size_t n;
    const char *pool;
    struct page page;
    struct page_window window;
    bool v2;
};

static int fill_experiment(struct req *r, struct store *db, int32_t id, struct wire_job *ret, struct error *err)
{
    struct store_experiment x;
    if (store_experiment_get(db, id, /* with_config= */ false, &r->arena, &x, err) < 0)
        return -1;
    ret->type = WIRE_JOB_TYPE_EXPERIMENT;
    ret->submission_time = x.start_us;
    ret->username = x.username;
    ret->user_id = x.user_id;
    ret->is_preemptible = true;
    ret->entity_id = arena_printf(&r->arena, "%d", x.id);
    ret->name = x.name;
    ret->progress = (float)x.progress;
    ret->workspace_id = x.workspace_id;
    return 0;
}

static int fill_task(struct req *r, struct store *db, const char *id, struct wire_job *ret, struct error *err)
{
    struct store_launched_task t;
    int32_t type = WIRE_JOB_TYPE_UNSPECIFIED;
    if (store_launched_task_get(db, id, &r->arena, &t, err) < 0)
        return -1;
    codec_enum_number(&wire_enum_job_type, arena_printf(&r->arena, "TYPE_%s", task_kind_name(t.kind)), &type);
    ret->type = (enum wire_job_type)type;
    ret->submission_time = t.start_us;
    ret->username = t.username;
    ret->user_id = t.owner_id;
    ret->entity_id = t.id;
    ret->name = t.description;
    ret->workspace_id = t.workspace_id;
    return 0;
}

static int fill_job(struct req *r, struct store *db, const struct jobs *j, size_t i, struct wire_job *ret,
                    struct error *err)
{
    const struct core_job_view *v = &j->job[i];
    struct wire_job_summary *summary = arena_new(&r->arena, struct wire_job_summary);
    job_summary_to_wire(v, &j->wait[i - (size_t)j->window.start], summary);
    *ret = (struct wire_job){.summary = summary,
                             .has_submission_time = true,
                             .resource_pool = j->pool,
                             .priority = v->priority,
                             .weight = v->weight,
                             .job_id = j->id[i],
                             .requested_slots = v->requested_slots,
                             .allocated_slots = v->allocated_slots};
    return v->owner.task_id ? fill_task(r, db, v->owner.task_id, ret, err)
                            : fill_experiment(r, db, v->owner.experiment_id, ret, err);
}

/* What everybody who waits in the queue has to know of a job in another workspace: that it is there, where it stands
 * and how much it asks for. Its summary says neither why it waits nor until when, which may name other people's work.
 */
static const struct wire_job_limited_job *limited_job(struct req *r, const struct wire_job *job)
{
    struct wire_job_limited_job *l = arena_new(&r->arena, struct wire_job_limited_job);
    struct wire_job_summary *summary = arena_new(&r->arena, struct wire_job_summary);
    *summary = (struct wire_job_summary){.state = job->summary->state, .jobs_ahead = job->summary->jobs_ahead};
    *l = (struct wire_job_limited_job){.summary = summary,
                                       .type = job->type,
                                       .resource_pool = job->resource_pool,
                                       .is_preemptible = job->is_preemptible,
                                       .priority = job->priority,
                                       .weight = job->weight,
                                       .job_id = job->job_id,
                                       .requested_slots = job->requested_slots,
                                       .allocated_slots = job->allocated_slots,
                                       .progress = job->progress,
                                       .workspace_id = job->workspace_id};
    return l;
}

static int jobs_read(struct req *r, struct store *db, struct error *err)
{
    const struct jobs *j = r->state;
    size_t n = (size_t)(j->window.end - j->window.start);
    struct wire_job *job = arena_array(&r->arena, struct wire_job, n + 1);
    for (size_t i = 0; i < n; i++)
        if (fill_job(r, db, j, (size_t)j->window.start + i, &job[i], err) < 0)
            return -1;
    const struct wire_pagination *page = pagination(j->page, j->window, &r->arena);
    if (!j->v2) {
        *(struct wire_get_jobs_response *)r->ret = (struct wire_get_jobs_response){.pagination = page,
                                                                                   .jobs = job,
                                                                                   .jobs_n = n};
        return 0;
    }
    struct wire_job_rbac_job *shown = arena_array(&r->arena, struct wire_job_rbac_job, n + 1);
    for (size_t i = 0; i < n; i++) {
        bool limited = j->limited[(size_t)j->window.start + i];
        shown[i].full = limited ? NULL : &job[i];
        shown[i].limited = limited ? limited_job(r, &job[i]) : NULL;
    }
    *(struct wire_get_jobs_v2_response *)r->ret = (struct wire_get_jobs_v2_response){.pagination = page,
                                                                                     .jobs = shown,
                                                                                     .jobs_n = n};
    return 0;
}

static void reverse_jobs(struct jobs *j)
{
    for (size_t i = 0, last = j->n; i < j->n / 2; i++) {
        struct core_job_view other = j->job[i];
        bool limited = j->limited[i];
        last--;
        j->job[i] = j->job[last];
        j->limited[i] = j->limited[last];
        j->job[last] = other;
        j->limited[last] = limited;
    }
}

static bool is_pool_wanted(const struct core_job_view *v, const enum wire_job_state *state, size_t n)
{
    if (n == 0)
        return true;
    for (size_t i = 0; i < n; i++)
        if (state[i] == (v->scheduled ? WIRE_JOB_STATE_SCHEDULED : WIRE_JOB_STATE_QUEUED))
            return true;
    return false;
}

static int find_pool(struct req *r, struct core *core, const char *name, struct error *err)
{
    struct core_pool_view v;
    for (size_t i = 0; name && core_pool(core, i, &v); i++)
        if (strcmp(v.name, name) == 0)
            return 0;
    if (!name)
        return error_set(err, ERR_INVALID, "name a resource pool: this cluster has no default one");
    return error_set(err, ERR_NOT_FOUND, "resource pool \"%s\" does not exist", name);
}

/* Copies the texts of a job, because the view is valid until the next step only. */
static void keep_texts(struct req *r, const struct jobs *j, size_t i)
{
    struct core_job_owner *owner = &j->job[i].owner;
    j->id[i] = arena_strdup(&r->arena, j->job[i].job_id);
    owner->task_id = owner->task_id ? arena_strdup(&r->arena, owner->task_id) : NULL;
}

static int list_jobs(struct req *r, struct core *core, const struct wire_get_jobs_v2_request *in, bool v2,
                     struct error *err)
{
    struct jobs *j = arena_new(&r->arena, struct jobs);
    struct core_job_view *all;
    j->pool = in->resource_pool && *in->resource_pool ? in->resource_pool : r->api->defaults.compute_pool;
    if (find_pool(r, core, j->pool, err) < 0)
        return -1;
    size_t n = core_queue(core, j->pool, &r->arena, &all);
    j->job = all;
    access_has(r, PERMISSION_VIEW_NSC, 0); /* for access_check_asked(): the queue may be empty */
    j->limited = arena_array(&r->arena, bool, n + 1);
    for (size_t i = 0; i < n; i++) {
        bool sees = access_sees_job(r, core, all[i].owner);
        if (!is_pool_wanted(&all[i], in->states, in->states_n) ||
            (!sees && !v2)) /* the older list has no form for it */
            continue;
        j->limited[j->n] = !sees;
        j->job[j->n++] = all[i];
    }
    if (in->order_by == WIRE_ORDER_BY_DESC)
        reverse_jobs(j);
    j->id = arena_array(&r->arena, const char *, j->n + 1);
    for (size_t i = 0; i < j->n; i++)
        keep_texts(r, j, i);
    j->page = page_of(in->offset, in->limit);
    j->v2 = v2;
    struct page asked = {.offset = in->offset, .limit = in->limit ? in->limit : JOBS_DEFAULT};
    if (page_of_memory_list(asked, (int64_t)j->n, &j->window, err) < 0)
        return -1;
    size_t shown = (size_t)(j->window.end - j->window.start);
    j->wait = arena_array(&r->arena, struct core_wait_view, shown + 1);
    struct core_wait_notes notes = {0};
    for (size_t i = 0; i < shown; i++)
        if (!j->job[(size_t)j->window.start + i].leaving)
            core_wait_noted(core, j->job[(size_t)j->window.start + i].owner, r->now_us, &r->arena, &notes, &j->wait[i]);
    r->state = j;
    return req_then_read(r, jobs_read);
}

int api_get_jobs_v2(struct req *r, struct core *core, const struct wire_get_jobs_v2_request *in,
                    struct wire_get_jobs_v2_response *ret, struct error *err)
{
    return list_jobs(r, core, in, true, err);
}

int api_get_jobs(struct req *r, struct core *core, const struct wire_get_jobs_request *in,
                 struct wire_get_jobs_response *ret, struct error *err)
{
    struct wire_get_jobs_v2_request same = {.offset = in->offset,
                                            .limit = in->limit,
                                            .resource_pool = in->resource_pool,
                                            .order_by = in->order_by,
                                            .states = in->states,
                                            .states_n = in->states_n};
    return list_jobs(r, core, &same, false, err);
}

int api_get_job_queue_stats(struct req *r, struct core *core, const struct wire_get_job_queue_stats_request *in,
                            struct wire_get_job_queue_stats_response *ret, struct error *err)
{
    size_t n = core_pool_n(core);
    ret->results = arena_array(&r->arena, struct wire_rp_queue_stat, n + 1);
    for (size_t i = 0; i < n; i++) {
        struct core_pool_view v;
        bool asked = in->resource_pools_n == 0;
        if (!core_pool(core, i, &v))
            break;
        for (size_t k = 0; k < in->resource_pools_n && !asked; k++)
            asked = strcmp(in->resource_pools[k], v.name) == 0;
        if (asked)
            ret->results[ret->results_n++] = (struct wire_rp_queue_stat){.stats = queue_stats(r, core, v.name),
                                                                         .resource_pool = arena_strdup(&r->arena,
                                                                                                       v.name)};
    }
    return 0;
}

/* ---- changing the queue ------------------------------------------------------------------------------------------ */

static int queue_change_of(const struct wire_job_queue_control *w, struct core_queue_change *ret, struct error *err)
{
    *ret = (struct core_queue_change){.job_id = w->job_id ? w->job_id : "",
                                      .priority = w->priority,
                                      .weight = w->weight,
                                      .pool = w->resource_pool};
    int named = (w->ahead_of != NULL) + (w->behind_of != NULL) + (w->resource_pool != NULL) + w->has_priority +
                w->has_weight;
    if (named != 1)
        return error_set(
            err, ERR_INVALID,
            "job %s: each change names one of priority, weight, aheadOf, behindOf, resourcePool, and nothing else",
            ret->job_id);
    ret->anchor = w->ahead_of ? w->ahead_of : w->behind_of;
    ret->what = w->ahead_of        ? QUEUE_AHEAD_OF
                : w->behind_of     ? QUEUE_BEHIND_OF
                : w->resource_pool ? QUEUE_POOL
                : w->has_priority  ? QUEUE_PRIORITY
                                   : QUEUE_WEIGHT;
    return 0;
}

struct queue_request {
    struct core_queue_change *change;
    int32_t *experiment_id; /* for each change of an experiment's job; else 0 */
    const char **task_id;   /* for each change of a launched task's job; else NULL */
};

static int change_queue(struct req *r, struct core *core, struct error *err)
{
    const struct queue_request *q = r->state;
    const struct wire_update_job_queue_request *in = r->in;
    struct core_event ev = {.type = CORE_QUEUE_CHANGE,
                            .now_us = r->now_us,
                            .queue = {.change = q->change,
                                      .n = in->updates_n,
                                      .refuse_misfits = r->api->defaults.launch_error}};
    return req_core_step(r, core, &ev, NULL, err);
}

/* Finds the workspace in which a job counts, and which policies are for it. */
static int find_workspace(struct req *r, struct store *db, const struct queue_request *q, size_t i,
                          enum policy_workload *ret_workload, int32_t *ret, struct error *err)
{
    struct store_experiment x;
    struct store_launched_task t;
    *ret_workload = q->task_id[i] ? POLICY_NTSC : POLICY_EXPERIMENT;
    if (q->task_id[i] ? store_launched_task_get(db, q->task_id[i], &r->arena, &t, err) < 0
                      : store_experiment_get(db, q->experiment_id[i], /* with_config= */ false, &r->arena, &x, err) < 0)
        return -1;
    *ret = q->task_id[i] ? t.workspace_id : x.workspace_id;
    return 0;
}

/* Checks a change against the rules of the job's workspace: a job must not go to a pool that the workspace may not use,
 * and a priority or weight has to fit the configuration policies. */
static int check_change_of_workspace(struct req *r, struct store *db, const struct queue_request *q, size_t i,
                                     struct error *err)
{
    const struct core_queue_change *x = &q->change[i];
    const struct policy_change change = {.set_priority = x->what == QUEUE_PRIORITY,
                                         .priority = x->priority,
                                         .set_weight = x->what == QUEUE_WEIGHT,
                                         .weight = x->weight};
    enum policy_workload workload;
    int32_t workspace_id;
    if (find_workspace(r, db, q, i, &workload, &workspace_id, err) < 0)
        return -1;
    if (x->what == QUEUE_POOL)
        return q->task_id[i] ? 0 : pool_check_workspace(r, db, x->pool, workspace_id, err);
    return config_policies_check_change(r, db, workload, workspace_id, &change, err) < 0
               ? error_wrap(err, "job %s", x->job_id)
               : 0;
}

static bool is_ruled_by_workspace(const struct core_queue_change *x)
{
    return x->what == QUEUE_POOL || x->what == QUEUE_PRIORITY || x->what == QUEUE_WEIGHT;
}

static int check_workspaces(struct req *r, struct store *db, struct error *err)
{
    const struct wire_update_job_queue_request *in = r->in;
    const struct queue_request *q = r->state;
    for (size_t i = 0; i < in->updates_n; i++)
        if (is_ruled_by_workspace(&q->change[i]) && check_change_of_workspace(r, db, q, i, err) < 0)
            return -1;
    return req_then_loop(r, change_queue);
}

static int may_change_job(struct req *r, struct core *core, struct core_job_owner job, struct error *err)
{
    struct core_experiment_view x;
    struct core_task_view t;
    int32_t owner_id, workspace_id = 0;
    if (job.task_id) {
        owner_id = core_task(core, job.task_id, &t) ? t.row->owner_id : 0;
        workspace_id = owner_id && t.launched ? t.launched->workspace_id : 0;
    } else if (core_experiment(core, job.experiment_id, &x)) {
        owner_id = x.row->owner_id;
    } else {
        return error_set(err, ERR_NOT_FOUND, "experiment '%d' not found", job.experiment_id);
    }
    const struct identity_user *owner = identities_user(api_identities(r->api), owner_id);
    struct access_id id = job.task_id ? ACCESS_TASK(job.task_id) : ACCESS_EXPERIMENT(job.experiment_id);
    return access_may_change_of(r, id, owner_id, owner ? owner->username : NULL,
                                job.task_id ? workspace_id : access_workspace_of_live(r, job.experiment_id), err);
}

int api_update_job_queue(struct req *r, struct core *core, const struct wire_update_job_queue_request *in,
                         struct wire_update_job_queue_response *ret, struct error *err)
{
    struct queue_request *q = arena_new(&r->arena, struct queue_request);
    bool reads_store = false;
    if (config_bool(api_info(r->api)->config, "security.authz.strict_job_queue_control") &&
        req_need_admin(r, "change the job queue", err) < 0)
        return -1;
    q->change = arena_array(&r->arena, struct core_queue_change, in->updates_n + 1);
    q->experiment_id = arena_array(&r->arena, int32_t, in->updates_n + 1);
    q->task_id = arena_array(&r->arena, const char *, in->updates_n + 1);
    for (size_t i = 0; i < in->updates_n; i++) {
        if (queue_change_of(&in->updates[i], &q->change[i], err) < 0)
            return -1;
        struct core_job_owner owner;
        if (core_job_find(core, q->change[i].job_id, &owner, err) < 0 || may_change_job(r, core, owner, err) < 0)
            return -1;
        q->experiment_id[i] = owner.experiment_id;
        q->task_id[i] = owner.task_id ? arena_strdup(&r->arena, owner.task_id) : NULL;
        reads_store = reads_store || is_ruled_by_workspace(&q->change[i]);
    }
    r->state = q;
    return reads_store ? req_then_read(r, check_workspaces) : change_queue(r, core, err);
}
