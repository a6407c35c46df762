#include "cmocka_setup.h"

#include <string.h>

#include "common/config/public_address.h"

static bool is_public(const char *text)
{
    struct address a;
    assert_int_equal(address_parse(text, strlen(text), &a), 0);
    return address_is_public(&a);
}

static void test_public__is_what_the_internet_routes(void **state)
{
    static const char *const yes[] = {"1.1.1.1",        "8.8.8.8",          "100.63.255.255",  "100.128.0.0",
                                      "172.15.0.1",     "172.32.0.1",       "192.167.1.1",     "223.255.255.255",
                                      "::ffff:8.8.8.8", "64:ff9b::808:808", "2002:808:808::1", "2606:4700::1111",
                                      "2a00:1450::1"};
    for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++)
        assert_true(is_public(yes[i]));
}

static void test_public__is_nothing_inside_in_whatever_spelling(void **state)
{
    static const char *const no[] = {"0.0.0.0",
                                     "0.1.2.3",
                                     "10.0.0.1",
                                     "100.64.0.1",
                                     "127.0.0.1",
                                     "127.255.255.254",
                                     "169.254.169.254",
                                     "172.16.0.1",
                                     "172.31.255.255",
                                     "192.168.0.1",
                                     "192.0.2.1",
                                     "198.18.0.1",
                                     "203.0.113.9",
                                     "224.0.0.1",
                                     "239.1.1.1",
                                     "255.255.255.255",
                                     "::",
                                     "::1",
                                     "::ffff:127.0.0.1",
                                     "::ffff:10.0.0.1",
                                     "::127.0.0.1",
                                     "::ffff:0.0.0.0",
                                     "fe80::1",
                                     "febf::1",
                                     "fec0::1",
                                     "fc00::1",
                                     "fdff::1",
                                     "ff02::1",
                                     "2001:db8::1",
                                     "2001:0:1::",
                                     "64:ff9b::7f00:1",
                                     "64:ff9b::a00:1",
                                     "64:ff9b:1::808:808",
                                     "2002:7f00:1::",
                                     "2002:a00:1::",
                                     "2002:c0a8:1::5"};
    for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++)
        assert_false(is_public(no[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_public__is_what_the_internet_routes),
        cmocka_unit_test(test_public__is_nothing_inside_in_whatever_spelling),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
