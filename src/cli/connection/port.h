/* A port of a task, through the master's proxy: a WebSocket whose binary messages are the bytes. */
#ifndef DET_CLI_CONNECTION_PORT_H
#define DET_CLI_CONNECTION_PORT_H

#include "cli/cli.h"
#include "net/streams/ws_stream.h"

/* Carries bytes from `in` to the port, and from the port to `out`, until either side ends. `service` is the task's id,
 * or TASKID:PORT. */
int port_join(struct cli *cli, const char *service, int in, int out, struct error *err);
/* How a WebSocket to the master is made: which certificates it trusts, and through which proxy of the environment it
 * goes. The session is open. Sets no URL and no headers. */
struct session;
void port_options(struct cli *cli, const struct session *s, struct ws_client_options *ret);

#endif
