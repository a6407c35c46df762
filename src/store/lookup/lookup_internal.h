/* Between the files of lookups: the parsed tree, and the table of columns. */
#ifndef DET_STORE_LOOKUP_LOOKUP_INTERNAL_H
#define DET_STORE_LOOKUP_LOOKUP_INTERNAL_H

#include "store/lookup/lookup.h"
#include "store/lookup/lookup_tables.h"

enum lookup_type {
    LOOKUP_NUMBER,
    LOOKUP_TEXT,
    LOOKUP_TIME,
    LOOKUP_STATE, /* a name of a state */
    LOOKUP_USER,  /* a name of a user, or a number */
    LOOKUP_LABELS,
    LOOKUP_TRUTH,
    LOOKUP_HPARAM, /* JSON of a run, by path: a number or a text, as the value is */
    LOOKUP_METADATA,
    LOOKUP_METRIC, /* a summary: number, or text of the last */
};

/* Where a column's values are from, beside what is stored under `table` and `column`. */
enum lookup_how {
    LOOKUP_BY_COLUMN,
    LOOKUP_BY_ID,
    LOOKUP_BY_DURATION, /* in seconds, until now for what goes on */
    LOOKUP_BY_LOCAL_ID, /* KEY-id; sorted by id */
    LOOKUP_BY_MULTITRIAL,
    LOOKUP_BY_PARENT_ARCHIVED,
};

struct lookup_column {
    const char *name;
    enum lookup_type type;
    bool only_sort;
    enum lookup_table table; /* an experiment has those of its best run, a run those of its experiment */
    int column;
    enum lookup_how how;
};

/* NULL: there is none of this name. For hyperparameters, metadata and metrics a column of theirs, whatever the rest of
 * the name. */
const struct lookup_column *lookup_column_find(enum lookup_kind kind, const char *name, const char *location);

enum lookup_operator {
    LOOKUP_EQUAL,
    LOOKUP_NOT_EQUAL,
    LOOKUP_LESS,
    LOOKUP_LESS_EQUAL,
    LOOKUP_GREATER,
    LOOKUP_GREATER_EQUAL,
    LOOKUP_CONTAINS,
    LOOKUP_NOT_CONTAINS,
    LOOKUP_IS_EMPTY,
    LOOKUP_NOT_EMPTY,
    LOOKUP_OPERATOR_NR,
    LOOKUP_AMONG,
    LOOKUP_NOT_AMONG, /* of the older list (experiment_list.c), not of the language */
};

/* What stands on one side of a comparison, or is sorted by. */
struct lookup_operand {
    const struct lookup_column *column;
    const char *path; /* of hyperparameters, metadata, metrics: lookup_paths.h */
    bool may_be_text; /* of these: not only a number */
};

struct lookup_node {
    bool is_group;
    bool any; /* or */
    struct lookup_node *child;
    size_t child_n;
    struct lookup_operand operand;
    enum lookup_operator op;
    bool has_number;
    double number;
    const char *text;         /* of the value; NULL for a number */
    struct store_texts texts; /* to be among: these texts, or these ids */
    struct store_ints ids;
};

enum { LOOKUP_SORTS_MAX = 4 };
struct lookup_sort {
    struct lookup_operand operand;
    bool descending;
};

struct lookup {
    enum lookup_kind kind;
    struct lookup_node root; /* a group without children: everything */
    bool has_filter, show_archived;
    struct lookup_sort sort[LOOKUP_SORTS_MAX + 1];
    size_t sort_n; /* with id at the end */
    int64_t now_us;
};

/* Column and path of a name. */
int lookup_operand_parse(enum lookup_kind kind, const char *name, const char *location, struct arena *a,
                         struct lookup_operand *ret, struct error *err);

/* ---- over the tables in memory ----------------------------------------------------------------------------------- */

/* One lookup while it goes on. */
struct looking {
    struct lookup_tables *t;
    struct store *st; /* for paths whose columns were dropped */
    const struct lookup *s;
    struct arena *kept, *a; /* until the lookup ends, until its next condition */
    enum lookup_table target;
    size_t n; /* places of the target */
    const uint32_t *map[LOOKUP_TABLE_NR][2];
};

/* The values of an operand, for each place of its table. */
struct lookup_values {
    enum lookup_table table;
    const double *number; /* NAN: none */
    const uint32_t *text; /* 0: none */
    struct texts *texts;
    bool worded; /* there are texts that are no numbers */
};
/* `spelled`: numbers as texts, too. */
int lookup_values(struct looking *x, const struct lookup_operand *o, bool spelled, struct lookup_values *ret,
                  struct error *err);
/* Which place of `from` belongs to each place of the target; NULL: the same. Of an experiment its best run, or with
 * `shown` its first one if there is no best. */
const uint32_t *lookup_map(struct looking *x, enum lookup_table from, bool shown);
const uint32_t *lookup_experiments_of_runs(struct looking *x);

/* One byte for each place of the target: 1 where all of it is true. */
int lookup_match(struct looking *x, int32_t project_id, uint8_t *ret, struct error *err);
/* The ids of rows [start, end) of those that match, in their order. */
int lookup_order(struct looking *x, const uint8_t *match, size_t match_n, size_t start, size_t end, int32_t *ret_ids,
                 struct error *err);

#endif
