/* Writes down which agents are there and with how many slots: what of a pool was idle can only be told if it is known
 * what was there (docs/spec/usage.md). Times in which the master or the agent did not run count as not there. */
#ifndef DET_MASTER_PRESENCE_H
#define DET_MASTER_PRESENCE_H

#include <stdint.h>

struct master;
struct presence;

#define PRESENCE_PERIOD_US 60000000 /* all agents are written down so often */

struct presence *presence_new(struct master *m);
void presence_free(struct presence *p); /* writes down all agents; call it before the writer ends; p may be NULL */
/* Writes down one agent. To be called when it has connected, and before the core hears that it has gone. */
void presence_note(struct presence *p, const char *agent_id); /* p may be NULL */

#endif
