/* The API: one handler per served route, from decoded request to filled reply.
 *
 * A handler is named after its RPC and gets typed structs (src/gen/handlers.h):
 *
 *     int api_kill_experiment(struct req *r, struct core *core, const struct wire_kill_experiment_request *in,
 *                             struct wire_kill_experiment_response *ret, struct error *err);
 *
 * It returns 0 when *ret is the reply, -1 with *err, or what req_then_…()/req_wait() returned. contract/served.json says
 * on which thread its first step runs. There it is given what it may touch, and cannot reach the rest:
 *
 *   loop      `struct core *core`   the loop's thread: live state (core, identities, agents); memory only, nothing that blocks
 *   stream    `struct core *core`   the loop's thread, too; answers with a stream (src/api/pipeline/stream.h)
 *   read      `struct store *db`    a reader thread: a read-only connection that sees committed state
 *   search    `struct store *db`    the searcher's thread: a reader, too, and the one that searches (store/lookup/lookup.h)
 *   write     `struct store *db`    the writer thread: inside the group's transaction, in a savepoint of its own; no reply
 *                                   before the commit
 *   password  `struct store *db`    the one thread that hashes passwords, a reader; through password_lane.h only
 *   work      nothing               a worker thread: archives
 *   transfer  nothing               a thread that may wait for disks and networks; raw routes and streams of bytes only
 *
 * A handler that needs more than one place goes on with `return req_then_loop(r, step)`, say. The compiler refuses a step at a
 * place for which it was not written (tests/unit/api/steps.sh). Between steps only `r` lives: r->in, r->ret, r->state and
 * everything in r->arena. Objects of the live state are looked up again by id.
 *
 * Replies to a loop step that changed the core wait for the commit of that step, without the handler's doing
 * anything. */
#ifndef DET_API_HANDLER_H
#define DET_API_HANDLER_H

#include <stdbool.h>
#include <stdint.h>

#include "api/pipeline/companion.h"
#include "api/pipeline/info.h"
#include "common/base/arena.h"
#include "common/base/error.h"
#include "common/base/strbuf.h"
#include "gen/routes.h"
#include "gen/wire.h"

struct api;
struct core;
struct core_event;
struct http_request;
struct store;
struct stream;
struct wait;

/* What a handler or step returns besides 0 and -1. */
#define REQ_CONTINUES 1

/* By the token that was shown: a login, DET_USER_TOKEN (a task's login on behalf of its owner), DET_SESSION_TOKEN (the
 * task's allocation itself). */
enum principal_kind { PRINCIPAL_NONE, PRINCIPAL_USER, PRINCIPAL_USER_TOKEN, PRINCIPAL_TASK };

/* Who asks: copied into the request when it is authenticated, so that every thread may read it. */
struct principal {
    enum principal_kind kind;
    int user_id;
    bool admin; /* PRINCIPAL_USER only: a task has no admin's rights, whoever started it */
    int64_t session_id;
    int64_t password_at_us; /* when a password opened the session; 0: none did, as of those that tasks have */
    uint8_t token_hash[32];
    char username[128];
    char allocation_id[128]; /* PRINCIPAL_TASK only, like those that follow; "" and 0: none */
    char task_id[128];
    int32_t trial_id, experiment_id;
};

/* What goes back. Handlers of RPC routes fill their response struct and leave this alone; raw routes fill it. */
enum { REPLY_HEADERS_MAX = 4 };
struct reply {
    int status;               /* 0: 200 */
    const char *content_type; /* NULL: application/json */
    struct strbuf body;
    const char *header[REPLY_HEADERS_MAX][2]; /* name, value; arena or static */
};

struct req;
/* A step on the loop, a step on a thread that has a connection to the store, and a step on a thread that has neither. */
typedef int req_loop_fn(struct req *r, struct core *core, struct error *err);
typedef int req_store_fn(struct req *r, struct store *db, struct error *err);
typedef int req_work_fn(struct req *r, struct error *err);

struct req {
    struct api *api;
    const struct route *route; /* NULL for raw routes */
    struct arena arena;
    struct principal who;
    int64_t now_us;            /* when it arrived */
    const void *in;
    void *ret;
    void *state;               /* the handler's own, in the arena */
    struct reply reply;
    /* Called once on the loop, whatever becomes of the request, before its memory goes: for what is not in the
     * arena. */
    void (*on_end)(struct req *r);
    /* The rest belongs to src/api/pipeline/request.c. */
    struct http_request *http; /* loop only; NULL once the client has left */
    struct stream *stream;
    struct wait *wait;
    int64_t deadline_us; /* monotonic; of a long poll */
    bool timed_out;
    struct req_run *run;
};

/* Goes on with `step` at a place; `return req_then_…(...)`. */
int req_then_loop(struct req *r, req_loop_fn *step);
int req_then_later(struct req *r, req_loop_fn *step); /* in the loop's next turn, so that others have theirs in between */
int req_then_read(struct req *r, req_store_fn *step);
int req_then_search(struct req *r, req_store_fn *step);
int req_then_write(struct req *r, req_store_fn *step);
int req_then_work(struct req *r, req_work_fn *step);
int req_then_transfer(struct req *r, req_work_fn *step);
/* For a step on the loop that has many parts: whether it has had its time of this turn, which began at `began_us` of the
 * monotonic clock. It goes on with req_then_later(). */
bool req_turn_is_over(int64_t began_us);
/* The request waits for something; a later req_finish() or req_resume_…() from the loop goes on with it. When the client
 * leaves first, `on_gone` is called, once, and the waiter has to forget the request; with on_gone NULL the request
 * stays until it is finished, whether or not anybody still listens. `return req_wait(...)`. */
int req_wait(struct req *r, void (*on_gone)(struct req *r));
void req_resume_loop(struct req *r, req_loop_fn *step);
void req_resume_read(struct req *r, req_store_fn *step);
void req_resume_write(struct req *r, req_store_fn *step);
/* A step has put the text of the reply into r->reply.body: r->ret is not looked at. */
void req_encoded(struct req *r);
/* Ends a waiting request from the loop: with r->ret, or with *err if its kind is set (err is released). */
void req_finish(struct req *r, struct error *err);

/* One event through the core; its effects are carried out in order after their commit. Whoever has been given the core is on the
 * loop. */
int api_core_step(struct api *a, struct core *core, const struct core_event *ev, const struct companion *companion,
                  struct error *err);
/* The same on behalf of the user who asks: what changes names them. */
int req_core_step(struct req *r, struct core *core, const struct core_event *ev, const struct companion *companion,
                  struct error *err);

void req_add_header(struct req *r, const char *name, const char *value); /* arena or static */
int req_need_admin(const struct req *r, const char *what, struct error *err);
int req_need_user(const struct req *r, struct error *err); /* refuses task tokens where a person must act */
bool api_allows_root_links(const struct api *a);

#endif
