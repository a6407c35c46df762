/* Within the store: finds properties of a regular expression (PCRE2's syntax), such as a text that every match must
 * contain. It understands only a part of the syntax; for an expression with other parts it reports no property. */
#ifndef DET_STORE_LOGS_LOG_PATTERN_H
#define DET_STORE_LOGS_LOG_PATTERN_H

#include <stdbool.h>

#include "store/logs/task_logs.h"

struct log_pattern {
    /* Every match contains one of these texts, perhaps with other cases of ASCII letters. n is 0 if no such texts
     * are known. */
    struct store_texts needs;
    /* True if nothing in the expression matches the end of a line, or looks beyond it. The expression can then be
     * tried on several lines at once, joined with their newlines, with ^ and $ matching at every line. If one of the
     * lines matches, the joined text does; the reverse need not hold. */
    bool within_lines;
};

/* `pattern` must be one that PCRE2 accepts. The texts live in the arena. */
struct log_pattern log_pattern_read(const char *pattern, struct arena *a);

#endif
