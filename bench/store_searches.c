/* How long does a page of 200 of a search take, over 100,000 experiments with a run each, and over 1,000 with 100 each,
 * by every column as sort and as filter, with every operator it has, and by groups of them? Prints for each what it
 * cost in ms: CPU, median and p99 of the search and of reading its rows, and the slowest ten. Usage: store_searches
 * [DIRECTORY | postgresql://…] [ROUNDS] */
#include "store/lookup/lookup.h"
#include "store_many.h"

enum { ROUNDS_MAX = 1000, PAGE = 200 };

static int rounds = 100;

struct question {
    enum lookup_kind kind;
    const char *filter, *sort;
    int32_t offset;
};

static int show_found(struct store *st, const struct question *q, const struct lookup_found *found, struct arena *a)
{
    struct store_experiment *x;
    struct store_run *r;
    size_t n;
    return q->kind == LOOKUP_RUNS ? store_runs_shown(st, found->ids, a, &r, &n, &bench_err)
                                  : store_experiments_shown(st, found->ids, a, &x, &n, &bench_err);
}

static void ask_question(struct store *st, const char *what, struct question q)
{
    struct bench_times t = {.n = 0};
    struct lookup_found found = {0};
    char name[160];
    for (int i = 0; i < rounds; i++) {
        cleanup_arena struct arena a = ARENA_INIT;
        struct lookup *search;
        bench_start(&t);
        MUST(lookup_parse(q.kind, q.filter, q.sort, 1800000000000000, &a, &search, &bench_err));
        MUST(store_lookup(st, search, 1, (struct page){.offset = q.offset, .limit = PAGE}, &a, &found, &bench_err));
        MUST(show_found(st, &q, &found, &a));
        bench_stop(&t);
    }
    snprintf(name, sizeof(name), "%s: %s", q.kind == LOOKUP_RUNS ? "runs" : "experiments", what);
    bench_took(name, found.window.total, &t);
}

/* ---- every column ------------------------------------------------------------------------------------------------ */

/* A column, its operators, and a value that some rows match but not all; NULL: the column is only sorted by. */
struct column {
    const char *name, *operators, *value;
};
#define NUMBERS "= != < <= > >= isEmpty notEmpty"
#define TEXTS "= != contains notContains isEmpty notEmpty"
#define EITHER "= != < <= > >= contains notContains isEmpty notEmpty"
#define TRUTHS "= != isEmpty notEmpty"

static const struct column experiment_columns[] = {{"id", NUMBERS, "50000"},
                                                   {"description", TEXTS, "\"Week 1\""},
                                                   {"name", TEXTS, "\"bert\""},
                                                   {"tags", TEXTS, "\"team-7\""},
                                                   {"searcherType", TEXTS, "\"single\""},
                                                   {"searcherMetric", TEXTS, "\"loss\""},
                                                   {"startTime", NUMBERS, "\"2023-11-15\""},
                                                   {"endTime", NUMBERS, "\"2023-11-15\""},
                                                   {"duration", NUMBERS, "5000"},
                                                   {"state", TRUTHS, "\"COMPLETED\""},
                                                   {"numTrials", NUMBERS, "1"},
                                                   {"progress", NUMBERS, "50"},
                                                   {"user", TEXTS, "\"user919\""},
                                                   {"forkedFrom", NUMBERS, "500"},
                                                   {"resourcePool", TEXTS, "\"default\""},
                                                   {"projectId", NUMBERS, "1"},
                                                   {"checkpointSize", NUMBERS, "0"},
                                                   {"checkpointCount", NUMBERS, "0"},
                                                   {"searcherMetricsVal", NUMBERS, "5"},
                                                   {"externalExperimentId", TEXTS, "\"x\""},
                                                   {"externalTrialId", TEXTS, "\"x\""},
                                                   {NULL}};
