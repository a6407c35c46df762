#include "cmocka_setup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machines.h"
#include "sim.h"
#include "store.h"

#define MS INT64_C(1000)
#define START_US INT64_C(1767225600000000) /* 2026-01-01; the times in stories count from here */

/* ---- the story --------------------------------------------------------------------------------------------------- */

void sim_tell(struct sim *sim, const char *fmt, ...)
{
    if (sim->quiet)
        return;
    va_list ap;
    va_start(ap, fmt);
    strbuf_addf(&sim->story, "[%6lld] ", (long long)((sim->now_us - START_US) / MS));
    strbuf_vaddf(&sim->story, fmt, ap);
    strbuf_addc(&sim->story, '\n');
    va_end(ap);
}

static void print_diff(const char *expected, const char *told)
{
    print_message("expected (-) and told (+):\n");
    while (*expected != '\0' || *told != '\0') {
        size_t e = strcspn(expected, "\n"), t = strcspn(told, "\n");
        if (e == t && memcmp(expected, told, e) == 0) {
            print_message("  %.*s\n", (int)e, expected);
        } else {
            if (*expected != '\0')
                print_message("- %.*s\n", (int)e, expected);
            if (*told != '\0')
                print_message("+ %.*s\n", (int)t, told);
        }
        expected += e + (expected[e] == '\n');
        told += t + (told[t] == '\n');
    }
}

void sim_expect(struct sim *sim, const char *story)
{
    if (strcmp(strbuf_str(&sim->story), story) != 0) {
        print_diff(story, strbuf_str(&sim->story));
        fail_msg("the story is another one");
    }
    strbuf_reset(&sim->story);
}

/* ---- parts ------------------------------------------------------------------------------------------------------- */

static struct sim_agent *find_agent(struct sim *sim, const char *id)
{
    for (int i = 0; i < sim->agent_n; i++)
        if (strcmp(sim->agent[i].id, id) == 0)
            return &sim->agent[i];
    return NULL;
}

static struct sim_container *find_container(struct sim_agent *a, const char *id)
{
    for (int i = 0; i < SIM_CONTAINERS; i++)
        if (a->container[i].used && strcmp(a->container[i].id, id) == 0)
            return &a->container[i];
    return NULL;
}

static struct sim_container *new_container(struct sim_agent *a)
{
    for (int i = 0; i < SIM_CONTAINERS; i++)
        if (!a->container[i].used)
            return &a->container[i];
    fail_msg("agent %s has no room for another container", a->id);
    return NULL;
}

static void set_if_sooner(int64_t *next, int64_t candidate)
{
    if (candidate != 0 && (*next == 0 || candidate < *next))
        *next = candidate;
}

static struct core *new_core(struct sim *sim)
{
    const struct core_pool_opts pool[] = {sim->pool, sim->other_pool};
    struct core_opts opts = {.pool = pool,
                             .pool_n = sim->other_pool.name ? 2 : 1,
                             .agent_reconnect_wait_us = CORE_AGENT_RECONNECT_WAIT_US,
                             .restore_wait_us = CORE_RESTORE_WAIT_US,
                             .quarantine = sim->quarantine,
                             .seed = sim->seed * 1000003 + (uint64_t)sim->epoch++};
    return core_new(&opts);
}

void sim_init(struct sim *sim, uint64_t seed)
{
    *sim = (struct sim){.seed = seed,
                        .now_us = START_US,
                        .pool = {.name = "default", .max_aux_containers_per_agent = 100}};
    sim->store = calloc(1, sizeof(*sim->store));
    sim->core = new_core(sim);
}

void sim_make_elastic(struct sim *sim, const struct scale_opts *scale)
{
    core_free(sim->core);
    sim->pool.elastic = true;
    sim->pool.scale = *scale;
    sim->provider.slots = scale->slots_per_instance;
    sim->core = new_core(sim);
    machines_master_up(sim);
}

void sim_set_quarantine(struct sim *sim)
{
    core_free(sim->core);
    sim->quarantine = true;
    sim->core = new_core(sim);
}

void sim_set_gang_probe(struct sim *sim)
{
    core_free(sim->core);
    sim->pool.gang_probe = true;
    sim->core = new_core(sim);
}

void sim_add_other_pool(struct sim *sim)
{
    core_free(sim->core);
    sim->other_pool = (struct core_pool_opts){.name = "other", .max_aux_containers_per_agent = 100};
    sim->core = new_core(sim);
}

void sim_set_sched(struct sim *sim, const struct sched_opts *opts)
{
    core_free(sim->core);
    sim->pool.sched = *opts;
    sim->core = new_core(sim);
}

void sim_release(struct sim *sim)
{
    core_free(sim->core);
    store_free(sim->store);
    strbuf_release(&sim->story);
    strbuf_release(&sim->last_log);
    strbuf_release(&sim->logs);
}

/* ---- effects after the commit ------------------------------------------------------------------------------------ */

static void task_exits(struct sim *sim, struct sim_agent *a, struct sim_container *k, enum exit_kind kind, int code);

static const char *slots_text(const struct core_start *s, char buf[64])
{
    size_t n = 0;
    buf[0] = '\0';
    for (size_t i = 0; i < s->device_n && n < 56; i++)
        n += (size_t)snprintf(buf + n, 64 - n, "%s%d", i > 0 ? "," : " slots ", s->device_id[i]);
    return buf;
}

/* Checks that a trial starts from the checkpoint that it was promised, and that no other run of the trial is
 * running. */
