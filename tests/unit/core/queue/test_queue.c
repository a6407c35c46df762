/* What a job that waits is told: why, and when it may start; and jobs that change their pool. */
#include "cmocka_setup.h"

#include "common/base/strbuf.h"
#include "core/core.h"

enum { SECOND = 1000000 };

struct fixture {
    struct core *core;
    struct core_effects effects; /* the effects of the last step */
    int64_t now_us;
    struct arena arena;
};

static const struct core_pool_opts pools[] = {
    {.name = "default", .max_aux_containers_per_agent = 1},
    {.name = "keen", .max_aux_containers_per_agent = 1, .sched = {.preemption = true}},
    {.name = "fair", .max_aux_containers_per_agent = 1, .sched = {.policy = SCHED_BY_FAIR_SHARE}},
};

static void begin_fixture(struct fixture *f)
{
    const struct core_opts opts = {.pool = pools,
                                   .pool_n = 3,
                                   .agent_reconnect_wait_us = CORE_AGENT_RECONNECT_WAIT_US,
                                   .restore_wait_us = CORE_RESTORE_WAIT_US,
                                   .seed = 1};
    f->core = core_new(&opts);
}

static int set_up(void **state)
{
    static struct fixture f;
    f = (struct fixture){.now_us = SECOND};
    begin_fixture(&f);
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    core_effects_release(&f->effects);
    core_free(f->core);
    arena_release(&f->arena);
    return 0;
}

static int step_core(struct fixture *f, struct core_event ev, struct error *err)
{
    core_effects_release(&f->effects);
    ev.now_us = f->now_us;
    return core_step(f->core, &ev, &f->effects, err);
}

static void join_agent(struct fixture *f, const char *id, const char *pool, size_t slots)
{
    struct core_device device[16];
    for (size_t i = 0; i < slots; i++)
        device[i] = (struct core_device){.id = (int32_t)i, .brand = "b", .uuid = "u"};
    struct core_event ev = {.type = CORE_AGENT_CONNECTED,
                            .agent = {.agent_id = id,
                                      .pool = pool,
                                      .device = device,
                                      .device_n = slots,
                                      .version = "0.1.0",
                                      .hostname = "h"}};
    assert_int_equal(step_core(f, ev, NULL), 0);
}

static struct core_experiment_spec spec_of(const char *pool, int slots)
{
    return (struct core_experiment_spec){.owner_id = 7,
                                         .pool = pool,
                                         .slots_per_trial = slots,
                                         .priority = 42,
                                         .weight = 1,
                                         .max_slots = -1,
                                         .preemption_timeout_s = 10,
                                         .searcher = "{\"name\": \"single\"}",
                                         .hyperparameters = "{}"};
}

static int32_t submit_experiment(struct fixture *f, struct core_experiment_spec spec)
{
    f->now_us++;
    assert_int_equal(
        step_core(f, (struct core_event){.type = CORE_EXPERIMENT_CREATE, .create = {.spec = &spec, .activate = true}},
                  NULL),
        0);
    return f->effects.experiment_id;
}

static int32_t create_experiment(struct fixture *f, const char *pool, int slots)
{
    return submit_experiment(f, spec_of(pool, slots));
}

/* Returns why the experiment waits; NULL: it does not wait. Asking for this experiment alone, and asking for it last in
 * a list of all, must give the same words. */
static const char *wait_reason(struct fixture *f, int32_t experiment_id)
{
    struct core_wait_view wait, listed = {0};
    struct core_wait_notes notes = {0};
    const char *alone = core_wait(f->core, experiment_id, f->now_us, &f->arena, &wait) ? wait.reason : NULL;
    for (int32_t x = 1; x <= experiment_id; x++)
        if (!core_wait_noted(f->core, (struct core_job_owner){.experiment_id = x}, f->now_us, &f->arena, &notes,
                             &listed))
            listed.reason = NULL;
    assert_int_equal(!alone, !listed.reason);
    if (alone)
        assert_string_equal(alone, listed.reason);
    return alone;
}

static int64_t estimated_start(struct fixture *f, int32_t experiment_id)
{
    struct core_wait_view wait;
    assert_true(core_wait(f->core, experiment_id, f->now_us, &f->arena, &wait));
    return wait.estimated_start_us;
}

