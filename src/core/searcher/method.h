/* A search method: the part of a searcher that decides what to try next. One file each, one row in searcher.c's table.
 *
 * Events that a method does not care for are NULL. Actions are made with method_create(), method_stop(). */
#ifndef DET_CORE_SEARCHER_METHOD_H
#define DET_CORE_SEARCHER_METHOD_H

#include "common/json.h"
#include "core/searcher/searcher.h"

/* Of one trial, as the searcher's books have it. */
struct searcher_trial {
    char request_id[CORE_UUID_MAX];
    bool created, closed, exited_early, failed, canceled;
    bool has_progress;
    double progress;
};

struct search_method_type {
    const char *name; /* in the configuration */
    /* *ret is the method's own state. */
    int (*new)(struct json_object *config, void **ret, struct error *err);
    void (*free)(void *method);
    int (*initial_trials)(void *method, struct searcher *s, struct searcher_actions *ret, struct error *err);
    int (*trial_created)(void *method, struct searcher *s, const char *request_id, struct searcher_actions *ret,
                         struct error *err);
    int (*validation_completed)(void *method, struct searcher *s, const char *request_id, struct json_object *metrics,
                                struct searcher_actions *ret, struct error *err);
    int (*trial_exited_early)(void *method, struct searcher *s, const char *request_id, enum searcher_exit reason,
                              struct searcher_actions *ret, struct error *err);
    int (*trial_exited)(void *method, struct searcher *s, const char *request_id, struct searcher_actions *ret,
                        struct error *err);
    double (*progress)(const void *method, const struct searcher_trial *trial, size_t trial_n);
    struct json_object *(*snapshot)(const void *method);
    int (*restore)(void *method, struct json_object *snapshot, struct error *err);
};

extern const struct search_method_type search_method_single, search_method_random;

/* Draws hyperparameters, request id and trial seed, in this order. */
int method_create(struct searcher *s, struct searcher_actions *ret, struct error *err);
void method_stop(struct searcher_actions *ret, const char *request_id);
/* Σ (1 if closed, else progress) / number of trials with an entry: for methods that have no better idea. */
double method_mean_progress(const struct searcher_trial *trial, size_t trial_n);

#endif