static void check_start(struct sim *sim, const struct sim_agent *a, const struct core_start *s)
{
    assert_true(s->steps_completed >= sim->promised[s->trial_id]);
    for (int i = 0; i < SIM_CONTAINERS; i++) {
        const struct sim_container *k = &a->container[i];
        for (int d = 0; k->used && k->state != CONTAINER_TERMINATED && d < k->device_n; d++)
            for (size_t n = 0; n < s->device_n; n++)
                assert_int_not_equal(k->device_id[d], s->device_id[n]);
    }
}

/* The number of a launched task; 0: the task is none. */
static int launched_number(const struct sim *sim, const char *task_id)
{
    for (int i = 1; i <= sim->task_n; i++)
        if (strcmp(sim->task_id[i], task_id) == 0)
            return i;
    return 0;
}

static const char *launched_word(const struct sim *sim, int number)
{
    return task_kind_word(sim->task[number].kind);
}

static void start_container(struct sim *sim, struct sim_agent *a, const struct core_start *s)
{
    int launched = launched_number(sim, s->task_id);
    char buf[64], from[64] = "";
    if (s->latest_checkpoint)
        snprintf(from, sizeof(from), " from step %d", s->steps_completed);
    if (launched > 0)
        sim_tell(sim, "%s > start %s %d%s", a->id, launched_word(sim, launched), launched, slots_text(s, buf));
    else if (s->trial_id == 0)
        sim_tell(sim, "%s > start %s%s", a->id, s->description, slots_text(s, buf));
    else
        sim_tell(sim, "%s > start trial %d run %d%s%s", a->id, s->trial_id, s->run_id, slots_text(s, buf), from);
    check_start(sim, a, s);
    struct sim_container *k = new_container(a);
    *k = (struct sim_container){.used = true,
                                .experiment_id = s->experiment_id,
                                .trial_id = s->trial_id,
                                .launched = launched,
                                .run_id = s->run_id,
                                .steps = s->steps_completed,
                                .device_n = (int)s->device_n,
                                .tell_use_every_us = a->old ? 0 : s->tell_use_every_us,
                                .tick_us = sim->now_us + 10 * MS};
    memcpy(k->id, s->container_id, strlen(s->container_id));
    memcpy(k->allocation_id, s->allocation_id, strlen(s->allocation_id));
    memcpy(k->device_id, s->device_id, s->device_n * sizeof(k->device_id[0]));
}

static void kill_container(struct sim *sim, const char *agent_id, const char *container_id)
{
    struct sim_agent *a = find_agent(sim, agent_id);
    struct sim_container *k = a ? find_container(a, container_id) : NULL;
    if (!k || k->state == CONTAINER_TERMINATED)
        return;
    if (k->launched > 0)
        sim_tell(sim, "%s > kill %s %d", a->id, launched_word(sim, k->launched), k->launched);
    else
        sim_tell(sim, "%s > kill trial %d run %d", a->id, k->trial_id, k->run_id);
    k->phase = TASK_EXIT;
    k->exit_kind = EXIT_FAILED;
    k->exit_code = 137;
    k->tick_us = sim->now_us + 5 * MS;
}

static void welcome_agent(struct sim *sim, const struct core_effect *e)
{
    struct sim_agent *a = find_agent(sim, e->welcome.agent_id);
    for (int i = 0; i < SIM_CONTAINERS; i++) {
        struct sim_container *k = &a->container[i];
        bool expected = false;
        for (size_t n = 0; n < e->welcome.container_n; n++)
            expected = expected || strcmp(e->welcome.container_id[n], k->id) == 0;
        if (k->used && !expected && k->state != CONTAINER_TERMINATED) {
            sim_tell(sim, "%s > drop trial %d run %d", a->id, k->trial_id, k->run_id);
            k->used = false;
        }
    }
}

static void carry_out(struct sim *sim, const struct core_effect *e)
{
    struct sim_agent *a;
    struct sim_container *k;
    switch (e->type) {
    case CORE_START_CONTAINER:
        a = find_agent(sim, e->start.agent_id);
        if (a && a->connected)
            start_container(sim, a, &e->start);
        break;
    case CORE_SIGNAL_CONTAINER:
        a = find_agent(sim, e->signal.agent_id);
        if (a && a->connected)
            kill_container(sim, e->signal.agent_id, e->signal.container_id);
        break;
    case CORE_ACK_CONTAINER:
        a = find_agent(sim, e->ack.agent_id);
        k = a ? find_container(a, e->ack.container_id) : NULL;
        if (k && k->state == CONTAINER_TERMINATED)
            k->used = false;
        break;
    case CORE_WELCOME_AGENT:
        welcome_agent(sim, e);
        break;
    case CORE_ORDER_INSTANCES:
        machines_order(sim, e);
        break;
    case CORE_TASK_ENDED:
        sim_tell(sim, "task of exp %.*s > over", (int)strcspn(e->task_id, "."), e->task_id);
        break;
    case CORE_EXPERIMENT_STATE:
        sim_tell(sim, "exp %d > %s -> %s", e->state.experiment_id, run_state_name(e->state.from),
                 run_state_name(e->state.to));
        break;
    default:
        break;
    }
}

static void tell_end(struct sim *sim, const struct allocation_row *row)
{
    int launched = launched_number(sim, row->task_id);
    if (launched > 0)
        sim_tell(sim, "%s %d > over: %s", launched_word(sim, launched), launched, exit_kind_text(row->exit_kind));
}

