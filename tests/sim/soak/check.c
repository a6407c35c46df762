/* What must hold: of what an event touched, after the event; of everything, now and then. */
#include <stdlib.h>
#include <string.h>

#include "soak.h"

/* ---- after each event -------------------------------------------------------------------------------------------- */

/* Checks that a gang has all its slots or none, and that a container has ended if its allocation has. */
static void check_allocation(struct soak *s, struct stored_allocation *a)
{
    const struct stored_container *k;
    int slots = 0, n = 0;
    LIST_FOREACH(k, &a->containers, in_allocation) {
        slots += k->row.device_n;
        n++;
        CHECK(s, a->row.end_us == 0 || k->row.state == CONTAINER_TERMINATED, "%s has ended, its container %s has not",
              a->row.id, k->row.id);
        CHECK(s, k->row.device_n > 0 || a->row.slots == 0, "container %s of %s has no slot", k->row.id, a->row.id);
    }
    CHECK(s, (a->row.state == ALLOCATION_TERMINATED) == (a->row.end_us != 0), "%s", a->row.id);
    CHECK(s, a->row.slots > 0 || n <= 1, "%s: %d containers for no slots", a->row.id, n);
    if (a->row.state == ALLOCATION_PENDING || n == 0)
        CHECK(s, n == 0 && (a->row.state == ALLOCATION_PENDING || a->row.end_us != 0), "%s is %s with %d containers",
              a->row.id, allocation_state_name(a->row.state), n);
    else
        CHECK(s, slots == a->row.slots, "%s has %d of %d slots", a->row.id, slots, a->row.slots);
    s->gangs += n > 1 && a->row.state == ALLOCATION_ASSIGNED;
}

/* Notes an allocation of a trial. A trial has at most one open allocation, and a trial that has ended has none. */
static void note_allocation(struct soak *s, struct stored_allocation *a)
{
    struct stored_trial *t = a->trial;
    if (!t)
        return;
    if (a->row.end_us != 0) {
        t->last_exit = a->row.exit_kind;
        if (t->open == a)
            t->open = NULL;
        return;
    }
    CHECK(s, !t->open || t->open == a, "trial %d has %s and %s", t->row.id, t->open->row.id, a->row.id);
    t->open = a;
}

static void check_trial(struct soak *s, const struct stored_trial *t)
{
    bool over = run_state_is_terminal(t->row.state);
    CHECK(s, over == (t->row.end_us != 0), "trial %d is %s", t->row.id, run_state_name(t->row.state));
    CHECK(s, !over || !t->open, "trial %d is %s, its allocation %s is open", t->row.id, run_state_name(t->row.state),
          t->open->row.id);
    CHECK(s, t->row.restarts <= t->experiment->spec.max_restarts + 1, "trial %d: %d restarts", t->row.id,
          t->row.restarts);
}

static void check_experiment(struct soak *s, const struct stored_experiment *x)
{
    bool over = run_state_is_terminal(x->row.state);
    const struct stored_trial *t;
    CHECK(s, over == (x->row.end_us != 0), "experiment %d is %s", x->row.id, run_state_name(x->row.state));
    CHECK(s, over == (!x->snapshot), "experiment %d is %s", x->row.id, run_state_name(x->row.state));
    if (over)
        LIST_FOREACH(t, &x->trials, in_experiment)
            CHECK(s, run_state_is_terminal(t->row.state), "experiment %d is over, its trial %d is %s", x->row.id,
                  t->row.id, run_state_name(t->row.state));
}

