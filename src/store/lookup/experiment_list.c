/* The older list of experiments. Its filters and orders are made into a lookup. */
#include "store/lookup/lookup_internal.h"

/* The orders, by their numbers in api.v1.GetExperimentsRequest.SortBy. */
static const struct {
    int32_t number;
    const char *column;
} sorts[] = {
    {0, "id"},
    {1, "id"},
    {2, "description"},
    {4, "startTime"},
    {5, "endTime"},
    {6, "state"},
    {8, "numTrials"},
    {9, "progress"},
    {10, "user"},
    {11, "name"},
    {12, "forkedFrom"},
    {13, "resourcePool"},
    {14, "projectId"},
    {15, "checkpointSize"},
    {16, "checkpointCount"},
    {17, "searcherMetricsVal"},
};

/* Columns for which the filter language has no names. */
static const struct lookup_column archived = {"archived", LOOKUP_NUMBER, .table = LOOKUP_TABLE_EXPERIMENTS,
                                              .column = X_ARCHIVED},
                                  archived_anywhere = {"archived", LOOKUP_NUMBER, .table = LOOKUP_TABLE_EXPERIMENTS,
                                                       .how = LOOKUP_BY_PARENT_ARCHIVED},
                                  user_id = {"userId", LOOKUP_NUMBER, .table = LOOKUP_TABLE_USERS, .how = LOOKUP_BY_ID},
                                  username = {"username", LOOKUP_TEXT, .table = LOOKUP_TABLE_USERS,
                                              .column = U_USERNAME};

enum { LABELS_MAX = 256 }; /* for each label all experiments are looked at */

static const struct lookup_column *column_named(const char *column)
{
    return lookup_column_find(LOOKUP_EXPERIMENTS, column, NULL);
}

/* ---- conditions -------------------------------------------------------------------------------------------------- */

static struct lookup_node *add_node(struct lookup_node *group, const struct lookup_column *column,
                                    enum lookup_operator op)
{
    struct lookup_node *n = &group->child[group->child_n++];
    *n = (struct lookup_node){.operand.column = column, .op = op};
    return n;
}

static void add_text(struct lookup_node *group, const char *column, enum lookup_operator op, const char *text)
{
    if (text && *text)
        add_node(group, column_named(column), op)->text = text;
}

static void add_number(struct lookup_node *group, bool has, const struct lookup_column *column, enum lookup_operator op,
                       double number)
{
    if (!has)
        return;
    struct lookup_node *n = add_node(group, column, op);
    n->has_number = true;
    n->number = number;
}

static void add_ids(struct lookup_node *group, const struct lookup_column *column, enum lookup_operator op,
                    struct store_ints ids)
{
    if (ids.n)
        add_node(group, column, op)->ids = ids;
}

static void add_texts(struct lookup_node *group, const struct lookup_column *column, enum lookup_operator op,
                      struct store_texts texts)
{
    if (texts.n)
        add_node(group, column, op)->texts = texts;
}

static void add_states(struct lookup_node *group, const struct store_experiment_filter *f)
{
    static const char *const over[] = {"CANCELED", "COMPLETED", "ERROR", "DELETING", "DELETED", "DELETE_FAILED"};
    add_texts(group, column_named("state"), LOOKUP_AMONG, f->states);
    if (f->only_live)
        add_texts(group, column_named("state"), LOOKUP_NOT_AMONG, (struct store_texts){over, 6});
    if (f->only_over)
        add_texts(group, column_named("state"), LOOKUP_AMONG, (struct store_texts){over, 3});
}

static void add_users(struct lookup_node *group, const struct store_experiment_filter *f, struct arena *a)
{
    if (f->usernames.n == 0 && f->user_ids.n == 0)
        return;
    struct lookup_node *any = &group->child[group->child_n++];
    *any = (struct lookup_node){.is_group = true, .any = true, .child = arena_array(a, struct lookup_node, 2)};
    add_texts(any, &username, LOOKUP_AMONG, f->usernames);
    add_ids(any, &user_id, LOOKUP_AMONG, f->user_ids);
}

static void add_id_range(struct lookup_node *group, const struct store_int_filter *f)
{
    const struct lookup_column *id = column_named("id");
    add_number(group, f->has_lt, id, LOOKUP_LESS, f->lt);
    add_number(group, f->has_lte, id, LOOKUP_LESS_EQUAL, f->lte);
    add_number(group, f->has_gt, id, LOOKUP_GREATER, f->gt);
    add_number(group, f->has_gte, id, LOOKUP_GREATER_EQUAL, f->gte);
    add_ids(group, id, LOOKUP_AMONG, f->incl);
    add_ids(group, id, LOOKUP_NOT_AMONG, f->not_in);
}

static void add_conditions(struct lookup_node *group, const struct store_experiment_filter *f, struct arena *a)
{
    enum { BESIDE_LABELS = 16 };
    group->child = arena_array(a, struct lookup_node, f->labels.n + BESIDE_LABELS);
    /* If a request leaves out archived experiments, those in an archived project or workspace are left out, too. */
    add_number(group, f->has_archived, f->archived ? &archived : &archived_anywhere, LOOKUP_EQUAL, f->archived);
    add_states(group, f);
    add_users(group, f, a);
    for (size_t i = 0; i < f->labels.n; i++)
        add_node(group, column_named("tags"), LOOKUP_EQUAL)->text = f->labels.text[i];
    add_text(group, "name", LOOKUP_CONTAINS, f->name);
    add_text(group, "description", LOOKUP_CONTAINS, f->description);
    add_id_range(group, &f->id);
}

/* ---- the order --------------------------------------------------------------------------------------------------- */

static void add_sort(struct lookup *s, const struct lookup_column *column, bool descending)
{
    s->sort[s->sort_n++] = (struct lookup_sort){.operand.column = column, .descending = descending};
}

/* Users who have the same name are told apart by their number. Rows that are equal are sorted by id, in the
 * direction of the list. */
static int choose_order(const struct store_experiment_filter *f, struct lookup *s, struct error *err)
{
    size_t i = 0, n = sizeof(sorts) / sizeof(*sorts);
    while (i < n && sorts[i].number != f->sort_by)
        i++;
    if (i == n)
        return error_set(err, ERR_INVALID, "sort_by %d is not one of this list's", f->sort_by);
    add_sort(s, column_named(sorts[i].column), f->descending);
    if (column_named(sorts[i].column)->type == LOOKUP_USER)
        add_sort(s, &user_id, f->descending);
    if (column_named(sorts[i].column)->how != LOOKUP_BY_ID)
        add_sort(s, column_named("id"), f->descending);
    return 0;
}

int store_experiment_find(struct store *st, const struct store_experiment_filter *f, struct arena *a,
                          struct lookup_found *ret, struct error *err)
{
    struct lookup s = {.kind = LOOKUP_EXPERIMENTS,
                       .root = {.is_group = true},
                       .show_archived = true,
                       .workspaces = f->visible};
    if (f->labels.n > LABELS_MAX)
        return error_set(err, ERR_INVALID, "labels: %zu are asked for, at most %d can be", f->labels.n, LABELS_MAX);
    add_conditions(&s.root, f, a);
    if (choose_order(f, &s, err) < 0)
        return -1;
    return store_lookup(st, &s, f->project_id, f->page, a, ret, err);
}
