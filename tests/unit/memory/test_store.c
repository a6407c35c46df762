/* Allocations that fail while the store packs, writes, seals and reads. What a run had acknowledged is there
 * afterwards, once; what it had under way may be there, once; the store opens and goes on. */
#include "store/fixture.h"

#include <stdatomic.h>
#include <sys/mman.h>

#include "failing.h"
#include "store/logs/log_block.h"
#include "store/logs/log_seal.h"
#include "store/logs/task_logs.h"
#include "store/metrics/metric_block.h"
#include "store/metrics/metric_blocks.h"
#include "store/metrics/metric_seal.h"
#include "store/metrics/metrics.h"

static void require(bool holds)
{
    if (!holds)
        _Exit(3);
}

/* ---- packing ----------------------------------------------------------------------------------------------------- */

static void pack_and_unpack_lines(void *ctx)
{
    cleanup_strbuf struct strbuf packed = STRBUF_INIT;
    struct store_log_line line[200], *back;
    const char *text;
    size_t text_n, n;
    (void)ctx;
    for (int i = 0; i < 200; i++)
        line[i] = (struct store_log_line){.time_us = T0 + i,
                                          .allocation_id = "t.1",
                                          .container_id = i % 2 ? "c1" : "c2",
                                          .level = i % 5,
                                          .source = "task",
                                          .text = "loss 0.25 at 100\n",
                                          .text_n = 17};
    struct log_block *b = log_block_new();
    log_block_encode(line, 200, LOG_BLOCK_DENSE, &packed);
    require(log_block_open(b, packed.s, packed.n, &text, &text_n, NULL) == 0);
    require(log_block_lines(b, 1, &back, &n, NULL) == 0 && n == 200 && back[199].level == 4);
    log_block_free(b);
}

static void pack_and_unpack_metrics(void *ctx)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct metric_builder *build = metric_builder_new(&a);
    struct packer *p;
    struct metric_block b, back;
    struct metric_packed packed;
    (void)ctx;
    for (int i = 0; i < 300; i++) {
        const struct report_row r = {.id = i + 1,
                                     .run_id = 1,
                                     .steps = 100 * i,
                                     .report_us = T0 + i,
                                     .avg_metrics = arena_printf(&a,
                                                                 "{\"loss\":%f,\"lr\":0.1,\"step\":%d,\"note\":[%d]%s}",
                                                                 1.0 / (i + 1), i, i, i % 2 ? ",\"odd\":1" : "")};
        require(metric_builder_add(build, &r));
    }
    metric_builder_finish(build, &b);
    require(packer_new(&p, NULL) == 0);
    metric_packed_make(p, &b, &a, &packed);
    require(metric_block_unpack_reports(p, packed.reports.s, packed.reports.n, &a, &back, NULL) == 0);
    for (size_t i = 0; i < packed.column_n; i++)
        require(metric_column_unpack(p, packed.column[i].content.s, packed.column[i].content.n, back.n, &a,
                                     &back.column[i], NULL) == 0);
    require(back.n == 300 && back.column[0].value[299].kind != METRIC_ABSENT);
    metric_packed_release(&packed);
    metric_builder_free(build);
    packer_free(p);
}

/* ---- writing: each commit is acknowledged to the test by a count in shared memory -------------------------------- */

enum { LINES = 3 };
struct acknowledged {
    atomic_long log_commits, report_commits;
};
struct books {
    struct fixture *f;
    struct acknowledged *now;
    int64_t steps; /* reported before the run */
};

static void write_lines(struct store *st)
{
    const struct store_log_line line = {
        .time_us = T0, .allocation_id = "t.1", .level = 3, .text = "a line\n", .text_n = 7};
    const struct store_log_line lines[LINES] = {line, line, line};
    int64_t first;
    require(store_task_log_append(st, "t", lines, LINES, &first, NULL) == 0);
}

static void write_report(struct store *st, int32_t steps)
{
    const struct store_report r = {.trial_id = 1,
                                   .run_id = 1,
                                   .group = "training",
                                   .has_steps = true,
                                   .steps = steps,
                                   .report_us = T0 + steps,
                                   .avg_metrics = "{\"loss\":0.5,\"lr\":1e-3}"};
    struct store_report_result result;
    require(store_report_add(st, &r, &result, NULL) == 0);
}

static void commit_some(struct store *st, struct books *b)
{
    for (int i = 0; i < 3; i++) {
        require(store_begin(st, NULL) == 0 && store_savepoint(st, NULL) == 0);
        write_lines(st);
        require(store_release(st, NULL) == 0 && store_commit(st, NULL) == 0);
        b->now->log_commits++;
        require(store_begin(st, NULL) == 0);
        write_report(st, (int32_t)b->steps + i + 1);
        require(store_commit(st, NULL) == 0);
        b->now->report_commits++;
    }
}

