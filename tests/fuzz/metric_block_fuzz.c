/* Any bytes as a sealed block of metric reports: three blobs, the first two behind their lengths (two bytes, low one
 * first): the reports, their batch metrics, and one column, which all columns of the block are read from. What is read
 * fits the bounds of a block, prints, and packed again reads back the same. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "store/metrics/metric_block.h"
#include "store/metrics/metric_chart.h"

enum { COLUMNS_MAX = 16 }; /* columns that are read and packed again; more of them cost time and show nothing new */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void require(int holds)
{
    if (!holds)
        abort();
}

struct blob {
    const uint8_t *data;
    size_t n;
};

static struct blob take_blob(const uint8_t **data, size_t *n)
{
    size_t size = *n < 2 ? 0 : (*data)[0] | (size_t)(*data)[1] << 8;
    size_t head = *n < 2 ? *n : 2;
    if (size > *n - head)
        size = *n - head;
    struct blob b = {*data + head, size};
    *data += head + size;
    *n -= head + size;
    return b;
}

static int read_block(struct packer *p, struct blob reports, struct blob batches, struct arena *a,
                      struct metric_block *ret)
{
    if (metric_block_unpack_reports(p, reports.data, reports.n, a, ret, NULL) < 0 ||
        metric_block_unpack_batches(p, batches.data, batches.n, a, ret, NULL) < 0)
        return -1;
    require(ret->n <= METRIC_BLOCK_REPORTS && (ret->n < 2 || ret->n * ret->column_n <= METRIC_BLOCK_CELLS));
    return 0;
}

static void print_all(const struct metric_block *b, struct strbuf *out)
{
    for (size_t i = 0; i < b->n; i++) {
        const struct metric_report *r = &b->report[i];
        strbuf_addf(out, "%lld %lld %d %d %d %s ", (long long)r->id, (long long)r->report_us, r->run_id, r->steps,
                    r->stepless, r->batch_metrics ? r->batch_metrics : "-");
        metric_block_print(b, i, out);
        strbuf_addc(out, '\n');
    }
}

static void pack_and_compare(struct packer *p, const struct metric_block *b, struct arena *a)
{
    cleanup_strbuf struct strbuf reports = STRBUF_INIT, batches = STRBUF_INIT, before = STRBUF_INIT,
                                 after = STRBUF_INIT;
    struct metric_block again;
    metric_block_pack_reports(p, b, &reports);
    metric_block_pack_batches(p, b, &batches);
    require(read_block(p, (struct blob){(const uint8_t *)reports.s, reports.n},
                       (struct blob){(const uint8_t *)strbuf_str(&batches), batches.n}, a, &again) == 0);
    require(again.n == b->n && again.column_n == b->column_n);
    for (size_t c = 0; c < b->column_n; c++) {
        cleanup_strbuf struct strbuf column = STRBUF_INIT;
        metric_column_pack(p, &b->column[c], b->n, &column);
        require(metric_column_unpack(p, column.s, column.n, b->n, a, &again.column[c], NULL) == 0);
    }
    print_all(b, &before);
    print_all(&again, &after);
    require(before.n == after.n && (before.n == 0 || memcmp(before.s, after.s, before.n) == 0));
}

static void try_block(struct packer *p, struct blob reports, struct blob batches, struct blob column, struct arena *a)
{
    struct metric_block b;
    struct chart_point *point;
    size_t point_n;
    metric_chart_unpack(column.data, column.n, a, &point, &point_n, NULL);
    if (read_block(p, reports, batches, a, &b) < 0 || b.column_n > COLUMNS_MAX)
        return;
    for (size_t c = 0; c < b.column_n; c++)
        if (metric_column_unpack(p, column.data, column.n, b.n, a, &b.column[c], NULL) < 0)
            return;
    pack_and_compare(p, &b, a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct packer *p;
    struct blob reports = take_blob(&data, &n), batches = take_blob(&data, &n);
    require(packer_new(&p, NULL) == 0);
    try_block(p, reports, batches, (struct blob){data, n}, &a);
    packer_free(p);
    return 0;
}
