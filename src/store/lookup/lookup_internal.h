/* Declarations that the files of lookups share: the parsed tree, and the table of columns. */
#ifndef DET_STORE_LOOKUP_LOOKUP_INTERNAL_H
#define DET_STORE_LOOKUP_LOOKUP_INTERNAL_H

#include "store/lookup/lookup.h"
#include "store/lookup/lookup_tables.h"

enum lookup_type {
    LOOKUP_NUMBER,
    LOOKUP_TEXT,
    LOOKUP_TIME,
    LOOKUP_STATE, /* the name of a state */
    LOOKUP_USER,  /* the name of a user, or a user's number */
    LOOKUP_LABELS,
    LOOKUP_TRUTH,
    LOOKUP_HPARAM, /* a hyperparameter, which is a number or a text; found by its path in the run's JSON */
    LOOKUP_METADATA,
    LOOKUP_METRIC, /* a part of a summary: a number, or the last value if that is a text */
};

/* How a column gets its values, if they are not simply stored under `table` and `column`. */
enum lookup_how {
    LOOKUP_BY_COLUMN,
    LOOKUP_BY_ID,
    LOOKUP_BY_DURATION, /* in seconds; an experiment or run that goes on lasts until now */
    LOOKUP_BY_LOCAL_ID, /* the text KEY-id; it is sorted by id */
    LOOKUP_BY_MULTITRIAL,
    LOOKUP_BY_PARENT_ARCHIVED,
};

struct lookup_column {
    const char *name;
    enum lookup_type type;
    bool only_sort;
    enum lookup_table table; /* an experiment has the values of its best run, a run has those of its experiment */
    int column;
    enum lookup_how how;
};

/* Returns NULL if there is no column of this name. For hyperparameters, metadata and metrics it returns their
 * column, whatever the rest of the name is. */
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
    LOOKUP_NOT_AMONG, /* used by the older list (experiment_list.c); the filter language does not have it */
};

/* The value that is compared or sorted by. */
struct lookup_operand {
    const struct lookup_column *column;
    const char *path; /* for hyperparameters, metadata and metrics: the name of the path (lookup_paths.h) */
    bool may_be_text; /* for these: the value may be a text as well as a number */
};

struct lookup_node {
    bool is_group;
    bool any; /* the children are joined by "or", not by "and" */
    struct lookup_node *child;
    size_t child_n;
    struct lookup_operand operand;
    enum lookup_operator op;
    bool has_number;
    double number;
    const char *text;         /* the text to compare with; NULL for a number */
    struct store_texts texts; /* for LOOKUP_AMONG: the value must be one of these texts, or one of `ids` */
    struct store_ints ids;
};

enum { LOOKUP_SORTS_MAX = 4 };
struct lookup_sort {
    struct lookup_operand operand;
    bool descending;
};

struct lookup {
    enum lookup_kind kind;
    struct lookup_node root; /* a group without children matches everything */
    bool has_filter, show_archived;
    struct store_ints workspaces; /* no ids at all: all of them */
    struct lookup_sort sort[LOOKUP_SORTS_MAX + 1];
    size_t sort_n; /* the order by id, which comes last, is counted */
    int64_t now_us;
};

/* Finds the column and the path that a name stands for. */
int lookup_operand_parse(enum lookup_kind kind, const char *name, const char *location, struct arena *a,
                         struct lookup_operand *ret, struct error *err);

/* ---- evaluation, on the tables in memory ------------------------------------------------------------------------- */

/* The state of one lookup while it runs. */
struct looking {
    struct lookup_tables *t;
    struct store *st; /* for paths whose columns were dropped */
    const struct lookup *s;
    struct arena *kept, *a; /* `kept` lasts until the lookup ends, `a` until its next condition */
    enum lookup_table target;
    size_t n; /* the number of places of the target table */
    const uint32_t *map[LOOKUP_TABLE_NR][2];
};

/* The values of an operand, one for each place of its table. */
struct lookup_values {
    enum lookup_table table;
    const double *number; /* NAN: there is no number */
    const uint32_t *text; /* 0: there is no text */
    struct texts *texts;
    bool worded; /* some values are texts that are no numbers */
};
/* With `spelled` numbers are given as texts, too. */
int lookup_values(struct looking *x, const struct lookup_operand *o, bool spelled, struct lookup_values *ret,
                  struct error *err);
/* Returns, for each place of the target table, the place of `from` that belongs to it; NULL means that it is the
 * same place. To an experiment belongs its best run. With `shown` it is the experiment's first run if there is no
 * best one. */
const uint32_t *lookup_map(struct looking *x, enum lookup_table from, bool shown);
const uint32_t *lookup_experiments_of_runs(struct looking *x);

/* Sets one byte for each place of the target table: 1 if the row matches the whole filter. */
int lookup_match(struct looking *x, int32_t project_id, uint8_t *ret, struct error *err);
/* Returns the ids of the rows [start, end) of the matching ones, in their order. */
int lookup_order(struct looking *x, const uint8_t *match, size_t match_n, size_t start, size_t end, int32_t *ret_ids,
                 struct error *err);

#endif
