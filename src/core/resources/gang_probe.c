#include "core/resources/gang_probe.h"

#include <string.h>

#include "common/base/must.h"
#include "core/resources/allocation_internal.h"
#include "core/resources/quarantine.h"
#include "core/state/step.h"

static struct container *on_agent(const struct allocation *a, const char *agent_id)
{
    for (size_t i = 0; i < a->container_n; i++)
        if (strcmp(a->container[i]->row.agent_id, agent_id) == 0)
            return a->container[i];
    return NULL;
}

/* A report is taken once, and only where the probe is switched on: otherwise the task of a user could accuse the
 * machines of others at any time. That all is well may be said again, since a client whose answer was lost says so. */
static int check(const struct allocation *a, const struct core_event *ev, struct error *err)
{
    if (!a->trial || a->container_n < 2 || !a->pool->opts.gang_probe)
        return error_set(err, ERR_PRECONDITION,
                         "allocation '%s' is not probed: that is done for trials on several agents, in pools with "
                         "task_container_defaults.gang_probe: true",
                         a->row.id);
    if (a->probed && ev->probe.failed)
        return error_set(err, ERR_CONFLICT, "the probe of allocation '%s' was reported already", a->row.id);
    for (size_t i = 0; i < ev->probe.bad_n; i++)
        if (!on_agent(a, ev->probe.bad[i]))
            return error_set(err, ERR_INVALID, "badAgents: allocation '%s' has no container on agent '%.80s'",
                             a->row.id, ev->probe.bad[i]);
    return 0;
}

int gang_probed(struct core *c, const struct core_event *ev, struct error *err)
{
    struct allocation *a = allocation_find(c, ev->probe.allocation_id);
    if (!a)
        return error_set(err, ERR_NOT_FOUND, "allocation '%.80s' not found", ev->probe.allocation_id);
    if (check(a, ev, err) < 0)
        return -1;
    a->probed = true; /* the flag is not stored: container_restore() takes each allocation for probed */
    if (!ev->probe.failed || a->killed_us != 0)
        return 0;
    for (size_t i = 0; i < ev->probe.bad_n; i++) {
        struct container *k = on_agent(a, ev->probe.bad[i]);
        quarantine_fault(c, k->agent, k, EXIT_AGENT_ERROR, ev->probe.report);
    }
    a->row.exit_kind = EXIT_AGENT_ERROR;
    a->exit_text = must_strdup(ev->probe.report);
    record_touch(c, &a->record);
    allocation_kill_containers(c, a);
    return 0;
}
