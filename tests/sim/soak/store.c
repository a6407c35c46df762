/* The store: what PUT effects say, and nothing else. A restarted master reads it back. */
#include <stdlib.h>
#include <string.h>

#include "soak.h"

enum { OVER_MAX = 64 };

struct stored_experiment *store_experiment(const struct soak *s, int32_t id)
{
    struct stored_experiment *x = NULL;
    HASH_FIND(hh, s->experiments, &id, sizeof(id), x);
    return x;
}

struct stored_trial *store_trial(const struct soak *s, int32_t id)
{
    struct stored_trial *t = NULL;
    HASH_FIND(hh, s->trials, &id, sizeof(id), t);
    return t;
}

struct stored_allocation *store_allocation(const struct soak *s, const char *id)
{
    struct stored_allocation *a = NULL;
    HASH_FIND_STR(s->allocations, id, a);
    return a;
}

static struct stored_container *find_container(const struct soak *s, const char *id)
{
    struct stored_container *k = NULL;
    HASH_FIND_STR(s->containers, id, k);
    return k;
}

struct agent *agent_named(const struct soak *s, const char *id)
{
    const char *dash = strchr(id, '-');
    int i = dash ? (int)strtol(dash + 1, NULL, 10) : -1;
    CHECK(s, i >= 0 && i < s->agent_n && strcmp(s->agent[i].id, id) == 0, "agent %s", id);
    return &s->agent[i];
}

/* ---- experiments and trials -------------------------------------------------------------------------------------- */

static void free_trial(struct soak *s, struct stored_trial *t)
{
    LIST_REMOVE(t, in_experiment);
    HASH_DEL(s->trials, t);
    free((char *)t->row.hparams);
    free((char *)t->row.excluded_agents);
    free(t);
}

static void free_experiment(struct soak *s, struct stored_experiment *x)
{
    struct stored_trial *t;
    while ((t = LIST_FIRST(&x->trials)))
        free_trial(s, t);
    HASH_DEL(s->experiments, x);
    free(x->searcher);
    free(x->snapshot);
    strbuf_release(&x->events);
    free(x);
}

static void add_open(struct soak *s, struct stored_experiment *x)
{
    if ((s->open_n & (s->open_n + 1)) == 0)
        s->open = must(realloc(s->open, 2 * (s->open_n + 1) * sizeof(struct stored_experiment *)));
    x->place = s->open_n;
    s->open[s->open_n++] = x;
}

static void remove_open(struct soak *s, struct stored_experiment *x)
{
    struct stored_experiment *last = s->open[--s->open_n];
    s->open[x->place] = last;
    last->place = x->place;
}

static void remove_over(struct soak *s, struct stored_experiment *x)
{
    struct stored_experiment *last = s->over[--s->over_n];
    s->over[x->place] = last;
    last->place = x->place;
}

/* Keeps the latest experiments that are over, because they may be continued. */
static void keep_over(struct soak *s, struct stored_experiment *x)
{
    if (!s->over)
        s->over = must(calloc(OVER_MAX, sizeof(struct stored_experiment *)));
    if (s->over_n == OVER_MAX) {
        struct stored_experiment *gone = s->over[one_of(s, OVER_MAX)];
        remove_over(s, gone);
        free_experiment(s, gone);
    }
    x->place = s->over_n;
    s->over[s->over_n++] = x;
}

static void put_experiment(struct soak *s, const struct core_effect *e)
{
    struct stored_experiment *x = store_experiment(s, e->experiment->id);
    CHECK(s, (!x) == e->insert, "experiment %d", e->experiment->id);
    if (!x) {
        x = must(calloc(1, sizeof(*x)));
        memcpy(&x->row, e->experiment, sizeof(x->row));
        LIST_INIT(&x->trials);
        HASH_ADD(hh, s->experiments, row.id, sizeof(x->row.id), x);
        add_open(s, x);
        s->last_experiment_id = x->row.id;
    }
    memcpy(&x->row, e->experiment, sizeof(x->row));
}

/* Puts the experiment into the list of open ones, or into that of those that are over. */
static void sort_experiment(struct soak *s, struct stored_experiment *x)
{
    bool over = run_state_is_terminal(x->row.state);
    if (over == x->over)
        return;
    if (over)
        remove_open(s, x);
    else
        remove_over(s, x);
    x->over = over;
    if (!over)
        add_open(s, x);
    else
        keep_over(s, x);
}

static char *copy_text(const char *text)
{
    return !text ? NULL : must(strdup(text));
}