static void enable_agent(struct fixture *f, const char *agent, bool on, bool drain)
{
    struct core_event ev = {.type = CORE_AGENT_ENABLE, .enable = {.agent_id = agent, .enable = on, .drain = drain}};
    assert_int_equal(step_core(f, ev, NULL), 0);
}

static const struct core_effect *effect_of_type(const struct fixture *f, enum core_effect_type type)
{
    for (size_t i = 0; i < f->effects.n; i++)
        if (f->effects.item[i].type == type)
            return &f->effects.item[i];
    return NULL;
}

/* ---- what no agents can hold ------------------------------------------------------------------------------------- */

static void test_misfit__names_what_the_agents_have(void **state)
{
    struct fixture *f = *state;
    int32_t x = create_experiment(f, "default", 12);
    assert_string_equal(wait_reason(f, x), "pool default has no agents");
    assert_string_equal(core_misfit(f->core, "default", 12, false, &(struct sched_needs){0}, &f->arena),
                        "pool default has no agents");
    join_agent(f, "a1", "default", 8);
    assert_string_equal(wait_reason(f, x), "needs 12 slots: pool default has agents of 8; use a multiple of 8 or ≤ 8");
    assert_string_equal(wait_reason(f, create_experiment(f, "default", 16)),
                        "needs 16 slots: pool default has 1 agent of 8");
    join_agent(f, "a2", "default", 4);
    assert_string_equal(
        wait_reason(f, x),
        "needs 12 slots: pool default has agents of 8 and 4; use ≤ 8, or a multiple of one size that enough agents have");
    struct core_experiment_spec single = spec_of("default", 16);
    single.single_node = true;
    assert_string_equal(wait_reason(f, submit_experiment(f, single)),
                        "needs 16 slots on one agent: the largest agent of pool default has 8");
    join_agent(f, "a3", "default", 8);
    assert_null(wait_reason(f, 2));
    assert_null(core_misfit(f->core, "default", 16, false, &(struct sched_needs){0}, &f->arena));
    assert_non_null(core_misfit(f->core, "default", 16, true, &(struct sched_needs){0}, &f->arena));
    assert_null(core_misfit(f->core, "default", 0, false, &(struct sched_needs){0}, &f->arena));
    assert_null(core_misfit(f->core, "nowhere", 1, false, &(struct sched_needs){0}, &f->arena));
}

static void test_agents_without_slots__hold_only_tasks_without(void **state)
{
    struct fixture *f = *state;
    join_agent(f, "a1", "default", 0);
    assert_string_equal(wait_reason(f, create_experiment(f, "default", 1)),
                        "needs 1 slot: the agents of pool default have none");
    assert_null(wait_reason(f, create_experiment(f, "default", 0)));
    assert_string_equal(wait_reason(f, create_experiment(f, "default", 0)),
                        "needs no slot: all agents of pool default have as many such tasks as they take");
}

static void test_closed_agents__are_told_from_missing_ones(void **state)
{
    struct fixture *f = *state;
    join_agent(f, "a1", "default", 2);
    join_agent(f, "a2", "default", 2);
    enable_agent(f, "a1", false, true);
    int32_t x = create_experiment(f, "default", 4);
    assert_string_equal(wait_reason(f, x),
                        "needs 4 slots: too many slots of pool default take no new work (disabled, draining or lost)");
    assert_null(core_misfit(f->core, "default", 4, false, &(struct sched_needs){0}, &f->arena));
    enable_agent(f, "a2", false, false);
    assert_string_equal(wait_reason(f, x), "no agent of pool default takes new work: 1 draining, 1 disabled");
    struct core_event ev = {.type = CORE_AGENT_ENABLE, .enable = {.agent_id = "a2", .reason = "new disks"}};
    assert_int_equal(step_core(f, ev, NULL), 0);
    assert_string_equal(wait_reason(f, x),
                        "no agent of pool default takes new work: 1 draining, 1 disabled (a2: new disks)");
    ev.enable.reason = NULL; /* NULL: no other reason is given */
    assert_int_equal(step_core(f, ev, NULL), 0);
    ev.enable.agent_id = "a1";
    ev.enable.reason = "moved";
    assert_int_equal(step_core(f, ev, NULL), 0);
    assert_string_equal(wait_reason(f, x), "no agent of pool default takes new work: 2 disabled (a1: moved; …)");
    enable_agent(f, "a1", true, false);
    enable_agent(f, "a1", false, true);
    assert_string_equal(wait_reason(f, x),
                        "no agent of pool default takes new work: 1 draining, 1 disabled (a2: new disks)");
    assert_int_equal(step_core(f, (struct core_event){.type = CORE_AGENT_DISCONNECTED, .agent = {.agent_id = "a2"}},
                               NULL),
                     0);
    assert_string_equal(wait_reason(f, x), "no agent of pool default takes new work: 1 lost, 1 draining");
}

