#include "core/resources/elastic.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/must.h"
#include "common/config/schema.h"
#include "core/resources/agents.h"
#include "core/resources/allocation.h"
#include "core/resources/instances.h"
#include "core/resources/rm.h"
#include "core/sched/reasons.h"
#include "core/state/step.h"

#define SHORTEST_PAUSE_US 1000000
#define LONGEST_PAUSE_US 60000000

struct elastic {
    struct scale_opts opts;
    struct instances instances;
    struct scale_demand waits; /* what waits, as far as agents could be launched for it */
    /* What the largest machine of the pool has, by its agent. has_seen: such an agent has connected since the master
     * started, so that it is known what a machine has. */
    struct sched_needs largest;
    bool has_seen;
    bool listed;            /* the provider has sent a list at least once */
    uint64_t ordered, seen; /* numbers of the last order, and of the last order carried out before the latest list */
    int failures;           /* the number of launches that failed in a row */
    int64_t retry_us;
    char *problem;      /* why the last launch failed; NULL: it succeeded */
    char *list_problem; /* why the provider cannot list its machines; NULL: it has listed them */
    struct timer timer;
    bool due;
};

struct elastic *elastic_new(const struct scale_opts *opts)
{
    struct elastic *e = must_calloc(1, sizeof(*e));
    e->opts = *opts;
    instances_init(&e->instances, &e->opts);
    return e;
}

void elastic_free(struct core *c, struct elastic *e)
{
    if (!e)
        return;
    timer_clear(&c->timers, &e->timer);
    instances_release(c, &e->instances);
    free(e->problem);
    free(e->list_problem);
    free(e);
}

void elastic_timer(struct timer *t)
{
    container_of(t, struct elastic, timer)->due = true;
}

void elastic_touch(struct pool *p, const struct agent *agent)
{
    struct instance *x = !p->elastic ? NULL : instances_find(&p->elastic->instances, agent->row.id);
    if (x)
        instances_touch(&p->elastic->instances, x);
}

bool elastic_lists(const struct agent *agent)
{
    const struct elastic *e = agent->pool->elastic;
    return e && (!e->listed || instances_find(&e->instances, agent->row.id));
}

/* ---- launches that fail ------------------------------------------------------------------------------------------ */

static int64_t pause_us(const struct elastic *e)
{
    const struct scale_opts *o = &e->opts;
    if (o->launch_error_timeout_us > 0 && e->failures > o->launch_error_retries)
        return o->launch_error_timeout_us;
    int doubled = e->failures - 1;
    return doubled < 6 ? (int64_t)SHORTEST_PAUSE_US << doubled : LONGEST_PAUSE_US;
}

/* Notes a launch that failed. A failure during the pause after a failure does not count as another one. */
__attribute__((format(printf, 3, 4))) static void note_launch_failure(const struct core *c, struct elastic *e,
                                                                      const char *fmt, ...)
{
    struct strbuf text = STRBUF_INIT;
    va_list ap;
    va_start(ap, fmt);
    strbuf_vaddf(&text, fmt, ap);
    va_end(ap);
    free(e->problem);
    e->problem = strbuf_detach(&text);
    if (c->now_us < e->retry_us)
        return;
    e->failures++;
    e->retry_us = c->now_us + pause_us(e);
}

static void note_launch_success(struct elastic *e)
{
    free(e->problem);
    e->problem = NULL;
    e->failures = 0;
    e->retry_us = 0;
}

static const char *duration_text(struct core *c, int64_t us)
{
    struct strbuf text = STRBUF_INIT;
    duration_format(us * 1000, &text);
    const char *copy = arena_strdup(&c->out->arena, strbuf_str(&text));
    strbuf_release(&text);
    return copy;
}

/* ---- what the provider lists ------------------------------------------------------------------------------------- */

/* Forgets the agents whose machines are not there any more. An agent that is still connected is forgotten when its
 * connection ends. */
