#include "cmocka_setup.h"

#include "common/config/schema.h"

static void test_duration__reads_what_go_writes(void **state)
{
    static const struct {
        const char *text;
        int64_t ns;
    } good[] = {
        {"20m", 1200000000000},
        {"1h30m", 5400000000000},
        {"1.5s", 1500000000},
        {"-2ms", -2000000},
        {"3us", 3000},
        {"3\xc2\xb5s", 3000},
        {"100ns", 100},
        {"0", 0},
        {"+1h", 3600000000000},
        {".5s", 500000000},
        {"1h1m1.001s", 3661001000000},
        {"2400h", 8640000000000000},
    };
    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
        int64_t ns = -1;
        if (duration_parse(good[i].text, &ns) < 0 || ns != good[i].ns)
            fail_msg("%s is %lld", good[i].text, (long long)ns);
    }
    static const char *const bad[] = {"",     "-",     "5",    "m",   "1x",          "1m5", "1 m",
                                      "1e3s", "1..5s", "--1s", "nan", "9999999999h", "0x1s"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        int64_t ns;
        if (duration_parse(bad[i], &ns) == 0)
            fail_msg("accepted: %s", bad[i]);
    }
}

static void test_duration__prints_as_go_does(void **state)
{
    static const struct {
        int64_t ns;
        const char *text;
    } cases[] = {
        {0, "0s"}, {1200000000000, "20m0s"}, {5400000000000, "1h30m0s"}, {1500000000, "1.5s"}, {-1000000000, "-1s"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        cleanup_strbuf struct strbuf out = STRBUF_INIT;
        duration_format(cases[i].ns, &out);
        assert_string_equal(strbuf_str(&out), cases[i].text);
    }
}

static void test_size__has_binary_units(void **state)
{
    static const struct {
        const char *text;
        int64_t bytes;
    } good[] = {{"0", 0},
                {"512", 512},
                {"512b", 512},
                {"1k", 1024},
                {"512m", 536870912},
                {"1.5 GiB", 1610612736},
                {"2GB", 2147483648},
                {"1 tib", 1099511627776},
                {"1P", 1125899906842624}};
    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
        int64_t bytes = -1;
        if (size_parse(good[i].text, &bytes) < 0 || bytes != good[i].bytes)
            fail_msg("%s is %lld", good[i].text, (long long)bytes);
    }
    static const char *const bad[] = {"", "m", "-1", "1x", "1 mib x", "1ib", "1e3", "99999p"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        int64_t bytes;
        if (size_parse(bad[i], &bytes) == 0)
            fail_msg("accepted: %s", bad[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_duration__reads_what_go_writes),
        cmocka_unit_test(test_duration__prints_as_go_does),
        cmocka_unit_test(test_size__has_binary_units),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
