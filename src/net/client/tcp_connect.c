#include "net/client/tcp_connect.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/must.h"

enum {
    ADDRESSES_MAX = 16,
    HEAD_START_US = 200000, /* that an address has before the next one is tried beside it */
    LOOK_US = 1000000,      /* how often it is seen whether the caller has abandoned the attempt */
    KEEPALIVE_S = 60,       /* as libcurl has it */
};

union endpoint {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

struct endpoints {
    union endpoint at[ADDRESSES_MAX];
    size_t n;
};

static bool is_abandoned(const struct tcp_connect *c)
{
    return c->abandoned && atomic_load(c->abandoned);
}

/* ---- from a name to addresses ------------------------------------------------------------------------------------ */

static void add_v4(struct endpoints *e, struct in_addr a, int port)
{
    if (e->n < ADDRESSES_MAX)
        e->at[e->n++].v4 = (struct sockaddr_in){.sin_family = AF_INET,
                                                .sin_port = htons((uint16_t)port),
                                                .sin_addr = a};
}

static void add_v6(struct endpoints *e, struct in6_addr a, int port)
{
    if (e->n < ADDRESSES_MAX)
        e->at[e->n++].v6 = (struct sockaddr_in6){.sin6_family = AF_INET6,
                                                 .sin6_port = htons((uint16_t)port),
                                                 .sin6_addr = a};
}

/* Whether the name needs no resolver: an address, or localhost, which is this machine whatever a resolver says (RFC
 * 6761 6.3). */
static bool is_known(const char *host, int port, struct endpoints *ret)
{
    struct in_addr v4;
    struct in6_addr v6;
    if (inet_pton(AF_INET, host, &v4) == 1) {
        add_v4(ret, v4, port);
    } else if (inet_pton(AF_INET6, host, &v6) == 1) {
        add_v6(ret, v6, port);
    } else if (strcasecmp(host, "localhost") == 0) {
        add_v6(ret, in6addr_loopback, port);
        add_v4(ret, (struct in_addr){.s_addr = htonl(INADDR_LOOPBACK)}, port);
    }
    return ret->n > 0;
}

/* Takes the resolver's addresses, with the two families in turn, beginning with the resolver's first. */
static void take_found(const struct addrinfo *found, struct endpoints *ret)
{
    const struct addrinfo *one = found, *other = found;
    int family = found ? found->ai_family : AF_UNSPEC;
    while (ret->n < ADDRESSES_MAX && (one || other)) {
        while (one && one->ai_family != family)
            one = one->ai_next;
        while (other && (other->ai_family == family || other->ai_addrlen > sizeof(ret->at[0])))
            other = other->ai_next;
        if (one) {
            memcpy(&ret->at[ret->n++], one->ai_addr, one->ai_addrlen);
            one = one->ai_next;
        }
        if (other && ret->n < ADDRESSES_MAX) {
            memcpy(&ret->at[ret->n++], other->ai_addr, other->ai_addrlen);
            other = other->ai_next;
        }
    }
}

/* A question to the resolver, which answers from a thread of its own (getaddrinfo_a): getaddrinfo() itself can block
 * for longer than the caller may wait. A question that nobody waits for any more is left to that thread: the C library
 * cannot take it back while it is being asked. */
struct question {
    struct gaicb request;
    struct addrinfo hints;
    char host[NI_MAXHOST], port[8];
};

static struct question *question_new(const char *host, int port)
{
    struct question *q = must_calloc(1, sizeof(*q));
    q->hints = (struct addrinfo){.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    snprintf(q->host, sizeof(q->host), "%s", host);
    snprintf(q->port, sizeof(q->port), "%d", port);
    q->request = (struct gaicb){.ar_name = q->host, .ar_service = q->port, .ar_request = &q->hints};
    return q;
}

static void question_free(struct question *q)
{
    if (gai_error(&q->request) == EAI_INPROGRESS && gai_cancel(&q->request) == EAI_NOTCANCELED)
        return; /* a thread of the C library still writes into it */
    freeaddrinfo(q->request.ar_result);
    free(q);
}

static enum tcp_connect_result await_answer(const struct tcp_connect *c, struct question *q)
{
    const struct gaicb *waited[] = {&q->request};
    while (gai_error(&q->request) == EAI_INPROGRESS) {
        int64_t left_us = c->end_us - clock_monotonic_us();
        if (is_abandoned(c))
            return TCP_ABANDONED;
        if (left_us <= 0)
            return TCP_LATE;
        int64_t wait_us = c->abandoned && left_us > LOOK_US ? LOOK_US : left_us;
        gai_suspend(waited, 1, &(struct timespec){.tv_sec = wait_us / 1000000, .tv_nsec = wait_us % 1000000 * 1000});
    }
    return gai_error(&q->request) == 0 ? TCP_CONNECTED : TCP_UNRESOLVED;
}

static enum tcp_connect_result resolve(const struct tcp_connect *c, struct endpoints *ret)
{
    if (is_known(c->host, c->port, ret))
        return TCP_CONNECTED;
    struct question *q = question_new(c->host, c->port);
    struct gaicb *asked[] = {&q->request};
    enum tcp_connect_result r = TCP_UNRESOLVED;
    if (strlen(c->host) < sizeof(q->host) && getaddrinfo_a(GAI_NOWAIT, asked, 1, NULL) == 0)
        r = await_answer(c, q);
    if (r == TCP_CONNECTED)
        take_found(q->request.ar_result, ret);
    question_free(q);
    return r == TCP_CONNECTED && ret->n == 0 ? TCP_UNRESOLVED : r;
}

/* ---- from addresses to a connection ------------------------------------------------------------------------------ */

struct race {
    const struct tcp_connect *c;
    struct endpoints to;
    size_t next;                         /* the first address that was not tried yet */
    struct pollfd runner[ADDRESSES_MAX]; /* attempts under way */
    size_t runners;
    int64_t next_us; /* when the next address is tried, unless one fails before */
    int error;       /* of the last attempt that failed */
};

static void set_options(int fd)
{
    int on = 1, seconds = KEEPALIVE_S;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &seconds, sizeof(seconds));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &seconds, sizeof(seconds));
}

