/* Ports of trials: nobody else's in the cluster, and when those are gone, nobody else's on the machine. */
#include "cmocka_setup.h"

#include "core/core.h"
#include "core/state/ports.h"

static void assert_ports(const int32_t port[CORE_PORTS], int32_t ssh, int32_t first, int32_t second, int32_t rendezvous)
{
    const int32_t expected[CORE_PORTS] = {ssh, first, second, rendezvous};
    for (int i = 0; i < CORE_PORTS; i++)
        assert_int_equal(port[i], expected[i]);
}

static void test_ports__are_the_lowest_that_nobody_has(void **state)
{
    static struct ports p;
    int32_t a[CORE_PORTS], b[CORE_PORTS], c[CORE_PORTS];
    ports_init(&p, (int32_t[]){12351, 29400}, 2);
    assert_true(ports_take(&p, PORTS_EPHEMERAL, a) && ports_take(&p, PORTS_EPHEMERAL, b));
    assert_ports(a, 12350, 12360, 12365, 29401);
    assert_ports(b, 12352, 12361, 12366, 29402);
    ports_give_back(&p, a);
    assert_true(ports_take(&p, PORTS_EPHEMERAL, c));
    assert_ports(c, 12350, 12360, 12365, 29401);
}

static void test_the_clusters_ports__end_where_the_systems_begin(void **state)
{
    static struct ports p;
    static int32_t port[4000][CORE_PORTS];
    int n = 0;
    ports_init(&p, NULL, 0);
    while (ports_take(&p, PORTS_EPHEMERAL, port[n]))
        n++;
    assert_int_equal(n, 32768 - 29400);
    assert_true(port[n - 1][3] == 32767 && port[n - 1][0] < 32768);
    assert_false(ports_take(&p, PORTS_EPHEMERAL, port[n])); /* the call that failed has not taken any port */
    ports_give_back(&p, port[17]);
    assert_true(ports_take(&p, PORTS_EPHEMERAL, port[n]));
    assert_ports(port[n], port[17][0], port[17][1], port[17][2], port[17][3]);
}

static void test_a_port_of_several_trials__is_free_when_the_last_has_ended(void **state)
{
    static struct ports p;
    struct port_set here = {0};
    int32_t a[CORE_PORTS], b[CORE_PORTS], c[CORE_PORTS];
    ports_init(&p, NULL, 0);
    assert_true(ports_take(&p, PORTS_EPHEMERAL, a));
    ports_take_here(&p, &here, b); /* the trial is on another machine */
    assert_ports(b, 12350, 12360, 12365, 29400);
    port_set_add(&here, a);
    ports_take_here(&p, &here, c);
    assert_ports(c, 12351, 12361, 12366, 29401);
    ports_give_back(&p, c);
    ports_give_back(&p, a);
    assert_true(ports_take(&p, PORTS_EPHEMERAL, c));
    assert_ports(c, 12351, 12361, 12366, 29401); /* b still has the lower numbers */
    ports_give_back(&p, c);
    ports_give_back(&p, b);
    assert_true(ports_take(&p, PORTS_EPHEMERAL, c));
    assert_ports(c, 12350, 12360, 12365, 29400);
}

/* ---- services of tasks that are no trials ------------------------------------------------------------------------ */

static void test_a_services_port__is_drawn_from_the_range_of_its_kind(void **state)
{
    static const struct {
        enum task_kind kind;
        int32_t first, last;
    } rows[] = {{TASK_KIND_TENSORBOARD, 2600, 2899}, {TASK_KIND_NOTEBOOK, 2900, 3199}, {TASK_KIND_SHELL, 3200, 3599}};
    static struct ports p;
    struct port_set here = {0};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        ports_init(&p, NULL, 0);
        uint32_t n = (uint32_t)(rows[i].last - rows[i].first + 1);
        assert_true(ports_has_service(rows[i].kind));
        assert_int_equal(ports_draw(&p, rows[i].kind, 0, &here), rows[i].first);
        assert_int_equal(ports_draw(&p, rows[i].kind, 7 * n, &here), rows[i].first + 1); /* the first one is taken */
        assert_int_equal(ports_draw(&p, rows[i].kind, n - 1, &here), rows[i].last); /* the last one belongs to it */
        assert_int_equal(ports_draw(&p, rows[i].kind, n - 1, &here), rows[i].first + 2); /* the search goes around */
        assert_true(ports_draw(&p, rows[i].kind, UINT32_MAX, &here) >= rows[i].first);
    }
    assert_false(ports_has_service(TASK_KIND_COMMAND));
    assert_int_equal(ports_draw(&p, TASK_KIND_COMMAND, 1, &here), 0);
    assert_int_equal(ports_draw(&p, TASK_KIND_COLLECTION, 1, &here), 0);
}

static void test_a_services_port__is_free_on_its_machine_when_the_clusters_are_gone(void **state)
{
    static struct ports p;
    struct port_set none = {0}, here = {0};
    ports_init(&p, (int32_t[]){2901}, 1);
    int32_t port[300][CORE_PORTS] = {0};
    for (int i = 0; i < 299; i++) {
        port[i][0] = ports_draw(&p, TASK_KIND_NOTEBOOK, 0, &here);
        assert_int_equal(port[i][0], 2900 + i + (i > 0)); /* 2901 is reserved */
    }
    port_set_add(&here, port[0]);
    assert_int_equal(ports_draw(&p, TASK_KIND_NOTEBOOK, 0, &here), 2902);
    for (int i = 0; i < 299; i++)
        port_set_add(&here, port[i]);
    assert_int_equal(ports_draw(&p, TASK_KIND_NOTEBOOK, 0, &here), 0); /* 299 notebooks on one machine */
    ports_give_back(&p, port[5]);
    assert_int_equal(ports_draw(&p, TASK_KIND_NOTEBOOK, 0, &none), port[5][0]);
}