static void test_excluded_agents__are_named_as_the_cause(void **state)
{
    struct fixture *f = *state;
    join_agent(f, "a1", "default", 1);
    int32_t x = create_experiment(f, "default", 1);
    struct core_event matched = {
        .type = CORE_TRIAL_LOG_MATCHED,
        .log_matched = {.trial_id = 1, .policy = "ecc", .agent_id = "a1", .action = LOG_POLICY_EXCLUDE_NODE}};
    assert_int_equal(step_core(f, matched, NULL), 0);
    assert_int_equal(step_core(f, (struct core_event){.type = CORE_EXPERIMENT_PAUSE, .experiment_id = x}, NULL), 0);
    enable_agent(f, "a1", false, false);
    f->now_us += 100 * SECOND;
    const struct container_row *k = core_agent_container(f->core, "a1", 0);
    struct core_event ended = {.type = CORE_CONTAINER_CHANGED,
                               .container = {.agent_id = "a1",
                                             .report = {.container_id = k->id,
                                                        .state = CONTAINER_TERMINATED,
                                                        .exit_kind = EXIT_KILLED,
                                                        .exit_code = 137}}};
    assert_int_equal(step_core(f, ended, NULL), 0);
    enable_agent(f, "a1", true, false);
    assert_int_equal(step_core(f, (struct core_event){.type = CORE_EXPERIMENT_ACTIVATE, .experiment_id = x}, NULL), 0);
    assert_string_equal(
        wait_reason(f, x),
        "needs 1 slot: log policies of the experiment exclude the agents of pool default that could hold it");
}

/* ---- what only has to wait --------------------------------------------------------------------------------------- */

static void test_no_room__says_what_is_missing_and_who_goes_first(void **state)
{
    struct fixture *f = *state;
    join_agent(f, "a1", "default", 4);
    join_agent(f, "a2", "default", 4);
    create_experiment(f, "default", 2);
    create_experiment(f, "default", 4);
    int32_t four = create_experiment(f, "default", 4), eight = create_experiment(f, "default", 8),
            two = create_experiment(f, "default", 2);
    assert_string_equal(wait_reason(f, four), "needs 4 slots: no agent of pool default has as many free");
    assert_string_equal(wait_reason(f, eight), "needs 8 slots: not enough whole agents of pool default are free");
    assert_null(wait_reason(f, two));
    assert_string_equal(wait_reason(f, create_experiment(f, "default", 1)),
                        "needs 1 slot: none is free in pool default");
    struct core_experiment_spec late = spec_of("default", 1);
    late.priority = 50;
    assert_string_equal(wait_reason(f, submit_experiment(f, late)),
                        "needs 1 slot: none is free in pool default; waits for 3 trials ahead of higher priority");
}

static void test_room_kept_for_others__is_said_to_be(void **state)
{
    struct fixture *f = *state;
    char wanted[160];
    join_agent(f, "a1", "default", 4);
    create_experiment(f, "default", 2);
    int32_t four = create_experiment(f, "default", 4);
    struct core_experiment_spec late = spec_of("default", 1);
    late.priority = 50;
    int32_t x = submit_experiment(f, late);
    assert_string_equal(wait_reason(f, x), "waits for 1 trial ahead of higher priority");
    assert_int_equal(step_core(f, (struct core_event){.type = CORE_EXPERIMENT_KILL, .experiment_id = four}, NULL), 0);
    assert_null(wait_reason(f, x));
    int32_t stuck = create_experiment(f, "default", 5);
    x = submit_experiment(f, late);
    struct core_job_view job;
    assert_true(core_job(f->core, stuck, &job));
    snprintf(wanted, sizeof(wanted),
             "waits for 1 trial ahead of higher priority, of which job %.8s needs 5 slots that no set of agents has",
             job.job_id);
    assert_string_equal(wait_reason(f, x), wanted);
}

