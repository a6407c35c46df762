/* A searcher decides which trials an experiment has, how far they train, and when it is over. It sees events (a trial
 * was validated, finished what it was asked for, made progress, ended) and answers with actions, which the experiment
 * carries out in order.
 *
 * The searcher keeps what all methods need: which trials were created, which have ended and how, and when to shut down.
 * The method behind it (method.h) only decides what to try next. Each method is a row in the table of searcher.c.
 * Rules: docs/spec/searchers.md.
 *
 * Deterministic to the bit: all randomness comes from one generator seeded with experiment_seed, consumed in one
 * order, so that an experiment's seed always gives the same trials, on every platform. The same events in the same
 * order give the same actions; that is how a searcher survives a crash: a snapshot now and then, the events since, and
 * the same again (searcher_restore()).
 *
 * Two forms of telling a trial how long to train:
 *  - today's: its own code knows; successive halving stops it by what it validates (searcher.time_metric, max_time);
 *  - operations, wherever the configuration has searcher.max_length: "train until this much in all, then report";
 *    a trial without an open operation waits for its next one, or is closed. */
#ifndef DET_CORE_SEARCHER_SEARCHER_H
#define DET_CORE_SEARCHER_SEARCHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/base/strbuf.h"
#include "core/records/rows.h"

struct json_object;

/* A trial is known by its number. Numbers begin with 0, in the order in which trials are created. */
enum searcher_action_type {
    SEARCHER_CREATE,
    SEARCHER_VALIDATE_AFTER, /* gives the trial an operation: it trains until `length`, then reports */
    SEARCHER_CLOSE,          /* the trial gets no further operation */
    SEARCHER_STOP,           /* the trial has to end now */
    SEARCHER_SHUTDOWN,
};

struct searcher_action {
    enum searcher_action_type type;
    size_t trial;                   /* set in all actions but SHUTDOWN */
    char request_id[CORE_UUID_MAX]; /* set in CREATE */
    uint32_t trial_seed;            /* set in CREATE */
    char *hparams;                  /* set in CREATE: a JSON object */
    /* set in VALIDATE_AFTER; in the units of max_length, counted from the trial's beginning */
    int64_t length;
    bool cancel, failure; /* set in SHUTDOWN; if both are set, the experiment counts as failed */
};

struct searcher_actions {
    struct searcher_action *item;
    size_t n, cap;
};
#define SEARCHER_ACTIONS_INIT {0}
void searcher_actions_release(struct searcher_actions *a);

enum searcher_exit { SEARCHER_EXIT_ERRORED, SEARCHER_EXIT_USER_CANCELED, SEARCHER_EXIT_INVALID_HP };

enum searcher_event_type {
    SEARCHER_STARTED,             /* the experiment begins */
    SEARCHER_VALIDATED,           /* has metric and time; see searcher_read_metrics() */
    SEARCHER_OPERATION_COMPLETED, /* has metric, length and run */
    SEARCHER_PROGRESS,            /* has progress */
    SEARCHER_EXITED_EARLY,        /* has a reason; SEARCHER_EXITED follows */
    SEARCHER_EXITED,
    SEARCHER_EVENT_NR,
};

struct searcher_event {
    enum searcher_event_type type;
    size_t trial;  /* set in all events but STARTED */
    double metric; /* as the trial has reported it */
    double time;
    int64_t length;
    int32_t run;     /* the run_id of the trial */
    double progress; /* 0 … 1 */
    enum searcher_exit reason;
};

struct searcher;
/* Makes a searcher. `config` and `hyperparameters` are JSON objects of the experiment's configuration. A key that is
 * not in `config` has its default. ERR_INVALID with every reason if the searcher cannot run. */
int searcher_new(const char *config, const char *hyperparameters, uint32_t seed, struct searcher **ret,
                 struct error *err);
/* Checks whether a search may begin with as many trials at once as it would. These trials are created in one step of
 * the core and stored in one transaction, and each has a copy of its hyperparameters. Only new searches are checked; a
 * search that runs goes on. */
int searcher_check_start(const struct searcher *s, size_t hyperparameters_n, struct error *err);
void searcher_free(struct searcher *s);

/* Handles one event, and appends the searcher's actions to *ret. 1: the searcher's state has changed, and the caller
 * has to keep the event. 0: the event does not matter to this method. -1: the event is refused (such as an operation
 * that nobody asked for), and nothing has changed. */
int searcher_step(struct searcher *s, const struct searcher_event *ev, struct searcher_actions *ret, struct error *err);
/* Fills in the metric and the time of a SEARCHER_VALIDATED event from the validation's JSON object. 1: they are filled
 * in. 0: this method does not use validations. -1: the metrics are missing or are not numbers; the experiment then ends
 * in error. */
int searcher_read_metrics(const struct searcher *s, const char *metrics, struct searcher_event *ret, struct error *err);

/* Turns a metric into the number that methods compare: lower is better. A metric that is not a finite number is worse
 * than all others. */
double searcher_oriented(const struct searcher *s, double metric);

double searcher_progress(const struct searcher *s); /* the progress of the experiment, 0 … 1 */
size_t searcher_trial_n(const struct searcher *s);
/* Finds the number of a trial; SIZE_MAX if there is none. The function is quick when trials are asked for in the order
 * of their numbers. */
size_t searcher_find(struct searcher *s, const char *request_id);
/* Returns 1 if users should be warned. It then adds a text such as "the searcher \"adaptive\" has been retired and runs
 * as adaptive_asha". */
int searcher_warning(const struct searcher *s, struct strbuf *ret);

/* What the searcher has asked a trial for. If length is 0, the search has no operations, and the trial's own code
 * decides how long to train. */
struct searcher_operation {
    int64_t length;
    bool completed;        /* the trial has completed the operation, and has got no other one yet */
    bool closed;           /* the trial gets no further operation */
    int32_t completed_run; /* the trial's run that last completed an operation; 0: none */
};
struct searcher_operation searcher_operation(const struct searcher *s, size_t trial);

/* ---- surviving a crash ------------------------------------------------------------------------------------------- */

/* Adds the event as one line of text, with its newline. */
void searcher_event_print(const struct searcher_event *ev, struct strbuf *ret);
int searcher_event_parse(const char *line, size_t n, struct searcher_event *ret, struct error *err);

/* Adds a snapshot of the searcher as JSON. Its size grows with the number of trials, so take one only every few hundred
 * events. */
void searcher_snapshot(const struct searcher *s, struct strbuf *ret);
/* The number of events that had to be kept since the search began. */
uint64_t searcher_event_n(const struct searcher *s);
/* Restores a searcher that was just made of the same configuration, before it gets any event. First it takes the state
 * of the snapshot, then all lines of `events` (NULL: there are none), which are the events kept after the snapshot.
 * Snapshots of older versions are understood, too. */
int searcher_restore(struct searcher *s, const char *snapshot, const char *events, struct error *err);

#endif
