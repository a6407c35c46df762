/* The passwords' lane: argon2 takes a core for a tenth of a second and 48 MiB, and strangers ask for it. It has one thread, and
 * requests wait for it here, on the loop:
 *   - one is with the thread at a time, so that a client that leaves takes its request along;
 *   - at most PASSWORD_WAITING_MAX wait; of more, those go (503) that would have had their turn last;
 *   - first come people who are logged in, and logins that are known (api/accounts/login_limits.h), then addresses that have not failed
 *     lately, then all others; among each, addresses take turns, so that a thousand requests of one cost another a single wait;
 *   - among equals the first come first, but when more than half of the queue is taken, the last.
 *
 * With one thread all logins together use half of the two cores that a small master has, whoever asks for them; a second one would
 * take the other half away from everybody's reads. */
#ifndef DET_API_PASSWORD_LANE_H
#define DET_API_PASSWORD_LANE_H

#include "api/pipeline/handler.h"
#include "api/accounts/login_limits.h"

enum { PASSWORD_WAITING_MAX = 32 }; /* two to three seconds of the thread: the longest wait that is worth anybody's while */

struct password_lane;
struct password_lane *password_lane_new(void);
void password_lane_free(struct password_lane *lane);

/* Until then requests wait: the first accounts are being made. */
void password_lane_open(struct password_lane *lane);
int password_lane_waiting(const struct password_lane *lane);

struct password_turn {
    enum login_standing standing;
    uint8_t key[16];     /* who takes turns with the others */
    int (*before)(struct req *r, struct error *err); /* loop, when its turn has come: -1 refuses it. May be NULL */
    req_store_fn *work; /* the lane's thread, a reader */
    req_loop_fn *after; /* what req_then_…() and the like go on with */
};

/* From a step on the loop: `return password_lane_enter(…)`. */
int password_lane_enter(struct req *r, const struct password_turn *turn, struct error *err);
/* … for somebody who is logged in. */
int password_lane_run(struct req *r, req_store_fn *work, req_loop_fn *after, struct error *err);

#endif
