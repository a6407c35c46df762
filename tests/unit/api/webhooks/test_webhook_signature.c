#include "cmocka_setup.h"

#include "api/webhooks/webhook_signature.h"

/* The vectors were taken from release 0.38.1. */
static void test_signature__is_hmac_of_time_and_body(void **state)
{
    static const struct {
        const char *key, *body, *signature;
        int64_t timestamp_s;
    } vector[] = {
        {"0123456789ab", "{\"event_id\":\"x\"}", "fe622f099be7c02d58ca1c629ed997d8e881701236a3ba43c249190aad8a145a",
         1700000000},
        {"secret", "", "49db710cd699a33db55eb4de449d25ddf8f1873cf9c0483d32ef60913d8919a1", 0},
        {"k\xc3\xa9y", "{\"a\":\"\xe2\x9c\x85\"}", "c1ca7674bff98639bd62428cde9cf739d67439a3ce1f4a11f001e500e88225ad",
         1690000001},
    };
    for (size_t i = 0; i < sizeof(vector) / sizeof(vector[0]); i++) {
        char got[WEBHOOK_SIGNATURE_MAX] = "";
        webhook_sign(vector[i].key, vector[i].timestamp_s, vector[i].body, got);
        assert_string_equal(got, vector[i].signature);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_signature__is_hmac_of_time_and_body)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
