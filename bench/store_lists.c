/* How long does a page of 200 of 100,000 experiments take, for each sort and each filter that the list has? Prints what each
 * costs in ms: CPU, median and the slowest of 50 (as p99), and which was the slowest of all. Usage: store_lists [DIRECTORY | postgresql://…] */
#include <time.h>

#include "store/search.h"
#include "store/trials.h"
#include "store_bench.h"

enum { EXPERIMENTS = 100000, USERS = 50, ROUNDS = 50, PAGE = 200 };

/* What the thread itself took, beside what the clock says: on a busy machine the difference is the others' time. */
static int64_t cpu_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static double slowest;
static char slowest_what[128];

static int by_time(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* One of the two: the list's filter, or a search's texts. */
struct question {
    struct store_experiment_filter list;
    const char *filter, *sort;
    bool is_search;
};

static void ask(struct store *st, const struct question *q, struct arena *a, struct store_experiment_list *ret)
{
    struct search *search;
    if (!q->is_search) {
        MUST(store_experiment_list(st, &q->list, a, ret, &bench_err));
        return;
    }
    MUST(search_parse(SEARCH_EXPERIMENTS, q->filter, q->sort, 1800000000000000, a, &search, &bench_err));
    MUST(store_search_experiments(st, search, 1, (struct page){.limit = PAGE}, a, ret, &bench_err));
}

static void measure_question(struct store *st, const char *what, const struct question *q)
{
    static int64_t took[ROUNDS];
    struct store_experiment_list l = {0};
    int64_t cpu = cpu_us();
    for (int i = 0; i < ROUNDS; i++) {
        cleanup_arena struct arena a = ARENA_INIT;
        int64_t start = clock_monotonic_us();
        ask(st, q, &a, &l);
        took[i] = clock_monotonic_us() - start;
    }
    qsort(took, ROUNDS, sizeof(*took), by_time);
    double p99 = (double)took[ROUNDS - 1] / 1000;
    printf("%-34s (%6d match) cpu %6.2f  median %6.2f  p99 %8.2f ms\n", what, l.window.total,
           (double)(cpu_us() - cpu) / ROUNDS / 1000, (double)took[ROUNDS / 2] / 1000, p99);
    fflush(stdout);
    if (p99 > slowest) {
        slowest = p99;
        snprintf(slowest_what, sizeof(slowest_what), "%s", what);
    }
}

static void measure(struct store *st, const char *what, struct store_experiment_filter f)
{
    f.page.limit = PAGE;
    f.with_config = true;
    measure_question(st, what, &(struct question){.list = f});
}

/* ---- 100,000 experiments that differ in everything that a list looks at ---- */

static void make_experiment(struct store *st, int32_t id, const char *config)
{
    static const char *const states[] = {"COMPLETED", "COMPLETED", "COMPLETED", "COMPLETED", "COMPLETED", "ERROR", "CANCELED", "PAUSED"};
    static const char *const models[] = {"mnist", "cifar10", "bert", "resnet50", "gpt2"};
    uint32_t r = (uint32_t)id * 2654435761u;
    char job[40], name[64], description[96], labels[64], hparams[64];
    snprintf(hparams, sizeof(hparams), "{\"lr\": %g, \"layers\": %u}", r % 1000 / 1000.0, r % 7);
    snprintf(job, sizeof(job), "job-%d", id);
    snprintf(name, sizeof(name), "%s_search_%u", models[r % 5], r % 7919);
    snprintf(description, sizeof(description), "what was tried in week %u of %s", r % 53, models[r % 5]);
    snprintf(labels, sizeof(labels), "[\"all\",\"team-%u\",\"run-%u\"]", r % 20, r % 5000);
    const struct store_experiment x = {
        .id = id, .job_id = job, .state = states[r % 8], .user_id = 1 + (int32_t)(r % USERS), .project_id = 1, .name = name,
        .description = description, .notes = "", .labels = labels, .archived = r % 10 == 0, .has_parent = r % 4 == 0,
        .parent_id = (int32_t)(r % 1000), .has_progress = true, .progress = r % 1000 / 1000.0,
        .start_us = 1700000000000000 + (int64_t)id * 1000000, .end_us = 1700000000000000 + (int64_t)(id + r % 9999) * 1000000,
        .searcher_type = "single", .searcher_metric = "validation_loss", .smaller_is_better = true, .resource_pool = "default",
        .config = config, .original_config = "name: mnist\n",
    };
    MUST(store_experiment_insert(st, &x, "x", 1, &bench_err));
    struct trial_row t = {.id = id, .experiment_id = id, .request_id = "r", .state = RUN_COMPLETED, .start_us = x.start_us, .hparams = hparams};
    snprintf(t.task_id, sizeof(t.task_id), "%d.r", id);
    MUST(store_trial_put(st, &t, true, &bench_err));
}

static void make_all(struct store *st)
{
    static char config[900];
    snprintf(config, sizeof(config), "{\"name\":\"%0800d\"}", 0);
    MUST(store_begin(st, &bench_err));
    for (int32_t id = 1; id <= USERS; id++) {
        char name[32];
        snprintf(name, sizeof(name), "user%d", id * 7919 % 1000);
        MUST(store_user_insert(st, &(struct store_user){.id = id, .username = name, .active = true, .modified_us = 1}, &bench_err));
    }
    for (int32_t id = 1; id <= EXPERIMENTS; id++) {
        make_experiment(st, id, config);
        if (id % 5000 == 0) {
            MUST(store_commit(st, &bench_err));
            MUST(store_begin(st, &bench_err));
        }
    }
    MUST(store_commit(st, &bench_err));
}

/* ---- the lists ---- */

static void measure_sorts(struct store *st)
{
    static const struct { int number; const char *name; } sorts[] = {
        {1, "id"}, {2, "description"}, {4, "start time"}, {5, "end time"}, {6, "state"}, {8, "number of trials"},
        {9, "progress"}, {10, "user"}, {11, "name"}, {12, "forked from"}, {13, "resource pool"}, {14, "project"},
        {15, "checkpoint size"}, {16, "checkpoint count"}, {17, "searcher metric"},
    };
    char what[64];
    for (size_t i = 0; i < sizeof(sorts) / sizeof(*sorts); i++) {
        for (int descending = 0; descending < 2; descending++) {
            snprintf(what, sizeof(what), "by %s%s", sorts[i].name, descending ? ", descending" : "");
            measure(st, what, (struct store_experiment_filter){.sort_by = sorts[i].number, .descending = descending,
                                                               .has_archived = true});
        }
    }
}

#define TEXTS(...) {(const char *const[]){__VA_ARGS__}, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *)}
#define FILTER(...) (struct store_experiment_filter){.sort_by = 4, .descending = true, __VA_ARGS__}

static void measure_filters(struct store *st)
{
    static const int32_t ids[] = {5, 500, 50000}, users[] = {3, 4};
    measure(st, "everything", FILTER());
    measure(st, "archived", FILTER(.has_archived = true, .archived = true));
    measure(st, "name contains, many", FILTER(.name = "bert"));
    measure(st, "name contains, few", FILTER(.name = "T_search_77"));
    measure(st, "description contains, many", FILTER(.description = "Week 1"));
    measure(st, "description contains, none", FILTER(.description = "no such text"));
    measure(st, "label of all", FILTER(.labels = TEXTS("all")));
    measure(st, "label of few", FILTER(.labels = TEXTS("run-77")));
    measure(st, "two labels", FILTER(.labels = TEXTS("all", "team-7")));
    measure(st, "state of most", FILTER(.states = TEXTS("COMPLETED")));
    measure(st, "three states", FILTER(.states = TEXTS("PAUSED", "ERROR", "CANCELED")));
    measure(st, "user by name", FILTER(.usernames = TEXTS("user919")));
    measure(st, "users by id", FILTER(.user_ids = {users, 2}));
    measure(st, "project", FILTER(.project_id = 1));
    measure(st, "ids", FILTER(.id = {.incl = {ids, 3}}));
    measure(st, "ids between", FILTER(.id = {.has_gt = true, .gt = 20000, .has_lte = true, .lte = 90000}));
    measure(st, "state, label and name", FILTER(.states = TEXTS("ERROR"), .labels = TEXTS("team-7"), .name = "bert"));
}

/* ---- searches ---- */

static void measure_searches(struct store *st)
{
    static const char *const columns[] = {
        "id", "description", "name", "searcherType", "startTime", "endTime", "duration", "state", "numTrials", "progress", "user",
        "forkedFrom", "resourcePool", "projectId", "checkpointSize", "checkpointCount", "searcherMetricsVal", "hp.lr"};
    static const struct { const char *what, *condition; } filters[] = {
        {"search: everything", ""},
        {"search: name contains", "{\"columnName\":\"name\",\"operator\":\"contains\",\"value\":\"bert\"}"},
        {"search: name does not contain", "{\"columnName\":\"name\",\"operator\":\"notContains\",\"value\":\"bert\"}"},
        {"search: state of most", "{\"columnName\":\"state\",\"operator\":\"=\",\"value\":\"COMPLETED\"}"},
        {"search: label", "{\"columnName\":\"tags\",\"operator\":\"contains\",\"value\":\"run-77\"}"},
        {"search: user", "{\"columnName\":\"user\",\"operator\":\"=\",\"value\":\"user919\"}"},
        {"search: duration", "{\"columnName\":\"duration\",\"operator\":\">\",\"value\":5000}"},
        {"search: hyperparameter, half", "{\"columnName\":\"hp.lr\",\"operator\":\"<\",\"value\":0.5}"},
        {"search: hyperparameter, few", "{\"columnName\":\"hp.lr\",\"operator\":\"=\",\"value\":0.017}"},
    };
    char what[96], sort[64], text[512];
    for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++) {
        for (int descending = 0; descending < 2; descending++) {
            snprintf(sort, sizeof(sort), "%s=%s", columns[i], descending ? "desc" : "asc");
            snprintf(what, sizeof(what), "search: %s", sort);
            measure_question(st, what, &(struct question){.is_search = true, .sort = sort});
        }
    }
    for (size_t i = 0; i < sizeof(filters) / sizeof(*filters); i++) {
        const char *condition = filters[i].condition;
        snprintf(text, sizeof(text), "{\"filterGroup\":{\"kind\":\"group\",\"conjunction\":\"and\",\"children\":[%s%s]}}",
                 *condition ? "{\"kind\":\"field\"," : "", *condition ? condition + 1 : "");
        measure_question(st, filters[i].what, &(struct question){.is_search = true, .filter = text, .sort = "startTime=desc"});
    }
}

int main(int argc, char **argv)
{
    const char *place = argc > 1 ? argv[1] : "/tmp";
    struct store *st, *reader;
    bool server = strncmp(place, "postgresql://", 13) == 0;
    if (!server) {
        bench_make_dir(place);
        place = bench_path;
    }
    MUST(store_open(place, STORE_DURABLE_NORMAL, &st, &bench_err));
    make_all(st);
    MUST(store_open_reader(place, &reader, &bench_err));
    measure_sorts(reader);
    measure_filters(reader);
    printf("slowest, %s   %.2f ms\n", slowest_what, slowest);
    slowest = 0;
    measure_searches(reader);
    printf("slowest of searches, %s   %.2f ms\n", slowest_what, slowest);
    store_close(reader);
    store_close(st);
    if (!server)
        bench_remove_dir();
    return 0;
}
