#include "cli/connection/port.h"

#include <stdlib.h>
#include <string.h>

#include "cli/connection/address.h"
#include "cli/connection/api_internal.h"
#include "common/base/cleanup.h"
#include "net/client/proxy_choice.h"
#include "net/loop/loop.h"
#include "net/streams/stream_join.h"

struct joined {
    struct loop *loop;
    struct strbuf why; /* why it ended; empty: well */
};

/* The program that has called det may leave as it likes; what is reported is a failure on the way to the port. */
enum { CALLER_SIDE, PORT_SIDE };
static void on_over(void *ctx, int failed, const char *why)
{
    struct joined *j = ctx;
    if (why && failed == PORT_SIDE)
        strbuf_adds(&j->why, why);
    loop_stop(j->loop);
}

static int run(struct cli *cli, const struct ws_client_options *o, int in, int out, struct error *err)
{
    static const struct byte_stream_handler later = {0}; /* stream_join() sets the handlers */
    struct joined j = {.why = STRBUF_INIT};
    struct byte_stream *port;
    if (loop_new(&j.loop, err) < 0)
        return -1;
    struct byte_streams *all = byte_streams_new(j.loop);
    int rc = ws_stream_connect(all, o, &later, &port, err);
    if (rc == 0) {
        stream_join(all, byte_stream_of_fd(all, in, out, &later), port, on_over, &j);
        rc = loop_run(j.loop, err);
    }
    if (rc == 0 && j.why.n)
        rc = error_set(err, ERR_UNAVAILABLE, "Failed to %s: %s", cli->command->help, j.why.s);
    strbuf_release(&j.why);
    byte_streams_free(all);
    loop_free(j.loop);
    return rc;
}

/* The proxy of the environment through which the master is reached; NULL: none. A WebSocket can use only a proxy that
 * speaks plain HTTP. If the environment names another one (SOCKS, https://), the WebSocket connects directly. */
static const char *proxy_to_master(struct cli *cli)
{
    bool tls = address_is_tls(cli->master);
    long port;
    const char *proxy = proxy_in_environment(tls), *host = address_host(cli->master, &cli->arena, &port);
    if (!proxy || !proxy_is_needed(tls, host, port))
        return NULL;
    return !strstr(proxy, "://") || strncasecmp(proxy, "http://", 7) == 0 ? proxy : NULL;
}

void port_options(struct cli *cli, const struct session *s, struct ws_client_options *ret)
{
    *ret = (struct ws_client_options){.ca_file = s->trust.ca_file,
                                      .tls_name = s->trust.name,
                                      .tls_skip_verify = s->trust.skip_verify,
                                      .proxy = proxy_to_master(cli)};
}

int port_join(struct cli *cli, const char *service, int in, int out, struct error *err)
{
    struct session *s;
    const char *token;
    if (cli_session(cli, &s, err) < 0 || api_token(cli, &token, err) < 0)
        return -1;
    const char *const header[] = {arena_printf(&cli->arena, "Authorization: Bearer %s", token), NULL};
    struct ws_client_options o;
    port_options(cli, s, &o);
    o.header = header;
    /* http://… becomes ws://…, and https://… becomes wss://… */
    o.url = arena_printf(&cli->arena, "ws%s/proxy/%s/", cli->master + sizeof("http") - 1, service);
    return run(cli, &o, in, out, err);
}