static void tell_generic(struct sim *sim, const struct launched_row *row)
{
    int number = launched_number(sim, row->task_id);
    const struct launched_row *old = store_launched(sim->store, row->task_id);
    if (number > 0 && old && old->state != row->state)
        sim_tell(sim, "task %d > %s -> %s", number, generic_state_name(old->state), generic_state_name(row->state));
}

static void tell_rows(struct sim *sim, const struct core_effects *effects)
{
    for (size_t i = 0; i < effects->n; i++) {
        const struct core_effect *e = &effects->item[i];
        const struct trial_row *old = e->type == CORE_PUT_TRIAL ? store_trial(sim->store, e->trial->id) : NULL;
        if (e->type == CORE_TASK_LOG) {
            strbuf_reset(&sim->last_log);
            strbuf_adds(&sim->last_log, e->log.text);
            strbuf_adds(&sim->logs, e->log.text);
        }
        if (e->type == CORE_PUT_LAUNCHED)
            tell_generic(sim, e->launched);
        if (e->type == CORE_TASK_LOG && e->log.error)
            sim_tell(sim, "log > %.*s", (int)strlen(e->log.text) - 1, e->log.text);
        if (e->type == CORE_PUT_ALLOCATION && e->allocation->state == ALLOCATION_TERMINATED)
            tell_end(sim, e->allocation);
        if (e->type == CORE_PUT_TRIAL && old && old->state != e->trial->state && run_state_is_terminal(e->trial->state))
            sim_tell(sim, "trial %d > %s, restarts %d", old->id, run_state_name(e->trial->state), e->trial->restarts);
    }
}

/* ---- steps and crashes ------------------------------------------------------------------------------------------- */

void sim_crash_master(struct sim *sim, int64_t ms)
{
    if (!sim->core)
        return;
    sim_tell(sim, "master > crash");
    core_free(sim->core);
    sim->core = NULL;
    sim->timer_us = 0;
    machines_master_down(sim);
    sim->master_back_us = sim->now_us + ms * MS;
    for (int i = 0; i < sim->agent_n; i++) {
        struct sim_agent *a = &sim->agent[i];
        bool comes = a->connected || a->back_us != 0 || a->machine == MACHINE_NONE;
        a->connected = false;
        if (comes && a->back_us < sim->master_back_us + 500 * MS)
            a->back_us = sim->master_back_us + 500 * MS;
    }
}

static bool crashes_here(struct sim *sim, enum sim_crash where)
{
    if (sim->steps != sim->crash_at || sim->crash_mode != where)
        return false;
    sim_crash_master(sim, 2000);
    return true;
}

static struct sched_needs asked_for(const struct sim *sim, const char *allocation_id)
{
    for (size_t i = 0; i < sim->store->allocation_n; i++) {
        const struct allocation_row *a = &sim->store->allocation[i];
        if (strcmp(a->id, allocation_id) == 0)
            return (struct sched_needs){a->millicores, a->memory_bytes};
    }
    return (struct sched_needs){0};
}

/* Adds up by the rows what the tasks on an agent have asked for. */
static struct sched_needs needs_by_rows(const struct sim *sim, const char *agent_id)
{
    struct sched_needs sum = {0};
    for (size_t i = 0; i < sim->store->container_n; i++) {
        const struct container_row *k = &sim->store->container[i];
        if (k->state == CONTAINER_TERMINATED || strcmp(k->agent_id, agent_id) != 0)
            continue;
        const struct sched_needs needs = asked_for(sim, k->allocation_id);
        needs_add(&sum, &needs, 1);
    }
    return sum;
}

/* Checks that the tasks on an agent have asked for no more of cores and memory than the agent has, and that the core
 * counts as much. */
static void check_needs(struct sim *sim)
{
    struct core_agent_view view;
    for (int i = 0; i < sim->agent_n; i++) {
        const struct sim_agent *a = &sim->agent[i];
        if (!a->connected || !core_agent_by_id(sim->core, a->id, &view))
            continue;
        const struct sched_needs sum = needs_by_rows(sim, a->id);
        assert_int_equal(view.held.millicores, sum.millicores);
        assert_int_equal(view.held.memory_bytes, sum.memory_bytes);
        assert_true(needs_fit(&sum, &a->has));
    }
}

/* Commits the rows, then carries out the other effects. Returns false if the master has died before it could answer. */
static bool finish_step(struct sim *sim, const struct core_effects *effects)
{
    sim->steps++;
    if (crashes_here(sim, CRASH_BEFORE_COMMIT))
        return false;
    tell_rows(sim, effects);
    store_apply(sim->store, effects);
    store_check(sim->store);
    check_needs(sim);
    sim->timer_us = effects->next_timer_us;
    if (crashes_here(sim, CRASH_AFTER_COMMIT))
        return false;
    for (size_t i = 0; i < effects->n; i++)
        carry_out(sim, &effects->item[i]);
    crashes_here(sim, CRASH_AFTER_EFFECTS);
    return true;
}

bool sim_step(struct sim *sim, const struct core_event *ev, struct error *err)
{
    cleanup_effects struct core_effects effects = CORE_EFFECTS_INIT;
    struct core_event event = *ev;
    event.now_us = sim->now_us;
    if (!sim->core)
        return false;
    int rv = core_step(sim->core, &event, &effects, err);
    if (rv < 0)
        assert_int_equal(effects.n, 0);
    return finish_step(sim, &effects) && rv == 0;
}

