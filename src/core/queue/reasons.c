/* Why a job waits, in words, and when it may start. This is found out only when somebody asks. */
#include "core/sched/reasons.h"

#include <inttypes.h>

#include "core/experiments/experiment.h"
#include "core/experiments/task.h"
#include "core/resources/agents.h"
#include "core/resources/allocation.h"
#include "core/resources/elastic.h"
#include "core/resources/rm.h"
#include "core/sched/policy.h"
#include "core/state/objects.h"

enum { SIZES_SHOWN = 4 };

static const char *plural_s(int64_t n)
{
    return n == 1 ? "" : "s";
}

/* ---- agents in words --------------------------------------------------------------------------------------------- */

static struct agent_size *size_of(struct agent_size **largest, int slots, struct arena *a)
{
    struct agent_size **at = largest;
    while (*at && (*at)->slots > slots)
        at = &(*at)->next;
    if (!*at || (*at)->slots != slots) {
        struct agent_size *size = arena_new(a, struct agent_size);
        *size = (struct agent_size){.slots = slots, .next = *at};
        *at = size;
    }
    return *at;
}

/* Counts the agents of a pool by size, as they would be if all of them were there with all their slots, and if an
 * elastic pool were as large as it may be. Agents that have less of cores or memory than `needs` do not count. */
static const struct agent_size *count_sizes(const struct core *c, const struct pool *p, const struct sched_needs *needs,
                                            struct arena *a)
{
    struct agent_size *largest = NULL;
    for (const struct agent *agent = c->agents; agent; agent = agent->hh.next)
        if (agent->pool == p && agent->presence != AGENT_GONE && needs_fit(needs, &agent->has))
            size_of(&largest, (int)agent->slot_n, a)->n++;
    if (!elastic_could_have(p, needs))
        return largest;
    struct agent_size *launched = size_of(&largest, p->opts.scale.slots_per_instance, a);
    size_t most = p->opts.scale.max_instances > 0 ? (size_t)p->opts.scale.max_instances : 0;
    launched->n = launched->n > most ? launched->n : most;
    return largest;
}

static struct core_pool_notes *notes_of(struct core_wait_notes *notes, const struct pool *p)
{
    if (notes->pool.name == p->name)
        return &notes->pool;
    notes->pool = (struct core_pool_notes){.name = p->name};
    return &notes->pool;
}

static const struct agent_size *all_sizes(const struct core *c, const struct pool *p, struct arena *a,
                                          struct core_wait_notes *notes)
{
    struct core_pool_notes *n = notes_of(notes, p);
    if (!n->counted)
        n->sizes = count_sizes(c, p, &(struct sched_needs){0}, a);
    n->counted = true;
    return n->sizes;
}

/* Returns the first size, from `size` on, of which there are agents with slots; NULL: there is none. */
static const struct agent_size *first_present(const struct agent_size *size)
{
    while (size && (size->n == 0 || size->slots == 0))
        size = size->next;
    return size;
}

/* Adds the sizes of the agents, such as "8", "8 and 4" or "8, 4 and 2". */
static void add_sizes(const struct agent_size *largest, struct strbuf *out)
{
    int shown = 0;
    for (const struct agent_size *size = first_present(largest); size; size = first_present(size->next)) {
        bool last = !first_present(size->next);
        if (shown == SIZES_SHOWN && !last) {
            strbuf_adds(out, " and fewer");
            return;
        }
        strbuf_addf(out, "%s%d", shown == 0 ? "" : last ? " and " : ", ", size->slots);
        shown++;
    }
}

/* Adds the reason of the first agent that was disabled with a reason: " (node7: new disks)", and "; …" if there are
 * more such agents. */
static void add_disabled_reason(const struct core *c, const struct pool *p, struct strbuf *out)
{
    size_t n = 0;
    for (const struct agent *agent = c->agents; agent; agent = agent->hh.next) {
        if (agent->pool != p || agent->presence != AGENT_CONNECTED || agent->row.enabled ||
            !agent->row.disabled_reason[0])
            continue;
        if (n++ == 0)
            strbuf_addf(out, " (%s: %s", agent->row.id, agent->row.disabled_reason);
    }
    if (n > 0)
        strbuf_adds(out, n > 1 ? "; …)" : ")");
}

