/* The machines of an elastic pool: those that the provider lists, and what the agents on them do. Each machine is of one class
 * (scale.h). The classes are counted, so that the cost of a decision depends on what has changed, not on how many machines there
 * are. */
#ifndef DET_CORE_INSTANCES_H
#define DET_CORE_INSTANCES_H

#include "core/state/objects.h"

struct instances;

/* One machine. The agent on it has its id. */
struct instance {
    char id[CORE_AGENT_ID_MAX];
    enum core_instance_state state;
    int64_t launch_us;
    bool came;           /* somebody with its id has been connected, in this life of the master or an earlier one */
    bool failed;         /* counted as a failed launch */
    bool inherited;      /* launched before this start of the master: its agent may be on its way back */
    bool leaving;        /* it has been decided that it is to end */
    int64_t idle_us, lost_us; /* since when; 0: it is not */
    char last_words[200]; /* of one that has stopped */
    /* what is kept of that in sums */
    enum scale_class is;
    bool settles;        /* it is inherited, and lost */
    struct timer ends;   /* its class, by itself */
    struct instances *among;
    bool touched, listed;
    TAILQ_ENTRY(instance) in_touched;
};

struct instances {
    const struct scale_opts *opts;
    struct instance **at; /* by id */
    size_t n;
    int n_in[SCALE_CLASS_NR];
    int settling_n, leaving_n;
    TAILQ_HEAD(, instance) touched; /* to be looked at */
};

void instances_init(struct instances *s, const struct scale_opts *opts);
void instances_release(struct core *c, struct instances *s);
struct instance *instances_find(const struct instances *s, const char *id); /* NULL: it is not listed */

/* The provider's list takes the place of the one before. On failure nothing has changed. */
int instances_take_list(struct core *c, struct instances *s, const struct core_instance *seen, size_t n, bool first,
                        struct error *err);

/* Something about the machine may have changed: it is put on the list of those to be looked at. */
void instances_touch(struct instances *s, struct instance *x);
void instance_timer(struct timer *t);
/* Looks at the next machine of that list and takes it off; NULL: there are no more. *ret_came: its agent has connected for the
 * first time. */
struct instance *instances_look(struct core *c, struct pool *p, struct instances *s, bool *ret_came);
void instances_set_leaving(struct instance *x, bool leaving);

bool instances_add_up(const struct core *c, const struct instances *s); /* for tests */
void instances_clock_set(struct instances *s, int64_t by_us);

#endif
