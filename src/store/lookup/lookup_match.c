/* Finds the rows that a lookup's filter is true of. Each condition is evaluated for a whole table at once, with one
 * byte for each row. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/compare.h"
#include "common/base/number.h"
#include "store/functions.h"
#include "store/logs/log_find.h"
#include "store/lookup/lookup_internal.h"

static uint8_t *new_mask(const struct looking *x, size_t n)
{
    return arena_array(x->a, uint8_t, n + 1);
}

static void negate_mask(uint8_t *mask, size_t n)
{
    for (size_t i = 0; i < n; i++)
        mask[i] ^= 1;
}

static bool is_negation(enum lookup_operator op)
{
    return op == LOOKUP_NOT_EQUAL || op == LOOKUP_NOT_CONTAINS || op == LOOKUP_NOT_EMPTY || op == LOOKUP_NOT_AMONG;
}

static bool is_containing(enum lookup_operator op)
{
    return op == LOOKUP_CONTAINS || op == LOOKUP_NOT_CONTAINS;
}
static bool is_emptiness(enum lookup_operator op)
{
    return op == LOOKUP_IS_EMPTY || op == LOOKUP_NOT_EMPTY;
}
static bool is_among(enum lookup_operator op)
{
    return op == LOOKUP_AMONG || op == LOOKUP_NOT_AMONG;
}

/* ---- one condition, for each row of the operand's table; it is negated afterwards -------------------------------- */

#define EACH(condition) \
    for (size_t i = 0; i < n; i++) \
        ret[i] = (condition); \
    break

/* Compares numbers. NAN stands for no value, and every comparison with it is false. */
static void judge_numbers(const double *v, size_t n, enum lookup_operator op, double with, uint8_t *ret)
{
    switch (op) {
    case LOOKUP_LESS:
        EACH(v[i] < with);
    case LOOKUP_LESS_EQUAL:
        EACH(v[i] <= with);
    case LOOKUP_GREATER:
        EACH(v[i] > with);
    case LOOKUP_GREATER_EQUAL:
        EACH(v[i] >= with);
    default:
        EACH(v[i] == with);
    }
}

static bool label_matches(const struct lookup_node *n, const char *labels, size_t labels_n)
{
    size_t text_n = strlen(n->text);
    if (strchr(n->text, LOOKUP_LABEL_MARK))
        return false;
    if (is_containing(n->op))
        return labels_n > 0 && log_find(labels, labels_n, n->text, text_n);
    /* An empty text is found at every place, at the end as well, so the loop must stop at the end by itself. */
    const char *end = labels + labels_n;
    for (const char *at = labels; at < end && (at = memmem(at, (size_t)(end - at), n->text, text_n)); at++)
        if (at > labels && at[-1] == LOOKUP_LABEL_MARK && at + text_n < end && at[text_n] == LOOKUP_LABEL_MARK)
            return true;
    return false;
}

/* Judges each distinct text once, for all rows that have it. */
static void judge_texts(const struct looking *x, const struct lookup_values *v, size_t rows_n,
                        const struct lookup_node *n, uint8_t *ret)
{
    bool labels = n->operand.column->type == LOOKUP_LABELS;
    uint8_t *verdict = new_mask(x, v->texts->n + 1);
    for (size_t i = 0; i < n->texts.n; i++)
        verdict[texts_find(v->texts, n->texts.text[i])] = 1;
    if (n->text && !labels && !is_containing(n->op))
        verdict[texts_find(v->texts, n->text)] = 1;
    for (uint32_t i = 1; (labels || is_containing(n->op)) && i <= v->texts->n; i++) {
        size_t text_n;
        const char *text = texts_get(v->texts, i, &text_n);
        verdict[i] = labels ? label_matches(n, text, text_n) : log_find(text, text_n, n->text, strlen(n->text));
    }
    verdict[0] = 0;
    for (size_t i = 0; i < rows_n; i++)
        ret[i] = verdict[v->text[i]];
}

/* A text without characters is empty, too, and so is a list without labels. */
static void judge_emptiness(const struct lookup_values *v, size_t rows_n, bool path, uint8_t *ret)
{
    uint32_t no_letters = v->text && !path ? texts_find(v->texts, "") : 0;
    for (size_t i = 0; i < rows_n; i++)
        ret[i] = (!v->number || isnan(v->number[i])) && (!v->text || v->text[i] == 0 || v->text[i] == no_letters);
}

static void judge_ids(const struct lookup_rows *rows, struct store_ints ids, uint8_t *mask)
{
    for (size_t i = 0; i < ids.n; i++) {
        uint32_t place = lookup_place(rows, ids.value[i]);
        if (place != LOOKUP_NO_ROW)
            mask[place] = 1;
    }
}

