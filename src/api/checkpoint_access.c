#include "api/checkpoint_access.h"

#include <string.h>

#include "store/checkpoints.h"
#include "store/experiments.h"
#include "store/tasks.h"
#include "store/trials.h"

const char *checkpoint_asking_task(struct req *r)
{
    const char *dot = strrchr(r->who.allocation_id, '.'); /* an allocation's id is its task's and a number */
    return dot ? arena_strndup(&r->arena, r->who.allocation_id, (size_t)(dot - r->who.allocation_id)) : "";
}

static bool may_change(const struct principal *who, int32_t owner_id)
{
    return who->kind != PRINCIPAL_TASK && (who->admin || who->user_id == owner_id);
}

/* ---- reports ----------------------------------------------------------------------------------------------------- */

static int check_person_reports(struct req *r, int32_t trial_id, struct error *err)
{
    struct store_trial t;
    struct store_experiment_brief x;
    if (store_trial_get(r->db, trial_id, /* full= */ false, &r->arena, &t, err) < 0 ||
        store_experiment_brief(r->db, t.row.experiment_id, &x, err) < 0)
        return -1;
    if (!may_change(&r->who, x.user_id))
        return error_set(err, ERR_FORBIDDEN, "forbidden: trial %d is of experiment %d, which belongs to another user; its own task, "
                         "its owner and admins may report its checkpoints", trial_id, x.id);
    if (!x.unmanaged && !r->who.admin)
        return error_set(err, ERR_FORBIDDEN, "forbidden: trial %d runs on the cluster: its checkpoints are reported by its own task "
                         "(DET_SESSION_TOKEN)", trial_id);
    return 0;
}

int checkpoint_check_report(struct req *r, const char *task_id, int32_t trial_id, struct error *err)
{
    if (r->who.kind != PRINCIPAL_TASK)
        return check_person_reports(r, trial_id, err);
    if (strcmp(checkpoint_asking_task(r), task_id) == 0)
        return 0;
    return error_set(err, ERR_FORBIDDEN, "forbidden: this session belongs to task %s, which may not report checkpoints of task %s",
                     checkpoint_asking_task(r), task_id);
}

/* ---- changes ----------------------------------------------------------------------------------------------------- */

static int find_owner(struct req *r, const char *uuid, struct store_checkpoint_owner *ret, struct error *err)
{
    bool found;
    if (store_checkpoint_owner(r->db, uuid, &r->arena, ret, &found, err) < 0)
        return -1;
    return found ? 0 : error_set(err, ERR_NOT_FOUND, "checkpoint '%s' not found", uuid);
}

static int refuse(const char *uuid, const struct store_checkpoint_owner *o, struct error *err)
{
    return error_set(err, ERR_FORBIDDEN, "forbidden: checkpoint %s belongs to experiment %d of another user; its owner and admins may "
                     "change or delete it", uuid, o->experiment_id);
}

static bool is_of_asking_task(struct req *r, const struct store_checkpoint_owner *o)
{
    return r->who.kind == PRINCIPAL_TASK && strcmp(checkpoint_asking_task(r), o->task_id) == 0;
}

int checkpoint_check_change(struct req *r, const char *uuid, struct error *err)
{
    struct store_checkpoint_owner o;
    if (find_owner(r, uuid, &o, err) < 0)
        return -1;
    return may_change(&r->who, o.user_id) || is_of_asking_task(r, &o) ? 0 : refuse(uuid, &o, err);
}

int checkpoint_check_removed(struct req *r, const char *uuid, struct error *err)
{
    struct store_checkpoint_owner o;
    struct store_task task;
    if (find_owner(r, uuid, &o, err) < 0)
        return -1;
    if (may_change(&r->who, o.user_id) || is_of_asking_task(r, &o))
        return 0;
    if (r->who.kind != PRINCIPAL_TASK)
        return refuse(uuid, &o, err);
    if (store_task_get(r->db, checkpoint_asking_task(r), &r->arena, &task, err) < 0)
        return -1;
    return !task.has_trial && task.experiment_id == o.experiment_id ? 0 : refuse(uuid, &o, err);
}