/* Adds the numbers of agents that take no new work, such as "1 is disabled, 2 drain". */
static void count_states(const struct core *c, const struct pool *p, struct strbuf *out)
{
    size_t away = 0, draining = 0, disabled = 0;
    for (const struct agent *agent = c->agents; agent; agent = agent->hh.next) {
        if (agent->pool != p || agent->presence == AGENT_GONE)
            continue;
        away += agent->presence == AGENT_AWAY;
        draining += agent->presence != AGENT_AWAY && agent->row.draining;
        disabled += agent->presence != AGENT_AWAY && !agent->row.draining && !agent->row.enabled;
    }
    const char *comma = "";
    if (away > 0)
        strbuf_addf(out, "%zu lost", away), comma = ", ";
    if (draining > 0)
        strbuf_addf(out, "%s%zu draining", comma, draining), comma = ", ";
    if (disabled > 0)
        strbuf_addf(out, "%s%zu disabled", comma, disabled);
    add_disabled_reason(c, p, out);
}

static void add_states(const struct core *c, const struct pool *p, struct arena *a, struct core_wait_notes *notes,
                       struct strbuf *out)
{
    struct core_pool_notes *n = notes_of(notes, p);
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    if (!n->states) {
        count_states(c, p, &text);
        n->states = arena_strdup(a, strbuf_str(&text));
    }
    strbuf_adds(out, n->states);
}

/* ---- requests that cannot be placed ------------------------------------------------------------------------------ */

static void add_need(const struct sched_request *r, struct strbuf *out)
{
    strbuf_addf(out, "needs %d slot%s%s: ", r->slots, plural_s(r->slots),
                r->single_agent && r->slots > 1 ? " on one agent" : "");
}

/* Says why no set of agents of these sizes can hold the request. */
static void add_misfit(const struct sched_request *r, const struct agent_size *sizes, const struct pool *p,
                       struct strbuf *out)
{
    const char *pool = p->name, *has = !p->elastic ? "has" : "launches";
    const struct agent_size *largest = first_present(sizes);
    add_need(r, out);
    if (!largest) {
        strbuf_addf(out, "the agents of pool %s have none", pool);
        return;
    }
    if (r->single_agent || r->slots == 1) {
        strbuf_addf(out, "the largest agent of pool %s has %d", pool, largest->slots);
        return;
    }
    bool one_size = !first_present(largest->next);
    if (one_size && r->slots % largest->slots == 0) {
        strbuf_addf(out, "pool %s %s %s%zu agent%s of %d", pool, has, !p->elastic ? "" : "at most ", largest->n,
                    plural_s((int64_t)largest->n), largest->slots);
        return;
    }
    strbuf_addf(out, "pool %s %s agents of ", pool, has);
    add_sizes(largest, out);
    if (one_size)
        strbuf_addf(out, "; use a multiple of %d or ≤ %d", largest->slots, largest->slots);
    else
        strbuf_addf(out, "; use ≤ %d, or a multiple of one size that enough agents have", largest->slots);
}

/* ---- cores and memory in words ----------------------------------------------------------------------------------- */

static void add_cores(int64_t millicores, struct strbuf *out)
{
    strbuf_addf(out, "%g core%s", (double)millicores / 1000, millicores == 1000 ? "" : "s");
}

