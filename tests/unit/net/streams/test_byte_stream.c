#include "net/served.h"

#include <sys/queue.h>

#include "common/base/must.h"
#include "net/streams/mux_link.h"
#include "net/streams/stream_join.h"

/* ---- a loop in a thread, and streams whose other ends are ordinary sockets --------------------------------------- */

static struct loop *loop;
static struct byte_streams *all;
static pthread_t thread;

static void *run_loop(void *ctx)
{
    loop_run(loop, NULL);
    return NULL;
}

static void start(void)
{
    assert_int_equal(loop_new(&loop, NULL), 0);
    all = byte_streams_new(loop);
    assert_int_equal(pthread_create(&thread, NULL, run_loop, NULL), 0);
}

static void stop_loop(void *ctx)
{
    loop_stop(loop);
}

static void stop(void)
{
    loop_post(loop, stop_loop, NULL);
    pthread_join(thread, NULL);
    byte_streams_free(all);
    loop_free(loop);
}

struct call {
    void (*fn)(void *ctx);
    void *ctx;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool done;
};

static void run_call(void *ctx)
{
    struct call *c = ctx;
    c->fn(c->ctx);
    pthread_mutex_lock(&c->mutex);
    c->done = true;
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->mutex);
}

/* Runs fn on the loop, and waits for it. */
static void on_loop(void (*fn)(void *ctx), void *ctx)
{
    struct call c = {.fn = fn, .ctx = ctx};
    pthread_mutex_init(&c.mutex, NULL);
    pthread_cond_init(&c.changed, NULL);
    loop_post(loop, run_call, &c);
    pthread_mutex_lock(&c.mutex);
    while (!c.done)
        pthread_cond_wait(&c.changed, &c.mutex);
    pthread_mutex_unlock(&c.mutex);
    pthread_mutex_destroy(&c.mutex);
    pthread_cond_destroy(&c.changed);
}

static void make_pair(int fd[2])
{
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd), 0);
    struct timeval patience = {.tv_sec = PATIENCE_S};
    setsockopt(fd[0], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    setsockopt(fd[0], SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
}

/* What happened to a stream, for the test's thread to wait for. */
struct seen {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    int opened, ended, closed;
    size_t got;
    char why[300];
    struct byte_stream *s;
    int port, written;
};

static void seen_init(struct seen *e)
{
    memset(e, 0, sizeof(*e));
    pthread_mutex_init(&e->mutex, NULL);
    pthread_cond_init(&e->changed, NULL);
}

static void count(struct seen *e, int *counter)
{
    pthread_mutex_lock(&e->mutex);
    ++*counter;
    pthread_cond_broadcast(&e->changed);
    pthread_mutex_unlock(&e->mutex);
}

static void await(struct seen *e, const int *counter)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_S;
    pthread_mutex_lock(&e->mutex);
    int rc = 0;
    while (*counter == 0 && rc == 0)
        rc = pthread_cond_timedwait(&e->changed, &e->mutex, &until);
    int value = *counter;
    pthread_mutex_unlock(&e->mutex);
    assert_int_equal(value, 1);
}

static void on_open(struct byte_stream *s, void *ctx)
{
    struct seen *e = ctx;
    count(e, &e->opened);
}

static void on_data(struct byte_stream *s, const void *data, size_t n, void *ctx)
{
    struct seen *e = ctx;
    e->got += n;
    byte_stream_write(s, data, n); /* an echo */
    if (byte_stream_pending(s) > BYTE_STREAM_WAITS)
        byte_stream_hold(s, true);
}

static void on_drained(struct byte_stream *s, void *ctx)
{
    byte_stream_hold(s, false);
}

static void on_end(struct byte_stream *s, void *ctx)
{
    struct seen *e = ctx;
    byte_stream_end(s);
    count(e, &e->ended);
}

static void on_close(struct byte_stream *s, const char *why, void *ctx)
{
    struct seen *e = ctx;
    snprintf(e->why, sizeof(e->why), "%s", why ? why : "");
    count(e, &e->closed);
}

static struct byte_stream_handler echo(struct seen *e)
{
    return (struct byte_stream_handler){.on_open = on_open,
                                        .on_data = on_data,
                                        .on_drained = on_drained,
                                        .on_end = on_end,
                                        .on_close = on_close,
                                        .ctx = e};
}

/* ---- TCP --------------------------------------------------------------------------------------------------------- */

