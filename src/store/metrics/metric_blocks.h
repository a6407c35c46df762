/* Within the store: the rows of metric_blocks and metric_columns. */
#ifndef DET_STORE_METRICS_METRIC_BLOCKS_H
#define DET_STORE_METRICS_METRIC_BLOCKS_H

#include "store/metrics/metric_block.h"
#include "store/row_io.h"

/* Returns blocks that end at `from` or later, in order. If group is NULL, the blocks of all groups are returned, in
 * the order of their beginnings. */
int metric_blocks_from(struct store *st, int32_t trial_id, bool archived, const char *group, struct metric_key from,
                       int limit, struct arena *a, struct metric_block_row **ret, size_t *ret_n, struct error *err);
/* Returns blocks that begin before `key`, the latest first. */
int metric_blocks_before(struct store *st, int32_t trial_id, bool archived, const char *group, struct metric_key key,
                         int limit, struct arena *a, struct metric_block_row **ret, size_t *ret_n, struct error *err);

/* Reads the parts of a block that every report has. Of the columns only the names are read. */
int metric_block_open(struct store *st, struct packer *p, int64_t id, struct arena *a, struct metric_block *ret,
                      struct error *err);
/* Reads the values of one column of an open block. It is no error if there is no such column. */
int metric_block_load_column(struct store *st, struct packer *p, int64_t id, const char *name, struct arena *a,
                             struct metric_block *b, struct error *err);
/* Reads the whole block. */
int metric_block_load(struct store *st, struct packer *p, int64_t id, struct arena *a, struct metric_block *ret,
                      struct error *err);

/* A block that is to be stored. Any thread can pack it; the writer stores it. */
struct metric_packed_column {
    const char *name, *summary;
    struct strbuf chart, content;
};
struct metric_packed {
    struct metric_block_row row;
    struct strbuf reports, batches;
    struct metric_packed_column *column;
    size_t column_n;
};
void metric_packed_make(struct packer *p, const struct metric_block *b, struct arena *a, struct metric_packed *ret);
void metric_packed_release(struct metric_packed *k);
int metric_packed_store(struct store *st, int32_t trial_id, bool archived, const char *group,
                        const struct metric_packed *k, struct error *err);

#endif
