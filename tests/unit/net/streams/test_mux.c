#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/rng.h"
#include "common/base/strbuf.h"
#include "net/streams/mux.h"

/* ---- two sides, and the frames between them ---------------------------------------------------------------------- */

enum { OPENER, ACCEPTER, QUEUE_MAX = 4096 };

struct end { /* one side's view of one stream */
    struct mux_stream *m;
    bool asked, accepted, ended, closed;
    char why[MUX_REASON_MAX + 1];
    char name[MUX_NAME_MAX + 1];
    size_t got, waits; /* bytes received; of these, bytes that are not consumed yet */
    bool lazy;         /* consumes nothing by itself */
    unsigned char pattern;
};

static struct mux *side[2];
static struct end ends[2][64];
static int asked_n;

static void on_asked(void *ctx, struct mux_stream *s, const char *name)
{
    struct end *e = &ends[ACCEPTER][asked_n++];
    e->m = s;
    e->asked = true;
    snprintf(e->name, sizeof(e->name), "%s", name);
    mux_set_owner(s, e);
}

static void on_accepted(void *owner)
{
    ((struct end *)owner)->accepted = true;
}

/* Byte number i of a stream is (pattern + i) % 251. */
static void on_data(void *owner, const void *data, size_t n)
{
    struct end *e = owner;
    const unsigned char *p = data;
    assert_true(n > 0 && n <= MUX_DATA_MAX && !e->ended && !e->closed);
    for (size_t i = 0; i < n; i++)
        if (p[i] != (e->pattern + e->got + i) % 251)
            fail_msg("byte %zu is another one", e->got + i);
    e->got += n;
    e->waits += n;
    assert_true(e->waits <= MUX_WINDOW_MAX);
    if (!e->lazy) {
        size_t took = e->waits;
        e->waits = 0;
        mux_consumed(e->m, took);
    }
}

static void on_end(void *owner)
{
    ((struct end *)owner)->ended = true;
}

static void on_closed(void *owner, const char *why)
{
    struct end *e = owner;
    assert_false(e->closed);
    e->closed = true;
    e->m = NULL;
    if (why)
        snprintf(e->why, sizeof(e->why), "%s", why);
    else
        e->ended = true;
}

static const struct mux_handler handler = {
    .on_asked = on_asked, .on_accepted = on_accepted, .on_data = on_data, .on_end = on_end, .on_closed = on_closed};

static void start(size_t streams_max)
{
    memset(ends, 0, sizeof(ends));
    asked_n = 0;
    side[OPENER] = mux_new(true, 0, &handler);
    side[ACCEPTER] = mux_new(false, streams_max, &handler);
}

static void stop(void)
{
    mux_free(side[OPENER]);
    mux_free(side[ACCEPTER]);
}

/* Writes the next frame of one side into `ret`; returns its length, 0 if there is none. */
static size_t next_frame(struct mux *m, uint8_t ret[MUX_FRAME_MAX], struct mux_sent *ret_sent)
{
    struct mux_frame f;
    if (!mux_next(m, &f, ret_sent))
        return 0;
    assert_true(f.body_n <= MUX_DATA_MAX);
    memcpy(ret, f.head, MUX_HEAD);
    if (f.body_n)
        memcpy(ret + MUX_HEAD, f.body, f.body_n);
    return MUX_HEAD + f.body_n;
}

/* Takes the next frame of one side to the other one; returns its kind, 0 if there is none. */
static int carry_one(int from)
{
    uint8_t frame[MUX_FRAME_MAX];
    struct mux_sent sent;
    struct error err = ERROR_INIT;
    size_t n = next_frame(side[from], frame, &sent);
    if (n == 0)
        return 0;
    struct end *e = sent.owner;
    if (sent.over) {
        e->closed = true;
        e->m = NULL;
    }
    if (mux_receive(side[!from], frame, n, &err) < 0)
        fail_msg("%s", error_msg(&err));
    return frame[0];
}

static void carry_all(void)
{
    while (carry_one(OPENER) || carry_one(ACCEPTER))
        ;
}