static int listen_anywhere(int *ret_port)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof(at);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0 && bind(fd, (struct sockaddr *)&at, n) == 0 && listen(fd, 4) == 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &n), 0);
    *ret_port = ntohs(at.sin_port);
    return fd;
}

static void dial(void *ctx)
{
    struct seen *e = ctx;
    struct byte_stream_handler h = echo(e);
    assert_int_equal(byte_stream_dial(all, "127.0.0.1", e->port, 10, &h, &e->s, NULL), 0);
    byte_stream_write(e->s, "early ", 6);
}

static void test_byte_stream_dial__carries_what_was_written_before_it_was_open(void **state)
{
    struct seen e;
    char text[32] = "";
    seen_init(&e);
    start();
    int listener = listen_anywhere(&e.port);
    on_loop(dial, &e);
    int fd = accept(listener, NULL, NULL);
    await(&e, &e.opened);
    raw_read_exactly(fd, text, 6);
    raw_send(fd, "hello");
    raw_read_exactly(fd, text + 6, 5);
    assert_string_equal(text, "early hello");
    shutdown(fd, SHUT_WR);
    assert_true(raw_at_end(fd));
    await(&e, &e.closed);
    assert_string_equal(e.why, "");
    close(fd);
    close(listener);
    stop();
}

static void test_byte_stream_dial__says_which_port_does_not_answer(void **state)
{
    struct seen e;
    seen_init(&e);
    start();
    close(listen_anywhere(&e.port));
    on_loop(dial, &e);
    await(&e, &e.closed);
    assert_non_null(strstr(e.why, "no program answers at port"));
    assert_non_null(strstr(e.why, "Connection refused"));
    assert_int_equal(byte_streams_stats(all).failed, 1);
    stop();
}

static void test_byte_stream_dial__takes_numeric_addresses_only(void **state)
{
    struct byte_stream *s;
    struct error err cleanup_error = ERROR_INIT;
    const struct byte_stream_handler none = {0};
    start();
    assert_int_equal(byte_stream_dial(all, "localhost", 80, 1, &none, &s, &err), -1);
    assert_non_null(strstr(error_msg(&err), "'localhost' is not a numeric IP address"));
    stop();
}

/* A user who drops the stream within each of its callbacks. */
static void drop_it(struct byte_stream *s, void *ctx)
{
    byte_stream_drop(s);
    count(ctx, &((struct seen *)ctx)->closed);
}

static void drop_at_data(struct byte_stream *s, const void *data, size_t n, void *ctx)
{
    byte_stream_write(s, data, n);
    drop_it(s, ctx);
}

static void take_fd(void *ctx)
{
    struct seen *e = ctx;
    struct byte_stream_handler h = {.on_data = drop_at_data, .on_end = drop_it, .ctx = e};
    e->s = byte_stream_of_fd(all, e->port, e->port, &h);
}

static void test_byte_stream_drop__within_a_callback(void **state)
{
    for (int at_data = 0; at_data < 2; at_data++) {
        struct seen e;
        int fd[2];
        seen_init(&e);
        start();
        make_pair(fd);
        e.port = fd[1];
        on_loop(take_fd, &e);
        if (at_data)
            raw_send(fd[0], "x");
        else
            shutdown(fd[0], SHUT_WR);
        await(&e, &e.closed);
        assert_int_equal(byte_streams_stats(all).open, 0);
        close(fd[0]);
        stop();
    }
}

/* ---- two joined streams ------------------------------------------------------------------------------------------ */

struct joined {
    int a, b; /* descriptors of the streams */
    struct seen over;
    int failed;
};

static void on_over(void *ctx, int failed, const char *why)
{
    struct joined *j = ctx;
    j->failed = failed;
    on_close(NULL, why, &j->over);
}

static void join_fds(void *ctx)
{
    struct joined *j = ctx;
    const struct byte_stream_handler none = {0};
    struct byte_stream *a = byte_stream_of_fd(all, j->a, j->a, &none), *b = byte_stream_of_fd(all, j->b, j->b, &none);
    stream_join(all, a, b, on_over, j);
}

static void start_join(struct joined *j, int a[2], int b[2])
{
    start();
    make_pair(a);
    make_pair(b);
    seen_init(&j->over);
    j->a = a[1];
    j->b = b[1];
    on_loop(join_fds, j);
}

static void *pour(void *ctx)
{
    static char zeros[65536];
    for (int i = 0; i < 256; i++)
        raw_send_bytes(*(int *)ctx, zeros, sizeof(zeros));
    shutdown(*(int *)ctx, SHUT_WR);
    return NULL;
}

