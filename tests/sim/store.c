#include "cmocka_setup.h"

#include <stdlib.h>
#include <string.h>

#include "store.h"

/* Applies one row of each kind by its key. For an insert there must be no such row yet; for a change there must be
 * one. */
#define APPLY(array, n, row, insert, same) \
    do { \
        size_t i_ = 0; \
        while (i_ < (n) && !(same)) \
            i_++; \
        assert_true((insert) == (i_ == (n))); \
        (array)[i_] = *(row); \
        (n) += (insert); \
    } while (0)

static struct experiment_row *stored_experiment(struct sim_store *s, int32_t id)
{
    for (size_t i = 0; i < s->experiment_n; i++)
        if (s->experiment[i].id == id)
            return &s->experiment[i];
    return NULL;
}

static void apply_experiment(struct sim_store *s, const struct core_effect *e)
{
    struct experiment_row *now = stored_experiment(s, e->experiment->id);
    if (now)
        free((char *)now->failure);
    APPLY(s->experiment, s->experiment_n, e->experiment, e->insert, s->experiment[i_].id == e->experiment->id);
    now = stored_experiment(s, e->experiment->id);
    now->failure = e->experiment->failure ? strdup(e->experiment->failure) : NULL;
}

static void apply_trial(struct sim_store *s, const struct core_effect *e)
{
    struct trial_row *old = store_trial(s, e->trial->id);
    char *hparams = old ? (char *)old->hparams : NULL;
    if (e->trial->hparams) {
        free(hparams);
        hparams = strdup(e->trial->hparams);
    }
    if (old)
        free((char *)old->excluded_agents);
    APPLY(s->trial, s->trial_n, e->trial, e->insert, s->trial[i_].id == e->trial->id);
    struct trial_row *now = store_trial(s, e->trial->id);
    now->hparams = hparams;
    now->excluded_agents = e->trial->excluded_agents ? strdup(e->trial->excluded_agents) : NULL;
}

static void apply_launched(struct sim_store *s, const struct core_effect *e)
{
    char *description = NULL;
    for (size_t i = 0; i < s->launched_n; i++)
        if (strcmp(s->launched[i].task_id, e->launched->task_id) == 0)
            description = (char *)s->launched[i].description;
    if (e->insert)
        description = strdup(e->launched->description);
    APPLY(s->launched, s->launched_n, e->launched, e->insert,
          strcmp(s->launched[i_].task_id, e->launched->task_id) == 0);
    for (size_t i = 0; i < s->launched_n; i++)
        if (strcmp(s->launched[i].task_id, e->launched->task_id) == 0)
            s->launched[i].description = description;
}

static void apply_searcher(struct sim_store *s, int32_t experiment_id, const char *snapshot)
{
    for (size_t i = 0; i < s->experiment_n; i++) {
        if (s->experiment[i].id != experiment_id)
            continue;
        free(s->snapshot[i]);
        s->snapshot[i] = snapshot ? strdup(snapshot) : NULL;
        strbuf_reset(&s->events[i]);
        s->events_from[i] = 0;
    }
}

/* Adds the lines to those that were stored before. They must follow the stored ones. */
static void apply_searcher_events(struct sim_store *s, const struct core_effect *e)
{
    for (size_t i = 0; i < s->experiment_n; i++) {
        if (s->experiment[i].id != e->searcher_events.experiment_id)
            continue;
        assert_true(e->searcher_events.from >= s->events_from[i]);
        s->events_from[i] = e->searcher_events.from + 1;
        strbuf_adds(&s->events[i], e->searcher_events.lines);
    }
}

static void apply_resources(struct sim_store *s, const struct core_effect *e)
{
    for (size_t i = 0; i < s->experiment_n; i++) {
        if (s->experiment[i].id != e->resources.experiment_id)
            continue;
        s->spec[i].priority = e->resources.priority;
        s->spec[i].weight = e->resources.weight;
        s->spec[i].pool = strcmp(e->resources.pool, "other") == 0 ? "other" : "default";
    }
}

static void delete_agent(struct sim_store *s, const char *id)
{
    size_t i = 0;
    while (i < s->agent_n && strcmp(s->agent[i].id, id) != 0)
        i++;
    assert_true(i < s->agent_n);
    s->agent[i] = s->agent[--s->agent_n];
}

