/* Checks the agent's GPUs periodically, on a worker thread, and logs what an operator should know: `gpu.lost` once when
 * a GPU stops answering, `gpu.back` when it answers again, and `gpu.usage` of each GPU at debug level. The master is
 * told as well, so that it places nothing on a lost GPU. */
#ifndef DET_AGENT_MACHINE_GPU_WATCH_H
#define DET_AGENT_MACHINE_GPU_WATCH_H

#include <stdbool.h>

#include "agent/machine/gpu.h"
#include "net/loop/loop.h"
#include "net/loop/pool.h"

struct gpu_watch;

/* Called on the loop's thread, after a check that found a GPU newly lost or back. */
typedef void gpu_watch_fn(void *ctx);

/* The caller keeps `maker` and `list` until gpu_watch_free(). */
struct gpu_watch *gpu_watch_new(struct loop *l, struct pool *p, const struct gpu_maker *maker, const struct gpu *list,
                                size_t n, int64_t period_us, gpu_watch_fn *changed, void *ctx);
/* whether GPU i of the list was lost at the last check; on the loop's thread */
bool gpu_watch_is_lost(const struct gpu_watch *w, size_t i);
void gpu_watch_free(struct gpu_watch *w); /* call it after pool_free() */

#endif