static void test_stream_join__carries_all_and_ends_each_direction_by_itself(void **state)
{
    struct joined j;
    int a[2], b[2];
    pthread_t pourer;
    static char data[65536];
    size_t got = 0;
    start_join(&j, a, b);
    assert_int_equal(pthread_create(&pourer, NULL, pour, &a[0]), 0);
    for (ssize_t n; (n = recv(b[0], data, sizeof(data), 0)) > 0;)
        got += (size_t)n;
    pthread_join(pourer, NULL);
    assert_int_equal(got, 256 * 65536);
    raw_send(b[0], "answer");
    raw_read_exactly(a[0], data, 6);
    close(b[0]);
    assert_true(raw_at_end(a[0]));
    await(&j.over, &j.over.closed);
    assert_string_equal(j.over.why, "");
    close(a[0]);
    stop();
}

static bool would_block(int fd)
{
    static char zeros[65536];
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    size_t sent = 0;
    while (sent < 64 * 1024 * 1024 && poll(&p, 1, /* ms= */ 500) > 0) {
        ssize_t n = send(fd, zeros, sizeof(zeros), MSG_NOSIGNAL | MSG_DONTWAIT);
        sent += n > 0 ? (size_t)n : 0;
    }
    return sent < 8 * 1024 * 1024;
}

static void test_stream_join__a_side_that_does_not_read_holds_the_other(void **state)
{
    struct joined j;
    int a[2], b[2];
    start_join(&j, a, b);
    assert_true(would_block(a[0]));
    close(a[0]);
    close(b[0]);
    await(&j.over, &j.over.closed);
    stop();
}

static void test_stream_join__ends_with_the_loop(void **state)
{
    struct joined j;
    int a[2], b[2];
    start_join(&j, a, b);
    raw_send(a[0], "x");
    stop();
    assert_int_equal(j.over.closed, 0);
    close(a[0]);
    close(b[0]);
}

/* ---- a peer that answers and closes without reading -------------------------------------------------------------- */

static void keep_answer(struct byte_stream *s, const void *data, size_t n, void *ctx)
{
    struct seen *e = ctx;
    e->got += n;
}

static void dial_and_send(void *ctx)
{
    static const char much[1 << 20];
    struct seen *e = ctx;
    struct byte_stream_handler h = {.on_data = keep_answer, .on_close = on_close, .ctx = e};
    assert_int_equal(byte_stream_dial(all, "127.0.0.1", e->port, 10, &h, &e->s, NULL), 0);
    byte_stream_hold(e->s, true); /* so that it is writing that fails */
    byte_stream_write(e->s, much, sizeof(much));
}

static void write_more(void *ctx)
{
    byte_stream_write(((struct seen *)ctx)->s, "more", 4);
    byte_stream_write(((struct seen *)ctx)->s, "and more", 8);
}

static void take_all(void *ctx)
{
    byte_stream_hold(((struct seen *)ctx)->s, false);
}

static void test_byte_stream_dial__an_answer_is_read_though_writing_has_failed(void **state)
{
    struct seen e;
    char some[1000];
    seen_init(&e);
    start();
    int listening = listen_anywhere(&e.port);
    on_loop(dial_and_send, &e);
    int fd = accept(listening, NULL, NULL);
    assert_true(fd >= 0);
    raw_read_exactly(fd, some, sizeof(some));
    raw_send(fd, "too much");
    close(fd); /* with bytes unread, which resets the connection */
    on_loop(write_more, &e);
    on_loop(take_all, &e);
    await(&e, &e.closed);
    assert_int_equal(e.got, 8);
    assert_true(*e.why);
    close(listening);
    stop();
}

/* ---- the streams of a link --------------------------------------------------------------------------------------- */

struct frame {
    STAILQ_ENTRY(frame) next;
    size_t n;
    char data[];
};

struct wire { /* one direction of a connection that is not there */
    struct mux_link *to;
    STAILQ_HEAD(, frame) frames;
    size_t waiting, waiting_most;
    bool posted, cut;
};

static struct wire wires[2]; /* 0: from the opener, 1: from the accepter */
static struct mux_link *link_of[2];
static struct seen asked;

