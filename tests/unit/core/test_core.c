/* Steps of the core that the simulation's tasks do not take: peers, daemons, all-gather, live views, bad requests. */
#include "cmocka_setup.h"

#include <string.h>

#include "core/core.h"

struct fixture {
    struct core *core;
    struct core_effects effects; /* the effects of the last step */
    int64_t now_us;
};

static int set_up(void **state)
{
    static struct fixture f;
    static const struct core_pool_opts pool = {.name = "default", .max_aux_containers_per_agent = 100};
    const struct core_opts opts = {.pool = &pool,
                                   .pool_n = 1,
                                   .agent_reconnect_wait_us = CORE_AGENT_RECONNECT_WAIT_US,
                                   .restore_wait_us = CORE_RESTORE_WAIT_US,
                                   .seed = 1};
    f = (struct fixture){.core = core_new(&opts), .now_us = 1000000};
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    core_effects_release(&f->effects);
    core_free(f->core);
    return 0;
}

static int step_core(struct fixture *f, struct core_event ev, struct error *err)
{
    core_effects_release(&f->effects);
    ev.now_us = f->now_us;
    return core_step(f->core, &ev, &f->effects, err);
}

static const struct core_effect *effect_of(const struct fixture *f, enum core_effect_type type, size_t index)
{
    for (size_t i = 0; i < f->effects.n; i++)
        if (f->effects.item[i].type == type && index-- == 0)
            return &f->effects.item[i];
    return NULL;
}

static void connect_agent(struct fixture *f, const char *id)
{
    const struct core_device device[] = {{.id = 0, .brand = "b", .uuid = "u"}, {.id = 1, .brand = "b", .uuid = "v"}};
    assert_int_equal(
        step_core(f,
                  (struct core_event){
                      .type = CORE_AGENT_CONNECTED,
                      .agent = {.agent_id = id, .device = device, .device_n = 2, .version = "0.1.0", .hostname = "h"}},
                  NULL),
        0);
}

static int create_experiment(struct fixture *f, const char *pool, int slots, struct error *err)
{
    struct core_experiment_spec spec = {.owner_id = 7,
                                        .pool = pool,
                                        .slots_per_trial = slots,
                                        .priority = 42,
                                        .weight = 1,
                                        .max_slots = -1,
                                        .preemption_timeout_s = 10,
                                        .searcher = "{\"name\": \"single\"}",
                                        .hyperparameters = "{}"};
    return step_core(f,
                     (struct core_event){.type = CORE_EXPERIMENT_CREATE, .create = {.spec = &spec, .activate = true}},
                     err);
}

/* Starts a trial of four slots on two agents of two slots each. The ids of the allocation and of the containers are
 * returned. */
static void start_pair(struct fixture *f, char allocation[CORE_ALLOCATION_ID_MAX], char container[2][CORE_UUID_MAX])
{
    connect_agent(f, "a1");
    connect_agent(f, "a2");
    assert_int_equal(create_experiment(f, "default", 4, NULL), 0);
    for (size_t i = 0; i < 2; i++) {
        const struct core_start *s = &effect_of(f, CORE_START_CONTAINER, i)->start;
        assert_int_equal(s->rank, i);
        assert_int_equal(s->container_n, 2);
        assert_int_equal(s->port[0], 12350);
        assert_int_equal(s->port[3], 29400);
        snprintf(allocation, CORE_ALLOCATION_ID_MAX, "%s", s->allocation_id);
        snprintf(container[i], CORE_UUID_MAX, "%s", s->container_id);
    }
}

static void container_changes(struct fixture *f, const char *id, enum container_state to, int code)
{
    const struct container_row *k = core_container(f->core, id);
    char agent[CORE_AGENT_ID_MAX];
    snprintf(agent, sizeof(agent), "%s", k->agent_id);
    assert_int_equal(step_core(f,
                               (struct core_event){.type = CORE_CONTAINER_CHANGED,
                                                   .container = {.agent_id = agent,
                                                                 .report = {.container_id = id,
                                                                            .state = to,
                                                                            .address = agent,
                                                                            .exit_kind = code ? EXIT_FAILED : EXIT_OK,
                                                                            .exit_code = code}}},
                               NULL),
                     0);
}