/* Compares users with either of their two names, or with their number. */
static int judge_users(struct looking *x, const struct lookup_node *n, enum lookup_table *ret_table, uint8_t **ret)
{
    const struct lookup_rows *users = &x->t->table[LOOKUP_TABLE_USERS];
    uint8_t *mask = *ret = new_mask(x, users->n);
    *ret_table = LOOKUP_TABLE_USERS;
    for (size_t i = 0; i < users->n; i++) {
        if (n->has_number)
            mask[i] = users->id[i] == n->number;
        for (int c = U_USERNAME; n->text && c <= U_DISPLAY_NAME; c++) {
            const struct column *name = &users->column[c];
            uint32_t number = name->text && i < name->n ? name->text[i] : 0;
            mask[i] |= number && number == texts_find(&name->texts, n->text);
        }
    }
    return 0;
}

/* Compares the local id of each run, which is the text KEY-id. */
static void judge_local_ids(struct looking *x, const struct lookup_node *n, uint8_t *mask)
{
    const struct lookup_rows *runs = &x->t->table[LOOKUP_TABLE_RUNS];
    const struct column *key = &x->t->table[LOOKUP_TABLE_PROJECTS].column[P_KEY];
    const uint32_t *project = lookup_map(x, LOOKUP_TABLE_PROJECTS, false);
    char text[256];
    for (size_t i = 0; i < runs->n; i++) {
        size_t key_n = 0;
        const char *of = project[i] == LOOKUP_NO_ROW ? "" : texts_get(&key->texts, key->text[project[i]], &key_n);
        if (key_n > sizeof(text) - NUMBER_TEXT_MAX - 1)
            key_n = sizeof(text) - NUMBER_TEXT_MAX - 1;
        memcpy(text, of, key_n);
        text[key_n] = '-';
        size_t text_n = key_n + 1 + number_put_int64(runs->id[i], text + key_n + 1);
        mask[i] = is_containing(n->op) ? log_find(text, text_n, n->text, strlen(n->text)) : strcmp(text, n->text) == 0;
    }
}

static int judge_node(struct looking *x, const struct lookup_node *n, enum lookup_table *ret_table, uint8_t **ret,
                      struct error *err)
{
    const struct lookup_column *c = n->operand.column;
    struct lookup_values v;
    if (c->type == LOOKUP_USER && !is_containing(n->op) && !is_emptiness(n->op))
        return judge_users(x, n, ret_table, ret);
    size_t rows_n = x->t->table[c->table].n;
    uint8_t *mask = *ret = new_mask(x, rows_n);
    *ret_table = c->table;
    if (c->how == LOOKUP_BY_LOCAL_ID) {
        if (!is_emptiness(n->op))
            judge_local_ids(x, n, mask);
        return 0;
    }
    if (n->ids.n) {
        judge_ids(&x->t->table[c->table], n->ids, mask);
        return 0;
    }
    if (lookup_values(x, &n->operand, n->text != NULL, &v, err) < 0)
        return -1;
    if (is_emptiness(n->op))
        judge_emptiness(&v, rows_n, n->operand.path != NULL, mask);
    else if (n->text || is_among(n->op))
        judge_texts(x, &v, rows_n, n, mask);
    else
        judge_numbers(v.number, rows_n, n->op, n->number, mask);
    return 0;
}

/* ---- from the operand's table to the target table ---------------------------------------------------------------- */

/* Takes a mask of table `from` over to the target table. A row to which no row of `from` belongs gets `without`: it
 * matches "is empty", and no other condition. */
static uint8_t *on_target(struct looking *x, enum lookup_table from, const uint8_t *mask, uint8_t without)
{
    const uint32_t *map = lookup_map(x, from, false);
    uint8_t *on = new_mask(x, x->n);
    for (size_t i = 0; i < x->n; i++)
        on[i] = map[i] == LOOKUP_NO_ROW ? without : mask[map[i]];
    return on;
}

static uint8_t *on_any_run(struct looking *x, const uint8_t *mask)
{
    const struct lookup_rows *runs = &x->t->table[LOOKUP_TABLE_RUNS];
    const uint32_t *owner = lookup_experiments_of_runs(x);
    uint8_t *on = new_mask(x, x->n);
    for (size_t i = 0; i < runs->n; i++)
        if (mask[i] && runs->id[i] > 0 && owner[i] != LOOKUP_NO_ROW)
            on[owner[i]] = 1;
    return on;
}

/* For an experiment, a condition on a hyperparameter asks whether one of its runs has such a value. The negation is
 * that no run has such a value. "Is empty" means that no run has any value. */
