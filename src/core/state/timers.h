/* Timers of the core: a heap of deadlines that live inside the objects they belong to. The heap never looks at a clock;
 * it is told the time. Equal deadlines fire in the order in which they were set. */
#ifndef DET_CORE_STATE_TIMERS_H
#define DET_CORE_STATE_TIMERS_H

#include <stddef.h>
#include <stdint.h>

enum timer_kind {
    TIMER_AGENT_LOST,
    TIMER_PREEMPT_DEADLINE,
    TIMER_KILL_AGAIN,
    TIMER_TASK_LIMIT,
    TIMER_TASK_IDLE,
    TIMER_MAX_TIME,
    TIMER_TRIAL_INVALID_HP,
    TIMER_TRIAL_RETRY,
    TIMER_POOL_PASS,
    TIMER_POOL_SCALE,
    TIMER_INSTANCE
};

struct timer {
    enum timer_kind kind;
    int64_t due_us;
    uint64_t order;
    size_t place; /* the timer's place in the heap, from 1; 0: the timer is not set */
};

struct timers {
    struct timer **heap;
    size_t n, cap;
    uint64_t order;
};

/* Sets the timer; a timer that is set already gets the new deadline. */
void timer_set(struct timers *ts, struct timer *t, enum timer_kind kind, int64_t due_us);
void timer_clear(struct timers *ts, struct timer *t);
int64_t timers_next_us(const struct timers *ts); /* the time of the next timer; 0: none is set */
/* Takes the next timer that is due off the heap; NULL: none is due. */
struct timer *timers_take_due(struct timers *ts, int64_t now_us);
void timers_shift(struct timers *ts, int64_t by_us); /* makes all timers due that much later */
void timers_release(struct timers *ts);

#endif
