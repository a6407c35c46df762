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
    double last; /* metric of the last result, so that looking for a chunk touches none of them */
};
struct ranking {
    struct ranking_chunk *chunk;
    size_t chunk_n, chunk_cap;
    size_t n;
};

enum rank_ties { RANK_BEFORE_EQUALS, RANK_AFTER_EQUALS };

void ranking_release(struct ranking *r);                                             /* {0} is an empty one */
size_t ranking_insert(struct ranking *r, struct ranked result, enum rank_ties ties); /* the index that it got */
struct ranked *ranking_at(const struct ranking *r, size_t index); /* until the next change; NULL past the end */
/* The results in order: begin with {0}; NULL after the last. */
struct ranking_cursor {
    size_t chunk, place;
};
const struct ranked *ranking_next(const struct ranking *r, struct ranking_cursor *at);
void ranking_remove(struct ranking *r, uint32_t trial); /* all results of this trial; may be none */

#endif
