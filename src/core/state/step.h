/* What a step collects: effects for the driver, rows that are to be put, and facts that are still to be told. All of
 * it is copied into the arena of the step's effects, so that it outlives the core's objects. */
#ifndef DET_CORE_STATE_STEP_H
#define DET_CORE_STATE_STEP_H

#include "core/state/objects.h"

struct core_effect *effect_add(struct core *c, enum core_effect_type type);
void record_init(struct record *r, enum record_kind kind, const void *row, bool stored);
void record_touch(struct core *c, struct record *r); /* the row will be PUT at the end of this step */
/* Has to be called when the object is freed before the end of the step. If its row is to be PUT, it is PUT as it is
 * now. */
void record_release(struct core *c, struct record *r);
void effects_put_touched(struct core *c); /* puts the effects for the touched rows before the effects added so far */

/* A fact is something that has happened to an object, and that another object above it has to hear of: an allocation
 * has ended, so its trial decides what comes next; a trial has ended, so its experiment tells the searcher.
 *
 * Calls go down only: experiment, trial, allocation, container. Upward there are facts. Whoever finds one out adds
 * it here, and core.c tells it to whom it concerns once the function that was called for the event has returned. So
 * no function is entered again while it runs, nothing that it looks at goes away meanwhile, and what has ended is
 * freed as soon as its end has been told.
 *
 * Facts are told in the order in which they were added, but what follows from a fact is told before the next one. */
enum fact_type {
    FACT_ALLOCATION_ENDED, /* of .allocation; told to its trial or task */
    FACT_TRIAL_FAILED,     /* of .trial; .text is for people; told to the trial's experiment */
    FACT_TRIAL_INVALID_HP, /* .trial has reported this; told to its experiment */
    FACT_TRIAL_ENDED,      /* of .trial; told to its experiment */
    FACT_EXPERIMENT_ENDED, /* of .experiment */
    FACT_MACHINE_GONE,     /* the machine of .agent is not listed any more; told to the agents */
};
struct fact {
    enum fact_type type;
    union {
        struct allocation *allocation;
        struct trial *trial;
        struct experiment *experiment;
        struct agent *agent;
    };
    const char *text;
    STAILQ_ENTRY(fact) next;
};
void fact_add(struct core *c, struct fact fact);
bool fact_take(struct core *c, struct fact *ret); /* takes the next fact that is to be told; false: there is none */

void task_log(struct core *c, const struct allocation *a, bool error, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
void trial_log(struct core *c, const struct trial *t, bool error, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
void wake_long_polls(struct core *c, const struct allocation *a, enum core_wake what);
void signal_container(struct core *c, const struct container *k, int signal);

#endif