static void master_back(struct sim *sim)
{
    cleanup_effects struct core_effects effects = CORE_EFFECTS_INIT;
    struct core_rows rows = store_read(sim->store);
    sim_tell(sim, "master > back");
    sim->master_back_us = 0;
    sim->core = new_core(sim);
    assert_int_equal(core_restore(sim->core, &rows, sim->now_us, &effects, NULL), 0);
    store_rows_free(&rows);
    finish_step(sim, &effects);
    machines_master_up(sim);
}

/* ---- agents ------------------------------------------------------------------------------------------------------ */

static struct core_container_report report_of(const struct sim_container *k)
{
    return (struct core_container_report){.container_id = k->id,
                                          .state = k->state,
                                          .address = "127.0.0.1",
                                          .exit_kind = k->state == CONTAINER_TERMINATED ? k->exit_kind : EXIT_NONE,
                                          .exit_code = k->exit_code};
}

static void connect_agent(struct sim *sim, struct sim_agent *a)
{
    struct core_device device[CORE_DEVICES_MAX];
    struct core_container_report report[SIM_CONTAINERS];
    struct core_event ev = {.type = CORE_AGENT_CONNECTED,
                            .agent = {.agent_id = a->id,
                                      .pool = a->pool,
                                      .device = device,
                                      .has = a->has,
                                      .tells_use = !a->old,
                                      .container = report}};
    if (!sim->core)
        return;
    for (int i = 0; i < a->slots; i++)
        device[i] = (struct core_device){.id = i, .brand = "made up", .uuid = ""};
    ev.agent.device_n = (size_t)a->slots;
    for (int i = 0; i < SIM_CONTAINERS; i++)
        if (a->container[i].used)
            report[ev.agent.container_n++] = report_of(&a->container[i]);
    if (a->back_us != 0)
        sim_tell(sim, "%s > back", a->id);
    a->back_us = 0;
    a->connected = true;
    sim_step(sim, &ev, NULL);
}

void sim_add_agent(struct sim *sim, const char *id, int slots)
{
    struct sim_agent *a = &sim->agent[sim->agent_n++];
    *a = (struct sim_agent){.slots = slots};
    memcpy(a->id, id, strlen(id));
    connect_agent(sim, a);
}

void sim_add_old_agent(struct sim *sim, const char *id, int slots)
{
    struct sim_agent *a = &sim->agent[sim->agent_n++];
    *a = (struct sim_agent){.slots = slots, .old = true};
    memcpy(a->id, id, strlen(id));
    connect_agent(sim, a);
}

void sim_add_machine(struct sim *sim, const char *id, int slots, int cores, int64_t memory_bytes)
{
    struct sim_agent *a = &sim->agent[sim->agent_n++];
    *a = (struct sim_agent){.slots = slots, .has = needs_of(cores, memory_bytes)};
    memcpy(a->id, id, strlen(id));
    connect_agent(sim, a);
}

void sim_add_other_agent(struct sim *sim, const char *id, int slots)
{
    struct sim_agent *a = &sim->agent[sim->agent_n++];
    *a = (struct sim_agent){.slots = slots, .pool = "other"};
    memcpy(a->id, id, strlen(id));
    connect_agent(sim, a);
}

void sim_agent_away(struct sim *sim, const char *id, int64_t ms)
{
    struct sim_agent *a = find_agent(sim, id);
    struct core_event ev = {.type = CORE_AGENT_DISCONNECTED, .agent = {.agent_id = a->id}};
    sim_tell(sim, "%s > away", id);
    bool was = a->connected;
    a->connected = false;
    a->back_us = sim->now_us + ms * MS;
    if (was)
        sim_step(sim, &ev, NULL);
}

void sim_agent_power_cut(struct sim *sim, const char *id, int64_t ms)
{
    struct sim_agent *a = find_agent(sim, id);
    memset(a->container, 0, sizeof(a->container));
    sim_agent_away(sim, id, ms);
}

static void send_state(struct sim *sim, struct sim_agent *a, const struct sim_container *k)
{
    struct core_event ev = {.type = CORE_CONTAINER_CHANGED, .container = {.agent_id = a->id, .report = report_of(k)}};
    if (a->connected)
        sim_step(sim, &ev, NULL);
}

static bool is_watched(const struct sim_container *k)
{
    return k->used && k->state == CONTAINER_RUNNING && k->tell_use_every_us > 0;
}

/* Plans when the agent tells whether slots are used: as often as the most demanding of its tasks needs it. */
static void plan_use(struct sim *sim, struct sim_agent *a)
{
    int64_t every_us = 0;
    for (int i = 0; i < SIM_CONTAINERS; i++)
        if (is_watched(&a->container[i]))
            set_if_sooner(&every_us, a->container[i].tell_use_every_us);
    a->tell_use_us = every_us > 0 ? sim->now_us + every_us : 0;
}

static void tell_use(struct sim *sim, struct sim_agent *a)
{
    struct core_slots_use use[SIM_CONTAINERS];
    struct core_event ev = {.type = CORE_AGENT_USE, .use = {.agent_id = a->id, .slots = use}};
    for (int i = 0; i < SIM_CONTAINERS; i++)
        if (is_watched(&a->container[i]))
            use[ev.use.n++] = (struct core_slots_use){.container_id = a->container[i].id,
                                                      .idle_us = a->busy ? 0 : sim->now_us - a->container[i].used_us,
                                                      .problem = a->blind ? "it is blind" : ""};
    plan_use(sim, a);
    if (a->connected)
        sim_step(sim, &ev, NULL);
}

/* ---- tasks ------------------------------------------------------------------------------------------------------- */

