/* Within the store: lists with filters, an order and a page, as two composed statements: one counts, one reads the
 * page. Lists are declared in queries/NAME.sql (tools/sql_lists.py). */
#ifndef DET_STORE_LISTS_LIST_H
#define DET_STORE_LISTS_LIST_H

#include "store/lists/page.h"
#include "store/row_io.h"

struct list_sort {
    int32_t number; /* of the contract's SortBy enum */
    enum sql_fragment ascending, descending;
};

struct list_spec {
    enum sql_fragment count, rows; /* up to WHERE, with a first condition; `rows` selects a row of queries/NAME.sql */
    void (*start)(struct compose *c, enum sql_fragment f, const void *filter);   /* when those two have parameters */
    void (*add_filters)(struct compose *c, const void *filter, struct arena *a); /* AND … */
    const void *filter;
    void (*add_sort)(struct compose *c, const void *filter,
                     bool descending); /* in place of `sort` when the order has a parameter */
    const struct list_sort *sort;
    size_t sort_n;
    int32_t sort_by;
    bool descending;
    struct page page;
    int (*window)(struct page asked, int64_t total, struct page_window *ret, struct error *err);
};

/* ret_rows: a list of what `rows` selects. */
int list_run(struct store *st, const struct list_spec *s, struct arena *a, void *ret_rows, size_t *ret_n,
             struct page_window *ret_window, struct error *err);

#endif
