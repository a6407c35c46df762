/* What does the store take in a second, on one connection, fsync at each commit? Single commits show the disk; groups
 * show the store. Usage: store_append [DIRECTORY | postgresql://…] (default /tmp; a directory on the disk that matters,
 * or an empty database). */
#include "store/logs/task_logs.h"
#include "store/metrics/metrics.h"
#include "store_bench.h"

static void open_and_close(void)
{
    enum { ROUNDS = 20 };
    int64_t total = 0;
    for (int i = 0; i < ROUNDS; i++) {
        struct store *st;
        bench_remove_dir();
        bench_make_dir("/tmp");
        int64_t start = clock_monotonic_us(), epoch;
        MUST(store_open(bench_path, STORE_DURABLE_FULL, &st, &bench_err));
        MUST(store_next_epoch(st, &epoch, &bench_err));
        total += clock_monotonic_us() - start;
        store_close(st);
    }
    printf("%-58s %10.1f ms\n", "open an empty directory, migrate, take an epoch", (double)total / ROUNDS / 1000);
}

static void lone_commits(struct store *st)
{
    enum { N = 300 };
    int64_t start = clock_monotonic_us();
    for (int i = 0; i < N; i++) {
        MUST(store_begin(st, &bench_err));
        MUST(store_user_touch_auth(st, 1, 1 + i, &bench_err));
        MUST(store_commit(st, &bench_err));
    }
    bench_report("one small row a commit", N, start);
}

static void append_experiments(struct store *st)
{
    enum { N = 5000, GROUP = 32 };
    static char config[3000];
    snprintf(config, sizeof(config), "{\"name\":\"%02900d\"}", 0);
    int64_t start = clock_monotonic_us();
    for (int32_t id = 1; id <= N; id++) {
        if (id % GROUP == 1)
            MUST(store_begin(st, &bench_err));
        MUST(store_savepoint(st, &bench_err));
        bench_experiment(st, id, config, 300);
        struct trial_row t = {
            .id = id, .experiment_id = id, .state = RUN_PAUSED, .start_us = 1, .run_id = 1, .hparams = "{}"};
        snprintf(t.request_id, sizeof(t.request_id), "request-%d", id);
        snprintf(t.task_id, sizeof(t.task_id), "%d.%s", id, t.request_id);
        MUST(store_trial_put(st, &t, true, &bench_err));
        MUST(store_snapshot_set(st, id, "{\"searcher\":{\"trials\":[]}}", &bench_err));
        MUST(store_release(st, &bench_err));
        if (id % GROUP == 0 || id == N)
            MUST(store_commit(st, &bench_err));
    }
    bench_report("experiments with a trial, 32 a commit", N, start);
}

static void append_reports(struct store *st, const char *what, int per_commit)
{
    enum { N = 20000 };
    static int32_t trial;
    trial++;
    int64_t start = clock_monotonic_us();
    for (int i = 0; i < N; i++) {
        char avg[128];
        struct store_report_result result;
        snprintf(avg, sizeof(avg), "{\"loss\":%d.5,\"accuracy\":0.%d,\"lr\":0.001}", i, i);
        const struct store_report r = {.trial_id = trial,
                                       .run_id = 1,
                                       .group = "training",
                                       .has_steps = true,
                                       .steps = i,
                                       .report_us = 1,
                                       .avg_metrics = avg};
        if (i % per_commit == 0)
            MUST(store_begin(st, &bench_err));
        MUST(store_report_add(st, &r, &result, &bench_err));
        if (i % per_commit == per_commit - 1 || i == N - 1)
            MUST(store_commit(st, &bench_err));
    }
    bench_report(what, N, start);
}

static void append_logs(struct store *st, const char *what, size_t batch, int batches_a_commit, int batches)
{
    static struct store_log_line line[1000];
    static char text[1000][120];
    for (size_t i = 0; i < batch; i++) {
        snprintf(text[i], sizeof(text[i]),
                 "[rank=0] step %zu loss 0.%zu accuracy 0.9%zu on the way to the next epoch\n", i, i * 7919 % 10007,
                 i * 31 % 97);
        line[i] = (struct store_log_line){.time_us = 1700000000000000 + (int64_t)i * 137,
                                          .allocation_id = "1.x.1",
                                          .agent_id = "agent",
                                          .container_id = "c",
                                          .level = 3,
                                          .source = "task",
                                          .stdtype = "stdout",
                                          .text = text[i],
                                          .text_n = strlen(text[i])};
    }
    int64_t start = clock_monotonic_us(), id;
    for (int i = 0; i < batches; i++) {
        if (i % batches_a_commit == 0)
            MUST(store_begin(st, &bench_err));
        MUST(store_task_log_append(st, what, line, batch, &id, &bench_err));
        if (i % batches_a_commit == batches_a_commit - 1 || i == batches - 1)
            MUST(store_commit(st, &bench_err));
    }
    bench_report(what, (double)batches * (double)batch, start);
}

static void read_logs(struct store *st, const char *task, const char *what, const char *search, bool regex)
{
    struct store_log_reader *r;
    int64_t cursor = 0, start = clock_monotonic_us(), count;
    bool end = false;
    const struct store_log_filter f = {.task_id = task, .search = search, .regex = regex};
    MUST(store_log_reader_new(&f, false, &r, &bench_err));
    while (!end) {
        cleanup_arena struct arena a = ARENA_INIT;
        struct store_log_line *line;
        size_t n;
        MUST(store_log_read(st, r, &cursor, 4096, &a, &line, &n, &end, &bench_err));
    }
    MUST(store_task_log_last_id(st, task, &count, &bench_err));
    bench_report(what, (double)count, start);
    store_log_reader_free(r);
}

int main(int argc, char **argv)
{
    struct store *st;
    bool server = argc > 1 && strncmp(argv[1], "postgresql://", 13) == 0;
    bench_make_dir("/tmp");
    open_and_close();
    bench_remove_dir();
    bench_make_dir(argc > 1 && !server ? argv[1] : "/tmp");
    if (server)
        snprintf(bench_path, sizeof(bench_path), "%s", argv[1]);
    MUST(store_open(bench_path, STORE_DURABLE_FULL, &st, &bench_err));
    bench_user(st);
    lone_commits(st);
    append_experiments(st);
    append_reports(st, "metrics reports, 100 a commit", 100);
    append_reports(st, "metrics reports, 1,000 a commit", 1000);
    append_logs(st, "log lines, batches of 10, 32 a commit", 10, 32, 3200);
    append_logs(st, "log lines, batches of 1,000, 5 a commit", 1000, 5, 500);
    read_logs(st, "log lines, batches of 1,000, 5 a commit", "log lines read", NULL, false);
    read_logs(st, "log lines, batches of 1,000, 5 a commit", "log lines searched for a text", "no such text", false);
    read_logs(st, "log lines, batches of 1,000, 5 a commit", "log lines searched by regex", "no such .* text", true);
    store_close(st);
    bench_remove_dir();
    return 0;
}
