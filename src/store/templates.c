#include "store/templates.h"

#include "store/list.h"
#include "store/take.h"

static void read_template(struct query *q, struct arena *a, void *row)
{
    struct store_template *t = row;
    t->name = take_text(q, a);
    t->config = take_text(q, a);
    t->workspace_id = take_i32(q);
}

static int not_found(const char *name, struct error *err)
{
    return error_set(err, ERR_NOT_FOUND, "template '%s' not found", name);
}

/* A statement about one row. */
static int change(struct store *st, enum sql_query query, struct sql_args args, const char *name, struct error *err)
{
    int64_t n;
    if (query_exec(st, query, args, &n, err) < 0)
        return -1;
    return n ? 0 : not_found(name, err);
}

int store_template_insert(struct store *st, const struct store_template *t, struct error *err)
{
    if (query_exec(st, Q_TEMPLATES_INSERT, SQL_ARGS(sql_text(t->name), sql_text(t->config), sql_int(t->workspace_id),
                                                      sql_opt_int(t->user_id != 0, t->user_id)), NULL, err) == 0)
        return 0;
    if (err && err->kind == ERR_CONFLICT && strstr(error_msg(err), "FOREIGN KEY"))
        return explain_conflict(err, "workspace %d does not exist", t->workspace_id);
    return explain_conflict(err, "template '%s' already exists", t->name);
}

int store_template_set_config(struct store *st, const char *name, const char *config, struct error *err)
{
    return change(st, Q_TEMPLATES_SET_CONFIG, SQL_ARGS(sql_text(name), sql_text(config)), name, err);
}

int store_template_rename(struct store *st, const char *name, const char *to, struct error *err)
{
    if (change(st, Q_TEMPLATES_RENAME, SQL_ARGS(sql_text(name), sql_text(to)), name, err) < 0)
        return explain_conflict(err, "template '%s' already exists", to);
    return 0;
}

int store_template_delete(struct store *st, const char *name, struct error *err)
{
    return change(st, Q_TEMPLATES_DELETE, SQL_ARGS(sql_text(name)), name, err);
}

int store_template_get(struct store *st, const char *name, struct arena *a, struct store_template *ret,
                       struct error *err)
{
    int rc = query_one(st, Q_TEMPLATES_BY_NAME, SQL_ARGS(sql_text(name)), read_template, a, ret, err);
    return rc == 0 ? not_found(name, err) : rc < 0 ? -1 : 0;
}

static const struct list_sort sorts[] = {{0, F_TEMPLATES_SORT_NAME, F_TEMPLATES_SORT_NAME_DESC}};

static void add_filters(struct compose *c, const void *filter, struct arena *a)
{
    const struct store_template_filter *f = filter;
    if (f->name && *f->name)
        compose_add(c, F_TEMPLATES_FILTER_NAME, SQL_ARGS(sql_text(f->name)));
    if (f->workspace_ids.n)
        compose_add(c, F_TEMPLATES_FILTER_WORKSPACES, SQL_ARGS(sql_text(json_of_ints(a, f->workspace_ids))));
}

int store_template_list(struct store *st, const struct store_template_filter *f, struct arena *a,
                        struct store_template_list *ret, struct error *err)
{
    const struct list_spec spec = {
        .count = F_TEMPLATES_COUNT, .rows = F_TEMPLATES_ROWS, .add_filters = add_filters, .filter = f,
        .sort = sorts, .sort_n = 1, .descending = f->descending, .page = f->page, .window = page_of_query_list,
        .read = read_template, .row_size = sizeof(struct store_template),
    };
    return list_run(st, &spec, a, &ret->template, &ret->template_n, &ret->window, err);
}
