/* An experiment: which trials it has, which state they should be in, and when it is over.
 *
 * Users ask for states, and the searcher asks for trials and for the end; the experiment tells its trials. An
 * experiment that is stopping ends when its last trial has ended. The traffic between an experiment and its searcher is
 * in experiment_search.c. Rules: docs/spec/lifecycle.md. */
#ifndef DET_CORE_EXPERIMENTS_EXPERIMENT_H
#define DET_CORE_EXPERIMENTS_EXPERIMENT_H

#include "core/state/objects.h"

enum { EXPERIMENTS_MAX = 100000 }; /* the most experiments that have not ended */

int experiment_create(struct core *c, const struct core_experiment_spec *spec, bool activate, struct error *err);
/* Carries out CORE_EXPERIMENT_CONTINUE: the experiment is PAUSED with a new searcher, and then becomes ACTIVE. */
int experiment_continue(struct core *c, const struct core_event *ev, struct error *err);
/* To activate or pause an experiment that is stopping is an error. To cancel or kill it a second time does nothing. */
int experiment_activate(struct core *c, int32_t id, struct error *err);
int experiment_pause(struct core *c, int32_t id, struct error *err);
int experiment_cancel(struct core *c, int32_t id, struct error *err);
int experiment_kill(struct core *c, int32_t id, struct error *err);
int experiment_set_resources(struct core *c, int32_t id, const struct core_resources_patch *p, struct error *err);

/* These functions tell an experiment about its trials: facts (state/step.h), and reports of tasks. */
void experiment_trial_ended(struct core *c, struct trial *t);
void experiment_trial_invalid_hp(struct core *c, struct trial *t);
/* Notes in words for people what went wrong with a trial. If the experiment ends in error, the last such note is its
 * reason. */
void experiment_note_failure(struct experiment *x, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Tells the searcher of a validation. If the search method cannot use the metrics, the experiment ends in error, and
 * effects.searcher_error says why. */
void experiment_validated(struct core *c, int32_t trial_id, const char *metrics);
/* ERR_PRECONDITION if the trial has no operation of this length. */
int experiment_operation_completed(struct core *c, int32_t trial_id, int64_t length, double metric, struct error *err);
void experiment_trial_progress(struct core *c, int32_t trial_id, double progress);

struct experiment *experiment_find(const struct core *c, int32_t id);
void experiments_save_searchers(struct core *c); /* to be called at the end of a step */

/* Restores an experiment after a restart of the master. -1: it could not be restored; *ret is set all the same, for
 * experiment_fail(). */
int experiment_restore(struct core *c, const struct core_restored_experiment *r, struct experiment **ret,
                       struct error *err);
/* Restores a trial. -1: the searcher does not know the trial. */
int experiment_restore_trial(struct experiment *x, struct trial *t, struct error *err);
/* Has to be called when the experiment's trials have been restored. The experiment then goes on. */
void experiment_resume(struct core *c, struct experiment *x);
/* Ends the experiment and all its trials in ERROR at once. */
void experiment_fail(struct core *c, struct experiment *x, const char *reason);

void experiment_free(
    struct core *c,
    /* frees the experiment's trials as well; the experiment must have been taken out of all tables before */
    struct experiment *x);

#endif