static struct end *open_stream(int i, const char *name)
{
    struct end *e = &ends[OPENER][i];
    assert_int_equal(mux_open(side[OPENER], name, e, &e->m, NULL), 0);
    return e;
}

/* Opens stream i on both sides. */
static struct end *open_both(int i)
{
    struct end *e = open_stream(i, "place:80");
    carry_all();
    assert_true(ends[ACCEPTER][i].asked);
    mux_accept(ends[ACCEPTER][i].m);
    carry_all();
    assert_true(e->accepted);
    return e;
}

static void write_pattern(struct mux_stream *m, unsigned char pattern, size_t from, size_t n)
{
    unsigned char *p = malloc(n);
    assert_non_null(p);
    for (size_t i = 0; i < n; i++)
        p[i] = (unsigned char)((pattern + from + i) % 251);
    mux_write(m, p, n);
    free(p);
}

/* ---- what streams do --------------------------------------------------------------------------------------------- */

static void test_a_stream_is_opened_carries_both_ways_and_ends(void **state)
{
    start(10);
    struct end *a = open_both(0), *b = &ends[ACCEPTER][0];
    assert_string_equal(b->name, "place:80");
    write_pattern(a->m, 0, 0, 100000);
    write_pattern(b->m, 0, 0, 50000);
    carry_all();
    assert_int_equal(b->got, 100000);
    assert_int_equal(a->got, 50000);
    mux_finish(a->m);
    carry_all();
    assert_true(b->ended && !b->closed && !a->closed);
    write_pattern(b->m, 0, 50000, 7); /* the other direction goes on */
    mux_finish(b->m);
    carry_all();
    assert_true(a->got == 50007 && a->ended && a->closed && b->closed && !*a->why && !*b->why);
    assert_int_equal(mux_count(side[OPENER]) + mux_count(side[ACCEPTER]), 0);
    stop();
}

static void test_what_is_written_before_the_stream_is_accepted_waits(void **state)
{
    start(10);
    struct end *a = open_stream(0, "p:1");
    write_pattern(a->m, 0, 0, 1000);
    mux_finish(a->m);
    carry_all();
    assert_int_equal(ends[ACCEPTER][0].got, 0);
    mux_accept(ends[ACCEPTER][0].m);
    carry_all();
    assert_true(ends[ACCEPTER][0].got == 1000 && ends[ACCEPTER][0].ended);
    stop();
}

static void test_a_refusal_has_its_reason(void **state)
{
    start(10);
    struct end *a = open_stream(0, "p:1");
    carry_all();
    mux_refuse(ends[ACCEPTER][0].m, "port 1 is not one of the task's");
    carry_all();
    assert_true(a->closed && !a->accepted);
    assert_string_equal(a->why, "port 1 is not one of the task's");
    assert_int_equal(mux_count(side[OPENER]) + mux_count(side[ACCEPTER]), 0);
    stop();
}

static void test_a_stream_that_is_closed_takes_what_was_on_its_way_with_it(void **state)
{
    start(10);
    struct end *a = open_both(0), *b = &ends[ACCEPTER][0];
    write_pattern(b->m, 0, 0, 10);
    uint8_t late[MUX_FRAME_MAX];
    struct mux_sent sent;
    size_t n = next_frame(side[ACCEPTER], late, &sent);
    mux_close(a->m, "the client has left");
    carry_all();
    assert_true(b->closed);
    assert_string_equal(b->why, "the client has left");
    assert_int_equal(mux_receive(side[OPENER], late, n, NULL), 0);
    assert_int_equal(a->got, 0);
    stop();
}

static void test_an_open_that_was_never_sent_is_forgotten(void **state)
{
    start(10);
    struct end *a = open_stream(0, "p:1");
    mux_close(a->m, "never mind");
    assert_false(mux_has_frames(side[OPENER]));
    assert_int_equal(mux_count(side[OPENER]), 0);
    stop();
}

/* ---- windows ----------------------------------------------------------------------------------------------------- */

