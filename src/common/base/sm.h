/* State machines as tables: a row per state with its name and the set of states that may follow it.
 *
 *     enum { DOOR_OPEN, DOOR_CLOSED, DOOR_LOCKED, DOOR_NR };
 *     static const struct sm_state door_states[DOOR_NR] = {
 *         [DOOR_OPEN]   = {"OPEN",   SM_TO(DOOR_CLOSED),                      SM_INITIAL},
 *         [DOOR_CLOSED] = {"CLOSED", SM_TO(DOOR_OPEN) | SM_TO(DOOR_LOCKED),   0},
 *         [DOOR_LOCKED] = {"LOCKED", 0,                                       SM_FINAL},
 *     };
 *     static const struct sm_type door_type = {"door", door_states, DOOR_NR};
 *
 * A state is kept in a struct sm, and changed by sm_move(); or it is a member of something else, such as a row that a
 * store keeps, and changed by one function, which asks sm_check_move() first. Either refuses a move outside the set, names
 * it in the error and reports it to the trace. */
#ifndef DET_COMMON_SM_H
#define DET_COMMON_SM_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/error.h"

#define SM_TO(state) (UINT64_C(1) << (state))
enum sm_flag { SM_INITIAL = 1 << 0, SM_FINAL = 1 << 1 };
enum { SM_STATES_MAX = 64 };

struct sm_state {
    const char *name;
    uint64_t allowed; /* SM_TO(a) | SM_TO(b) … */
    unsigned flags;
};

struct sm_type {
    const char *name; /* of the thing: "trial" */
    const struct sm_state *state;
    int state_n;
};

bool sm_type_allows(const struct sm_type *type, int from, int to);
/* Is it a legal move? id: of the thing, for errors and traces. A move to the state that it is in already is refused
 * like any other that the row does not list. ERR_PRECONDITION: trial 17 cannot go from COMPLETED to PAUSED */
int sm_check_move(const struct sm_type *type, int64_t id, int from, int to, struct error *err);

/* Embedded in the thing whose state it is. */
struct sm {
    const struct sm_type *type;
    int64_t id; /* of the thing, for errors and traces */
    int state;
};

void sm_init(struct sm *sm, const struct sm_type *type, int64_t id);                 /* in the initial state */
void sm_restore(struct sm *sm, const struct sm_type *type, int64_t id, int state);   /* as read back from a store */
int sm_move(struct sm *sm, int to, struct error *err); /* if sm_check_move() has nothing against it */

const char *sm_name(const struct sm *sm); /* of its state */
const char *sm_type_name_of(const struct sm_type *type, int state);          /* NULL if there is no such state */
int sm_type_state_of(const struct sm_type *type, const char *name, int *ret); /* -1 if there is no such name */
/* Tells what is wrong with a table: exactly one initial state, final ones lead nowhere, others somewhere, all
 * reachable. */
int sm_type_check(const struct sm_type *type, struct error *err);

/* Called on each move, legal or refused, by the thread that moves. Set once, at the start of a program or test; NULL to
 * end. */
typedef void sm_trace_fn(void *ctx, const struct sm_type *type, int64_t id, int from, int to, bool refused);
void sm_set_trace(sm_trace_fn *fn, void *ctx);

#endif