/* Adds "1.5 GiB". */
static void add_bytes(int64_t bytes, struct strbuf *out)
{
    static const char *const unit[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB"};
    double n = (double)bytes;
    size_t i = 0;
    for (; n >= 1024 && i + 1 < sizeof(unit) / sizeof(unit[0]); i++)
        n /= 1024;
    strbuf_addf(out, "%.4g %s", n, unit[i]);
}

/* Adds "needs 8 cores and 64 GiB of memory on each agent: ", of what is asked for. */
static void add_asked(const struct sched_request *r, struct strbuf *out)
{
    strbuf_adds(out, "needs ");
    if (r->needs.millicores > 0)
        add_cores(r->needs.millicores, out);
    if (r->needs.memory_bytes > 0) {
        strbuf_adds(out, r->needs.millicores > 0 ? " and " : "");
        add_bytes(r->needs.memory_bytes, out);
        strbuf_adds(out, " of memory");
    }
    strbuf_adds(out, r->slots > 1 && !r->single_agent ? " on each of its agents: " : ": ");
}

/* The most cores, and the most memory, of an agent of the pool, or of a machine that an elastic pool has launched. */
static struct sched_needs largest_machine(const struct core *c, const struct pool *p)
{
    struct sched_needs most = elastic_largest(p);
    for (const struct agent *agent = c->agents; agent; agent = agent->hh.next) {
        if (agent->pool != p || agent->presence == AGENT_GONE)
            continue;
        most.millicores = agent->has.millicores > most.millicores ? agent->has.millicores : most.millicores;
        most.memory_bytes = agent->has.memory_bytes > most.memory_bytes ? agent->has.memory_bytes : most.memory_bytes;
    }
    return most;
}

/* Says why no set of agents of the pool has the cores and the memory, although some have the slots. */
static void add_needs_misfit(const struct core *c, const struct pool *p, const struct sched_request *r,
                             struct strbuf *out)
{
    struct sched_needs most = largest_machine(c, p);
    bool memory = r->needs.memory_bytes > most.memory_bytes, cores = r->needs.millicores > most.millicores;
    add_asked(r, out);
    if (!needs_any(&most)) {
        strbuf_addf(out, "no agent of pool %s says what its machine has; agents of an older version do not", p->name);
        return;
    }
    if (!memory && !cores) {
        strbuf_addf(out, "not enough agents of pool %s have that beside the slots", p->name);
        return;
    }
    strbuf_addf(out, "the largest agent of pool %s has ", p->name);
    if (memory)
        add_bytes(most.memory_bytes, out);
    else
        add_cores(most.millicores, out);
    strbuf_adds(out, " for tasks");
}

static bool agents_could_hold(const struct core *c, const struct pool *p, const struct sched_request *r,
                              struct arena *a)
{
    const struct agent_size *able = count_sizes(c, p, &r->needs, a);
    return r->slots == 0 ? able != NULL : sizes_could_hold(able, r, p->opts.sched.allow_heterogeneous_fits);
}

/* Returns whether agents of the pool are expected back of which it is not known what they have: the master was started
 * a moment ago. */
static bool awaits_agents(const struct core *c, const struct pool *p)
{
    for (const struct agent *agent = c->agents; agent; agent = agent->hh.next)
        if (agent->pool == p && agent->presence == AGENT_AWAY && !agent->slot)
            return true;
    return false;
}

const char *core_misfit(const struct core *c, const char *pool, int32_t slots, bool single_node,
                        const struct sched_needs *needs, struct arena *a)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    const struct pool *p = pool_find(c, pool);
    struct sched_request r = {.slots = slots, .single_agent = single_node, .needs = *needs};
    if (!p || (slots == 0 && !needs_any(needs)) || awaits_agents(c, p))
        return NULL;
    const struct agent_size *sizes = count_sizes(c, p, &(struct sched_needs){0}, a);
    bool slots_fit = slots == 0 ? sizes != NULL : sizes_could_hold(sizes, &r, p->opts.sched.allow_heterogeneous_fits);
    if (slots_fit && (!needs_any(needs) || agents_could_hold(c, p, &r, a)))
        return NULL;
    if (!sizes)
        strbuf_addf(&text, "pool %s has no agents", p->name);
    else if (!slots_fit)
        add_misfit(&r, sizes, p, &text);
    else
        add_needs_misfit(c, p, &r, &text);
    return arena_strdup(a, strbuf_str(&text));
}

