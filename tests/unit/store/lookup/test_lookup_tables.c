/* Compares lookups with a simple reference. Random experiments and runs are changed while a reader has its tables in
 * memory. After each change, random filters and sorts must find what a check of the same facts row by row finds. */
#include "store/lookup_world.h"

#include <strings.h>

enum { STEPS = 400 };

/* ---- the reference ----------------------------------------------------------------------------------------------- */

enum fact_type { FACT_NONE, FACT_NUMBER, FACT_TEXT, FACT_LABELS };
struct fact {
    enum fact_type type;
    double number;
    const char *text;
    unsigned labels;
};

static struct fact number(bool has, double v)
{
    return (struct fact){has ? FACT_NUMBER : FACT_NONE, .number = v};
}
static struct fact text(bool has, const char *v)
{
    return (struct fact){has ? FACT_TEXT : FACT_NONE, .text = v};
}

static const char *const columns[] = {"id",
                                      "NAME",
                                      "DESCRIPTION",
                                      "tags",
                                      "STATE",
                                      "user",
                                      "hp.lr",
                                      "hp.deep.opt",
                                      "metadata.owner",
                                      "metadata.data.rows",
                                      "validation.loss.min",
                                      "validation.loss.last",
                                      "searcherMetricsVal"};
enum {
    C_ID,
    C_NAME,
    C_DESCRIPTION,
    C_TAGS,
    C_STATE,
    C_USER,
    C_LR,
    C_OPT,
    C_OWNER,
    C_ROWS,
    C_MIN,
    C_LAST,
    C_METRIC,
    COLUMNS
};

static struct fact fact_of_run(const struct run_fact *t, int c)
{
    switch (c) {
    case C_LR:
        return number(t->has_lr, t->lr);
    case C_OPT:
        return text(t->has_opt, t->opt);
    case C_OWNER:
        return text(t->has_owner, t->owner);
    case C_ROWS:
        return number(t->has_rows, t->rows);
    case C_MIN:
        return number(t->has_loss, t->least);
    default:
        return number(t->has_loss, t->last);
    }
}

static struct fact fact_of(const struct world *w, bool runs, int id, int c)
{
    const struct experiment_fact *x = &w->x[runs ? w->t[id].experiment : id];
    switch (c) {
    case C_ID:
        return number(true, id);
    case C_NAME:
        return text(true, x->name);
    case C_DESCRIPTION:
        return text(true, x->description);
    case C_TAGS:
        return (struct fact){FACT_LABELS, .labels = x->labels};
    case C_STATE:
        return text(true, x->state);
    case C_USER:
        return text(true, w->user[x->user]);
    case C_METRIC:
        return runs ? number(w->t[id].has_loss, w->t[id].least) : number(x->best_run != 0, x->best);
    default:
        return runs          ? fact_of_run(&w->t[id], c)
               : x->best_run ? fact_of_run(&w->t[x->best_run], c)
                             : (struct fact){FACT_NONE};
    }
}

static bool contains(const char *all, const char *part)
{
    for (size_t n = strlen(part); strlen(all) >= n; all++)
        if (strncasecmp(all, part, n) == 0)
            return true;
    return false;
}

struct condition {
    int column;
    const char *op;
    double number;
    const char *text;
    bool group, any;
    int left, right;
};

