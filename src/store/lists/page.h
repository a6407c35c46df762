/* Pages of lists (docs/spec/wire.md#pages-of-lists). There are two families of lists and one exception.
 *
 * memory lists (users, agents, workspaces, projects, checkpoints, pools …): limit 0 means all rows, and a negative
 * offset counts from the end. An offset past the end and a negative limit are ERR_INVALID.
 * query lists (experiments, trials …): limit 0 means 100 rows, -1 all rows, -2 no rows but only the counts. An offset
 * past the end gives an empty page.
 * trial workloads: as query lists, but limit 0 means all rows. */
#ifndef DET_STORE_LISTS_PAGE_H
#define DET_STORE_LISTS_PAGE_H

#include <stdint.h>

#include "common/base/error.h"

struct page {
    int32_t offset, limit; /* as the request asked for them */
};

struct page_window {
    /* the page has rows [start, end) of total: startIndex, endIndex and total of api.v1.Pagination */
    int32_t start, end, total;
};

int page_of_memory_list(struct page asked, int64_t total, struct page_window *ret, struct error *err);
int page_of_query_list(struct page asked, int64_t total, struct page_window *ret, struct error *err);
int page_of_workloads(struct page asked, int64_t total, struct page_window *ret, struct error *err);

#endif
