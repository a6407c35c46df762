/* A store as years leave it: usage store_fill PLACE POINTS LOG_MB (see bench/ask_waiting.py). One experiment that is
 * over, with a trial for each million of metric points (three metrics a report) and its log in batches of 1,000 lines.
 */
#include "store/logs/task_logs.h"
#include "store/metrics/metrics.h"
#include "store_bench.h"

enum { POINTS_PER_REPORT = 3, POINTS_PER_TRIAL = 1000000, PER_COMMIT = 5000, BATCH = 1000, LINE_BYTES = 100 };

static char task[64];

static struct trial_row trial_row(int32_t id, enum run_state state)
{
    struct trial_row t = {.id = id, .experiment_id = 1, .state = state, .start_us = 1, .run_id = 1, .hparams = "{}"};
    snprintf(t.request_id, sizeof(t.request_id), "request-%d", id);
    snprintf(t.task_id, sizeof(t.task_id), "1.%s", t.request_id);
    return t;
}

static void fill_trial(struct store *st, int32_t id)
{
    const struct trial_row t = trial_row(id, RUN_ACTIVE);
    struct task_row k = {.trial_id = id, .start_us = 1, .end_us = 2};
    snprintf(k.id, sizeof(k.id), "%s", t.task_id);
    snprintf(k.job_id, sizeof(k.job_id), "job-1");
    snprintf(task, sizeof(task), "%s", t.task_id);
    MUST(store_trial_put(st, &t, true, &bench_err));
    MUST(store_task_put(st, &k, true, &bench_err));
}

static void end_trials(struct store *st, int32_t last)
{
    for (int32_t id = 1; id <= last; id++) {
        struct trial_row t = trial_row(id, RUN_COMPLETED);
        t.end_us = 2;
        MUST(store_trial_put(st, &t, false, &bench_err));
    }
}

static void fill_report(struct store *st, int32_t trial_id, int step)
{
    char avg[128];
    struct store_report_result result;
    snprintf(avg, sizeof(avg), "{\"loss\":%d.5,\"accuracy\":0.%d,\"lr\":0.001}", step, step);
    const struct store_report r = {.trial_id = trial_id,
                                   .run_id = 1,
                                   .group = "training",
                                   .has_steps = true,
                                   .steps = step,
                                   .report_us = 1,
                                   .avg_metrics = avg};
    MUST(store_report_add(st, &r, &result, &bench_err));
}

static void fill_metrics(struct store *st, long points)
{
    int32_t id = 0;
    MUST(store_begin(st, &bench_err));
    for (long i = 0; i < points / POINTS_PER_REPORT; i++) {
        int step = (int)(i % (POINTS_PER_TRIAL / POINTS_PER_REPORT));
        if (step == 0)
            fill_trial(st, ++id);
        fill_report(st, id, step);
        if (i % PER_COMMIT == PER_COMMIT - 1) {
            MUST(store_commit(st, &bench_err));
            MUST(store_begin(st, &bench_err));
        }
    }
    if (id == 0)
        fill_trial(st, ++id);
    end_trials(st, id);
    MUST(store_commit(st, &bench_err));
}

static void fill_logs(struct store *st, long megabytes)
{
    static struct store_log_line line[BATCH];
    static char text[BATCH][LINE_BYTES + 1];
    int64_t first;
    for (long i = 0; i < megabytes * 1000000 / LINE_BYTES / BATCH; i++) {
        for (int k = 0; k < BATCH; k++) {
            int n = snprintf(text[k], sizeof(text[k]),
                             "[rank=0] step %ld loss 0.%ld accuracy 0.9%d on the way to the next epoch", i * BATCH + k,
                             (i * BATCH + k) * 7919 % 10007, k % 97);
            memset(text[k] + n, '.', LINE_BYTES - (size_t)n);
            text[k][LINE_BYTES - 1] = '\n';
            line[k] = (struct store_log_line){.time_us = 1700000000000000 + (i * BATCH + k) * 137,
                                              .allocation_id = "1.x.1",
                                              .agent_id = "agent",
                                              .container_id = "c",
                                              .level = 3,
                                              .source = "task",
                                              .stdtype = "stdout",
                                              .text = text[k],
                                              .text_n = LINE_BYTES};
        }
        MUST(store_begin(st, &bench_err));
        MUST(store_task_log_append(st, task, line, BATCH, &first, &bench_err));
        MUST(store_commit(st, &bench_err));
    }
}

int main(int argc, char **argv)
{
    struct store *st;
    if (argc != 4) {
        fprintf(stderr, "usage: store_fill PLACE POINTS LOG_MB\n");
        return 2;
    }
    MUST(store_open(argv[1], STORE_DURABLE_NORMAL, &st, &bench_err));
    bench_user(st);
    bench_experiment(st, 1, "{\"name\":\"filled\"}", 300);
    fill_metrics(st, strtol(argv[2], NULL, 10));
    fill_logs(st, strtol(argv[3], NULL, 10));
    store_close(st);
    return 0;
}
