/* Results in order, best (lowest) first: successive halving asks at which rank a new result stands.
 *
 * The results are a sorted list that is cut into chunks. Inserting moves the results of one chunk at most; finding a
 * rank walks over the chunks. With a hundred thousand results either takes well below a microsecond, where one array
 * would move a megabyte. */
#ifndef DET_CORE_SEARCHER_RANKING_H
#define DET_CORE_SEARCHER_RANKING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ranked {
    double metric; /* never NaN */
    uint32_t trial;
    bool promoted;
};

struct ranking_chunk {
    struct ranked *result;
    size_t n;    /* at least 1 */
    double last; /* the metric of the chunk's last result, so that looking for a chunk does not read the results */
};
struct ranking {
    struct ranking_chunk *chunk;
    size_t chunk_n, chunk_cap;
    size_t n;
};

enum rank_ties { RANK_BEFORE_EQUALS, RANK_AFTER_EQUALS };

/* A ranking that is {0} is empty. */
void ranking_release(struct ranking *r);
/* Returns the index of the new result. */
size_t ranking_insert(struct ranking *r, struct ranked result, enum rank_ties ties);
/* The pointer is valid until the next change; NULL past the end. */
struct ranked *ranking_at(const struct ranking *r, size_t index);
/* Walks over the results in order. The cursor begins as {0}; NULL follows the last result. */
struct ranking_cursor {
    size_t chunk, place;
};
const struct ranked *ranking_next(const struct ranking *r, struct ranking_cursor *at);
void ranking_remove(struct ranking *r, uint32_t trial); /* removes all results of this trial; there may be none */

#endif
