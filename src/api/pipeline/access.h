/* Who may do what. contract/served.json has a row for each served route that says what each kind of credential may do
 * with it; contract/README.md explains the words. The generator makes route_access[] and the rows of raw_routes[] of
 * it.
 *
 * request.c asks access_check_credential() before anything of the request is read, and access_check_object() when it is
 * decoded: between them they decide every route but those whose rule is `each`. Such a request names its objects in a
 * way that only the handler understands (a list, an item of a list), so that the handler asks access_may_change() for
 * each.
 *
 * A kind of credential that a row does not let in gets 403, an unknown one 401. Everybody who is logged in may look at
 * everything, so that an object that does not exist is a 404 and somebody else's is a 403 that names its owner.
 *
 * With security.authz.type: rbac, roles take the place of owners for everybody who acts as a person: a login, an access
 * token, DET_USER_TOKEN. Each row says which permission the route needs, and in the workspace of which object. An
 * object that the one who asks may not see is a 404 like one that does not exist. The session of a task may still do to
 * the task's own objects what the rule for tasks says; of all other objects it sees what the task's owner sees. */
#ifndef DET_API_PIPELINE_ACCESS_H
#define DET_API_PIPELINE_ACCESS_H

#include "api/pipeline/handler.h"
#include "gen/permissions.h"
#include "store/rows.h"

struct allocation_row;
struct core_job_owner;

enum access_word {
    ACCESS_NO,
    ACCESS_OPEN, /* without credentials */
    ACCESS_READ, /* may look, whoever the object belongs to */
    /* may do it: the request concerns no object of somebody else, or all who may ask may change all such objects */
    ACCESS_ANY,
    ACCESS_ADMIN,        /* admins only */
    ACCESS_OWN,          /* a task: the object of its own allocation; a person: themselves */
    ACCESS_OWNER,        /* the object's owner and admins; with security.sharing: open everybody who is logged in */
    ACCESS_OWNER_ALWAYS, /* the object's owner and admins, whatever security.sharing says */
    ACCESS_EACH,         /* for each object: a person as ACCESS_OWNER, a task as ACCESS_OWN */
    ACCESS_EACH_ALWAYS,  /* for each object: as ACCESS_OWNER_ALWAYS */
};

enum access_object {
    ACCESS_OBJECT_NONE,
    ACCESS_OBJECT_EXPERIMENT,
    ACCESS_OBJECT_TRIAL,
    ACCESS_OBJECT_TASK,
    ACCESS_OBJECT_ALLOCATION,
    ACCESS_OBJECT_CHECKPOINT,
    ACCESS_OBJECT_WORKSPACE,
    ACCESS_OBJECT_PROJECT,
    ACCESS_OBJECT_TEMPLATE,
    ACCESS_OBJECT_MODEL,
    ACCESS_OBJECT_WEBHOOK,
    ACCESS_OBJECT_USER,
    /* tasks of one kind; the handler checks that the task is of the kind */
    ACCESS_OBJECT_COMMAND,
    ACCESS_OBJECT_NOTEBOOK,
    ACCESS_OBJECT_SHELL,
    ACCESS_OBJECT_TENSORBOARD,
};

struct access_rule {
    enum access_word word;
    enum access_object object;
    bool may_be_missing; /* then the request makes it */
    const char *at;      /* the request's field with the object's id: "checkpoint.taskId"; NULL: the handler knows */
};

/* Where a permission is needed, if roles say who may do what (security.authz.type: rbac). */
enum access_place {
    ACCESS_IN_CLUSTER,  /* in the whole cluster */
    ACCESS_IN_ANYWHERE, /* in the cluster or in any workspace */
    ACCESS_IN_OBJECT,   /* in the workspace of the object that the request names; if it names several, of each */
    ACCESS_IN_HANDLER,  /* the handler asks, with the functions below */
    ACCESS_IN_LIVE,     /* the handler asks on the loop; the workspaces of live experiments are read before it runs */
};

/* A permission that a route needs. `other` is needed instead of `permission` for a task or an allocation of an
 * experiment, for a model of somebody else, and for another user. PERMISSIONS_N: none is needed. */
struct access_need {
    enum access_place place;
    enum permission permission, other;
    enum access_object object;
    bool may_be_missing; /* a request that names no object needs the permission in the whole cluster */
    const char *at;      /* the field, or the parameter of a raw route, with the object's id or ids */
};
enum { ACCESS_NEEDS_MAX = 2 };

/* What each kind of credential may do with one route. */
struct access_row {
    struct access_rule none, person, user_token, admin, task, agent, collector;
    struct access_need need[ACCESS_NEEDS_MAX]; /* none: everybody whom the rules let in may use it */
    size_t need_n;
    enum access_scope scope;
    const char *what; /* for routes of admins, the end of the sentence "only an admin may …" */
};
extern const struct access_row route_access[ROUTES_N]; /* by route id; made by tools/gen-contract */

