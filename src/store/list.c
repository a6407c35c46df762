#include "store/list.h"

/* The order of a page, and which ids it has to do with when they are known to be few. */
struct order {
    enum sql_fragment sort, rows;
    bool few;
    struct store_ints id;
};

static int find_sort(const struct list_spec *s, struct order *ret, struct error *err)
{
    for (size_t i = 0; i < s->sort_n; i++) {
        if (s->sort[i].number == s->sort_by) {
            ret->sort = s->descending ? s->sort[i].descending : s->sort[i].ascending;
            if (s->sort[i].has_rows)
                ret->rows = s->sort[i].rows;
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

static int count(struct store *st, const struct list_spec *s, struct arena *a, int64_t *ret, struct error *err)
{
    struct compose c = COMPOSE_INIT;
    add_start(&c, s, s->count);
    s->add_filters(&c, s->filter, a);
    return query_int_composed(st, &c, ret, err);
}

static void add_sort(struct compose *c, const struct list_spec *s, const struct order *o)
{
    if (s->add_sort)
        s->add_sort(c, s);
    else
        compose_add(c, o->sort, SQL_NO_ARGS);
}

static int read_page(struct store *st, const struct list_spec *s, const struct order *o, const struct page_window *w,
                     struct arena *a, void *ret_rows, size_t *ret_n, struct error *err)
{
    struct compose c = COMPOSE_INIT;
    if (s->wide)
        compose_add(&c, s->wide_open, SQL_NO_ARGS);
    if (o->few) {
        compose_add(&c, s->among, SQL_ARGS(sql_text(json_of_ints(a, o->id))));
    } else {
        add_start(&c, s, o->rows);
        s->add_filters(&c, s->filter, a);
    }
    add_sort(&c, s, o);
    compose_add(&c, F_LIMIT_OFFSET, SQL_ARGS(sql_int(w->end - w->start), sql_int(w->start)));
    if (s->wide) {
        compose_add(&c, s->wide_close, SQL_NO_ARGS);
        add_sort(&c, s, o);
    }
    return query_all_composed(st, &c, s->read, s->row_size, a, ret_rows, ret_n, err);
}

static void read_id(struct query *q, struct arena *a, void *row) { *(int32_t *)row = take_i32(q); }

/* The ids of what matches, if they are few. */
static int find_few(struct store *st, const struct list_spec *s, struct arena *a, struct order *ret, struct error *err)
{
    struct compose c = COMPOSE_INIT;
    int32_t *id = NULL;
    size_t n = 0;
    compose_add(&c, s->ids, SQL_NO_ARGS);
    s->add_filters(&c, s->filter, a);
    if (c.part_n == 1)
        return 0; /* everything matches */
    compose_add(&c, F_LIMIT_OFFSET, SQL_ARGS(sql_int(LIST_FEW + 1), sql_int(0)));
    if (query_all_composed(st, &c, read_id, sizeof(*id), a, &id, &n, err) < 0)
        return -1;
    ret->few = n <= LIST_FEW;
    ret->id = (struct store_ints){id, n};
    return 0;
}

static int run(struct store *st, const struct list_spec *s, struct arena *a, void *ret_rows, size_t *ret_n,
               struct page_window *ret_window, struct error *err)
{
    struct order order = {.rows = s->rows};
    int64_t total;
    if (!s->add_sort && find_sort(s, &order, err) < 0)
        return -1;
    if (s->few_first && find_few(st, s, a, &order, err) < 0)
        return -1;
    if (order.few)
        total = (int64_t)order.id.n;
    else if (count(st, s, a, &total, err) < 0)
        return -1;
    if (s->window(s->page, total, ret_window, err) < 0)
        return -1;
    if (ret_window->start == ret_window->end)
        return 0;
    return read_page(st, s, &order, ret_window, a, ret_rows, ret_n, err);
}

/* Both statements see one version of the database, so that the total fits the page. */
int list_run(struct store *st, const struct list_spec *s, struct arena *a, void *ret_rows, size_t *ret_n,
             struct page_window *ret_window, struct error *err)
{
    bool own = !store_in_transaction(st);
    *(void **)ret_rows = NULL;
    *ret_n = 0;
    if (own && store_begin_read(st, err) < 0)
        return -1;
    int rc = run(st, s, a, ret_rows, ret_n, ret_window, err);
    if (own)
        store_rollback(st);
    return rc;
}
