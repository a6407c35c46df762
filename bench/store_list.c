/* How many lists of 50 experiments of 1,000 does one reader thread give a second? (Aim: 2,000 with everything around
 * it.) */
#include "store/lookup/lookup.h"
#include "store_bench.h"

enum { EXPERIMENTS = 1000, ROUNDS = 3000 };

static void measure_list(struct store *st, const char *what, const struct store_experiment_filter *f)
{
    struct lookup_found found;
    struct store_experiment *x;
    size_t n;
    int64_t start = clock_monotonic_us();
    for (int i = 0; i < ROUNDS; i++) {
        cleanup_arena struct arena a = ARENA_INIT;
        MUST(store_experiment_find(st, f, &a, &found, &bench_err));
        MUST(store_experiments_shown(st, found.ids, &a, &x, &n, &bench_err));
    }
    bench_report(what, ROUNDS, start);
}

int main(int argc, char **argv)
{
    const struct page page = {0, 50};
    static char config[3000];
    struct store *st, *reader;
    bench_make_dir(argc > 1 ? argv[1] : "/tmp");
    MUST(store_open(bench_path, STORE_DURABLE_NORMAL, &st, &bench_err));
    bench_user(st);
    snprintf(config, sizeof(config), "{\"name\":\"%02900d\"}", 0);
    MUST(store_begin(st, &bench_err));
    for (int32_t id = 1; id <= EXPERIMENTS; id++)
        bench_experiment(st, id, config, 2000);
    MUST(store_commit(st, &bench_err));
    MUST(store_open_reader(bench_path, &reader, &bench_err));
    measure_list(reader, "50 of 1,000 by id, with configurations (3 KB each)",
                 &(struct store_experiment_filter){.page = page});
    measure_list(
        reader, "not archived, newest first (det e list)",
        &(struct store_experiment_filter){.page = page, .has_archived = true, .sort_by = 1, .descending = true});
    measure_list(reader, "by name, descending",
                 &(struct store_experiment_filter){.page = page, .sort_by = 11, .descending = true});
    measure_list(reader, "whose name contains a text",
                 &(struct store_experiment_filter){.page = page, .name = "pytorch"});
    measure_list(reader, "with a label",
                 &(struct store_experiment_filter){.page = page, .labels = {(const char *const[]){"bench"}, 1}});
    store_close(reader);
    store_close(st);
    bench_remove_dir();
    return 0;
}
