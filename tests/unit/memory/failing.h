/* The n-th allocation fails, for n = 1, 2, … until a run gets by without one that did.
 *
 *     static void decode_much(void *ctx);
 *     failing_sweep("codec", decode_much, NULL, NULL);
 *
 * Each run is a process of its own. One in which an allocation fails must end as src/common/base/memory.c promises: by
 * SIGABRT, with its line as the last word; whatever else (another signal, a sanitizer's report, an answer) fails the
 * test. Then `after` (may be NULL) looks at what the run has left behind. Of a run with very many allocations, the
 * first forty and about sixty others are made to fail (DET_TEST_EVERY=1: all of them, as `make memory` does at night).
 */
#ifndef DET_TESTS_UNIT_MEMORY_FAILING_H
#define DET_TESTS_UNIT_MEMORY_FAILING_H

#include <stdbool.h>

typedef void failing_run(void *ctx);
typedef void failing_after(void *ctx, bool failed);
void failing_sweep(const char *name, failing_run *run, failing_after *after, void *ctx);

#endif