static void put_trial(struct soak *s, const struct core_effect *e)
{
    struct stored_trial *t = store_trial(s, e->trial->id);
    CHECK(s, (!t) == e->insert, "trial %d", e->trial->id);
    if (!t) {
        t = must(calloc(1, sizeof(*t)));
        t->row.id = s->last_trial_id = e->trial->id;
        t->experiment = store_experiment(s, e->trial->experiment_id);
        CHECK(s, t->experiment != NULL, "trial %d of no experiment", t->row.id);
        LIST_INSERT_HEAD(&t->experiment->trials, t, in_experiment);
        HASH_ADD(hh, s->trials, row.id, sizeof(t->row.id), t);
    }
    char *hparams = (char *)t->row.hparams;
    free((char *)t->row.excluded_agents);
    memcpy(&t->row, e->trial, sizeof(t->row));
    t->row.excluded_agents = copy_text(e->trial->excluded_agents);
    t->row.hparams = hparams;
    if (e->trial->hparams) {
        free(hparams);
        t->row.hparams = copy_text(e->trial->hparams);
    }
}

/* ---- tasks that are no trials' ----------------------------------------------------------------------------------- */

static struct stored_task *find_task(const struct soak *s, const char *id)
{
    struct stored_task *t = NULL;
    HASH_FIND_STR(s->own_tasks, id, t);
    return t;
}

static void forget_task(struct soak *s, struct stored_task *t)
{
    struct stored_allocation *a;
    for (a = s->allocations; a; a = a->hh.next)
        if (a->task == t)
            a->task = NULL;
    HASH_DEL(s->own_tasks, t);
    free(t);
}

static void put_task(struct soak *s, const struct core_effect *e)
{
    if (e->task->trial_id != 0)
        return;
    struct stored_task *t = find_task(s, e->task->id);
    CHECK(s, (!t) == e->insert, "task %s", e->task->id);
    if (!t) {
        t = must(calloc(1, sizeof(*t)));
        memcpy(&t->row, e->task, sizeof(t->row));
        HASH_ADD_STR(s->own_tasks, row.id, t);
        s->own_tasks_n++;
    }
    memcpy(&t->row, e->task, sizeof(t->row));
    if (t->row.end_us != 0)
        forget_task(s, t);
}

/* The row of a task that has ended in the same step was forgotten with the task. */
static void put_launched(struct soak *s, const struct core_effect *e)
{
    struct stored_task *t = find_task(s, e->launched->task_id);
    if (!t)
        return;
    CHECK(s, (t->launched.task_id[0] == '\0') == e->insert, "launched task %s", e->launched->task_id);
    t->launched = *e->launched;
    t->launched.description = "made up";
}

/* ---- allocations and containers ---------------------------------------------------------------------------------- */

static void put_allocation(struct soak *s, const struct core_effect *e)
{
    struct stored_allocation *a = store_allocation(s, e->allocation->id);
    CHECK(s, (!a) == e->insert, "allocation %s", e->allocation->id);
    if (!a) {
        a = must(calloc(1, sizeof(*a)));
        memcpy(&a->row, e->allocation, sizeof(a->row));
        a->trial = a->row.trial_id != 0 ? store_trial(s, a->row.trial_id) : NULL;
        a->task = a->row.trial_id == 0 ? find_task(s, a->row.task_id) : NULL;
        CHECK(s, a->trial || a->task, "allocation %s of no trial and no task", a->row.id);
        LIST_INIT(&a->containers);
        HASH_ADD_STR(s->allocations, row.id, a);
        s->allocation_n++;
    }
    s->placed += a->row.state == ALLOCATION_PENDING && e->allocation->state > ALLOCATION_PENDING &&
                 e->allocation->end_us == 0;
    s->preempted += a->row.preempt_deadline_us == 0 && e->allocation->preempt_deadline_us != 0;
    bool ends = a->row.end_us == 0 && e->allocation->end_us != 0;
    memcpy(&a->row, e->allocation, sizeof(a->row));
    if (ends)
        run_times_keep(s, &a->row);
}

static void release_container(struct soak *s, struct stored_container *k)
{
    if (!k->agent)
        return;
    for (int i = 0; i < k->row.device_n; i++) {
        CHECK(s, k->agent->holder[k->row.device_id[i]] == k, "slot %d of %s was not that of container %s",
              k->row.device_id[i], k->agent->id, k->row.id);
        k->agent->holder[k->row.device_id[i]] = NULL;
    }
    LIST_REMOVE(k, in_agent);
    k->agent->idle_since_us = s->now_us;
    k->agent = NULL;
}