static bool is_true_of(const struct fact *v, const struct condition *c)
{
    char spelled[32];
    if (strcmp(c->op, "isEmpty") == 0)
        return v->type == FACT_NONE || (v->type == FACT_LABELS && !v->labels) ||
               (v->type == FACT_TEXT && c->column < C_LR && !*v->text);
    if (strcmp(c->op, "notEmpty") == 0 || *c->op == '!' || strcmp(c->op, "notContains") == 0)
        abort(); /* such an operator is evaluated as the opposite of another one: see holds() */
    if (v->type == FACT_NONE)
        return false;
    bool part = strcmp(c->op, "contains") == 0;
    for (int i = 1; v->type == FACT_LABELS && i < WORDS; i++)
        if (v->labels & 1u << (i - 1) && (part ? contains(words[i], c->text) : strcmp(words[i], c->text) == 0))
            return true;
    if (v->type == FACT_LABELS)
        return false;
    if (c->text) {
        snprintf(spelled, sizeof(spelled), "%g", v->number);
        const char *is = v->type == FACT_NUMBER ? spelled : v->text;
        return part ? contains(is, c->text) : strcmp(is, c->text) == 0;
    }
    if (v->type != FACT_NUMBER)
        return false;
    return strcmp(c->op, "=") == 0    ? v->number == c->number
           : strcmp(c->op, "<") == 0  ? v->number < c->number
           : strcmp(c->op, "<=") == 0 ? v->number <= c->number
           : strcmp(c->op, ">") == 0  ? v->number > c->number
                                      : v->number >= c->number;
}

/* An experiment has the hyperparameters of all its runs. */
static bool is_true(const struct world *w, bool runs, int id, const struct condition *c)
{
    if (runs || (c->column != C_LR && c->column != C_OPT)) {
        struct fact v = fact_of(w, runs, id, c->column);
        return is_true_of(&v, c);
    }
    bool emptiness = strcmp(c->op, "isEmpty") == 0;
    for (int t = 1; t <= RUNS; t++) {
        struct fact v = fact_of_run(&w->t[t], c->column);
        if (w->t[t].exists && w->t[t].experiment == id && is_true_of(&v, c) != emptiness)
            return !emptiness;
    }
    return emptiness;
}

static bool holds(const struct world *w, bool runs, int id, const struct condition *tree, int at)
{
    struct condition c = tree[at];
    if (c.group) {
        bool left = holds(w, runs, id, tree, c.left), right = holds(w, runs, id, tree, c.right);
        return c.any ? left || right : left && right;
    }
    bool negated = *c.op == '!' || strncmp(c.op, "not", 3) == 0;
    c.op = *c.op == '!'                       ? "="
           : strcmp(c.op, "notEmpty") == 0    ? "isEmpty"
           : strcmp(c.op, "notContains") == 0 ? "contains"
                                              : c.op;
    return is_true(w, runs, id, &c) != negated;
}

/* ---- random filters and sorts ------------------------------------------------------------------------------------ */

struct question {
    bool runs, shown;
    struct condition tree[16];
    int n, root, sort[3], sort_n;
    bool descending[3];
};

static const char *column_name(bool runs, int c)
{
    static const char *const of_experiments[] = {[C_NAME] = "name",
                                                 [C_DESCRIPTION] = "description",
                                                 [C_STATE] = "state"};
    static const char *const of_runs[] = {[C_NAME] = "experimentName", [C_DESCRIPTION] = "experimentDescription"};
    return c != C_NAME && c != C_DESCRIPTION && c != C_STATE ? columns[c] : runs ? of_runs[c] : of_experiments[c];
}

/* Chooses a column. Metadata can only be looked up for runs, and the state of a run is not among the facts. */
static int pick_column(struct world *w, bool runs)
{
    int c;
    do {
        c = (int)pick(w, COLUMNS);
    } while (runs ? c == C_STATE : c == C_OWNER || c == C_ROWS);
    return c;
}

static int make_condition(struct world *w, struct question *q, int depth)
{
    static const char *const numeric[] = {"=", "!=", "<", "<=", ">", ">=", "isEmpty", "notEmpty"};
    static const char *const textual[] = {"=", "!=", "contains", "notContains", "isEmpty", "notEmpty"};
    int at = q->n++;
    struct condition c = {.group = depth < 3 && pick(w, 2), .any = pick(w, 2)};
    if (c.group) {
        c.left = make_condition(w, q, depth + 1);
        c.right = make_condition(w, q, depth + 1);
        q->tree[at] = c;
        return at;
    }
    c.column = pick_column(w, q->runs);
    bool number_only = c.column == C_ID || c.column == C_METRIC;
    bool as_text = !number_only && (c.column < C_LR || pick(w, 2));
    c.op = as_text ? textual[pick(w, c.column == C_STATE ? 2 : 6)] : numeric[pick(w, 8)];
    c.text = as_text ? c.column == C_STATE ? states[pick(w, 4)]
                       : pick(w, 5)        ? words[1 + pick(w, WORDS - 1)]
                                           : "A"
                     : NULL;
    if (as_text && c.column >= C_LR && pick(w, 3) == 0)
        c.text = "0.5";
    c.number = c.column == C_ID ? pick(w, RUNS) : pick(w, 5) / 2.0;
    q->tree[at] = c;
    return at;
}

