/* Cores and memory: what each container of a request needs of its agent, and what agents have of them
 * (docs/spec/scheduling.md#cores-and-memory). */
#ifndef DET_CORE_SCHED_NEEDS_H
#define DET_CORE_SCHED_NEEDS_H

#include <stdbool.h>
#include <stdint.h>

struct sched_needs {
    int64_t millicores; /* thousandths of a core; 0: none are asked for */
    int64_t memory_bytes;
};

/* Needs as a configuration has them. */
static inline struct sched_needs needs_of(double cores, int64_t memory_bytes)
{
    return (struct sched_needs){(int64_t)(cores * 1000 + 0.5), memory_bytes};
}

static inline bool needs_any(const struct sched_needs *n)
{
    return n->millicores > 0 || n->memory_bytes > 0;
}

/* Returns whether what is needed is there. `left` may be negative, where an agent has come back with less than what its
 * tasks hold; a request that needs nothing fits there, too. */
static inline bool needs_fit(const struct sched_needs *n, const struct sched_needs *left)
{
    return (n->millicores == 0 || n->millicores <= left->millicores) &&
           (n->memory_bytes == 0 || n->memory_bytes <= left->memory_bytes);
}

/* Adds n to *to, `by` times. */
static inline void needs_add(struct sched_needs *to, const struct sched_needs *n, int by)
{
    to->millicores += by * n->millicores;
    to->memory_bytes += by * n->memory_bytes;
}

/* Adds n to *to, at most up to *most. */
static inline void needs_add_upto(struct sched_needs *to, const struct sched_needs *n, const struct sched_needs *most)
{
    needs_add(to, n, 1);
    to->millicores = to->millicores < most->millicores ? to->millicores : most->millicores;
    to->memory_bytes = to->memory_bytes < most->memory_bytes ? to->memory_bytes : most->memory_bytes;
}

#endif