static void deliver(void *ctx)
{
    struct wire *w = ctx;
    struct frame *f;
    w->posted = false;
    while ((f = STAILQ_FIRST(&w->frames))) {
        STAILQ_REMOVE_HEAD(&w->frames, next);
        w->waiting -= f->n;
        assert_int_equal(mux_link_receive(w->to, f->data, f->n, NULL), 0);
        free(f);
    }
    if (link_of[w == &wires[1]])
        mux_link_drained(link_of[w == &wires[1]]);
}

static void send_frame(void *ctx, const struct mux_frame *sent)
{
    struct wire *w = ctx;
    size_t n = MUX_HEAD + sent->body_n;
    struct frame *f = must_malloc(sizeof(*f) + n);
    f->n = n;
    memcpy(f->data, sent->head, MUX_HEAD);
    if (sent->body_n)
        memcpy(f->data + MUX_HEAD, sent->body, sent->body_n);
    STAILQ_INSERT_TAIL(&w->frames, f, next);
    w->waiting += n;
    w->waiting_most = w->waiting > w->waiting_most ? w->waiting : w->waiting_most;
    if (!w->posted)
        loop_post(loop, deliver, w);
    w->posted = true;
}

static size_t waiting(void *ctx)
{
    return ((struct wire *)ctx)->waiting;
}

static void on_asked(void *ctx, struct byte_stream *s, const char *name)
{
    if (strcmp(name, "no:1") == 0) {
        mux_link_refuse(s, "nobody is at home");
        return;
    }
    struct byte_stream_handler h = echo(&asked);
    byte_stream_set_handler(s, &h);
    mux_link_accept(s);
}

static void make_links(void *ctx)
{
    for (int i = 0; i < 2; i++) {
        memset(&wires[i], 0, sizeof(wires[i]));
        STAILQ_INIT(&wires[i].frames);
        link_of[i] = mux_link_new(all, &(struct mux_link_options){.opens = i == 0,
                                                                  .streams_max = 100,
                                                                  .on_asked = on_asked,
                                                                  .send = send_frame,
                                                                  .waiting = waiting,
                                                                  .ctx = &wires[i]});
    }
    wires[0].to = link_of[1];
    wires[1].to = link_of[0];
}

static void end_links(void *ctx)
{
    for (int i = 0; i < 2; i++) {
        mux_link_end(link_of[i], "the agent was restarted");
        deliver(&wires[i]);
    }
    for (int i = 0; i < 2; i++) {
        mux_link_free(link_of[i]);
        link_of[i] = NULL;
    }
}

static void join_linked(void *ctx)
{
    struct joined *j = ctx;
    const struct byte_stream_handler none = {0};
    struct byte_stream *a = byte_stream_of_fd(all, j->a, j->a, &none), *b;
    assert_int_equal(mux_link_open(link_of[0], "place:80", PATIENCE_S, &none, &b, NULL), 0);
    stream_join(all, a, b, on_over, j);
}

static void start_linked(struct joined *j, int fd[2])
{
    start();
    seen_init(&asked);
    seen_init(&j->over);
    on_loop(make_links, NULL);
    make_pair(fd);
    j->a = fd[1];
    on_loop(join_linked, j);
}

static void test_mux_link__an_echo_through_it(void **state)
{
    struct joined j;
    int fd[2];
    pthread_t pourer;
    static char data[65536];
    size_t got = 0;
    start_linked(&j, fd);
    assert_int_equal(pthread_create(&pourer, NULL, pour, &fd[0]), 0);
    for (ssize_t n; (n = recv(fd[0], data, sizeof(data), 0)) > 0;)
        got += (size_t)n;
    pthread_join(pourer, NULL);
    assert_int_equal(got, 256 * 65536);
    await(&j.over, &j.over.closed);
    await(&asked, &asked.closed);
    assert_true(!*j.over.why && !*asked.why);
    on_loop(end_links, NULL);
    close(fd[0]);
    stop();
}

static void test_mux_link__a_user_who_does_not_read_holds_the_far_side(void **state)
{
    struct joined j;
    int fd[2];
    start_linked(&j, fd);
    assert_true(would_block(fd[0])); /* the echo comes back, and nobody takes it */
    on_loop(end_links, NULL);
    close(fd[0]);
    stop();
}

static void test_mux_link__its_end_is_the_end_of_each_stream_in_words(void **state)
{
    struct joined j;
    int fd[2];
    char byte;
    start_linked(&j, fd);
    raw_send(fd[0], "x");
    raw_read_exactly(fd[0], &byte, 1);
    on_loop(end_links, NULL);
    await(&j.over, &j.over.closed);
    assert_string_equal(j.over.why, "the agent was restarted");
    assert_int_equal(j.failed, 1);
    assert_true(raw_at_end(fd[0]));
    assert_string_equal(asked.why, "the agent was restarted");
    close(fd[0]);
    stop();
}

