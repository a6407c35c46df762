/* What people do: submit, change their minds, change the queue. */
#include <stdlib.h>
#include <string.h>

#include "soak.h"

enum { BURST = 40 };

static const char hyperparameters[] =
    "{\"lr\": {\"type\": \"log\", \"base\": 10, \"minval\": -4, \"maxval\": -1, \"count\": 3}}";

static struct stored_experiment *any_open(struct soak *s)
{
    return s->open_n > 0 ? s->open[one_of(s, (int)s->open_n)] : NULL;
}

/* ---- submitting -------------------------------------------------------------------------------------------------- */

static int slots_for(struct soak *s, int pool, bool *ret_impossible)
{
    static const int sizes[] = {0, 1, 1, 1, 1, 1, 2, 2, 4, 8, 8, 16, 24, 64};
    *ret_impossible = !s->even[pool] && once_in(s, 200);
    if (*ret_impossible)
        return once_in(s, 2) ? 13 : 8 * s->size.agents + 8;
    if (s->narrow[pool])
        return 1;
    int slots = sizes[one_of(s, (int)(sizeof(sizes) / sizeof(sizes[0])))];
    return slots > 2 * s->size.agents ? 2 : slots;
}

/* Requests for cores and memory, which some agents have and others have not. In pools where fairness is checked nobody
 * asks for them, because a share of slots may then have no place. ret_impossible may be NULL. */
static struct sched_needs needs_for(struct soak *s, int pool, bool *ret_impossible)
{
    if (s->even[pool] || s->narrow[pool] || once_in(s, 2))
        return (struct sched_needs){0};
    if (once_in(s, 100)) {
        if (ret_impossible)
            *ret_impossible = true;
        return needs_of(1000, 0);
    }
    return needs_of(once_in(s, 2) ? 0 : one_of(s, 33) / 4.0, once_in(s, 3) ? 0 : 1 + one_of(s, 32));
}

static const char *searcher_for(struct soak *s, struct behaviour *b)
{
    static const char *const searchers[] = {
        "{\"name\": \"random\", \"max_trials\": 5, \"max_concurrent_trials\": 2}",
        "{\"name\": \"grid\", \"max_concurrent_trials\": 2}",
        "{\"name\": \"single\", \"max_length\": 3}",
        "{\"name\": \"async_halving\", \"max_time\": 4, \"time_metric\": \"batches\", \"metric\": \"loss\", \"num_rungs\": 2, "
        "\"max_trials\": 5, \"divisor\": 2, \"max_concurrent_trials\": 2}",
        "{\"name\": \"async_halving\", \"max_length\": {\"batches\": 4}, \"metric\": \"loss\", \"num_rungs\": 2, "
        "\"max_trials\": 5, \"divisor\": 2, \"max_concurrent_trials\": 2}",
        "{\"name\": \"adaptive_asha\", \"metric\": \"loss\", \"max_trials\": 6, \"max_time\": 4, \"time_metric\": \"batches\", "
        "\"divisor\": 2, \"mode\": \"conservative\", \"max_concurrent_trials\": 3}",
    };
    if (!once_in(s, 3))
        return "{\"name\": \"single\"}";
    int i = one_of(s, 6);
    b->searched = i >= 2;
    b->invalid_hp = false; /* a search would try other hyperparameters for ever */
    b->steps = 4;
    return searchers[i];
}

static void submit_experiment(struct soak *s)
{
    int pool = one_of(s, s->pool_n);
    struct behaviour b = {.step_us = about(s, 120 * SECOND),
                          .steps = 1 + one_of(s, 4),
                          .deaf = once_in(s, 10),
                          .fails_in = once_in(s, 6) ? 4 : 0,
                          .launch_fails_in = once_in(s, 30) ? 3 : 0,
                          .invalid_hp = once_in(s, 60)};
    struct core_experiment_spec spec = {
        .owner_id = 1 + one_of(s, 20),
        .pool = s->pool[pool].name,
        .slots_per_trial = slots_for(s, pool, &b.impossible),
        .priority = once_in(s, 2) ? 42 : 1 + one_of(s, 99),
        .weight = 1,
        .max_slots = -1,
        .max_restarts = one_of(s, 4),
        .preemption_timeout_s = 1 + one_of(s, 60),
        .seed = (uint32_t)one_of(s, 1000),
        .hyperparameters = hyperparameters,
    };
    bool fair = s->pool[pool].sched.policy == SCHED_BY_FAIR_SHARE;
    spec.needs = needs_for(s, pool, &b.impossible);
    spec.single_node = spec.slots_per_trial <= 4 && once_in(s, 6);
    if (fair && !s->narrow[pool])
        spec.weight = 1 + one_of(s, 4);
    if (once_in(s, 10))
        spec.max_slots = 1 + one_of(s, 16);
    spec.searcher = searcher_for(s, &b);
    soak_create(s, &spec, &b);
}

