/* Ports of a trial on this machine: each is listened at on the loopback interface, and every connection to it goes through the
 * master to the trial's own port (net/http/tunnel.h). A thread looks after them while the command does something else. */
#ifndef DET_CLI_PUBLISH_H
#define DET_CLI_PUBLISH_H

#include <stddef.h>

#include "cli/cli.h"

struct json_object;
struct publish;

/* Each text is PORT or LOCAL_PORT:PORT. Listens at once, so that a port that is taken is known before anything is created. */
int publish_open(const char *const *port, size_t n, struct publish **ret, struct error *err);
/* What of it the effective configuration (JSON) does not let through is worth a warning. */
void publish_warn(const struct publish *p, struct cli *cli, const char *config);
/* From here on connections are taken; p must live until publish_close(). */
int publish_serve(struct publish *p, struct cli *cli, const char *task_id, struct error *err);
void publish_close(struct publish *p); /* NULL is fine */

#endif
