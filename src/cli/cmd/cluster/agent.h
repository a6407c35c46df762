/* What the commands about agents, slots and tasks share. */
#ifndef DET_CLI_CMD_CLUSTER_AGENT_H
#define DET_CLI_CMD_CLUSTER_AGENT_H

#include "cli/connection/api.h"

const char *agent_local_id(const char *address); /* "/agents/a/slots/0" → "0" */
int agents_fetch(struct cli *cli, struct wire_get_agents_response *ret, struct error *err); /* sorted by id */
/* What the tasks on an agent have asked for, of what the agent has for such tasks: "1.5 of 4", "2.0GB of 8.0GB". NULL:
 * the agent's program does not tell. */
const char *agent_cores(struct arena *a, const struct wire_agent *agent);
const char *agent_memory(struct arena *a, const struct wire_agent *agent);
/* The certificate that the master has given to the agent: "valid" or "expired". NULL: it has given none. */
const char *agent_certificate(const struct wire_agent *agent);
/* Shows the slots of one agent and what runs on them. */
void slots_show(struct cli *cli, const struct wire_agent *agent, const struct wire_get_tasks_response *tasks);
const char *text_join(struct arena *a, const char *const *s, size_t n, const char *between);

/* Shows allocations as a table, JSON or CSV; with agent_n > 0 only those on one of these agents. Returns their
 * number. */
struct tasks_form {
    bool csv, json;
    const char *const *agent;
    size_t agent_n;
};
size_t tasks_print(struct cli *cli, const struct tasks_form *form, const struct wire_get_tasks_response *tasks);
size_t tasks_count(const struct tasks_form *form, const struct wire_get_tasks_response *tasks);

#endif
