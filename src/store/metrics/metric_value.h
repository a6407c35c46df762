/* Within the store: one metric of one report, and the JSON object that contains it.
 *
 * A value keeps what is needed to write it again exactly as it was reported. Integers stay integers. A floating
 * point number that is written as Python writes it (as the shortest text that gives the number when read) is kept as
 * a number. NaN and the infinities are their names in quotes. Everything else (1E5, 1.50, texts, true, null, lists,
 * objects) is kept as its JSON text. */
#ifndef DET_STORE_METRICS_METRIC_VALUE_H
#define DET_STORE_METRICS_METRIC_VALUE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/arena.h"
#include "common/base/strbuf.h"

enum metric_kind {
    METRIC_ABSENT, /* the report has no such metric */
    METRIC_DOUBLE,
    METRIC_INT,
    METRIC_NAN,
    METRIC_INFINITY,
    METRIC_MINUS_INFINITY,
    METRIC_JSON,
    METRIC_KIND_NR,
};

struct metric_value {
    enum metric_kind kind;
    union {
        double number;
        int64_t integer;
        const char *json; /* ends with a NUL; borrowed */
    };
};

/* Makes a value of the text of one JSON value, which must be valid. For METRIC_JSON the text is copied into the
 * arena. */
struct metric_value metric_value_of(const char *json, size_t n, struct arena *a);
void metric_value_print(const struct metric_value *v, struct strbuf *out);
/* Returns the number if the value is a number, NaN or an infinity; false for all others. */
bool metric_value_number(const struct metric_value *v, double *ret);
bool metric_value_equal(const struct metric_value *a, const struct metric_value *b);

/* Goes through the members of a JSON object, or the items of a list. The text must be valid; blanks are allowed.
 *     struct metric_members m = metric_members_of(text);
 *     while (metric_members_next(&m, a)) … m.name, m.value, m.value_n … */
struct metric_members {
    const char *p, *end;
    bool first;
    const char *name;  /* without escapes, in the arena; NULL in a list */
    const char *value; /* borrowed from the text */
    size_t value_n;
    bool list;
};
struct metric_members metric_members_of(const char *json);
bool metric_members_next(struct metric_members *m, struct arena *a);
/* Returns the text that a JSON string of n bytes, quotes included, stands for. */
const char *metric_text_of(const char *quoted, size_t n, struct arena *a);

#endif
