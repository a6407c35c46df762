/* The same on every platform: numbers that were made once, and never are to change. */
#include "cmocka_setup.h"

#include <math.h>

#include "core/searcher/power.h"
#include "core/searcher/searcher.h"

#define SPACE \
    "{\"lr\": {\"type\": \"log\", \"base\": 10, \"minval\": -4, \"maxval\": -1}, " \
    "\"n\": {\"type\": \"int\", \"minval\": 1, \"maxval\": 9}}"

/* The numbers are hexadecimal, so that reading them cannot change them. */
static void test_power__gives_the_same_bits_everywhere(void **state)
{
    static const struct {
        double base, y, result;
    } rows[] = {
        {10, -3.5, 0x1.4b96be9c2da2cp-12},    {10, -1.2345, 0x1.dd6884cbe4dcap-5},
        {2, 0.5, 0x1.6a09e667f3bccp+0},       {1.0001, 5000.25, 0x1.a61298e4d3606p+0},
        {0.5, 1074, 0x0.0000000000001p-1022}, {10, 308, 0x1.1ccf385ebc8a3p+1023},
        {3, 40, 0x1.517168a4523fdp+63},       {1.5, -700.7, 0x1.159543c3d07f5p-410},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        double found = power(rows[i].base, rows[i].y);
        if (found != rows[i].result)
            fail_msg("%g ^ %g is %a, not %a", rows[i].base, rows[i].y, found, rows[i].result);
    }
    assert_true(natural_log(1000) / natural_log(10) < 3);
    assert_true(power(10, 400) == HUGE_VAL && power(0.1, 1e30) == 0 && power(1, 1e30) == 1);
}

/* Compares the trials with which a search begins: UUID, seed and hyperparameters of each. */
static void expect_trials(const char *searcher, const char *space, uint32_t seed, const char *expected)
{
    struct searcher *s;
    cleanup_error struct error err = ERROR_INIT;
    cleanup_strbuf struct strbuf found = STRBUF_INIT;
    struct searcher_actions a = SEARCHER_ACTIONS_INIT;
    if (searcher_new(searcher, space, seed, &s, &err) < 0)
        fail_msg("%s: %s", searcher, error_msg(&err));
    assert_true(searcher_step(s, &(struct searcher_event){.type = SEARCHER_STARTED}, &a, NULL) >= 0);
    for (size_t i = 0; i < a.n; i++)
        strbuf_addf(&found, "%s %u %s\n", a.item[i].request_id, a.item[i].trial_seed, a.item[i].hparams);
    assert_string_equal(found.s, expected);
    searcher_actions_release(&a);
    searcher_free(s);
}

static void test_seed__gives_the_same_trials_everywhere(void **state)
{
    expect_trials("{\"name\": \"random\", \"max_trials\": 3}", SPACE, 42,
                  "bcae4199-142c-4b98-a6d6-f02779182272 669991378 {\"lr\":0.0013292918943162153,\"n\":8}\n"
                  "74ed6d55-63ac-4299-a7eb-9224973e44b5 648061058 {\"lr\":0.00019949166150633936,\"n\":8}\n"
                  "57e9d4b8-ebf5-4ad5-9dfd-44f025db5b36 3344769 {\"lr\":0.00011527987128232398,\"n\":2}\n");
}

/* All kinds of hyperparameters, also nested ones. */
static const char every_kind[] =
    "{\"i\": {\"type\": \"int\", \"minval\": -5, \"maxval\": 1000000}, \"d\": {\"type\": \"double\", \"minval\": -1, \"maxval\": 1}, "
    "\"l\": {\"type\": \"log\", \"base\": 2, \"minval\": -8, \"maxval\": 8}, \"fixed\": {\"type\": \"const\", \"val\": \"x\"}, "
    "\"net\": {\"kind\": {\"type\": \"categorical\", \"vals\": [\"mlp\", 3, null, {\"a\": 1}]}, "
    "\"deep\": {\"n\": {\"type\": \"int\", \"minval\": 1, \"maxval\": 8}}}}";

