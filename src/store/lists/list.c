#include "store/lists/list.h"

static int find_sort(const struct list_spec *s, enum sql_fragment *ret, struct error *err)
{
    for (size_t i = 0; i < s->sort_n; i++) {
        if (s->sort[i].number == s->sort_by) {
            *ret = s->descending ? s->sort[i].descending : s->sort[i].ascending;
            return 0;
        }
    }
    return error_set(err, ERR_INVALID, "sort_by %d is not one of this list's", s->sort_by);
}

static void add_start(struct compose *c, const struct list_spec *s, enum sql_fragment f)
{
    if (s->start)
        s->start(c, f, s->filter);
    else
        compose_add(c, f, SQL_NO_ARGS);
}

static int count_list(struct store *st, const struct list_spec *s, struct arena *a, int64_t *ret, struct error *err)
{
    struct compose c = COMPOSE_INIT;
    add_start(&c, s, s->count);
    s->add_filters(&c, s->filter, a);
    return query_int_composed(st, &c, ret, err);
}

static int read_page(struct store *st, const struct list_spec *s, enum sql_fragment sort, const struct page_window *w,
                     struct arena *a, void *ret_rows, size_t *ret_n, struct error *err)
{
    struct compose c = COMPOSE_INIT;
    add_start(&c, s, s->rows);
    s->add_filters(&c, s->filter, a);
    if (s->add_sort)
        s->add_sort(&c, s->filter, s->descending);
    else
        compose_add(&c, sort, SQL_NO_ARGS);
    compose_add(&c, F_LIMIT_OFFSET, SQL_ARGS(sql_int(w->end - w->start), sql_int(w->start)));
    const struct sql_row_type *row = &sql_fragment_rows[s->rows];
    return query_all_composed(st, &c, row->read, row->size, a, ret_rows, ret_n, err);
}

static int read_list(struct store *st, const struct list_spec *s, struct arena *a, void *ret_rows, size_t *ret_n,
                     struct page_window *ret_window, struct error *err)
{
    enum sql_fragment sort = 0;
    int64_t total;
    if (!s->add_sort && find_sort(s, &sort, err) < 0)
        return -1;
    if (count_list(st, s, a, &total, err) < 0 || s->window(s->page, total, ret_window, err) < 0)
        return -1;
    if (ret_window->start == ret_window->end)
        return 0;
    return read_page(st, s, sort, ret_window, a, ret_rows, ret_n, err);
}

/* Both statements run in one read transaction, so that the total fits the page. */
int list_run(struct store *st, const struct list_spec *s, struct arena *a, void *ret_rows, size_t *ret_n,
             struct page_window *ret_window, struct error *err)
{
    bool own = !store_in_transaction(st);
    *(void **)ret_rows = NULL;
    *ret_n = 0;
    if (own && store_begin_read(st, err) < 0)
        return -1;
    int rc = read_list(st, s, a, ret_rows, ret_n, ret_window, err);
    if (own)
        store_rollback(st);
    return rc;
}
