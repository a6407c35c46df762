/* Within the store: lists with filters, an order and pages. Two statements are composed for a list: one counts its
 * rows, the other reads the page. Lists are declared in queries/NAME.sql (tools/sql_lists.py). */
#ifndef DET_STORE_LISTS_LIST_H
#define DET_STORE_LISTS_LIST_H

#include "store/lists/page.h"
#include "store/row_io.h"

struct list_sort {
    int32_t number; /* the order's number in the contract's SortBy enum */
    enum sql_fragment ascending, descending;
};

struct list_spec {
    /* each goes up to WHERE and a first condition; `rows` selects a row of queries/NAME.sql */
    enum sql_fragment count, rows;
    /* adds `count` or `rows` if they have parameters */
    void (*start)(struct compose *c, enum sql_fragment f, const void *filter);
    void (*add_filters)(struct compose *c, const void *filter, struct arena *a); /* adds conditions: AND … */
    const void *filter;
    void (*add_sort)(struct compose *c, const void *filter,
                     bool descending); /* used instead of `sort` if the order has a parameter */
    const struct list_sort *sort;
    size_t sort_n;
    int32_t sort_by;
    bool descending;
    struct page page;
    int (*window)(struct page asked, int64_t total, struct page_window *ret, struct error *err);
};

/* ret_rows points to a list of the records that `rows` selects. */
int list_run(struct store *st, const struct list_spec *s, struct arena *a, void *ret_rows, size_t *ret_n,
             struct page_window *ret_window, struct error *err);

#endif
