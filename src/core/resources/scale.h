/* How many machines an elastic pool should have: the decision alone, as functions of plain numbers
 * (docs/spec/scheduling.md#elastic-pools).
 *
 *     what waits ──→ scale_desired ──┐
 *     instances ──→ scale_terminate  ├─→ elastic.c, which knows time, agents and requests
 *              └──→ scale_launch ←───┘
 *
 * An instance is a machine that a provider has launched, from the launch until the provider does not list it any more;
 * it becomes useful when the agent on it connects. */
#ifndef DET_CORE_RESOURCES_SCALE_H
#define DET_CORE_RESOURCES_SCALE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct scale_opts {
    int min_instances, max_instances, slots_per_instance;
    int64_t max_idle_us, max_starting_us, max_disconnected_us;
    /* A launch that fails is tried again after growing pauses. If launch_error_timeout_us is set, the pause has that
     * length once more than `launch_error_retries` launches have failed in a row. */
    int64_t launch_error_timeout_us; /* 0: no such pause */
    int launch_error_retries;
};

/* ---- how many more ----------------------------------------------------------------------------------------------- */

/* What waits for agents, summed over all jobs. */
struct scale_demand {
    int64_t aux; /* tasks without slots */
    int64_t slots;
};

/* Returns whether whole agents of so many slots, or a part of one agent, can hold the request. No agent is launched for
 * other requests. */
bool scale_counts(int slots, int slots_per_instance);
/* Returns the slots that one job waits for, which are at most its max_slots. max_slots -1: no limit. */
int64_t scale_job_slots(int64_t slots, int max_slots);
int scale_desired(const struct scale_demand *d, int slots_per_instance, int aux_per_instance);

/* ---- which fewer ------------------------------------------------------------------------------------------------- */

enum scale_class {
    SCALE_PENDING,  /* the machine was asked for, and does not run yet */
    SCALE_STARTING, /* the machine was launched a short time ago: its agent may still come */
    SCALE_OCCUPIED,
    SCALE_IDLE,
    SCALE_LONG_IDLE,
    SCALE_DISCONNECTED,
    SCALE_LONG_DISCONNECTED, /* includes machines whose agents have never connected */
    SCALE_STOPPED,           /* the machine has ended by itself */
    SCALE_CLASS_NR,
};

struct scale_instance {
    enum scale_class class;
    int64_t launch_us;
    bool terminate; /* set by scale_terminate() */
};

/* Returns whether scale_terminate() would choose any instance. n_in has the number of instances of each class. */
bool scale_would_terminate(const int n_in[SCALE_CLASS_NR], int min_instances, int max_instances);
/* Sets `terminate` of the instances that are to end, and returns their number. */
int scale_terminate(struct scale_instance *instance, size_t n, int min_instances, int max_instances);
/* Returns how many machines to launch. recently_launched counts pending and starting machines, which are part of
 * `existing`. */
int scale_launch(const struct scale_opts *o, int existing, int recently_launched, int desired);

#endif
