#include "store/users.h"

#include "store/list.h"

int store_user_patch(struct store *st, int32_t id, const struct store_user_patch *p, int64_t now_us, struct error *err)
{
    if (query_exec_one(st, Q_USERS_PATCH, ARGS_USERS_PATCH(p, id, now_us), err, "user %d", id) < 0)
        return p->username ? explain_conflict(err, "user \"%s\" already exists", p->username) : -1;
    return 0;
}

/* By the numbers of api.v1.GetUsersRequest.SortBy. */
static const struct list_sort sorts[] = {
    {0, F_USERS_SORT_ID, F_USERS_SORT_ID_DESC},
    {1, F_USERS_SORT_DISPLAY_NAME, F_USERS_SORT_DISPLAY_NAME_DESC},
    {2, F_USERS_SORT_USERNAME, F_USERS_SORT_USERNAME_DESC},
    {3, F_USERS_SORT_ADMIN, F_USERS_SORT_ADMIN_DESC},
    {4, F_USERS_SORT_ACTIVE, F_USERS_SORT_ACTIVE_DESC},
    {5, F_USERS_SORT_MODIFIED, F_USERS_SORT_MODIFIED_DESC},
    {6, F_USERS_SORT_NAME, F_USERS_SORT_NAME_DESC},
    {7, F_USERS_SORT_LAST_AUTH, F_USERS_SORT_LAST_AUTH_DESC},
    {8, F_USERS_SORT_REMOTE, F_USERS_SORT_REMOTE_DESC},
};

static void add_filters(struct compose *c, const void *filter, struct arena *a)
{
    const struct store_user_filter *f = filter;
    (void)a;
    if (f->name && *f->name)
        compose_add(c, F_USERS_FILTER_NAME, SQL_ARGS(sql_text(f->name)));
    if (f->has_active)
        compose_add(c, F_USERS_FILTER_ACTIVE, SQL_ARGS(sql_bool(f->active)));
    if (f->has_admin)
        compose_add(c, F_USERS_FILTER_ADMIN, SQL_ARGS(sql_bool(f->admin)));
}

int store_user_list(struct store *st, const struct store_user_filter *f, struct arena *a, struct store_user_list *ret,
                    struct error *err)
{
    const struct list_spec spec = {
        .count = F_USERS_COUNT, .rows = F_USERS_ROWS, .add_filters = add_filters, .filter = f,
        .sort = sorts, .sort_n = sizeof(sorts) / sizeof(*sorts), .sort_by = f->sort_by, .descending = f->descending,
        .page = f->page, .window = page_of_memory_list,
    };
    return list_run(st, &spec, a, &ret->user, &ret->user_n, &ret->window, err);
}

/* ---- settings ---- */

int store_user_setting_set(struct store *st, int32_t user_id, const struct store_user_setting *s, struct error *err)
{
    return query_exec(st, Q_USER_SETTINGS_SET, SQL_ARGS(sql_int(user_id), sql_text(s->storage_path), sql_text(s->key),
                                                        sql_text(s->value)), NULL, err);
}

