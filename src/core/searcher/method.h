/* A search method: the part of a searcher that decides what to try next. One file each, one row in searcher.c's table.
 *
 * Methods cannot fail: whatever is given to them has been checked. Smaller metrics are better, and all are finite.
 * Trials are known by their number. Actions are made with method_create(), method_validate_after(), method_close() and
 * method_stop(). */
#ifndef DET_CORE_SEARCHER_METHOD_H
#define DET_CORE_SEARCHER_METHOD_H

#include "common/base/rng.h"
#include "common/json/json.h"
#include "core/config/expconf.h"
#include "core/searcher/preview.h"
#include "core/searcher/searcher.h"

struct search_method_type {
    const char *name; /* the method's name in snapshots and in messages */
    /* Sets *ret to the method's own state. ERR_INVALID with the reason if the configuration cannot run. */
    int (*new)(const struct exp_searcher *config, struct json_object *hyperparameters, void **ret, struct error *err);
    void (*free)(void *method);
    void (*start)(void *method, struct searcher *s, struct searcher_actions *ret);
    int64_t (*at_once)(const void *method); /* how many trials start() creates */
    /* Any of these four is NULL if the method does not need such events. */
    void (*validated)(void *method, struct searcher *s, size_t trial, double metric, double time,
                      struct searcher_actions *ret);
    void (*operation_completed)(void *method, struct searcher *s, size_t trial, double metric,
                                struct searcher_actions *ret);
    void (*exited_early)(void *method, struct searcher *s, size_t trial, enum searcher_exit reason,
                         struct searcher_actions *ret);
    void (*exited)(void *method, struct searcher *s, size_t trial, struct searcher_actions *ret);
    double (*progress)(const void *method); /* NULL: progress is the mean of the progress of all trials */
    /* Returns the hyperparameters of the n-th trial. NULL: they are drawn at random from the space. */
    struct json_object *(*hyperparameters)(const void *method, size_t n);
    struct json_object *(*snapshot)(const void *method);
    /* Restores the state of a method that was just made. `state` may be any JSON; ERR_INVALID if it is not a state of
     * this method. trial_n is the number of trials that the searcher has. */
    int (*restore)(void *method, struct json_object *state, size_t trial_n, struct error *err);
    void (*preview)(const void *method, struct search_plan *ret);
};

extern const struct search_method_type search_method_single, search_method_random, search_method_grid,
    search_method_halving, search_method_adaptive_asha;

/* Creates a trial: draws its hyperparameters, request id and seed, in this order. Returns the number of the new
 * trial. */
size_t method_create(struct searcher *s, struct searcher_actions *ret);
void method_validate_after(struct searcher *s, struct searcher_actions *ret, size_t trial, int64_t length);
void method_close(struct searcher *s, struct searcher_actions *ret, size_t trial);
void method_stop(struct searcher_actions *ret, size_t trial);

/* Creates a trial for a method that lets every trial train to its end. The trial gets one operation of length
 * searcher.max_length, if that is set. */
size_t method_create_whole(struct searcher *s, struct searcher_actions *ret);
/* Returns true if the trial has an operation that it has not completed. */
bool method_has_open_operation(const struct searcher *s, size_t trial);

/* The largest number of trials with which a stored search may begin when it is restored. New searches have a far lower
 * limit (searcher_check_start). */
enum { SEARCHER_START_MAX = 100000 };
int method_check_start(int64_t trials, struct error *err);

/* Reads a count from a snapshot: a number from 0 to max. Anything else is ERR_INVALID; the error names the member. */
int method_read_count(struct json_object *state, const char *name, int64_t max, int64_t *ret, struct error *err);

#endif
