/* Judges requests by roles (security.authz.type: rbac). access.h has the rules. */
#include <stdlib.h>
#include <string.h>

#include "api/pipeline/access_internal.h"
#include "api/pipeline/identity.h"
#include "api/pipeline/internal.h"
#include "api/pipeline/request_run.h"
#include "api/rights/permissions.h"
#include "core/core.h"
#include "store/functions.h"

/* ---- whose permissions ------------------------------------------------------------------------------------------- */

const struct permission_set *access_permissions_of(struct api *a, int32_t user_id)
{
    const struct identity_user *u = identities_user(a->identities, user_id);
    if (!a->by_roles)
        return NULL;
    return u && u->admin ? permission_set_all : permissions_of(a->permissions, user_id);
}

void access_take_permissions(struct req *r)
{
    if (!r->api->by_roles || r->who.kind == PRINCIPAL_NONE)
        return;
    const struct permission_set *set = access_permissions_of(r->api, r->who.user_id);
    bool all = (set->cluster & PERMISSIONS_ALL) == PERMISSIONS_ALL;
    if (r->who.kind == PRINCIPAL_USER && all) {
        r->who.admin = true; /* the role ClusterAdmin gives what the account of an admin has */
        return;
    }
    r->may = permission_set_ref(set);
}

/* A task has of its owner's permissions only those that can be given in a workspace, and may give roles to nobody. */
static bool is_for_tasks(enum permission p)
{
    return permission_rows[p].workspace && p != PERMISSION_ASSIGN_ROLES;
}

static bool has(const struct req *r, enum permission p, int32_t workspace_id)
{
    if (!r->may || p == PERMISSIONS_N)
        return true;
    if (r->who.kind != PRINCIPAL_USER && !is_for_tasks(p))
        return false;
    return permission_set_has(r->may, p, workspace_id);
}

static bool has_anywhere(const struct req *r, enum permission p)
{
    if (has(r, p, 0))
        return true;
    for (size_t i = 0; i < r->may->at_n; i++)
        if (has(r, p, r->may->at[i].workspace_id))
            return true;
    return false;
}

/* ---- which rule holds -------------------------------------------------------------------------------------------- */

/* Where the rule for tasks is `own` or `each`, that rule decides about the session of a task. Where the rule is `read`
 * or `any`, the roles of the task's owner decide. */
bool access_by_roles(const struct req *r)
{
    enum access_word word = access_rule_of(r)->word;
    if (!r->may)
        return false;
    return r->who.kind != PRINCIPAL_TASK || word == ACCESS_READ || word == ACCESS_ANY;
}

static bool is_view(enum permission p)
{
    return p < PERMISSIONS_N && strncmp(permission_rows[p].name, "view ", 5) == 0;
}

static bool is_of_experiment(const struct store_owner *o)
{
    return o->experiment_id != 0;
}

static bool is_task(enum access_object object)
{
    return object == ACCESS_OBJECT_ALLOCATION || access_kinds[object].view == PERMISSION_VIEW_NSC;
}

static enum permission needed(const struct req *r, const struct access_need *n, struct access_id id,
                              const struct store_owner *o)
{
    if (id.object == ACCESS_OBJECT_USER)
        return id.number == r->who.user_id ? n->permission : n->other;
    if (is_task(id.object))
        return is_of_experiment(o) ? n->other : n->permission;
    if (id.object == ACCESS_OBJECT_MODEL)
        return o->user_id == r->who.user_id ? n->permission : n->other;
    /* `update_nsc|update_experiment` for an experiment */
    return access_kinds[id.object].view == PERMISSION_VIEW_EXPERIMENT_METADATA ? n->other : n->permission;
}

/* ---- judgements -------------------------------------------------------------------------------------------------- */

static int refuse(const struct req *r, enum permission p, int32_t workspace_id, struct error *err)
{
    if (workspace_id)
        return error_set(err, ERR_FORBIDDEN,
                         "forbidden: user '%s' has no role with the permission \"%s\" in workspace %d "
                         "(det rbac my-permissions shows what you may do)",
                         r->who.username, permission_rows[p].name, workspace_id);
    return error_set(err, ERR_FORBIDDEN,
                     "forbidden: user '%s' has no role with the permission \"%s\" in the cluster "
                     "(det rbac my-permissions shows what you may do)",
                     r->who.username, permission_rows[p].name);
}

static int judge(const struct req *r, enum permission p, struct access_id id, const struct store_owner *o,
                 struct error *err)
{
    enum permission view = is_task(id.object) && is_of_experiment(o) ? PERMISSION_VIEW_EXPERIMENT_METADATA
                                                                     : access_kinds[id.object].view;
    if (!has(r, view, o->workspace_id) || (is_view(p) && !has(r, p, o->workspace_id)))
        return access_not_found(id, err);
    return has(r, p, o->workspace_id) ? 0 : refuse(r, p, o->workspace_id, err);
}

