#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "cli/terminal/chart.h"

#define POINTS(...) \
    (const struct chart_point[]) \
    { \
        __VA_ARGS__ \
    }
#define LINE(text, ...) \
    {.name = text, .point = POINTS(__VA_ARGS__), .point_n = sizeof(POINTS(__VA_ARGS__)) / sizeof(struct chart_point)}

static void expect_chart(const struct chart *c, const char *want)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    chart_draw(c, &text);
    assert_string_equal(strbuf_str(&text), want);
}

static struct chart small_chart(const struct chart_line *line, size_t n)
{
    return (struct chart){.line = line, .line_n = n, .x_name = "batches", .width = 56, .height = 10, .utf8 = true};
}

static void test_chart__draws_a_line_between_axes(void **state)
{
    const struct chart_line line = LINE("validation.loss", {100, 0.9}, {200, 0.5}, {300, 0.3}, {400, 0.22}, {500, 0.2});
    struct chart c = small_chart(&line, 1);
    expect_chart(&c, "1.0 ┤⣀\n"
                     "    │ ⠉⠒⠢⢄⣀\n"
                     "    │      ⠉⠒⠢⢄⣀\n"
                     "0.5 ┤           ⠉⠒⠒⠤⠤⣀⣀\n"
                     "    │                  ⠉⠉⠑⠒⠢⠤⢄⣀⣀⣀⣀\n"
                     "    │                             ⠉⠉⠉⠉⠉⠉⠒⠒⠒⠒⠒⠒⠒⠒⠒⠢⠤⠤⠤⠤⠤⠤\n"
                     "  0 ┤\n"
                     "    └┬───────────┬────────────┬────────────┬───────────┬\n"
                     "     100        200          300          400    batches\n"
                     "validation.loss: last 0.2, lowest 0.2, highest 0.9\n");
}

static void test_chart__tells_lines_apart_by_letters(void **state)
{
    const struct chart_line line[] = {LINE("training.loss", {0, 1}, {50, 0.4}, {100, 0.1}),
                                      LINE("validation.loss", {0, 1}, {50, 0.6}, {100, 0.5})};
    struct chart c = small_chart(line, 2);
    expect_chart(&c, "1.0 ┤⠉⠓⠒⠶⢦⣤⡤⣀⣀⣀\n"
                     "    │      ⠈⠉⠒⠒⠭⢍⣑⡒⠒⠤⠤⠤⣀⣀⡀\n"
                     "0.5 ┤             ⠈⠉⠒⠒⠤⢄⣀⡈⠉⠉⠑⠒⠒⠒⠒⠒⠒⠒⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⣀⣀⣀⣀⣀⣀ b\n"
                     "    │                    ⠈⠉⠒⠒⠤⠤⢄⣀⣀⣀\n"
                     "    │                              ⠉⠉⠉⠑⠒⠒⠒⠤⠤⠤⣀⣀⣀⡀\n"
                     "  0 ┤                                           ⠈⠉⠉⠉⠒⠒ a\n"
                     "    └┬────────┬─────────┬─────────┬─────────┬────────┬\n"
                     "     0       20        40        60        80  batches\n"
                     "a training.loss: last 0.1, lowest 0.1, highest 1\n"
                     "b validation.loss: last 0.5, lowest 0.5, highest 1\n");
    c.utf8 = false;
    expect_chart(&c, "1.0 +bbbbbbbbbb\n"
                     "    |      aaaabbbbbbbbbbb\n"
                     "0.5 +             aaaaaaabbbbbbbbbbbbbbbbbbbbbbbbbbbbb b\n"
                     "    |                    aaaaaaaaaa\n"
                     "    |                              aaaaaaaaaaaaaa\n"
                     "  0 +                                           aaaaaa a\n"
                     "    ++--------+---------+---------+---------+--------+\n"
                     "     0       20        40        60        80  batches\n"
                     "a training.loss: last 0.1, lowest 0.1, highest 1\n"
                     "b validation.loss: last 0.5, lowest 0.5, highest 1\n");
}

