/* From the tree of a search to pieces of SQL. */
#include <string.h>

#include "store/search_internal.h"

struct adding {
    struct compose *c;
    const struct search *s;
    enum sql_dialect dialect;
    struct arena *a;
};

static void piece(const struct adding *x, enum sql_fragment f) { compose_add(x->c, f, SQL_NO_ARGS); }

static struct sql_value path_of(const struct adding *x, const struct search_path *p)
{
    return sql_text(p->text[x->dialect]);
}

/* ---- the left side ----------------------------------------------------------------------------------------------- */

static void add_metric(const struct adding *x, const struct search_operand *o, bool as_text)
{
    const bool runs = x->s->kind == SEARCH_RUNS;
    const struct sql_value group = sql_text(o->group), path = path_of(x, &o->path);
    if (o->divisor.text[x->dialect])
        compose_add(x->c, runs ? F_SEARCH_T_METRIC_MEAN : F_SEARCH_X_METRIC_MEAN,
                    SQL_ARGS(group, path, path_of(x, &o->divisor)));
    else if (as_text)
        compose_add(x->c, runs ? F_SEARCH_T_METRIC_TEXT : F_SEARCH_X_METRIC_TEXT, SQL_ARGS(group, path));
    else
        compose_add(x->c, runs ? F_SEARCH_T_METRIC_NUMBER : F_SEARCH_X_METRIC_NUMBER, SQL_ARGS(group, path));
}

static void add_operand(const struct adding *x, const struct search_operand *o, bool as_text)
{
    switch (o->column->type) {
    case SEARCH_HPARAM:
        compose_add(x->c, as_text ? F_SEARCH_HPARAM_TEXT : F_SEARCH_HPARAM_NUMBER, SQL_ARGS(path_of(x, &o->path)));
        return;
    case SEARCH_METADATA:
        compose_add(x->c, as_text ? F_SEARCH_METADATA_TEXT : F_SEARCH_METADATA_NUMBER, SQL_ARGS(path_of(x, &o->path)));
        return;
    case SEARCH_METRIC:
        add_metric(x, o, as_text);
        return;
    default:
        if (o->column->takes_now)
            compose_add(x->c, o->column->expression, SQL_ARGS(sql_int(x->s->now_us)));
        else
            piece(x, o->column->expression);
    }
}

/* ---- conditions -------------------------------------------------------------------------------------------------- */

static bool is_texty(const struct search_column *c)
{
    return c->type == SEARCH_TEXT || c->type == SEARCH_STATE || c->type == SEARCH_USER || c->type == SEARCH_LABELS;
}

/* Texts are empty, too, when there are no letters in them; so is a list without labels. */
static void add_emptiness(const struct adding *x, const struct search_node *n)
{
    if (is_texty(n->operand.column)) {
        piece(x, F_SEARCH_COALESCE);
        add_operand(x, &n->operand, true);
        piece(x, F_SEARCH_COALESCE_TEXT);
        piece(x, F_SEARCH_IS_EMPTY_TEXT);
    } else {
        piece(x, F_SEARCH_OPEN);
        add_operand(x, &n->operand, true);
        piece(x, F_SEARCH_CLOSE);
        piece(x, F_SEARCH_IS_NULL);
    }
}

static const enum sql_fragment number_operators[SEARCH_OPERATOR_NR] = {
    [SEARCH_EQUAL] = F_SEARCH_EQUAL, [SEARCH_NOT_EQUAL] = F_SEARCH_EQUAL, [SEARCH_LESS] = F_SEARCH_LESS,
    [SEARCH_LESS_EQUAL] = F_SEARCH_LESS_EQUAL, [SEARCH_GREATER] = F_SEARCH_GREATER,
    [SEARCH_GREATER_EQUAL] = F_SEARCH_GREATER_EQUAL};

static bool is_containing(enum search_operator op) { return op == SEARCH_CONTAINS || op == SEARCH_NOT_CONTAINS; }

static void add_comparison(const struct adding *x, const struct search_node *n)
{
    const struct search_column *c = n->operand.column;
    const struct sql_value like = sql_text(n->text ? like_containing(x->a, n->text) : "");
    if (c->type == SEARCH_LABELS) {
        if (is_containing(n->op))
            compose_add(x->c, F_SEARCH_X_LABEL_CONTAINS, SQL_ARGS(like));
        else
            compose_add(x->c, F_SEARCH_X_LABEL_IS, SQL_ARGS(sql_text(n->text)));
        return;
    }
    if (c->type == SEARCH_USER && !is_containing(n->op) && n->text) {
        compose_add(x->c, F_SEARCH_X_USER_IS, SQL_ARGS(sql_text(n->text)));
        return;
    }
    piece(x, F_SEARCH_OPEN);
    if (c->type == SEARCH_USER && n->has_number)
        piece(x, F_SEARCH_X_USER_ID);
    else
        add_operand(x, &n->operand, n->text != NULL);
    piece(x, F_SEARCH_CLOSE);
    if (is_containing(n->op))
        compose_add(x->c, F_SEARCH_CONTAINS, SQL_ARGS(like));
    else if (n->text)
        compose_add(x->c, F_SEARCH_EQUAL_TEXT, SQL_ARGS(sql_text(n->text)));
    else
        compose_add(x->c, number_operators[n->op], SQL_ARGS(sql_real(n->number)));
}