static void task_exits(struct sim *sim, struct sim_agent *a, struct sim_container *k, enum exit_kind kind, int code)
{
    k->state = CONTAINER_TERMINATED;
    k->exit_kind = kind;
    k->exit_code = code;
    k->tick_us = 0;
    send_state(sim, a, k);
}

void sim_agent_loses_tasks(struct sim *sim, const char *id, int64_t ms)
{
    struct sim_agent *a = find_agent(sim, id);
    char lost[SIM_CONTAINERS][CORE_UUID_MAX];
    int n = 0;
    for (int i = 0; i < SIM_CONTAINERS; i++)
        if (a->container[i].used && a->container[i].state == CONTAINER_RUNNING)
            memcpy(lost[n++], a->container[i].id, CORE_UUID_MAX);
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < SIM_CONTAINERS; k++)
            if (a->container[k].used && strcmp(a->container[k].id, lost[i]) == 0)
                task_exits(sim, a, &a->container[k], EXIT_RESTORE_ERROR, 0);
        sim_run(sim, ms);
    }
}

static void go_to(struct sim *sim, struct sim_container *k, enum sim_task_phase phase, int64_t ms)
{
    k->phase = phase;
    k->tick_us = sim->now_us + ms * MS;
}

/* Makes a call to the master. If there is no answer, the task makes the call again a little later. Once the task's
 * allocation has ended, its session has ended, too: the call is refused, and the task gives up. */
static bool call_core(struct sim *sim, struct sim_container *k, const struct core_event *ev)
{
    if (sim->core && !core_allocation(sim->core, k->allocation_id)) {
        k->exit_code = 80;
        k->phase = TASK_EXIT;
        return false;
    }
    if (sim_step(sim, ev, NULL))
        return true;
    k->tick_us = sim->now_us + 200 * MS;
    return false;
}

static void launch_task_program(struct sim *sim, struct sim_agent *a, struct sim_container *k)
{
    const struct sim_task *t = &sim->task[k->launched];
    struct core_event ready = {.type = CORE_ALLOCATION_READY, .allocation = {.allocation_id = k->allocation_id}};
    k->exit_code = t->exit_code;
    go_to(sim, k, t->saves ? TASK_LOOK : TASK_EXIT, t->saves ? 0 : t->ms > 0 ? t->ms : 1000000000);
    send_state(sim, a, k);
    if (t->tells_ready && a->connected)
        sim_step(sim, &ready, NULL);
}

static void launch_program(struct sim *sim, struct sim_agent *a, struct sim_container *k,
                           const struct sim_experiment *b)
{
    if ((b->cannot_start || b->cannot_be_started) && k->run_id <= b->fail_runs) {
        if (b->runs_first) {
            k->state = CONTAINER_RUNNING;
            send_state(sim, a, k);
        }
        task_exits(sim, a, k, b->cannot_start ? EXIT_AGENT_ERROR : EXIT_TASK_REFUSED, b->cannot_start ? 0 : 126);
        return;
    }
    k->state = CONTAINER_RUNNING;
    k->used_us = sim->now_us;
    plan_use(sim, a);
    if (k->launched > 0) {
        launch_task_program(sim, a, k);
        return;
    }
    bool hangs = k->trial_id == 0 && b->deaf;
    go_to(sim, k, k->trial_id == 0 ? TASK_EXIT : b->invalid_hp ? TASK_INVALID_HP : TASK_WORK, hangs ? 1000000000 : 100);
    send_state(sim, a, k);
}

static void work_program(struct sim *sim, struct sim_agent *a, struct sim_container *k, const struct sim_experiment *b)
{
    k->steps++;
    k->own_steps++;
    k->used_us = sim->now_us;
    bool may_fail = b->fail_trial == 0 || b->fail_trial == k->trial_id;
    if (may_fail && k->run_id <= b->fail_runs && k->own_steps >= b->fail_step)
        task_exits(sim, a, k, EXIT_FAILED, 1);
    else
        go_to(sim, k, TASK_CHECKPOINT, 0);
}

static void save_checkpoint(struct sim *sim, struct sim_container *k, const struct sim_experiment *b)
{
    char uuid[CORE_UUID_MAX];
    snprintf(uuid, sizeof(uuid), "trial-%d-step-%d", k->trial_id, k->steps);
    struct core_event ev = {.type = CORE_TRIAL_CHECKPOINTED,
                            .checkpoint = {.trial_id = k->trial_id, .uuid = uuid, .steps_completed = k->steps}};
    if (!call_core(sim, k, &ev))
        return;
    if (sim->promised[k->trial_id] < k->steps)
        sim->promised[k->trial_id] = k->steps;
    go_to(sim, k, b->searched ? TASK_REPORT : k->steps >= b->steps ? TASK_VALIDATE : TASK_LOOK, 0);
}

static double loss_of(const struct sim_container *k)
{
    return 7 * k->trial_id % 11 + 1.0 / k->steps;
}

static void report_progress(struct sim *sim, struct sim_container *k, const struct sim_experiment *b)
{
    char metrics[64];
    snprintf(metrics, sizeof(metrics), "{\"loss\": %.17g, \"batches\": %d}", loss_of(k), k->steps);
    struct core_event progress = {.type = CORE_TRIAL_PROGRESS,
                                  .progress = {.trial_id = k->trial_id, .progress = (double)k->steps / b->steps}};
    struct core_event ev = {.type = CORE_TRIAL_VALIDATED, .validated = {.trial_id = k->trial_id, .metrics = metrics}};
    if (call_core(sim, k, &progress) && call_core(sim, k, &ev))
        go_to(sim, k, TASK_OPERATION, 0);
}

