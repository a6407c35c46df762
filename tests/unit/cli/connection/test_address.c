#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "cli/connection/address.h"

static void expect_address(const char *text, const char *want)
{
    cleanup_arena struct arena a = ARENA_INIT;
    cleanup_error struct error err = ERROR_INIT;
    const char *got = NULL;
    if (want) {
        assert_int_equal(address_canonical(text, &a, &got, &err), 0);
        assert_string_equal(got, want);
    } else if (address_canonical(text, &a, &got, &err) == 0) {
        fail_msg("%s is accepted as %s", text, got);
    }
}

static void test_address__fills_in_scheme_and_port(void **state)
{
    expect_address("master", "http://master:8080");
    expect_address("master:80", "http://master:80");
    expect_address("http://master", "http://master:80");
    expect_address("https://master", "https://master:443");
    expect_address("https://Master.Example:8443/det/", "https://master.example:8443/det");
    expect_address("[::1]:9000", "http://[::1]:9000");
    expect_address("[::1]", "http://[::1]:8080");
}

static void test_address__refuses_what_is_no_address(void **state)
{
    static const char *const bad[] = {"",       "http://",   "user@host",  "http://u:p@host", "host?x=1",
                                      "host#f", "host:port", "host:99999", "ftp://host"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        expect_address(bad[i], NULL);
}

static void test_address__prefers_option_then_environment(void **state)
{
    setenv("DET_MASTER_ADDR", "c", 1);
    const char *source;
    assert_string_equal(address_choose(NULL, &source), "c");
    assert_string_equal(source, "DET_MASTER_ADDR");
    setenv("DET_MASTER", "b", 1);
    assert_string_equal(address_choose(NULL, &source), "b");
    assert_string_equal(source, "DET_MASTER");
    assert_string_equal(address_choose("a", &source), "a");
    assert_string_equal(source, "-m");
    unsetenv("DET_MASTER");
    unsetenv("DET_MASTER_ADDR");
    assert_string_equal(address_choose(NULL, &source), "localhost:8080");
    assert_string_equal(source, "the default");
}

static void forget_proxies(void)
{
    static const char *const names[] = {"http_proxy", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        unsetenv(names[i]);
}

static void test_address__is_private_with_tls_and_on_this_machine(void **state)
{
    static const char *const private[] = {"https://master.example:443", "http://localhost:8080/det",
                                          "http://127.0.0.1:80", "http://127.1.2.3:80", "http://[::1]:8080"};
    static const char *const others[] = {"http://master.example:8080", "http://10.0.0.1:80",
                                         "http://localhost.example:80", "http://[2001:db8::1]:80",
                                         "http://127.0.0.1.example:80"};
    cleanup_arena struct arena a = ARENA_INIT;
    forget_proxies();
    for (size_t i = 0; i < sizeof(private) / sizeof(private[0]); i++)
        assert_true(address_is_private(private[i], &a));
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        assert_false(address_is_private(others[i], &a));
}

static void test_address__is_not_private_through_a_proxy(void **state)
{
    cleanup_arena struct arena a = ARENA_INIT;
    forget_proxies();
    setenv("http_proxy", "http://proxy.example:3128", 1);
    assert_false(address_is_private("http://localhost:8080", &a));
    assert_false(address_is_private("http://[::1]:8080", &a));
    assert_true(address_is_private("https://localhost:8080", &a));
    setenv("no_proxy", "localhost,::1", 1);
    assert_true(address_is_private("http://localhost:8080", &a));
    assert_true(address_is_private("http://[::1]:8080", &a));
    assert_false(address_is_private("http://127.0.0.1:8080", &a));
    forget_proxies();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_address__fills_in_scheme_and_port),
        cmocka_unit_test(test_address__refuses_what_is_no_address),
        cmocka_unit_test(test_address__prefers_option_then_environment),
        cmocka_unit_test(test_address__is_private_with_tls_and_on_this_machine),
        cmocka_unit_test(test_address__is_not_private_through_a_proxy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
