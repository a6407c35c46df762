/* Pages of lists (docs/spec/wire.md#pages-of-lists), in two families and one exception.
 *
 * memory lists (users, agents, workspaces, projects, checkpoints, pools …): limit 0 = all, a negative offset counts
 * from the end, an offset past the end and a negative limit are ERR_INVALID.
 * query lists (experiments, trials …): limit 0 = 100, -1 = all, -2 = no rows but the counts; an offset past the end is
 * an empty page.
 * trial workloads: as query lists, but limit 0 = all. */
#ifndef DET_STORE_LISTS_PAGE_H
#define DET_STORE_LISTS_PAGE_H

#include <stdint.h>

#include "common/base/error.h"

struct page {
    int32_t offset, limit; /* as asked for */
};

struct page_window {
    int32_t start, end, total; /* rows [start, end) of total: startIndex, endIndex, total of api.v1.Pagination */
};

int page_of_memory_list(struct page asked, int64_t total, struct page_window *ret, struct error *err);
int page_of_query_list(struct page asked, int64_t total, struct page_window *ret, struct error *err);
int page_of_workloads(struct page asked, int64_t total, struct page_window *ret, struct error *err);

#endif
