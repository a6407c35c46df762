#include "cmocka_setup.h"

#include <string.h>

#include "common/config/address_range.h"

static struct address parse_address(const char *text)
{
    struct address a;
    assert_int_equal(address_parse(text, strlen(text), &a), 0);
    return a;
}

static void assert_same_address(const char *text, const char *expected)
{
    char ret[ADDRESS_TEXT_MAX];
    struct address a = parse_address(text);
    address_text(&a, ret);
    assert_string_equal(ret, expected);
}

static void test_address__is_read_with_and_without_a_port(void **state)
{
    assert_same_address("192.0.2.1", "192.0.2.1");
    assert_same_address("192.0.2.1:443", "192.0.2.1");
    assert_same_address("::ffff:192.0.2.1", "192.0.2.1");
    assert_same_address("[2001:db8::1]:443", "2001:db8::1");
    assert_same_address("2001:db8::1", "2001:db8::1");
    const char *const wrong[] = {"",
                                 "unknown",
                                 "192.0.2",
                                 "[::1",
                                 "_hidden",
                                 "192.0.2.1, 192.0.2.2",
                                 "1111:2222:3333:4444:5555:6666:7777:8888:9999:aaaa:bbbb:cccc"};
    struct address a;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_int_equal(address_parse(wrong[i], strlen(wrong[i]), &a), -1);
}

static void test_network__is_the_upper_half_of_ipv6_and_all_of_ipv4(void **state)
{
    struct address a = parse_address("2001:db8:1:2:3:4:5:6"), b = parse_address("2001:db8:1:2::9"),
                   c = parse_address("2001:db8:1:3::9");
    struct address v4 = parse_address("192.0.2.1"), n;
    address_network(&a, &a);
    address_network(&b, &b);
    address_network(&c, &c);
    address_network(&v4, &n);
    assert_memory_equal(&a, &b, sizeof(a));
    assert_memory_not_equal(&a, &c, sizeof(a));
    assert_memory_equal(&n, &v4, sizeof(n));
}

static bool range_holds(const char *range, const char *address)
{
    struct address_range r;
    struct address a = parse_address(address);
    assert_int_equal(address_range_parse(range, &r, NULL), 0);
    return address_range_holds(&r, &a);
}

static void test_range__holds_its_addresses(void **state)
{
    assert_true(range_holds("10.0.0.0/8", "10.200.3.4"));
    assert_false(range_holds("10.0.0.0/8", "11.0.0.1"));
    assert_true(range_holds("192.0.2.128/25", "192.0.2.129"));
    assert_false(range_holds("192.0.2.128/25", "192.0.2.127"));
    assert_true(range_holds("192.0.2.1", "::ffff:192.0.2.1"));
    assert_false(range_holds("192.0.2.1", "192.0.2.2"));
    assert_true(range_holds("fd00::/8", "fdff::1"));
    assert_false(range_holds("fd00::/8", "fe00::1"));
    assert_true(range_holds("0.0.0.0/0", "192.0.2.2"));
    assert_false(range_holds("0.0.0.0/0", "fd00::1"));
    assert_true(range_holds("::1", "::1"));
}

static void test_range__says_what_is_wrong(void **state)
{
    const char *const wrong[] = {"",       "ten",    "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/8x", "10.0.0.0/-1",
                                 "::/129", "a proxy"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct address_range r;
        cleanup_error struct error err = ERROR_INIT;
        assert_int_equal(address_range_parse(wrong[i], &r, &err), -1);
        assert_int_equal(err.kind, ERR_INVALID);
        assert_non_null(strstr(error_msg(&err), wrong[i]));
    }
}

static void test_address__of_this_machine(void **state)
{
    static const char *const here[] = {"127.0.0.1", "127.255.0.9", "::1", "::ffff:127.0.0.1"};
    static const char *const elsewhere[] = {"128.0.0.1", "10.0.0.1", "::2", "::", "fe80::1"};
    for (size_t i = 0; i < sizeof(here) / sizeof(here[0]); i++) {
        struct address a = parse_address(here[i]);
        assert_true(address_is_loopback(&a));
    }
    for (size_t i = 0; i < sizeof(elsewhere) / sizeof(elsewhere[0]); i++) {
        struct address a = parse_address(elsewhere[i]);
        assert_false(address_is_loopback(&a));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_address__of_this_machine),
        cmocka_unit_test(test_address__is_read_with_and_without_a_port),
        cmocka_unit_test(test_network__is_the_upper_half_of_ipv6_and_all_of_ipv4),
        cmocka_unit_test(test_range__holds_its_addresses),
        cmocka_unit_test(test_range__says_what_is_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
