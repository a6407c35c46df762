/* Makes ports of a trial reachable on this machine. det listens on the loopback interface for each, and carries
 * every connection through the master to the trial's port (net/streams/stream_join.h). A thread does this while the
 * command does something else. */
#ifndef DET_CLI_CONNECTION_PUBLISH_H
#define DET_CLI_CONNECTION_PUBLISH_H

#include <stddef.h>

#include "cli/cli.h"

struct json_object;
struct publish;

/* Each text is PORT or LOCAL_PORT:PORT. Starts listening at once, so that a port in use is reported before anything
 * is created. */
int publish_open(const char *const *port, size_t n, struct publish **ret, struct error *err);
/* Warns of ports that the effective configuration (JSON) does not allow to reach. */
void publish_warn(const struct publish *p, struct cli *cli, const char *config);
/* Starts accepting connections; p must live until publish_close(). */
int publish_serve(struct publish *p, struct cli *cli, const char *task_id, struct error *err);
void publish_close(struct publish *p); /* NULL is allowed */

#endif
