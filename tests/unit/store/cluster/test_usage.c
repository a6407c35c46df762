/* Who has used how many slots for how long: sums by day, what runs, what was idle. */
#include "store/fixture.h"

#define HOUR_US INT64_C(3600000000)
#define DAY0 (T0 - T0 % DAY_US)

struct used {
    const char *task;
    int32_t slots, owner_id;
    int64_t start_us, end_us; /* end_us 0: it still runs */
    enum exit_kind exit_kind;
    const char *agent;
};

/* Stores a task of its own, its allocation and its container, as the core does. */
static void use(struct fixture *f, const struct used *u)
{
    struct task_row task = {.kind = TASK_KIND_COMMAND, .owner_id = u->owner_id, .start_us = u->start_us};
    struct allocation_row a = {.slots = u->slots, .run_id = 1, .state = ALLOCATION_RUNNING, .request_us = u->start_us};
    struct container_row k = {.state = CONTAINER_RUNNING, .device_n = u->slots};
    snprintf(task.id, sizeof(task.id), "%s", u->task);
    snprintf(task.job_id, sizeof(task.job_id), "job-%s", u->task);
    snprintf(a.id, sizeof(a.id), "%s.1", u->task);
    snprintf(a.task_id, sizeof(a.task_id), "%s", u->task);
    snprintf(a.pool, sizeof(a.pool), "default");
    snprintf(k.id, sizeof(k.id), "c-%s", u->task);
    snprintf(k.allocation_id, sizeof(k.allocation_id), "%s", a.id);
    snprintf(k.agent_id, sizeof(k.agent_id), "%s", u->agent);
    for (int32_t i = 0; i < u->slots; i++)
        k.device_id[i] = i;
    OK(f, store_task_put(f->st, &task, true, &f->err));
    OK(f, store_allocation_put(f->st, &a, true, &f->err));
    OK(f, store_container_put(f->st, &k, true, &f->err));
    a.start_us = u->start_us;
    OK(f, store_allocation_put(f->st, &a, false, &f->err));
    if (!u->end_us)
        return;
    a.state = ALLOCATION_TERMINATED;
    a.end_us = u->end_us;
    a.exit_kind = u->exit_kind;
    OK(f, store_allocation_put(f->st, &a, false, &f->err));
}

static void use_all(struct fixture *f)
{
    static const struct used all[] = {
        {"a", 2, 1, DAY0 + 22 * HOUR_US, DAY0 + 26 * HOUR_US, EXIT_OK, "west"},
        {"b", 1, 2, DAY0 + 25 * HOUR_US, DAY0 + 26 * HOUR_US, EXIT_FAILED, "west"},
        {"c", 4, 2, DAY0 + 30 * HOUR_US, 0, EXIT_NONE, "east"},
    };
    OK(f, store_begin(f->st, &f->err));
    fixture_user(f, 1, "admin");
    fixture_user(f, 2, "determined");
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
        use(f, &all[i]);
    OK(f, store_commit(f->st, &f->err));
}

static int64_t sum_of(struct fixture *f, const char *by, const char *key, int64_t from_us, int64_t to_us, bool failed)
{
    struct store_usage_sum *sum;
    size_t n;
    int64_t now_us = DAY0 + 31 * HOUR_US, all = 0;
    if (strcmp(by, "agent") == 0)
        OK(f, store_usage_sums_by_agent(f->st, from_us, to_us, now_us, &f->a, &sum, &n, &f->err));
    else
        OK(f, store_usage_sums(f->st, by, from_us, to_us, now_us, &f->a, &sum, &n, &f->err));
    for (size_t i = 0; i < n; i++)
        if (strcmp(sum[i].key, key) == 0)
            all += failed ? sum[i].failed_us : sum[i].used_us;
    return all;
}

static void test_usage__is_cut_at_the_ends_of_a_day(void **state)
{
    struct fixture *f = *state;
    use_all(f);
    assert_int_equal(sum_of(f, "total", "total", DAY0, DAY0 + DAY_US, false), 2 * 2 * HOUR_US);
    assert_int_equal(sum_of(f, "total", "total", DAY0 + DAY_US, DAY0 + 2 * DAY_US, false), (2 * 2 + 1 + 4) * HOUR_US);
    assert_int_equal(sum_of(f, "total", "total", DAY0 - DAY_US, DAY0, false), 0);
}

static void test_usage__has_the_same_sum_by_everything(void **state)
{
    struct fixture *f = *state;
    int64_t to = DAY0 + 2 * DAY_US, all;
    use_all(f);
    all = sum_of(f, "total", "total", DAY0, to, false);
    assert_int_equal(sum_of(f, "username", "admin", DAY0, to, false) +
                         sum_of(f, "username", "determined", DAY0, to, false),
                     all);
    assert_int_equal(sum_of(f, "agent", "west", DAY0, to, false), 9 * HOUR_US);
    assert_int_equal(sum_of(f, "agent", "east", DAY0, to, false), all - 9 * HOUR_US);
    assert_int_equal(sum_of(f, "task_type", "COMMAND", DAY0, to, false), all);
    assert_int_equal(sum_of(f, "total", "total", DAY0, to, true), HOUR_US);
}

