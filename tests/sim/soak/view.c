/* A pool, by its rows. */
#include "view.h"

#include <stdlib.h>
#include <string.h>

#include "core/sched/policy.h"
#include "inside.h"

static bool is_disabled(const struct agent *a, int32_t device)
{
    for (int i = 0; i < a->row.disabled_slot_n; i++)
        if (a->row.disabled_slot[i] == device)
            return true;
    return false;
}

static struct plain_agent offer_of(const struct soak *s, const struct agent *a, int aux_max)
{
    struct plain_agent offer = {.id = a->id,
                                .open = a->connected && a->row.enabled && !inside_leaves(s->core, a->id),
                                .aux = aux_max};
    const struct stored_container *k;
    int aux = 0;
    LIST_FOREACH(k, &a->held, in_agent)
        aux += k->row.device_n == 0;
    for (int i = 0; i < a->slots; i++) {
        bool usable = offer.open && !is_disabled(a, i);
        offer.slots += offer.open ? usable : a->holder[i] != NULL;
        offer.empty_slots += usable && !a->holder[i];
    }
    offer.empty_aux = offer.open && aux < aux_max ? aux_max - aux : 0;
    if (!offer.open)
        return offer;
    offer.has = offer.left = a->has;
    LIST_FOREACH(k, &a->held, in_agent) {
        const struct sched_needs needs = {k->allocation->row.millicores, k->allocation->row.memory_bytes};
        needs_add(&offer.left, &needs, -1);
    }
    return offer;
}

/* Looks at the agents of a pool. An agent counts in the pool where the core knows it, if it is not given up. */
static void look_at_agents(struct soak *s, int pool, struct arena *arena, struct view *v)
{
    struct core_agent_view there;
    v->agent = arena_array(arena, struct plain_agent, (size_t)s->agent_n + 1);
    v->index = arena_array(arena, int, (size_t)s->agent_n + 1);
    for (int i = 0; i < s->agent_n; i++) {
        const struct agent *a = &s->agent[i];
        v->index[i] = -1;
        if (!core_agent_by_id(s->core, a->id, &there) || there.lost_us != 0 ||
            strcmp(there.pool, s->pool[pool].name) != 0)
            continue;
        v->index[i] = (int)v->agent_n;
        v->agent[v->agent_n++] = offer_of(s, a, s->pool[pool].max_aux_containers_per_agent);
    }
}

static struct sched_needs needs_of_row(const struct allocation_row *row)
{
    return (struct sched_needs){row->millicores, row->memory_bytes};
}

static size_t shares_of(const struct stored_allocation *a, const struct view *v, struct arena *arena,
                        const struct plain_share **ret)
{
    const struct stored_container *k;
    size_t n = 0;
    LIST_FOREACH(k, &a->containers, in_allocation)
        n++;
    struct plain_share *share = arena_array(arena, struct plain_share, n + 1);
    n = 0;
    LIST_FOREACH(k, &a->containers, in_allocation)
        if (k->agent && v->index[k->agent->index] >= 0)
            share[n++] = (struct plain_share){(size_t)v->index[k->agent->index], k->row.device_n,
                                              needs_of_row(&a->row)};
    *ret = share;
    return n;
}

static void look_at_blocked(const struct stored_trial *t, struct arena *arena, struct plain_request *ret)
{
    const char *lines = t->row.excluded_agents;
    if (!lines)
        return;
    const char **id = arena_array(arena, const char *, strlen(lines));
    for (; *lines != '\0'; lines += strcspn(lines, "\n") + 1)
        id[ret->blocked_n++] = arena_strndup(arena, lines, strcspn(lines, "\n"));
    ret->blocked_agent = id;
}

static struct plain_request of_launched(const struct soak *s, int pool, const struct stored_allocation *a)
{
    const struct launched_row *row = &a->task->launched;
    return (struct plain_request){.allocation_id = a->row.id,
                                  .job_id = a->task->row.job_id,
                                  .priority = s->pool[pool].sched.policy == SCHED_BY_ROUND_ROBIN
                                                  ? SCHED_PRIORITY_DEFAULT
                                                  : row->priority,
                                  .queue_position = row->queue_position,
                                  .submitted_us = a->task->row.start_us,
                                  .request_us = a->row.request_us,
                                  .weight = row->weight,
                                  .max_slots = row->max_slots,
                                  .slots = a->row.slots,
                                  .single_agent = a->row.slots > 0};
}

