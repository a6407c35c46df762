/* Within the store: the tables that lookups look at, held in memory column by column. A connection has them from its
 * first lookup on (docs/decisions/0009).
 *
 * So a hundred thousand rows are filtered and ordered in a few milliseconds, by any filter and any order, where a
 * database would need an index for each pair of the two. The tables follow the database by the table search_changes:
 * each read transaction first takes over what has changed since the last one, so that a lookup sees what its
 * transaction sees.
 *
 * Hyperparameters, metadata and summaries of metrics become a column for each path: "hp.lr", "metadata.owner",
 * "validation.loss.min". Together these columns may take LOOKUP_BYTES_MAX. Beyond that, those that were used longest
 * ago are dropped; when one of them is asked for again, it is made again from the documents of all runs. */
#ifndef DET_STORE_LOOKUP_LOOKUP_TABLES_H
#define DET_STORE_LOOKUP_LOOKUP_TABLES_H

#include "common/base/hash.h"
#include "common/base/strbuf.h"
#include "store/lookup/column.h"
#include "store/row_io.h"

#define LOOKUP_BYTES_MAX ((size_t)512 << 20)

enum lookup_table {
    LOOKUP_TABLE_EXPERIMENTS,
    LOOKUP_TABLE_RUNS,
    LOOKUP_TABLE_USERS,
    LOOKUP_TABLE_PROJECTS,
    LOOKUP_TABLE_NR
};

/* Their columns, X_NAME and others, are declared in queries/lookups.sql. */
enum { LOOKUP_COLUMNS_MAX = X_NR };
#define LOOKUP_NO_ROW UINT32_MAX

/* Rows have numbers of their own: a row that is deleted leaves its place to a later one. */
struct lookup_rows {
    size_t n;    /* places */
    int32_t *id; /* of the row; 0: the place is free */
    size_t cap, free_n, free_cap;
    uint32_t *free;
    uint32_t *of_id; /* place, by id, or LOOKUP_NO_ROW */
    size_t of_id_n;
    struct column column[LOOKUP_COLUMNS_MAX];
};

/* Labels are one text, with a byte that no text has before, between and behind them; "" are none. */
#define LOOKUP_LABEL_MARK '\xff'

struct lookup_path_column {
    char *name; /* after one letter for the kind of document */
    struct column column;
    uint64_t used;
    UT_hash_handle hh;
};

struct lookup_tables {
    struct lookup_rows table[LOOKUP_TABLE_NR];
    struct lookup_path_column *paths;
    bool loaded;
    bool dropped;               /* a path that is not here may have values nevertheless */
    int64_t seen, changes_kept; /* of search_changes */
    uint64_t uses;
    size_t bytes_max; /* of the paths' columns */
    size_t bytes;     /* of everything */
};

uint32_t lookup_place(const struct lookup_rows *rows, int32_t id);

/* Within a read transaction: has the tables show what it sees. */
int lookup_tables_refresh(struct lookup_tables *t, struct store *st, struct error *err);
/* The column of a path, as in "hp.lr"; NULL: no run has a value there. */
int lookup_tables_path(struct lookup_tables *t, struct store *st, const char *name, struct column **ret,
                       struct error *err);
void lookup_tables_use(struct lookup_tables *t); /* a lookup begins: what it asks for stays until the next one */
void lookup_tables_release(struct lookup_tables *t);

/* The connection's own. */
struct lookup_tables *store_lookup_tables(struct store *st);

#endif
