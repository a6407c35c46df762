#include "store/engine/take.h"

#include <assert.h>
#include <stdio.h>

/* A COPY costs two round trips of its own. Fewer rows than this are sent ahead with the other statements of the job. */
enum { COPY_ROWS_MIN = 16 };

static const struct engine_ops *ops_of(const struct query *q)
{
    return store_engine(q->st)->ops;
}

static int bind_all(struct query *q, const struct sql_value *value, size_t n, struct error *err)
{
    for (size_t i = 0; i < n; i++)
        if (ops_of(q)->bind(q->stmt, (int)i + 1, &value[i], err) < 0)
            return -1;
    return 0;
}

static int start_statement(struct store *st, struct engine_stmt *stmt, const struct sql_value *value, size_t n,
                           struct query *ret, struct error *err)
{
    struct query q = {.st = st, .stmt = stmt};
    *ret = (struct query){.st = st};
    if (!stmt)
        return -1;
    if (bind_all(&q, value, n, err) < 0) {
        ops_of(&q)->reset(stmt);
        return -1;
    }
    *ret = q;
    return 0;
}

int query_start(struct store *st, enum sql_query name, struct sql_args args, struct query *ret, struct error *err)
{
    return start_statement(st, store_named_stmt(st, name, err), args.value, args.n, ret, err);
}

int query_next(struct query *q, struct error *err)
{
    q->column = 0;
    return ops_of(q)->step(q->stmt, err);
}

void query_end(struct query *q)
{
    if (q->stmt)
        ops_of(q)->reset(q->stmt);
    q->stmt = NULL;
}

int query_exec(struct store *st, enum sql_query name, struct sql_args args, int64_t *ret_changes, struct error *err)
{
    struct query q;
    if (query_start(st, name, args, &q, err) < 0)
        return -1;
    int rc;
    while ((rc = query_next(&q, err)) > 0)
        ;
    if (rc == 0 && ret_changes)
        *ret_changes = ops_of(&q)->changes(q.stmt);
    query_end(&q);
    return rc;
}

int query_send(struct store *st, enum sql_query name, struct sql_args args, struct error *err)
{
    struct query q;
    if (query_start(st, name, args, &q, err) < 0)
        return -1;
    int rc = ops_of(&q)->send(q.stmt, err);
    query_end(&q);
    return rc;
}

/* Sends the rows one after the other. Failures are reported as query_send() does. */
static int send_rows(struct store *st, enum sql_copy name, const struct engine_rows *rows, struct error *err)
{
    struct sql_value value[COPY_COLUMNS_MAX];
    for (size_t i = 0; i < rows->row_n; i++) {
        struct query q;
        rows->fill(rows->ctx, i, value);
        if (start_statement(st, store_copy_stmt(st, name, err), value, rows->column_n, &q, err) < 0)
            return -1;
        int rc = ops_of(&q)->send(q.stmt, err);
        query_end(&q);
        if (rc < 0)
            return -1;
    }
    return 0;
}

int query_copy(struct store *st, enum sql_copy name, const struct engine_rows *rows, struct error *err)
{
    struct engine *e = store_engine(st);
    if (rows->row_n < COPY_ROWS_MIN || !e->ops->copy)
        return send_rows(st, name, rows, err);
    return e->ops->copy(e, sql_copy_rows[name], rows, err);
}

__attribute__((format(printf, 2, 0))) static int set_not_found(struct error *err, const char *fmt, va_list ap)
{
    char what[256];
    vsnprintf(what, sizeof(what), fmt, ap);
    return error_set(err, ERR_NOT_FOUND, "%s not found", what);
}

int query_exec_one(struct store *st, enum sql_query name, struct sql_args args, struct error *err, const char *fmt, ...)
{
    int64_t changes;
    if (query_exec(st, name, args, &changes, err) < 0)
        return -1;
    va_list ap;
    va_start(ap, fmt);
    int rc = changes > 0 ? 0 : set_not_found(err, fmt, ap);
    va_end(ap);
    return rc;
}

int query_found(int found, struct error *err, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int rc = found > 0 ? 0 : found < 0 ? -1 : set_not_found(err, fmt, ap);
    va_end(ap);
    return rc;
}

static int read_first_row(struct query *q, row_fn *read, struct arena *a, void *ret, struct error *err)
{
    int rc = query_next(q, err);
    if (rc > 0)
        read(q, a, ret);
    query_end(q);
    return rc;
}

int query_one(struct store *st, enum sql_query name, struct sql_args args, row_fn *read, struct arena *a, void *ret,
              struct error *err)
{
    struct query q;
    if (query_start(st, name, args, &q, err) < 0)
        return -1;
    return read_first_row(&q, read, a, ret, err);
}

