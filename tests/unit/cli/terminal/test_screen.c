#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "cli/terminal/screen.h"

static void expect_screen(const char *text, size_t width, size_t height, const char *want)
{
    cleanup_strbuf struct strbuf composed = STRBUF_INIT;
    screen_compose(text, width, height, &composed);
    assert_string_equal(strbuf_str(&composed), want);
}

static void test_screen__overwrites_the_picture_before(void **state)
{
    expect_screen("one\ntwo\n", 80, 24, "\x1b[Hone\x1b[K\r\ntwo\x1b[K\x1b[J");
    expect_screen("", 80, 24, "\x1b[H\x1b[J");
    expect_screen("\n\nthree", 80, 24, "\x1b[H\x1b[K\r\n\x1b[K\r\nthree\x1b[K\x1b[J");
}

static void test_screen__has_as_many_lines_as_the_terminal(void **state)
{
    expect_screen("1\n2\n3\n", 80, 2, "\x1b[H1\x1b[K\r\n2\x1b[K\x1b[J");
}

static void test_screen__cuts_lines_by_columns_not_bytes(void **state)
{
    expect_screen("abcdef", 4, 1, "\x1b[Habcd\x1b[K\x1b[J");
    expect_screen("äöüß€", 4, 1, "\x1b[Häöüß\x1b[K\x1b[J");
    expect_screen("日本語", 5, 1, "\x1b[H日本\x1b[K\x1b[J"); /* each takes two columns */
}

static void test_screen__counts_no_columns_for_colours_and_ends_them(void **state)
{
    expect_screen("\x1b[36mabc\x1b[0mdef", 4, 1, "\x1b[H\x1b[36mabc\x1b[0md\x1b[0m\x1b[K\x1b[J");
    expect_screen("\x1b[36mabcdef\x1b[0m", 4, 1, "\x1b[H\x1b[36mabcd\x1b[0m\x1b[K\x1b[J");
}

/* Texts of users, such as the lines of a log, may hold any byte. */
static void test_screen__lets_no_other_control_characters_through(void **state)
{
    expect_screen("a\x1b[2Jb\rc\x07\x1b]0;t\x07", 80, 1, "\x1b[Ha?[2Jb?c??]0;t?\x1b[K\x1b[J");
    expect_screen("\tx", 80, 1, "\x1b[H x\x1b[K\x1b[J");
    expect_screen("\x1b", 80, 1, "\x1b[H?\x1b[K\x1b[J");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_screen__overwrites_the_picture_before),
        cmocka_unit_test(test_screen__has_as_many_lines_as_the_terminal),
        cmocka_unit_test(test_screen__cuts_lines_by_columns_not_bytes),
        cmocka_unit_test(test_screen__counts_no_columns_for_colours_and_ends_them),
        cmocka_unit_test(test_screen__lets_no_other_control_characters_through),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
