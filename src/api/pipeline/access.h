/* Who may do what. contract/served.json has a row for each served route that says what each kind of credential may do with
 * it; contract/README.md explains the words. The generator makes route_access[] and the rows of raw_routes[] of it.
 *
 * request.c asks access_check_credential() before anything of the request is read, and access_check_object() when it is
 * decoded: between them they decide every route but those whose rule is `each`. Such a request names its objects in a way
 * that only the handler understands (a list, an item of a list), so that the handler asks access_may_change() for each.
 *
 * A kind of credential that a row does not let in gets 403, an unknown one 401. Everybody who is logged in may look at
 * everything, so that an object that does not exist is a 404 and somebody else's is a 403 that names its owner. */
#ifndef DET_API_ACCESS_H
#define DET_API_ACCESS_H

#include "api/pipeline/handler.h"

enum access_word {
    ACCESS_NO,
    ACCESS_OPEN,         /* without credentials */
    ACCESS_READ,         /* may look, whoever the object belongs to */
    ACCESS_ANY,          /* may do it: it concerns nobody else's objects, or whoever asks may change all of them */
    ACCESS_ADMIN,        /* admins only */
    ACCESS_OWN,          /* a task: the object of its own allocation; a person: themselves */
    ACCESS_OWNER,        /* the object's owner and admins; with security.sharing: open everybody who is logged in */
    ACCESS_OWNER_ALWAYS, /* the object's owner and admins, whatever security.sharing says */
    ACCESS_EACH,         /* for each object: a person as ACCESS_OWNER, a task as ACCESS_OWN */
    ACCESS_EACH_ALWAYS,  /* for each object: as ACCESS_OWNER_ALWAYS */
};

enum access_object {
    ACCESS_OBJECT_NONE, ACCESS_OBJECT_EXPERIMENT, ACCESS_OBJECT_TRIAL, ACCESS_OBJECT_TASK, ACCESS_OBJECT_ALLOCATION,
    ACCESS_OBJECT_CHECKPOINT, ACCESS_OBJECT_WORKSPACE, ACCESS_OBJECT_PROJECT, ACCESS_OBJECT_TEMPLATE, ACCESS_OBJECT_USER,
};

struct access_rule {
    enum access_word word;
    enum access_object object;
    bool may_be_missing; /* then the request makes it */
    const char *at;      /* the request's field with the object's id: "checkpoint.taskId"; NULL: the handler knows */
};

/* What each kind of credential may do with one route. */
struct access_row {
    struct access_rule none, person, user_token, admin, task, agent, collector;
    const char *what; /* of routes for admins: "only an admin may …" */
};
extern const struct access_row route_access[ROUTES_N]; /* by route id; made by tools/gen-contract */

/* One object: by number (experiment, trial, workspace, project, user) or by text (all others). */
struct access_id {
    enum access_object object;
    int32_t number;
    const char *text;
};
#define ACCESS_EXPERIMENT(id) ((struct access_id){ACCESS_OBJECT_EXPERIMENT, (id), NULL})
#define ACCESS_TRIAL(id) ((struct access_id){ACCESS_OBJECT_TRIAL, (id), NULL})
#define ACCESS_TASK(id) ((struct access_id){ACCESS_OBJECT_TASK, 0, (id)})
#define ACCESS_CHECKPOINT(uuid) ((struct access_id){ACCESS_OBJECT_CHECKPOINT, 0, (uuid)})

/* ---- for request.c ----------------------------------------------------------------------------------------------- */

/* Loop, before the request is decoded. ERR_FORBIDDEN: this kind of credential has nothing to do here. */
int access_check_credential(const struct req *r, struct error *err);
/* Loop, once it is decoded. ACCESS_ASKS_STORE: only the store knows whose the object is; access_check_stored() decides, on
 * a thread that has the store. */
#define ACCESS_ASKS_STORE 1
int access_check_object(const struct req *r, const struct core *core, struct error *err);
int access_check_stored(struct req *r, struct store *db, struct error *err);
/* Loop, when it has succeeded: a person's change of an object is a line of the master's log that names both. */
void access_log_change(const struct req *r);

/* ---- for handlers of routes with `each` --------------------------------------------------------------------------- */

/* Whether the one who asks may do to this object what the route does. ERR_NOT_FOUND if there is none. */
int access_may_change(struct req *r, struct store *db, struct access_id id, struct error *err);
/* The same for an experiment, or a trial of it, whose owner is known; any thread. The owner's name may be NULL. */
int access_may_change_of(const struct req *r, struct access_id id, int32_t owner_id, const char *owner_name,
                         struct error *err);

/* ---- for whatever shows configurations (convert.h) ----------------------------------------------------------------- */

/* Whether the one who asks may see the secrets in the configuration of an experiment, a trial's checkpoint or a template that belongs to
 * this user (0: to nobody): its owner, with whatever credential, admins, and with security.sharing: open everybody but other
 * people's tasks. Any thread. */
bool access_sees_secrets(const struct req *r, int32_t owner_id);

#endif
