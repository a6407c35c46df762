#include "store/lookup/texts.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/must.h"

/* FNV-1a, computed over eight bytes at a time. */
static uint64_t hash_text(const char *text, size_t n)
{
    uint64_t h = 14695981039346656037u ^ n, word;
    for (; n >= sizeof(word); text += sizeof(word), n -= sizeof(word)) {
        memcpy(&word, text, sizeof(word));
        h = (h ^ word) * 1099511628211u;
        h ^= h >> 32;
    }
    for (; n; text++, n--)
        h = (h ^ (unsigned char)*text) * 1099511628211u;
    return h ^ h >> 29;
}

const char *texts_get(const struct texts *t, uint32_t number, size_t *ret_n)
{
    size_t end = number == t->n ? t->bytes_n : t->start[number + 1];
    *ret_n = end - t->start[number] - 1;
    return t->bytes + t->start[number];
}

/* Returns the entry of the hash table where the text is, or where it would be put. */
static uint32_t *place_of(const struct texts *t, const char *text, size_t n)
{
    for (size_t i = hash_text(text, n) & (t->table_n - 1);; i = (i + 1) & (t->table_n - 1)) {
        size_t other_n;
        if (!t->table[i])
            return &t->table[i];
        const char *other = texts_get(t, t->table[i], &other_n);
        if (other_n == n && memcmp(other, text, n) == 0)
            return &t->table[i];
    }
}

uint32_t texts_find(const struct texts *t, const char *text)
{
    return t->n ? *place_of(t, text, strlen(text)) : 0;
}

/* Grows the hash table, which is kept at most half full. */
static void grow_table(struct texts *t)
{
    free(t->table);
    t->table_n = t->table_n ? 2 * t->table_n : 16;
    t->table = must_calloc(t->table_n, sizeof(*t->table));
    for (uint32_t number = 1; number <= t->n; number++) {
        size_t n;
        const char *text = texts_get(t, number, &n);
        *place_of(t, text, n) = number;
    }
}

uint32_t texts_add(struct texts *t, const char *text, size_t n)
{
    if (2 * (size_t)(t->n + 1) > t->table_n)
        grow_table(t);
    uint32_t *place = place_of(t, text, n);
    if (*place)
        return *place;
    if (t->bytes_n + n + 1 > t->bytes_cap) {
        t->bytes_cap = t->bytes_n + n + 1 > 2 * t->bytes_cap ? t->bytes_n + n + 64 : 2 * t->bytes_cap;
        t->bytes = must_reallocarray(t->bytes, t->bytes_cap, 1);
    }
    if (t->n + 1 >= t->cap) {
        t->cap = t->cap ? 2 * t->cap : 8;
        t->start = must_reallocarray(t->start, t->cap, sizeof(*t->start));
    }
    *place = ++t->n;
    t->start[t->n] = t->bytes_n;
    memcpy(t->bytes + t->bytes_n, text, n);
    t->bytes[t->bytes_n + n] = '\0';
    t->bytes_n += n + 1;
    return t->n;
}

/* ---- order ------------------------------------------------------------------------------------------------------- */

static int compare_texts(const struct texts *t, uint32_t a, uint32_t b)
{
    size_t a_n, b_n;
    const char *x = texts_get(t, a, &a_n), *y = texts_get(t, b, &b_n);
    int c = memcmp(x, y, a_n < b_n ? a_n : b_n);
    return c ? c : (a_n > b_n) - (a_n < b_n);
}

static int by_bytes(const void *a, const void *b, void *t)
{
    return compare_texts(t, *(const uint32_t *)a, *(const uint32_t *)b);
}

/* Merges from the end, so that the texts that are in order already can be moved within the same memory. */
static void merge_fresh_texts(struct texts *t, const uint32_t *fresh, uint32_t fresh_n)
{
    uint32_t old = t->ranked, to = t->n;
    while (fresh_n > 0)
        t->order[--to] = old > 0 && compare_texts(t, t->order[old - 1], fresh[fresh_n - 1]) > 0 ? t->order[--old]
                                                                                                : fresh[--fresh_n];
}

const uint32_t *texts_ranks(struct texts *t)
{
    if (t->ranked == t->n && t->rank)
        return t->rank;
    uint32_t fresh_n = t->n - t->ranked, *fresh = must_reallocarray(NULL, fresh_n + 1, sizeof(*fresh));
    for (uint32_t i = 0; i < fresh_n; i++)
        fresh[i] = t->ranked + 1 + i;
    qsort_r(fresh, fresh_n, sizeof(*fresh), by_bytes, t);
    t->order_cap = t->n + 1 > t->order_cap ? t->n + t->n / 4 + 1 : t->order_cap;
    t->order = must_reallocarray(t->order, t->order_cap, sizeof(*t->order));
    t->rank = must_reallocarray(t->rank, t->order_cap, sizeof(*t->rank));
    merge_fresh_texts(t, fresh, fresh_n);
    free(fresh);
    t->ranked = t->n;
    t->rank[0] = 0;
    for (uint32_t i = 0; i < t->n; i++)
        t->rank[t->order[i]] = i + 1;
    return t->rank;
}

size_t texts_bytes(const struct texts *t)
{
    return t->bytes_cap + t->cap * sizeof(*t->start) + t->table_n * sizeof(*t->table) +
           2 * t->order_cap * sizeof(*t->order);
}

void texts_release(struct texts *t)
{
    free(t->bytes);
    free(t->start);
    free(t->table);
    free(t->order);
    free(t->rank);
    *t = (struct texts){0};
}
