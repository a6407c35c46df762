/* How long does a page of 200 of 100,000 experiments take, for each sort and each filter that the list has? Prints what
 * each costs in ms: CPU, median and p99, and the slowest ten. Usage: store_lists [DIRECTORY | postgresql://…] */
#include "store/lookup/lookup.h"
#include "store_many.h"

enum { ROUNDS = 100, PAGE = 200 };

static void measure_question(struct store *st, const char *what, const struct store_experiment_filter *f)
{
    struct bench_times t = {.n = 0};
    struct lookup_found found = {0};
    for (int i = 0; i < ROUNDS; i++) {
        cleanup_arena struct arena a = ARENA_INIT;
        struct store_experiment *x;
        size_t n;
        bench_start(&t);
        MUST(store_experiment_find(st, f, &a, &found, &bench_err));
        MUST(store_experiments_shown(st, found.ids, &a, &x, &n, &bench_err));
        bench_stop(&t);
    }
    bench_took(what, found.window.total, &t);
}

static void measure_list(struct store *st, const char *what, struct store_experiment_filter f)
{
    f.page.limit = PAGE;
    measure_question(st, what, &f);
}

/* ---- the lists --------------------------------------------------------------------------------------------------- */

static void measure_sorts(struct store *st)
{
    static const struct {
        int number;
        const char *name;
    } sorts[] = {
        {1, "id"},
        {2, "description"},
        {4, "start time"},
        {5, "end time"},
        {6, "state"},
        {8, "number of trials"},
        {9, "progress"},
        {10, "user"},
        {11, "name"},
        {12, "forked from"},
        {13, "resource pool"},
        {14, "project"},
        {15, "checkpoint size"},
        {16, "checkpoint count"},
        {17, "searcher metric"},
    };
    char what[64];
    for (size_t i = 0; i < sizeof(sorts) / sizeof(*sorts); i++) {
        for (int descending = 0; descending < 2; descending++) {
            snprintf(what, sizeof(what), "by %s%s", sorts[i].name, descending ? ", descending" : "");
            measure_list(st, what,
                         (struct store_experiment_filter){.sort_by = sorts[i].number,
                                                          .descending = descending,
                                                          .has_archived = true});
        }
    }
}

#define TEXTS(...) {(const char *const[]){__VA_ARGS__}, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *)}
#define FILTER(...) \
    (struct store_experiment_filter) \
    { \
        .sort_by = 4, .descending = true, __VA_ARGS__ \
    }

static void measure_filters(struct store *st)
{
    static const int32_t ids[] = {5, 500, 50000}, users[] = {3, 4};
    measure_list(st, "everything", FILTER());
    measure_list(st, "archived", FILTER(.has_archived = true, .archived = true));
    measure_list(st, "name contains, many", FILTER(.name = "bert"));
    measure_list(st, "name contains, few", FILTER(.name = "T_search_77"));
    measure_list(st, "description contains, many", FILTER(.description = "Week 1"));
    measure_list(st, "description contains, none", FILTER(.description = "no such text"));
    measure_list(st, "label of all", FILTER(.labels = TEXTS("all")));
    measure_list(st, "label of few", FILTER(.labels = TEXTS("run-77")));
    measure_list(st, "two labels", FILTER(.labels = TEXTS("all", "team-7")));
    measure_list(st, "state of most", FILTER(.states = TEXTS("COMPLETED")));
    measure_list(st, "three states", FILTER(.states = TEXTS("PAUSED", "ERROR", "CANCELED")));
    measure_list(st, "user by name", FILTER(.usernames = TEXTS("user919")));
    measure_list(st, "users by id", FILTER(.user_ids = {users, 2}));
    measure_list(st, "project", FILTER(.project_id = 1));
    measure_list(st, "ids", FILTER(.id = {.incl = {ids, 3}}));
    measure_list(st, "ids between", FILTER(.id = {.has_gt = true, .gt = 20000, .has_lte = true, .lte = 90000}));
    measure_list(st, "state, label and name",
                 FILTER(.states = TEXTS("ERROR"), .labels = TEXTS("team-7"), .name = "bert"));
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
    bench_many(st, 100000, 1);
    MUST(store_open_reader(place, &reader, &bench_err));
    measure_sorts(reader);
    measure_filters(reader);
    bench_slowest();
    store_close(reader);
    store_close(st);
    if (!server)
        bench_remove_dir();
    return 0;
}