static void test_usage__pages_have_each_row_once(void **state)
{
    struct fixture *f = *state;
    struct store_usage *page;
    size_t n;
    int64_t after_us = 0;
    const char *after_id = "", *seen[4];
    use_all(f);
    OK(f, store_usage_seen(f->st, "west", "default", 2, DAY0 + 23 * HOUR_US, 0, &f->err));
    OK(f, store_usage_seen(f->st, "west", "default", 2, DAY0 + 24 * HOUR_US, 0, &f->err));
    for (size_t i = 0; i < 4; i++) {
        OK(f, store_usage_page(f->st, DAY0, DAY0 + 2 * DAY_US, after_us, after_id, 1, 1, &f->a, &page, &n, &f->err));
        assert_int_equal(n, 1);
        seen[i] = after_id = page->allocation_id;
        after_us = page->start_us;
    }
    assert_string_equal(seen[0], "a.1");
    assert_string_equal(seen[1], "west");
    assert_string_equal(seen[2], "b.1");
    assert_string_equal(seen[3], "c.1");
    OK(f, store_usage_page(f->st, DAY0, DAY0 + 2 * DAY_US, after_us, after_id, 1, 1, &f->a, &page, &n, &f->err));
    assert_int_equal(n, 0);
}

static int64_t capacity(struct fixture *f)
{
    struct store_usage_sum *sum;
    size_t n;
    OK(f, store_usage_capacity(f->st, DAY0, DAY0 + DAY_US, &f->a, &sum, &n, &f->err));
    return n ? sum[0].used_us : 0;
}

static void test_usage__an_agent_was_not_there_between_two_notes_that_are_far_apart(void **state)
{
    struct fixture *f = *state;
    const int64_t gap = HOUR_US;
    int64_t at[] = {0, HOUR_US, 2 * HOUR_US, 9 * HOUR_US, 10 * HOUR_US};
    for (size_t i = 0; i < sizeof(at) / sizeof(*at); i++)
        OK(f, store_usage_seen(f->st, "west", "default", 2, DAY0 + at[i], DAY0 + at[i] - gap, &f->err));
    assert_int_equal(capacity(f), 2 * 3 * HOUR_US);
    OK(f, store_usage_seen(f->st, "west", "default", 4, DAY0 + 11 * HOUR_US, DAY0 + 10 * HOUR_US, &f->err));
    OK(f, store_usage_seen(f->st, "west", "default", 4, DAY0 + 12 * HOUR_US, DAY0 + 11 * HOUR_US, &f->err));
    assert_int_equal(capacity(f), (2 * 3 + 4) * HOUR_US);
}

static void test_usage__stays_when_the_task_is_deleted(void **state)
{
    struct fixture *f = *state;
    use_all(f);
    store_close(f->st);
    f->st = NULL;
    fixture_exec(f, "DELETE FROM tasks");
    fixture_open(f);
    assert_int_equal(sum_of(f, "total", "total", DAY0, DAY0 + 2 * DAY_US, false), 9 * HOUR_US);
}

static void test_usage__of_earlier_versions_is_taken_over(void **state)
{
    struct fixture *f = *state;
    char sql[1024];
    fixture_older(f, "usage");
    fixture_exec(f, "INSERT INTO tasks (id, type, job_id, start_us, owner_id) VALUES ('old', 'COMMAND', 'j', 1, 1)");
    snprintf(
        sql, sizeof(sql),
        "INSERT INTO allocations (id, task_id, pool, trial_id, run_id, slots, state, ready, request_us, start_us, end_us, preempt_acked,"
        " preempt_pending, killed, ports, exit_kind, exit_code) VALUES ('old.1', 'old', 'default', 0, 1, 3, 'TERMINATED', 1, %lld, %lld,"
        " %lld, 0, 0, 0, '[]', 'OK', 0)",
        (long long)DAY0, (long long)DAY0, (long long)(DAY0 + HOUR_US));
    fixture_exec(f, sql);
    fixture_open(f);
    assert_int_equal(sum_of(f, "total", "total", DAY0, DAY0 + DAY_US, false), 3 * HOUR_US);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_usage__is_cut_at_the_ends_of_a_day),
        TEST(test_usage__has_the_same_sum_by_everything),
        TEST(test_usage__pages_have_each_row_once),
        TEST(test_usage__an_agent_was_not_there_between_two_notes_that_are_far_apart),
        TEST(test_usage__stays_when_the_task_is_deleted),
        TEST(test_usage__of_earlier_versions_is_taken_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
