/* Between the files of searches: the parsed tree, and the table of columns. */
#ifndef DET_STORE_SEARCH_INTERNAL_H
#define DET_STORE_SEARCH_INTERNAL_H

#include "store/query.h"
#include "store/search.h"

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

struct search_column {
    const char *name;
    enum search_type type;
    bool nullable;
    bool takes_now;                   /* the expression's $1 is the time */
    bool only_sort;
    enum sql_fragment expression;
    bool has_sort;                    /* an expression of its own, which an index knows */
    enum sql_fragment sort;
};

/* NULL: there is none of this name. For hyperparameters, metadata and metrics a column of theirs, whatever the rest of
 * the name. */
const struct search_column *search_column_find(enum search_kind kind, const char *name, const char *location);
const char *search_column_names(enum search_kind kind, struct arena *a); /* "id, description, …" */

enum search_operator {
    SEARCH_EQUAL, SEARCH_NOT_EQUAL, SEARCH_LESS, SEARCH_LESS_EQUAL, SEARCH_GREATER, SEARCH_GREATER_EQUAL,
    SEARCH_CONTAINS, SEARCH_NOT_CONTAINS, SEARCH_IS_EMPTY, SEARCH_NOT_EMPTY, SEARCH_OPERATOR_NR,
};

/* Where a value within JSON is: the path for each engine, as its functions want it. */
struct search_path { const char *text[SQL_DIALECT_NR]; };

/* What stands on one side of a comparison, or is sorted by. */
struct search_operand {
    const struct search_column *column;
    struct search_path path;    /* of hyperparameters, metadata; of a metric's value */
    struct search_path divisor; /* of a metric's mean; text NULL: it is no mean */
    const char *group;          /* of a metric */
    bool may_be_text;           /* of values in JSON: not only a number */
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

/* AND …, ORDER BY … */
void search_add_filter(struct compose *c, const struct search *s, enum sql_dialect dialect, struct arena *a);
void search_add_sort(struct compose *c, const struct search *s, enum sql_dialect dialect);

#endif