static int match_field(struct looking *x, const struct lookup_node *n, uint8_t *ret, struct error *err)
{
    enum lookup_table table;
    uint8_t *mask;
    bool emptiness = is_emptiness(n->op), negated = is_negation(n->op);
    if (judge_node(x, n, &table, &mask, err) < 0)
        return -1;
    if (x->target == LOOKUP_TABLE_EXPERIMENTS && n->operand.column->type == LOOKUP_HPARAM) {
        if (emptiness)
            negate_mask(mask, x->t->table[table].n); /* the mask now says which runs have a value */
        mask = on_any_run(x, mask);
        negated = emptiness ? n->op == LOOKUP_IS_EMPTY : negated;
    } else if (table != x->target) {
        mask = on_target(x, table, mask, emptiness);
    }
    if (negated)
        negate_mask(mask, x->n);
    memcpy(ret, mask, x->n);
    return 0;
}

/* The memory that a condition takes is freed before the next condition. */
static int match_node(struct looking *x, const struct lookup_node *n, uint8_t *ret, struct error *err)
{
    cleanup_arena struct arena own = ARENA_INIT;
    uint8_t *one = arena_array(&own, uint8_t, x->n + 1);
    if (!n->is_group) {
        x->a = &own;
        int rc = match_field(x, n, ret, err);
        x->a = x->kept;
        return rc;
    }
    memset(ret, n->child_n == 0 || !n->any, x->n);
    for (size_t i = 0; i < n->child_n; i++) {
        if (match_node(x, &n->child[i], one, err) < 0)
            return -1;
        for (size_t k = 0; k < x->n; k++)
            ret[k] = n->any ? ret[k] | one[k] : ret[k] & one[k];
    }
    return 0;
}

/* ---- conditions of every lookup: project, archived --------------------------------------------------------------- */

static void values_of(struct looking *x, enum lookup_table table, int column, struct lookup_values *ret)
{
    static const struct lookup_column columns[LOOKUP_TABLE_NR] = {
        [LOOKUP_TABLE_EXPERIMENTS] = {.type = LOOKUP_NUMBER, .table = LOOKUP_TABLE_EXPERIMENTS},
        [LOOKUP_TABLE_RUNS] = {.type = LOOKUP_NUMBER, .table = LOOKUP_TABLE_RUNS}};
    struct lookup_column c = columns[table];
    c.column = column;
    /* the operand has no path, so this cannot fail */
    lookup_values(x, &(struct lookup_operand){.column = &c}, false, ret, NULL);
}

static void keep_equal(struct looking *x, enum lookup_table table, int column, double value, uint8_t *mask)
{
    struct lookup_values v;
    const uint32_t *map = lookup_map(x, table, false);
    values_of(x, table, column, &v);
    for (size_t i = 0; i < x->n; i++)
        mask[i] &= !map ? v.number[i] == value : map[i] != LOOKUP_NO_ROW && v.number[map[i]] == value;
}

/* Keeps the rows of experiments that are in the workspaces. */
static int keep_in_workspaces(struct looking *x, uint8_t *mask, struct error *err)
{
    const uint32_t *map = lookup_map(x, LOOKUP_TABLE_EXPERIMENTS, false);
    struct lookup_values v;
    int32_t *project;
    size_t n;
    if (store_projects_in(x->st, x->s->workspaces, x->a, &project, &n, err) < 0)
        return -1;
    values_of(x, LOOKUP_TABLE_EXPERIMENTS, X_PROJECT, &v);
    for (size_t i = 0; i < x->n; i++) {
        if (!mask[i])
            continue;
        int32_t of = map && map[i] == LOOKUP_NO_ROW ? 0 : (int32_t)v.number[map ? map[i] : i];
        mask[i] = n > 0 && bsearch(&of, project, n, sizeof(of), compare_int32) != NULL;
    }
    return 0;
}

int lookup_match(struct looking *x, int32_t project_id, uint8_t *mask, struct error *err)
{
    if (match_node(x, &x->s->root, mask, err) < 0)
        return -1;
    const struct lookup_rows *rows = &x->t->table[x->target];
    for (size_t i = 0; i < x->n; i++)
        mask[i] &= rows->id[i] > 0;
    if (project_id)
        keep_equal(x, LOOKUP_TABLE_EXPERIMENTS, X_PROJECT, project_id, mask);
    if (!x->s->show_archived)
        keep_equal(x, LOOKUP_TABLE_EXPERIMENTS, X_ARCHIVED, 0, mask);
    if (!x->s->show_archived && x->target == LOOKUP_TABLE_RUNS)
        keep_equal(x, LOOKUP_TABLE_RUNS, T_ARCHIVED, 0, mask);
    return x->s->workspaces.n ? keep_in_workspaces(x, mask, err) : 0;
}