static void apply_one(struct sim_store *s, const struct core_effect *e)
{
    switch (e->type) {
    case CORE_PUT_EXPERIMENT:
        apply_experiment(s, e);
        break;
    case CORE_PUT_TRIAL:
        apply_trial(s, e);
        break;
    case CORE_PUT_TASK:
        APPLY(s->task, s->task_n, e->task, e->insert, strcmp(s->task[i_].id, e->task->id) == 0);
        break;
    case CORE_PUT_LAUNCHED:
        apply_launched(s, e);
        break;
    case CORE_PUT_ALLOCATION:
        if (e->insert)
            s->allocation = realloc(s->allocation, (s->allocation_n + 1) * sizeof(*s->allocation));
        APPLY(s->allocation, s->allocation_n, e->allocation, e->insert,
              strcmp(s->allocation[i_].id, e->allocation->id) == 0);
        break;
    case CORE_PUT_CONTAINER:
        if (e->insert)
            s->container = realloc(s->container, (s->container_n + 1) * sizeof(*s->container));
        APPLY(s->container, s->container_n, e->container, e->insert,
              strcmp(s->container[i_].id, e->container->id) == 0);
        break;
    case CORE_PUT_AGENT:
        APPLY(s->agent, s->agent_n, e->agent, e->insert, strcmp(s->agent[i_].id, e->agent->id) == 0);
        break;
    case CORE_DELETE_AGENT:
        delete_agent(s, e->agent_id);
        break;
    case CORE_PUT_SEARCHER:
        apply_searcher(s, e->searcher.experiment_id, e->searcher.snapshot);
        break;
    case CORE_PUT_RESOURCES:
        apply_resources(s, e);
        break;
    case CORE_ADD_SEARCHER_EVENTS:
        apply_searcher_events(s, e);
        break;
    default:
        break;
    }
}

void store_apply(struct sim_store *s, const struct core_effects *effects)
{
    for (size_t i = 0; i < effects->n; i++)
        apply_one(s, &effects->item[i]);
}

struct trial_row *store_trial(struct sim_store *s, int32_t id)
{
    for (size_t i = 0; i < s->trial_n; i++)
        if (s->trial[i].id == id)
            return &s->trial[i];
    return NULL;
}

const struct launched_row *store_launched(const struct sim_store *s, const char *task_id)
{
    for (size_t i = 0; i < s->launched_n; i++)
        if (strcmp(s->launched[i].task_id, task_id) == 0)
            return &s->launched[i];
    return NULL;
}

static bool share_a_slot(const struct container_row *a, const struct container_row *b)
{
    if (strcmp(a->agent_id, b->agent_id) != 0)
        return false;
    for (int i = 0; i < a->device_n; i++)
        for (int k = 0; k < b->device_n; k++)
            if (a->device_id[i] == b->device_id[k])
                return true;
    return false;
}

static void check_slots(const struct sim_store *s)
{
    for (size_t i = 0; i < s->container_n; i++)
        for (size_t k = 0; k < i; k++)
            if (s->container[i].state != CONTAINER_TERMINATED && s->container[k].state != CONTAINER_TERMINATED)
                assert_false(share_a_slot(&s->container[i], &s->container[k]));
}

static void check_allocations(const struct sim_store *s)
{
    for (size_t i = 0; i < s->allocation_n; i++) {
        const struct allocation_row *a = &s->allocation[i];
        assert_true((a->state == ALLOCATION_TERMINATED) == (a->end_us != 0));
        if (a->end_us != 0 || a->trial_id == 0)
            continue;
        assert_false(run_state_is_terminal(store_trial((struct sim_store *)s, a->trial_id)->state));
        for (size_t k = 0; k < i; k++)
            assert_true(s->allocation[k].end_us != 0 || s->allocation[k].trial_id != a->trial_id);
    }
}

/* Checks that a generic task has one open allocation in the states that need one, and else none. */
static void check_generic(const struct sim_store *s, const struct task_row *t)
{
    size_t open_n = 0;
    const struct launched_row *l = store_launched(s, t->id);
    bool over = l->state >= GENERIC_CANCELED;
    for (size_t k = 0; k < s->allocation_n; k++)
        open_n += strcmp(s->allocation[k].task_id, t->id) == 0 && s->allocation[k].end_us == 0;
    assert_int_equal(over, t->end_us != 0);
    assert_int_equal(open_n, !over && l->state != GENERIC_PAUSED);
}

/* Checks that a task of its own has ended with its only allocation. */
static void check_tasks(const struct sim_store *s)
{
    for (size_t i = 0; i < s->task_n; i++) {
        size_t n = 0;
        if (s->task[i].kind == TASK_KIND_GENERIC && s->task[i].trial_id == 0) {
            check_generic(s, &s->task[i]);
            continue;
        }
        for (size_t k = 0; k < s->allocation_n && s->task[i].trial_id == 0; k++) {
            if (strcmp(s->allocation[k].task_id, s->task[i].id) != 0)
                continue;
            assert_true((s->allocation[k].end_us != 0) == (s->task[i].end_us != 0));
            n++;
        }
        assert_true(s->task[i].trial_id != 0 || n == 1);
    }
}

