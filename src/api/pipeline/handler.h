/* What a handler includes. There is one handler for each served route: it fills the reply to a decoded request.
 *
 * A handler is named after its RPC and gets typed structs (src/gen/handlers.h):
 *
 *     int api_kill_experiment(struct req *r, struct core *core, const struct wire_kill_experiment_request *in,
 *                             struct wire_kill_experiment_response *ret, struct error *err);
 *
 * It returns 0 when *ret is the reply, -1 with *err, or what req_then_…()/req_wait() returned. contract/served.json
 * says on which thread its first step runs. It is given what it may touch there, and cannot reach anything else:
 *
 *   loop      `struct core *core`   the loop's thread: live state (core, identities, agents); memory only, nothing that
 *                                   blocks
 *   stream    `struct core *core`   also the loop's thread; the reply is a stream (src/api/pipeline/stream.h)
 *   read      `struct store *db`    a reader thread: a read-only connection that sees committed state
 *   lookup    `struct store *db`    the lookup thread: a reader, too, and the one that runs large lookups
 *                                   (store/lookup/lookup.h)
 *   write     `struct store *db`    the writer thread: inside the group's transaction, in a savepoint of its own; no
 *                                   reply before the commit
 *   password  `struct store *db`    the one thread that hashes passwords, a reader; through password_lane.h only
 *   directory nothing               a thread that waits for the directory (LDAP); through password_lane.h only
 *   work      nothing               a worker thread: archives
 *   transfer  nothing               a thread that may wait for disks and networks; raw routes and streams of bytes only
 *
 * A handler that needs more than one of these places goes on with, for example, `return req_then_loop(r, step)`. The
 * compiler refuses a step whose type does not fit the place (tests/unit/api/steps.sh). Between steps only `r` lives:
 * r->in, r->ret, r->state and everything in r->arena. Objects of the live state are looked up again by id.
 *
 * The reply to a loop step that has changed the core waits for the commit of that step. The handler has to do nothing
 * for it. */
#ifndef DET_API_PIPELINE_HANDLER_H
#define DET_API_PIPELINE_HANDLER_H

#include <stdbool.h>
#include <stdint.h>

#include "api/pipeline/companion.h"
#include "api/pipeline/info.h"
#include "api/rights/scope.h"
#include "common/base/arena.h"
#include "common/base/error.h"
#include "common/base/strbuf.h"
#include "gen/routes.h"
#include "gen/wire.h"

struct api;
struct core;
struct core_event;
struct http_request;
struct permission_set;
struct store;
struct stream;
struct wait;

/* What a handler or step may return besides 0 and -1. */
#define REQ_CONTINUES 1

/* What the token stands for: a login or an access token, DET_USER_TOKEN (a task's login on behalf of its owner), or
 * DET_SESSION_TOKEN (the task's allocation itself). */
enum principal_kind { PRINCIPAL_NONE, PRINCIPAL_USER, PRINCIPAL_USER_TOKEN, PRINCIPAL_TASK };

/* Who asks. It is copied into the request when the request is authenticated, so that every thread may read it. */
struct principal {
    enum principal_kind kind;
    int user_id;
    bool admin; /* set for PRINCIPAL_USER only: a task never has an admin's rights, whoever started it */
    enum access_scope scope;
    bool access_token; /* the token is an access token, with the id session_id */
    int64_t session_id;
    int64_t password_at_us; /* when a password opened the session; 0: no password did, as for the sessions of tasks */
    uint8_t token_hash[32];
    char username[128];
    char allocation_id[128]; /* set, as the fields below are, for PRINCIPAL_TASK only; otherwise "" and 0 */
    char task_id[128];
    int32_t trial_id, experiment_id;
};

/* The reply beside the response message. Handlers of RPC routes fill their response struct and leave this alone;
 * handlers of raw routes fill it. */
enum { REPLY_HEADERS_MAX = 8 };
struct reply {
    int status;               /* 0 means 200 */
    const char *content_type; /* NULL means application/json */
    struct strbuf body;
    const char *header[REPLY_HEADERS_MAX][2]; /* name and value, in the arena or static */
};