/* ---- changing one ------------------------------------------------------------------------------------------------ */

static void request_change(struct soak *s)
{
    static const enum core_event_type requests[] = {CORE_EXPERIMENT_ACTIVATE, CORE_EXPERIMENT_ACTIVATE,
                                                    CORE_EXPERIMENT_ACTIVATE, CORE_EXPERIMENT_PAUSE,
                                                    CORE_EXPERIMENT_CANCEL,   CORE_EXPERIMENT_KILL};
    const struct stored_experiment *x = any_open(s);
    if (x)
        soak_step(s, &(struct core_event){.type = requests[one_of(s, 6)], .experiment_id = x->row.id});
}

static void kill_trial(struct soak *s)
{
    const struct stored_experiment *x = any_open(s);
    const struct stored_trial *t = x ? LIST_FIRST(&x->trials) : NULL;
    if (t)
        soak_step(s, &(struct core_event){.type = CORE_TRIAL_KILL, .trial_id = t->row.id});
}

static void patch_experiment(struct soak *s)
{
    const struct stored_experiment *x = any_open(s);
    struct core_resources_patch p = {.set_max_slots = once_in(s, 2),
                                     .max_slots = once_in(s, 2) ? -1 : 1 + one_of(s, 20),
                                     .set_priority = once_in(s, 2),
                                     .priority = 1 + one_of(s, 99)};
    if (x)
        soak_step(s, &(struct core_event){.type = CORE_EXPERIMENT_RESOURCES,
                                          .resources = {.experiment_id = x->row.id, .patch = &p}});
}

static void go_on(struct soak *s)
{
    cleanup_arena struct arena a = ARENA_INIT;
    if (s->over_n == 0)
        return;
    struct stored_experiment *x = s->over[one_of(s, (int)s->over_n)];
    struct core_restored_experiment from = {.row = x->row, .spec = x->spec};
    size_t n = 0;
    struct stored_trial *t;
    LIST_FOREACH(t, &x->trials, in_experiment)
        n++;
    struct trial_row *trial = arena_array(&a, struct trial_row, n + 1);
    LIST_FOREACH(t, &x->trials, in_experiment)
        trial[--n] = t->row;
    struct core_event ev = {.type = CORE_EXPERIMENT_CONTINUE, .resume = {.experiment = &from, .trial = trial}};
    LIST_FOREACH(t, &x->trials, in_experiment)
        ev.resume.trial_n++;
    ev.resume.rerun_completed = strstr(x->spec.searcher, "single") != NULL;
    soak_step(s, &ev);
}

/* ---- the queue --------------------------------------------------------------------------------------------------- */

/* Returns another pool. A pool for jobs of one slot takes no other jobs. */
static const char *another_pool(struct soak *s, const struct stored_experiment *x)
{
    int i = one_of(s, s->pool_n);
    return s->narrow[i] && (x->spec.slots_per_trial != 1 || x->spec.weight != 1) ? s->pool[0].name : s->pool[i].name;
}

/* Makes a batch of changes to the queue. Some changes contradict each other, or name jobs of other pools or none; such
 * a batch must change nothing. */
