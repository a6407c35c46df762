/* The event loop: one thread, callbacks, timers, and messages from other threads. It wraps libevent, so that nothing
 * above src/net names that library. Every callback runs on the loop's thread, and must not block. Unless a function
 * says otherwise, call it on the loop's thread, or while no loop runs. */
#ifndef DET_NET_LOOP_LOOP_H
#define DET_NET_LOOP_LOOP_H

#include <stdint.h>

#include "common/base/error.h"

struct loop;
struct event_base;

/* also raises RLIMIT_NOFILE to its hard limit and ignores SIGPIPE */
int loop_new(struct loop **ret, struct error *err);
void loop_free(struct loop *l);
int loop_run(struct loop *l, struct error *err); /* returns after loop_stop() */
void loop_stop(struct loop *l);                  /* call it on the loop's thread */
/* Ends the program if the calling thread is not the loop's thread while a loop runs in this program. For functions that
 * touch what belongs to the loop's thread, and that a step on another thread could call by mistake. */
void loop_assert(void);
struct event_base *loop_base(struct loop *l); /* only for files of src/net */

typedef void loop_fn(void *ctx);

/* Runs fn on the loop's thread. May be called from any thread. The calls of one thread run in their order; one wake-up
 * (eventfd) serves many of them. */
void loop_post(struct loop *l, loop_fn *fn, void *ctx);
/* Runs fn at the end of each turn in which anything happened, before the loop sleeps: the place to write what the turn
 * has gathered. Register it once, on the loop's thread. */
void loop_on_turn_end(struct loop *l, loop_fn *fn, void *ctx);

struct loop_timer;
struct loop_timer *loop_timer_new(struct loop *l, loop_fn *fn, void *ctx); /* not armed */
/* arms the timer, or arms it anew; it fires once */
void loop_timer_arm(struct loop_timer *t, int64_t delay_us);
void loop_timer_disarm(struct loop_timer *t);
void loop_timer_free(struct loop_timer *t);

void loop_on_signal(struct loop *l, int signo, loop_fn *fn, void *ctx);

typedef void loop_fd_fn(int fd, void *ctx);
struct loop_watch;
/* Calls fn whenever fd is readable (or writable) until the watch is freed. The caller keeps fd. */
struct loop_watch *loop_watch_readable(struct loop *l, int fd, loop_fd_fn *fn, void *ctx);
struct loop_watch *loop_watch_writable(struct loop *l, int fd, loop_fd_fn *fn, void *ctx);
void loop_watch_free(struct loop_watch *w);

/* The latency of the loop: the longest time in µs between a timer's due time and its callback, since the last call. */
int64_t loop_take_max_delay_us(struct loop *l);
/* latencies of all timers so far (common/base/histogram.h) */
const struct histogram *loop_delays(const struct loop *l);

/* A turn is everything that the loop does between two waits. Turns are measured in processor time of the loop's thread,
 * so a busy machine does not make them longer. They show what callbacks cost; the latencies above show how long others
 * wait. */
int64_t loop_take_max_turn_us(struct loop *l); /* the longest turn since the last call */
const struct histogram *loop_turns(const struct loop *l);

#endif
