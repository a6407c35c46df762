/* The password lane: the queue in front of the one thread that hashes passwords. Argon2 takes a core for a tenth of
 * a second and 48 MiB, and people who are not logged in can ask for it. Requests wait for the thread here, on the
 * loop:
 *    - the thread has one request at a time, so that a request whose client has left is dropped from the queue;
 *    - at most PASSWORD_WAITING_MAX requests wait; when there are more, the one that would be served last is refused
 *      (503);
 *    - first come people who are logged in and logins from known addresses (api/accounts/login_limits.h), then
 *      addresses that have not failed lately, then all others; within each class addresses take turns, so that a
 *      thousand requests from one address cost another address a single wait;
 *    - within one address, requests are served in the order of arrival, but the newest first when more than half of
 *      the queue is taken.
 *
 * With one thread, all logins together use half of a small master with two cores, whoever asks for them. A second
 * thread would take the other half from everybody's reads.
 *
 * Passwords that a directory checks (directory.h) have a lane of their own with a few threads, which wait for the
 * directory and take no time of a core: a directory that is slow delays nobody who logs in with a password of this
 * cluster. All else holds for that lane, too. */
#ifndef DET_API_ACCOUNTS_PASSWORD_LANE_H
#define DET_API_ACCOUNTS_PASSWORD_LANE_H

#include "api/accounts/login_limits.h"
#include "api/pipeline/handler.h"

enum {
    PASSWORD_WAITING_MAX = 32, /* two to three seconds of the thread's work: nobody should wait longer */
    DIRECTORY_THREADS = 4,
};

struct password_lane;
struct password_lane *password_lane_new(int threads);
void password_lane_free(struct password_lane *lane);

/* Starts serving. Before that requests wait, since the first accounts are still being made. */
void password_lane_open(struct password_lane *lane);
int password_lane_waiting(const struct password_lane *lane);

struct password_turn {
    enum login_standing standing;
    uint8_t key[16]; /* requests with the same key take turns with those of other keys */
    /* on the loop, when the request's turn has come: -1 refuses it; may be NULL */
    int (*before)(struct req *r, struct error *err);
    req_store_fn *work; /* on the thread that hashes passwords, with a connection that reads */
    req_work_fn *ask;   /* or, in the directory's lane, on a thread that may wait for the directory */
    req_loop_fn *after; /* the step on the loop that the request goes on with */
};

/* Queues the request. From a step on the loop: `return password_lane_enter(…)`. */
int password_lane_enter(struct password_lane *lane, struct req *r, const struct password_turn *turn, struct error *err);
/* Like password_lane_enter(), for a user who is logged in. */
int password_lane_run(struct req *r, req_store_fn *work, req_loop_fn *after, struct error *err);

#endif
