/* A port of a task, through the master's proxy: a WebSocket whose binary messages are the bytes. */
#ifndef DET_CLI_CONNECTION_PORT_H
#define DET_CLI_CONNECTION_PORT_H

#include "cli/cli.h"
#include "net/streams/ws_stream.h"

/* Carries bytes from `in` to the port, and from the port to `out`, until either side ends. `service` is the task's id,
 * or TASKID:PORT. */
int port_join(struct cli *cli, const char *service, int in, int out, struct error *err);
struct session;
/* Sets the options with which a WebSocket to the master is opened: the certificates that it trusts, and the proxy of
 * the environment. Leaves URL and headers empty: the caller sets them. `s` is cli_session(). */
void port_options(struct cli *cli, const struct session *s, struct ws_client_options *ret);

#endif
