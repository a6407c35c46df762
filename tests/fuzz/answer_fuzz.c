/* Any bytes as what a task answers, in pieces of as many bytes as the first one says (0: all at once), through a relay
 * to a client. What the client is given must be answers that our own reader takes, and nothing may be left when it has
 * gone. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/util.h>

#include "net/http/http_internal.h"
#include "net/relay/relay.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#define TURNS_MAX 10000

static struct loop *loop;
static struct http_server *server;
static struct relays *relays;
static struct byte_streams *streams;
static int task; /* the task's end of the stream */

static void require(int holds)
{
    if (!holds)
        abort();
}

/* ---- the server's side ------------------------------------------------------------------------------------------- */

static int open_stream(void *ctx, const struct byte_stream_handler *h, struct byte_stream **ret, struct error *err)
{
    int pair[2];
    require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
    task = pair[1];
    *ret = byte_stream_of_fd(streams, pair[0], pair[0], h);
    return 0;
}

static void on_ready(void *ctx, int status, const char *why)
{
    require(0); /* a stream of a descriptor is open from its beginning */
}

static void on_headers(struct http_request *http, const struct http1_answer *a, void *ctx)
{
    require(a->status >= 100 && a->status < 600 && a->header_n <= HTTP1_HEADERS_MAX && !(a->chunked && a->has_length));
    for (size_t i = 0; i < a->header_n; i++)
        require(!strpbrk(a->header[i].name, " \t\r\n:") && !strpbrk(a->header[i].value, "\r\n"));
}

static void on_failed(struct http_request *http, int status, const char *why, void *ctx)
{
    http_reply(http, status, "text/plain", why, strlen(why));
}

static void on_done(void *ctx)
{
}

static void on_request(struct http_request *r, void *ctx)
{
    static const char head[] = "GET / HTTP/1.1\r\n\r\n";
    struct relay *x;
    const struct relay_options o = {.open = open_stream,
                                    .head = head,
                                    .head_n = sizeof(head) - 1,
                                    .upgrade = http_request_header(r, "Upgrade") != NULL,
                                    .head_max = 4096,
                                    .ready = on_ready,
                                    .headers = on_headers,
                                    .failed = on_failed,
                                    .done = on_done};
    require(relay_open(relays, &o, &x, NULL) == 0);
    relay_take(x, r);
}

static bool early(struct http_request *r, void *ctx)
{
    return true;
}

static void start_server(void)
{
    struct http_server_options o = {.bind_host = "127.0.0.1", .on_request = on_request, .early = early};
    require(loop_new(&loop, NULL) == 0 && http_server_new(loop, &o, &server, NULL) == 0);
    streams = byte_streams_new(loop);
    relays = relays_new(loop);
}

/* ---- the client's and the task's --------------------------------------------------------------------------------- */

static void run_turns(int times)
{
    while (times-- > 0)
        event_base_loop(loop_base(loop), EVLOOP_NONBLOCK);
}

static void drain(int fd, char *seen, size_t *seen_n, size_t max)
{
    char bytes[4096];
    ssize_t n;
    while ((n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT)) > 0)
        for (ssize_t i = 0; i < n && *seen_n < max; i++)
            seen[(*seen_n)++] = bytes[i];
}

static int connect_client(void)
{
    int pair[2];
    require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
    evutil_make_socket_nonblocking(pair[0]);
    struct bufferevent *bev = bufferevent_socket_new(loop_base(loop), pair[0], BEV_OPT_CLOSE_ON_FREE);
    require(bev && conn_new(server, bev, pair[0]));
    return pair[1];
}

/* What the client has got begins with a head that our own reader takes, after interim answers. */
static void check_seen(char *seen, size_t n)
{
    for (;;) {
        struct http1_answer a;
        const char *end = n ? memmem(seen, n, "\r\n\r\n", 4) : NULL;
        if (!end)
            return;
        size_t head_n = (size_t)(end + 4 - seen);
        require(http1_parse_answer(seen, head_n, &a, NULL) == 0);
        if (a.status >= 200 || a.status == 101)
            return;
        seen += head_n;
        n -= head_n;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const char *const requests[] = {
        "GET / HTTP/1.1\r\nHost: h\r\n\r\n", "HEAD / HTTP/1.1\r\nHost: h\r\n\r\n", "GET / HTTP/1.0\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"};
    static char seen[65536];
    size_t seen_n = 0, ignored_n = 0;
    char ignored[1];
    if (!server)
        start_server();
    if (n < 2)
        return 0;
    const char *request = requests[data[1] % (sizeof(requests) / sizeof(*requests))];
    size_t piece = data[0] ? data[0] : n;
    task = -1;
    int fd = connect_client();
    require(send(fd, request, strlen(request), MSG_NOSIGNAL) > 0);
    for (int i = 0; task < 0; i++) {
        require(i < TURNS_MAX);
        run_turns(1);
    }
    for (size_t at = 2; at < n; at += piece) {
        size_t size = n - at < piece ? n - at : piece;
        if (send(task, data + at, size, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
            break; /* the relay has closed */
        run_turns(2);
        drain(fd, seen, &seen_n, sizeof(seen));
        drain(task, ignored, &ignored_n, 0);
    }
    shutdown(task, SHUT_WR);
    run_turns(4);
    drain(fd, seen, &seen_n, sizeof(seen));
    check_seen(seen, seen_n);
    close(fd);
    close(task);
    for (int i = 0; http_server_connections(server) > 0 || relays_count(relays) > 0; i++) {
        require(i < TURNS_MAX);
        run_turns(1);
    }
    return 0;
}
