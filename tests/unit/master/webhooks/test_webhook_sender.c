#include "cmocka_setup.h"

#include "master/webhooks/webhook_sender.h"

static void test_pause__grows_to_ten_minutes_with_jitter(void **state)
{
    static const int64_t pause_s[] = {1, 4, 16, 64, 256, 600, 600, 600};
    for (int32_t tries = 0; tries < (int32_t)(sizeof(pause_s) / sizeof(pause_s[0])); tries++) {
        assert_int_equal(webhook_pause_us(tries, 0), pause_s[tries] * 500000);
        assert_in_range(webhook_pause_us(tries, UINT32_MAX), pause_s[tries] * 500000, pause_s[tries] * 1500000);
        assert_true(webhook_pause_us(tries, 999) > webhook_pause_us(tries, 1));
    }
    assert_int_equal(webhook_pause_us(INT32_MAX, 0), 300000000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_pause__grows_to_ten_minutes_with_jitter)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