static struct plain_request of_own_task(const struct soak *s, int pool, const struct stored_allocation *a)
{
    if (task_kind_is_launched(a->task->row.kind))
        return of_launched(s, pool, a);
    return (struct plain_request){.allocation_id = a->row.id,
                                  .job_id = a->task->row.job_id,
                                  .priority = SCHED_PRIORITY_DEFAULT,
                                  .queue_position = a->row.request_us,
                                  .submitted_us = a->row.request_us,
                                  .request_us = a->row.request_us,
                                  .weight = 1,
                                  .max_slots = -1};
}

static struct plain_request of_trial(const struct soak *s, int pool, const struct stored_allocation *a)
{
    const struct stored_experiment *x = a->trial->experiment;
    return (struct plain_request){.allocation_id = a->row.id,
                                  .job_id = x->row.job_id,
                                  .priority = s->pool[pool].sched.policy == SCHED_BY_ROUND_ROBIN
                                                  ? SCHED_PRIORITY_DEFAULT
                                                  : x->spec.priority,
                                  .queue_position = x->row.queue_position,
                                  .submitted_us = x->row.start_us,
                                  .request_us = a->row.request_us,
                                  .weight = x->spec.weight,
                                  .max_slots = x->spec.max_slots,
                                  .slots = a->row.slots,
                                  .single_agent = x->spec.single_node,
                                  .preemptible = true};
}

static void look_at_requests(struct soak *s, int pool, struct arena *arena, struct view *v)
{
    v->request = arena_array(arena, struct plain_request, s->allocation_n + 1);
    for (const struct stored_allocation *a = s->allocations; a; a = a->hh.next) {
        if (strcmp(a->row.pool, s->pool[pool].name) != 0)
            continue;
        bool leaves = a->row.state == ALLOCATION_TERMINATING || a->row.preempt_deadline_us != 0;
        struct plain_request *r = &v->request[v->request_n++];
        *r = !a->trial ? of_own_task(s, pool, a) : of_trial(s, pool, a);
        r->state = a->row.state == ALLOCATION_PENDING ? SCHED_PENDING : leaves ? SCHED_RELEASING : SCHED_ALLOCATED;
        r->share_n = shares_of(a, v, arena, &r->share);
        r->needs = needs_of_row(&a->row);
        if (a->trial)
            look_at_blocked(a->trial, arena, r);
        v->releasing = v->releasing || leaves;
    }
}

void view_look(struct soak *s, int pool, struct arena *arena, struct view *v)
{
    *v = (struct view){0};
    look_at_agents(s, pool, arena, v);
    look_at_requests(s, pool, arena, v);
}

/* Prints what a check has looked at, for the case that the check fails. */
void view_print(const struct view *v, const struct core_pool_opts *p)
{
    fprintf(stderr, "%s preemption %d fitting %d heterogeneous %d\n", sched_policy_type(p->sched.policy)->name,
            p->sched.preemption, p->sched.fitting, p->sched.allow_heterogeneous_fits);
    for (size_t i = 0; i < v->agent_n && i < 50; i++)
        fprintf(stderr, "  %s%s: %d of %d slots empty, aux %d of %d\n", v->agent[i].id,
                v->agent[i].open ? "" : " closed", v->agent[i].empty_slots, v->agent[i].slots, v->agent[i].empty_aux,
                v->agent[i].aux);
    for (size_t i = 0; i < v->request_n && i < 200; i++) {
        const struct plain_request *r = &v->request[i];
        fprintf(stderr, "  %s job %.8s%s: %d slots, priority %d position %lld weight %g max %d blocked %zu, %s",
                r->allocation_id, r->job_id, r->single_agent ? " single" : "", r->slots, r->priority,
                (long long)r->queue_position, r->weight, r->max_slots, r->blocked_n,
                r->state == SCHED_PENDING     ? "waits"
                : r->state == SCHED_RELEASING ? "leaves"
                                              : "runs");
        for (size_t k = 0; k < r->share_n; k++)
            fprintf(stderr, " %s:%d", v->agent[r->share[k].agent].id, r->share[k].slots);
        fprintf(stderr, "\n");
    }
}