static void read_int(struct query *q, struct arena *a, void *row)
{
    *(int64_t *)row = take_int(q);
}
static void read_i32(struct query *q, struct arena *a, void *row)
{
    *(int32_t *)row = take_i32(q);
}
static void read_bool(struct query *q, struct arena *a, void *row)
{
    *(bool *)row = take_bool(q);
}
static void read_text(struct query *q, struct arena *a, void *row)
{
    *(const char **)row = take_text(q, a);
}

int query_int(struct store *st, enum sql_query name, struct sql_args args, int64_t *ret, struct error *err)
{
    *ret = 0;
    return query_one(st, name, args, read_int, NULL, ret, err) < 0 ? -1 : 0;
}

int query_i32(struct store *st, enum sql_query name, struct sql_args args, int32_t *ret, struct error *err)
{
    *ret = 0;
    return query_one(st, name, args, read_i32, NULL, ret, err) < 0 ? -1 : 0;
}

int query_bool(struct store *st, enum sql_query name, struct sql_args args, bool *ret, struct error *err)
{
    *ret = false;
    return query_one(st, name, args, read_bool, NULL, ret, err) < 0 ? -1 : 0;
}

int query_text(struct store *st, enum sql_query name, struct sql_args args, struct arena *a, const char **ret,
               struct error *err)
{
    *ret = NULL;
    return query_one(st, name, args, read_text, a, ret, err) < 0 ? -1 : 0;
}

int query_ints(struct store *st, enum sql_query name, struct sql_args args, struct arena *a, int64_t **ret,
               size_t *ret_n, struct error *err)
{
    return query_all(st, name, args, read_int, sizeof(**ret), a, ret, ret_n, err);
}

int query_ids(struct store *st, enum sql_query name, struct sql_args args, struct arena *a, int32_t **ret,
              size_t *ret_n, struct error *err)
{
    return query_all(st, name, args, read_i32, sizeof(**ret), a, ret, ret_n, err);
}

int query_texts(struct store *st, enum sql_query name, struct sql_args args, struct arena *a, const char ***ret,
                size_t *ret_n, struct error *err)
{
    return query_all(st, name, args, read_text, sizeof(**ret), a, ret, ret_n, err);
}

static int read_all_rows(struct query *q, row_fn *read, size_t row_size, struct arena *a, void *ret, size_t *ret_n,
                         struct error *err)
{
    char *rows = NULL;
    size_t n = 0, cap = 0;
    int rc;
    while ((rc = query_next(q, err)) > 0) {
        if (n == cap) {
            cap = cap ? cap * 2 : 8;
            char *more = arena_alloc(a, cap * row_size);
            if (n)
                memcpy(more, rows, n * row_size);
            rows = more;
        }
        read(q, a, rows + n * row_size);
        n++;
    }
    query_end(q);
    if (rc < 0)
        return -1;
    *(void **)ret = rows;
    *ret_n = n;
    return 0;
}

int query_all(struct store *st, enum sql_query name, struct sql_args args, row_fn *read, size_t row_size,
              struct arena *a, void *ret, size_t *ret_n, struct error *err)
{
    struct query q;
    if (query_start(st, name, args, &q, err) < 0)
        return -1;
    return read_all_rows(&q, read, row_size, a, ret, ret_n, err);
}

/* ---- columns ----------------------------------------------------------------------------------------------------- */

int64_t take_int(struct query *q)
{
    return ops_of(q)->integer(q->stmt, q->column++);
}
int32_t take_i32(struct query *q)
{
    return (int32_t)take_int(q);
}
bool take_bool(struct query *q)
{
    return take_int(q) != 0;
}
double take_real(struct query *q)
{
    return ops_of(q)->real(q->stmt, q->column++);
}
bool take_opt_int(struct query *q, int64_t *ret)
{
    bool has = !ops_of(q)->is_null(q->stmt, q->column);
    *ret = take_int(q);
    return has;
}

bool take_opt_i32(struct query *q, int32_t *ret)
{
    bool has = !ops_of(q)->is_null(q->stmt, q->column);
    *ret = take_i32(q);
    return has;
}

bool take_opt_real(struct query *q, double *ret)
{
    bool has = !ops_of(q)->is_null(q->stmt, q->column);
    *ret = take_real(q);
    return has;
}

const void *take_borrowed(struct query *q, size_t *ret_n)
{
    return ops_of(q)->data(q->stmt, q->column++, ret_n);
}