/* Begins with the next address. Returns the socket if it is connected at once, else -1. */
static int start_next(struct race *r)
{
    const union endpoint *to = &r->to.at[r->next++];
    int fd = socket(to->any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    r->next_us = clock_monotonic_us() + HEAD_START_US;
    if (fd >= 0) {
        set_options(fd);
        if (connect(fd, &to->any, to->any.sa_family == AF_INET ? sizeof(to->v4) : sizeof(to->v6)) == 0)
            return fd;
        if (errno == EINPROGRESS || errno == EINTR) {
            r->runner[r->runners++] = (struct pollfd){.fd = fd, .events = POLLOUT};
            return -1;
        }
    }
    r->error = errno;
    r->next_us = 0;
    if (fd >= 0)
        close(fd);
    return -1;
}

/* Waits until an attempt ends, or something else is to be done. Returns the winner's socket, or -1. */
static int await_runner(struct race *r, int64_t until_us)
{
    int64_t left_us = until_us - clock_monotonic_us();
    if (r->c->abandoned && left_us > LOOK_US)
        left_us = LOOK_US;
    if (poll(r->runner, r->runners, left_us > 0 ? (int)((left_us + 999) / 1000) : 0) <= 0)
        return -1;
    for (size_t i = 0; i < r->runners;) {
        int fd = r->runner[i].fd, error = 0;
        socklen_t n = sizeof(error);
        if (!r->runner[i].revents) {
            i++;
            continue;
        }
        r->runner[i] = r->runner[--r->runners];
        if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &n) == 0 && error == 0)
            return fd;
        close(fd);
        r->error = error;
        r->next_us = 0;
    }
    return -1;
}

static enum tcp_connect_result run_race(struct race *r, int *ret_fd)
{
    for (;;) {
        int fd = -1;
        int64_t now_us = clock_monotonic_us();
        if (is_abandoned(r->c))
            return TCP_ABANDONED;
        if (now_us >= r->c->end_us)
            return TCP_LATE;
        if (r->next < r->to.n && now_us >= r->next_us)
            fd = start_next(r);
        else if (r->runners > 0)
            fd = await_runner(r, r->next < r->to.n && r->next_us < r->c->end_us ? r->next_us : r->c->end_us);
        else
            return TCP_FAILED;
        if (fd >= 0) {
            *ret_fd = fd;
            return TCP_CONNECTED;
        }
    }
}

enum tcp_connect_result tcp_connect(const struct tcp_connect *c, int *ret_fd, int *ret_errno)
{
    struct race r = {.c = c};
    enum tcp_connect_result result = resolve(c, &r.to);
    if (result == TCP_CONNECTED)
        result = run_race(&r, ret_fd);
    for (size_t i = 0; i < r.runners; i++)
        close(r.runner[i].fd);
    if (result == TCP_FAILED)
        *ret_errno = r.error;
    return result;
}