static void check_containers(const struct sim_store *s)
{
    for (size_t i = 0; i < s->container_n; i++) {
        const struct container_row *k = &s->container[i];
        for (size_t n = 0; n < s->allocation_n && k->state != CONTAINER_TERMINATED; n++)
            if (strcmp(s->allocation[n].id, k->allocation_id) == 0)
                assert_int_equal(s->allocation[n].end_us, 0);
    }
}

static void check_experiments(const struct sim_store *s)
{
    for (size_t i = 0; i < s->experiment_n; i++) {
        const struct experiment_row *x = &s->experiment[i];
        assert_true(run_state_is_terminal(x->state) == (x->end_us != 0));
        assert_true(run_state_is_terminal(x->state) == (!s->snapshot[i]));
        for (size_t k = 0; k < s->trial_n; k++)
            if (s->trial[k].experiment_id == x->id && run_state_is_terminal(x->state))
                assert_true(run_state_is_terminal(s->trial[k].state));
    }
}

void store_check(const struct sim_store *s)
{
    check_slots(s);
    check_allocations(s);
    check_tasks(s);
    check_containers(s);
    check_experiments(s);
}

static bool experiment_is_over(const struct sim_store *s, int32_t id)
{
    for (size_t i = 0; i < s->experiment_n; i++)
        if (s->experiment[i].id == id)
            return run_state_is_terminal(s->experiment[i].state);
    return true;
}

static const struct allocation_row *open_allocation(const struct sim_store *s, const char *id)
{
    for (size_t i = 0; i < s->allocation_n; i++)
        if (strcmp(s->allocation[i].id, id) == 0)
            return s->allocation[i].end_us == 0 ? &s->allocation[i] : NULL;
    return NULL;
}

struct core_rows store_read(const struct sim_store *s)
{
    struct core_restored_experiment *x = calloc(s->experiment_n + 1, sizeof(*x));
    struct trial_row *t = calloc(s->trial_n + 1, sizeof(*t));
    struct allocation_row *a = calloc(s->allocation_n + 1, sizeof(*a));
    struct container_row *k = calloc(s->container_n + 1, sizeof(*k));
    struct task_row *own = calloc(s->task_n + 1, sizeof(*own));
    struct launched_row *launched = calloc(s->launched_n + 1, sizeof(*launched));
    struct core_rows r = {.experiment = x,
                          .trial = t,
                          .task = own,
                          .launched = launched,
                          .allocation = a,
                          .container = k,
                          .agent = s->agent,
                          .agent_n = s->agent_n,
                          .quota = s->quota,
                          .quota_n = s->quota_n,
                          .last_experiment_id = (int32_t)s->experiment_n,
                          .last_trial_id = (int32_t)s->trial_n};
    for (size_t i = 0; i < s->experiment_n; i++)
        if (!run_state_is_terminal(s->experiment[i].state))
            x[r.experiment_n++] = (struct core_restored_experiment){s->experiment[i], s->spec[i], s->snapshot[i],
                                                                    strbuf_str(&s->events[i])};
    for (size_t i = 0; i < s->trial_n; i++)
        if (!experiment_is_over(s, s->trial[i].experiment_id))
            t[r.trial_n++] = s->trial[i];
    for (size_t i = 0; i < s->task_n; i++)
        if (s->task[i].trial_id == 0 && s->task[i].end_us == 0)
            own[r.task_n++] = s->task[i];
    for (size_t i = 0; i < s->launched_n; i++)
        for (size_t n = 0; n < r.task_n; n++)
            if (strcmp(own[n].id, s->launched[i].task_id) == 0)
                launched[r.launched_n++] = s->launched[i];
    for (size_t i = 0; i < s->allocation_n; i++)
        if (s->allocation[i].end_us == 0)
            a[r.allocation_n++] = s->allocation[i];
    for (size_t i = 0; i < s->container_n; i++)
        if (open_allocation(s, s->container[i].allocation_id))
            k[r.container_n++] = s->container[i];
    return r;
}

void store_rows_free(struct core_rows *rows)
{
    free((void *)rows->experiment);
    free((void *)rows->trial);
    free((void *)rows->task);
    free((void *)rows->launched);
    free((void *)rows->allocation);
    free((void *)rows->container);
}

void store_free(struct sim_store *s)
{
    for (size_t i = 0; i < s->trial_n; i++) {
        free((char *)s->trial[i].hparams);
        free((char *)s->trial[i].excluded_agents);
    }
    for (size_t i = 0; i < s->launched_n; i++)
        free((char *)s->launched[i].description);
    for (size_t i = 0; i < s->experiment_n; i++)
        strbuf_release(&s->events[i]);
    for (size_t i = 0; i < s->experiment_n; i++) {
        free(s->snapshot[i]);
        free((char *)s->experiment[i].failure);
    }
    free(s->allocation);
    free(s->container);
    free(s);
}
