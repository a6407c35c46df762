/* Within the store: a small Bloom filter of what a sealed block contains, so that a search need not read blocks without
 * a match.
 *
 * The keys of the filter are all sequences of three letters in a line, without regard to case, and every distinct
 * value of the lines' fields. Digits are left out: they differ in every block and would fill the filter. A text can
 * be in a block only if all its triples are in the filter; a text without three letters in a row is searched for in
 * all blocks. A "no" of the filter is certain, a "yes" is not. The filter has 8 bits for each key, and at most
 * LOG_WORDS_MAX bytes. Heads have no filter: they are always read. */
#ifndef DET_STORE_LOGS_LOG_WORDS_H
#define DET_STORE_LOGS_LOG_WORDS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/strbuf.h"
#include "store/logs/task_logs.h"

enum { LOG_WORDS_MIN = 64, LOG_WORDS_MAX = 2048 };

enum log_words_field {
    LOG_WORDS_ALLOCATION,
    LOG_WORDS_AGENT,
    LOG_WORDS_CONTAINER,
    LOG_WORDS_SOURCE,
    LOG_WORDS_STDTYPE
};

void log_words_make(const struct store_log_line *line, size_t n, struct strbuf *out);

uint64_t log_words_field_key(enum log_words_field field, const char *value);
/* Returns the keys of a text's triples; *ret is in the arena. */
size_t log_words_text_keys(const char *text, size_t n, struct arena *a, uint64_t **ret);
/* Whether the filter may hold the key. A filter of size 0 says nothing of the block, so the answer is true. */
bool log_words_may_hold(const void *words, size_t n, uint64_t key);

#endif