static void test_nothing_is_sent_beyond_the_window(void **state)
{
    start(10);
    struct end *a = open_both(0), *b = &ends[ACCEPTER][0];
    b->lazy = true;
    write_pattern(a->m, 0, 0, 1000000);
    carry_all();
    assert_int_equal(b->got, MUX_WINDOW_FIRST);
    assert_int_equal(mux_pending(a->m), 1000000 - MUX_WINDOW_FIRST);
    while (b->got < 1000000) {
        size_t took = b->waits, before = b->got;
        b->waits = 0;
        mux_consumed(b->m, took);
        carry_all();
        assert_true(b->got > before && b->waits <= MUX_WINDOW_MAX);
    }
    stop();
}

static void test_the_window_grows_with_use_and_stops_at_its_bound(void **state)
{
    start(10);
    struct end *a = open_both(0), *b = &ends[ACCEPTER][0];
    write_pattern(a->m, 0, 0, 4000000);
    carry_all();
    b->lazy = true;
    write_pattern(a->m, 0, 4000000, 4000000);
    carry_all();
    assert_true(b->waits > MUX_WINDOW_FIRST && b->waits <= MUX_WINDOW_MAX);
    stop();
}

static void test_a_stream_that_is_not_read_stops_no_other(void **state)
{
    start(10);
    struct end *stuck = open_both(0), *other = open_both(1);
    ends[ACCEPTER][0].lazy = true;
    write_pattern(stuck->m, 0, 0, 5000000);
    write_pattern(other->m, 0, 0, 5000000);
    carry_all();
    assert_int_equal(ends[ACCEPTER][1].got, 5000000);
    assert_int_equal(ends[ACCEPTER][0].got, MUX_WINDOW_FIRST);
    stop();
}

/* ---- turns ------------------------------------------------------------------------------------------------------- */

static void test_streams_take_turns_and_frames_without_data_go_first(void **state)
{
    start(10);
    for (int i = 0; i < 3; i++)
        open_both(i);
    for (int i = 0; i < 3; i++)
        write_pattern(ends[OPENER][i].m, 0, 0, 2 * MUX_DATA_MAX);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(carry_one(OPENER), MUX_DATA);
        assert_int_equal(ends[ACCEPTER][i].got, MUX_DATA_MAX);
    }
    while (carry_one(ACCEPTER)) /* credit for the second frames */
        ;
    open_stream(3, "p:1");
    assert_int_equal(carry_one(OPENER), MUX_OPEN);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(carry_one(OPENER), MUX_DATA);
        assert_int_equal(ends[ACCEPTER][i].got, 2 * MUX_DATA_MAX);
    }
    stop();
}

/* ---- bounds and bad peers ---------------------------------------------------------------------------------------- */

static void test_more_streams_than_allowed_are_refused_in_words(void **state)
{
    start(2);
    open_both(0);
    open_both(1);
    struct end *third = open_stream(2, "p:1");
    carry_all();
    assert_true(third->closed);
    assert_non_null(strstr(third->why, "2 streams are open on this machine, which is the most it allows"));
    stop();
}

static void test_a_peer_that_does_not_hear_refusals_is_cut_off(void **state)
{
    start(1);
    uint8_t frame[] = {MUX_OPEN, 0, 0, 0, 0, 0, 0, 0, 'p'};
    struct error err cleanup_error = ERROR_INIT;
    int rc = 0, n;
    for (n = 1; n < 10000 && rc == 0; n++) {
        frame[4] = (uint8_t)n;
        frame[5] = (uint8_t)(n >> 8);
        rc = mux_receive(side[ACCEPTER], frame, sizeof(frame), &err);
    }
    assert_int_equal(rc, -1);
    assert_non_null(strstr(error_msg(&err), "far too many streams"));
    assert_true(n < 6000);
    stop();
}

struct bad {
    const char *what, *why;
    int to; /* which side gets it; both streams 1 (open) and 2 (asked, not accepted) are there */
    size_t n;
    uint8_t frame[MUX_HEAD + 8];
};