/* Completes the trial's operation if it has been done, and otherwise looks for the next one. */
static void follow_operations(struct sim *sim, struct sim_container *k, const struct sim_experiment *b)
{
    struct core_operation_view op;
    if (!sim->core || !core_trial_operation(sim->core, k->trial_id, &op)) {
        k->tick_us = sim->now_us + 200 * MS;
        return;
    }
    struct core_event ev = {.type = CORE_TRIAL_OPERATION_COMPLETED,
                            .operation = {.trial_id = k->trial_id, .length = op.length, .metric = loss_of(k)}};
    if (op.length == 0)
        go_to(sim, k, k->steps >= b->steps ? TASK_EXIT : TASK_LOOK, 0);
    else if (op.completed)
        go_to(sim, k, TASK_EXIT, 10);
    else if (k->steps < op.length)
        go_to(sim, k, TASK_LOOK, 0);
    else
        call_core(sim, k, &ev); /* the task then looks for its next operation */
}

static bool rests(const struct sim *sim, const struct sim_container *k, const struct sim_experiment *b)
{
    return b->rest_after > 0 && k->own_steps == b->rest_after &&
           (b->rest_ms == 0 || sim->now_us - k->used_us < b->rest_ms * MS);
}

static void look_for_preemption(struct sim *sim, struct sim_container *k, const struct sim_experiment *b)
{
    if (!sim->core) {
        k->tick_us = sim->now_us + 200 * MS;
        return;
    }
    bool preempt = !b->deaf && core_preemption(sim->core, k->allocation_id) == CORE_ANSWER_YES;
    go_to(sim, k, preempt ? TASK_ACK : rests(sim, k, b) ? TASK_LOOK : TASK_WORK, preempt ? 0 : 100);
}

static void acknowledge_preemption(struct sim *sim, struct sim_container *k)
{
    struct core_event ev = {.type = CORE_PREEMPTION_ACKED, .allocation = {.allocation_id = k->allocation_id}};
    if (!call_core(sim, k, &ev))
        return;
    sim_tell(sim, "trial %d > run %d preempts after step %d", k->trial_id, k->run_id, k->steps);
    go_to(sim, k, TASK_EXIT, 10);
}

/* A generic task looks every 100 ms. It saves its state in 10 ms, and begins anew in its next run. */
static void look_for_pause(struct sim *sim, struct sim_container *k)
{
    const struct sim_task *t = &sim->task[k->launched];
    struct core_event ack = {.type = CORE_PREEMPTION_ACKED, .allocation = {.allocation_id = k->allocation_id}};
    k->tick_us = sim->now_us + 200 * MS;
    if (!sim->core)
        return;
    if (core_preemption(sim->core, k->allocation_id) == CORE_ANSWER_YES) {
        if (!call_core(sim, k, &ack))
            return;
        sim_tell(sim, "task %d > run %d saves its state", k->launched, k->run_id);
        go_to(sim, k, TASK_EXIT, 10);
        return;
    }
    k->own_steps++;
    go_to(sim, k, t->ms > 0 && k->own_steps * 100 > t->ms ? TASK_EXIT : TASK_LOOK, 100);
}

static void report_validation(struct sim *sim, struct sim_container *k)
{
    struct core_event progress = {.type = CORE_TRIAL_PROGRESS, .progress = {.trial_id = k->trial_id, .progress = 1}};
    struct core_event ev = {.type = CORE_TRIAL_VALIDATED,
                            .validated = {.trial_id = k->trial_id, .metrics = "{\"loss\": 0.5}"}};
    if (!call_core(sim, k, &progress) || !call_core(sim, k, &ev))
        return;
    go_to(sim, k, TASK_EXIT, 10);
}

static void report_invalid_hp(struct sim *sim, struct sim_container *k)
{
    struct core_event ev = {.type = CORE_TRIAL_EARLY_EXIT,
                            .early_exit = {.trial_id = k->trial_id, .reason = EARLY_EXIT_INVALID_HP}};
    if (call_core(sim, k, &ev))
        k->tick_us = 0; /* the task does not exit */
}

static void tick_container(struct sim *sim, struct sim_agent *a, struct sim_container *k)
{
    const struct sim_experiment *b = &sim->behaviour[k->experiment_id];
    switch (k->phase) {
    case TASK_LAUNCH:
        launch_program(sim, a, k, b);
        return;
    case TASK_WORK:
        work_program(sim, a, k, b);
        return;
    case TASK_CHECKPOINT:
        save_checkpoint(sim, k, b);
        return;
    case TASK_REPORT:
        report_progress(sim, k, b);
        return;
    case TASK_OPERATION:
        follow_operations(sim, k, b);
        return;
    case TASK_LOOK:
        if (k->launched > 0)
            look_for_pause(sim, k);
        else
            look_for_preemption(sim, k, b);
        return;
    case TASK_ACK:
        acknowledge_preemption(sim, k);
        return;
    case TASK_VALIDATE:
        report_validation(sim, k);
        return;
    case TASK_INVALID_HP:
        report_invalid_hp(sim, k);
        return;
    case TASK_EXIT:
        task_exits(sim, a, k, k->exit_code == 0 ? EXIT_OK : EXIT_FAILED, k->exit_code);
        return;
    }
}

/* ---- users ------------------------------------------------------------------------------------------------------- */

