#include "cmocka_setup.h"

#include "task/lines.h"

static struct strbuf story; /* each line as `level/rank: text`, ends made visible */

static void note_line(void *ctx, const struct task_line *l)
{
    if (l->level)
        strbuf_addf(&story, "%d", (int)l->level);
    if (l->has_rank)
        strbuf_addf(&story, "[%d]", l->rank);
    strbuf_adds(&story, "<");
    for (size_t i = 0; i < l->text_n; i++) {
        if (l->text[i] == '\n')
            strbuf_adds(&story, "$");
        else
            strbuf_addc(&story, l->text[i]);
    }
    strbuf_adds(&story, ">");
}

/* Feeds the text in pieces of every size, since a pipe may cut anywhere, and expects the same story each time. */
static void expect_lines(const char *text, size_t n, const char *want)
{
    for (size_t piece = 1; piece <= n; piece++) {
        struct line_framer *f = malloc(sizeof(*f));
        line_framer_init(f, TASK_STDOUT, note_line, NULL);
        strbuf_reset(&story);
        for (size_t at = 0; at < n; at += piece)
            line_framer_feed(f, text + at, n - at < piece ? n - at : piece, 0);
        line_framer_end(f, 0);
        assert_string_equal(strbuf_str(&story), want);
        line_framer_release(f);
        free(f);
    }
}
#define EXPECT(text, want) expect_lines(text, sizeof(text) - 1, want)

static void test_lines__end_at_newline_and_at_carriage_return(void **state)
{
    EXPECT("one\ntwo\n", "<one$><two$>");
    EXPECT(" 10%\r 20%\r", "< 10%$>< 20%$>");
    EXPECT("dos\r\nunix\n", "<dos$><unix$>");
    EXPECT("a\r\r\n\nb", "<a$><$><$><b>");
    EXPECT("no end", "<no end>");
}

static void test_lines__take_rank_then_level_from_the_front(void **state)
{
    EXPECT("[rank=3] INFO: hello\n", "3[3]<hello$>");
    EXPECT(" [rank=0] x\n", "[0]<x$>");
    EXPECT("[rank=12]tight\n", "[12]<tight$>");
    EXPECT(" WARNING: w\n", "4<w$>");
    EXPECT("CRITICAL:c\n", "6<c$>");
    EXPECT("DEBUG: [rank=1] order matters\n", "2<[rank=1] order matters$>");
    EXPECT("[rank=] x\n", "<[rank=] x$>");
    EXPECT("[rank=-1] x\n", "<[rank=-1] x$>");
    EXPECT("[rank=99999999999] x\n", "<[rank=99999999999] x$>");
    EXPECT("TRACE: x\n", "<TRACE: x$>");
    EXPECT("  INFO: two blanks\n", "<  INFO: two blanks$>");
    EXPECT("INFOrmal: x\n", "<INFOrmal: x$>");
}

static void test_lines__are_valid_text(void **state)
{
    EXPECT("a\xff"
           "b\n",
           "<a\xef\xbf\xbd"
           "b$>");
    EXPECT("a\0b\0\n", "<a\xc0\x80"
                       "b\xc0\x80$>");
    EXPECT("a\xc0\x80\n", "<a\xef\xbf\xbd\xef\xbf\xbd$>"); /* the form that stands for a zero byte is no UTF-8 */
    EXPECT("gr\xc3\xbc\xc3\x9f\n", "<gr\xc3\xbc\xc3\x9f$>");
    EXPECT("cut \xe2\x82\n", "<cut \xef\xbf\xbd\xef\xbf\xbd$>");
}

struct length_log {
    size_t line_n, bytes, longest, broken;
};

static void measure_line(void *ctx, const struct task_line *l)
{
    struct length_log *log = ctx;
    log->line_n++;
    log->bytes += l->text_n;
    if (l->text_n > log->longest)
        log->longest = l->text_n;
    if (memmem(l->text, l->text_n, "\xef\xbf\xbd", 3))
        log->broken++;
}

static void test_lines__that_are_too_long_are_cut_between_characters(void **state)
{
    struct strbuf text = STRBUF_INIT;
    strbuf_adds(&text, "x");
    for (int i = 0; i < 10000; i++)
        strbuf_adds(&text, "\xe2\x82\xac"); /* 3 bytes each, and 8192 - 1 is no multiple of 3 */
    strbuf_adds(&text, "\n");
    struct length_log log = {0};
    struct line_framer *f = malloc(sizeof(*f));
    line_framer_init(f, TASK_STDOUT, measure_line, &log);
    line_framer_feed(f, text.s, text.n, 0);
    assert_int_equal(log.line_n, 4);
    assert_int_equal(log.bytes, text.n);
    assert_int_equal(log.broken, 0);
    assert_in_range(log.longest, TASK_LINE_MAX - 3, TASK_LINE_MAX);
    line_framer_release(f);
    free(f);
    strbuf_release(&text);
}

static void test_lines__show_no_secrets(void **state)
{
    static const char token[] = "det1.0123456789abcdef",
                      printed[] = "A=det1.0123456789abcdef B=det1.0123456789abcdef\nINFO: x det1.0123456789abcdef";
    struct line_framer *f = malloc(sizeof(*f));
    line_framer_init(f, TASK_STDOUT, note_line, NULL);
    line_framer_hide(f, "too short");
    line_framer_hide(f, token);
    strbuf_reset(&story);
    line_framer_feed(f, printed, sizeof(printed) - 1, 0);
    line_framer_feed(f, " too short\n", 11, 0);
    line_framer_feed(f, "det1.0123456789abcde\n\n", 22, 0);
    line_framer_end(f, 0);
    assert_string_equal(strbuf_str(&story),
                        "<A=******** B=********$>3<x ******** too short$><det1.0123456789abcde$><$>");
    line_framer_release(f);
    free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines__end_at_newline_and_at_carriage_return),
        cmocka_unit_test(test_lines__take_rank_then_level_from_the_front),
        cmocka_unit_test(test_lines__are_valid_text),
        cmocka_unit_test(test_lines__that_are_too_long_are_cut_between_characters),
        cmocka_unit_test(test_lines__show_no_secrets),
    };
    int r = cmocka_run_group_tests(tests, NULL, NULL);
    strbuf_release(&story);
    return r;
}
