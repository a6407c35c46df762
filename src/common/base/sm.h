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
 * store keeps, and changed by one function, which asks sm_check_move() first. Either refuses a move outside the set,
 * names it in the error and reports it to the trace. */
#ifndef DET_COMMON_BASE_SM_H
#define DET_COMMON_BASE_SM_H

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
    const char *name; /* what has these states: "trial" */
    const struct sm_state *state;
    int state_n;
};

bool sm_type_allows(const struct sm_type *type, int from, int to);
/* Checks a move. `id` is the id of what has the state, for errors and traces. A move to the present state is refused
 * like any other that the row does not list. Error: ERR_PRECONDITION, "trial 17 cannot go from COMPLETED to PAUSED". */
int sm_check_move(const struct sm_type *type, int64_t id, int from, int to, struct error *err);

/* The state of an object; a member of its struct. */
struct sm {
    const struct sm_type *type;
    int64_t id; /* id of the object, for errors and traces */
    int state;
};

void sm_init(struct sm *sm, const struct sm_type *type, int64_t id); /* begins in the initial state */
/* begins in a state that was stored */
void sm_restore(struct sm *sm, const struct sm_type *type, int64_t id, int state);
int sm_move(struct sm *sm, int to, struct error *err); /* moves if sm_check_move() allows it */

const char *sm_name(const struct sm *sm);                                     /* name of the present state */
const char *sm_type_name_of(const struct sm_type *type, int state);           /* NULL if there is no such state */
int sm_type_state_of(const struct sm_type *type, const char *name, int *ret); /* -1 if there is no such name */
/* Checks a table: it has exactly one initial state, final states lead nowhere, others lead somewhere, and all can be
 * reached. */
int sm_type_check(const struct sm_type *type, struct error *err);

/* Sets a function that is called on each move, legal or refused, by the thread that moves. Set it once, at the start of
 * a program or test; NULL ends the trace. */
typedef void sm_trace_fn(void *ctx, const struct sm_type *type, int64_t id, int from, int to, bool refused);
void sm_set_trace(sm_trace_fn *fn, void *ctx);

#endif