static bool is_own_of_task(const struct req *r, struct access_id id, const struct store_owner *o)
{
    return r->who.kind == PRINCIPAL_TASK &&
           (access_is_own(r, id) || (id.object == ACCESS_OBJECT_CHECKPOINT && access_is_own_checkpoint(r, o)));
}

static int judge_stored(struct req *r, struct store *db, const struct access_need *n, struct access_id id,
                        struct error *err)
{
    struct store_owner o = {0};
    int rc = access_owner_of(r, db, id, &o, err);
    if (rc < 0)
        return -1;
    if (rc == 0)
        return access_not_found(id, err);
    return is_own_of_task(r, id, &o) ? 0 : judge(r, needed(r, n, id, &o), id, &o, err);
}

/* ---- the row of a route ------------------------------------------------------------------------------------------ */

static int check_place(const struct req *r, const struct access_need *n, struct error *err)
{
    bool everywhere = has(r, n->permission, 0) && has(r, n->other, 0);
    switch (n->place) {
    case ACCESS_IN_CLUSTER:
        return everywhere ? 0 : refuse(r, n->permission, 0, err);
    case ACCESS_IN_ANYWHERE:
        return has_anywhere(r, n->permission) ? 0 : refuse(r, n->permission, 0, err);
    case ACCESS_IN_OBJECT:
        return everywhere ? 0 : ACCESS_ASKS_STORE;
    case ACCESS_IN_HANDLER:
        return 0;
    case ACCESS_IN_LIVE:
        return ACCESS_ASKS_STORE;
    }
    return 0;
}

bool access_roles_give_rights(const struct req *r)
{
    const struct access_row *row = access_row_of(r);
    for (size_t i = 0; i < row->need_n; i++)
        if (!r->may || row->need[i].place != ACCESS_IN_CLUSTER || !has(r, row->need[i].permission, 0))
            return false;
    return r->may && row->need_n > 0;
}

static int check_user(const struct req *r, const struct access_need *n, struct error *err)
{
    const struct codec_field *field;
    const int32_t *id = access_find_field(r, n->at, &field);
    enum permission p = id && *id == r->who.user_id ? n->permission : n->other;
    return has(r, p, 0) ? 0 : refuse(r, p, 0, err);
}

int access_check_roles(const struct req *r, struct error *err)
{
    const struct access_row *row = access_row_of(r);
    int asks = 0;
    for (size_t i = 0; i < row->need_n; i++) {
        const struct access_need *n = &row->need[i];
        int rc = n->object == ACCESS_OBJECT_USER ? check_user(r, n, err) : check_place(r, n, err);
        if (rc < 0)
            return -1;
        asks = rc ? rc : asks;
    }
    return asks;
}

static struct access_id id_of_raw(const struct req *r, const struct access_need *n)
{
    struct access_id id = {.object = n->object};
    const char *at = r->run->match.raw->pattern;
    for (int i = 0; (at = strchr(at, ':')); i++) {
        size_t length = strcspn(++at, "/");
        if (strlen(n->at) != length || strncmp(at, n->at, length) != 0)
            continue;
        id.text = access_kinds[n->object].by_text ? req_raw_param(r, i) : NULL;
        id.number = id.text ? 0 : (int32_t)strtol(req_raw_param(r, i), NULL, 10);
        break;
    }
    return id;
}

static int check_none(const struct req *r, const struct access_need *n, struct error *err)
{
    if (n->may_be_missing)
        return has(r, n->permission, 0) ? 0 : refuse(r, n->permission, 0, err);
    return error_set(err, ERR_INVALID, "%s is missing: it names the %s of this request", n->at,
                     access_kinds[n->object].name);
}

/* Checks each object that the field names. */
static int check_objects(struct req *r, struct store *db, const struct access_need *n, struct error *err)
{
    if (!r->route)
        return judge_stored(r, db, n, id_of_raw(r, n), err);
    const struct codec_field *field;
    const char *at = access_find_field(r, n->at, &field);
    bool many = at && field->flags & CODEC_REPEATED, by_text = access_kinds[n->object].by_text;
    size_t size = by_text ? sizeof(const char *) : sizeof(int32_t), count = at ? 1 : 0;
    if (many) {
        const void *first;
        memcpy(&first, at, sizeof(first));
        memcpy(&count, at + sizeof(first), sizeof(count));
        at = first;
    }
    for (size_t i = 0; i < count; i++) {
        struct access_id id = {.object = n->object};
        memcpy(by_text ? (void *)&id.text : (void *)&id.number, at + i * size, size);
        if (!many && (by_text ? !id.text || !*id.text : !id.number))
            return check_none(r, n, err);
        if (judge_stored(r, db, n, id, err) < 0)
            return -1;
    }
    return count == 0 && !many ? check_none(r, n, err) : 0;
}