static void print_condition(const struct question *q, int at, struct strbuf *out)
{
    const struct condition *c = &q->tree[at];
    if (c->group) {
        strbuf_addf(out, "{\"kind\":\"group\",\"conjunction\":\"%s\",\"children\":[", c->any ? "or" : "and");
        print_condition(q, c->left, out);
        strbuf_addc(out, ',');
        print_condition(q, c->right, out);
        strbuf_adds(out, "]}");
        return;
    }
    strbuf_addf(out, "{\"kind\":\"field\",\"columnName\":\"%s\",\"operator\":\"%s\",\"value\":",
                column_name(q->runs, c->column), c->op);
    if (c->text)
        strbuf_addf(out, "\"%s\"}", c->text);
    else
        strbuf_addf(out, "%g}", c->number);
}

static struct question make_question(struct world *w)
{
    struct question q = {.runs = pick(w, 2), .shown = pick(w, 2), .sort_n = (int)pick(w, 4)};
    q.root = make_condition(w, &q, 0);
    for (int i = 0; i < q.sort_n; i++) {
        q.sort[i] = pick_column(w, q.runs);
        if (q.sort[i] == C_TAGS || (!q.runs && (q.sort[i] == C_LR || q.sort[i] == C_OPT)))
            q.sort[i] = C_NAME; /* an order of lists, and which run shows an experiment's hyperparameters:
                                   tests/api/experiments/test_search.py */
        q.descending[i] = pick(w, 2);
    }
    return q;
}

static int compare_facts(const struct fact *a, const struct fact *b, bool descending)
{
    if (a->type == FACT_NONE || b->type == FACT_NONE)
        return (a->type == FACT_NONE) - (b->type == FACT_NONE);
    int c = a->type == FACT_TEXT ? strcmp(a->text, b->text) : (a->number > b->number) - (a->number < b->number);
    return descending ? -c : c;
}

static bool comes_before(const struct world *w, const struct question *q, int a, int b)
{
    for (int i = 0; i < q->sort_n; i++) {
        struct fact x = fact_of(w, q->runs, a, q->sort[i]), y = fact_of(w, q->runs, b, q->sort[i]);
        int c = compare_facts(&x, &y, q->descending[i]);
        if (c)
            return c < 0;
    }
    return a < b;
}

static int reference(const struct world *w, const struct question *q, int *ids)
{
    int n = 0;
    for (int id = 1; id <= (q->runs ? RUNS : EXPERIMENTS); id++) {
        const struct experiment_fact *x = &w->x[q->runs ? w->t[id].experiment : id];
        if (!(q->runs ? w->t[id].exists : x->exists) || (!q->shown && x->archived) ||
            !holds(w, q->runs, id, q->tree, q->root))
            continue;
        int at = n++;
        for (; at > 0 && comes_before(w, q, id, ids[at - 1]); at--)
            ids[at] = ids[at - 1];
        ids[at] = id;
    }
    return n;
}