static void test_chart__colors_lines_as_their_letters(void **state)
{
    const struct chart_line line[] = {LINE("a metric", {0, 0}, {1, 0}), LINE("another", {0, 1}, {1, 1})};
    struct chart c = small_chart(line, 2);
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    c.colored = true;
    chart_draw(&c, &text);
    assert_non_null(strstr(strbuf_str(&text), "\n\x1b[36ma\x1b[0m a metric: "));
    assert_non_null(strstr(strbuf_str(&text), "\n\x1b[33mb\x1b[0m another: "));
    assert_non_null(strstr(strbuf_str(&text), " b\x1b[0m\n")); /* beside the end of its line */
}

static void test_chart__leaves_a_gap_for_what_is_no_number(void **state)
{
    const struct chart_line line = LINE("loss", {0, 1}, {10, 1}, {20, NAN}, {30, 1e301}, {40, -INFINITY}, {50, 2},
                                        {60, 2});
    struct chart c = small_chart(&line, 1);
    expect_chart(&c, "2.0 ┤                                          ⠉⠉⠉⠉⠉⠉⠉⠉⠉\n"
                     "    │\n"
                     "1.5 ┤\n"
                     "    │\n"
                     "    │\n"
                     "1.0 ┤⣀⣀⣀⣀⣀⣀⣀⣀⣀\n"
                     "    └┬────────────────┬───────────────┬────────────────┬\n"
                     "     0               20              40          batches\n"
                     "loss: last 2, lowest 1, highest 2\n"
                     "3 of 7 values of loss are not drawn: not finite numbers.\n");
}

static void test_chart__says_in_a_sentence_that_there_is_little_to_draw(void **state)
{
    const struct chart_line none = {.name = "loss"}, one = LINE("loss", {100, 0.5}),
                            nothing = LINE("loss", {1, NAN}, {2, NAN}), same = LINE("loss", {100, 0.5}, {100, 0.25}),
                            rest = LINE("loss", {1, NAN}, {2, 3});
    struct chart c = small_chart(&none, 1);
    c.width = 80;
    expect_chart(&c, "loss has no points yet.\n");
    c.line = &one;
    expect_chart(&c, "loss has one point: 0.5 after 100 batches.\n");
    c.line = &nothing;
    expect_chart(&c, "loss has nothing to draw: none of its values is a finite number (2).\n");
    c.line = &same;
    expect_chart(&c, "loss has 2 points, all after 100 batches: the last one is 0.25.\n");
    c.line = &rest;
    expect_chart(&c, "loss has one point: 3 after 2 batches.\n"
                     "1 of 2 values of loss is not drawn: not a finite number.\n");
}

static void test_chart__puts_a_constant_line_in_the_middle(void **state)
{
    const struct chart_line zero = LINE("zero", {1, 0}, {9, 0}), great = LINE("great", {1, 1e9}, {9, 1e9});
    struct chart c = small_chart(&zero, 1);
    expect_chart(&c, " 1 ┤\n"
                     "   │\n"
                     "   │\n"
                     " 0 ┤⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒\n"
                     "   │\n"
                     "   │\n"
                     "-1 ┤\n"
                     "   └──────┬────────────┬────────────┬────────────┬──────\n"
                     "          2            4            6            batches\n"
                     "zero: last 0, lowest 0, highest 0\n");
    c.line = &great;
    expect_chart(&c, "1.1G ┤\n"
                     "     │\n"
                     "     │\n"
                     "1.0G ┤⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒\n"
                     "     │\n"
                     "     │\n"
                     "0.9G ┤\n"
                     "     └──────┬───────────┬────────────┬───────────┬──────\n"
                     "            2           4            6           batches\n"
                     "great: last 1e+09, lowest 1e+09, highest 1e+09\n");
}