static const struct bad bad_frames[] = {
    {"no head", "a frame of 3 bytes", OPENER, 3, {MUX_DATA, 0, 0}},
    {"kind 0", "unknown kind 0", OPENER, 8, {0, 0, 0, 0, 1}},
    {"kind 8", "unknown kind 8", OPENER, 8, {8, 0, 0, 0, 1}},
    {"a head with more in it", "unknown kind", OPENER, 9, {MUX_DATA, 1, 0, 0, 1, 0, 0, 0, 'x'}},
    {"stream 0", "unknown kind", OPENER, 9, {MUX_DATA, 0, 0, 0, 0, 0, 0, 0, 'x'}},
    {"an OPEN for the side that opens", "for the other side to send", OPENER, 9, {MUX_OPEN, 0, 0, 0, 3, 0, 0, 0, 'x'}},
    {"an OPEN of a used number", "used before", ACCEPTER, 9, {MUX_OPEN, 0, 0, 0, 1, 0, 0, 0, 'x'}},
    {"an OPEN without a name", "without a name", ACCEPTER, 8, {MUX_OPEN, 0, 0, 0, 3}},
    {"an OPEN with a control character", "bad one", ACCEPTER, 10, {MUX_OPEN, 0, 0, 0, 3, 0, 0, 0, 'x', 1}},
    {"a stream that nobody opened", "never opened", OPENER, 9, {MUX_DATA, 0, 0, 0, 9, 0, 0, 0, 'x'}},
    {"data without data", "DATA without data", OPENER, 8, {MUX_DATA, 0, 0, 0, 1}},
    {"data before the accept", "before ACCEPT", OPENER, 9, {MUX_DATA, 0, 0, 0, 2, 0, 0, 0, 'x'}},
    {"an accept twice", "ACCEPT at the wrong time", OPENER, 8, {MUX_ACCEPT, 0, 0, 0, 1}},
    {"an accept for the accepting side", "ACCEPT at the wrong time", ACCEPTER, 8, {MUX_ACCEPT, 0, 0, 0, 1}},
    {"an accept with a body", "ACCEPT at the wrong time", OPENER, 9, {MUX_ACCEPT, 0, 0, 0, 2, 0, 0, 0, 'x'}},
    {"a refusal after the accept", "REFUSE at the wrong time", OPENER, 8, {MUX_REFUSE, 0, 0, 0, 1}},
    {"credit of nothing", "wrong amount", OPENER, 12, {MUX_CREDIT, 0, 0, 0, 1}},
    {"credit without end", "wrong amount", OPENER, 12, {MUX_CREDIT, 0, 0, 0, 1, 0, 0, 0, 255, 255, 255, 255}},
    {"half a credit", "wrong amount", OPENER, 10, {MUX_CREDIT, 0, 0, 0, 1, 0, 0, 0, 1, 0}},
    {"an END with a body", "END with a body", OPENER, 9, {MUX_END, 0, 0, 0, 1, 0, 0, 0, 'x'}},
};

static void test_frames_that_break_the_protocol_are_told_apart(void **state)
{
    for (size_t i = 0; i < sizeof(bad_frames) / sizeof(bad_frames[0]); i++) {
        const struct bad *b = &bad_frames[i];
        struct error err cleanup_error = ERROR_INIT;
        start(10);
        open_both(0);
        open_stream(1, "p:2");
        carry_all();
        if (mux_receive(side[b->to], b->frame, b->n, &err) == 0)
            fail_msg("%s is accepted", b->what);
        if (!strstr(error_msg(&err), b->why))
            fail_msg("%s: %s", b->what, error_msg(&err));
        stop();
    }
}

static void test_more_data_than_the_window_is_a_broken_protocol(void **state)
{
    static uint8_t frame[MUX_FRAME_MAX] = {MUX_DATA, 0, 0, 0, 1};
    struct error err cleanup_error = ERROR_INIT;
    start(10);
    open_both(0);
    ends[OPENER][0].lazy = true;
    ends[OPENER][0].pattern = 0;
    int rc = 0, n;
    for (n = 0; rc == 0 && n < 10; n++) {
        for (size_t i = 0; i < MUX_DATA_MAX; i++)
            frame[MUX_HEAD + i] = (uint8_t)((ends[OPENER][0].got + i) % 251);
        rc = mux_receive(side[OPENER], frame, sizeof(frame), &err);
    }
    assert_int_equal(n, MUX_WINDOW_FIRST / MUX_DATA_MAX + 1);
    assert_non_null(strstr(error_msg(&err), "more data than its window has room for"));
    stop();
}

