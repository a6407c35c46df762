/* The machines of an elastic pool: those that the provider lists, and what the agents on them do. Each machine is of
 * one class (scale.h). The classes are counted, so that the cost of a decision depends on what has changed, not on how
 * many machines there are. */
#ifndef DET_CORE_RESOURCES_INSTANCES_H
#define DET_CORE_RESOURCES_INSTANCES_H

#include "core/state/objects.h"

struct instances;

/* One machine. The agent on it has its id. */
struct instance {
    char id[CORE_AGENT_ID_MAX];
    enum core_instance_state state;
    int64_t launch_us;
    /* an agent with this machine's id has connected, before or after this start of the master */
    bool has_connected;
    bool failed;    /* the machine has been counted as a failed launch */
    bool inherited; /* the machine was launched before this start of the master: its agent may come back */
    bool leaving;   /* the core has decided to end the machine */
    /* the time since which the machine is idle, or its agent is not connected; 0: it is not so */
    int64_t idle_us, lost_us;
    char stop_detail[200]; /* why the machine ends, or the last line of its log if it has stopped */
    /* the values with which `set` has counted the machine, and what follows from them */
    enum scale_class class;
    bool may_return;          /* the machine is inherited, and its agent is not connected: the agent may come back */
    struct timer class_timer; /* due when the machine comes into another class only because time passes */
    struct instances *set;
    bool touched, listed;
    TAILQ_ENTRY(instance) in_touched;
};

struct instances {
    const struct scale_opts *opts;
    struct instance **at; /* ordered by id */
    size_t n;
    int n_in[SCALE_CLASS_NR];
    int may_return_n, leaving_n;
    TAILQ_HEAD(, instance) touched; /* instances whose class must be found again */
};

void instances_init(struct instances *s, const struct scale_opts *opts);
void instances_release(struct core *c, struct instances *s);
struct instance *instances_find(const struct instances *s, const char *id); /* NULL: the machine is not listed */

/* Replaces the provider's last list by a new one. On failure nothing has changed. */
int instances_take_list(struct core *c, struct instances *s, const struct core_instance *seen, size_t n, bool first,
                        struct error *err);

/* Has to be called when something about the machine may have changed: the machine is put on the list of those to be
 * looked at. */
void instances_touch(struct instances *s, struct instance *x);
void instance_timer(struct timer *t);
/* Looks at the next machine of that list and takes it off the list; NULL: there are no more. *ret_came is set if the
 * machine's agent has connected for the first time. */
struct instance *instances_look(struct core *c, struct pool *p, struct instances *s, bool *ret_came);
void instances_set_leaving(struct instance *x, bool leaving);

bool instances_add_up(const struct core *c, const struct instances *s); /* for tests */
void instances_clock_set(struct instances *s, int64_t by_us);

#endif
