#include "cmocka_setup.h"

#include "common/base/rng.h"
#include "core/state/timers.h"

static void test_timers__fire_in_order_and_not_too_early(void **state)
{
    struct timers ts = {0};
    struct timer t[200] = {0};
    struct rng rng;
    rng_init(&rng, 7);
    for (int i = 0; i < 200; i++)
        timer_set(&ts, &t[i], TIMER_KILL_AGAIN, 1 + (int64_t)rng_int(&rng, 50));
    for (int i = 0; i < 200; i += 3)
        timer_clear(&ts, &t[i]);
    for (int i = 1; i < 200; i += 3)
        /* this moves timers that are set already */
        timer_set(&ts, &t[i], TIMER_KILL_AGAIN, 1 + (int64_t)rng_int(&rng, 50));

    int fired = 0;
    const struct timer *previous = NULL, *next;
    for (int64_t now = 0; now <= 50; now++) {
        while ((next = timers_take_due(&ts, now))) {
            assert_true(next->due_us == now && next->place == 0);
            if (previous && previous->due_us == next->due_us)
                assert_true(previous->order < next->order);
            previous = next;
            fired++;
        }
        assert_true(timers_next_us(&ts) == 0 || timers_next_us(&ts) > now);
    }
    assert_int_equal(fired, 200 - 67);
    timers_release(&ts);
}

static void test_timers__wait_as_long_as_before_when_the_clock_is_set(void **state)
{
    struct timers ts = {0};
    struct timer late = {0}, early = {0};
    timer_set(&ts, &late, TIMER_KILL_AGAIN, 90);
    timer_set(&ts, &early, TIMER_AGENT_LOST, 10);
    timers_shift(&ts, 1000);
    assert_null(timers_take_due(&ts, 1009));
    assert_ptr_equal(timers_take_due(&ts, 1010), &early);
    timers_shift(&ts, -1000);
    assert_int_equal(timers_next_us(&ts), 90);
    timers_release(&ts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_timers__fire_in_order_and_not_too_early),
        cmocka_unit_test(test_timers__wait_as_long_as_before_when_the_clock_is_set),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
