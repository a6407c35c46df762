/* Steps of the core, what follows from them, and agents. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "soak.h"

/* ---- time and chance --------------------------------------------------------------------------------------------- */

int one_of(struct soak *s, int n)
{
    return (int)rng_int(&s->rng, (uint64_t)n);
}

bool once_in(struct soak *s, int n)
{
    return n > 0 && one_of(s, n) == 0;
}

int64_t about(struct soak *s, int64_t mean_us)
{
    return 1 + (int64_t)(-log(1 - rng_unit(&s->rng)) * (double)mean_us);
}

/* Sets a tick. The core's timers have a kind that says what they do; here the tick has a function. */
void tick_in(struct soak *s, struct tick *t, int64_t us)
{
    timer_set(&s->timers, &t->timer, TIMER_POOL_PASS, s->now_us + us);
}

void tick_clear(struct soak *s, struct tick *t)
{
    timer_clear(&s->timers, &t->timer);
}

/* ---- after the commit -------------------------------------------------------------------------------------------- */

static void start_container(struct soak *s, const struct core_start *e)
{
    struct agent *a = agent_named(s, e->agent_id);
    const struct stored_trial *t = store_trial(s, e->trial_id);
    CHECK(s, e->trial_id == 0 || (t && e->steps_completed >= t->promised),
          "trial %d starts from step %d, and was promised %d", e->trial_id, e->steps_completed, !t ? 0 : t->promised);
    if (a->connected)
        worker_start(s, a, e);
}

/* Handles a welcome. The agent ends by itself what it runs and the master does not expect. */
static void welcome_agent(struct soak *s, const struct core_effect *e)
{
    struct agent *a = agent_named(s, e->welcome.agent_id);
    struct worker *k, *next;
    for (k = LIST_FIRST(&a->tasks); k; k = next) {
        bool expected = false;
        next = LIST_NEXT(k, in_agent);
        for (size_t i = 0; i < e->welcome.container_n && !expected; i++)
            expected = strcmp(e->welcome.container_id[i], k->id) == 0;
        if (!expected && k->state != CONTAINER_TERMINATED)
            worker_drop(s, k);
    }
}

static struct worker *chief_of(struct soak *s, const char *allocation_id)
{
    const struct stored_allocation *a = store_allocation(s, allocation_id);
    const struct stored_container *k;
    if (!a)
        return NULL;
    LIST_FOREACH(k, &a->containers, in_allocation)
        if (k->row.rank == 0)
            return worker_find(s, k->row.id);
    return NULL;
}

static void carry_out(struct soak *s, const struct core_effect *e)
{
    struct worker *k;
    switch (e->type) {
    case CORE_START_CONTAINER:
        start_container(s, &e->start);
        return;
    case CORE_SIGNAL_CONTAINER:
        k = worker_find(s, e->signal.container_id);
        if (k && k->agent->connected && strcmp(k->agent->id, e->signal.agent_id) == 0)
            worker_kill(s, k);
        return;
    case CORE_ACK_CONTAINER:
        k = worker_find(s, e->ack.container_id);
        if (k && k->state == CONTAINER_TERMINATED)
            worker_drop(s, k);
        return;
    case CORE_WELCOME_AGENT:
        welcome_agent(s, e);
        return;
    case CORE_WAKE:
        k = e->wake.what == CORE_WAKE_PREEMPTION ? chief_of(s, e->wake.allocation_id) : NULL;
        if (k)
            worker_preempt(s, k);
        return;
    case CORE_ORDER_INSTANCES:
        provider_order(s, e);
        return;
    default:
        return;
    }
}

/* ---- steps and crashes ------------------------------------------------------------------------------------------- */

static void master_back(struct soak *s, struct tick *t)
{
    (void)t;
    master_start(s);
}

/* Crashes the master. Agents notice it at once and try to connect again; some come back only after the time for which
 * the master waits for them. */
void soak_crash(struct soak *s)
{
    if (!s->core)
        return;
    core_free(s->core);
    s->core = NULL;
    s->crash_in = 0;
    s->crashes++;
    tick_clear(s, &s->master_timer);
    int64_t back_us = about(s, 10 * SECOND);
    s->master_back.fire = master_back;
    tick_in(s, &s->master_back, back_us);
    provider_master_down(s);
    for (int i = 0; i < s->agent_n; i++) {
        struct agent *a = &s->agent[i];
        if (a->connected)
            agent_disconnect(s, a, back_us + about(s, once_in(s, 20) ? 60 * SECOND : 2 * SECOND));
    }
}

static bool crashes_now(struct soak *s, enum crash where)
{
    if (s->crash_in != 1 || s->crash_mode != where)
        return false;
    soak_crash(s);
    return true;
}

static void master_timer(struct soak *s, struct tick *t)
{
    (void)t;
    soak_step(s, &(struct core_event){.type = CORE_TIMER});
}