static void test_a_reason_of_the_peer_is_made_fit_to_be_shown(void **state)
{
    static const uint8_t frame[] = {MUX_REFUSE, 0, 0, 0, 1, 0, 0, 0, 'a', '\n', 'e', 'r', 0xff, 'r'};
    start(10);
    struct end *a = open_stream(0, "p:1");
    carry_all();
    assert_int_equal(mux_receive(side[OPENER], frame, sizeof(frame), NULL), 0);
    assert_string_equal(a->why, "a er?r");
    stop();
}

static void test_the_end_of_the_connection_is_told_to_each_stream_once(void **state)
{
    start(10);
    struct end *a = open_both(0), *b = open_stream(1, "p:2");
    mux_close(open_both(2)->m, "gone before");
    mux_end(side[OPENER], "the agent was restarted");
    assert_string_equal(a->why, "the agent was restarted");
    assert_string_equal(b->why, "the agent was restarted");
    assert_false(ends[OPENER][2].closed);
    struct error err cleanup_error = ERROR_INIT;
    struct mux_stream *m;
    assert_int_equal(mux_open(side[OPENER], "p:3", b, &m, &err), -1);
    stop();
}

/* ---- random schedules -------------------------------------------------------------------------------------------- */

enum { STREAMS = 12, STEPS = 4000 };

struct story {
    struct rng rng;
    size_t written[2][STREAMS];
    bool finished[2][STREAMS], closed_here[2][STREAMS];
    uint8_t *queue[2][QUEUE_MAX]; /* frames on their way, of each side */
    size_t length[2][QUEUE_MAX], first[2], last[2];
};

static unsigned draw(struct story *s, unsigned n)
{
    return (unsigned)rng_int(&s->rng, n);
}

static void put_on_the_way(struct story *s, int from)
{
    uint8_t frame[MUX_FRAME_MAX];
    struct mux_sent sent;
    size_t n = s->last[from] - s->first[from] < QUEUE_MAX ? next_frame(side[from], frame, &sent) : 0;
    if (n == 0)
        return;
    struct end *e = sent.owner;
    if (sent.over) {
        e->closed = true;
        e->m = NULL;
    }
    size_t at = s->last[from]++ % QUEUE_MAX;
    s->queue[from][at] = malloc(n);
    assert_non_null(s->queue[from][at]);
    memcpy(s->queue[from][at], frame, n);
    s->length[from][at] = n;
}

static bool deliver(struct story *s, int from)
{
    struct error err cleanup_error = ERROR_INIT;
    if (s->first[from] == s->last[from])
        return false;
    size_t at = s->first[from]++ % QUEUE_MAX;
    if (mux_receive(side[!from], s->queue[from][at], s->length[from][at], &err) < 0)
        fail_msg("%s", error_msg(&err));
    free(s->queue[from][at]);
    return true;
}

static void act(struct story *s)
{
    int who = (int)draw(s, 2);
    unsigned i = draw(s, STREAMS);
    struct end *e = &ends[who][i];
    switch (draw(s, 12)) {
    case 0:
    case 1:
    case 2:
        if (e->m && !s->finished[who][i] && mux_pending(e->m) < MUX_WINDOW_MAX && (who == OPENER || e->accepted)) {
            size_t n = 1 + draw(s, 100000);
            write_pattern(e->m, 0, s->written[who][i], n);
            s->written[who][i] += n;
        }
        break;
    case 3:
        e->lazy = !e->lazy;
        break;
    case 4:
    case 5:
        if (e->m && e->waits) {
            size_t n = 1 + draw(s, (unsigned)e->waits);
            e->waits -= n;
            mux_consumed(e->m, n);
        }
        break;
    case 6:
        if (e->m && (who == OPENER || e->accepted) && draw(s, 8) == 0) {
            s->finished[who][i] = true;
            mux_finish(e->m);
        }
        break;
    case 7:
        if (e->m && draw(s, 60) == 0) {
            s->closed_here[who][i] = true;
            mux_close(e->m, "enough");
            e->m = NULL;
        }
        break;
    case 8:
        if (who == ACCEPTER && e->m && e->asked && !e->accepted) {
            e->accepted = true;
            mux_accept(e->m);
        }
        break;
    case 9:
        put_on_the_way(s, who);
        break;
    default:
        deliver(s, who);
    }
}

