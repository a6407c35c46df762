/* Within the store: a regular expression for a search of log lines (PCRE2, with bounded steps). There are two quick
 * ways to find out that none of many lines matches: no line contains a text that every match must contain
 * (log_pattern.h), or the lines, matched as one text, have no match. */
#ifndef DET_STORE_LOGS_LOG_REGEX_H
#define DET_STORE_LOGS_LOG_REGEX_H

#include <stdbool.h>

#include "store/logs/task_logs.h"

struct log_regex;

/* ERR_INVALID with the position for a pattern that is none. */
int log_regex_new(const char *pattern, struct log_regex **ret, struct error *err);
void log_regex_free(struct log_regex *r); /* NULL is fine */
/* 1, 0, or -1: a pattern that runs into its limits says neither yes nor no. `id` is the line's, for the sentence. */
int log_regex_matches(const struct log_regex *r, const char *text, size_t n, int64_t id, struct error *err);

struct store_texts
log_regex_needs(const struct log_regex *r); /* one of them stands in each line that matches; n 0: unknown */
/* False if none of these lines matches. They lie one behind the other, each with its newline. */
bool log_regex_may_match(const struct log_regex *r, const char *lines, size_t n);

#endif