static void set_master_timer(struct soak *s, int64_t due_us)
{
    tick_clear(s, &s->master_timer);
    s->master_timer.fire = master_timer;
    if (due_us != 0)
        tick_in(s, &s->master_timer, due_us > s->now_us ? due_us - s->now_us : 0);
}

static bool is_row(const struct core_effect *e)
{
    return e->type <= CORE_PUT_RESOURCES;
}

static void check_nothing_changed(struct soak *s, const struct core_event *ev, const struct core_effects *effects)
{
    for (size_t i = 0; i < effects->n; i++)
        CHECK(s, !is_row(&effects->item[i]), "event %d was refused, and effect %d came of it", ev->type,
              effects->item[i].type);
}

static void print_order(const struct core_effect *e)
{
    printf("    order %llu: launch %d", (unsigned long long)e->order.number, e->order.launch);
    for (size_t i = 0; i < e->order.terminate_n; i++)
        printf(", end %s (%s)", e->order.terminate[i].id, e->order.terminate[i].reason);
    printf("\n");
}

/* Prints a step, for finding the cause of a failure. */
static void print_step(const struct soak *s, const struct core_event *ev, const struct core_effects *effects)
{
    printf("%ld [%.6f] event %d\n", s->events, (double)(s->now_us - START_US) / SECOND, ev->type);
    for (size_t i = 0; i < effects->n; i++) {
        const struct core_effect *e = &effects->item[i];
        if (e->type == CORE_PUT_ALLOCATION)
            printf("    %s %s%s%s\n", e->allocation->id, allocation_state_name(e->allocation->state),
                   e->allocation->preempt_deadline_us != 0 ? ", preempted" : "",
                   e->allocation->killed ? ", killed" : "");
        else if (e->type == CORE_PUT_CONTAINER)
            printf("    %s on %s: %s\n", e->container->id, e->container->agent_id,
                   container_state_name(e->container->state));
        else if (e->type == CORE_PUT_AGENT)
            printf("    %s%s\n", e->agent->id, e->agent->enabled ? "" : " disabled");
        else if (e->type == CORE_ORDER_INSTANCES)
            print_order(e);
        else if (e->type == CORE_EXPERIMENT_STATE)
            printf("    experiment %d %s\n", e->state.experiment_id, run_state_name(e->state.to));
    }
}

/* Stores what the caller of the step keeps in the same transaction. */
static void keep_companion(struct soak *s, const struct core_event *ev, const struct behaviour *behaviour,
                           const struct core_effects *effects)
{
    if (ev->type == CORE_EXPERIMENT_CREATE) {
        struct stored_experiment *x = store_experiment(s, effects->experiment_id);
        x->spec = *ev->create.spec;
        x->spec.searcher = x->searcher = must(strdup(x->spec.searcher));
        x->behaviour = *behaviour;
    }
    if (ev->type == CORE_EXPERIMENT_RESOURCES) {
        const struct core_resources_patch *p = ev->resources.patch;
        struct core_experiment_spec *spec = &store_experiment(s, ev->resources.experiment_id)->spec;
        spec->max_slots = p->set_max_slots ? p->max_slots : spec->max_slots;
        spec->weight = p->set_weight ? p->weight : spec->weight;
        spec->priority = p->set_priority ? p->priority : spec->priority;
    }
}

/* Stores and carries out the effects. Returns false if the master has died before it could answer. */
static bool finish_step(struct soak *s, const struct core_event *ev, const struct behaviour *behaviour,
                        const struct core_effects *effects)
{
    if (s->tells)
        print_step(s, ev, effects);
    if (crashes_now(s, CRASH_BEFORE_COMMIT))
        return false;
    store_apply(s, effects);
    keep_companion(s, ev, behaviour, effects);
    store_check_effects(s, effects);
    set_master_timer(s, effects->next_timer_us);
    if (!crashes_now(s, CRASH_AFTER_COMMIT))
        for (size_t i = 0; i < effects->n && s->core; i++)
            carry_out(s, &effects->item[i]);
    bool lives = s->core && !crashes_now(s, CRASH_AFTER_EFFECTS);
    s->crash_in -= s->crash_in > 0;
    store_forget_ended(s, effects);
    return lives;
}

static bool step_core(struct soak *s, const struct core_event *ev, const struct behaviour *behaviour)
{
    cleanup_effects struct core_effects effects = CORE_EFFECTS_INIT;
    struct core_event event = *ev;
    event.now_us = s->now_us;
    if (!s->core)
        return false;
    s->events++;
    if (core_step(s->core, &event, &effects, NULL) < 0) {
        check_nothing_changed(s, &event, &effects);
        set_master_timer(s, effects.next_timer_us);
        s->refused++;
        return false;
    }
    return finish_step(s, &event, behaviour, &effects);
}

bool soak_step(struct soak *s, const struct core_event *ev)
{
    return step_core(s, ev, NULL);
}