static const struct column run_columns[] = {{"id", NUMBERS, "50000"},
                                            {"experimentDescription", TEXTS, "\"Week 1\""},
                                            {"experimentName", TEXTS, "\"bert\""},
                                            {"tags", TEXTS, "\"team-7\""},
                                            {"searcherType", TEXTS, "\"single\""},
                                            {"searcherMetric", TEXTS, "\"loss\""},
                                            {"startTime", NUMBERS, "\"2023-11-15\""},
                                            {"endTime", NUMBERS, "\"2023-11-15\""},
                                            {"duration", NUMBERS, "5000"},
                                            {"state", TRUTHS, "\"COMPLETED\""},
                                            {"experimentProgress", NUMBERS, "50"},
                                            {"user", TEXTS, "\"user919\""},
                                            {"forkedFrom", NUMBERS, "500"},
                                            {"resourcePool", TEXTS, "\"default\""},
                                            {"projectId", NUMBERS, "1"},
                                            {"checkpointSize", NUMBERS, "0"},
                                            {"checkpointCount", NUMBERS, "0"},
                                            {"searcherMetricsVal", NUMBERS, "5"},
                                            {"externalExperimentId", TEXTS, "\"x\""},
                                            {"externalRunId", TEXTS, "\"x\""},
                                            {"experimentId", NUMBERS, "500"},
                                            {"localId", TEXTS, "\"CAT-77\""},
                                            {"isExpMultitrial", TRUTHS, "true"},
                                            {"parentArchived", TRUTHS, "false"},
                                            {"archived", "", NULL},
                                            {"metadata.owner", EITHER, "\"person-7\""},
                                            {"metadata.data.rows", EITHER, "2500"},
                                            {NULL}};
static const struct column shared_columns[] = {{"hp.lr", EITHER, "0.5"},
                                               {"hp.layers", EITHER, "3"},
                                               {"hp.optimizer.name", EITHER, "\"adam\""},
                                               {"hp.nobody.has", EITHER, "1"},
                                               {"validation.loss.min", EITHER, "5"},
                                               {"validation.loss.mean", EITHER, "5"},
                                               {"training.accuracy.last", EITHER, "0.5"},
                                               {"training.accuracy.max", EITHER, "0.5"},
                                               {NULL}};

static void ask_filter(struct store *st, enum lookup_kind kind, const struct column *c, const char *op)
{
    char filter[400], what[128];
    bool order = *op == '<' || *op == '>';
    const char *value = order && c->operators[0] == '=' && strcmp(c->operators, EITHER) == 0 && c->value[0] == '"'
                            ? "1"
                            : c->value;
    snprintf(filter, sizeof(filter),
             "{\"showArchived\":true,\"filterGroup\":{\"kind\":\"group\",\"conjunction\":\"and\",\"children\":["
             "{\"kind\":\"field\",\"columnName\":\"%s\",\"operator\":\"%s\",\"value\":%s}]}}",
             c->name, op, value);
    snprintf(what, sizeof(what), "%s %s %s", c->name, op, value);
    ask_question(st, what, (struct question){.kind = kind, .filter = filter, .sort = "startTime=desc"});
}

static void ask_column(struct store *st, enum lookup_kind kind, const struct column *c)
{
    char sort[80], *operators = strdup(c->operators), *rest = operators;
    for (int descending = 0; descending < 2; descending++) {
        snprintf(sort, sizeof(sort), "%s=%s", c->name, descending ? "desc" : "asc");
        ask_question(st, sort, (struct question){.kind = kind, .sort = sort});
    }
    for (char *op; c->value && (op = strsep(&rest, " "));)
        ask_filter(st, kind, c, op);
    free(operators);
}

/* ---- together ---------------------------------------------------------------------------------------------------- */

#define FIELD(name, op, value) \
    "{\"kind\":\"field\",\"columnName\":\"" name "\",\"operator\":\"" op "\",\"value\":" value "}"
#define AND(...) "{\"kind\":\"group\",\"conjunction\":\"and\",\"children\":[" __VA_ARGS__ "]}"
#define OR(...) "{\"kind\":\"group\",\"conjunction\":\"or\",\"children\":[" __VA_ARGS__ "]}"
#define SHOWN(group) "{\"showArchived\":true,\"filterGroup\":" group "}"
#define HIDDEN(group) "{\"showArchived\":false,\"filterGroup\":" group "}"
#define RANGE FIELD("hp.lr", ">", "0.2") "," FIELD("hp.lr", "<=", "0.7") "," FIELD("validation.loss.min", "<", "8")
#define MIXED \
    OR(FIELD("tags", "contains", "\"eam-1\"") "," FIELD("state", "!=", "\"COMPLETED\"") "," AND( \
        FIELD("user", "contains", "\"9\"") "," FIELD("training.accuracy.last", ">=", "0.3")))

