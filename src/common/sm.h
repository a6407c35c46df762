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
 * All changes of state go through sm_move(): a move outside the set is refused, named in the error and reported to the
 * trace; after a legal one the type's invariant must hold, else the program stops, because it no longer knows what it
 * does. */
#ifndef DET_COMMON_SM_H
#define DET_COMMON_SM_H

#include <stdbool.h>
#include <stdint.h>

#include "common/error.h"

#define SM_TO(state) (UINT64_C(1) << (state))
enum sm_flag { SM_INITIAL = 1 << 0, SM_FINAL = 1 << 1 };
enum { SM_STATES_MAX = 64 };

struct sm_state {
    const char *name;
    uint64_t allowed; /* SM_TO(a) | SM_TO(b) … */
    unsigned flags;
};

struct sm;
struct sm_type {
    const char *name; /* of the thing: "trial" */
    const struct sm_state *state;
    int state_n;
    bool (*invariant)(const struct sm *sm, int previous); /* may be NULL */
};

/* Embedded in the thing whose state it is. */
struct sm {
    const struct sm_type *type;
    int64_t id; /* of the thing, for errors and traces */
    int state;
};

void sm_init(struct sm *sm, const struct sm_type *type, int64_t id);                 /* in the initial state */
void sm_restore(struct sm *sm, const struct sm_type *type, int64_t id, int state);   /* as read back from a store */
/* A move to the state it is in already is refused like any other that the row does not list. */
/* ERR_PRECONDITION: trial 17 cannot go from COMPLETED to PAUSED */
int sm_move(struct sm *sm, int to, struct error *err);
bool sm_allows(const struct sm *sm, int to);

const char *sm_name(const struct sm *sm); /* of its state */
const char *sm_type_name_of(const struct sm_type *type, int state);          /* NULL if there is no such state */
int sm_type_state_of(const struct sm_type *type, const char *name, int *ret); /* -1 if there is no such name */
/* Tells what is wrong with a table: exactly one initial state, final ones lead nowhere, others somewhere, all
 * reachable. */
int sm_type_check(const struct sm_type *type, struct error *err);

/* Called on each move, legal or refused, by the thread that moves. Set once, at the start of a program or test; NULL to
 * end. */
typedef void sm_trace_fn(void *ctx, const struct sm *sm, int from, int to, bool refused);
void sm_set_trace(sm_trace_fn *fn, void *ctx);

#endif