static void ask(struct world *w)
{
    cleanup_arena struct arena a = ARENA_INIT;
    cleanup_strbuf struct strbuf filter = STRBUF_INIT, sort = STRBUF_INIT;
    struct question q = make_question(w);
    int expected[RUNS], n = reference(w, &q, expected);
    strbuf_addf(&filter,
                "{\"showArchived\":%s,\"filterGroup\":{\"kind\":\"group\",\"conjunction\":\"and\",\"children\":[",
                q.shown ? "true" : "false");
    print_condition(&q, q.root, &filter);
    strbuf_adds(&filter, "]}}");
    for (int i = 0; i < q.sort_n; i++)
        strbuf_addf(&sort, "%s=%s,", column_name(q.runs, q.sort[i]), q.descending[i] ? "desc" : "asc");
    struct lookup *s;
    struct lookup_found found;
    struct page page = {.offset = (int32_t)pick(w, 4), .limit = 1 + (int32_t)pick(w, 9)};
    OK(w->f,
       lookup_parse(q.runs ? LOOKUP_RUNS : LOOKUP_EXPERIMENTS, filter.s, strbuf_str(&sort), T0, &a, &s, &w->f->err));
    OK(w->f, store_lookup(w->reader, s, 1, page, &a, &found, &w->f->err));
    bool same = found.window.total == n;
    for (size_t i = 0; same && i < found.ids.n; i++)
        same = found.ids.value[i] == expected[page.offset + (int)i];
    if (!same)
        fail_msg("%s %s sort %s: %d found, %d expected", q.runs ? "runs" : "experiments", filter.s, strbuf_str(&sort),
                 found.window.total, n);
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

static void begin(struct world *w, struct fixture *f, uint32_t seed)
{
    *w = (struct world){.f = f, .user = {"", "admin", "other"}};
    rng_init(&w->rng, seed);
    fixture_user(f, 1, "admin");
    fixture_user(f, 2, "other");
    OK(f, store_open_reader(f->path, &w->reader, &f->err));
}

static void test_every_search_finds_what_a_judge_of_rows_does_whatever_changes(void **state)
{
    struct world w;
    begin(&w, *state, 11);
    for (int i = 0; i < STEPS; i++) {
        change(&w);
        for (int k = 0; k < 10; k++)
            ask(&w);
    }
    store_close(w.reader);
}

/* With a limit of 0 bytes no column is kept, so each lookup reads its documents again. */
static void test_columns_beyond_the_limit_are_made_again(void **state)
{
    struct world w;
    begin(&w, *state, 12);
    store_lookup_tables(w.reader)->bytes_max = 1;
    for (int i = 0; i < STEPS / 4; i++) {
        change(&w);
        ask(&w);
    }
    assert_true(store_lookup_tables(w.reader)->dropped);
    store_close(w.reader);
}

static void test_a_reader_that_slept_too_long_begins_again(void **state)
{
    struct world w;
    begin(&w, *state, 13);
    for (int i = 0; i < STEPS / 4; i++) {
        change(&w);
        if (i % 3 == 0)
            fixture_exec(w.f, "DELETE FROM search_changes WHERE seq < (SELECT max(seq) FROM search_changes)");
        if (i % 5 == 0)
            ask(&w);
    }
    store_close(w.reader);
}

/* Only changes that every connection has seen are deleted. */
static void test_old_changes_are_forgotten_a_part_at_a_time(void **state)
{
    struct world w;
    struct lookup_state s;
    begin(&w, *state, 14);
    add_experiment(&w);
    fixture_exec(
        w.f,
        fixture_server()
            ? "INSERT INTO search_changes (kind, row_id) SELECT 0, 1 FROM generate_series(1, 110000)"
            : "INSERT INTO search_changes (kind, row_id) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 110000)"
              " SELECT 0, 1 FROM n");
    OK(w.f, store_lookup_refresh(w.reader, &s, &w.f->err));
    assert_true(s.trim && s.bytes > 0);
    for (int i = 0; i < 3; i++) {
        OK(w.f, store_lookup_trim(w.f->st, &w.f->err));
        change(&w);
        ask(&w);
    }
    OK(w.f, store_lookup_refresh(w.reader, &s, &w.f->err));
    assert_false(s.trim);
    store_close(w.reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_every_search_finds_what_a_judge_of_rows_does_whatever_changes),
        TEST(test_columns_beyond_the_limit_are_made_again),
        TEST(test_a_reader_that_slept_too_long_begins_again),
        TEST(test_old_changes_are_forgotten_a_part_at_a_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