static void open_refused(void *ctx)
{
    struct seen *e = ctx;
    struct byte_stream_handler h = echo(e);
    assert_int_equal(mux_link_open(link_of[0], "no:1", PATIENCE_S, &h, &e->s, NULL), 0);
    byte_stream_join_group(e->s, "task");
    assert_int_equal(byte_streams_count_group(all, "task"), 1);
}

static void test_mux_link__a_refusal_comes_with_its_reason(void **state)
{
    struct seen e;
    seen_init(&e);
    start();
    on_loop(make_links, NULL);
    on_loop(open_refused, &e);
    await(&e, &e.closed);
    assert_int_equal(e.opened, 0);
    assert_string_equal(e.why, "nobody is at home");
    assert_int_equal(byte_streams_count_group(all, "task"), 0);
    on_loop(end_links, NULL);
    stop();
}

enum { POURING = 16, POURED_PIECES = 16 };

/* Every stream is given as much as it takes, at once and again whenever it is empty. */
static void pour_on(struct byte_stream *s, void *ctx)
{
    static const char data[256 * 1024];
    struct seen *e = ctx;
    while (e->written < POURED_PIECES && byte_stream_pending(s) == 0) {
        e->written++;
        byte_stream_write(s, data, sizeof(data));
    }
    if (e->written == POURED_PIECES && byte_stream_pending(s) == 0)
        byte_stream_end(s);
}

static void count_data(struct byte_stream *s, const void *data, size_t n, void *ctx)
{
    ((struct seen *)ctx)->got += n;
}

static void pour_into_many(void *ctx)
{
    struct seen *e = ctx;
    for (int i = 0; i < POURING; i++) {
        struct byte_stream_handler h = echo(&e[i]);
        h.on_open = h.on_drained = pour_on;
        h.on_data = count_data;
        assert_int_equal(mux_link_open(link_of[0], "place:80", PATIENCE_S, &h, &e[i].s, NULL), 0);
    }
}

/* What bounds how late an order or a log line is that is given to the connection while streams carry as much as they
 * can. */
static void test_mux_link__little_waits_before_an_order(void **state)
{
    static struct seen e[POURING];
    start();
    seen_init(&asked);
    for (int i = 0; i < POURING; i++)
        seen_init(&e[i]);
    on_loop(make_links, NULL);
    on_loop(pour_into_many, e);
    for (int i = 0; i < POURING; i++)
        await(&e[i], &e[i].closed);
    for (int i = 0; i < POURING; i++)
        assert_int_equal(e[i].got, POURED_PIECES * 256 * 1024);
    assert_true(wires[0].waiting_most > MUX_LINK_WAITS_MAX); /* the link was full */
    for (int i = 0; i < 2; i++)
        assert_true(wires[i].waiting_most < MUX_LINK_WAITS_MAX + MUX_FRAME_MAX);
    assert_true(MUX_LINK_WAITS_MAX + MUX_FRAME_MAX <= 128 * 1024); /* 10 ms at 100 Mbit/s */
    on_loop(end_links, NULL);
    stop();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_byte_stream_dial__carries_what_was_written_before_it_was_open),
        cmocka_unit_test(test_byte_stream_dial__says_which_port_does_not_answer),
        cmocka_unit_test(test_byte_stream_dial__takes_numeric_addresses_only),
        cmocka_unit_test(test_byte_stream_drop__within_a_callback),
        cmocka_unit_test(test_byte_stream_dial__an_answer_is_read_though_writing_has_failed),
        cmocka_unit_test(test_stream_join__carries_all_and_ends_each_direction_by_itself),
        cmocka_unit_test(test_stream_join__a_side_that_does_not_read_holds_the_other),
        cmocka_unit_test(test_stream_join__ends_with_the_loop),
        cmocka_unit_test(test_mux_link__an_echo_through_it),
        cmocka_unit_test(test_mux_link__a_user_who_does_not_read_holds_the_far_side),
        cmocka_unit_test(test_mux_link__its_end_is_the_end_of_each_stream_in_words),
        cmocka_unit_test(test_mux_link__a_refusal_comes_with_its_reason),
        cmocka_unit_test(test_mux_link__little_waits_before_an_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
