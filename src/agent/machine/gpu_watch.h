/* Checks the agent's GPUs at once and then periodically, on a worker thread, and logs what an operator should know:
 * `gpu.lost` once when a GPU stops answering, `gpu.back` when it answers again, `gpu.trouble` when it has failed in
 * another way, and `gpu.usage` of each GPU at debug level. The master is told as well: it places nothing on a lost GPU,
 * and disables the slot of one that was lost or has failed until an administrator enables it. */
#ifndef DET_AGENT_MACHINE_GPU_WATCH_H
#define DET_AGENT_MACHINE_GPU_WATCH_H

#include <stdbool.h>

#include "agent/machine/gpu.h"
#include "net/loop/loop.h"
#include "net/loop/pool.h"

struct gpu_watch;

/* Called on the loop's thread, after a check that found a GPU newly lost, back or failed. */
typedef void gpu_watch_fn(void *ctx);

/* The caller keeps `maker` and `list` until gpu_watch_free(). */
struct gpu_watch *gpu_watch_new(struct loop *l, struct pool *p, const struct gpu_maker *maker, const struct gpu *list,
                                size_t n, int64_t period_us, gpu_watch_fn *changed, void *ctx);
/* whether GPU i of the list was lost at the last check; on the loop's thread */
bool gpu_watch_is_lost(const struct gpu_watch *w, size_t i);
/* The last failure of GPU i, a loss among them, and its time (each has a later one); NULL if it had none. On the loop's
 * thread; the text is valid until the next turn of the loop. */
const char *gpu_watch_trouble(const struct gpu_watch *w, size_t i, int64_t *ret_since_us);
void gpu_watch_free(struct gpu_watch *w); /* call it after pool_free() */

#endif
