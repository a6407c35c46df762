/* A server on a loop in a thread of its own, and raw sockets to talk to it: for tests that must send what no client
 * sends, or leave when no client leaves. Tests wait for a state (served_await), never for a time. */
#ifndef DET_TESTS_UNIT_NET_SERVED_H
#define DET_TESTS_UNIT_NET_SERVED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "net/http/http.h"

#define PATIENCE_S 30

struct served {
    struct loop *loop;
    struct http_server *server;
    struct error err;
    pthread_t thread;
    int port;
    pthread_mutex_t mutex; /* guards the counters */
    pthread_cond_t changed;
    int handled, held, closed, opened, messages, ended;
};

static inline void served_count(struct served *s, int *counter, int by)
{
    pthread_mutex_lock(&s->mutex);
    *counter += by;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->mutex);
}

static inline void served_await(struct served *s, const int *counter, int value)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_S;
    pthread_mutex_lock(&s->mutex);
    int rc = 0;
    while (*counter != value && rc == 0)
        rc = pthread_cond_timedwait(&s->changed, &s->mutex, &until);
    int seen = *counter;
    pthread_mutex_unlock(&s->mutex);
    assert_int_equal(seen, value);
}

static inline void *served_main(void *ctx)
{
    struct served *s = ctx;
    loop_run(s->loop, NULL);
    return NULL;
}

static inline void served_start(struct served *s, const struct http_server_options *o)
{
    memset(s, 0, sizeof(*s));
    pthread_mutex_init(&s->mutex, NULL);
    pthread_cond_init(&s->changed, NULL);
    struct http_server_options options = *o;
    options.ctx = s;
    if (!options.bind_host)
        options.bind_host = "127.0.0.1";
    assert_int_equal(loop_new(&s->loop, &s->err), 0);
    if (http_server_new(s->loop, &options, &s->server, &s->err) < 0)
        fail_msg("%s", error_msg(&s->err));
    s->port = http_server_port(s->server);
    assert_int_equal(pthread_create(&s->thread, NULL, served_main, s), 0);
}

static inline void served_stop_loop(void *ctx)
{
    struct served *s = ctx;
    loop_stop(s->loop);
}

static inline void served_stop(struct served *s)
{
    loop_post(s->loop, served_stop_loop, s);
    pthread_join(s->thread, NULL);
    http_server_free(s->server);
    loop_free(s->loop);
    pthread_mutex_destroy(&s->mutex);
    pthread_cond_destroy(&s->changed);
}

/* ---- raw sockets ------------------------------------------------------------------------------------------------- */

static inline int raw_connect(int port)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    struct timeval patience = {.tv_sec = PATIENCE_S};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
    return fd;
}

static inline void raw_send_bytes(int fd, const void *data, size_t n)
{
    while (n > 0) {
        ssize_t sent = send(fd, data, n, MSG_NOSIGNAL);
        assert_true(sent > 0);
        data = (const char *)data + sent;
        n -= (size_t)sent;
    }
}

static inline void raw_send(int fd, const char *text)
{
    raw_send_bytes(fd, text, strlen(text));
}

/* Resets the connection instead of ending it. */
static inline void raw_reset(int fd)
{
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &(struct linger){.l_onoff = 1}, sizeof(struct linger));
    close(fd);
}

static inline bool raw_at_end(int fd)
{
    char byte;
    return recv(fd, &byte, 1, 0) <= 0;
}

struct raw_reply {
    int status;
    char head[8192];
    char body[262144];
    size_t body_n;
};

static inline void raw_read_exactly(int fd, char *buf, size_t n)
{
    for (size_t got = 0; got < n;) {
        ssize_t r = recv(fd, buf + got, n - got, 0);
        assert_true(r > 0);
        got += (size_t)r;
    }
}

/* Byte by byte up to the empty line, so that nothing of the next reply is swallowed. */
static inline void raw_read_head(int fd, struct raw_reply *ret)
{
    size_t n = 0;
    while (n < 4 || memcmp(ret->head + n - 4, "\r\n\r\n", 4) != 0) {
        assert_true(n + 1 < sizeof(ret->head));
        raw_read_exactly(fd, ret->head + n, 1);
        n++;
    }
    ret->head[n] = '\0';
    assert_int_equal(sscanf(ret->head, "HTTP/1.1 %d", &ret->status), 1);
}

static inline void raw_read_line(int fd, char *line, size_t size)
{
    size_t n = 0;
    do {
        assert_true(n + 1 < size);
        raw_read_exactly(fd, line + n, 1);
    } while (line[n++] != '\n');
    line[n] = '\0';
}

static inline void raw_read_chunks(int fd, struct raw_reply *ret)
{
    char line[64];
    size_t n;
    do {
        raw_read_line(fd, line, sizeof(line));
        n = strtoul(line, NULL, 16);
        assert_true(ret->body_n + n < sizeof(ret->body));
        raw_read_exactly(fd, ret->body + ret->body_n, n);
        ret->body_n += n;
        raw_read_line(fd, line, sizeof(line));
        assert_string_equal(line, "\r\n");
    } while (n > 0);
}

/* One whole reply, by Content-Length or chunks; `no_body` for answers to HEAD. */
static inline void raw_read_reply_to(int fd, bool no_body, struct raw_reply *ret)
{
    memset(ret, 0, sizeof(*ret));
    raw_read_head(fd, ret);
    const char *length = strstr(ret->head, "Content-Length: ");
    if (no_body)
        return;
    if (strstr(ret->head, "Transfer-Encoding: chunked")) {
        raw_read_chunks(fd, ret);
    } else if (length) {
        ret->body_n = strtoul(length + 16, NULL, 10);
        assert_true(ret->body_n < sizeof(ret->body));
        raw_read_exactly(fd, ret->body, ret->body_n);
    }
}

static inline void raw_read_reply(int fd, struct raw_reply *ret)
{
    raw_read_reply_to(fd, /* no_body= */ false, ret);
}

#endif