static void put_ended_container(struct soak *s, const struct core_effect *e)
{
    struct stored_container *k = find_container(s, e->container->id);
    if (!k || e->container->state != CONTAINER_TERMINATED)
        return;
    release_container(s, k);
    memcpy(&k->row, e->container, sizeof(k->row));
}

static void put_container(struct soak *s, const struct core_effect *e)
{
    struct stored_container *k = find_container(s, e->container->id);
    CHECK(s, (!k) == e->insert, "container %s", e->container->id);
    if (k) {
        memcpy(&k->row, e->container, sizeof(k->row));
        return;
    }
    k = must(calloc(1, sizeof(*k)));
    memcpy(&k->row, e->container, sizeof(k->row));
    k->allocation = store_allocation(s, k->row.allocation_id);
    CHECK(s, k->allocation != NULL, "container %s of no allocation", k->row.id);
    HASH_ADD_STR(s->containers, row.id, k);
    LIST_INSERT_HEAD(&k->allocation->containers, k, in_allocation);
    if (k->row.state == CONTAINER_TERMINATED)
        return;
    k->agent = agent_named(s, k->row.agent_id);
    LIST_INSERT_HEAD(&k->agent->held, k, in_agent);
    for (int i = 0; i < k->row.device_n; i++) {
        struct stored_container **holder = &k->agent->holder[k->row.device_id[i]];
        CHECK(s, !*holder, "slot %d of %s is given to container %s while %s has it", k->row.device_id[i], k->agent->id,
              k->row.id, (*holder)->row.id);
        *holder = k;
    }
}

static void put_agent(struct soak *s, const struct core_effect *e)
{
    struct agent *a = agent_named(s, e->agent->id);
    CHECK(s, a->stored == !e->insert, "agent %s", a->id);
    a->stored = true;
    memcpy(&a->row, e->agent, sizeof(a->row));
}

static void delete_agent(struct soak *s, const struct core_effect *e)
{
    struct agent *a = agent_named(s, e->agent_id);
    CHECK(s, a->stored && a->machine != MACHINE_RUNS, "%s is forgotten", a->id);
    a->stored = false;
}

/* ---- searchers --------------------------------------------------------------------------------------------------- */

static void put_searcher(struct soak *s, int32_t experiment_id, const char *snapshot)
{
    struct stored_experiment *x = store_experiment(s, experiment_id);
    CHECK(s, x != NULL, "searcher of experiment %d", experiment_id);
    free(x->snapshot);
    x->snapshot = copy_text(snapshot);
    strbuf_reset(&x->events);
    x->events_from = 0;
}

static void add_searcher_events(struct soak *s, const struct core_effect *e)
{
    struct stored_experiment *x = store_experiment(s, e->searcher_events.experiment_id);
    CHECK(s, x && e->searcher_events.from >= x->events_from, "experiment %d", e->searcher_events.experiment_id);
    x->events_from = e->searcher_events.from + 1;
    strbuf_adds(&x->events, e->searcher_events.lines);
}

static void put_resources(struct soak *s, const struct core_effect *e)
{
    struct stored_experiment *x = store_experiment(s, e->resources.experiment_id);
    CHECK(s, x != NULL, "resources of experiment %d", e->resources.experiment_id);
    x->spec.priority = e->resources.priority;
    x->spec.weight = e->resources.weight;
    x->spec.pool = soak_pool_name(s, e->resources.pool);
}

/* ---- all of a step ----------------------------------------------------------------------------------------------- */

static void apply_one(struct soak *s, const struct core_effect *e)
{
    switch (e->type) {
    case CORE_PUT_EXPERIMENT:
        put_experiment(s, e);
        return;
    case CORE_PUT_TRIAL:
        put_trial(s, e);
        return;
    case CORE_PUT_TASK:
        put_task(s, e);
        return;
    case CORE_PUT_LAUNCHED:
        put_launched(s, e);
        return;
    case CORE_PUT_ALLOCATION:
        put_allocation(s, e);
        return;
    case CORE_PUT_CONTAINER:
        put_container(s, e);
        return;
    case CORE_PUT_AGENT:
        put_agent(s, e);
        return;
    case CORE_DELETE_AGENT:
        delete_agent(s, e);
        return;
    case CORE_PUT_SEARCHER:
        put_searcher(s, e->searcher.experiment_id, e->searcher.snapshot);
        return;
    case CORE_ADD_SEARCHER_EVENTS:
        add_searcher_events(s, e);
        return;
    case CORE_PUT_RESOURCES:
        put_resources(s, e);
        return;
    default:
        return;
    }
}

