/* Within the store: a filter of log lines, prepared for four tests, each of which costs more than the one before: of a
 * block's Bloom filter, of a block's text, of many lines at once, of one line. The first three may say yes where no
 * line matches; a no is certain. */
#ifndef DET_STORE_LOGS_LOG_FILTER_H
#define DET_STORE_LOGS_LOG_FILTER_H

#include "store/logs/task_logs.h"

struct log_regex;

struct log_keys {
    const uint64_t *key;
    size_t n;
};

struct log_filter {
    struct arena arena; /* its own copies */
    struct store_log_filter wanted;
    int64_t levels, ranks;    /* masks of a block's (log_masks.h); 0: any */
    struct log_keys field[5]; /* of each field that must have one of some values: a block must hold one key */
    size_t field_n;
    struct store_texts needs;  /* one of them is in every line: the searched text, or what a pattern can't do without */
    struct log_keys *need_key; /* of each: a block must hold all keys of one */
    struct log_regex *regex;
};

int log_filter_init(struct log_filter *f, const struct store_log_filter *wanted, struct error *err);
void log_filter_release(struct log_filter *f);

bool log_filter_may_be_in(const struct log_filter *f, const void *words,
                          size_t n); /* a block with these (log_words.h) */
bool log_filter_may_match_text(const struct log_filter *f, const char *text, size_t n); /* a line of the block's text */
bool log_filter_may_match_any(const struct log_filter *f, const struct store_log_line *line, size_t n);
int log_filter_matches(const struct log_filter *f, const struct store_log_line *line,
                       struct error *err); /* 1, 0, or -1 */

#endif