/* Says why the open agents cannot hold the request. Agents that are not open might be able to. */
static void add_never(const struct core *c, const struct pool *p, const struct sched_request *r, enum sched_lack lacks,
                      struct arena *a, struct core_wait_notes *notes, struct strbuf *out)
{
    const struct agent_size *all = all_sizes(c, p, a, notes);
    if (r->slots > 0 && !sizes_could_hold(all, r, p->opts.sched.allow_heterogeneous_fits)) {
        add_misfit(r, all, p, out);
    } else if (r->slots == 0 && lacks == SCHED_LACKS_SLOTS) {
        strbuf_addf(out, "needs no slot: no agent of pool %s takes tasks without slots (max_aux_containers_per_agent)",
                    p->name);
    } else if (needs_any(&r->needs) && !agents_could_hold(c, p, r, a)) {
        add_needs_misfit(c, p, r, out);
    } else if (lacks != SCHED_LACKS_SLOTS) {
        add_asked(r, out);
        strbuf_addf(out, "the agents of pool %s that have as much take no new work (disabled, draining or lost)",
                    p->name);
    } else {
        add_need(r, out);
        strbuf_addf(out, "too many slots of pool %s take no new work (disabled, draining or lost)", p->name);
    }
}

/* Says that an elastic pool launches agents which could hold the request, or why it could not launch them. Returns
 * false if it adds nothing. */
static bool add_launch(const struct core *c, const struct pool *p, const struct sched_request *r, struct arena *a,
                       struct core_wait_notes *notes, struct strbuf *out)
{
    struct core_pool_view view = {0};
    if (!elastic_could_have(p, &r->needs) ||
        (r->slots > 0 && !sizes_could_hold(all_sizes(c, p, a, notes), r, p->opts.sched.allow_heterogeneous_fits)))
        return false;
    elastic_view(c, p, &view);
    if (!view.problem && view.starting_n == 0 && view.instance_n >= view.scale->max_instances)
        return false;
    if (view.problem)
        strbuf_addf(out, "pool %s could not launch agents: %s", p->name, view.problem);
    else if (view.starting_n == 0)
        strbuf_addf(out, "pool %s launches agents for what waits", p->name);
    else
        strbuf_addf(out, "pool %s launches agents for what waits, %d %s starting", p->name, view.starting_n,
                    view.starting_n == 1 ? "is" : "are");
    return true;
}

/* Says whether agents of an elastic pool are starting, or why they could not be launched, for a request for which there
 * is no room now. */
static void add_growth(const struct core *c, const struct pool *p, struct strbuf *out)
{
    struct core_pool_view view = {0};
    elastic_view(c, p, &view);
    if (view.starting_n > 0)
        strbuf_addf(out, "; %d agent%s %s starting", view.starting_n, plural_s(view.starting_n),
                    view.starting_n == 1 ? "is" : "are");
    else if (view.problem)
        strbuf_addf(out, "; pool %s could not launch agents: %s", p->name, view.problem);
}

static void add_own_slots(const struct sched_quota *q, struct strbuf *out)
{
    strbuf_addf(out, "the quota of %s is %d slot%s, of which %d %s in use", q->what, q->own, plural_s(q->own), q->owned,
                q->owned == 1 ? "is" : "are");
}

/* Says which quota the request waits for, and what is used of it. */
static void add_quota(const struct sched_request *r, const struct sched_quota *q, struct strbuf *out)
{
    add_need(r, out);
    if (q->held + r->slots > q->limit) {
        strbuf_addf(out, "the quota of %s allows %d slot%s, and %d %s in use", q->what, q->limit, plural_s(q->limit),
                    q->held, q->held == 1 ? "is" : "are");
    } else {
        add_own_slots(q, out);
        strbuf_adds(out, "; it would have to borrow, and jobs wait that need not");
    }
}

/* Says of a request for which there is nothing to borrow because of which quota it would have to. */
static void add_borrowing(const struct sched_quota *q, struct strbuf *out)
{
    if (!q)
        return;
    strbuf_adds(out, "; it would have to borrow: ");
    add_own_slots(q, out);
}

/* ---- what it waits for ------------------------------------------------------------------------------------------- */