/* Applies the effects of a step. Rows of what has ended come first, because a step may give what it frees to others. */
void store_apply(struct soak *s, const struct core_effects *effects)
{
    for (size_t i = 0; i < effects->n; i++)
        if (effects->item[i].type == CORE_PUT_CONTAINER)
            put_ended_container(s, &effects->item[i]);
    for (size_t i = 0; i < effects->n; i++)
        apply_one(s, &effects->item[i]);
}

static void free_allocation(struct soak *s, struct stored_allocation *a)
{
    struct stored_container *k;
    while ((k = LIST_FIRST(&a->containers))) {
        release_container(s, k);
        LIST_REMOVE(k, in_allocation);
        HASH_DEL(s->containers, k);
        free(k);
    }
    if (a->trial && a->trial->open == a)
        a->trial->open = NULL;
    HASH_DEL(s->allocations, a);
    s->allocation_n--;
    free(a);
}

/* Frees the rows of allocations that have ended, because nobody reads them. */
void store_forget_ended(struct soak *s, const struct core_effects *effects)
{
    for (size_t i = 0; i < effects->n; i++) {
        const struct core_effect *e = &effects->item[i];
        struct stored_allocation *a = e->type == CORE_PUT_ALLOCATION ? store_allocation(s, e->allocation->id) : NULL;
        if (a && a->row.end_us != 0)
            free_allocation(s, a);
    }
    for (size_t i = 0; i < effects->n; i++) {
        const struct core_effect *e = &effects->item[i];
        if (e->type == CORE_PUT_EXPERIMENT)
            sort_experiment(s, store_experiment(s, e->experiment->id));
    }
}

void store_free(struct soak *s)
{
    struct stored_allocation *a, *next_a;
    HASH_ITER(hh, s->allocations, a, next_a)
        free_allocation(s, a);
    struct stored_task *t, *next_t;
    HASH_ITER(hh, s->own_tasks, t, next_t)
        forget_task(s, t);
    struct stored_experiment *x, *next_x;
    HASH_ITER(hh, s->experiments, x, next_x)
        free_experiment(s, x);
    for (int i = 0; i < POOLS; i++)
        free(s->run_times[i].us);
    free(s->open);
    free(s->over);
}

/* ---- reading back ------------------------------------------------------------------------------------------------ */

struct core_rows store_read(struct soak *s, struct arena *arena)
{
    struct core_restored_experiment *x = arena_array(arena, struct core_restored_experiment, s->open_n + 1);
    struct trial_row *t = arena_array(arena, struct trial_row, HASH_COUNT(s->trials) + 1);
    struct task_row *own = arena_array(arena, struct task_row, HASH_COUNT(s->own_tasks) + 1);
    struct launched_row *launched = arena_array(arena, struct launched_row, HASH_COUNT(s->own_tasks) + 1);
    struct allocation_row *a = arena_array(arena, struct allocation_row, s->allocation_n + 1);
    struct container_row *k = arena_array(arena, struct container_row, HASH_COUNT(s->containers) + 1);
    struct agent_row *agent = arena_array(arena, struct agent_row, (size_t)s->agent_n + 1);
    struct core_rows r = {.experiment = x,
                          .trial = t,
                          .task = own,
                          .launched = launched,
                          .allocation = a,
                          .container = k,
                          .agent = agent,
                          .last_experiment_id = s->last_experiment_id,
                          .last_trial_id = s->last_trial_id};
    struct stored_trial *trial;
    struct stored_container *container;
    for (struct stored_experiment *from = s->experiments; from; from = from->hh.next)
        if (!from->over)
            x[r.experiment_n++] = (struct core_restored_experiment){from->row, from->spec, from->snapshot,
                                                                    strbuf_str(&from->events)};
    for (trial = s->trials; trial; trial = trial->hh.next)
        if (!trial->experiment->over)
            t[r.trial_n++] = trial->row;
    for (const struct stored_task *from = s->own_tasks; from; from = from->hh.next)
        own[r.task_n++] = from->row;
    for (const struct stored_task *from = s->own_tasks; from; from = from->hh.next)
        if (task_kind_is_launched(from->row.kind))
            launched[r.launched_n++] = from->launched;
    for (struct stored_allocation *from = s->allocations; from; from = from->hh.next) {
        a[r.allocation_n++] = from->row;
        LIST_FOREACH(container, &from->containers, in_allocation)
            k[r.container_n++] = container->row;
    }
    for (int i = 0; i < s->agent_n; i++)
        if (s->agent[i].stored)
            agent[r.agent_n++] = s->agent[i].row;
    run_times_read(s, arena, &r);
    return r;
}