void sim_set_quota(struct sim *sim, int workspace, int user, int own, int limit)
{
    struct sim_store *st = sim->store;
    struct core_quota_change *change = &st->quota[0];
    struct core_event ev = {.type = CORE_QUOTA_SET, .now_us = sim->now_us};
    while (change < &st->quota[st->quota_n] && (change->workspace_id != workspace || change->user_id != user))
        change++;
    if (change == &st->quota[st->quota_n])
        st->quota_n++;
    *change = (struct core_quota_change){.workspace_id = workspace,
                                         .user_id = user,
                                         .what = workspace ? "a workspace" : "a user",
                                         .own = own,
                                         .limit = limit,
                                         .remove = own < 0};
    ev.quota = change;
    struct core_quota_change removed = *change;
    if (own < 0) {
        ev.quota = &removed;
        *change = st->quota[--st->quota_n];
    }
    assert_true(sim_step(sim, &ev, NULL));
}

const struct core_quota_view *sim_quota(struct sim *sim, int workspace, int user)
{
    static struct core_quota_view found;
    cleanup_arena struct arena a = ARENA_INIT;
    size_t n;
    const struct core_quota_view *q = core_quotas(sim->core, &a, &n);
    for (size_t i = 0; i < n; i++)
        if (q[i].workspace_id == workspace && q[i].user_id == user)
            found = q[i];
    return &found;
}

int sim_create(struct sim *sim, const struct sim_experiment *x)
{
    cleanup_effects struct core_effects effects = CORE_EFFECTS_INIT;
    struct core_experiment_spec spec = {
        .owner_id = x->owner > 0 ? x->owner : 1,
        .workspace_id = x->workspace,
        .pool = "default",
        .slots_per_trial = x->slots,
        .needs = x->needs,
        .priority = x->priority > 0 ? x->priority : 42,
        .weight = 1,
        .max_slots = -1,
        .max_restarts = x->max_restarts,
        .max_time_us = x->max_time_ms * MS,
        .max_idle_us = x->max_idle_ms * MS,
        .preemption_timeout_s = x->preemption_timeout_s > 0 ? x->preemption_timeout_s : 3600,
        .seed = 42,
        .searcher = x->searcher ? x->searcher : "{\"name\": \"single\"}",
        .hyperparameters = "{\"lr\": {\"type\": \"log\", \"base\": 10, \"minval\": -4, \"maxval\": -1, \"count\": 4}}",
    };
    struct core_event ev = {.type = CORE_EXPERIMENT_CREATE,
                            .now_us = sim->now_us,
                            .create = {.spec = &spec, .activate = !x->paused}};
    assert_int_equal(core_step(sim->core, &ev, &effects, NULL), 0);
    int id = effects.experiment_id;
    sim->behaviour[id] = *x;
    sim->store->spec[sim->store->experiment_n] = spec;
    finish_step(sim, &effects);
    return id;
}

bool sim_create_task(struct sim *sim, int experiment_id)
{
    const struct core_task_spec spec = {.owner_id = 1, .experiment_id = experiment_id};
    return sim_step(sim, &(struct core_event){.type = CORE_TASK_CREATE, .task = &spec}, NULL);
}

void sim_expect_wait(struct sim *sim, struct core_job_owner owner, const char *reason)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct core_wait_notes notes = {0};
    struct core_wait_view wait;
    assert_true(core_wait_noted(sim->core, owner, sim->now_us, &a, &notes, &wait));
    assert_string_equal(wait.reason, reason);
}

void sim_expect_trial_wait(struct sim *sim, int experiment_id, const char *reason)
{
    sim_expect_wait(sim, (struct core_job_owner){.experiment_id = experiment_id}, reason);
}

int sim_launch(struct sim *sim, const struct sim_task *t, struct error *err)
{
    cleanup_effects struct core_effects effects = CORE_EFFECTS_INIT;
    const struct core_task_spec spec = {.kind = t->kind,
                                        .owner_id = 1,
                                        .workspace_id = t->workspace,
                                        .pool = t->pool ? t->pool : "default",
                                        .description = "made up",
                                        .slots = t->slots,
                                        .needs = t->needs,
                                        .priority = t->priority != 0 ? t->priority : 42,
                                        .max_slots = t->max_slots > 0 ? t->max_slots : -1,
                                        .weight = 1,
                                        .idle_timeout_us = t->idle_timeout_ms * MS,
                                        .max_time_us = t->max_time_ms * MS,
                                        .max_idle_us = t->max_idle_ms * MS,
                                        .no_pause = t->no_pause,
                                        .preemption_timeout_s = t->preemption_timeout_s > 0 ? t->preemption_timeout_s
                                                                                            : 3600,
                                        .parent_id = t->parent > 0 ? sim->task_id[t->parent] : NULL};
    struct core_event ev = {.type = CORE_TASK_CREATE, .now_us = sim->now_us, .task = &spec};
    if (!sim->core)
        return 0;
    int rv = core_step(sim->core, &ev, &effects, err), number = rv < 0 ? 0 : ++sim->task_n;
    if (rv < 0)
        assert_int_equal(effects.n, 0);
    sim->task[number] = *t;
    snprintf(sim->task_id[number], sizeof(sim->task_id[number]), "%s", number > 0 ? effects.task_id : "");
    return finish_step(sim, &effects) ? number : 0;
}

int sim_kill_task(struct sim *sim, int number)
{
    return sim_step(sim, &(struct core_event){.type = CORE_TASK_KILL, .task_id = sim->task_id[number]}, NULL) ? 0 : -1;
}

