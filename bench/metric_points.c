/* What do ten million metric points take on disk once they are sealed, and how long does a chart over them take?
 * Usage: metric_points [DIRECTORY] (default /tmp).
 *
 * The data is made up, as training would report it, one report every 100 steps and about every 80 ms (jitter: 4 ms):
 *   a report of four  loss (float32, falling, 5 % of noise), accuracy of a batch of 64, learning rate (cosine schedule
 *                     in double), gradient's norm (float32, 20 % of noise)
 *   loss alone        the same loss, one metric a report: steps and times have nobody to share them with
 *   doubles alone     noise in all 52 bits: what no lossless form makes smaller
 * Blocks are packed and stored as sealing does it. Bytes are those of the file, indexes and charts included. */
#include <math.h>
#include <sys/stat.h>

#include "common/base/rng.h"
#include "store/metrics/metric_blocks.h"
#include "store/metrics/metrics.h"
#include "store_bench.h"

enum { COLUMNS_MAX = 4 };

struct made {
    struct metric_block block;
    struct metric_report report[METRIC_BLOCK_REPORTS];
    struct metric_column column[COLUMNS_MAX];
    struct metric_value value[COLUMNS_MAX][METRIC_BLOCK_REPORTS];
};

typedef double point_fn(struct rng *rng, int64_t i, int64_t n);

static double loss_at(struct rng *rng, int64_t i, int64_t n)
{
    double falling = 0.1 + 2.2 * exp(-4.0 * (double)i / (double)n);
    return (float)(falling * (1 + 0.05 * (rng_unit(rng) + rng_unit(rng) + rng_unit(rng) - 1.5)));
}

static double accuracy_at(struct rng *rng, int64_t i, int64_t n)
{
    int hits = 0;
    for (int k = 0; k < 64; k++)
        hits += rng_unit(rng) < 0.5 + 0.45 * (double)i / (double)n;
    return hits / 64.0;
}

static double rate_at(struct rng *rng, int64_t i, int64_t n)
{
    (void)rng;
    return 0.0005 * (1 + cos(3.141592653589793 * (double)i / (double)n));
}

static double norm_at(struct rng *rng, int64_t i, int64_t n)
{
    (void)i;
    (void)n;
    return (float)(1.5 * (1 + 0.2 * (rng_unit(rng) + rng_unit(rng) + rng_unit(rng) - 1.5)));
}

static double noise_at(struct rng *rng, int64_t i, int64_t n)
{
    (void)i;
    (void)n;
    return rng_unit(rng);
}

static const struct {
    const char *name;
    point_fn *point;
} four[] = {{"accuracy", accuracy_at}, {"grad_norm", norm_at}, {"learning_rate", rate_at}, {"loss", loss_at}};

static int64_t file_bytes(struct store *st)
{
    struct stat file;
    struct engine *e = store_engine(st);
    MUST(e->ops->exec(e, "PRAGMA wal_checkpoint(TRUNCATE)", &bench_err));
    if (stat(bench_path, &file) < 0)
        exit(1);
    return file.st_size;
}

static void make_block(struct made *m, struct rng *rng, int32_t trial, int64_t first, int64_t n, size_t columns,
                       point_fn *const *point)
{
    static const uint32_t shape_columns[] = {0, 1, 2, 3};
    static struct metric_shape shape;
    shape = (struct metric_shape){shape_columns, columns};
    m->block = (struct metric_block){
        .report = m->report, .column = m->column, .column_n = columns, .shape = &shape, .shape_n = 1};
    for (int64_t i = first; i < n && m->block.n < METRIC_BLOCK_REPORTS; i++) {
        size_t k = m->block.n++;
        m->report[k] = (struct metric_report){.id = (int64_t)trial * 20000000 + i + 1,
                                              .run_id = 1,
                                              .steps = (int32_t)(i * 100),
                                              .report_us = 1700000000000000 + i * 80000 + (int64_t)rng_int(rng, 4000)};
        for (size_t c = 0; c < columns; c++)
            m->value[c][k] = (struct metric_value){.kind = METRIC_DOUBLE, .number = point[c](rng, i, n)};
    }
}

static void put_series(struct store *st, int32_t trial, int64_t reports, size_t columns, const char *const *name,
                       point_fn *const *point)
{
    struct made *m = calloc(1, sizeof(*m));
    struct packer *p;
    struct rng rng;
    rng_init(&rng, (uint32_t)trial);
    MUST(packer_new(&p, &bench_err));
    for (size_t c = 0; c < columns; c++)
        m->column[c] = (struct metric_column){name[c], m->value[c]};
    for (int64_t first = 0; first < reports; first += METRIC_BLOCK_REPORTS) {
        struct metric_packed packed;
        cleanup_arena struct arena a = ARENA_INIT;
        make_block(m, &rng, trial, first, reports, columns, point);
        metric_packed_make(p, &m->block, &a, &packed);
        MUST(store_begin(st, &bench_err));
        MUST(metric_packed_store(st, trial, false, "training", &packed, &bench_err));
        MUST(store_commit(st, &bench_err));
        metric_packed_release(&packed);
    }
    packer_free(p);
    free(m);
}

