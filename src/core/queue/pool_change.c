#include "core/queue/pool_change.h"

#include "core/resources/allocation.h"
#include "core/resources/rm.h"
#include "core/state/step.h"

/* Lets the experiment's trials leave their pool. A trial whose allocation waits asks for an allocation in the new pool
 * in this step. A trial that runs asks for one when its run has ended. */
static void leave_pool(struct core *c, struct experiment *x)
{
    struct trial *t;
    LIST_FOREACH(t, &x->trials, in_experiment)
        if (t->allocation && t->allocation->pool != x->pool)
            allocation_terminate(c, t->allocation, "its experiment was moved to another resource pool");
}

void experiment_change_pool(struct core *c, struct experiment *x, struct pool *to)
{
    job_leave(x);
    x->pool = to;
    x->spec.pool = to->name;
    x->row.queue_position = x->row.start_us;
    record_touch(c, &x->record);
    x->job = job_in_pool(x, to);
    x->job->experiment = x;
    job_reweigh(x);
    leave_pool(c, x);
}