int access_check_roles_stored(struct req *r, struct store *db, struct error *err)
{
    const struct access_row *row = access_row_of(r);
    for (size_t i = 0; i < row->need_n; i++) {
        const struct access_need *n = &row->need[i];
        if (n->place == ACCESS_IN_LIVE &&
            store_live_places(db, &r->arena, &r->run->live_place, &r->run->live_place_n, err) < 0)
            return -1;
        if (n->place == ACCESS_IN_OBJECT && n->object != ACCESS_OBJECT_USER && check_objects(r, db, n, err) < 0)
            return -1;
    }
    return 0;
}

/* ---- what handlers ask ------------------------------------------------------------------------------------------- */

static const struct access_need *asked_need(const struct req *r)
{
    const struct access_row *row = access_row_of(r);
    for (size_t i = 0; i < row->need_n; i++)
        if (row->need[i].place == ACCESS_IN_HANDLER || row->need[i].place == ACCESS_IN_LIVE)
            return &row->need[i];
    return row->need_n ? &row->need[0] : NULL;
}

int access_judge_asked(const struct req *r, struct access_id id, const struct store_owner *o, struct error *err)
{
    const struct access_need *n = asked_need(r);
    r->run->access_asked = true;
    if (!n)
        return error_set(err, ERR_INTERNAL, "a handler asks for a permission that its row does not name");
    return is_own_of_task(r, id, o) ? 0 : judge(r, needed(r, n, id, o), id, o, err);
}

int access_judge_stored(struct req *r, struct store *db, struct access_id id, struct error *err)
{
    struct store_owner o = {0};
    int rc = access_owner_of(r, db, id, &o, err);
    if (rc < 0)
        return -1;
    return rc == 0 ? access_not_found(id, err) : access_judge_asked(r, id, &o, err);
}

int access_check_asked(const struct req *r, struct error *err)
{
    const struct access_need *n = r->may ? asked_need(r) : NULL;
    if (!n || r->run->access_asked || !is_view(n->permission) ||
        (n->place != ACCESS_IN_HANDLER && n->place != ACCESS_IN_LIVE))
        return 0;
    return error_set(err, ERR_INTERNAL, "%s has not been checked against the permissions of user '%s'",
                     r->route ? r->route->rpc : r->run->match.raw->pattern, r->who.username);
}

bool access_has(const struct req *r, enum permission p, int32_t workspace_id)
{
    r->run->access_asked = true;
    return has(r, p, workspace_id);
}

int access_need(const struct req *r, enum permission p, int32_t workspace_id, struct error *err)
{
    if (access_has(r, p, workspace_id))
        return 0;
    if (workspace_id && !has(r, PERMISSION_VIEW_WORKSPACE, workspace_id))
        return access_not_found(ACCESS_WORKSPACE(workspace_id), err);
    return refuse(r, p, workspace_id, err);
}

int access_need_of(struct req *r, struct store *db, enum permission p, struct access_id id, struct error *err)
{
    const struct access_need n = {.permission = p, .other = p};
    r->run->access_asked = true;
    return r->may ? judge_stored(r, db, &n, id, err) : 0;
}

struct store_ints access_workspaces(struct req *r, enum permission p)
{
    r->run->access_asked = true;
    if (has(r, p, 0))
        return (struct store_ints){0};
    int32_t *id = arena_array(&r->arena, int32_t, r->may->at_n + 1);
    size_t n = 0;
    for (size_t i = 0; i < r->may->at_n; i++)
        if (has(r, p, r->may->at[i].workspace_id))
            id[n++] = r->may->at[i].workspace_id;
    if (n == 0)
        id[n++] = 0; /* no workspace has this id */
    return (struct store_ints){id, n};
}

bool access_sees_job(const struct req *r, const struct core *core, struct core_job_owner job)
{
    struct core_task_view task;
    if (job.task_id)
        return core_task(core, job.task_id, &task) && access_has(r, PERMISSION_VIEW_NSC, task.launched->workspace_id);
    return access_has(r, PERMISSION_VIEW_EXPERIMENT_METADATA, access_workspace_of_live(r, job.experiment_id));
}

bool access_sees_allocation(const struct req *r, const struct core *core, const struct allocation_row *row)
{
    struct core_job_owner job = {.task_id = row->task_id};
    struct core_trial_view trial;
    if (row->trial_id) {
        job.task_id = NULL;
        job.experiment_id = core_trial(core, row->trial_id, &trial) ? trial.row->experiment_id : 0;
    }
    return access_sees_job(r, core, job);
}

int32_t access_workspace_of_live(const struct req *r, int32_t experiment_id)
{
    const struct store_live_place *p = store_row_by_id(r->run->live_place, r->run->live_place_n,
                                                       sizeof(*r->run->live_place), experiment_id);
    r->run->access_asked = true;
    return p ? p->workspace_id : 0;
}
