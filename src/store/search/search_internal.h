/* Between the files of searches: the parsed tree, and the table of columns. */
#ifndef DET_STORE_SEARCH_INTERNAL_H
#define DET_STORE_SEARCH_INTERNAL_H

#include "store/search/search.h"
#include "store/search/search_tables.h"

enum search_type {
    SEARCH_NUMBER,
    SEARCH_TEXT,
    SEARCH_TIME,
    SEARCH_STATE,    /* a name of a state */
    SEARCH_USER,     /* a name of a user, or a number */
    SEARCH_LABELS,
    SEARCH_TRUTH,
    SEARCH_HPARAM,   /* JSON of a run, by path: a number or a text, as the value is */
    SEARCH_METADATA,
    SEARCH_METRIC,   /* a summary: number, or text of the last */
};

/* Where a column's values are from, beside what is stored under `table` and `column`. */
enum search_how {
    SEARCH_BY_COLUMN, SEARCH_BY_ID,
    SEARCH_BY_DURATION, /* in seconds, until now for what goes on */
    SEARCH_BY_LOCAL_ID, /* KEY-id; sorted by id */
    SEARCH_BY_MULTITRIAL, SEARCH_BY_PARENT_ARCHIVED,
};

struct search_column {
    const char *name;
    enum search_type type;
    bool only_sort;
    enum search_table table; /* an experiment has those of its best run, a run those of its experiment */
    int column;
    enum search_how how;
};

/* NULL: there is none of this name. For hyperparameters, metadata and metrics a column of theirs, whatever the rest of
 * the name. */
const struct search_column *search_column_find(enum search_kind kind, const char *name, const char *location);

enum search_operator {
    SEARCH_EQUAL, SEARCH_NOT_EQUAL, SEARCH_LESS, SEARCH_LESS_EQUAL, SEARCH_GREATER, SEARCH_GREATER_EQUAL,
    SEARCH_CONTAINS, SEARCH_NOT_CONTAINS, SEARCH_IS_EMPTY, SEARCH_NOT_EMPTY, SEARCH_OPERATOR_NR,
    SEARCH_AMONG, SEARCH_NOT_AMONG, /* of the older list (experiment_list.c), not of the language */
};

/* What stands on one side of a comparison, or is sorted by. */
struct search_operand {
    const struct search_column *column;
    const char *path; /* of hyperparameters, metadata, metrics: search_paths.h */
    bool may_be_text; /* of these: not only a number */
};

struct search_node {
    bool is_group;
    bool any; /* or */
    struct search_node *child;
    size_t child_n;
    struct search_operand operand;
    enum search_operator op;
    bool has_number; double number;
    const char *text; /* of the value; NULL for a number */
    struct store_texts texts; /* to be among: these texts, or these ids */
    struct store_ints ids;
};

enum { SEARCH_SORTS_MAX = 4 };
struct search_sort { struct search_operand operand; bool descending; };

struct search {
    enum search_kind kind;
    struct search_node root; /* a group without children: everything */
    bool has_filter, show_archived;
    struct search_sort sort[SEARCH_SORTS_MAX + 1];
    size_t sort_n; /* with id at the end */
    int64_t now_us;
};

/* Column and path of a name. */
int search_operand_parse(enum search_kind kind, const char *name, const char *location, struct arena *a,
                         struct search_operand *ret, struct error *err);

/* ---- over the tables in memory ---- */

/* One search while it goes on. */
struct searching {
    struct search_tables *t;
    struct store *st; /* for paths whose columns were dropped */
    const struct search *s;
    struct arena *kept, *a; /* until the search ends, until its next condition */
    enum search_table target;
    size_t n;         /* places of the target */
    const uint32_t *map[SEARCH_TABLE_NR][2];
};

/* The values of an operand, for each place of its table. */
struct search_values {
    enum search_table table;
    const double *number;    /* NAN: none */
    const uint32_t *text;    /* 0: none */
    struct texts *texts;
    bool worded;             /* there are texts that are no numbers */
};
/* `spelled`: numbers as texts, too. */
int search_values(struct searching *x, const struct search_operand *o, bool spelled, struct search_values *ret, struct error *err);
/* Which place of `from` belongs to each place of the target; NULL: the same. Of an experiment its best run, or with
 * `shown` its first one if there is no best. */
const uint32_t *search_map(struct searching *x, enum search_table from, bool shown);
const uint32_t *search_experiments_of_runs(struct searching *x);

/* One byte for each place of the target: 1 where all of it is true. */
int search_match(struct searching *x, int32_t project_id, uint8_t *ret, struct error *err);
/* The ids of rows [start, end) of those that match, in their order. */
int search_order(struct searching *x, const uint8_t *match, size_t match_n, size_t start, size_t end, int32_t *ret_ids,
                 struct error *err);

#endif
