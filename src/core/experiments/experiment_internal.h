/* Within experiments (experiment.c, experiment_search.c, experiment_state.c, each of which calls only those after
 * it): what they share. */
#ifndef DET_CORE_EXPERIMENT_INTERNAL_H
#define DET_CORE_EXPERIMENT_INTERNAL_H

#include "core/experiments/experiment.h"
#include "core/searcher/searcher.h"

/* To a state that sm_type_allows(), and its trials with it; one that is stopping ends when it has no live trial any
 * more. */
void experiment_move(struct core *c, struct experiment *x, enum run_state to);
void experiment_maybe_end(struct core *c, struct experiment *x);
void experiment_set_state(struct core *c, struct experiment *x, enum run_state to); /* the same without its trials */
/* For the driver: it was in one state, and is in another one now. */
void experiment_note_state(struct core *c, int32_t experiment_id, enum run_state from, enum run_state to);
void experiment_add_trial(struct experiment *x, struct trial *t); /* by its number */

/* An event, kept if it matters, and what follows from it. -1: it cannot be. */
int experiment_tell_searcher(struct core *c, struct experiment *x, const struct searcher_event *ev, struct error *err);

#endif