static void test_rendezvous__waits_for_all_and_knows_the_ranks(void **state)
{
    struct fixture *f = *state;
    cleanup_arena struct arena a = ARENA_INIT;
    char allocation[CORE_ALLOCATION_ID_MAX], container[2][CORE_UUID_MAX];
    struct core_peer *peer;
    size_t n;
    start_pair(f, allocation, container);
    container_changes(f, container[1], CONTAINER_RUNNING, 0);
    assert_int_equal(core_rendezvous(f->core, allocation, &a, &peer, &n), CORE_ANSWER_WAIT);
    container_changes(f, container[0], CONTAINER_RUNNING, 0);
    assert_int_equal(effect_of(f, CORE_WAKE, 0)->wake.what, CORE_WAKE_RENDEZVOUS);
    assert_int_equal(core_rendezvous(f->core, allocation, &a, &peer, &n), CORE_ANSWER_YES);
    assert_int_equal(n, 2);
    assert_string_equal(peer[0].container_id, container[0]);
    assert_int_equal(peer[1].slots, 2);
    assert_int_equal(core_rendezvous(f->core, "no.such.1", &a, &peer, &n), CORE_ANSWER_GONE);
}

static void test_first_failure__takes_the_others_along_and_decides(void **state)
{
    struct fixture *f = *state;
    char allocation[CORE_ALLOCATION_ID_MAX], container[2][CORE_UUID_MAX];
    start_pair(f, allocation, container);
    container_changes(f, container[0], CONTAINER_RUNNING, 0);
    container_changes(f, container[1], CONTAINER_RUNNING, 0);
    container_changes(f, container[1], CONTAINER_TERMINATED, 3);
    assert_string_equal(effect_of(f, CORE_SIGNAL_CONTAINER, 0)->signal.container_id, container[0]);
    assert_int_equal(effect_of(f, CORE_SIGNAL_CONTAINER, 0)->signal.signal, 9);
    assert_string_equal(effect_of(f, CORE_ACK_CONTAINER, 0)->ack.container_id, container[1]);
    container_changes(f, container[0], CONTAINER_TERMINATED, 137);
    assert_string_equal(effect_of(f, CORE_END_SESSIONS, 0)->allocation_id, allocation);
    assert_int_equal(effect_of(f, CORE_PUT_ALLOCATION, 0)->allocation->exit_code, 3);
    assert_int_equal(effect_of(f, CORE_EXPERIMENT_ENDED, 0)->experiment_id, 1); /* max_restarts is 0 */
}

static void say_lost(struct fixture *f, const char *agent_id, const int32_t *id, size_t n)
{
    assert_int_equal(step_core(f,
                               (struct core_event){.type = CORE_AGENT_DEVICES,
                                                   .devices = {.agent_id = agent_id, .lost_id = id, .lost_n = n}},
                               NULL),
                     0);
}

static bool slot_is_enabled(const struct fixture *f, size_t index)
{
    struct core_slot_view v;
    assert_true(core_slot(f->core, "a1", index, &v));
    return v.enabled;
}

static void test_lost_device__takes_no_work_until_it_is_back(void **state)
{
    struct fixture *f = *state;
    const int32_t second = 1;
    connect_agent(f, "a1");
    say_lost(f, "a1", &second, 1);
    say_lost(f, "nobody", &second, 1);
    assert_true(slot_is_enabled(f, 0));
    assert_false(slot_is_enabled(f, 1));
    assert_int_equal(create_experiment(f, "default", 2, NULL), 0);
    assert_null(effect_of(f, CORE_START_CONTAINER, 0));
    say_lost(f, "a1", NULL, 0);
    assert_non_null(effect_of(f, CORE_START_CONTAINER, 0));
    assert_true(slot_is_enabled(f, 1));
}

static void tell_trouble(struct fixture *f, int32_t id, const char *reason, int64_t since_us)
{
    struct core_device_trouble t = {id, reason, since_us};
    assert_int_equal(step_core(f,
                               (struct core_event){.type = CORE_AGENT_DEVICES,
                                                   .devices = {.agent_id = "a1", .trouble = &t, .trouble_n = 1}},
                               NULL),
                     0);
}

static const char *reason_of(const struct fixture *f, size_t index)
{
    struct core_slot_view v;
    assert_true(core_slot(f->core, "a1", index, &v));
    return v.reason;
}

static void enable_slot(struct fixture *f, int32_t id)
{
    assert_int_equal(step_core(f,
                               (struct core_event){.type = CORE_SLOT_ENABLE,
                                                   .enable = {.agent_id = "a1", .slot = id, .enable = true}},
                               NULL),
                     0);
}

