/* Which file a path is, and where the interface's root is as seen from a page. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "api/web/web_reply.h"

static void expect_base(const char *path, const char *base)
{
    cleanup_strbuf struct strbuf out = STRBUF_INIT;
    web_base_of(path, &out);
    assert_string_equal(strbuf_str(&out), base);
}

static void test_the_base_of_a_page__goes_up_once_for_each_slash(void **state)
{
    expect_base("", "./");
    expect_base("login", "./");
    expect_base("experiments/7", "./../");
    expect_base("experiments/7/trials/9/logs", "./../../../../");
    expect_base("projects/1/", "./../../");
}

static void expect_page(const char *html, const char *base, const char *page)
{
    cleanup_strbuf struct strbuf out = STRBUF_INIT;
    struct web_bytes bytes = {(const unsigned char *)html, strlen(html)};
    web_page_with_base(&bytes, base, &out);
    assert_string_equal(strbuf_str(&out), page);
}

static void test_the_page__has_the_base_of_its_address(void **state)
{
    expect_page("<head><base href=\"./\"><title>", "./../", "<head><base href=\"./../\"><title>");
    expect_page("<base href=\"./\">", "./", "<base href=\"./\">");
}

static void test_a_page_without_a_base__stays_as_it_is(void **state)
{
    expect_page("<head></head>", "./../", "<head></head>");
    expect_page("<base href=\"./", "./../", "<base href=\"./");
}

static void test_a_path_that_is_in_no_table__leads_to_no_file(void **state)
{
    static const char *const path[] = {"",
                                       "/",
                                       "..",
                                       "../index.html",
                                       "assets",
                                       "assets/",
                                       "assets/../index.html",
                                       "./index.html",
                                       "/etc/passwd",
                                       "%2e%2e/index.html",
                                       "index.html/"};
    for (size_t i = 0; i < sizeof(path) / sizeof(path[0]); i++)
        assert_null(web_asset_find(path[i]));
}

static void test_every_file_of_the_table__is_found_by_its_path(void **state)
{
    for (size_t i = 0; i < web_asset_n; i++) {
        assert_ptr_equal(web_asset_find(web_assets[i].path), &web_assets[i]);
        assert_non_null(web_assets[i].plain.data);
        if (i > 0)
            assert_true(strcmp(web_assets[i - 1].path, web_assets[i].path) < 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_base_of_a_page__goes_up_once_for_each_slash),
        cmocka_unit_test(test_the_page__has_the_base_of_its_address),
        cmocka_unit_test(test_a_page_without_a_base__stays_as_it_is),
        cmocka_unit_test(test_a_path_that_is_in_no_table__leads_to_no_file),
        cmocka_unit_test(test_every_file_of_the_table__is_found_by_its_path),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