static void forget_vanished(struct core *c, const struct pool *p)
{
    for (struct agent *agent = c->agents; agent; agent = agent->hh.next)
        if (agent->pool == p && agent->row.instance && agent->presence != AGENT_CONNECTED && !elastic_lists(agent))
            fact_add(c, (struct fact){FACT_MACHINE_GONE, .agent = agent});
}

static void count_those_with_needs(struct pool *p, int by)
{
    const struct allocation *al;
    TAILQ_FOREACH(al, &p->allocations, in_pool)
        if (al->known_to_sched && al->request.state == SCHED_PENDING && needs_any(&al->request.needs))
            elastic_waits(p, &al->request, by);
}

static bool is_larger(const struct sched_needs *a, const struct sched_needs *b)
{
    return a->memory_bytes != b->memory_bytes ? a->memory_bytes > b->memory_bytes : a->millicores > b->millicores;
}

/* Learns from the agent on a listed machine what machines of the pool have. An agent on no such machine says nothing of
 * those that the pool launches. Nor does an agent that does not tell what it has, on a machine that ran before the
 * master started: the next machine may have a newer agent. */
static void learn_from_machine(struct core *c, struct pool *p, const struct instance *x)
{
    struct elastic *e = p->elastic;
    const struct agent *agent = agent_find(c, x->id);
    if (!agent || agent->pool != p || agent->presence != AGENT_CONNECTED || (x->inherited && !needs_any(&agent->has)) ||
        (e->has_seen && !is_larger(&agent->has, &e->largest)))
        return;
    count_those_with_needs(p, -1); /* what was counted may count no more, and what was not counted may count now */
    e->has_seen = true;
    e->largest = agent->has;
    count_those_with_needs(p, 1);
}

/* Finds out which agents are on the machines and what these do, for the machines for which that may have changed. */
static bool update_instances(struct core *c, struct pool *p)
{
    struct elastic *e = p->elastic;
    bool any = false, came;
    for (const struct instance *x; (x = instances_look(c, p, &e->instances, &came));) {
        any = true;
        learn_from_machine(c, p, x);
        if (came)
            note_launch_success(e);
    }
    return any;
}

static void note_stopped(struct core *c, struct elastic *e, const struct core_instance *seen)
{
    struct instance *x = instances_find(&e->instances, seen->id);
    if (seen->state != INSTANCE_STOPPED || x->has_connected || x->failed)
        return;
    x->failed = true;
    note_launch_failure(c, e, "instance %s ended before its agent had connected%s%s", x->id,
                        x->stop_detail[0] != '\0' ? ": " : "", x->stop_detail);
}

static void set_leaving(struct core *c, struct pool *p, struct instance *x, bool leaving)
{
    struct agent *agent = agent_find(c, x->id);
    instances_set_leaving(x, leaving);
    if (!agent || agent->leaving == leaving)
        return;
    agent->leaving = leaving;
    agent_changed(c, agent);
    if (!leaving) /* the agent takes new work again, so another pass may place waiting requests on it */
        timer_set(&c->timers, &p->pass, TIMER_POOL_PASS, c->now_us);
}

/* Notes that the provider cannot list its machines. What it listed last counts until it can. */
static void note_list_problem(struct elastic *e, const char *problem)
{
    free(e->list_problem);
    e->list_problem = problem ? must_asprintf("the provider cannot list its machines: %s", problem) : NULL;
}

/* Handles a machine that its provider takes back in a moment. Its agent gets no new task. Trials and generic tasks,
 * which can go on elsewhere, are asked for a checkpoint; all other tasks run until the machine ends. */
static void give_notice(struct core *c, struct pool *p, struct instance *x)
{
    struct agent *agent = agent_find(c, x->id);
    struct container *k;
    const char *reason = arena_printf(&c->out->arena, "%s is taken back by its provider%s%s", x->id,
                                      x->stop_detail[0] != '\0' ? ": " : "", x->stop_detail);
    set_leaving(c, p, x, true);
    if (!agent)
        return;
    LIST_FOREACH(k, &agent->containers, in_agent)
        if (k->allocation->trial || task_is_pausable(k->allocation->task))
            allocation_terminate(c, k->allocation, reason);
}