struct req;
/* The types of steps: on the loop, on a thread that has a connection to the store, and on a thread that has neither
 * the core nor the store. */
typedef int req_loop_fn(struct req *r, struct core *core, struct error *err);
typedef int req_store_fn(struct req *r, struct store *db, struct error *err);
typedef int req_work_fn(struct req *r, struct error *err);

struct req {
    struct api *api;
    const struct route *route; /* NULL for raw routes */
    struct arena arena;
    struct principal who;
    const struct permission_set *may; /* what roles allow the one who asks; NULL: roles do not limit the request */
    int64_t now_us;                   /* when the request arrived */
    const void *in;
    void *ret;
    void *state; /* belongs to the handler; in the arena */
    struct reply reply;
    /* Called once on the loop, however the request ends, before its memory is freed. It frees what is not in the
     * arena. */
    void (*on_end)(struct req *r);
    /* Fills r->reply.body and headers in place of the JSON of an error: a page, for a browser. Runs on any thread.
     * NULL: the reply is JSON. */
    void (*error_page)(struct req *r, const struct error *err);
    /* The fields from here on belong to src/api/pipeline/request.c. */
    struct http_request *http; /* loop only; NULL once the client has left */
    struct stream *stream;
    struct wait *wait;
    int64_t deadline_us; /* when a long poll ends, by the monotonic clock */
    bool timed_out;
    struct req_run *run;
};

/* The functions req_then_…() go on with `step` on the thread that they name: `return req_then_…(...)`. */
int req_then_loop(struct req *r, req_loop_fn *step);
/* in the loop's next turn, so that other requests have theirs in between */
int req_then_next_turn(struct req *r, req_loop_fn *step);
int req_then_read(struct req *r, req_store_fn *step);
int req_then_lookup(struct req *r, req_store_fn *step);
int req_then_write(struct req *r, req_store_fn *step);
int req_then_work(struct req *r, req_work_fn *step);
int req_then_transfer(struct req *r, req_work_fn *step);
/* For a step on the loop that works in parts: whether it has used up its time in this turn. The turn began at
 * `began_us` of the monotonic clock. If so, the step goes on with req_then_next_turn(). */
bool req_turn_is_over(int64_t began_us);
/* The request waits for something: `return req_wait(...)`. Later somebody calls req_finish() or req_resume_…() on
 * the loop, which goes on with it. If the client leaves before that, `on_gone` is called once, and whoever wanted to
 * finish the request must forget it. With on_gone NULL the request stays until it is finished, even if its client
 * has left. */
int req_wait(struct req *r, void (*on_gone)(struct req *r));
void req_resume_loop(struct req *r, req_loop_fn *step);
void req_resume_read(struct req *r, req_store_fn *step);
void req_resume_write(struct req *r, req_store_fn *step);
/* A step has put the text of the reply into r->reply.body; r->ret is ignored. */
void req_encoded(struct req *r);
/* Ends a waiting request, on the loop: with the reply r->ret, or with *err if its kind is set. *err is released. */
void req_finish(struct req *r, struct error *err);

/* Gives one event to the core. The effects are carried out in order after their commit. Call it on the loop: only
 * code on the loop is given the core. */
int api_core_step(struct api *a, struct core *core, const struct core_event *ev, const struct companion *companion,
                  struct error *err);
/* Like api_core_step(), on behalf of the user who asks: whatever the event changes names that user as its author. */
int req_core_step(struct req *r, struct core *core, const struct core_event *ev, const struct companion *companion,
                  struct error *err);

void req_add_header(struct req *r, const char *name, const char *value); /* both texts are in the arena or static */
int req_need_admin(const struct req *r, const char *what, struct error *err);
int req_need_user(const struct req *r, struct error *err); /* refuses tokens of tasks where a person must act */
bool api_allows_root_links(const struct api *a);

#endif