static bool is_negation(enum search_operator op)
{
    return op == SEARCH_NOT_EQUAL || op == SEARCH_NOT_CONTAINS || op == SEARCH_NOT_EMPTY;
}

/* A search for experiments asks of hyperparameters whether one of its runs has such a value: the negation of that is that
 * none has. Empty means that none has a value at all. */
static void add_field_of_runs(const struct adding *x, const struct search_node *n)
{
    bool emptiness = n->op == SEARCH_IS_EMPTY || n->op == SEARCH_NOT_EMPTY;
    bool negated = emptiness ? n->op == SEARCH_IS_EMPTY : is_negation(n->op);
    if (negated)
        piece(x, F_SEARCH_NOT);
    piece(x, F_SEARCH_ANY_RUN);
    if (emptiness) {
        piece(x, F_SEARCH_NOT);
        add_emptiness(x, n);
        piece(x, F_SEARCH_NOT_CLOSE);
    } else {
        add_comparison(x, n);
    }
    piece(x, F_SEARCH_CLOSE);
    if (negated)
        piece(x, F_SEARCH_NOT_CLOSE);
}

static void add_field(const struct adding *x, const struct search_node *n)
{
    if (x->s->kind == SEARCH_EXPERIMENTS && n->operand.column->type == SEARCH_HPARAM) {
        add_field_of_runs(x, n);
        return;
    }
    if (is_negation(n->op))
        piece(x, F_SEARCH_NOT);
    if (n->op == SEARCH_IS_EMPTY || n->op == SEARCH_NOT_EMPTY)
        add_emptiness(x, n);
    else
        add_comparison(x, n);
    if (is_negation(n->op))
        piece(x, F_SEARCH_NOT_CLOSE);
}

static void add_node(const struct adding *x, const struct search_node *n)
{
    if (!n->is_group) {
        add_field(x, n);
        return;
    }
    piece(x, F_SEARCH_OPEN);
    if (n->child_n == 0)
        piece(x, F_SEARCH_NOTHING);
    for (size_t i = 0; i < n->child_n; i++) {
        if (i)
            piece(x, n->any ? F_SEARCH_OR : F_SEARCH_AND);
        add_node(x, &n->child[i]);
    }
    piece(x, F_SEARCH_CLOSE);
}

void search_add_filter(struct compose *c, const struct search *s, enum sql_dialect dialect, struct arena *a)
{
    const struct adding x = {c, s, dialect, a};
    if (!s->show_archived && s->kind == SEARCH_RUNS)
        compose_add(c, F_SEARCH_RUN_ARCHIVED, SQL_ARGS(sql_bool(false)));
    else if (!s->show_archived)
        compose_add(c, F_EXPERIMENT_FILTER_ARCHIVED, SQL_ARGS(sql_bool(false)));
    if (s->root.is_group && s->root.child_n == 0)
        return;
    piece(&x, F_SEARCH_AND);
    add_node(&x, &s->root);
}

/* ---- sorts ------------------------------------------------------------------------------------------------------- */

static void add_one_sort(const struct adding *x, const struct search_sort *s, bool as_text)
{
    const struct search_column *c = s->operand.column;
    bool shown = x->s->kind == SEARCH_EXPERIMENTS && c->type == SEARCH_HPARAM;
    if (shown)
        piece(x, F_SEARCH_SHOWN_RUN);
    if (c->has_sort)
        piece(x, c->sort);
    else
        add_operand(x, &s->operand, as_text);
    if (shown)
        piece(x, F_SEARCH_SHOWN_RUN_CLOSE);
    piece(x, s->descending ? F_SEARCH_DESCENDING : F_SEARCH_ASCENDING);
    if (c->nullable)
        piece(x, F_SEARCH_NULLS_LAST);
}

void search_add_sort(struct compose *c, const struct search *s, enum sql_dialect dialect)
{
    const struct adding x = {c, s, dialect, NULL};
    piece(&x, F_SEARCH_ORDER);
    for (size_t i = 0; i < s->sort_n; i++) {
        if (i)
            piece(&x, F_SEARCH_NEXT);
        add_one_sort(&x, &s->sort[i], false);
        if (s->sort[i].operand.may_be_text) { /* what is no number follows, as text */
            piece(&x, F_SEARCH_NEXT);
            add_one_sort(&x, &s->sort[i], true);
        }
    }
}