static void let_go(struct story *s)
{
    bool more = true;
    for (int who = 0; who < 2; who++)
        for (unsigned i = 0; i < STREAMS; i++) {
            struct end *e = &ends[who][i];
            e->lazy = false;
            if (who == ACCEPTER && e->m && !e->accepted) {
                e->accepted = true;
                mux_accept(e->m);
            }
            if (e->m && e->waits) {
                mux_consumed(e->m, e->waits);
                e->waits = 0;
            }
        }
    while (more) {
        more = false;
        for (int who = 0; who < 2; who++) {
            put_on_the_way(s, who);
            more = deliver(s, who) || more || mux_has_frames(side[who]);
        }
    }
}

static char story_name[40]; /* printed with a failure: it tells the same story again */

static void check(const struct story *s)
{
    for (int who = 0; who < 2; who++)
        for (unsigned i = 0; i < STREAMS; i++) {
            const struct end *mine = &ends[who][i], *other = &ends[!who][i];
            bool cut = s->closed_here[0][i] || s->closed_here[1][i];
            bool good = cut ? other->got <= s->written[who][i]
                            : other->got == s->written[who][i] && other->ended == s->finished[who][i] &&
                                  mine->closed == (s->finished[0][i] && s->finished[1][i]);
            if (!good)
                fail_msg("%s: side %d of stream %u: %zu bytes written, %zu came", story_name, who, i,
                         s->written[who][i], other->got);
        }
}

static void tell_story(uint64_t seed)
{
    static struct story s;
    memset(&s, 0, sizeof(s));
    rng_init(&s.rng, (uint32_t)seed);
    start(STREAMS);
    for (int i = 0; i < STREAMS; i++) {
        open_stream(i, "place:80");
        carry_one(OPENER); /* in order, so that both sides have the stream at the same index */
    }
    for (int i = 0; i < STEPS; i++)
        act(&s);
    let_go(&s);
    let_go(&s);
    check(&s);
    stop();
}

static void test_whatever_happens_bytes_come_in_order_and_all_of_them(void **state)
{
    const char *wanted = getenv("MUX_SEED");
    for (uint64_t seed = 1; seed <= 60; seed++) {
        snprintf(story_name, sizeof(story_name), "MUX_SEED=%llu", wanted ? strtoull(wanted, NULL, 10) : seed);
        tell_story(strtoull(story_name + strlen("MUX_SEED="), NULL, 10));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_stream_is_opened_carries_both_ways_and_ends),
        cmocka_unit_test(test_what_is_written_before_the_stream_is_accepted_waits),
        cmocka_unit_test(test_a_refusal_has_its_reason),
        cmocka_unit_test(test_a_stream_that_is_closed_takes_what_was_on_its_way_with_it),
        cmocka_unit_test(test_an_open_that_was_never_sent_is_forgotten),
        cmocka_unit_test(test_nothing_is_sent_beyond_the_window),
        cmocka_unit_test(test_the_window_grows_with_use_and_stops_at_its_bound),
        cmocka_unit_test(test_a_stream_that_is_not_read_stops_no_other),
        cmocka_unit_test(test_streams_take_turns_and_frames_without_data_go_first),
        cmocka_unit_test(test_more_streams_than_allowed_are_refused_in_words),
        cmocka_unit_test(test_a_peer_that_does_not_hear_refusals_is_cut_off),
        cmocka_unit_test(test_frames_that_break_the_protocol_are_told_apart),
        cmocka_unit_test(test_more_data_than_the_window_is_a_broken_protocol),
        cmocka_unit_test(test_a_reason_of_the_peer_is_made_fit_to_be_shown),
        cmocka_unit_test(test_the_end_of_the_connection_is_told_to_each_stream_once),
        cmocka_unit_test(test_whatever_happens_bytes_come_in_order_and_all_of_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