int sim_change_task(struct sim *sim, enum core_generic_what what, int number, struct error *err)
{
    const struct core_event ev = {.type = CORE_GENERIC_CHANGE,
                                  .generic = {.what = what, .named = sim->task_id[number]}};
    return sim_step(sim, &ev, err) ? 0 : -1;
}

void sim_use_task(struct sim *sim, int number)
{
    sim_step(sim, &(struct core_event){.type = CORE_TASK_USED, .task_id = sim->task_id[number]}, NULL);
}

int sim_request(struct sim *sim, enum core_event_type request, int experiment_id)
{
    struct core_event ev = {.type = request, .experiment_id = experiment_id};
    return sim_step(sim, &ev, NULL) ? 0 : -1;
}

int sim_continue(struct sim *sim, int experiment_id)
{
    struct core_restored_experiment from = {0};
    struct trial_row trial[SIM_TRIALS];
    struct core_event ev = {.type = CORE_EXPERIMENT_CONTINUE, .resume = {.experiment = &from, .trial = trial}};
    for (size_t i = 0; i < sim->store->experiment_n; i++)
        if (sim->store->experiment[i].id == experiment_id)
            from = (struct core_restored_experiment){sim->store->experiment[i], sim->store->spec[i], NULL};
    if (from.row.id == 0 || !run_state_is_terminal(from.row.state))
        return -1; /* the store answers first, as in the API */
    for (size_t i = 0; i < sim->store->trial_n; i++)
        if (sim->store->trial[i].experiment_id == experiment_id)
            trial[ev.resume.trial_n++] = sim->store->trial[i];
    ev.resume.rerun_completed = strstr(from.spec.searcher, "single") != NULL;
    return sim_step(sim, &ev, NULL) ? 0 : -1;
}

int sim_log_matched(struct sim *sim, int trial_id, const char *agent_id, enum log_policy_action action)
{
    struct core_event ev = {
        .type = CORE_TRIAL_LOG_MATCHED,
        .log_matched = {.trial_id = trial_id, .policy = "ECC Error", .agent_id = agent_id, .action = action}};
    return sim_step(sim, &ev, NULL) ? 0 : -1;
}

void sim_forget_searcher(struct sim *sim, int experiment_id)
{
    for (size_t i = 0; i < sim->store->experiment_n; i++) {
        if (sim->store->experiment[i].id != experiment_id)
            continue;
        free(sim->store->snapshot[i]);
        sim->store->snapshot[i] = NULL;
    }
}

/* ---- time -------------------------------------------------------------------------------------------------------- */

static int64_t next_event_us(const struct sim *sim)
{
    int64_t next = 0;
    set_if_sooner(&next, sim->timer_us);
    set_if_sooner(&next, sim->master_back_us);
    set_if_sooner(&next, sim->provider.due_us);
    for (int i = 0; i < sim->agent_n; i++) {
        set_if_sooner(&next, sim->agent[i].back_us);
        set_if_sooner(&next, sim->agent[i].tell_use_us);
        for (int k = 0; k < SIM_CONTAINERS; k++)
            if (sim->agent[i].container[k].used)
                set_if_sooner(&next, sim->agent[i].container[k].tick_us);
    }
    return next;
}

static bool is_due(const struct sim *sim, int64_t when_us)
{
    return when_us != 0 && when_us <= sim->now_us;
}

static void run_agent(struct sim *sim, struct sim_agent *a)
{
    if (is_due(sim, a->back_us) && sim->core)
        connect_agent(sim, a);
    else if (is_due(sim, a->back_us))
        a->back_us = sim->now_us + 500 * MS;
    for (int k = 0; k < SIM_CONTAINERS; k++)
        if (a->container[k].used && is_due(sim, a->container[k].tick_us))
            tick_container(sim, a, &a->container[k]);
    if (is_due(sim, a->tell_use_us))
        tell_use(sim, a);
}

static void run_due(struct sim *sim)
{
    if (is_due(sim, sim->master_back_us))
        master_back(sim);
    if (is_due(sim, sim->timer_us)) {
        sim->timer_us = 0;
        sim_step(sim, &(struct core_event){.type = CORE_TIMER}, NULL);
    }
    machines_run(sim);
    for (int i = 0; i < sim->agent_n; i++)
        run_agent(sim, &sim->agent[i]);
}

void sim_run(struct sim *sim, int64_t ms)
{
    int64_t until_us = sim->now_us + ms * MS, next;
    while ((next = next_event_us(sim)) != 0 && next <= until_us) {
        if (next > sim->now_us)
            sim->now_us = next;
        run_due(sim);
    }
    sim->now_us = until_us;
}

/* ---- looking ----------------------------------------------------------------------------------------------------- */

enum run_state sim_experiment_state(const struct sim *sim, int id)
{
    for (size_t i = 0; i < sim->store->experiment_n; i++)
        if (sim->store->experiment[i].id == id)
            return sim->store->experiment[i].state;
    fail_msg("experiment %d is not in the store", id);
    return RUN_ERROR;
}

const struct trial_row *sim_trial(const struct sim *sim, int id)
{
    const struct trial_row *t = store_trial(sim->store, id);
    assert_non_null(t);
    return t;
}

enum run_state sim_trial_state(const struct sim *sim, int id)
{
    return sim_trial(sim, id)->state;
}

int sim_open_allocations(const struct sim *sim)
{
    int n = 0;
    for (size_t i = 0; i < sim->store->allocation_n; i++)
        n += sim->store->allocation[i].end_us == 0;
    return n;
}
