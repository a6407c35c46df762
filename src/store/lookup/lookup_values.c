/* Returns the values that a lookup compares and sorts by, for whole tables at once. */
#include <math.h>
#include <string.h>

#include "store/lookup/lookup_internal.h"

static struct lookup_rows *rows_of(const struct looking *x, enum lookup_table table)
{
    return &x->t->table[table];
}

/* ---- maps between the tables ------------------------------------------------------------------------------------- */

/* Returns the numbers of a column. A column that reaches to all rows is lent without a copy. */
static const double *stored_numbers(const struct looking *x, enum lookup_table table, int column)
{
    const struct lookup_rows *rows = rows_of(x, table);
    const struct column *c = &rows->column[column];
    if (c->number && c->first == 0 && c->n >= rows->n)
        return c->number;
    double *all = arena_array(x->a, double, rows->n + 1);
    column_numbers(c, rows->n, all);
    return all;
}

static const uint32_t *places_of_ids(const struct looking *x, enum lookup_table from, int column, enum lookup_table to)
{
    const struct lookup_rows *rows = rows_of(x, from), *other = rows_of(x, to);
    const double *id = stored_numbers(x, from, column);
    uint32_t *map = arena_array(x->kept, uint32_t, rows->n + 1);
    for (size_t i = 0; i < rows->n; i++)
        map[i] = isnan(id[i]) ? LOOKUP_NO_ROW : lookup_place(other, (int32_t)id[i]);
    return map;
}

const uint32_t *lookup_experiments_of_runs(struct looking *x)
{
    const uint32_t **map = &x->map[LOOKUP_TABLE_EXPERIMENTS][1];
    if (!*map)
        *map = places_of_ids(x, LOOKUP_TABLE_RUNS, T_EXPERIMENT, LOOKUP_TABLE_EXPERIMENTS);
    return *map;
}

/* Returns the best run of each experiment, or its first one if there is no best. */
static const uint32_t *shown_runs(struct looking *x)
{
    const struct lookup_rows *runs = rows_of(x, LOOKUP_TABLE_RUNS);
    const uint32_t *best = lookup_map(x, LOOKUP_TABLE_RUNS, false), *owner = lookup_experiments_of_runs(x);
    uint32_t *map = arena_array(x->kept, uint32_t, x->n + 1);
    memset(map, 0xff, x->n * sizeof(*map));
    for (size_t i = 0; i < runs->n; i++) {
        uint32_t e = runs->id[i] > 0 ? owner[i] : LOOKUP_NO_ROW;
        if (e != LOOKUP_NO_ROW && (map[e] == LOOKUP_NO_ROW || runs->id[i] < runs->id[map[e]]))
            map[e] = (uint32_t)i;
    }
    for (size_t e = 0; e < x->n; e++)
        if (best[e] != LOOKUP_NO_ROW)
            map[e] = best[e];
    return map;
}

/* Maps each row to the user or project of its experiment. */
static const uint32_t *through_experiment(struct looking *x, int column, enum lookup_table to)
{
    const uint32_t *of_experiment = places_of_ids(x, LOOKUP_TABLE_EXPERIMENTS, column, to);
    if (x->target == LOOKUP_TABLE_EXPERIMENTS)
        return of_experiment;
    const uint32_t *experiment = lookup_experiments_of_runs(x);
    uint32_t *map = arena_array(x->kept, uint32_t, x->n + 1);
    for (size_t i = 0; i < x->n; i++)
        map[i] = experiment[i] == LOOKUP_NO_ROW ? LOOKUP_NO_ROW : of_experiment[experiment[i]];
    return map;
}

