#include "store/lists/page.h"

enum { QUERY_LIST_DEFAULT = 100 };

static struct page_window window_of(int64_t start, int64_t n, int64_t total)
{
    int64_t left = start < total ? total - start : 0;
    if (n > left)
        n = left;
    return (struct page_window){.start = (int32_t)start, .end = (int32_t)(start + n), .total = (int32_t)total};
}

int page_of_memory_list(struct page asked, int64_t total, struct page_window *ret, struct error *err)
{
    int64_t start = asked.offset < 0 ? total + asked.offset : asked.offset;
    if (asked.limit < 0)
        return error_set(err, ERR_INVALID, "limit is %d, allowed is 0 (all) or more", asked.limit);
    if (start < 0 || start > total)
        return error_set(err, ERR_INVALID, "offset is %d, but there are %lld rows", asked.offset, (long long)total);
    *ret = window_of(start, asked.limit ? asked.limit : total, total);
    return 0;
}

static int page_of_list(struct page asked, int64_t total, int64_t zero_means, struct page_window *ret,
                        struct error *err)
{
    if (asked.limit < -2)
        return error_set(err, ERR_INVALID, "limit is %d, allowed is -2 (counts only), -1 (all), 0 or more",
                         asked.limit);
    if (asked.offset < 0)
        return error_set(err, ERR_INVALID, "offset is %d, allowed is 0 or more", asked.offset);
    int64_t n = asked.limit == -2 ? 0 : asked.limit == -1 ? total : asked.limit == 0 ? zero_means : asked.limit;
    int64_t start = asked.offset < total ? asked.offset : total;
    *ret = window_of(start, n, total);
    return 0;
}

int page_of_query_list(struct page asked, int64_t total, struct page_window *ret, struct error *err)
{
    return page_of_list(asked, total, QUERY_LIST_DEFAULT, ret, err);
}

int page_of_workloads(struct page asked, int64_t total, struct page_window *ret, struct error *err)
{
    return page_of_list(asked, total, total, ret, err);
}