static void bytes_of(struct store *st, const char *what, int32_t trial, int64_t reports, size_t columns,
                     const char *const *name, point_fn *const *point)
{
    int64_t before = file_bytes(st), start = clock_monotonic_us();
    put_series(st, trial, reports, columns, name, point);
    double points = (double)reports * (double)columns, took = (double)(clock_monotonic_us() - start);
    printf("bytes a point, %-43s %10.3f B\n", what, (double)(file_bytes(st) - before) / points);
    printf("points packed and stored, %-32s %10.0f /s\n", what, points / took * 1e6);
}

static void measure_chart(struct store *st, const char *what, int32_t trial, int32_t from, int32_t to)
{
    const char *const name[] = {"loss"};
    const struct store_series_query q = {.trial_id = trial,
                                         .group = "training",
                                         .names = {name, 1},
                                         .start_batches = from,
                                         .end_batches = to,
                                         .has_end = to != 0,
                                         .max_points = 1000};
    double best = 1e9, total = 0;
    for (int round = 0; round < 5; round++) {
        cleanup_arena struct arena a = ARENA_INIT;
        struct store_point *point;
        size_t n;
        int64_t start = clock_monotonic_us();
        MUST(store_metric_series(st, &q, &a, &point, &n, &bench_err));
        double took = (double)(clock_monotonic_us() - start) / 1000;
        best = took < best ? took : best;
        total += took;
    }
    printf("%-58s %10.2f ms\n", what, total / 5);
}

static void rebuild_trial(struct store *st, int32_t trial)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct trial_row t = {.id = trial, .experiment_id = trial, .state = RUN_ACTIVE, .start_us = 1, .run_id = 2};
    struct store_report_result result;
    const char **summary;
    MUST(store_trial_put(st, &t, false, &bench_err));
    const struct store_report r = {.trial_id = trial,
                                   .run_id = 2,
                                   .group = "training",
                                   .has_steps = true,
                                   .steps = 500000000,
                                   .report_us = 1,
                                   .avg_metrics = "{\"loss\":1.5}"};
    int64_t start = clock_monotonic_us();
    MUST(store_begin(st, &bench_err));
    MUST(store_report_add(st, &r, &result, &bench_err));
    MUST(store_commit(st, &bench_err));
    printf("%-58s %10.2f ms\n", "a restart from half of ten million sealed reports",
           (double)(clock_monotonic_us() - start) / 1000);
    start = clock_monotonic_us();
    MUST(store_summary_metrics(st, (struct store_ints){&trial, 1}, &a, &summary, &bench_err));
    printf("%-58s %10.3f ms\n", "summary of a trial", (double)(clock_monotonic_us() - start) / 1000);
}

int main(int argc, char **argv)
{
    static const char *const four_names[] = {"accuracy", "grad_norm", "learning_rate", "loss"}, *const one[] = {"loss"};
    point_fn *const four_points[] = {four[0].point, four[1].point, four[2].point, four[3].point};
    point_fn *const losses[] = {loss_at}, *const noises[] = {noise_at};
    struct store *st;
    bench_make_dir(argc > 1 ? argv[1] : "/tmp");
    MUST(store_open(bench_path, STORE_DURABLE_FULL, &st, &bench_err));
    bench_user(st);
    for (int32_t id = 1; id <= 3; id++) {
        bench_experiment(st, id, "{}", 1);
        struct trial_row t = {
            .id = id, .experiment_id = id, .state = RUN_ACTIVE, .start_us = 1, .hparams = "{}", .run_id = 1};
        snprintf(t.request_id, sizeof(t.request_id), "request-%d", id);
        MUST(store_trial_put(st, &t, true, &bench_err));
    }
    bytes_of(st, "four metrics a report", 1, 2500000, 4, four_names, four_points);
    bytes_of(st, "loss alone", 2, 10000000, 1, one, losses);
    bytes_of(st, "doubles alone", 3, 1000000, 1, one, noises);
    measure_chart(st, "chart of 1,000 points over 10,000,000", 2, 0, 0);
    measure_chart(st, "… over 1,000,000 of them", 2, 300000000, 399999900);
    measure_chart(st, "… over 100,000 of them", 2, 300000000, 309999900);
    rebuild_trial(st, 2);
    store_close(st);
    bench_remove_dir();
    return 0;
}
