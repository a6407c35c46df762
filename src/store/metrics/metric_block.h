/* Within the store: sealed reports of one trial and group, as columns.
 *
 * A block holds reports in order of (step, id). What every report has (id, step, time, run) is packed as integers. Each
 * metric is a column of its own, stored in a row of its own, so that a chart reads one column. The order of the keys of
 * a report is its shape; a block has few shapes, mostly one. Batch metrics are kept apart, as texts.
 *
 * A builder makes a block of reports and other blocks. A block never changes: if something in it has to change, a
 * new block is made. The bytes of a block are not trusted: every length is checked, and a damaged block is ERR_IO. */
#ifndef DET_STORE_METRICS_METRIC_BLOCK_H
#define DET_STORE_METRICS_METRIC_BLOCK_H

#include "store/metrics/metric_rows.h"
#include "store/metrics/metric_value.h"
#include "store/metrics/pack.h"

/* Bounds of one block: reports, reports times columns (16 bytes each while the block is in memory), and bytes of
 * JSON, which the last report may exceed. If a stored block claims to have more, it is damaged, and no memory is
 * taken for it. */
enum { METRIC_BLOCK_REPORTS = 8192, METRIC_BLOCK_CELLS = 1 << 20, METRIC_BLOCK_TEXTS = 32 << 20 };

struct metric_report {
    int64_t id, report_us;
    int32_t run_id, steps;
    bool stepless;
    uint32_t shape;
    const char *batch_metrics; /* NULL: there are none, or they are not loaded */
};

struct metric_column {
    const char *name;
    struct metric_value *value; /* one value for each report; NULL: not loaded */
};

struct metric_shape {
    const uint32_t *column;
    size_t n;
};

struct metric_block {
    struct metric_report *report;
    size_t n;
    struct metric_column *column; /* in the order of their names */
    size_t column_n;
    struct metric_shape *shape;
    size_t shape_n;
};

/* Prints the report's metrics as a JSON object, with the keys in the order in which they were reported. All columns
 * must be loaded. */
void metric_block_print(const struct metric_block *b, size_t i, struct strbuf *out);
/* Returns the index of the column of that name; -1 if there is none. */
long metric_block_column(const struct metric_block *b, const char *name);

/* ---- building ---------------------------------------------------------------------------------------------------- */

/* A builder takes reports in order of (step, id), until it is full. The block lives in the arena. */
struct metric_builder;
struct metric_builder *metric_builder_new(struct arena *a);
void metric_builder_free(struct metric_builder *b);
/* Both return false if the builder is full; the report was not taken then. */
bool metric_builder_add(struct metric_builder *b, const struct report_row *r);
bool metric_builder_copy(struct metric_builder *b, const struct metric_block *from, size_t i);
size_t metric_builder_count(const struct metric_builder *b);
void metric_builder_finish(struct metric_builder *b, struct metric_block *ret);

/* ---- packing and unpacking --------------------------------------------------------------------------------------- */

void metric_block_pack_reports(struct packer *p, const struct metric_block *b, struct strbuf *out);
/* "" if there are none */
void metric_block_pack_batches(struct packer *p, const struct metric_block *b, struct strbuf *out);
void metric_column_pack(struct packer *p, const struct metric_column *c, size_t n, struct strbuf *out);

/* Unpacks everything except the columns' values and the batch metrics. */
int metric_block_unpack_reports(struct packer *p, const void *data, size_t size, struct arena *a,
                                struct metric_block *ret, struct error *err);
int metric_block_unpack_batches(struct packer *p, const void *data, size_t size, struct arena *a,
                                struct metric_block *b, struct error *err);
int metric_column_unpack(struct packer *p, const void *data, size_t size, size_t n, struct arena *a,
                         struct metric_column *ret, struct error *err);

#endif
