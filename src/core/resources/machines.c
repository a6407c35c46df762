#include "core/resources/machines.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/must.h"

static struct machine *find_machine(const struct core *c, const char *hostname)
{
    struct machine *m = NULL;
    HASH_FIND_STR(c->machines, hostname, m);
    return m;
}

static struct machine *find_or_add_machine(struct core *c, const char *hostname)
{
    struct machine *m = find_machine(c, hostname);
    if (m)
        return m;
    size_t n = strlen(hostname);
    m = must_calloc(1, sizeof(*m) + n + 1);
    memcpy(m->hostname, hostname, n);
    LIST_INIT(&m->agents);
    HASH_ADD_KEYPTR(hh, c->machines, m->hostname, (unsigned)n, m);
    return m;
}

void machine_leave(struct core *c, struct agent *agent)
{
    struct machine *m = agent->machine;
    if (!m)
        return;
    LIST_REMOVE(agent, in_machine);
    agent->machine = NULL;
    if (!LIST_EMPTY(&m->agents))
        return;
    HASH_DEL(c->machines, m);
    free(m);
}

void machine_join(struct core *c, struct agent *agent, const char *hostname)
{
    if (agent->machine && strcmp(agent->machine->hostname, hostname) == 0)
        return;
    machine_leave(c, agent);
    agent->machine = find_or_add_machine(c, hostname);
    LIST_INSERT_HEAD(&agent->machine->agents, agent, in_machine);
}

static bool add_ports(const struct machine *m, size_t max, size_t *seen, struct port_set *ret)
{
    const struct agent *agent;
    const struct container *k;
    if (!m)
        return true;
    LIST_FOREACH(agent, &m->agents, in_machine) {
        ++*seen;
        LIST_FOREACH(k, &agent->containers, in_agent) {
            port_set_add(ret, k->allocation->row.port);
            ++*seen;
        }
        if (*seen > max)
            return false;
    }
    return true;
}

bool machines_ports(const struct core *c, const struct allocation *a, size_t max, struct port_set *ret)
{
    const struct machine *anywhere = find_machine(c, "");
    size_t seen = 0;
    memset(ret, 0, sizeof(*ret));
    if (!add_ports(anywhere, max, &seen, ret))
        return false;
    for (size_t i = 0; i < a->container_n; i++) {
        const struct agent *agent = a->container[i]->agent;
        if (agent && agent->machine != anywhere && !add_ports(agent->machine, max, &seen, ret))
            return false;
    }
    return true;
}