/* ---- in a cluster whose ports are gone but for two --------------------------------------------------------------- */

struct fixture {
    struct core *core;
    struct core_effects effects;
};

static void step_core(struct fixture *f, struct core_event ev)
{
    struct error err = ERROR_INIT;
    core_effects_release(&f->effects);
    ev.now_us = 1000000;
    if (core_step(f->core, &ev, &f->effects, &err) < 0)
        fail_msg("%s", error_msg(&err));
}

static void connect_agent(struct fixture *f, const char *id, const char *hostname)
{
    const struct core_device device[] = {{.id = 0, .brand = "b", .uuid = "u"}, {.id = 1, .brand = "b", .uuid = "v"}};
    step_core(f, (struct core_event){
                     .type = CORE_AGENT_CONNECTED,
                     .agent = {.agent_id = id, .device = device, .device_n = 2, .version = "1", .hostname = hostname}});
}

/* Starts a trial, and returns its rendezvous port. */
static int32_t start_trial(struct fixture *f, int slots)
{
    struct core_experiment_spec spec = {.owner_id = 7,
                                        .pool = "default",
                                        .slots_per_trial = slots,
                                        .priority = 42,
                                        .weight = 1,
                                        .max_slots = -1,
                                        .preemption_timeout_s = 10,
                                        .searcher = "{\"name\": \"single\"}",
                                        .hyperparameters = "{}"};
    step_core(f, (struct core_event){.type = CORE_EXPERIMENT_CREATE, .create = {.spec = &spec, .activate = true}});
    for (size_t i = 0; i < f->effects.n; i++)
        if (f->effects.item[i].type == CORE_START_CONTAINER)
            return f->effects.item[i].start.port[3];
    fail_msg("no trial starts");
    return 0;
}

static void test_when_ports_are_gone__only_those_of_the_same_machine_are_avoided(void **state)
{
    static int32_t reserved[32768 - 29402];
    static const struct core_pool_opts pool = {.name = "default", .max_aux_containers_per_agent = 100};
    for (int32_t i = 0; i < 32768 - 29402; i++)
        reserved[i] = 29402 + i;
    struct core_opts opts = {.pool = &pool,
                             .pool_n = 1,
                             .agent_reconnect_wait_us = CORE_AGENT_RECONNECT_WAIT_US,
                             .restore_wait_us = CORE_RESTORE_WAIT_US,
                             .seed = 1,
                             .reserved_port = reserved,
                             .reserved_port_n = sizeof(reserved) / sizeof(*reserved)};
    struct fixture f = {.core = core_new(&opts)};
    connect_agent(&f, "a1", "a");
    assert_int_equal(start_trial(&f, 1), 29400);
    assert_int_equal(start_trial(&f, 1), 29401);
    connect_agent(&f, "a2", "a"); /* a2 is on a1's machine, where no port below 32768 is left */
    assert_int_equal(start_trial(&f, 2), 32768);
    connect_agent(&f, "b", "b");
    assert_int_equal(start_trial(&f, 2), 29400);
    connect_agent(&f, "c", "c");
    connect_agent(&f, "d", "d");
    assert_int_equal(start_trial(&f, 4), 29400); /* the number is free on both machines */
    connect_agent(&f, "e", "");                  /* e's machine is not known, so it may be any of them */
    assert_int_equal(start_trial(&f, 2), 29400);
    connect_agent(&f, "g", "g");
    assert_int_equal(start_trial(&f, 2), 29401);
    core_effects_release(&f.effects);
    core_free(f.core);
}

/* Looking at each agent for every trial would take too long, so the trial gets numbers that nobody in the cluster
 * has. */
static void test_a_crowded_machine__gets_numbers_that_nobody_has(void **state)
{
    static int32_t reserved[32768 - 29400];
    static const struct core_pool_opts pool = {.name = "default", .max_aux_containers_per_agent = 100};
    for (int32_t i = 0; i < 32768 - 29400; i++)
        reserved[i] = 29400 + i;
    struct core_opts opts = {.pool = &pool,
                             .pool_n = 1,
                             .agent_reconnect_wait_us = CORE_AGENT_RECONNECT_WAIT_US,
                             .restore_wait_us = CORE_RESTORE_WAIT_US,
                             .seed = 1,
                             .reserved_port = reserved,
                             .reserved_port_n = sizeof(reserved) / sizeof(*reserved)};
    struct fixture f = {.core = core_new(&opts)};
    char id[16];
    for (int i = 0; i < 600; i++) {
        snprintf(id, sizeof(id), "a%d", i);
        connect_agent(&f, id, "one");
    }
    for (int i = 0; i < 600; i++)
        assert_int_equal(start_trial(&f, 2), 32768 + i);
    connect_agent(&f, "b", "other");
    assert_int_equal(start_trial(&f, 2), 32768);
    core_effects_release(&f.effects);
    core_free(f.core);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ports__are_the_lowest_that_nobody_has),
        cmocka_unit_test(test_a_services_port__is_drawn_from_the_range_of_its_kind),
        cmocka_unit_test(test_a_services_port__is_free_on_its_machine_when_the_clusters_are_gone),
        cmocka_unit_test(test_the_clusters_ports__end_where_the_systems_begin),
        cmocka_unit_test(test_a_port_of_several_trials__is_free_when_the_last_has_ended),
        cmocka_unit_test(test_when_ports_are_gone__only_those_of_the_same_machine_are_avoided),
        cmocka_unit_test(test_a_crowded_machine__gets_numbers_that_nobody_has),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