static void give_notices(struct core *c, struct pool *p)
{
    const struct instances *all = &p->elastic->instances;
    for (size_t i = 0; i < all->n; i++)
        if (all->at[i]->state == INSTANCE_ENDING)
            give_notice(c, p, all->at[i]);
}

int elastic_listed(struct core *c, const struct core_event *ev, struct error *err)
{
    struct pool *p = pool_find(c, ev->listed.pool);
    struct elastic *e = p ? p->elastic : NULL;
    if (!e)
        return error_set(err, ERR_NOT_FOUND, "resource pool \"%s\" is not elastic", ev->listed.pool);
    note_list_problem(e, ev->listed.list_error);
    bool answers = ev->listed.order == e->ordered && e->seen < e->ordered;
    if (ev->listed.list_error) {
        /* the next list says nothing of the launch any more */
        if (answers && ev->listed.launch_error)
            note_launch_failure(c, e, "%s", ev->listed.launch_error);
        return 0;
    }
    if (instances_take_list(c, &e->instances, ev->listed.instance, ev->listed.n, !e->listed, err) < 0)
        return -1;
    e->listed = e->due = true;
    e->seen = ev->listed.order;
    update_instances(c, p);
    for (size_t i = 0; i < ev->listed.n; i++)
        note_stopped(c, e, &ev->listed.instance[i]);
    give_notices(c, p);
    if (answers && ev->listed.launch_error)
        note_launch_failure(c, e, "%s", ev->listed.launch_error);
    forget_vanished(c, p);
    return 0;
}

/* ---- the decision ------------------------------------------------------------------------------------------------ */

/* Whether a machine of the pool has the cores and the memory. Before one is known, it is taken to have them. */
static bool machine_has_needs(const struct elastic *e, const struct sched_request *r)
{
    return !e->has_seen || needs_fit(&r->needs, &e->largest);
}

/* Nothing is launched for a request that the pool could not hold even at its greatest size. */
static bool calls_for_agents(const struct elastic *e, const struct sched_request *r)
{
    const struct scale_opts *o = &e->opts;
    if (!machine_has_needs(e, r))
        return false;
    if (!scale_counts(r->slots, o->slots_per_instance))
        return false;
    return r->single_agent ? r->slots <= o->slots_per_instance
                           : r->slots <= (int64_t)o->max_instances * o->slots_per_instance;
}

static int64_t slots_of(const struct job *job)
{
    return scale_job_slots(job->calling_slots, job->sched.max_slots);
}

void elastic_waits(struct pool *p, const struct sched_request *r, int by)
{
    struct elastic *e = p->elastic;
    struct job *job = container_of(r->job, struct job, sched);
    if (!e)
        return;
    e->waits.aux += r->slots == 0 && machine_has_needs(e, r) ? by : 0;
    e->waits.slots -= slots_of(job);
    job->calling_slots += calls_for_agents(e, r) ? by * r->slots : 0;
    e->waits.slots += slots_of(job);
}

struct sched_needs elastic_largest(const struct pool *p)
{
    return p->elastic ? p->elastic->largest : (struct sched_needs){0};
}

bool elastic_could_have(const struct pool *p, const struct sched_needs *needs)
{
    return p->elastic && machine_has_needs(p->elastic, &(struct sched_request){.needs = *needs});
}

void elastic_limits(struct pool *p, const struct job *job, int max_slots_before)
{
    if (p->elastic)
        p->elastic->waits.slots += slots_of(job) - scale_job_slots(job->calling_slots, max_slots_before);
}

