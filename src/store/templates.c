#include "store/templates.h"

#include "store/list.h"

/* A statement about one row. */
static int change(struct store *st, enum sql_query query, struct sql_args args, const char *name, struct error *err)
{
    int64_t n;
    if (query_exec(st, query, args, &n, err) < 0)
        return -1;
    return query_found(n > 0, err, "template '%s'", name);
}

int store_template_insert(struct store *st, const struct store_template *t, struct error *err)
{
    if (query_exec(st, Q_TEMPLATES_INSERT, ARGS_TEMPLATES_INSERT(t), NULL, err) == 0)
        return 0;
    if (error_is_constraint(err, CONSTRAINT_FOREIGN_KEY, NULL))
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
    };
    return list_run(st, &spec, a, &ret->template, &ret->template_n, &ret->window, err);
}
