/* The event loop: one thread, callbacks, timers, and messages from other threads. A thin face over libevent, so that
 * nothing above src/net names it. Every callback runs on the loop's thread; nothing there may block. */
#ifndef DET_NET_LOOP_H
#define DET_NET_LOOP_H

#include <stdint.h>

#include "common/base/error.h"

struct loop;
struct event_base;

int loop_new(struct loop **ret, struct error *err); /* raises RLIMIT_NOFILE to its hard limit, ignores SIGPIPE */
void loop_free(struct loop *l);
int loop_run(struct loop *l, struct error *err);    /* until loop_stop() */
void loop_stop(struct loop *l);                     /* from the loop's thread */
/* Ends the program if this is another thread than the loop's while a loop runs in this program: for functions that touch what
 * belongs to the loop's thread, and that a step on another thread could name. */
void loop_assert(void);
struct event_base *loop_base(struct loop *l);       /* for the other files of src/net */

typedef void loop_fn(void *ctx);

/* Runs fn on the loop's thread. Thread-safe, in order per caller, one wake-up (eventfd) for many posts. */
void loop_post(struct loop *l, loop_fn *fn, void *ctx);
/* Runs fn at the end of this turn of the loop, before it sleeps: the place to flush what the turn has gathered.
 * Registered once, called each turn in which anything happened. From the loop's thread. */
void loop_on_turn_end(struct loop *l, loop_fn *fn, void *ctx);

struct loop_timer;
struct loop_timer *loop_timer_new(struct loop *l, loop_fn *fn, void *ctx); /* not armed */
void loop_timer_arm(struct loop_timer *t, int64_t delay_us);               /* re-arms; runs once */
void loop_timer_disarm(struct loop_timer *t);
void loop_timer_free(struct loop_timer *t);

void loop_on_signal(struct loop *l, int signo, loop_fn *fn, void *ctx);

typedef void loop_fd_fn(int fd, void *ctx);
struct loop_watch;
/* until freed; fd stays the caller's */
struct loop_watch *loop_watch_readable(struct loop *l, int fd, loop_fd_fn *fn, void *ctx);
struct loop_watch *loop_watch_writable(struct loop *l, int fd, loop_fd_fn *fn, void *ctx);
void loop_watch_free(struct loop_watch *w);

/* What the loop's latency is: µs from a timer's due time to its callback, as a running maximum since the last call. */
int64_t loop_take_max_delay_us(struct loop *l);
const struct histogram *loop_delays(const struct loop *l); /* of all timers so far (common/base/histogram.h) */

/* A turn is everything that the loop does between two waits. Turns are measured in processor time of the loop's thread,
 * so that a busy machine makes none of them longer: they tell what a callback costs, the delays above what others feel. */
int64_t loop_take_max_turn_us(struct loop *l); /* the longest since the last call */
const struct histogram *loop_turns(const struct loop *l);

#endif