static const char *reason_of(struct core *c, const struct elastic *e, const struct instance *x)
{
    switch (x->class) {
    case SCALE_STOPPED:
        if (x->state == INSTANCE_ENDING)
            return arena_printf(&c->out->arena, "taken back by its provider%s%s", x->stop_detail[0] != '\0' ? ": " : "",
                                x->stop_detail);
        return arena_printf(&c->out->arena, "stopped%s%s", x->stop_detail[0] != '\0' ? ": " : "", x->stop_detail);
    case SCALE_LONG_IDLE:
        return arena_printf(&c->out->arena, "idle for %s", duration_text(c, e->opts.max_idle_us));
    case SCALE_LONG_DISCONNECTED:
        if (!x->has_connected)
            return arena_printf(&c->out->arena, "not connected within %s", duration_text(c, e->opts.max_starting_us));
        return arena_printf(&c->out->arena, "disconnected for %s", duration_text(c, e->opts.max_disconnected_us));
    case SCALE_PENDING:
    case SCALE_STARTING:
    case SCALE_OCCUPIED:
    case SCALE_IDLE:
    case SCALE_DISCONNECTED:
    case SCALE_CLASS_NR:
        break;
    }
    return arena_printf(&c->out->arena, "more than max_instances, %d", e->opts.max_instances);
}

/* Returns the least number of machines that the pool keeps. A pool that always has max_instances machines could never
 * launch another one for a request that log policies keep off all of them. In such a pool one machine that has been
 * idle for long may end, so that another one takes its place. */
static int least_instances(const struct pool *p)
{
    const struct elastic *e = p->elastic;
    int least = e->opts.min_instances;
    bool keeps_all = least > 0 && least == e->opts.max_instances && (int)e->instances.n == least;
    return keeps_all && e->instances.n_in[SCALE_LONG_IDLE] > 0 && sched_is_any_blocked(p->sched) ? least - 1 : least;
}

static int by_launch(const void *pa, const void *pb)
{
    const struct instance *a = *(struct instance *const *)pa, *b = *(struct instance *const *)pb;
    if (a->launch_us != b->launch_us)
        return a->launch_us < b->launch_us ? -1 : 1;
    return strcmp(a->id, b->id);
}

/* Chooses the machines that are to end; these get no new work. Of the machines of one class the oldest ends first, so
 * that in time each machine is replaced. */
static size_t choose_terminations(struct core *c, struct pool *p, int min_instances, int max_instances,
                                  struct core_termination **ret)
{
    struct elastic *e = p->elastic;
    const struct instances *all = &e->instances;
    struct scale_instance *v = arena_array(&c->out->arena, struct scale_instance, all->n + 1);
    struct instance **at = arena_array(&c->out->arena, struct instance *, all->n + 1);
    size_t n = 0;
    for (size_t i = 0; i < all->n; i++)
        at[i] = all->at[i];
    qsort(at, all->n, sizeof(struct instance *), by_launch);
    for (size_t i = 0; i < all->n; i++)
        v[i] = (struct scale_instance){.class = at[i]->class, .launch_us = at[i]->launch_us};
    int most = scale_terminate(v, all->n, min_instances, max_instances);
    *ret = arena_array(&c->out->arena, struct core_termination, (size_t)most + 1);
    for (size_t i = 0; i < all->n; i++) {
        struct instance *x = at[i];
        set_leaving(c, p, x, v[i].terminate || x->state == INSTANCE_ENDING);
        if (v[i].terminate)
            (*ret)[n++] = (struct core_termination){arena_strdup(&c->out->arena, x->id), reason_of(c, e, x)};
    }
    return n;
}

static void give_order(struct core *c, struct pool *p, struct core_termination *terminate, size_t terminate_n,
                       int launch)
{
    if (terminate_n == 0 && launch == 0)
        return;
    struct core_effect *effect = effect_add(c, CORE_ORDER_INSTANCES);
    effect->order.pool = arena_strdup(&c->out->arena, p->name);
    effect->order.number = ++p->elastic->ordered;
    effect->order.launch = launch;
    effect->order.terminate = terminate;
    effect->order.terminate_n = terminate_n;
}

static void note_silent(struct core *c, struct elastic *e)
{
    if (e->instances.n_in[SCALE_LONG_DISCONNECTED] == 0)
        return;
    for (size_t i = 0; i < e->instances.n; i++) {
        struct instance *x = e->instances.at[i];
        if (x->class != SCALE_LONG_DISCONNECTED || x->has_connected || x->failed)
            continue;
        x->failed = true;
        note_launch_failure(c, e, "instance %s has not connected within %s", x->id,
                            duration_text(c, e->opts.max_starting_us));
    }
}

