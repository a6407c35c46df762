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

/* Trials are known by their number in the order of their creation, from 0. */
enum searcher_action_type {
    SEARCHER_CREATE,
    SEARCHER_VALIDATE_AFTER, /* an operation: train until `length`, then report */
    SEARCHER_CLOSE,          /* no operation will follow */
    SEARCHER_STOP,           /* end it now */
    SEARCHER_SHUTDOWN,
};

struct searcher_action {
    enum searcher_action_type type;
    size_t trial;                   /* all but SHUTDOWN */
    char request_id[CORE_UUID_MAX]; /* CREATE */
    uint32_t trial_seed;            /* CREATE */
    char *hparams;                  /* CREATE: JSON object */
    int64_t length;                 /* VALIDATE_AFTER, in the units of max_length, counted from the trial's beginning */
    bool cancel, failure;           /* SHUTDOWN; failure wins */
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
    SEARCHER_VALIDATED,           /* metric, time: see searcher_read_metrics() */
    SEARCHER_OPERATION_COMPLETED, /* metric, length, run */
    SEARCHER_PROGRESS,            /* progress */
    SEARCHER_EXITED_EARLY,        /* reason; SEARCHER_EXITED follows */
    SEARCHER_EXITED,
    SEARCHER_EVENT_NR,
};

struct searcher_event {
    enum searcher_event_type type;
    size_t trial;  /* all but STARTED */
    double metric; /* as reported */
    double time;
    int64_t length;
    int32_t run;     /* run_id of the trial */
    double progress; /* 0 … 1 */
    enum searcher_exit reason;
};

struct searcher;
/* Both texts are JSON objects of the experiment's configuration; what `config` does not say has its default.
 * ERR_INVALID for a searcher that cannot run, with every reason. */
int searcher_new(const char *config, const char *hyperparameters, uint32_t seed, struct searcher **ret,
                 struct error *err);
/* Whether a search may begin with as many trials at once as it would: they are one step of the core and one
 * transaction, and each has a copy of its hyperparameters. Asked of new searches only: what runs goes on. */
int searcher_check_start(const struct searcher *s, size_t hyperparameters_n, struct error *err);
void searcher_free(struct searcher *s);

/* Handles one event, and appends the searcher's actions to *ret. 1: the searcher's state has changed, and the caller
 * has to keep the event. 0: the event does not matter to this method. -1: the event is refused (such as an operation
 * that nobody asked for), and nothing has changed. */
int searcher_step(struct searcher *s, const struct searcher_event *ev, struct searcher_actions *ret, struct error *err);
/* Fills in metric and time of a SEARCHER_VALIDATED event from the validation's JSON object. 0: this method does not
 * look at validations. -1: they are not there, or no numbers; the experiment ends in error then. 1: done. */
int searcher_read_metrics(const struct searcher *s, const char *metrics, struct searcher_event *ret, struct error *err);

/* The number that methods compare: lower is better. What is no number is worse than all. */
double searcher_oriented(const struct searcher *s, double metric);

double searcher_progress(const struct searcher *s); /* of the experiment, 0 … 1 */
size_t searcher_trial_n(const struct searcher *s);
/* The number of a trial, SIZE_MAX if there is none. Quick for trials that are asked for in order. */
size_t searcher_find(struct searcher *s, const char *request_id);
/* 1 if people should be told something: adds "the searcher \"adaptive\" has been retired and runs as adaptive_asha". */
int searcher_warning(const struct searcher *s, struct strbuf *ret);

/* What a trial is asked for. length 0: no operations, its own code knows how long to train. */
struct searcher_operation {
    int64_t length;
    bool completed;        /* and no other one yet */
    bool closed;           /* none will follow */
    int32_t completed_run; /* the run that completed an operation last, 0: none */
};
struct searcher_operation searcher_operation(const struct searcher *s, size_t trial);

/* ---- surviving a crash ------------------------------------------------------------------------------------------- */

/* An event as one line of text, with its newline. */
void searcher_event_print(const struct searcher_event *ev, struct strbuf *ret);
int searcher_event_parse(const char *line, size_t n, struct searcher_event *ret, struct error *err);

/* A JSON text. Its size grows with the number of trials: take one every few hundred events. */
void searcher_snapshot(const struct searcher *s, struct strbuf *ret);
uint64_t searcher_event_n(const struct searcher *s); /* events kept since the very beginning */
/* On a new one of the same configuration, before any event: the state of the snapshot, then all lines of `events`
 * (NULL: none), which are those that were kept after it. Understands snapshots of older versions, too. */
int searcher_restore(struct searcher *s, const char *snapshot, const char *events, struct error *err);

#endif