/* The agent tells of a failure again with each hello; only a later one disables a slot that was enabled since. */
static void test_failed_device__disables_its_slot_until_somebody_enables_it(void **state)
{
    struct fixture *f = *state;
    connect_agent(f, "a1");
    tell_trouble(f, 1, "its driver reported Xid 79", 100);
    tell_trouble(f, 77, "no such device", 150);
    assert_true(slot_is_enabled(f, 0));
    assert_false(slot_is_enabled(f, 1));
    assert_string_equal(reason_of(f, 1), "its driver reported Xid 79");
    assert_string_equal(reason_of(f, 0), "");
    assert_null(effect_of(f, CORE_PUT_AGENT, 0)); /* a device that the agent does not have changes nothing */
    enable_slot(f, 1);
    assert_true(slot_is_enabled(f, 1));
    assert_string_equal(reason_of(f, 1), "");
    tell_trouble(f, 1, "its driver reported Xid 79", 100);
    assert_true(slot_is_enabled(f, 1));
    tell_trouble(f, 1, "its driver reported Xid 48", 200);
    assert_false(slot_is_enabled(f, 1));
    assert_string_equal(reason_of(f, 1), "its driver reported Xid 48");
    assert_int_equal(effect_of(f, CORE_PUT_AGENT, 0)->agent->trouble_us, 200);
}

static void test_lost_device__says_why_its_slot_takes_no_work(void **state)
{
    struct fixture *f = *state;
    const int32_t second = 1;
    connect_agent(f, "a1");
    say_lost(f, "a1", &second, 1);
    assert_string_equal(reason_of(f, 1), "its device does not answer");
}

static void test_daemon__is_killed_when_the_others_are_done(void **state)
{
    struct fixture *f = *state;
    char allocation[CORE_ALLOCATION_ID_MAX], container[2][CORE_UUID_MAX];
    start_pair(f, allocation, container);
    container_changes(f, container[0], CONTAINER_RUNNING, 0);
    container_changes(f, container[1], CONTAINER_RUNNING, 0);
    assert_int_equal(
        step_core(f, (struct core_event){.type = CORE_CONTAINER_DAEMON, .allocation = {allocation, container[1]}},
                  NULL),
        0);
    container_changes(f, container[0], CONTAINER_TERMINATED, 0);
    assert_string_equal(effect_of(f, CORE_SIGNAL_CONTAINER, 0)->signal.container_id, container[1]);
    container_changes(f, container[1], CONTAINER_TERMINATED, 137);
    assert_int_equal(effect_of(f, CORE_PUT_EXPERIMENT, 0)->experiment->state, RUN_COMPLETED);
    assert_true(effect_of(f, CORE_PUT_EXPERIMENT, 0)->experiment->progress == 1);
}

static void test_kill__is_sent_again_after_30_s_and_not_twice_within_15_s(void **state)
{
    struct fixture *f = *state;
    char allocation[CORE_ALLOCATION_ID_MAX], container[2][CORE_UUID_MAX];
    start_pair(f, allocation, container);
    assert_int_equal(step_core(f, (struct core_event){.type = CORE_EXPERIMENT_KILL, .experiment_id = 1}, NULL), 0);
    assert_non_null(effect_of(f, CORE_SIGNAL_CONTAINER, 1));
    assert_int_equal(step_core(f, (struct core_event){.type = CORE_TRIAL_KILL, .trial_id = 1}, NULL), 0);
    assert_null(effect_of(f, CORE_SIGNAL_CONTAINER, 0));
    assert_int_equal(f->effects.next_timer_us, f->now_us + 30000000);
    f->now_us = f->effects.next_timer_us;
    assert_int_equal(step_core(f, (struct core_event){.type = CORE_TIMER}, NULL), 0);
    assert_non_null(effect_of(f, CORE_SIGNAL_CONTAINER, 1));
    assert_int_equal(f->effects.next_timer_us, f->now_us + 30000000);
}

