#include "cli/connection/publish.h"

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/connection/api_internal.h"
#include "cli/connection/port.h"
#include "common/base/cleanup.h"
#include "common/base/must.h"
#include "common/json/json.h"
#include "gen/experiment_config.h"
#include "net/loop/loop.h"
#include "net/streams/stream_join.h"
#include "net/streams/ws_stream.h"

struct published {
    struct publish *of;
    int local, remote, fd;
    char *url, *authorization;
    const char *header[2];
    struct loop_watch *watch;
};

struct publish {
    struct published *port;
    size_t port_n;
    struct loop *loop;
    struct byte_streams *streams;
    struct ws_client_options options; /* except what differs from port to port */
    pthread_t thread;
    bool running;
    FILE *err;
};

/* ---- before the trial runs --------------------------------------------------------------------------------------- */

static int parse_number(const char *text, size_t n, int *ret)
{
    char digits[8] = "";
    char *end;
    if (n == 0 || n >= sizeof(digits))
        return -1;
    memcpy(digits, text, n);
    long value = strtol(digits, &end, 10);
    if (*end || value < 1 || value > 65535)
        return -1;
    *ret = (int)value;
    return 0;
}

static int parse_port(const char *text, struct published *p, struct error *err)
{
    const char *colon = strchr(text, ':');
    const char *remote = colon ? colon + 1 : text;
    if (parse_number(text, strcspn(text, ":"), &p->local) < 0 || parse_number(remote, strlen(remote), &p->remote) < 0)
        return error_set(err, ERR_USAGE, "--publish %s: it must be PORT or LOCAL_PORT:PORT, each from 1 to 65535",
                         text);
    return 0;
}

static int listen_at(struct published *p, struct error *err)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)p->local),
                             .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    const int on = 1;
    p->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (p->fd < 0)
        return error_errno(err, "--publish: no socket");
    setsockopt(p->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (bind(p->fd, (struct sockaddr *)&at, sizeof(at)) == 0 && listen(p->fd, 64) == 0)
        return 0;
    if (errno == EADDRINUSE)
        return error_set(err, ERR_CONFLICT,
                         "--publish: port %d of this machine is in use; choose another one: --publish "
                         "LOCAL_PORT:%d",
                         p->local, p->remote);
    return error_errno(err, "--publish: port %d of this machine", p->local);
}

int publish_open(const char *const *port, size_t n, struct publish **ret, struct error *err)
{
    struct publish *p = must_calloc(1, sizeof(*p));
    p->port = must_calloc(n, sizeof(*p->port));
    for (size_t i = 0; i < n; i++)
        p->port[i] = (struct published){.of = p, .fd = -1};
    p->port_n = n;
    for (size_t i = 0; i < n; i++) {
        if (parse_port(port[i], &p->port[i], err) < 0 || listen_at(&p->port[i], err) < 0) {
            publish_close(p);
            return -1;
        }
    }
    *ret = p;
    return 0;
}

static bool lets_through(const struct exp_environment *e, int port)
{
    for (size_t i = 0; i < e->proxy_ports_n; i++)
        if (e->proxy_ports[i].proxy_port == port)
            return e->proxy_ports[i].proxy_tcp;
    return false;
}

void publish_warn(const struct publish *p, struct cli *cli, const char *config_text)
{
    cleanup_json struct json_object *config = NULL;
    struct exp_values values;
    if (json_parse(config_text, strlen(config_text), &config, NULL) < 0)
        return;
    exp_values_read(config, &cli->arena, &values);
    for (size_t i = 0; i < p->port_n; i++)
        if (!lets_through(&values.environment, p->port[i].remote))
            cli_say(cli, CLI_YELLOW,
                    "Warning: port %d is not among the configuration's environment.proxy_ports with proxy_tcp: true; "
                    "the master lets nothing through to it.",
                    p->port[i].remote);
}

/* ---- while the trial runs, on the thread ------------------------------------------------------------------------- */

static void say_failure(const struct published *p, const char *why)
{
    fprintf(p->of->err, "Port %d: %s\n", p->local, why);
}

/* Programs on this machine may leave as they like; what is reported is a failure on the way to the trial. */
enum { LOCAL_SIDE, MASTER_SIDE };
static void on_over(void *ctx, int failed, const char *why)
{
    if (why && failed == MASTER_SIDE)
        say_failure(ctx, why);
}

static void on_connection(int fd, void *ctx)
{
    struct published *p = ctx;
    cleanup_error struct error err = ERROR_INIT;
    int accepted = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (accepted < 0)
        return;
    struct ws_client_options o = p->of->options;
    struct byte_streams *all = p->of->streams;
    const struct byte_stream_handler none = {0};
    struct byte_stream *to_master;
    o.url = p->url;
    o.header = p->header;
    if (ws_stream_connect(all, &o, &none, &to_master, &err) < 0) {
        say_failure(p, error_msg(&err));
        close(accepted);
        return;
    }
    stream_join(all, byte_stream_of_fd(all, accepted, accepted, &none), to_master, on_over, p);
}

static void *serve_ports(void *ctx)
{
    struct publish *p = ctx;
    cleanup_error struct error err = ERROR_INIT;
    if (loop_run(p->loop, &err) < 0)
        fprintf(p->err, "Ports: %s\n", error_msg(&err));
    return NULL;
}

/* Starts the thread with all signals blocked, so that the command's own thread gets them. */
static int start_thread(struct publish *p, struct error *err)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = pthread_create(&p->thread, NULL, serve_ports, p);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    p->running = rc == 0;
    return rc == 0 ? 0 : error_set(err, ERR_INTERNAL, "--publish: no thread: %s", strerror(rc));
}

int publish_serve(struct publish *p, struct cli *cli, const char *task_id, struct error *err)
{
    struct session *s;
    const char *token;
    if (cli_session(cli, &s, err) < 0 || api_token(cli, &token, err) < 0 || loop_new(&p->loop, err) < 0)
        return -1;
    p->err = cli->err;
    p->streams = byte_streams_new(p->loop);
    port_options(cli, s, &p->options);
    for (size_t i = 0; i < p->port_n; i++) {
        struct published *one = &p->port[i];
        /* http://… becomes ws://…, and https://… becomes wss://… */
        one->url = must_strdup(
            arena_printf(&cli->arena, "ws%s/proxy/%s:%d/", cli->master + strlen("http"), task_id, one->remote));
        one->authorization = must_strdup(arena_printf(&cli->arena, "Authorization: Bearer %s", token));
        one->header[0] = one->authorization;
        one->watch = loop_watch_readable(p->loop, one->fd, on_connection, one);
        cli_say(cli, CLI_PLAIN, "Port %d of the first trial is published at 127.0.0.1:%d", one->remote, one->local);
    }
    return start_thread(p, err);
}

/* ---- at the end -------------------------------------------------------------------------------------------------- */

static void stop_serving(void *ctx)
{
    loop_stop(ctx);
}

void publish_close(struct publish *p)
{
    if (!p)
        return;
    if (p->running) {
        loop_post(p->loop, stop_serving, p->loop);
        pthread_join(p->thread, NULL);
    }
    for (size_t i = 0; i < p->port_n; i++) {
        if (p->port[i].watch)
            loop_watch_free(p->port[i].watch);
        if (p->port[i].fd >= 0)
            close(p->port[i].fd);
        free(p->port[i].url);
        free(p->port[i].authorization);
    }
    byte_streams_free(p->streams);
    if (p->loop)
        loop_free(p->loop);
    free(p->port);
    free(p);
}