const char *take_opt_text(struct query *q, struct arena *a)
{
    size_t n;
    const char *text = take_borrowed(q, &n);
    return text ? arena_strndup(a, text, n) : NULL;
}

const char *take_text(struct query *q, struct arena *a)
{
    const char *text = take_opt_text(q, a);
    return text ? text : "";
}

void take_chars(struct query *q, char *buf, size_t size)
{
    size_t n;
    const char *text = take_borrowed(q, &n);
    if (n >= size)
        n = size - 1;
    if (n)
        memcpy(buf, text, n);
    buf[n] = '\0';
}

void take_bytes(struct query *q, uint8_t *buf, size_t size)
{
    size_t n;
    const void *data = take_borrowed(q, &n);
    memset(buf, 0, size);
    if (data)
        memcpy(buf, data, n < size ? n : size);
}

const void *take_blob(struct query *q, struct arena *a, size_t *ret_n)
{
    const void *data = take_borrowed(q, ret_n);
    return *ret_n ? arena_dup(a, data, *ret_n) : NULL;
}

/* ---- composed statements ----------------------------------------------------------------------------------------- */

/* Each fragment counts its own parameters from 1: "?2" becomes "?(base+2)". */
static void add_renumbered(struct strbuf *sql, const char *text, char mark, size_t base)
{
    const char stop[] = {mark, '\0'};
    for (const char *p = text; *p;) {
        size_t plain = strcspn(p, stop);
        strbuf_add(sql, p, plain);
        p += plain;
        if (!*p)
            break;
        size_t number = 0;
        for (p++; *p >= '0' && *p <= '9'; p++)
            number = number * 10 + (size_t)(*p - '0');
        strbuf_addf(sql, "%c%zu", mark, base + number);
    }
    strbuf_addc(sql, '\n');
}

void compose_add(struct compose *c, enum sql_fragment f, struct sql_args args)
{
    assert(c->value_n + args.n <= COMPOSE_ARGS_MAX && c->part_n < COMPOSE_PARTS_MAX);
    c->part[c->part_n].fragment = f;
    c->part[c->part_n++].base = c->value_n;
    if (args.n)
        memcpy(c->value + c->value_n, args.value, args.n * sizeof(*args.value));
    c->value_n += args.n;
}

static int start_composed(struct store *st, const struct compose *c, struct query *ret, struct error *err)
{
    cleanup_strbuf struct strbuf sql = STRBUF_INIT;
    enum sql_dialect d = store_engine(st)->ops->dialect;
    for (size_t i = 0; i < c->part_n; i++)
        add_renumbered(&sql, sql_fragments[c->part[i].fragment].text[d], d == SQL_SQLITE ? '?' : '$', c->part[i].base);
    return start_statement(st, store_composed_stmt(st, strbuf_str(&sql), err), c->value, c->value_n, ret, err);
}

int query_all_composed(struct store *st, const struct compose *c, row_fn *read, size_t row_size, struct arena *a,
                       void *ret, size_t *ret_n, struct error *err)
{
    struct query q;
    if (start_composed(st, c, &q, err) < 0)
        return -1;
    return read_all_rows(&q, read, row_size, a, ret, ret_n, err);
}

int query_int_composed(struct store *st, const struct compose *c, int64_t *ret, struct error *err)
{
    struct query q;
    if (start_composed(st, c, &q, err) < 0)
        return -1;
    *ret = 0;
    return read_first_row(&q, read_int, NULL, ret, err) < 0 ? -1 : 0;
}

/* ---- helpers ----------------------------------------------------------------------------------------------------- */

const char *json_of_texts(struct arena *a, struct store_texts t)
{
    cleanup_strbuf struct strbuf b = STRBUF_INIT;
    strbuf_addc(&b, '[');
    for (size_t i = 0; i < t.n; i++) {
        if (i)
            strbuf_addc(&b, ',');
        strbuf_add_json(&b, t.text[i], strlen(t.text[i]));
    }
    strbuf_addc(&b, ']');
    return arena_strndup(a, b.s, b.n);
}

const char *json_of_ints(struct arena *a, struct store_ints t)
{
    cleanup_strbuf struct strbuf b = STRBUF_INIT;
    strbuf_addc(&b, '[');
    for (size_t i = 0; i < t.n; i++)
        strbuf_addf(&b, i ? ",%d" : "%d", t.value[i]);
    strbuf_addc(&b, ']');
    return arena_strndup(a, b.s, b.n);
}

int explain_conflict(struct error *err, const char *fmt, ...)
{
    if (!err || err->kind != ERR_CONFLICT)
        return -1;
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    error_release(err);
    return error_set(err, ERR_CONFLICT, "%s", text);
}