static void test_fair_share__tells_limits_from_shares(void **state)
{
    struct fixture *f = *state;
    struct core_experiment_spec limited = spec_of("fair", 2);
    limited.max_slots = 1;
    join_agent(f, "a1", "fair", 4);
    assert_string_equal(wait_reason(f, submit_experiment(f, limited)),
                        "needs 2 slots: its job has 0 of its max_slots, 1");
    create_experiment(f, "fair", 3);
    assert_string_equal(wait_reason(f, create_experiment(f, "fair", 4)),
                        "needs 4 slots: no agent of pool fair has as many free");
}

static void test_preemption__is_seen_to_be_under_way(void **state)
{
    struct fixture *f = *state;
    struct core_experiment_spec urgent = spec_of("keen", 1);
    join_agent(f, "a1", "keen", 1);
    create_experiment(f, "keen", 1);
    urgent.priority = 1;
    assert_string_equal(wait_reason(f, submit_experiment(f, urgent)),
                        "needs 1 slot: none is free in pool keen; 1 is just being stopped");
}

/* ---- when it may start ------------------------------------------------------------------------------------------- */

static struct core_rows run_times_of(struct fixture *f, size_t n, int64_t us)
{
    struct core_run_time *t = arena_array(&f->arena, struct core_run_time, n);
    for (size_t i = 0; i < n; i++)
        t[i] = (struct core_run_time){"default", us + (int64_t)i - (int64_t)n / 2};
    return (struct core_rows){.run_time = t, .run_time_n = n};
}

static void restore_core(struct fixture *f, const struct core_rows *rows)
{
    core_effects_release(&f->effects);
    core_free(f->core);
    begin_fixture(f);
    assert_int_equal(core_restore(f->core, rows, f->now_us, &f->effects, NULL), 0);
}

/* In one median run time, two slots come free. */
static void test_estimate__counts_those_ahead_in_median_run_times(void **state)
{
    struct fixture *f = *state;
    struct core_rows rows = run_times_of(f, 11, 60 * SECOND);
    restore_core(f, &rows);
    join_agent(f, "a1", "default", 2);
    create_experiment(f, "default", 2);
    for (int i = 1; i <= 4; i++) {
        int32_t x = create_experiment(f, "default", 1);
        assert_int_equal(estimated_start(f, x), f->now_us + 30 * i * SECOND);
    }
    struct core_experiment_spec first = spec_of("default", 2);
    first.priority = 1;
    int32_t x = submit_experiment(f, first);
    assert_int_equal(estimated_start(f, x), f->now_us + 60 * SECOND);
    assert_int_equal(estimated_start(f, 2), f->now_us + 90 * SECOND);
}

static void test_estimate__is_empty_where_nobody_knows(void **state)
{
    struct fixture *f = *state;
    struct core_rows rows = run_times_of(f, 9, 60 * SECOND);
    restore_core(f, &rows);
    join_agent(f, "a1", "default", 1);
    create_experiment(f, "default", 1);
    assert_int_equal(estimated_start(f, create_experiment(f, "default", 1)), 0);
    rows = run_times_of(f, 10, 60 * SECOND);
    restore_core(f, &rows);
    assert_int_equal(estimated_start(f, create_experiment(f, "default", 1)), 0);
    join_agent(f, "a1", "default", 1);
    assert_int_equal(estimated_start(f, create_experiment(f, "default", 3)), 0);
    assert_int_not_equal(estimated_start(f, create_experiment(f, "default", 1)), 0);
}

