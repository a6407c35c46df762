/* A searcher decides which trials an experiment has and when it is over. It sees events (a trial was created,
 * validated, made progress, ended) and answers with actions, which the experiment carries out in order.
 *
 * This file keeps the books that are the same for all methods: who was created, who ended and how, when to shut down.
 * The method behind it (method.h) only decides what to try next. Each one is a row in the table of searcher.c.
 *
 * Deterministic to the bit: all randomness comes from one generator seeded with experiment_seed, consumed in one
 * order, so that an experiment's seed always gives the same trials. */
#ifndef DET_CORE_SEARCHER_SEARCHER_H
#define DET_CORE_SEARCHER_SEARCHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "common/strbuf.h"
#include "core/rows.h"

enum searcher_action_type { SEARCHER_CREATE, SEARCHER_STOP, SEARCHER_SHUTDOWN };

struct searcher_action {
    enum searcher_action_type type;
    char request_id[CORE_UUID_MAX]; /* CREATE, STOP */
    uint32_t trial_seed;            /* CREATE */
    char *hparams;                  /* CREATE: JSON object */
    bool cancel, failure;           /* SHUTDOWN; failure wins */
};

struct searcher_actions {
    struct searcher_action *item;
    size_t n, cap;
};
#define SEARCHER_ACTIONS_INIT {0}
void searcher_actions_release(struct searcher_actions *a);

enum searcher_exit { SEARCHER_EXIT_ERRORED, SEARCHER_EXIT_USER_CANCELED, SEARCHER_EXIT_INVALID_HP };

struct searcher;
/* Both texts are JSON objects of the experiment's configuration. ERR_INVALID for a searcher that does not exist. */
int searcher_new(const char *config, const char *hyperparameters, uint32_t seed, struct searcher **ret,
                 struct error *err);
void searcher_free(struct searcher *s);

/* Each appends to *ret. Only a method can fail, and then the experiment ends in error. */
int searcher_initial_trials(struct searcher *s, struct searcher_actions *ret, struct error *err);
int searcher_trial_created(struct searcher *s, const char *request_id, struct searcher_actions *ret, struct error *err);
int searcher_validation_completed(struct searcher *s, const char *request_id, const char *metrics /* JSON object */,
                                  struct searcher_actions *ret, struct error *err);
int searcher_trial_exited_early(struct searcher *s, const char *request_id, enum searcher_exit reason,
                                struct searcher_actions *ret, struct error *err);
int searcher_trial_exited(struct searcher *s, const char *request_id, struct searcher_actions *ret, struct error *err);
void searcher_set_trial_progress(struct searcher *s, const char *request_id, double progress);

double searcher_progress(const struct searcher *s); /* of the experiment, 0 … 1 */

/* A JSON text that searcher_restore() turns back into the same searcher, to be called on a new one of the same
 * configuration, before any event. */
void searcher_snapshot(const struct searcher *s, struct strbuf *ret);
int searcher_restore(struct searcher *s, const char *snapshot, struct error *err);

#endif