static void test_all_gather__answers_all_peers(void **state)
{
    struct fixture *f = *state;
    cleanup_arena struct arena a = ARENA_INIT;
    char allocation[CORE_ALLOCATION_ID_MAX], container[2][CORE_UUID_MAX];
    const char *const *data;
    size_t n;
    struct core_event ev = {.type = CORE_ALL_GATHER, .gather = {allocation, "u1", 2, "{\"ip\": 1}"}};
    start_pair(f, allocation, container);
    assert_int_equal(step_core(f, ev, NULL), 0);
    assert_int_equal(core_all_gather(f->core, allocation, "u1", &a, &data, &n), CORE_ANSWER_WAIT);
    ev.gather.request_uuid = "u2";
    assert_int_equal(step_core(f, ev, NULL), 0);
    assert_int_equal(effect_of(f, CORE_WAKE, 0)->wake.what, CORE_WAKE_ALL_GATHER);
    assert_int_equal(core_all_gather(f->core, allocation, "u1", &a, &data, &n), CORE_ANSWER_YES);
    assert_int_equal(n, 2);
    assert_string_equal(data[1], "{\"ip\": 1}");
}

static void test_views__show_what_runs_where(void **state)
{
    struct fixture *f = *state;
    cleanup_arena struct arena a = ARENA_INIT;
    char allocation[CORE_ALLOCATION_ID_MAX], container[2][CORE_UUID_MAX];
    struct core_experiment_view x;
    struct core_agent_view agent;
    struct core_slot_view slot;
    struct core_job_view *job, one;
    start_pair(f, allocation, container);
    assert_int_equal(create_experiment(f, "default", 1, NULL), 0);
    assert_true(core_experiment(f->core, 1, &x));
    assert_int_equal(x.display, DISPLAY_QUEUED);
    container_changes(f, container[0], CONTAINER_STARTING, 0);
    assert_true(core_experiment(f->core, 1, &x));
    assert_int_equal(x.display, DISPLAY_STARTING);
    assert_int_equal(core_agent_n(f->core), 2);
    const struct agent *at = NULL;
    assert_true(core_agent_next(f->core, &at, &agent));
    assert_string_equal(agent.id, "a1");
    assert_true(core_agent_next(f->core, &at, &agent));
    assert_string_equal(agent.id, "a2");
    assert_int_equal(agent.slots_used, 2);
    assert_false(core_agent_next(f->core, &at, &agent));
    assert_true(core_slot(f->core, "a1", 1, &slot));
    assert_string_equal(slot.allocation_id, allocation);
    assert_int_equal(core_queue(f->core, "default", &a, &job), 2);
    assert_true(job[0].scheduled && !job[1].scheduled);
    assert_int_equal(job[0].allocated_slots, 4);
    assert_int_equal(job[1].jobs_ahead, 1);
    for (int32_t id = 1; id <= 2; id++) {
        assert_true(core_job(f->core, id, &one));
        assert_int_equal(one.jobs_ahead, id - 1);
        assert_int_equal(one.scheduled, job[id - 1].scheduled);
        assert_int_equal(one.allocated_slots, job[id - 1].allocated_slots);
    }
    assert_int_equal(step_core(f, (struct core_event){.type = CORE_EXPERIMENT_PAUSE, .experiment_id = 2}, NULL), 0);
    assert_false(core_job(f->core, 2, &one));
    assert_false(core_job(f->core, 3, &one));
    assert_int_equal(core_queue(f->core, "default", &a, &job), 1);
    assert_false(core_experiment(f->core, 3, &x));
}

static void test_bad_requests__are_refused_and_change_nothing(void **state)
{
    struct fixture *f = *state;
    cleanup_error struct error err = ERROR_INIT;
    assert_int_equal(create_experiment(f, "gpu-b", 1, &err), -1);
    assert_string_equal(error_msg(&err), "resource pool \"gpu-b\" does not exist");
    assert_int_equal(f->effects.n, 0);
    error_release(&err);
    assert_int_equal(step_core(f, (struct core_event){.type = CORE_EXPERIMENT_PAUSE, .experiment_id = 41}, &err), -1);
    assert_int_equal(err.kind, ERR_NOT_FOUND);
    error_release(&err);
    assert_int_equal(step_core(f, (struct core_event){.type = CORE_ALLOCATION_READY, .allocation = {"1.x.1", NULL}},
                               &err),
                     -1);
    assert_int_equal(err.kind, ERR_NOT_FOUND);
    error_release(&err);
    const struct core_device twice[] = {{.id = 0}, {.id = 0}};
    assert_int_equal(step_core(f,
                               (struct core_event){.type = CORE_AGENT_CONNECTED,
                                                   .agent = {.agent_id = "a", .device = twice, .device_n = 2}},
                               &err),
                     -1);
    assert_string_equal(error_msg(&err), "agent \"a\": two devices have the id 0");
    assert_int_equal(core_agent_n(f->core), 0);
}