static void change_queue(struct soak *s)
{
    struct core_queue_change change[3];
    char prefix[CORE_UUID_MAX];
    size_t n = 1 + (size_t)one_of(s, 3);
    for (size_t i = 0; i < n; i++) {
        const struct stored_experiment *x = any_open(s), *anchor = any_open(s);
        if (!x)
            return;
        const struct core_pool_opts *pool = &s->pool[0];
        for (int k = 0; k < s->pool_n; k++)
            if (strcmp(s->pool[k].name, x->spec.pool) == 0)
                pool = &s->pool[k];
        for (int tries = 0; tries < 10 && strcmp(anchor->spec.pool, x->spec.pool) != 0; tries++)
            anchor = any_open(s);
        change[i] = (struct core_queue_change){.job_id = x->row.job_id,
                                               .what = (enum core_queue_what)one_of(s, 5),
                                               .pool = another_pool(s, x),
                                               .priority = one_of(s, 101),
                                               .weight = one_of(s, 5),
                                               .anchor = anchor->row.job_id};
        if (pool->sched.policy == SCHED_BY_FAIR_SHARE && !once_in(s, 5))
            change[i].what = QUEUE_WEIGHT;
        if (change[i].what == QUEUE_WEIGHT && pool->sched.policy == SCHED_BY_FAIR_SHARE && s->narrow[pool - s->pool])
            change[i].weight = 1;
    }
    if (once_in(s, 2)) {
        snprintf(prefix, sizeof(prefix), "%.8s", change[0].job_id);
        change[0].job_id = prefix;
    }
    soak_step(s, &(struct core_event){.type = CORE_QUEUE_CHANGE, .queue = {.change = change, .n = n}});
}

/* ---- tasks of their own ------------------------------------------------------------------------------------------ */

/* Creates a task of its own on behalf of an experiment, which may have ended long ago. */
static void create_task(struct soak *s)
{
    struct core_task_spec spec = {.owner_id = 1,
                                  .experiment_id = 1 + one_of(s, s->last_experiment_id + 1),
                                  .pool = once_in(s, 2) ? s->pool[0].name : NULL};
    soak_step(s, &(struct core_event){.type = CORE_TASK_CREATE, .task = &spec});
}

static const struct stored_task *any_generic(struct soak *s)
{
    const struct stored_task *found = NULL;
    int n = 0;
    for (const struct stored_task *t = s->own_tasks; t; t = t->hh.next)
        if (t->row.kind == TASK_KIND_GENERIC && once_in(s, ++n))
            found = t;
    return found;
}

/* Launches a command or a generic task, which asks for no slots or few. A pool for jobs of one slot takes no other
 * jobs. */
static void launch_task(struct soak *s)
{
    int pool = one_of(s, s->pool_n);
    bool generic = once_in(s, 2);
    const struct stored_task *parent = generic && once_in(s, 2) ? any_generic(s) : NULL;
    struct core_task_spec spec = {.kind = generic ? TASK_KIND_GENERIC : TASK_KIND_COMMAND,
                                  .no_pause = once_in(s, 4),
                                  .preemption_timeout_s = 1 + one_of(s, 60),
                                  .parent_id = parent ? parent->row.id : NULL,
                                  .owner_id = 1,
                                  .pool = s->pool[pool].name,
                                  .description = "made up",
                                  .slots = s->narrow[pool] ? 1 : one_of(s, 4),
                                  .needs = needs_for(s, pool, NULL),
                                  .priority = 1 + one_of(s, 99),
                                  .max_slots = -1,
                                  .weight = s->narrow[pool] ? 1 : 1 + one_of(s, 3)};
    soak_step(s, &(struct core_event){.type = CORE_TASK_CREATE, .task = &spec});
}

static const struct stored_task *any_launched(struct soak *s)
{
    const struct stored_task *found = NULL;
    int n = 0;
    for (const struct stored_task *t = s->own_tasks; t; t = t->hh.next)
        if (task_kind_is_launched(t->row.kind) && once_in(s, ++n))
            found = t;
    return found;
}

static void end_launched(struct soak *s, const struct stored_task *t)
{
    const struct core_event kill = {.type = CORE_TASK_KILL, .task_id = t->row.id},
                            kill_generic = {.type = CORE_GENERIC_CHANGE,
                                            .generic = {.what = GENERIC_KILL, .named = t->row.id}};
    soak_step(s, t->row.kind == TASK_KIND_GENERIC ? &kill_generic : &kill);
}

