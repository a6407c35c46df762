/* Asynchronous successive halving, one bracket of it.
 *
 * L. Li, K. Jamieson, A. Rostamizadeh, E. Gonina, J. Ben-Tzur, M. Hardt, B. Recht, A. Talwalkar: "A System for
 * Massively Parallel Hyperparameter Tuning", MLSys 2020, Algorithm 2; the variant that stops instead of promoting is
 * theirs, too.
 *
 * Trials climb rungs. On each their results are compared with all that were there before; one in `divisor` goes on.
 * Three forms, chosen by the configuration:
 *
 *     ASHA_BY_TIME     max_time      a trial trains on its own and is stopped at a rung where it is not among the best
 *                                    of those seen so far
 *     ASHA_STOP_ONCE   max_length,   the same with operations: train to the next rung, or close
 *                      stop_once
 *     ASHA_PROMOTE     max_length    a trial waits at its rung, and goes on when it has come to be among the best:
 *                                    later results may promote earlier trials */
#ifndef DET_CORE_SEARCHER_ASHA_H
#define DET_CORE_SEARCHER_ASHA_H

#include "core/searcher/method.h"
#include "core/searcher/ranking.h"

enum asha_form { ASHA_BY_TIME, ASHA_STOP_ONCE, ASHA_PROMOTE };
enum { ASHA_RUNGS_MAX = 100 };

struct asha_rung {
    int64_t units; /* the time or length at which a trial reaches this rung */
    struct ranking results;
    size_t outstanding; /* ASHA_PROMOTE: the number of trials that are on their way to this rung */
};

struct asha_trial {
    int8_t rung; /* -1: the trial belongs to another bracket */
    bool exited_early;
    bool closed; /* the trial was stopped, was closed, or ended early: its reports do not count any more */
};

struct asha {
    enum asha_form form;
    const char *unit; /* the name of what `units` counts; borrowed */
    double divisor;
    /* max_concurrent 0: as many as are needed for one trial to reach the top rung */
    int64_t max_trials, max_concurrent;
    struct asha_rung *rung;
    int rung_n;
    int closed_out;           /* ASHA_PROMOTE: from so many of the lowest rungs no trial will be promoted any more */
    struct asha_trial *trial; /* by the trial's number */
    size_t trial_n, trial_cap;
    int64_t created, exited, invalid;
};

/* The part of the configuration that is the same for all brackets. */
struct asha_length {
    enum asha_form form;
    int64_t units;    /* the number of units of the top rung */
    const char *unit; /* the name of what `units` counts */
};
int asha_length(const struct exp_searcher *config, struct asha_length *ret, struct error *err);

/* Sets ret[i] to max(⌊units / divisor^(n-1-i)⌋, 1) for each rung i of n. */
void asha_rung_units(int rung_n, int64_t units, double divisor, int64_t *ret);
int64_t truncated(double x, int64_t max); /* x rounded towards 0, and limited to 0 … max; 0 if x is not a number */

void asha_init(struct asha *a, const struct asha_length *length, double divisor, int rung_n, int64_t max_trials,
               int64_t max_concurrent);
void asha_release(struct asha *a);
int64_t asha_at_once(const struct asha *a);
void asha_place(struct asha *a, size_t trial, int rung); /* enters the trial as one of this bracket's */

void asha_start(struct asha *a, struct searcher *s, struct searcher_actions *ret);
void asha_validated(struct asha *a, struct searcher *s, size_t trial, double metric, double time,
                    struct searcher_actions *ret);
void asha_operation_completed(struct asha *a, struct searcher *s, size_t trial, double metric,
                              struct searcher_actions *ret);
void asha_exited_early(struct asha *a, struct searcher *s, size_t trial, enum searcher_exit reason,
                       struct searcher_actions *ret);
void asha_exited(struct asha *a, struct searcher *s, size_t trial, struct searcher_actions *ret);
double asha_progress(const struct asha *a);
struct json_object *asha_snapshot(const struct asha *a);
int asha_restore(struct asha *a, struct json_object *state, size_t trial_n, struct error *err);
void asha_preview(const struct asha *a, struct search_plan *ret);

#endif