static void test_chart__writes_great_and_small_numbers_briefly(void **state)
{
    const struct chart_line great = LINE("great", {0, 0}, {2000000, 45000}),
                            small = LINE("small", {10000, -2e-5}, {10001, 3e-5});
    struct chart c = small_chart(&great, 1);
    expect_chart(&c, "50k ┤                                                 ⢀⣀\n"
                     "    │                                         ⢀⣀⡠⠤⠔⠒⠊⠉⠁\n"
                     "    │                                 ⣀⣀⠤⠤⠒⠒⠉⠉⠁\n"
                     "    │                        ⢀⣀⡠⠤⠔⠒⠒⠉⠉\n"
                     "    │                ⣀⣀⠤⠤⠒⠒⠊⠉⠁\n"
                     "    │       ⢀⣀⡠⠤⠤⠒⠒⠉⠉\n"
                     "  0 ┤⣀⡠⠤⠔⠒⠊⠉⠁\n"
                     "    └┬───────────┬────────────┬────────────┬───────────┬\n"
                     "     0         0.5M         1.0M         1.5M    batches\n"
                     "great: last 45000, lowest 0, highest 45000\n");
    c.line = &small;
    expect_chart(&c, " 5e-05 ┤\n"
                     "       │                                       ⢀⣀⣀⡠⠤⠤⠤⠒⠒\n"
                     "       │                         ⢀⣀⣀⣀⠤⠤⠤⠔⠒⠒⠒⠉⠉⠉⠁\n"
                     "     0 ┤            ⣀⣀⣀⡠⠤⠤⠤⠒⠒⠒⠊⠉⠉⠁\n"
                     "       │⣀⣀⠤⠤⠤⠔⠒⠒⠊⠉⠉⠉\n"
                     "       │\n"
                     "-5e-05 ┤\n"
                     "       └┬──────────────────────────────────────────────┬\n"
                     "        10000                                    batches\n"
                     "small: last 3e-05, lowest -2e-05, highest 3e-05\n");
}

/* Every line fits its width, whatever the numbers and the size. */
static void test_chart__never_is_wider_than_asked(void **state)
{
    static const double extreme[] = {0, 1, -1, 1e-320, 1e-12, 123456.789, 1e15, -9e299, 9e299, 1e308, NAN, INFINITY};
    enum { N = sizeof(extreme) / sizeof(extreme[0]) };
    for (size_t i = 0; i < N; i++) {
        for (size_t k = 0; k < N; k++) {
            for (size_t width = 40; width <= 120; width += 40) {
                const struct chart_line line = LINE("a", {1, extreme[i]}, {1000000000, extreme[k]});
                struct chart c = {.line = &line, .line_n = 1, .x_name = "batches", .width = width, .height = width / 4};
                cleanup_strbuf struct strbuf text = STRBUF_INIT;
                chart_draw(&c, &text);
                for (const char *at = strbuf_str(&text); *at; at += strcspn(at, "\n") + 1)
                    assert_in_range(strcspn(at, "\n"), 1, width);
            }
        }
    }
}

static void test_chart__shows_no_control_characters_of_names(void **state)
{
    const struct chart_line line = LINE("a\x1b[2Jb\n", {1, 1});
    struct chart c = small_chart(&line, 1);
    c.width = 80;
    expect_chart(&c, "a?[2Jb? has one point: 1 after 1 batches.\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chart__draws_a_line_between_axes),
        cmocka_unit_test(test_chart__tells_lines_apart_by_letters),
        cmocka_unit_test(test_chart__colors_lines_as_their_letters),
        cmocka_unit_test(test_chart__leaves_a_gap_for_what_is_no_number),
        cmocka_unit_test(test_chart__says_in_a_sentence_that_there_is_little_to_draw),
        cmocka_unit_test(test_chart__puts_a_constant_line_in_the_middle),
        cmocka_unit_test(test_chart__writes_great_and_small_numbers_briefly),
        cmocka_unit_test(test_chart__never_is_wider_than_asked),
        cmocka_unit_test(test_chart__shows_no_control_characters_of_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
