/* Within experiments (experiment.c, experiment_search.c): what they share. */
#ifndef DET_CORE_EXPERIMENT_INTERNAL_H
#define DET_CORE_EXPERIMENT_INTERNAL_H

#include "core/experiment.h"
#include "core/searcher/searcher.h"

/* To a state that sm_type_allows(), and its trials with it; one that is stopping ends when it has no live trial any more. */
void experiment_move(struct core *c, struct experiment *x, enum run_state to);
void experiment_maybe_end(struct core *c, struct experiment *x);

/* An event, kept if it matters, and what follows from it. -1: it cannot be. */
int experiment_tell_searcher(struct core *c, struct experiment *x, const struct searcher_event *ev, struct error *err);

#endif
