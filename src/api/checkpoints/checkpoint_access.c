#include "api/checkpoints/checkpoint_access.h"

#include <string.h>

#include "store/cluster/tasks.h"
#include "store/experiments/checkpoints.h"
#include "store/experiments/experiments.h"
#include "store/experiments/trials.h"

const char *checkpoint_asking_task(struct req *r)
{
    const char *dot = r->who.kind == PRINCIPAL_TASK ? strrchr(r->who.allocation_id, '.') : NULL;
    /* an allocation's id is its task's id, a dot and a number */
    return dot ? arena_strndup(&r->arena, r->who.allocation_id, (size_t)(dot - r->who.allocation_id)) : "";
}

int checkpoint_check_report(struct req *r, struct store *db, int32_t trial_id, struct error *err)
{
    struct store_trial t;
    struct store_experiment_brief x;
    if (r->who.kind == PRINCIPAL_TASK || r->who.admin)
        return 0;
    if (store_trial_get(db, trial_id, /* full= */ false, &r->arena, &t, err) < 0 ||
        store_experiment_brief(db, t.row.experiment_id, &x, err) < 0)
        return -1;
    if (x.unmanaged)
        return 0;
    return error_set(err, ERR_FORBIDDEN,
                     "forbidden: trial %d runs on the cluster: its checkpoints are reported by its own task "
                     "(DET_SESSION_TOKEN)",
                     trial_id);
}

/* A task that collects checkpoints belongs to no trial; it may report what it has removed from checkpoints of its
 * experiment. */
static int check_collecting_task(struct req *r, struct store *db, const char *uuid, int32_t experiment_id,
                                 struct error *err)
{
    const char *id = checkpoint_asking_task(r);
    struct store_task task;
    if (store_task_get(db, id, &r->arena, &task, err) < 0)
        return -1;
    if (!task.has_trial && task.experiment_id == experiment_id)
        return 0;
    return error_set(err, ERR_FORBIDDEN,
                     "forbidden: checkpoint %s is not of task %s, which this session token speaks for", uuid, id);
}

int checkpoint_check_removed(struct req *r, struct store *db, const char *uuid, struct error *err)
{
    struct store_checkpoint_owner o;
    bool found;
    if (r->who.kind != PRINCIPAL_TASK)
        return access_may_change(r, db, ACCESS_CHECKPOINT(uuid), err);
    if (store_checkpoint_owner(db, uuid, &r->arena, &o, &found, err) < 0)
        return -1;
    if (!found)
        return error_set(err, ERR_NOT_FOUND, "checkpoint '%s' not found", uuid);
    return strcmp(checkpoint_asking_task(r), o.task_id) == 0 ? 0
                                                             : check_collecting_task(r, db, uuid, o.experiment_id, err);
}