static void test_seed__gives_every_kind_of_hyperparameter_everywhere(void **state)
{
    expect_trials(
        "{\"name\": \"random\", \"max_trials\": 4}", every_kind, 20260101,
        "73c76e6e-1c56-4921-8f52-2c51e1e1d290 411148021 "
        "{\"d\":0.3672642927062033,\"fixed\":\"x\",\"i\":429676,\"l\":0.37006684640030446,\"net\":{\"deep\":{\"n\":5},\"kind\":null}}\n"
        "329a96ce-e230-4135-a9fb-4c42d3cf09e9 868235163 "
        "{\"d\":-0.660996566922748,\"fixed\":\"x\",\"i\":760946,\"l\":4.972524874974437,\"net\":{\"deep\":{\"n\":4},\"kind\":\"mlp\"}}\n"
        "0f5ccf66-70b1-4a80-b858-ff2918f4467f 215551200 "
        "{\"d\":0.456425073109038,\"fixed\":\"x\",\"i\":725132,\"l\":210.0969511005945,\"net\":{\"deep\":{\"n\":1},\"kind\":3}}\n"
        "a5b2265d-c69f-454c-a8ed-34e3dbd412e5 962082202 "
        "{\"d\":-0.5414317329926821,\"fixed\":\"x\",\"i\":26541,\"l\":0.02477253381991329,\"net\":{\"deep\":{\"n\":4},\"kind\":{\"a\":1}}}\n");
}

static void test_seed__gives_the_trials_of_every_searcher_everywhere(void **state)
{
    static const struct {
        const char *searcher, *trials;
    } rows[] = {
        {"{\"name\": \"single\"}",
         "eec00d69-6e00-4e40-8cc0-2851e2269e3d 1852753779 {\"lr\":0.011243368350221458,\"n\":2}\n"},
        {"{\"name\": \"async_halving\", \"max_time\": 9, \"time_metric\": \"t\", \"num_rungs\": 2, \"max_trials\": 9, "
         "\"divisor\": 3, \"max_concurrent_trials\": 2}",
         "eec00d69-6e00-4e40-8cc0-2851e2269e3d 1852753779 {\"lr\":0.011243368350221458,\"n\":2}\n"
         "f59e8198-e376-442b-83af-3149779c0be5 621153896 {\"lr\":0.0002463432425573791,\"n\":2}\n"},
        {"{\"name\": \"adaptive_asha\", \"metric\": \"loss\", \"max_trials\": 6, \"max_time\": 9, \"time_metric\": \"t\", "
         "\"mode\": \"conservative\", \"divisor\": 3, \"max_concurrent_trials\": 4}",
         "eec00d69-6e00-4e40-8cc0-2851e2269e3d 1852753779 {\"lr\":0.011243368350221458,\"n\":2}\n"
         "f59e8198-e376-442b-83af-3149779c0be5 621153896 {\"lr\":0.0002463432425573791,\"n\":2}\n"
         "329a96ce-e230-4135-a9fb-4c42d3cf09e9 868235163 {\"lr\":0.0007740784898578283,\"n\":1}\n"
         "ed4670fb-6cf3-4f9f-8007-4b1805a046e6 1724865551 {\"lr\":0.01529810402234372,\"n\":2}\n"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        expect_trials(rows[i].searcher, SPACE, 20260101, rows[i].trials);
    expect_trials("{\"name\": \"grid\", \"max_concurrent_trials\": 3}",
                  "{\"lr\": {\"type\": \"log\", \"base\": 10, \"minval\": -4, \"maxval\": -1, \"count\": 2}, "
                  "\"n\": {\"type\": \"int\", \"minval\": 1, \"maxval\": 9, \"count\": 3}}",
                  20260101,
                  "3a8402af-8698-4578-bbd9-cf5e718e1621 1762509038 {\"lr\":0.1,\"n\":9}\n"
                  "6e00ae40-0cc0-4851-a226-9e3d73c76e6e 560551452 {\"lr\":0.1,\"n\":5}\n"
                  "4f522c51-e1e1-4290-b59e-8198e376642b 1227993027 {\"lr\":0.1,\"n\":1}\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_power__gives_the_same_bits_everywhere),
        cmocka_unit_test(test_seed__gives_the_same_trials_everywhere),
        cmocka_unit_test(test_seed__gives_every_kind_of_hyperparameter_everywhere),
        cmocka_unit_test(test_seed__gives_the_trials_of_every_searcher_everywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