/* The tenth allocation that ends gives the first estimate. Allocations that were preempted or failed do not count. */
static void test_estimate__learns_from_what_ends(void **state)
{
    struct fixture *f = *state;
    join_agent(f, "a1", "default", 1);
    for (int i = 0; i < 12; i++) {
        int32_t x = create_experiment(f, "default", 1);
        const struct container_row *k = core_agent_container(f->core, "a1", 0);
        struct core_event ev = {
            .type = CORE_CONTAINER_CHANGED,
            .container = {.agent_id = "a1",
                          .report = {.container_id = k->id, .state = CONTAINER_RUNNING, .address = "a"}}};
        assert_int_equal(step_core(f, ev, NULL), 0);
        f->now_us += 10 * SECOND - 1;
        /* the experiment is created a microsecond before the end of the run */
        int32_t waiting = create_experiment(f, "default", 1);
        assert_int_equal(estimated_start(f, waiting), i < 11 ? 0 : f->now_us + 10 * SECOND);
        assert_int_equal(step_core(f, (struct core_event){.type = CORE_EXPERIMENT_KILL, .experiment_id = waiting},
                                   NULL),
                         0);
        bool fails = i == 5;
        ev.container.report = (struct core_container_report){.container_id = k->id,
                                                             .state = CONTAINER_TERMINATED,
                                                             .exit_kind = fails ? EXIT_FAILED : EXIT_OK,
                                                             .exit_code = fails};
        assert_int_equal(step_core(f, ev, NULL), 0);
        struct core_experiment_view view;
        assert_false(core_experiment(f->core, x, &view));
    }
}

/* ---- to another pool --------------------------------------------------------------------------------------------- */

static int change_queue(struct fixture *f, const struct core_queue_change *change, size_t n, struct error *err)
{
    return step_core(f, (struct core_event){.type = CORE_QUEUE_CHANGE, .queue = {.change = change, .n = n}}, err);
}

static const char *job_id(struct fixture *f, int32_t experiment_id)
{
    struct core_experiment_view view;
    assert_true(core_experiment(f->core, experiment_id, &view));
    return arena_strdup(&f->arena, view.row->job_id);
}

static int to_pool(struct fixture *f, int32_t experiment_id, const char *pool, struct error *err)
{
    struct core_queue_change change = {.job_id = job_id(f, experiment_id), .what = QUEUE_POOL, .pool = pool};
    return change_queue(f, &change, 1, err);
}

/* Returns the queue as text, such as "1 2*": the jobs in their order, with a star behind those that have slots. */
static const char *queue_text(struct fixture *f, const char *pool)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    struct core_job_view *job;
    size_t n = core_queue(f->core, pool, &f->arena, &job);
    for (size_t i = 0; i < n; i++)
        strbuf_addf(&text, "%s%d%s", i > 0 ? " " : "", job[i].owner.experiment_id, job[i].scheduled ? "*" : "");
    return arena_strdup(&f->arena, strbuf_str(&text));
}

static void end_container(struct fixture *f, const char *agent, enum exit_kind kind)
{
    const struct container_row *k = core_agent_container(f->core, agent, 0);
    assert_non_null(k);
    struct core_event ev = {.type = CORE_CONTAINER_CHANGED,
                            .container = {.agent_id = agent,
                                          .report = {.container_id = k->id,
                                                     .state = CONTAINER_TERMINATED,
                                                     .exit_kind = kind,
                                                     .exit_code = kind == EXIT_OK ? 0 : 137}}};
    assert_int_equal(step_core(f, ev, NULL), 0);
}

static void test_pool__of_what_waits_changes_at_once(void **state)
{
    struct fixture *f = *state;
    join_agent(f, "a1", "default", 1);
    join_agent(f, "b1", "keen", 1);
    create_experiment(f, "default", 1);
    int32_t x = create_experiment(f, "default", 1), y = create_experiment(f, "keen", 1);
    assert_string_equal(queue_text(f, "keen"), "3*");
    assert_int_equal(to_pool(f, x, "keen", NULL), 0);
    assert_string_equal(queue_text(f, "default"), "1*");
    /* the order follows from the submission, and this job was submitted first */
    assert_string_equal(queue_text(f, "keen"), "2 3*");
    bool kept = false;
    for (size_t i = 0; i < f->effects.n; i++)
        if (f->effects.item[i].type == CORE_PUT_RESOURCES)
            kept = strcmp(f->effects.item[i].resources.pool, "keen") == 0;
    assert_true(kept);
    assert_int_equal(step_core(f, (struct core_event){.type = CORE_EXPERIMENT_KILL, .experiment_id = y}, NULL), 0);
    end_container(f, "b1", EXIT_KILLED);
    assert_string_equal(queue_text(f, "keen"), "2*");
}

