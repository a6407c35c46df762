/* Within the store: the tables that lookups look at, held in memory column by column. A connection has them from its
 * first lookup on (docs/decisions/0009).
 *
 * With them a hundred thousand rows are filtered and sorted in a few milliseconds, by any filter and any order. A
 * database would need an index for each pair of a filter and an order. The tables follow the database by means of the
 * table search_changes: each read transaction first takes over what has changed since the last one, so that a lookup
 * sees what its transaction sees.
 *
 * Hyperparameters, metadata and summaries of metrics become one column for each path: "hp.lr", "metadata.owner",
 * "validation.loss.min". Together these columns may take LOOKUP_BYTES_MAX. When they take more, those that were used
 * longest ago are dropped. If a lookup asks for one of these, it is made again from the documents of all runs. */
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

/* The columns of the tables, X_NAME and others, are declared in queries/lookups.sql. */
enum { LOOKUP_COLUMNS_MAX = X_NR };
#define LOOKUP_NO_ROW UINT32_MAX

/* The rows of a table. Each row has a place; the place of a deleted row is used for a later one. */
struct lookup_rows {
    size_t n;    /* the number of places */
    int32_t *id; /* the id of the row at a place; 0: the place is free */
    size_t cap, free_n, free_cap;
    uint32_t *free;
    uint32_t *of_id; /* the place of the row with an id, or LOOKUP_NO_ROW */
    size_t of_id_n;
    struct column column[LOOKUP_COLUMNS_MAX];
};

/* The labels of a row are one text. Before, between and after them it has a byte that occurs in no label. "" means
 * no labels. */
#define LOOKUP_LABEL_MARK '\xff'

struct lookup_path_column {
    char *name; /* the name of the path, after one letter for the kind of document */
    struct column column;
    uint64_t used;
    UT_hash_handle hh;
};

struct lookup_tables {
    struct lookup_rows table[LOOKUP_TABLE_NR];
    struct lookup_path_column *paths;
    bool loaded;
    bool dropped;               /* columns were dropped, so a path without a column may have values nevertheless */
    int64_t seen, changes_kept; /* the last entry of search_changes that was seen, and how many entries are stored */
    uint64_t uses;
    size_t bytes_max; /* the limit for the columns of paths */
    size_t bytes;     /* the memory of all tables */
};

uint32_t lookup_place(const struct lookup_rows *rows, int32_t id);

/* Brings the tables up to date with what the current read transaction sees. */
int lookup_tables_refresh(struct lookup_tables *t, struct store *st, struct error *err);
/* Returns the column of a path such as "hp.lr"; NULL if no run has a value there. */
int lookup_tables_path(struct lookup_tables *t, struct store *st, const char *name, struct column **ret,
                       struct error *err);
/* begins a lookup: the columns that it asks for stay until the next lookup */
void lookup_tables_use(struct lookup_tables *t);
void lookup_tables_release(struct lookup_tables *t);

/* Returns the tables that the connection holds. */
struct lookup_tables *store_lookup_tables(struct store *st);

#endif
