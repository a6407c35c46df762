#include "master/agents/agent_metrics.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/must.h"
#include "common/system/log.h"
#include "master/master.h"
#include "master/writer/metric_sealer.h"
#include "master/writer/writer.h"
#include "store/metrics/metrics.h"

#define METRICS_MAX (64 * 1024) /* bytes of one report; there is room for some hundred bytes for each GPU */

struct job {
    struct master *master;
    struct arena arena;
    struct store_report report;
};

static int store_work(struct store *db, void *ctx, struct error *err)
{
    struct job *j = ctx;
    struct store_report_result result;
    return store_report_add(db, &j->report, &result, err);
}

static void store_done(void *ctx, const struct error *err)
{
    struct job *j = ctx;
    if (err)
        log_warning("agent_metrics.rejected", "trial=%d group=%s reason=%s", j->report.trial_id, j->report.group,
                    log_quote(error_msg(err)));
    else
        metric_sealer_reported(j->master->metric_sealer, j->report.trial_id);
    arena_release(&j->arena);
    free(j);
}

/* Returns whether agents report metrics of this group. Agents report the groups that measure machines; metrics of all
 * other groups come from the trial itself. */
static bool is_measured_by_agents(const char *group)
{
    static const char *const names[] = {"cpu", "memory", "disk", "network", "gpu"};
    for (size_t i = 0; group && i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(group, names[i]) == 0)
            return true;
    return false;
}

/* Returns the allocation of the trial that has this container on this agent; NULL: there is none, or it has ended. */
static const struct allocation_row *allocation_of(const struct core *c, const char *agent_id, const char *container_id)
{
    const struct container_row *container = container_id ? core_container(c, container_id) : NULL;
    const struct allocation_row *a = container && strcmp(container->agent_id, agent_id) == 0
                                         ? core_allocation(c, container->allocation_id)
                                         : NULL;
    return a && a->trial_id ? a : NULL;
}

static int check_report(const struct master *m, const struct store_report *r, struct error *err)
{
    if (!is_measured_by_agents(r->group) || !r->avg_metrics)
        return error_set(err, ERR_INVALID, "agents report cpu, memory, disk, network and gpu, each with its metrics");
    if (strlen(r->avg_metrics) > METRICS_MAX)
        return error_set(err, ERR_TOO_LARGE, "a report of %zu bytes, allowed are %d", strlen(r->avg_metrics),
                         METRICS_MAX);
    return store_report_valid(r, err) < 0 || !writer_admits(m->writer, err) ? -1 : 0;
}

void agent_metrics_take(struct master *m, const char *agent_id, const struct wire_link_task_metrics *in,
                        struct arena *a)
{
    const struct allocation_row *allocation = allocation_of(m->core, agent_id, in->container_id);
    cleanup_error struct error err = ERROR_INIT;
    if (!allocation)
        return;
    struct store_report report = {.trial_id = allocation->trial_id,
                                  .run_id = allocation->run_id,
                                  .group = in->group,
                                  .report_us = in->has_time ? in->time : clock_now_us(),
                                  .avg_metrics = in->metrics};
    struct job *j = check_report(m, &report, &err) < 0 ? NULL : must_calloc(1, sizeof(*j));
    if (!j) {
        log_warning("agent_metrics.refused", "agent=%s trial=%d reason=%s", agent_id, report.trial_id,
                    log_quote(error_msg(&err)));
        return;
    }
    *j = (struct job){.master = m, .arena = *a, .report = report};
    *a = (struct arena)ARENA_INIT;
    struct writer_job job = {.work = store_work, .done = store_done, .arg = j};
    writer_submit(m->writer, &job, 1);
}