static void test_pool__of_what_runs_changes_when_it_has_stopped(void **state)
{
    struct fixture *f = *state;
    struct core_job_view job;
    join_agent(f, "a1", "default", 1);
    join_agent(f, "b1", "keen", 1);
    int32_t x = create_experiment(f, "default", 1);
    const struct container_row *k = core_agent_container(f->core, "a1", 0);
    struct core_event runs = {
        .type = CORE_CONTAINER_CHANGED,
        .container = {.agent_id = "a1", .report = {.container_id = k->id, .state = CONTAINER_RUNNING, .address = "a"}}};
    assert_int_equal(step_core(f, runs, NULL), 0);
    assert_int_equal(to_pool(f, x, "keen", NULL), 0);
    assert_int_equal(core_preemption(f->core, k->allocation_id), CORE_ANSWER_YES);
    assert_string_equal(queue_text(f, "default"), "1*");
    assert_string_equal(queue_text(f, "keen"), "");
    assert_true(core_job(f->core, x, &job));
    assert_true(job.scheduled && job.leaving);
    struct core_queue_change move = {.job_id = job_id(f, x),
                                     .what = QUEUE_AHEAD_OF,
                                     .anchor = job_id(f, create_experiment(f, "keen", 1))};
    cleanup_error struct error err = ERROR_INIT;
    assert_int_equal(change_queue(f, &move, 1, &err), -1);
    assert_non_null(strstr(error_msg(&err), "has no place in the queue"));
    end_container(f, "a1", EXIT_OK); /* the trial may have written its checkpoint … */
    struct core_experiment_view view;
    /* … or have finished just then, because it did not acknowledge the preemption */
    assert_false(core_experiment(f->core, x, &view));
}

/* The job goes to another pool and back before its trial has stopped. It comes back to the place that it still has. */
static void test_pool__changed_back_meanwhile_finds_its_place_again(void **state)
{
    struct fixture *f = *state;
    join_agent(f, "a1", "default", 1);
    int32_t x = create_experiment(f, "default", 1);
    assert_int_equal(to_pool(f, x, "keen", NULL), 0);
    assert_string_equal(queue_text(f, "default"), "1*");
    assert_int_equal(to_pool(f, x, "default", NULL), 0);
    assert_string_equal(queue_text(f, "default"), "1*");
    end_container(f, "a1", EXIT_KILLED);
    assert_string_equal(queue_text(f, "default"), "1*");
    assert_string_equal(queue_text(f, "keen"), "");
    assert_int_equal(to_pool(f, x, "fair", NULL), 0);
    end_container(f, "a1", EXIT_KILLED);
    assert_string_equal(queue_text(f, "default"), "");
    assert_string_equal(queue_text(f, "fair"), "1");
    assert_string_equal(wait_reason(f, x), "pool fair has no agents");
}