static bool log_says(const struct fixture *f, const char *words)
{
    const struct core_effect *e;
    for (size_t i = 0; (e = effect_of(f, CORE_TASK_LOG, i)); i++)
        if (strstr(e->log.text, words))
            return true;
    return false;
}

static void test_actor__is_named_by_the_step_that_they_asked_for_and_by_no_other(void **state)
{
    struct fixture *f = *state;
    char allocation[CORE_ALLOCATION_ID_MAX], container[2][CORE_UUID_MAX], name[] = "ada";
    start_pair(f, allocation, container);
    assert_null(effect_of(f, CORE_EXPERIMENT_STATE, 0)->state.by.name);
    assert_int_equal(
        step_core(f, (struct core_event){.type = CORE_EXPERIMENT_PAUSE, .experiment_id = 1, .by = {3, name}}, NULL), 0);
    const struct core_effect *e = effect_of(f, CORE_EXPERIMENT_STATE, 0);
    memset(name, 'x', sizeof(name) - 1); /* the name is valid only during the call, so the effect must have a copy */
    assert_string_equal(e->state.by.name, "ada");
    assert_int_equal(e->state.by.user_id, 3);
    assert_true(log_says(f, "the trial was paused by ada"));
    assert_int_equal(step_core(f, (struct core_event){.type = CORE_EXPERIMENT_KILL, .experiment_id = 1}, NULL), 0);
    assert_null(effect_of(f, CORE_EXPERIMENT_STATE, 0)->state.by.name);
    assert_false(log_says(f, " by ada"));
}

static void test_unknown_event__is_refused_rather_than_read_as_another_one(void **state)
{
    struct fixture *f = *state;
    cleanup_error struct error err = ERROR_INIT;
    assert_int_equal(step_core(f, (struct core_event){.type = CORE_EVENT_NR}, &err), -1);
    assert_int_equal(err.kind, ERR_INTERNAL);
    assert_int_equal(f->effects.n, 0);
}

/* In one step, each end follows from the end before it, and no object is told anything after it has gone. */
static void test_kill__ends_what_waits_its_trial_and_its_experiment_in_one_step(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(create_experiment(f, "default", 1, NULL), 0);
    int32_t x = f->effects.experiment_id;
    assert_int_equal(step_core(f, (struct core_event){.type = CORE_EXPERIMENT_KILL, .experiment_id = x}, NULL), 0);
    const struct core_effect *experiment = effect_of(f, CORE_PUT_EXPERIMENT, 0),
                             *trial = effect_of(f, CORE_PUT_TRIAL, 0);
    const struct core_effect *task = effect_of(f, CORE_PUT_TASK, 0), *allocation = effect_of(f, CORE_PUT_ALLOCATION, 0);
    assert_int_equal(experiment->experiment->state, RUN_CANCELED);
    assert_int_equal(trial->trial->state, RUN_CANCELED);
    assert_int_equal(task->task->end_us, f->now_us);
    assert_int_equal(allocation->allocation->state, ALLOCATION_TERMINATED);
    assert_non_null(effect_of(f, CORE_EXPERIMENT_ENDED, 0));
    assert_null(effect_of(f, CORE_PUT_TRIAL, 1)); /* there is one effect for each row */
    struct core_experiment_view view;
    assert_false(core_experiment(f->core, x, &view));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_rendezvous__waits_for_all_and_knows_the_ranks),
        TEST(test_first_failure__takes_the_others_along_and_decides),
        TEST(test_lost_device__takes_no_work_until_it_is_back),
        TEST(test_lost_device__says_why_its_slot_takes_no_work),
        TEST(test_failed_device__disables_its_slot_until_somebody_enables_it),
        TEST(test_daemon__is_killed_when_the_others_are_done),
        TEST(test_kill__is_sent_again_after_30_s_and_not_twice_within_15_s),
        TEST(test_all_gather__answers_all_peers),
        TEST(test_views__show_what_runs_where),
        TEST(test_actor__is_named_by_the_step_that_they_asked_for_and_by_no_other),
        TEST(test_bad_requests__are_refused_and_change_nothing),
        TEST(test_unknown_event__is_refused_rather_than_read_as_another_one),
        TEST(test_kill__ends_what_waits_its_trial_and_its_experiment_in_one_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
