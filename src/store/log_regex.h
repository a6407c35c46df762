/* Within the store: a regular expression that log lines are searched by (PCRE2, bounded), and what must stand in each line
 * that it matches, so that most lines, and most blocks, need not be asked at all. */
#ifndef DET_STORE_LOG_REGEX_H
#define DET_STORE_LOG_REGEX_H

#include "common/arena.h"
#include "common/error.h"

struct log_regex;

/* ERR_INVALID with the position for a pattern that is none. */
int log_regex_new(const char *pattern, struct log_regex **ret, struct error *err);
void log_regex_free(struct log_regex *r); /* NULL is fine */
/* 1, 0, or -1: a pattern that runs into its limits says neither yes nor no. `id` is the line's, for the sentence. */
int log_regex_matches(const struct log_regex *r, const char *text, size_t n, int64_t id, struct error *err);

/* The longest text that every match of the pattern holds, as far as that shows without understanding it: characters that
 * stand for themselves, outside of groups, classes and repetitions that may be none. "" when there is none. */
const char *log_regex_literal(const char *pattern, struct arena *a);

#endif
