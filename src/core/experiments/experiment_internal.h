/* Within experiments (experiment.c, experiment_search.c, experiment_state.c, each of which calls only those after
 * it): what they share. */
#ifndef DET_CORE_EXPERIMENTS_EXPERIMENT_INTERNAL_H
#define DET_CORE_EXPERIMENTS_EXPERIMENT_INTERNAL_H

#include "core/experiments/experiment.h"
#include "core/searcher/searcher.h"

/* Moves the experiment, and its trials with it, to a state that sm_type_allows(). If that state is a stopping one and
 * no trial is live any more, the experiment ends. */
void experiment_move(struct core *c, struct experiment *x, enum run_state to);
void experiment_maybe_end(struct core *c, struct experiment *x);
void experiment_set_state(struct core *c, struct experiment *x,
                          enum run_state to); /* the same, without moving the trials */
/* Adds the effect that tells the driver of the experiment's move from one state to another. */
void experiment_note_state(struct core *c, int32_t experiment_id, enum run_state from, enum run_state to);
void experiment_add_trial(struct experiment *x, struct trial *t); /* enters the trial under its number */

/* Gives the event to the searcher, keeps the event if the searcher needs it after a restart, and carries out the
 * searcher's actions. -1: the searcher has refused the event. */
int experiment_tell_searcher(struct core *c, struct experiment *x, const struct searcher_event *ev, struct error *err);

#endif
