#include "core/searcher/ranking.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/must.h"

enum { CHUNK_MAX = 1024 };

static struct ranking_chunk *add_chunk(struct ranking *r, size_t at)
{
    if (r->chunk_n == r->chunk_cap) {
        r->chunk_cap = r->chunk_cap ? 2 * r->chunk_cap : 4;
        r->chunk = must_realloc(r->chunk, r->chunk_cap * sizeof(struct ranking_chunk));
    }
    memmove(r->chunk + at + 1, r->chunk + at, (r->chunk_n - at) * sizeof(struct ranking_chunk));
    r->chunk[at] = (struct ranking_chunk){.result = must_malloc(CHUNK_MAX * sizeof(struct ranked))};
    r->chunk_n++;
    return &r->chunk[at];
}

static void drop_chunk(struct ranking *r, size_t at)
{
    free(r->chunk[at].result);
    r->chunk_n--;
    memmove(r->chunk + at, r->chunk + at + 1, (r->chunk_n - at) * sizeof(struct ranking_chunk));
}

void ranking_release(struct ranking *r)
{
    for (size_t i = 0; i < r->chunk_n; i++)
        free(r->chunk[i].result);
    free(r->chunk);
    *r = (struct ranking){0};
}

static bool goes_before(double metric, double other, enum rank_ties ties)
{
    return ties == RANK_BEFORE_EQUALS ? metric <= other : metric < other;
}

/* Finds the first chunk whose last result belongs behind a new result of this metric. If there is none, it is the last
 * chunk. */
static size_t find_chunk(const struct ranking *r, double metric, enum rank_ties ties)
{
    size_t low = 0, high = r->chunk_n - 1;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (goes_before(metric, r->chunk[middle].last, ties))
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static size_t find_place(const struct ranking_chunk *c, double metric, enum rank_ties ties)
{
    size_t low = 0, high = c->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (goes_before(metric, c->result[middle].metric, ties))
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static void mark_last(struct ranking_chunk *c)
{
    c->last = c->result[c->n - 1].metric;
}

static void split_chunk(struct ranking *r, size_t at)
{
    struct ranking_chunk *upper = add_chunk(r, at + 1), *full = &r->chunk[at];
    upper->n = CHUNK_MAX / 2;
    full->n -= upper->n;
    memcpy(upper->result, full->result + full->n, upper->n * sizeof(struct ranked));
    mark_last(upper);
    mark_last(full);
}

size_t ranking_insert(struct ranking *r, struct ranked result, enum rank_ties ties)
{
    if (r->chunk_n == 0)
        add_chunk(r, 0);
    size_t at = find_chunk(r, result.metric, ties), index = 0;
    if (r->chunk[at].n == CHUNK_MAX) {
        split_chunk(r, at);
        at = find_chunk(r, result.metric, ties);
    }
    for (size_t i = 0; i < at; i++)
        index += r->chunk[i].n;
    struct ranking_chunk *c = &r->chunk[at];
    size_t place = find_place(c, result.metric, ties);
    memmove(c->result + place + 1, c->result + place, (c->n - place) * sizeof(struct ranked));
    c->result[place] = result;
    c->n++;
    mark_last(c);
    r->n++;
    return index + place;
}

struct ranked *ranking_at(const struct ranking *r, size_t index)
{
    for (size_t i = 0; i < r->chunk_n; i++) {
        if (index < r->chunk[i].n)
            return &r->chunk[i].result[index];
        index -= r->chunk[i].n;
    }
    return NULL;
}

const struct ranked *ranking_next(const struct ranking *r, struct ranking_cursor *at)
{
    if (at->chunk < r->chunk_n && at->place == r->chunk[at->chunk].n)
        *at = (struct ranking_cursor){.chunk = at->chunk + 1};
    return at->chunk < r->chunk_n ? &r->chunk[at->chunk].result[at->place++] : NULL;
}

void ranking_remove(struct ranking *r, uint32_t trial)
{
    for (size_t i = r->chunk_n; i-- > 0;) {
        struct ranking_chunk *c = &r->chunk[i];
        for (size_t k = c->n; k-- > 0;) {
            if (c->result[k].trial != trial)
                continue;
            c->n--;
            memmove(c->result + k, c->result + k + 1, (c->n - k) * sizeof(struct ranked));
            r->n--;
        }
        if (c->n == 0)
            drop_chunk(r, i);
        else
            mark_last(c);
    }
}