static void ask_groups(struct store *st, enum lookup_kind kind)
{
    static const struct {
        const char *what, *filter, *sort;
        int32_t offset;
    } questions[] = {
        {"everything", NULL, NULL, 0},
        {"everything, page 250", NULL, "searcherMetricsVal=desc", 50000},
        {"not archived", HIDDEN(AND("")), "startTime=desc", 0},
        {"ranges of a hyperparameter and a metric", SHOWN(AND(RANGE)), "hp.lr=desc,validation.loss.min=asc", 0},
        {"groups within groups", HIDDEN(AND(RANGE "," MIXED)), "validation.loss.min=asc", 0},
        {"the same, page 20", HIDDEN(AND(RANGE "," MIXED)), "tags=desc,user=asc", 4000},
        {"four sorts", SHOWN(AND(MIXED)), "state=asc,resourcePool=desc,hp.layers=asc,training.accuracy.max=desc", 0},
        {"twenty conditions", SHOWN(OR(AND(RANGE "," RANGE "," RANGE "," MIXED) "," AND(RANGE "," MIXED))),
         "hp.optimizer.name=asc,id=desc", 0},
    };
    for (size_t i = 0; i < sizeof(questions) / sizeof(*questions); i++)
        ask_question(st, questions[i].what,
                     (struct question){kind, questions[i].filter, questions[i].sort, questions[i].offset});
}

static void ask_all(struct store *st)
{
    for (int kind = LOOKUP_EXPERIMENTS; kind <= LOOKUP_RUNS; kind++) {
        ask_groups(st, kind);
        for (const struct column *c = kind == LOOKUP_RUNS ? run_columns : experiment_columns; c->name; c++)
            ask_column(st, kind, c);
        for (const struct column *c = shared_columns; c->name; c++)
            ask_column(st, kind, c);
    }
}

/* ---- changes ----------------------------------------------------------------------------------------------------- */

/* Measures a search that comes after very many changes. */
static void ask_after_changes(struct store *writer, struct store *st)
{
    for (int n = 1; n <= 10000; n *= 100) {
        struct lookup_state state;
        MUST(store_begin(writer, &bench_err));
        for (int i = 1; i <= n; i++)
            MUST(store_trial_set_metadata(writer, i, "{\"owner\": \"somebody else\"}", &bench_err));
        MUST(store_commit(writer, &bench_err));
        int64_t start = clock_monotonic_us();
        MUST(store_lookup_refresh(st, &state, &bench_err));
        printf("taking over %5d changed runs   %8.2f ms\n", n, (double)(clock_monotonic_us() - start) / 1000);
    }
}

static void measure_shape(const char *place, const char *shape, int32_t experiments, int32_t runs_each)
{
    struct store *st, *reader;
    struct lookup_state state;
    MUST(store_open(place, STORE_DURABLE_NORMAL, &st, &bench_err));
    bench_many(st, experiments, runs_each);
    MUST(store_open_reader(place, &reader, &bench_err));
    int64_t start = clock_monotonic_us(), cpu = bench_cpu_us();
    MUST(store_lookup_refresh(reader, &state, &bench_err));
    printf("%s\nfirst look   %8.2f ms\nof CPU   %8.2f ms\nin memory   %8.2f MB\n", shape,
           (double)(clock_monotonic_us() - start) / 1000, (double)(bench_cpu_us() - cpu) / 1000,
           (double)state.bytes / 1e6);
    ask_all(reader);
    bench_slowest();
    ask_after_changes(st, reader);
    store_close(reader);
    store_close(st);
}

int main(int argc, char **argv)
{
    const char *place = argc > 1 ? argv[1] : "/tmp";
    rounds = argc > 2 ? (int)strtol(argv[2], NULL, 10) : rounds;
    if (rounds < 1 || rounds > ROUNDS_MAX) {
        fprintf(stderr, "usage: store_searches [DIRECTORY | postgresql://…] [ROUNDS, at most %d]\n", ROUNDS_MAX);
        return 2;
    }
    if (strncmp(place, "postgresql://", 13) == 0) { /* one database is measured in one shape */
        measure_shape(place, "100,000 experiments, a run each", 100000, 1);
        return 0;
    }
    bench_make_dir(place);
    measure_shape(bench_path, "100,000 experiments, a run each", 100000, 1);
    bench_remove_dir();
    bench_make_dir(place);
    measure_shape(bench_path, "1,000 experiments, 100 runs each", 1000, 100);
    bench_remove_dir();
    return 0;
}