static void test_pool__change_survives_a_crash_in_the_middle(void **state)
{
    struct fixture *f = *state;
    join_agent(f, "a1", "default", 1);
    int32_t x = create_experiment(f, "default", 1);
    struct experiment_row row = *effect_of_type(f, CORE_PUT_EXPERIMENT)->experiment;
    struct trial_row trial = *effect_of_type(f, CORE_PUT_TRIAL)->trial;
    struct core_restored_experiment from = {.row = row, .spec = spec_of("keen", 1)};
    from.searcher_snapshot = arena_strdup(&f->arena, effect_of_type(f, CORE_PUT_SEARCHER)->searcher.snapshot);
    trial.hparams = "{}";
    const struct container_row *k = core_agent_container(f->core, "a1", 0);
    struct container_row container = *k;
    struct allocation_row allocation = *core_allocation(f->core, k->allocation_id);
    struct agent_row agent = {.id = "a1", .pool = "default", .enabled = true};
    allocation.killed = true;
    struct core_rows rows = {.experiment = &from,
                             .experiment_n = 1,
                             .trial = &trial,
                             .trial_n = 1,
                             .allocation = &allocation,
                             .allocation_n = 1,
                             .container = &container,
                             .container_n = 1,
                             .agent = &agent,
                             .agent_n = 1,
                             .last_experiment_id = x,
                             .last_trial_id = trial.id};
    restore_core(f, &rows);
    assert_string_equal(queue_text(f, "default"), "1*");
    struct core_container_report report = {.container_id = container.id,
                                           .state = CONTAINER_TERMINATED,
                                           .exit_kind = EXIT_KILLED,
                                           .exit_code = 137};
    const struct core_device device = {.brand = "b", .uuid = "u"};
    struct core_event back = {.type = CORE_AGENT_CONNECTED,
                              .agent = {.agent_id = "a1",
                                        .pool = "default",
                                        .device = &device,
                                        .device_n = 1,
                                        .version = "0.1.0",
                                        .hostname = "h",
                                        .container = &report,
                                        .container_n = 1}};
    assert_int_equal(step_core(f, back, NULL), 0);
    assert_string_equal(queue_text(f, "default"), "");
    assert_string_equal(queue_text(f, "keen"), "1");
}

static void test_pool__that_cannot_be_is_refused_and_nothing_changes(void **state)
{
    struct fixture *f = *state;
    join_agent(f, "b1", "keen", 2);
    int32_t x = create_experiment(f, "default", 1), y = create_experiment(f, "default", 3);
    const char *a = job_id(f, x), *b = job_id(f, y);
    const struct {
        struct core_queue_change change[2];
        const char *says;
    } bad[] = {
        {{{a, QUEUE_POOL, .pool = "nowhere"}, {b, QUEUE_PRIORITY, .priority = 3}},
         "resource pool \"nowhere\" does not exist"},
        {{{a, QUEUE_POOL, .pool = ""}, {b, QUEUE_PRIORITY, .priority = 3}}, "resource pool \"\" does not exist"},
        {{{a, QUEUE_POOL, .pool = "keen"}, {b, QUEUE_POOL, .pool = "default"}},
         "resource pool is unchanged (default == default)"},
        {{{a, QUEUE_POOL, .pool = "keen"}, {a, QUEUE_POOL, .pool = "fair"}}, "gets two resource pools"},
        {{{a, QUEUE_POOL, .pool = "keen"}, {a, QUEUE_AHEAD_OF, .anchor = b}}, "contradictory batch"},
        {{{a, QUEUE_POOL, .pool = "keen"}, {b, QUEUE_BEHIND_OF, .anchor = a}}, "contradictory batch"},
        {{{a, QUEUE_POOL, .pool = "fair"}, {a, QUEUE_PRIORITY, .priority = 3}}, "has no priorities"},
        {{{a, QUEUE_POOL, .pool = "keen"}, {a, QUEUE_WEIGHT, .weight = 3}}, "has no weights"},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        cleanup_error struct error err = ERROR_INIT;
        assert_int_equal(change_queue(f, bad[i].change, 2, &err), -1);
        assert_non_null(strstr(error_msg(&err), bad[i].says));
        assert_int_equal(f->effects.n, 0);
        assert_string_equal(queue_text(f, "default"), "1 2");
    }
    struct core_queue_change change = {.job_id = b, .what = QUEUE_POOL, .pool = "keen"};
    cleanup_error struct error err = ERROR_INIT;
    struct core_event strict = {.type = CORE_QUEUE_CHANGE,
                                .queue = {.change = &change, .n = 1, .refuse_misfits = true}};
    assert_int_equal(step_core(f, strict, &err), -1);
    assert_non_null(strstr(error_msg(&err), "slots requested exceeds cluster capacity"));
    struct core_queue_change weighed[] = {{a, QUEUE_WEIGHT, .weight = 3}, {a, QUEUE_POOL, .pool = "fair"}};
    assert_int_equal(change_queue(f, weighed, 2, NULL), 0);
    assert_string_equal(queue_text(f, "fair"), "1");
}