/* Decides how many machines to launch and which ones to end. It looks at every machine only if some are to end, or were
 * to end at the last decision. */
static void decide_size(struct core *c, struct pool *p)
{
    struct elastic *e = p->elastic;
    const struct instances *all = &e->instances;
    struct core_termination *terminate = NULL;
    size_t ended = 0;
    int launch = 0, starting = all->n_in[SCALE_PENDING] + all->n_in[SCALE_STARTING];
    note_silent(c, e);
    /* for some time after a restart, agents that may come back count neither as surplus nor as missing */
    int max_instances = c->now_us < c->settled_us && all->may_return_n > 0 ? INT_MAX : e->opts.max_instances;
    int min_instances = least_instances(p);
    if (all->leaving_n > 0 || scale_would_terminate(all->n_in, min_instances, max_instances))
        ended = choose_terminations(c, p, min_instances, max_instances, &terminate);
    if (c->now_us >= e->retry_us && (int)all->n < e->opts.max_instances)
        launch = scale_launch(&e->opts, (int)all->n, starting,
                              scale_desired(&e->waits, e->opts.slots_per_instance,
                                            p->opts.max_aux_containers_per_agent));
    give_order(c, p, terminate, ended, launch);
    if (e->retry_us > c->now_us)
        timer_set(&c->timers, &e->timer, TIMER_POOL_SCALE, e->retry_us);
    else
        timer_clear(&c->timers, &e->timer);
}

void elastic_turn(struct core *c, struct pool *p, bool changed)
{
    struct elastic *e = p->elastic;
    bool looked = update_instances(c, p);
    if (!changed && !e->due && !looked)
        return;
    e->due = false;
    if (e->listed && e->seen == e->ordered)
        decide_size(c, p);
}

/* ---- clock, restart, views --------------------------------------------------------------------------------------- */

static void shift_time(int64_t *us, int64_t by_us)
{
    *us += *us != 0 ? by_us : 0;
}

void elastic_clock_set(struct core *c, int64_t by_us)
{
    shift_time(&c->settled_us, by_us);
    for (size_t i = 0; i < c->pool_n; i++) {
        struct elastic *e = c->pool[i].elastic;
        if (!e)
            continue;
        shift_time(&e->retry_us, by_us);
        instances_clock_set(&e->instances, by_us);
    }
}

void elastic_restored(struct core *c)
{
    for (struct agent *agent = c->agents; agent; agent = agent->hh.next)
        if (agent->row.instance && agent->presence == AGENT_GONE && !elastic_lists(agent))
            fact_add(c, (struct fact){FACT_MACHINE_GONE, .agent = agent});
}

void elastic_view(const struct core *c, const struct pool *p, struct core_pool_view *ret)
{
    const struct elastic *e = p->elastic;
    if (!e)
        return;
    ret->elastic = true;
    ret->scale = &e->opts;
    ret->instance_n = (int)e->instances.n;
    ret->problem = e->list_problem ? e->list_problem : e->problem;
    ret->retry_us = e->retry_us;
    ret->starting_n = e->instances.n_in[SCALE_PENDING] + e->instances.n_in[SCALE_STARTING];
}

bool elastic_adds_up(const struct core *c, const struct pool *p)
{
    const struct elastic *e = p->elastic;
    struct scale_demand waits = {0};
    for (const struct sched_job *job = sched_first_job(p->sched); job; job = sched_next_job(job)) {
        struct sched_request *r;
        int64_t slots = 0;
        RB_FOREACH(r, sched_job_requests, (struct sched_job_requests *)&job->requests) {
            waits.aux += r->state == SCHED_PENDING && r->slots == 0 && machine_has_needs(e, r);
            slots += r->state == SCHED_PENDING && calls_for_agents(e, r) ? r->slots : 0;
        }
        waits.slots += scale_job_slots(slots, job->max_slots);
    }
    return waits.aux == e->waits.aux && waits.slots == e->waits.slots && instances_add_up(c, &e->instances);
}