static void seal_blocks(struct store *st)
{
    struct metric_seal *m;
    struct log_seal *l;
    bool done;
    require(store_seal_prepare(st, 1, 1, &m, NULL) == 0 && m);
    require(store_log_seal_make(st, "t", LOG_SEAL_DENSE, true, &l, NULL) == 0 && l);
    require(store_begin(st, NULL) == 0 && store_seal_commit(st, m, &done, NULL) == 0 && done);
    require(store_log_seal_put(st, l, NULL) == 0 && store_commit(st, NULL) == 0);
    store_seal_free(m);
    log_seal_free(l);
}

static int64_t count_lines(struct store *st)
{
    const struct store_log_filter f = {.task_id = "t"};
    struct store_log_reader *r;
    int64_t cursor = 0, count = 0;
    require(store_log_reader_new(&f, false, &r, NULL) == 0);
    for (bool end = false; !end;) {
        cleanup_arena struct arena a = ARENA_INIT;
        struct store_log_line *line;
        size_t n;
        require(store_log_read(st, r, &cursor, 4096, &a, &line, &n, &end, NULL) == 0);
        count += (int64_t)n;
    }
    store_log_reader_free(r);
    return count;
}

static int64_t count_reports(struct store *st)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct store_metric_cursor cursor = {0};
    struct store_metric_row *row;
    int64_t all = 0;
    size_t n;
    do {
        require(store_metrics_next(st, 1, "training", &cursor, 1000, &a, &row, &n, NULL) == 0);
        all += (int64_t)n;
    } while (n);
    return all;
}

static void write_seal_and_read(void *ctx)
{
    struct books *b = ctx;
    struct store *st;
    cleanup_error struct error err = ERROR_INIT;
    if (store_open(b->f->path, STORE_DURABLE_NORMAL, &st, &err) < 0) {
        fputs(error_msg(&err), stderr);
        _Exit(3);
    }
    commit_some(st, b);
    seal_blocks(st);
    require(count_lines(st) == 3 * LINES && count_reports(st) == 3);
    store_close(st);
}

/* No connection is open while a run is: SQLite's must not cross a fork. */
static void check_what_was_acknowledged(void *ctx, bool failed)
{
    static const char *const table[] = {"DELETE FROM task_log_blocks", "DELETE FROM metric_reports",
                                        "DELETE FROM metric_columns", "DELETE FROM metric_blocks"};
    struct books *b = ctx;
    fixture_open(b->f);
    int64_t lines = count_lines(b->f->st), reports = count_reports(b->f->st);
    assert_in_range(lines, b->now->log_commits * LINES, (b->now->log_commits + failed) * LINES);
    assert_int_equal(lines % LINES, 0);
    assert_in_range(reports, b->now->report_commits, b->now->report_commits + failed);
    b->steps += reports;
    *b->now = (struct acknowledged){0};
    store_close(b->f->st);
    b->f->st = NULL;
    for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
        fixture_exec(b->f, table[i]); /* so that each run has as much to read as the first */
}

static void test_log_block__ends_in_one_sentence_when_memory_does(void **state)
{
    (void)state;
    failing_sweep("200 log lines, packed and unpacked", pack_and_unpack_lines, NULL, NULL);
}

static void test_metric_block__ends_in_one_sentence_when_memory_does(void **state)
{
    (void)state;
    failing_sweep("300 metric reports, packed and unpacked", pack_and_unpack_metrics, NULL, NULL);
}

static void test_store__loses_and_doubles_nothing_when_memory_ends(void **state)
{
    struct fixture *f = *state;
    struct books b = {.f = f,
                      .now = mmap(NULL, sizeof(*b.now), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)};
    fixture_user(f, 1, "u");
    fixture_experiment(f, 1);
    fixture_trial(f, 1, 1);
    store_close(f->st);
    f->st = NULL;
    failing_sweep("logs and metrics written, sealed, read", write_seal_and_read, check_what_was_acknowledged, &b);
    munmap(b.now, sizeof(*b.now));
    fixture_open(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_log_block__ends_in_one_sentence_when_memory_does),
        cmocka_unit_test(test_metric_block__ends_in_one_sentence_when_memory_does),
        cmocka_unit_test_setup_teardown(test_store__loses_and_doubles_nothing_when_memory_ends, fixture_setup,
                                        fixture_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
