/* An experiment: which trials it has, which state they should be in, and when it is over.
 *
 * Users ask for states, and the searcher asks for trials and for the end; the experiment tells its trials. An
 * experiment that is stopping ends when its last trial has ended. The traffic between an experiment and its searcher is
 * in experiment_search.c. Rules: docs/spec/lifecycle.md. */
#ifndef DET_CORE_EXPERIMENTS_EXPERIMENT_H
#define DET_CORE_EXPERIMENTS_EXPERIMENT_H

#include "core/state/objects.h"

enum { EXPERIMENTS_MAX = 100000 }; /* experiments that have not ended */

int experiment_create(struct core *c, const struct core_experiment_spec *spec, bool activate, struct error *err);
/* CORE_EXPERIMENT_CONTINUE: PAUSED with a new searcher, then ACTIVE. */
int experiment_continue(struct core *c, const struct core_event *ev, struct error *err);
/* To activate or to pause an experiment that is stopping is refused; to cancel or to kill it once more does nothing. */
int experiment_activate(struct core *c, int32_t id, struct error *err);
int experiment_pause(struct core *c, int32_t id, struct error *err);
int experiment_cancel(struct core *c, int32_t id, struct error *err);
int experiment_kill(struct core *c, int32_t id, struct error *err);
int experiment_set_resources(struct core *c, int32_t id, const struct core_resources_patch *p, struct error *err);

/* What experiments are told about their trials: facts (state/step.h) and reports of tasks. */
void experiment_trial_ended(struct core *c, struct trial *t);
void experiment_trial_invalid_hp(struct core *c, struct trial *t);
/* What went wrong with a trial, in words for people; the last of these is the experiment's reason if it ends in error.
 */
void experiment_note_failure(struct experiment *x, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* A method that cannot use the metrics ends the experiment in error and says why in effects.searcher_error. */
void experiment_validated(struct core *c, int32_t trial_id, const char *metrics);
/* ERR_PRECONDITION: the trial has no operation of this length. */
int experiment_operation_completed(struct core *c, int32_t trial_id, int64_t length, double metric, struct error *err);
void experiment_trial_progress(struct core *c, int32_t trial_id, double progress);

struct experiment *experiment_find(const struct core *c, int32_t id);
void experiments_save_searchers(struct core *c); /* at the end of a step */

/* After a restart. -1: the experiment could not be rebuilt. *ret is set all the same, for experiment_fail(). */
int experiment_restore(struct core *c, const struct core_restored_experiment *r, struct experiment **ret,
                       struct error *err);
/* -1: the searcher does not know this one of its trials. */
int experiment_restore_trial(struct experiment *x, struct trial *t, struct error *err);
/* After its trials have been restored: goes on where it was. */
void experiment_resume(struct core *c, struct experiment *x);
/* Ends the experiment and all its trials in ERROR at once. */
void experiment_fail(struct core *c, struct experiment *x, const char *reason);

void experiment_free(
    struct core *c,
    struct experiment *x); /* frees the trials, too; the experiment has been taken out of all tables before */

#endif