static void kill_task(struct soak *s)
{
    const struct stored_task *t = any_launched(s);
    if (t)
        end_launched(s, t);
}

/* Pauses, unpauses or kills a generic task and those below it. Some of these requests are refused. */
static void change_generic(struct soak *s)
{
    const struct stored_task *t = any_generic(s);
    if (t)
        soak_step(s,
                  &(struct core_event){.type = CORE_GENERIC_CHANGE,
                                       .generic = {.what = (enum core_generic_what)one_of(s, 3), .named = t->row.id}});
}

/* Changes the place of a task's job. Some changes name jobs of other pools, or what such a job cannot have. */
static void move_task(struct soak *s)
{
    const struct stored_task *t = any_launched(s), *other = any_launched(s);
    const struct stored_experiment *x = any_open(s);
    if (!t || !x)
        return;
    struct core_queue_change change = {.job_id = t->row.job_id,
                                       .what = (enum core_queue_what)one_of(s, 5),
                                       .pool = s->pool[one_of(s, s->pool_n)].name,
                                       .priority = one_of(s, 101),
                                       .weight = t->launched.weight,
                                       .anchor = once_in(s, 2) ? x->row.job_id : other->row.job_id};
    soak_step(s, &(struct core_event){.type = CORE_QUEUE_CHANGE, .queue = {.change = &change, .n = 1}});
}

/* ---- now and then ------------------------------------------------------------------------------------------------ */

static void do_something(struct soak *s)
{
    switch (one_of(s, 17)) {
    case 0:
        kill_trial(s);
        return;
    case 1:
        patch_experiment(s);
        return;
    case 2:
        go_on(s);
        return;
    case 3:
    case 4:
    case 5:
        change_queue(s);
        return;
    case 6:
        create_task(s);
        return;
    case 7:
    case 8:
        launch_task(s);
        return;
    case 9:
        kill_task(s);
        return;
    case 10:
        move_task(s);
        return;
    case 11:
    case 12:
        change_generic(s);
        return;
    default:
        request_change(s);
        return;
    }
}

void users_tick(struct soak *s, struct tick *t)
{
    for (int i = 0; i < BURST && s->core && (int)s->open_n < s->size.jobs && !s->winding_down; i++)
        submit_experiment(s);
    if (!s->winding_down)
        do_something(s);
    tick_in(s, t, about(s, 200 * SECOND / (s->size.agents + 1)));
}

/* Kills the launched tasks that wait, because no agent may have their slots. */
static void kill_waiting_tasks(struct soak *s)
{
    const struct stored_allocation *a = s->allocations, *next;
    for (; a; a = next) {
        next = a->hh.next;
        if (a->task && task_kind_is_launched(a->task->row.kind) && a->row.state == ALLOCATION_PENDING && s->core) {
            end_launched(s, a->task);
            next = s->allocations; /* the step may have freed any of them */
        }
    }
}

static const struct stored_task *any_paused(const struct soak *s)
{
    for (const struct stored_task *t = s->own_tasks; t; t = t->hh.next)
        if (t->row.kind == TASK_KIND_GENERIC &&
            (t->launched.state == GENERIC_PAUSED || t->launched.state == GENERIC_STOPPING_PAUSED))
            return t;
    return NULL;
}

/* Ends the generic tasks that are paused, because they would stay for ever. */
static void end_paused_tasks(struct soak *s)
{
    const struct stored_task *t;
    while (s->core && (t = any_paused(s)))
        end_launched(s, t);
}

/* Kills the experiments that are impossible, and lets all others go on to their end. */
void users_finish(struct soak *s)
{
    kill_waiting_tasks(s);
    end_paused_tasks(s);
    for (size_t i = s->open_n; i-- > 0;) {
        if (i >= s->open_n)
            continue;
        const struct stored_experiment *x = s->open[i];
        enum core_event_type type = x->behaviour.impossible || once_in(s, 3) ? CORE_EXPERIMENT_KILL
                                                                             : CORE_EXPERIMENT_ACTIVATE;
        soak_step(s, &(struct core_event){.type = type, .experiment_id = x->row.id});
    }
}