void soak_create(struct soak *s, const struct core_experiment_spec *spec, const struct behaviour *behaviour)
{
    struct core_event ev = {.type = CORE_EXPERIMENT_CREATE, .create = {.spec = spec, .activate = !once_in(s, 20)}};
    step_core(s, &ev, behaviour);
}

void master_start(struct soak *s)
{
    cleanup_arena struct arena a = ARENA_INIT;
    cleanup_effects struct core_effects effects = CORE_EFFECTS_INIT;
    if (s->epoch > 0 && !s->winding_down && once_in(s, 3))
        choose_pools(s); /* the configuration has been changed while the master was down */
    struct core_opts opts = {.pool = s->pool,
                             .pool_n = (size_t)s->pool_n,
                             .agent_reconnect_wait_us = CORE_AGENT_RECONNECT_WAIT_US,
                             .restore_wait_us = CORE_RESTORE_WAIT_US,
                             .seed = s->seed * 1000003 + (uint64_t)s->epoch++};
    struct core_rows rows = store_read(s, &a);
    s->core = core_new(&opts);
    core_restore(s->core, &rows, s->now_us, &effects, NULL);
    provider_master_up(s);
    s->events++;
    finish_step(s, &(struct core_event){.type = CORE_TIMER}, NULL, &effects);
}

/* ---- agents ------------------------------------------------------------------------------------------------------ */

static void bring_back(struct soak *s, struct agent *a)
{
    if (!s->core) {
        tick_in(s, &a->tick, about(s, 2 * SECOND));
        return;
    }
    a->slots = a->slots_next;
    agent_connect(s, a);
}

static void wake_agent(struct soak *s, struct agent *a)
{
    struct worker *k, *next;
    a->hangs_until_us = 0;
    for (k = LIST_FIRST(&a->tasks); k; k = next) {
        next = LIST_NEXT(k, in_agent); /* an exit that is acknowledged is freed */
        worker_awake(s, k);
        if (!a->connected)
            return;
    }
}

void agent_tick(struct soak *s, struct tick *t)
{
    struct agent *a = (struct agent *)((char *)t - offsetof(struct agent, tick));
    if (!a->connected)
        bring_back(s, a);
    else
        wake_agent(s, a);
}

/* Asks again whether containers of the agent are to be preempted, because a long poll may have been cut off. */
static void look_for_preemption(struct soak *s, struct agent *a)
{
    struct worker *k;
    LIST_FOREACH(k, &a->tasks, in_agent)
        if (k->rank == 0 && s->core && core_preemption(s->core, k->allocation_id) == CORE_ANSWER_YES)
            worker_preempt(s, k);
}

void agent_connect(struct soak *s, struct agent *a)
{
    cleanup_arena struct arena arena = ARENA_INIT;
    struct core_device device[CORE_DEVICES_MAX];
    size_t n = 0;
    struct worker *k;
    LIST_FOREACH(k, &a->tasks, in_agent)
        n++;
    struct core_container_report *report = arena_array(&arena, struct core_container_report, n + 1);
    struct core_event ev = {.type = CORE_AGENT_CONNECTED,
                            .agent = {.agent_id = a->id,
                                      .pool = s->pool[a->pool].name,
                                      .version = "0.1",
                                      .hostname = a->id,
                                      .device = device,
                                      .device_n = (size_t)a->slots,
                                      .has = a->has,
                                      .container = report}};
    for (int i = 0; i < a->slots; i++)
        device[i] = (struct core_device){.id = i, .type = 2, .brand = "", .uuid = ""};
    LIST_FOREACH(k, &a->tasks, in_agent) {
        report[ev.agent.container_n++] = worker_report(k);
        k->untold = false;
    }
    a->connected = true;
    a->idle_since_us = s->now_us;
    a->hangs_until_us = 0;
    tick_clear(s, &a->tick);
    soak_step(s, &ev);
    look_for_preemption(s, a);
}

/* Forgets the messages that the agent has not read yet, and which it will never read. */
static void forget_unread(struct soak *s, struct agent *a)
{
    struct worker *k, *next;
    for (k = LIST_FIRST(&a->tasks); k; k = next) {
        next = LIST_NEXT(k, in_agent);
        k->kill_waits = false;
        if (!k->heard)
            worker_drop(s, k);
    }
    a->hangs_until_us = 0;
}

void agent_disconnect(struct soak *s, struct agent *a, int64_t back_in_us)
{
    bool was = a->connected;
    forget_unread(s, a);
    a->connected = false;
    tick_in(s, &a->tick, back_in_us);
    if (was)
        soak_step(s, &(struct core_event){.type = CORE_AGENT_DISCONNECTED, .agent = {.agent_id = a->id}});
}

void agent_power_cut(struct soak *s, struct agent *a)
{
    struct worker *k;
    while ((k = LIST_FIRST(&a->tasks)))
        worker_drop(s, k);
}

void agent_hang(struct soak *s, struct agent *a, int64_t us)
{
    if (!a->connected)
        return;
    a->hangs_until_us = s->now_us + us;
    tick_in(s, &a->tick, us);
}