/* Says that there are slots, or places, but not with the cores and the memory that the request needs. */
static void add_no_room_of_needs(const struct pool *p, const struct sched_request *r, enum sched_lack lacks,
                                 struct strbuf *out)
{
    const char *place = r->slots > 0 ? "with the slots free" : "that takes another task without slots";
    struct sched_needs most = sched_most(p->sched, r, true);
    add_asked(r, out);
    strbuf_addf(out, "no agent of pool %s%s %s has as much left", p->name,
                r->blocked_n > 0 ? " that it may run on" : "", place);
    if (lacks == SCHED_LACKS_MEMORY && most.memory_bytes < r->needs.memory_bytes) {
        strbuf_adds(out, "; the most is ");
        add_bytes(most.memory_bytes > 0 ? most.memory_bytes : 0, out);
    } else if (lacks == SCHED_LACKS_CORES && most.millicores < r->needs.millicores) {
        strbuf_adds(out, "; the most is ");
        add_cores(most.millicores > 0 ? most.millicores : 0, out);
    }
}

static void add_no_room(const struct pool *p, const struct sched_request *r, const struct sched_reason *reason,
                        struct strbuf *out)
{
    const char *where = r->blocked_n > 0 ? " that it may run on" : "";
    const struct agent_size *largest = first_present(sched_sizes(p->sched));
    if (reason->lacks != SCHED_LACKS_SLOTS) {
        add_no_room_of_needs(p, r, reason->lacks, out);
        return;
    }
    if (r->slots == 0) {
        strbuf_addf(out, "needs no slot: all agents of pool %s%s have as many such tasks as they take", p->name, where);
        return;
    }
    add_need(r, out);
    if (reason->granted)
        strbuf_addf(out, "granted by fair share, but not free in one place%s", where);
    else if (r->slots == 1)
        strbuf_addf(out, "none is free in pool %s%s", p->name, r->blocked_n > 0 ? " on agents that it may run on" : "");
    else if (largest && r->slots <= largest->slots)
        strbuf_addf(out, "no agent of pool %s%s has as many free", p->name, where);
    else
        strbuf_addf(out, "not enough whole agents of pool %s%s are free", p->name, where);
}

static void add_others(const struct sched_request *r, const struct sched_reason *reason, struct strbuf *out)
{
    if (reason->ahead > 0)
        strbuf_addf(out, "%swaits for %zu %s%s ahead of higher priority", out->n > 0 ? "; " : "", reason->ahead,
                    r->slots > 0 ? "trial" : "task", plural_s((int64_t)reason->ahead));
    if (reason->stuck)
        strbuf_addf(out, ", of which job %.8s needs %d slot%s%s that no set of agents has", reason->stuck->job->job_id,
                    reason->stuck->slots, plural_s(reason->stuck->slots),
                    needs_any(&reason->stuck->needs) ? ", with cores and memory," : "");
    if (reason->leaving > 0 && reason->why == SCHED_WHY_NO_ROOM)
        strbuf_addf(out, "; %zu %s just being stopped", reason->leaving, reason->leaving == 1 ? "is" : "are");
}

static void add_reason(const struct core *c, const struct pool *p, const struct sched_request *r,
                       const struct sched_reason *reason, struct arena *a, struct core_wait_notes *notes,
                       struct strbuf *out)
{
    if (reason->why <= SCHED_WHY_NEVER && add_launch(c, p, r, a, notes, out))
        return;
    switch (reason->why) {
    case SCHED_WHY_NO_AGENTS:
        if (p->elastic && r->slots > 0)
            add_never(c, p, r, reason->lacks, a, notes, out);
        else
            strbuf_addf(out, "pool %s has no agents", p->name);
        return;
    case SCHED_WHY_CLOSED:
        strbuf_addf(out, "no agent of pool %s takes new work: ", p->name);
        add_states(c, p, a, notes, out);
        return;
    case SCHED_WHY_BLOCKED:
        add_need(r, out);
        strbuf_addf(out, "log policies of the experiment exclude the agents of pool %s that could hold it", p->name);
        return;
    case SCHED_WHY_NEVER:
        add_never(c, p, r, reason->lacks, a, notes, out);
        return;
    case SCHED_WHY_QUOTA:
        add_quota(r, reason->quota, out);
        return;
    case SCHED_WHY_NO_ROOM:
        add_no_room(p, r, reason, out);
        add_borrowing(reason->quota, out);
        add_growth(c, p, out);
        break;
    case SCHED_WHY_KEPT:
        break;
    case SCHED_WHY_MAX_SLOTS:
        strbuf_addf(out, "needs %d slot%s: its job has %d of its max_slots, %d", r->slots, plural_s(r->slots),
                    r->job->active, r->job->max_slots);
        break;
    case SCHED_WHY_SHARE:
        add_need(r, out);
        strbuf_addf(out, "by fair share what is free in pool %s goes to other jobs", p->name);
        add_borrowing(reason->quota, out);
        break;
    case SCHED_WHY_GANG:
        if (r->slots == 0 && needs_any(&r->needs))
            add_asked(r, out);
        else
            add_need(r, out);
        strbuf_addf(out,
                    "what is free in pool %s is kept for a larger one ahead of it, which waits for others to leave",
                    p->name);
        break;
    case SCHED_WHY_NEXT:
        strbuf_adds(out, "is about to be placed");
        break;
    }
    add_others(r, reason, out);
}