/* One object: by number (experiment, trial, workspace, project, user) or by text (all other kinds). */
struct access_id {
    enum access_object object;
    int32_t number;
    const char *text;
};
#define ACCESS_EXPERIMENT(id) ((struct access_id){ACCESS_OBJECT_EXPERIMENT, (id), NULL})
#define ACCESS_TRIAL(id) ((struct access_id){ACCESS_OBJECT_TRIAL, (id), NULL})
#define ACCESS_TASK(id) ((struct access_id){ACCESS_OBJECT_TASK, 0, (id)})
#define ACCESS_MODEL(name) ((struct access_id){ACCESS_OBJECT_MODEL, 0, (name)})
#define ACCESS_CHECKPOINT(uuid) ((struct access_id){ACCESS_OBJECT_CHECKPOINT, 0, (uuid)})
#define ACCESS_PROJECT(id) ((struct access_id){ACCESS_OBJECT_PROJECT, (id), NULL})
#define ACCESS_WORKSPACE(id) ((struct access_id){ACCESS_OBJECT_WORKSPACE, (id), NULL})
#define ACCESS_TEMPLATE(name) ((struct access_id){ACCESS_OBJECT_TEMPLATE, 0, (name)})

/* ---- for request.c ----------------------------------------------------------------------------------------------- */

/* Call it on the loop, before the request is decoded. ERR_FORBIDDEN: this kind of credential may not use the route
 * at all. */
int access_check_credential(const struct req *r, struct error *err);
/* Call it on the loop, when r->who is known: finds the permissions that limit the request (r->may). */
void access_take_permissions(struct req *r);
/* What roles allow this user now; NULL: roles limit nobody. Loop only. */
const struct permission_set *access_permissions_of(struct api *a, int32_t user_id);
/* Whether the scope of the credential reaches the route. access_check_credential() asks this, too; call it where a
 * handler finds out by itself who asks. */
int access_check_scope(const struct req *r, struct error *err);
/* Call it on the loop, when the request is decoded. ACCESS_ASKS_STORE: only the store knows the object's owner. Then
 * access_check_stored() decides, on a thread that has the store. */
#define ACCESS_ASKS_STORE 1
int access_check_object(const struct req *r, const struct core *core, struct error *err);
int access_check_stored(struct req *r, struct store *db, struct error *err);
/* Call it when the request has succeeded. ERR_INTERNAL: roles limit the request, its row says that the handler asks for
 * a permission to view, and the handler has asked for none. So a handler that forgets to ask shows nothing. */
int access_check_asked(const struct req *r, struct error *err);
/* Call it on the loop, when the request has succeeded. If a person has changed an object, it writes a line to the
 * master's log that names both. */
void access_log_change(const struct req *r);

/* ---- for handlers that submit experiments and tasks -------------------------------------------------------------- */

/* Stores that the tasks of the job may do no more on behalf of their owner than the access token that has submitted it,
 * or than the task itself that has. Nothing is stored for a job without such a limit. */
int access_limit_job(const struct req *r, struct store *db, const char *job_id, struct error *err);

/* ---- for handlers of routes with `each` -------------------------------------------------------------------------- */

/* Whether the one who asks may do to this object what the route does. ERR_NOT_FOUND if there is no such object. */
int access_may_change(struct req *r, struct store *db, struct access_id id, struct error *err);
/* Like access_may_change(), for an object whose owner and workspace the caller knows; any thread. owner_name may be
 * NULL. */
int access_may_change_of(const struct req *r, struct access_id id, int32_t owner_id, const char *owner_name,
                         int32_t workspace_id, struct error *err);

/* Whether the one who asks may give and take roles in this workspace; 0: in the whole cluster. Any thread. */
int access_may_assign(const struct req *r, int32_t workspace_id, struct error *err);

/* ---- for handlers of routes whose permission is judged by the handler (ACCESS_IN_HANDLER, ACCESS_IN_LIVE) ---------
 * Without roles, all of them allow everything. Any thread may call them. */

/* Whether the one who asks has the permission in this workspace; 0: in the whole cluster. */
bool access_has(const struct req *r, enum permission p, int32_t workspace_id);
/* The same as a judgement. ERR_NOT_FOUND: the workspace may not even be seen; ERR_FORBIDDEN: the permission is missing.
 */
int access_need(const struct req *r, enum permission p, int32_t workspace_id, struct error *err);
/* Whether the object may be used with this permission, beside those that the route needs. */
int access_need_of(struct req *r, struct store *db, enum permission p, struct access_id id, struct error *err);
/* The workspaces in which the one who asks has the permission, for the filter of a list. No ids at all: everywhere. An
 * id that no workspace has: nowhere. */
struct store_ints access_workspaces(struct req *r, enum permission p);
/* For ACCESS_IN_LIVE: the workspace of an experiment that is not over; 0: there is no such experiment. */
int32_t access_workspace_of_live(const struct req *r, int32_t experiment_id);
/* For ACCESS_IN_LIVE, on the loop: whether the one who asks sees a job in the queue, or an open allocation. Nobody sees
 * those of tasks that collect checkpoints. */
bool access_sees_job(const struct req *r, const struct core *core, struct core_job_owner job);
bool access_sees_allocation(const struct req *r, const struct core *core, const struct allocation_row *row);

/* ---- for code that shows configurations (convert.h) -------------------------------------------------------------- */

/* Whether the one who asks may see the secrets in the configuration of an experiment, of a checkpoint or of a
 * template. owner_id is the user that the object belongs to (0: nobody). Secrets are shown to the owner, whatever
 * the credential, unless it is an access token without the scope ALL, and to admins; with security.sharing: open to
 * everybody except tasks of other users. Any thread may call it. */
bool access_sees_secrets(const struct req *r, int32_t owner_id);

#endif
