/* Looks at the agent's GPUs now and then, on a worker thread, and logs what an operator should know: `gpu.lost` once when
 * one stops to answer, `gpu.back` when it does again, `gpu.usage` of each at debug level. The master is told as well, so that nothing new is placed on a
 * lost GPU until it is back. */
#ifndef DET_AGENT_GPU_WATCH_H
#define DET_AGENT_GPU_WATCH_H

#include <stdbool.h>

#include "agent/machine/gpu.h"
#include "net/loop/loop.h"
#include "net/loop/pool.h"

struct gpu_watch;

/* On the loop, after a look by which one was lost or came back. */
typedef void gpu_watch_fn(void *ctx);

/* Maker and list outlive it. */
struct gpu_watch *gpu_watch_new(struct loop *l, struct pool *p, const struct gpu_maker *maker, const struct gpu *list,
                                size_t n, int64_t period_us, gpu_watch_fn *changed, void *ctx);
bool gpu_watch_is_lost(const struct gpu_watch *w, size_t i); /* the i-th of the list, at the last look */
void gpu_watch_free(struct gpu_watch *w);         /* after the pool */

#endif
