/* Any bytes as what answers an agent that dials its master's WebSocket: the head of the take-over (a proxy's refusal,
 * some other server, a redirect …) and then frames. `@ACCEPT@` in them becomes the one right Sec-WebSocket-Accept,
 * which no fuzzer guesses. However it goes, on_close comes exactly once. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/event.h>

#include "common/base/strbuf.h"
#include "net/websocket/ws_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#define TURNS_MAX 100000
#define MESSAGE_MAX 65536

static struct loop *loop;
static int listener, closed;
static char url[64];

static void require(int holds)
{
    if (!holds)
        abort();
}

static void on_open(struct ws *w, void *ctx)
{
    require(closed == 0);
    ws_send(w, "{\"hello\":{}}", 12, true);
}

static void on_message(struct ws *w, const void *data, size_t n, bool is_text, void *ctx)
{
    require(closed == 0 && n <= MESSAGE_MAX);
    ws_send(w, data, n, is_text);
}

static void on_close(struct ws *w, int code, const char *why, void *ctx)
{
    require(code > 0 && strlen(why) < 600);
    closed++;
}

static void start_listener(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(at);
    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    require(bind(listener, (struct sockaddr *)&at, size) == 0 && listen(listener, 16) == 0);
    require(getsockname(listener, (struct sockaddr *)&at, &size) == 0 && loop_new(&loop, NULL) == 0);
    snprintf(url, sizeof(url), "ws://127.0.0.1:%d/agents?id=a", ntohs(at.sin_port));
}

static void run_turn(void)
{
    event_base_loop(loop_base(loop), EVLOOP_NONBLOCK);
}

/* Accepts the client and reads its whole request. */
static int accept_client(char *request, size_t size)
{
    int fd = -1;
    size_t n = 0;
    for (int i = 0; fd < 0; i++, run_turn())
        require(i < TURNS_MAX && (fd = accept(listener, NULL, NULL), true));
    for (int i = 0; n == 0 || !memmem(request, n, "\r\n\r\n", 4); i++, run_turn()) {
        ssize_t got = recv(fd, request + n, size - 1 - n, MSG_DONTWAIT);
        n += got > 0 ? (size_t)got : 0;
        require(i < TURNS_MAX && n < size - 1);
    }
    request[n] = '\0';
    return fd;
}

static void expect_key(const char *request, char ret[WS_ACCEPT_MAX])
{
    const char *key = strstr(request, "Sec-WebSocket-Key: ");
    require(key != NULL);
    char text[64];
    snprintf(text, sizeof(text), "%.24s", key + strlen("Sec-WebSocket-Key: "));
    ws_accept_key(text, ret);
}

static void answer_dial(int fd, const uint8_t *data, size_t n, const char *accept_key)
{
    struct strbuf out cleanup_strbuf = STRBUF_INIT;
    const uint8_t *mark = n ? memmem(data, n, "@ACCEPT@", 8) : NULL;
    size_t before = mark ? (size_t)(mark - data) : n;
    strbuf_add(&out, data, before);
    if (mark) {
        strbuf_adds(&out, accept_key);
        strbuf_add(&out, mark + 8, n - before - 8);
    }
    if (out.n)
        send(fd, out.s, out.n, MSG_NOSIGNAL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct ws_handler h = {.on_open = on_open,
                           .on_message = on_message,
                           .on_close = on_close,
                           .message_max = MESSAGE_MAX};
    char request[4096], key[WS_ACCEPT_MAX];
    struct ws *w;
    if (!loop)
        start_listener();
    closed = 0;
    require(ws_connect(loop, &(struct ws_client_options){.url = url, .connect_timeout_s = 10}, &h, &w, NULL) == 0);
    int fd = accept_client(request, sizeof(request));
    expect_key(request, key);
    answer_dial(fd, data, n, key);
    run_turn();
    run_turn();
    /* A reset instead of an orderly end would leave no TIME_WAIT, but could overtake the answer. */
    shutdown(fd, SHUT_WR);
    for (int i = 0; closed == 0; i++, run_turn())
        require(i < TURNS_MAX);
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &(struct linger){1, 0}, sizeof(struct linger));
    close(fd);
    require(closed == 1);
    return 0;
}
