/* Messages of an agent are heard in the order in which they came, whoever decoded them. */
#include "cmocka_setup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/strbuf.h"
#include "master/agents/agent_inbox.h"

struct fixture {
    struct loop *loop;
    struct pool *workers;
    struct agent_inboxes *all;
    struct agent_inbox *in;
    struct strbuf story;
    int expected; /* letters until the loop stops */
    bool close_after_first;
    int64_t hear_us; /* so long each takes by the test's clock */
};

static int64_t now_us; /* the test's clock */

static int64_t test_clock(void)
{
    return now_us;
}

static void hear_message(void *ctx, struct agent_inbox_message *l)
{
    struct fixture *f = ctx;
    if (l->err.kind)
        strbuf_adds(&f->story, "bad ");
    else if (l->message->logs)
        strbuf_addf(&f->story, "lines %zu from %lld %s ", l->lines.line_n, (long long)l->message->logs->first_seq,
                    l->lines.block.n ? "packed" : "plain");
    else
        strbuf_adds(&f->story, "state ");
    if (l->lines.line_n)
        assert_string_equal(l->lines.line[0].agent_id, "a1");
    now_us += f->hear_us;
    if (f->close_after_first) {
        agent_inbox_close(f->in);
        f->in = NULL;
    }
    if (--f->expected == 0)
        loop_stop(f->loop);
}

static int setup(void **state)
{
    static struct fixture f;
    const struct pool_options o = {.name = "t-worker", .threads = 2, .queue_max = 100};
    f = (struct fixture){0};
    assert_int_equal(loop_new(&f.loop, NULL), 0);
    assert_int_equal(pool_new(f.loop, &o, &f.workers, NULL), 0);
    f.all = agent_inboxes_new(f.loop, f.workers, test_clock);
    f.in = agent_inbox_new(f.all, "a1", hear_message, &f);
    *state = &f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    if (f->in)
        agent_inbox_close(f->in);
    pool_free(f->workers);
    agent_inboxes_free(f->all);
    loop_free(f->loop);
    strbuf_release(&f->story);
    return 0;
}

static void put_lines(struct fixture *f, int64_t first_seq, int n)
{
    cleanup_strbuf struct strbuf b = STRBUF_INIT;
    strbuf_addf(&b, "{\"logs\":{\"taskId\":\"t\",\"containerId\":\"c\",\"firstSeq\":\"%lld\",\"lines\":[",
                (long long)first_seq);
    for (int i = 0; i < n; i++)
        strbuf_addf(&b, "%s{\"log\":\"line %d of these\",\"timestamp\":\"2026-01-02T03:04:05Z\"}", i ? "," : "", i);
    strbuf_adds(&b, "]}}");
    agent_inbox_put(f->in, b.s, b.n);
}

static void put_message(struct fixture *f, const char *text)
{
    agent_inbox_put(f->in, text, strlen(text));
}

#define STATE "{\"state\":{\"containerId\":\"c\",\"state\":\"STATE_RUNNING\"}}"

static void test_inbox__an_exit_does_not_overtake_lines_that_a_worker_has(void **state)
{
    struct fixture *f = *state;
    f->expected = 5;
    put_lines(f, 1, 20000);
    put_lines(f, 20001, 300);
    put_message(f, STATE);
    put_lines(f, 20301, 1);
    put_message(f, "{\"state\":");
    assert_int_equal(f->story.n, 0);
    assert_int_equal(loop_run(f->loop, NULL), 0);
    assert_string_equal(f->story.s,
                        "lines 20000 from 1 packed lines 300 from 20001 packed state lines 1 from 20301 plain bad ");
}

static void test_inbox__small_messages_are_heard_at_once(void **state)
{
    struct fixture *f = *state;
    put_message(f, STATE);
    put_lines(f, 1, 1);
    assert_string_equal(f->story.s, "state lines 1 from 1 plain ");
}

static void test_inbox__closed_it_hears_nothing_more(void **state)
{
    struct fixture *f = *state;
    f->close_after_first = true;
    f->expected = 1;
    for (int i = 0; i < 6; i++)
        put_lines(f, 1 + 1000 * i, 1000);
    assert_int_equal(loop_run(f->loop, NULL), 0);
    assert_string_equal(f->story.s, "lines 1000 from 1 packed ");
}

static void tell_turn(void *ctx)
{
    struct fixture *f = ctx;
    strbuf_adds(&f->story, "others ");
}

static void test_inbox__after_a_while_others_have_their_turn(void **state)
{
    struct fixture *f = *state;
    f->hear_us = AGENT_HEARING_US;
    f->expected = 4;
    loop_post(f->loop, tell_turn, f);
    put_message(f, STATE);
    put_message(f, STATE);
    put_lines(f, 1, 1);
    put_message(f, STATE);
    assert_string_equal(f->story.s, "state ");
    assert_int_equal(loop_run(f->loop, NULL), 0);
    assert_string_equal(f->story.s, "state others state lines 1 from 1 plain state ");
}

static void test_inbox__closed_while_it_is_behind_it_hears_nothing_more(void **state)
{
    struct fixture *f = *state;
    f->hear_us = AGENT_HEARING_US;
    put_message(f, STATE);
    put_message(f, STATE);
    agent_inbox_close(f->in);
    f->in = NULL;
    loop_post(f->loop, (loop_fn *)loop_stop, f->loop);
    assert_int_equal(loop_run(f->loop, NULL), 0);
    assert_string_equal(f->story.s, "state ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_inbox__an_exit_does_not_overtake_lines_that_a_worker_has, setup, teardown),
        cmocka_unit_test_setup_teardown(test_inbox__small_messages_are_heard_at_once, setup, teardown),
        cmocka_unit_test_setup_teardown(test_inbox__closed_it_hears_nothing_more, setup, teardown),
        cmocka_unit_test_setup_teardown(test_inbox__after_a_while_others_have_their_turn, setup, teardown),
        cmocka_unit_test_setup_teardown(test_inbox__closed_while_it_is_behind_it_hears_nothing_more, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
