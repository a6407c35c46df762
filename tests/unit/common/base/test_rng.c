#include "cmocka_setup.h"

#include <string.h>

#include "common/base/rng.h"

/* The reference numbers come from numpy 1.x: RandomState(seed).randint / random_sample / bytes. */
static void test_rng__draws_the_published_sequence_of_seed_5489(void **state)
{
    struct rng r;
    rng_init(&r, 5489);
    assert_true(rng_bits32(&r) == 3499211612u);
    assert_true(rng_bits32(&r) == 581869302u);
    for (int i = 2; i < 9999; i++)
        rng_bits32(&r);
    assert_true(rng_bits32(&r) == 4123659995u); /* the 10,000th: C++ [rand.predef] */
}

static void test_rng__unit_is_numpys_random_sample(void **state)
{
    struct rng r;
    rng_init(&r, 42);
    assert_true(rng_unit(&r) == 0.3745401188473625);
    assert_true(rng_unit(&r) == 0.9507143064099162);
    rng_init(&r, 0);
    assert_true(rng_uniform(&r, -1, 3) == -1 + 4 * 0.5488135039273248);
}

static void test_rng__bytes_are_little_endian_and_drop_the_rest_of_a_draw(void **state)
{
    struct rng a, b;
    rng_init(&a, 7);
    rng_init(&b, 7);
    unsigned char got[6], expected[8];
    uint32_t first = rng_bits32(&b), second = rng_bits32(&b);
    memcpy(expected, &first, 4);
    memcpy(expected + 4, &second, 4);
    rng_bytes(&a, got, sizeof(got));
    assert_memory_equal(got, expected, sizeof(got));
    assert_true(rng_bits32(&a) == rng_bits32(&b));
}

static void test_rng__limit_is_reached_never_passed_and_free_for_zero(void **state)
{
    struct rng r, untouched;
    rng_init(&r, 1);
    untouched = r;
    assert_true(rng_limit(&r, 0) == 0);
    assert_memory_equal(&r, &untouched, sizeof(r));
    int seen[6] = {0};
    for (int i = 0; i < 1000; i++)
        seen[rng_limit(&r, 5)]++;
    for (int i = 0; i < 6; i++)
        assert_true(seen[i] > 100);
    for (int i = 0; i < 100; i++)
        assert_true(rng_int(&r, 1) == 0);
    for (int i = 0; i < 1000; i++)
        assert_true(rng_limit(&r, UINT64_C(1) << 40) <= UINT64_C(1) << 40);
}

static void test_rng__takes_64_bits_only_beyond_32(void **state)
{
    struct rng a, b;
    rng_init(&a, 3);
    rng_init(&b, 3);
    assert_true(rng_limit(&a, UINT32_MAX) == rng_bits32(&b));
    assert_true(rng_limit(&a, UINT64_MAX) == rng_bits64(&b));
    assert_memory_equal(&a, &b, sizeof(a));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rng__draws_the_published_sequence_of_seed_5489),
        cmocka_unit_test(test_rng__unit_is_numpys_random_sample),
        cmocka_unit_test(test_rng__bytes_are_little_endian_and_drop_the_rest_of_a_draw),
        cmocka_unit_test(test_rng__limit_is_reached_never_passed_and_free_for_zero),
        cmocka_unit_test(test_rng__takes_64_bits_only_beyond_32),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