const uint32_t *lookup_map(struct looking *x, enum lookup_table from, bool shown)
{
    if (from == x->target)
        return NULL;
    if (from == LOOKUP_TABLE_EXPERIMENTS)
        return lookup_experiments_of_runs(x);
    const uint32_t **map = &x->map[from][from == LOOKUP_TABLE_RUNS && shown];
    if (*map)
        return *map;
    if (from == LOOKUP_TABLE_USERS)
        *map = through_experiment(x, X_USER, from);
    else if (from == LOOKUP_TABLE_PROJECTS)
        *map = through_experiment(x, X_PROJECT, from);
    else
        *map = shown ? shown_runs(x) : places_of_ids(x, LOOKUP_TABLE_EXPERIMENTS, X_BEST_RUN, from);
    return *map;
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

static void add_durations(const struct looking *x, enum lookup_table table, double *ret)
{
    bool runs = table == LOOKUP_TABLE_RUNS;
    const double *start = stored_numbers(x, table, runs ? (int)T_START : (int)X_START);
    const double *end = stored_numbers(x, table, runs ? (int)T_END : (int)X_END);
    for (size_t i = 0; i < rows_of(x, table)->n; i++)
        ret[i] = trunc(((isnan(end[i]) ? (double)x->s->now_us : end[i]) - start[i]) / 1000000);
}

static void add_multitrial(const struct looking *x, double *ret)
{
    const struct lookup_rows *rows = rows_of(x, LOOKUP_TABLE_EXPERIMENTS);
    const struct column *searcher = &rows->column[X_SEARCHER_TYPE];
    const double *trials = stored_numbers(x, LOOKUP_TABLE_EXPERIMENTS, X_NUM_TRIALS);
    uint32_t single = texts_find(&searcher->texts, "single"), *type = arena_array(x->a, uint32_t, rows->n + 1);
    column_texts(searcher, rows->n, type);
    for (size_t i = 0; i < rows->n; i++)
        ret[i] = trials[i] > 1 || type[i] != single;
}

static void add_parent_archived(const struct looking *x, double *ret)
{
    const uint32_t *project = places_of_ids(x, LOOKUP_TABLE_EXPERIMENTS, X_PROJECT, LOOKUP_TABLE_PROJECTS);
    const double *archived = stored_numbers(x, LOOKUP_TABLE_EXPERIMENTS, X_ARCHIVED);
    const double *place_archived = stored_numbers(x, LOOKUP_TABLE_PROJECTS, P_ARCHIVED);
    for (size_t i = 0; i < rows_of(x, LOOKUP_TABLE_EXPERIMENTS)->n; i++)
        ret[i] = archived[i] != 0 || (project[i] != LOOKUP_NO_ROW && place_archived[project[i]] != 0);
}

static const double *made_numbers(const struct looking *x, const struct lookup_column *c)
{
    const struct lookup_rows *rows = rows_of(x, c->table);
    double *made = arena_array(x->a, double, rows->n + 1);
    if (c->how == LOOKUP_BY_DURATION)
        add_durations(x, c->table, made);
    else if (c->how == LOOKUP_BY_MULTITRIAL)
        add_multitrial(x, made);
    else if (c->how == LOOKUP_BY_PARENT_ARCHIVED)
        add_parent_archived(x, made);
    else
        for (size_t i = 0; i < rows->n; i++)
            made[i] = rows->id[i];
    return made;
}

static void lend_texts(const struct looking *x, struct column *c, size_t n, struct lookup_values *ret)
{
    ret->texts = &c->texts;
    ret->worded = c->worded;
    if (c->text && c->first == 0 && c->n >= n) {
        ret->text = c->text;
        return;
    }
    uint32_t *all = arena_array(x->a, uint32_t, n + 1);
    column_texts(c, n, all);
    ret->text = all;
}

static int values_of_path(struct looking *x, const char *path, bool spelled, struct lookup_values *ret,
                          struct error *err)
{
    static struct column nobody; /* an empty column, which is never changed */
    struct column *c;
    if (lookup_tables_path(x->t, x->st, path, &c, err) < 0)
        return -1;
    size_t n = rows_of(x, LOOKUP_TABLE_RUNS)->n;
    if (c && spelled)
        column_spell(c);
    double *number = arena_array(x->a, double, n + 1);
    column_numbers(c ? c : &nobody, n, number);
    ret->number = number;
    lend_texts(x, c ? c : &nobody, n, ret);
    return 0;
}

int lookup_values(struct looking *x, const struct lookup_operand *o, bool spelled, struct lookup_values *ret,
                  struct error *err)
{
    const struct lookup_column *c = o->column;
    *ret = (struct lookup_values){.table = c->table};
    if (o->path)
        return values_of_path(x, o->path, spelled, ret, err);
    struct column *stored = &rows_of(x, c->table)->column[c->column];
    if (c->how != LOOKUP_BY_COLUMN)
        ret->number = made_numbers(x, c);
    else if (c->type == LOOKUP_TEXT || c->type == LOOKUP_STATE || c->type == LOOKUP_USER || c->type == LOOKUP_LABELS)
        lend_texts(x, stored, rows_of(x, c->table)->n, ret);
    else
        ret->number = stored_numbers(x, c->table, c->column);
    return 0;
}
