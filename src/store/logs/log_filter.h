/* Within the store: a filter of log lines, prepared for four tests: of a block's Bloom filter, of a block's text, of
 * many lines at once, and of one line. Each test takes longer than the one before it. The first three may say yes
 * where no line matches, but their no is certain. */
#ifndef DET_STORE_LOGS_LOG_FILTER_H
#define DET_STORE_LOGS_LOG_FILTER_H

#include "store/logs/task_logs.h"

struct log_regex;

struct log_keys {
    const uint64_t *key;
    size_t n;
};

struct log_filter {
    struct arena arena; /* holds the filter's own copies */
    struct store_log_filter wanted;
    int64_t levels, ranks; /* which bits of a block's masks are wanted (log_masks.h); 0: any */
    /* for each field that must have one of some values: a block must hold one of these keys */
    struct log_keys field[5];
    size_t field_n;
    /* every matching line contains one of these: the searched text, or texts that the pattern requires */
    struct store_texts needs;
    struct log_keys *need_key; /* for each text of `needs`: a block must hold all keys of at least one text */
    struct log_regex *regex;
};

int log_filter_init(struct log_filter *f, const struct store_log_filter *wanted, struct error *err);
void log_filter_release(struct log_filter *f);

bool log_filter_may_be_in(const struct log_filter *f, const void *words,
                          size_t n); /* whether a block with this Bloom filter may hold a matching line (log_words.h) */
/* whether a line may match in a block with this text */
bool log_filter_may_match_text(const struct log_filter *f, const char *text, size_t n);
bool log_filter_may_match_any(const struct log_filter *f, const struct store_log_line *line, size_t n);
int log_filter_matches(const struct log_filter *f, const struct store_log_line *line,
                       struct error *err); /* 1: the line matches, 0: it does not, or -1 */

#endif