/* ---- agents that come back otherwise than they went -------------------------------------------------------------- */

static int come_back(struct fixture *f, const char *id, const char *pool, size_t slots, const char *container_id)
{
    struct core_device device[16];
    for (size_t i = 0; i < slots; i++)
        device[i] = (struct core_device){.id = (int32_t)i, .brand = "b", .uuid = "u"};
    struct core_container_report report = {.container_id = container_id, .state = CONTAINER_RUNNING, .address = "a"};
    assert_int_equal(step_core(f, (struct core_event){.type = CORE_AGENT_DISCONNECTED, .agent = {.agent_id = id}},
                               NULL),
                     0);
    return step_core(f,
                     (struct core_event){.type = CORE_AGENT_CONNECTED,
                                         .agent = {.agent_id = id,
                                                   .pool = pool,
                                                   .device = device,
                                                   .device_n = slots,
                                                   .version = "0.1.0",
                                                   .hostname = "h",
                                                   .container = &report,
                                                   .container_n = 1}},
                     NULL);
}

static const char *running_on(struct fixture *f, const char *agent)
{
    const struct container_row *k = core_agent_container(f->core, agent, 0);
    return !k ? "" : arena_strdup(&f->arena, k->id);
}

static void test_agent__that_comes_back_in_another_pool_takes_none_of_its_work_along(void **state)
{
    struct fixture *f = *state;
    join_agent(f, "a1", "default", 1);
    int32_t x = create_experiment(f, "default", 1), y = create_experiment(f, "keen", 1);
    assert_int_equal(come_back(f, "a1", "keen", 1, running_on(f, "a1")), 0);
    assert_string_equal(queue_text(f, "default"), "1");
    assert_string_equal(wait_reason(f, x), "pool default has no agents");
    assert_string_equal(queue_text(f, "keen"), "2*");
    assert_null(wait_reason(f, y));
    struct core_trial_view trial;
    assert_true(core_trial(f->core, 1, &trial));
    assert_int_equal(trial.row->restarts, 0);
}

static void test_agent__that_comes_back_with_too_few_slots_loses_what_needs_more(void **state)
{
    struct fixture *f = *state;
    join_agent(f, "a1", "default", 2);
    int32_t x = create_experiment(f, "default", 2);
    assert_int_equal(come_back(f, "a1", "default", 1, running_on(f, "a1")), 0);
    assert_string_equal(queue_text(f, "default"), "1");
    assert_string_equal(wait_reason(f, x), "needs 2 slots: pool default has 1 agent of 1");
    int32_t y = create_experiment(f, "default", 1);
    assert_string_equal(queue_text(f, "default"), "1 2*");
    assert_null(wait_reason(f, y));
    struct core_trial_view trial;
    assert_true(core_trial(f->core, 1, &trial));
    assert_int_equal(trial.row->restarts, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_misfit__names_what_the_agents_have),
        TEST(test_agents_without_slots__hold_only_tasks_without),
        TEST(test_closed_agents__are_told_from_missing_ones),
        TEST(test_excluded_agents__are_named_as_the_cause),
        TEST(test_no_room__says_what_is_missing_and_who_goes_first),
        TEST(test_room_kept_for_others__is_said_to_be),
        TEST(test_fair_share__tells_limits_from_shares),
        TEST(test_preemption__is_seen_to_be_under_way),
        TEST(test_estimate__counts_those_ahead_in_median_run_times),
        TEST(test_estimate__is_empty_where_nobody_knows),
        TEST(test_estimate__learns_from_what_ends),
        TEST(test_pool__of_what_waits_changes_at_once),
        TEST(test_pool__of_what_runs_changes_when_it_has_stopped),
        TEST(test_pool__changed_back_meanwhile_finds_its_place_again),
        TEST(test_pool__change_survives_a_crash_in_the_middle),
        TEST(test_pool__that_cannot_be_is_refused_and_nothing_changes),
        TEST(test_agent__that_comes_back_in_another_pool_takes_none_of_its_work_along),
        TEST(test_agent__that_comes_back_with_too_few_slots_loses_what_needs_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
