/* Within the store: a regular expression for a search of log lines (PCRE2, with a limit on its steps). There are two
 * quick ways to find out that none of many lines matches: no line contains a text that every match must contain
 * (log_pattern.h), or the lines, matched as one text, have no match. */
#ifndef DET_STORE_LOGS_LOG_REGEX_H
#define DET_STORE_LOGS_LOG_REGEX_H

#include <stdbool.h>

#include "store/logs/task_logs.h"

struct log_regex;

/* Fails with ERR_INVALID and the position if the pattern is no regular expression. */
int log_regex_new(const char *pattern, struct log_regex **ret, struct error *err);
void log_regex_free(struct log_regex *r); /* NULL is allowed */
/* 1: the line matches, 0: it does not, or -1: the pattern has reached its limits, and it is not known whether the
 * line matches. `id` is the line's number, for the message. */
int log_regex_matches(const struct log_regex *r, const char *text, size_t n, int64_t id, struct error *err);

struct store_texts
log_regex_needs(const struct log_regex *r); /* every matching line contains one of these; n is 0 if none are known */
/* Returns false if none of these lines matches. The lines follow one another, each with its newline. */
bool log_regex_may_match(const struct log_regex *r, const char *lines, size_t n);

#endif