void store_check_effects(struct soak *s, const struct core_effects *effects)
{
    for (size_t i = 0; i < effects->n; i++) { /* ends come first, because the same step may open another allocation */
        const struct core_effect *e = &effects->item[i];
        if (e->type == CORE_PUT_ALLOCATION && e->allocation->end_us != 0)
            note_allocation(s, store_allocation(s, e->allocation->id));
    }
    for (size_t i = 0; i < effects->n; i++) {
        const struct core_effect *e = &effects->item[i];
        if (e->type == CORE_PUT_ALLOCATION) {
            note_allocation(s, store_allocation(s, e->allocation->id));
            check_allocation(s, store_allocation(s, e->allocation->id));
        }
    }
    for (size_t i = 0; i < effects->n; i++) {
        const struct core_effect *e = &effects->item[i];
        if (e->type == CORE_PUT_TRIAL)
            check_trial(s, store_trial(s, e->trial->id));
        else if (e->type == CORE_PUT_EXPERIMENT)
            check_experiment(s, store_experiment(s, e->experiment->id));
    }
}

/* ---- everything -------------------------------------------------------------------------------------------------- */

/* Checks that the rows say everything that the core knows, because a restart would lose the rest. */
static void check_rows_are_true(struct soak *s, const struct stored_experiment *x)
{
    struct core_experiment_view view;
    struct core_trial_view trial;
    const struct stored_trial *t;
    bool there = core_experiment(s->core, x->row.id, &view);
    CHECK(s, there != x->over, "experiment %d is %s, and %s", x->row.id, run_state_name(x->row.state),
          there ? "in the core" : "lost");
    if (x->over)
        return;
    CHECK(s, memcmp(view.row, &x->row, sizeof(x->row)) == 0, "experiment %d has changed and was not kept", x->row.id);
    LIST_FOREACH(t, &x->trials, in_experiment) {
        CHECK(s, core_trial(s->core, t->row.id, &trial), "trial %d is lost", t->row.id);
        struct trial_row row = *trial.row;
        row.hparams = t->row.hparams;
        row.excluded_agents = t->row.excluded_agents;
        CHECK(s,
              row.state == t->row.state && row.run_id == t->row.run_id && row.restarts == t->row.restarts &&
                  row.launch_failures == t->row.launch_failures && row.steps_completed == t->row.steps_completed &&
                  row.early_exit == t->row.early_exit,
              "trial %d has changed and was not kept", t->row.id);
        CHECK(s, (!trial.allocation_id) == (!t->open), "trial %d: open allocation %s, by rows %s", t->row.id,
              trial.allocation_id, !t->open ? "none" : t->open->row.id);
    }
}

/* Checks that an ACTIVE trial has an allocation, or knows what it waits for. */
static void check_no_job_is_lost(struct soak *s, const struct stored_experiment *x)
{
    struct core_operation_view op;
    const struct stored_trial *t;
    int live = 0;
    LIST_FOREACH(t, &x->trials, in_experiment) {
        live += !run_state_is_terminal(t->row.state);
        if (t->row.state != RUN_ACTIVE || t->open)
            continue;
        bool waits = core_trial_operation(s->core, t->row.id, &op) && op.completed;
        CHECK(s, waits || t->last_exit == EXIT_AGENT_ERROR, "trial %d is ACTIVE and asks for nothing", t->row.id);
    }
    CHECK(s, x->over || live > 0, "experiment %d is %s and has nothing left to do", x->row.id,
          run_state_name(x->row.state));
}

static void check_allocations(struct soak *s, struct arena *arena)
{
    const struct allocation_row *const *row;
    size_t n = core_allocations(s->core, arena, &row);
    size_t own = 0;
    CHECK(s, n == s->allocation_n, "%zu allocations are open, by rows %zu", n, s->allocation_n);
    for (size_t i = 0; i < n; i++) {
        const struct stored_allocation *a = store_allocation(s, row[i]->id);
        CHECK(s, a != NULL, "allocation %s has no row", row[i]->id);
        CHECK(s, memcmp(row[i], &a->row, sizeof(a->row)) == 0, "allocation %s has changed and was not kept",
              row[i]->id);
        CHECK(s, a->trial || a->task, "allocation %s is open, its task is over", row[i]->id);
        own += a->task != NULL;
    }
    size_t paused = 0;
    for (const struct stored_task *t = s->own_tasks; t; t = t->hh.next)
        paused += t->row.kind == TASK_KIND_GENERIC && t->launched.state == GENERIC_PAUSED;
    CHECK(s, own + paused == HASH_COUNT(s->own_tasks),
          "%u tasks of their own, %zu of them have an allocation, %zu are paused", HASH_COUNT(s->own_tasks), own,
          paused);
}

