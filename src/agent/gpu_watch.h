/* Looks at the agent's GPUs now and then, on a worker thread, and logs what an operator should know: `gpu.lost` once when
 * one stops to answer, `gpu.back` when it does again, `gpu.usage` of each at debug level. A lost GPU's slot stays in the
 * cluster: whether to disable it is not the agent's decision. */
#ifndef DET_AGENT_GPU_WATCH_H
#define DET_AGENT_GPU_WATCH_H

#include "agent/gpu.h"
#include "net/loop.h"
#include "net/pool.h"

struct gpu_watch;

/* Maker and list outlive it. */
struct gpu_watch *gpu_watch_new(struct loop *l, struct pool *p, const struct gpu_maker *maker, const struct gpu *list,
                                size_t n, int64_t period_us);
size_t gpu_watch_lost(const struct gpu_watch *w); /* at the last look */
void gpu_watch_free(struct gpu_watch *w);         /* after the pool */

#endif
