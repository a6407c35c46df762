/* Any bytes from a client, in pieces of as many bytes as the first one says (0: all at once), to a server that answers,
 * holds, streams, gives out bodies in pieces, and takes the connection over for a WebSocket whose messages are those of
 * an agent, or for another protocol. When the client is gone, nothing of it may be left in the server's books. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/util.h>

#include "gen/wire.h"
#include "net/http/http_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#define TURNS_MAX 10000
#define MESSAGE_MAX 65536

static struct loop *loop;
static struct http_server *server;

static void require(int holds)
{
    if (!holds)
        abort();
}

/* ---- the server's side ------------------------------------------------------------------------------------------- */

static void on_message(struct ws *w, const void *data, size_t n, bool is_text, void *ctx)
{
    struct arena a cleanup_arena = ARENA_INIT;
    struct error err cleanup_error = ERROR_INIT;
    struct strbuf out cleanup_strbuf = STRBUF_INIT;
    const struct codec_message *m = is_text ? &wire_msg_link_agent_message : &wire_msg_link_master_message;
    void *msg = arena_alloc(&a, m->size);
    require(n <= MESSAGE_MAX);
    if (codec_decode(m, data, n, &a, msg, &err) < 0) {
        ws_close(w, 1008, error_msg(&err));
        return;
    }
    codec_encode(m, msg, &out);
    ws_send(w, out.s, out.n, true);
}

static void on_ws_close(struct ws *w, int code, const char *why, void *ctx)
{
    require(code >= 1000 && strlen(why) < 124);
}

static void on_drained(struct http_request *r, void *ctx)
{
    http_stream_write(r, "some of it ", 11);
    http_stream_end(r);
}

/* Sends back what comes in, and holds every other piece for a while: until the last one has been written. */
static void on_piece(struct http_request *r, const void *data, size_t n, void *ctx)
{
    require(n > 0);
    http_stream_write(r, data, n);
    http_receive_hold(r, n % 2);
}

static void on_written(struct http_request *r, void *ctx)
{
    http_receive_hold(r, false);
}

static void on_body_end(struct http_request *r, void *ctx)
{
    http_stream_end(r);
}

static const struct http_receiver receiver = {.on_data = on_piece, .on_end = on_body_end};

static bool early(struct http_request *r, void *ctx)
{
    return strncmp(http_request_path(r), "/early", 6) == 0;
}

static void answer_early(struct http_request *r)
{
    uint64_t length;
    enum http_framing framing = http_request_framing(r, &length);
    if (strcmp(http_request_path(r), "/early/switch") == 0 && framing == HTTP_NO_BODY) {
        http_switch_protocols(r, on_written);
        http_receive(r, &receiver);
    } else if (framing == HTTP_NO_BODY || strcmp(http_request_path(r), "/early/refuse") == 0) {
        http_reply(r, 200, "text/plain", "no", 2);
    } else {
        http_stream_start_relayed(r, 200, framing, length, on_written);
        http_receive(r, &receiver);
    }
}

static void on_request(struct http_request *r, void *ctx)
{
    static const struct ws_handler handler = {.on_message = on_message,
                                              .on_close = on_ws_close,
                                              .message_max = MESSAGE_MAX};
    struct error err cleanup_error = ERROR_INIT;
    struct ws *w;
    size_t n;
    const void *body = http_request_body(r, &n);
    const char *path = http_request_path(r);
    http_request_cookie(r, "auth");
    require(strlen(http_request_peer(r)) < INET6_ADDRSTRLEN);
    if (early(r, NULL)) {
        answer_early(r);
        return;
    }
    if (strcmp(path, "/hold") == 0)
        return; /* until the client leaves */
    if (strcmp(path, "/stream") == 0)
        http_stream_start(r, 200, "text/plain", on_drained);
    else if (strcmp(path, "/ws") != 0 || http_upgrade_ws(r, &handler, &w, &err) < 0)
        http_reply(r, 200, "text/plain", body, n);
}

static bool has_credentials(struct http_request *r, void *ctx)
{
    const char *token = http_request_header(r, "Authorization");
    return token && strcmp(token, "Bearer good") == 0;
}

static void start_server(void)
{
    struct http_server_options o = {.bind_host = "127.0.0.1",
                                    .on_request = on_request,
                                    .has_credentials = has_credentials,
                                    .early = early,
                                    .limits = {.body_max = 4096,
                                               .anonymous_body_max = 512,
                                               .anonymous_bodies_max = 1024}};
    require(loop_new(&loop, NULL) == 0 && http_server_new(loop, &o, &server, NULL) == 0);
}

/* ---- the client's ------------------------------------------------------------------------------------------------ */

static void run_turns(int times)
{
    while (times-- > 0)
        event_base_loop(loop_base(loop), EVLOOP_NONBLOCK);
}

static void drain_socket(int fd)
{
    char answer[4096];
    while (recv(fd, answer, sizeof(answer), MSG_DONTWAIT) > 0)
        ;
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    if (!server)
        start_server();
    if (n < 1)
        return 0;
    size_t piece = data[0] ? data[0] : n;
    int fd = connect_client();
    for (size_t at = 1; at < n; at += piece) {
        size_t size = n - at < piece ? n - at : piece;
        if (send(fd, data + at, size, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
            break; /* the server has closed */
        run_turns(2);
        drain_socket(fd);
    }
    close(fd);
    for (int i = 0; http_server_connections(server) > 0; i++) {
        require(i < TURNS_MAX);
        run_turns(1);
    }
    require(server->bodies == 0 && server->anonymous_bodies == 0 && server->unread == 0);
    return 0;
}
