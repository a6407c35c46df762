/* Within the store: finds out some properties of a regular expression (PCRE2's syntax), such as a text that every match
 * must contain. It understands a part of the syntax only; for an expression with other parts it reports no property. */
#ifndef DET_STORE_LOGS_LOG_PATTERN_H
#define DET_STORE_LOGS_LOG_PATTERN_H

#include <stdbool.h>

#include "store/logs/task_logs.h"

struct log_pattern {
    /* One of these stands in every match, be it in other cases of ASCII letters. n is 0: nobody knows what must. */
    struct store_texts needs;
    /* Nothing in it matches the end of a line, or looks beyond it. So on several lines, each with its newline, that are
     * one text in which ^ and $ match at every line, it matches if (not only if) it matches one of them. */
    bool within_lines;
};

/* `pattern` is one that PCRE2 takes; the texts are in the arena. */
struct log_pattern log_pattern_read(const char *pattern, struct arena *a);

#endif