static void check_agent(struct soak *s, const struct agent *a)
{
    struct core_agent_view view;
    const struct stored_container *k;
    int aux = 0, used = 0;
    LIST_FOREACH(k, &a->held, in_agent)
        aux += k->row.device_n == 0;
    for (int i = 0; i < CORE_DEVICES_MAX; i++)
        used += a->holder[i] != NULL;
    if (!core_agent_by_id(s->core, a->id, &view)) {
        CHECK(s, !LIST_FIRST(&a->held), "%s is gone, and something runs there", a->id);
        return;
    }
    CHECK(s, a->connected == (view.connected_us != 0), "%s", a->id);
    CHECK(s, view.aux_used == aux, "%s: %d zero-slot tasks, by rows %d", a->id, view.aux_used, aux);
    CHECK(s, !a->connected || view.slots_used == used, "%s: %d slots used, by rows %d", a->id, view.slots_used, used);
    CHECK(s, aux <= 100, "%s has %d zero-slot tasks", a->id, aux);
}

static bool goes_before(const struct core_job_view *a, const struct core_job_view *b)
{
    if (a->priority != b->priority)
        return a->priority < b->priority;
    return a->queue_position <= b->queue_position;
}

static void check_queue(struct soak *s, const struct core_pool_opts *pool, struct arena *arena)
{
    struct core_job_view *job;
    size_t n = core_queue(s->core, pool->name, arena, &job);
    for (size_t i = 0; i < n; i++) {
        CHECK(s, job[i].owner.task_id || store_experiment(s, job[i].owner.experiment_id), "job %s of experiment %d",
              job[i].job_id, job[i].owner.experiment_id);
        CHECK(s, job[i].allocated_slots <= job[i].requested_slots, "job %s", job[i].job_id);
        CHECK(s, i == 0 || pool->sched.policy == SCHED_BY_FAIR_SHARE || goes_before(&job[i - 1], &job[i]),
              "jobs %s and %s", job[i - 1].job_id, job[i].job_id);
    }
}

void check_everything(struct soak *s)
{
    cleanup_arena struct arena arena = ARENA_INIT;
    if (!s->core)
        return;
    s->full_checks++;
    for (const struct stored_experiment *x = s->experiments; x; x = x->hh.next) {
        check_rows_are_true(s, x);
        check_no_job_is_lost(s, x);
    }
    check_allocations(s, &arena);
    for (int i = 0; i < s->agent_n; i++)
        check_agent(s, &s->agent[i]);
    for (int i = 0; i < s->pool_n; i++)
        check_queue(s, &s->pool[i], &arena);
    provider_check(s);
    check_fairness(s);
    check_reasons(s);
}

void check_nothing_is_left(struct soak *s)
{
    struct core_agent_view view;
    struct core_pool_view pool;
    check_everything(s);
    CHECK(s, s->open_n == 0, "%zu experiments are not over, one of them %d", s->open_n, s->open[0]->row.id);
    CHECK(s, s->allocation_n == 0, "%zu allocations are open", s->allocation_n);
    CHECK(s, !s->own_tasks, "%u tasks of their own are not over", HASH_COUNT(s->own_tasks));
    CHECK(s, !s->tasks, "%u tasks run on", HASH_COUNT(s->tasks));
    for (int i = 0; i < s->size.agents; i++) {
        CHECK(s, core_agent_by_id(s->core, s->agent[i].id, &view), "%s is not there", s->agent[i].id);
        CHECK(s, view.slots_used == 0 && view.aux_used == 0 && view.container_n == 0, "%s is not idle", s->agent[i].id);
    }
    provider_check_rest(s);
    for (size_t i = 0; core_pool(s->core, i, &pool); i++)
        CHECK(s, pool.slots_used == 0 && pool.aux_used == 0, "pool %s is not idle", pool.name);
}