/* ---- when it may start ------------------------------------------------------------------------------------------- */

/* Estimates how long the request will wait. It assumes that the running allocations end evenly, so that in one median
 * run time all slots of the pool come free once, and that the requests ahead in the queue get their slots first. The
 * result is 0 if no estimate can be made: when agents are missing, because nobody knows when one joins, when cores
 * or memory are missing, because only slots are counted, and in pools whose jobs have no queue. */
static int64_t wait_of(struct pool *p, const struct sched_request *r, const struct sched_reason *reason)
{
    struct sched_slot_count slots = sched_count_slots(p->sched);
    int64_t median_us = run_times_median(&p->run_times);
    bool only_time = reason->why >= SCHED_WHY_NO_ROOM && reason->lacks == SCHED_LACKS_SLOTS && !reason->stuck;
    if (!only_time || median_us == 0 || r->slots == 0 || slots.all == 0 ||
        !sched_policy_type(p->opts.sched.policy)->has_queue)
        return 0;
    int64_t missing = sched_waiting_ahead(r->job) + r->slots - slots.free;
    return (int64_t)((double)median_us * (double)(missing > r->slots ? missing : r->slots) / (double)slots.all);
}

static const struct sched_request *first_waiting(const struct job *job)
{
    struct sched_request *r;
    if (job->sched.request_n == 0)
        return NULL;
    RB_FOREACH(r, sched_job_requests, (struct sched_job_requests *)&job->sched.requests)
        if (r->state == SCHED_PENDING)
            return r;
    return NULL;
}

/* Finds the job and its pool. NULL: there is no such job. */
static const struct job *find_job(const struct core *c, struct core_job_owner owner, struct pool **ret_pool)
{
    if (owner.task_id) {
        const struct task *t = task_find(c, owner.task_id);
        *ret_pool = t && t->allocation ? t->allocation->pool : NULL;
        return *ret_pool ? t->allocation->job : NULL;
    }
    const struct experiment *x = experiment_find(c, owner.experiment_id);
    *ret_pool = x ? x->pool : NULL;
    return x ? x->job : NULL;
}

bool core_wait_noted(const struct core *c, struct core_job_owner owner, int64_t now_us, struct arena *a,
                     struct core_wait_notes *notes, struct core_wait_view *ret)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    struct sched_reason reason;
    struct pool *p;
    const struct job *job = find_job(c, owner, &p);
    const struct sched_request *r = job ? first_waiting(job) : NULL;
    if (!r)
        return false;
    sched_why(p->sched, r, &reason);
    add_reason(c, p, r, &reason, a, notes, &text);
    int64_t wait_us = wait_of(p, r, &reason);
    *ret = (struct core_wait_view){.reason = arena_strdup(a, strbuf_str(&text)),
                                   .estimated_start_us = wait_us == 0 ? 0 : now_us + wait_us};
    return true;
}

bool core_wait(const struct core *c, int32_t experiment_id, int64_t now_us, struct arena *a, struct core_wait_view *ret)
{
    struct core_wait_notes notes = {0};
    return core_wait_noted(c, (struct core_job_owner){.experiment_id = experiment_id}, now_us, a, &notes, ret);
}
