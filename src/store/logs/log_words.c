#include "store/logs/log_words.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/must.h"

enum { LETTERS = 26, TRIPLES = LETTERS * LETTERS * LETTERS, HASHES = 3, BITS_PER_KEY = 8 };

/* ---- keys -------------------------------------------------------------------------------------------------------- */

/* Computes splitmix64. Neighbouring triples then set bits that are far from each other. */
static uint64_t mix_hash(uint64_t v)
{
    v += 0x9e3779b97f4a7c15u;
    v = (v ^ (v >> 30)) * 0xbf58476d1ce4e5b9u;
    v = (v ^ (v >> 27)) * 0x94d049bb133111ebu;
    return v ^ (v >> 31);
}

uint64_t log_words_field_key(enum log_words_field field, const char *value)
{
    uint64_t h = mix_hash(TRIPLES + (uint64_t)field);
    for (const char *p = value; *p; p++)
        h = (h ^ (uint8_t)*p) * 1099511628211u;
    return mix_hash(h);
}

static uint64_t triple_key(uint32_t triple)
{
    return mix_hash(triple);
}

/* Marks the triples of a text in `seen`, which has one byte for each possible triple. */
static void mark_triples(const char *text, size_t n, uint8_t seen[TRIPLES])
{
    uint32_t triple = 0;
    int run = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t letter = ((uint8_t)text[i] | 0x20u) - 'a';
        if (letter >= LETTERS) {
            run = 0;
            continue;
        }
        triple = (triple % (LETTERS * LETTERS)) * LETTERS + letter;
        if (++run >= 3)
            seen[triple] = 1;
    }
}

size_t log_words_text_keys(const char *text, size_t n, struct arena *a, uint64_t **ret)
{
    uint8_t *seen = arena_alloc(a, TRIPLES);
    size_t key_n = 0;
    *ret = arena_array(a, uint64_t, n + 1); /* a text has fewer triples than bytes */
    mark_triples(text, n, seen);
    for (uint32_t i = 0; i < TRIPLES; i++)
        if (seen[i])
            (*ret)[key_n++] = triple_key(i);
    return key_n;
}

/* ---- the filter -------------------------------------------------------------------------------------------------- */

static size_t bit_of(uint64_t key, int hash, size_t bytes)
{
    return (size_t)(key >> (20 * hash)) & (bytes * 8 - 1); /* `bytes` is a power of two, less than 2^20 */
}

bool log_words_may_hold(const void *words, size_t n, uint64_t key)
{
    const uint8_t *byte = words;
    if (n < LOG_WORDS_MIN || n > LOG_WORDS_MAX || (n & (n - 1)) != 0)
        return true;
    for (int h = 0; h < HASHES; h++) {
        size_t bit = bit_of(key, h, n);
        if (!(byte[bit / 8] & 1u << bit % 8))
            return false;
    }
    return true;
}

struct keys {
    uint64_t *key;
    size_t n, cap;
};

static void keys_add(struct keys *k, uint64_t key)
{
    if (k->n == k->cap) {
        k->cap = k->cap ? 2 * k->cap : 512;
        k->key = must_realloc(k->key, k->cap * sizeof(*k->key));
    }
    k->key[k->n++] = key;
}

static void add_field(struct keys *k, enum log_words_field field, const char *s, const char *before)
{
    if (s && s != before && (!before || strcmp(s, before) != 0))
        keys_add(k, log_words_field_key(field, s));
}

static void add_fields(struct keys *k, const struct store_log_line *l, const struct store_log_line *before)
{
    add_field(k, LOG_WORDS_ALLOCATION, l->allocation_id, before->allocation_id);
    add_field(k, LOG_WORDS_AGENT, l->agent_id, before->agent_id);
    add_field(k, LOG_WORDS_CONTAINER, l->container_id, before->container_id);
    add_field(k, LOG_WORDS_SOURCE, l->source, before->source);
    add_field(k, LOG_WORDS_STDTYPE, l->stdtype, before->stdtype);
}

static int compare_keys(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void drop_doubles(struct keys *k)
{
    size_t n = 0;
    if (k->n > 1)
        qsort(k->key, k->n, sizeof(*k->key), compare_keys);
    for (size_t i = 0; i < k->n; i++)
        if (n == 0 || k->key[n - 1] != k->key[i])
            k->key[n++] = k->key[i];
    k->n = n;
}

void log_words_make(const struct store_log_line *line, size_t n, struct strbuf *out)
{
    static const struct store_log_line none = {0};
    cleanup_arena struct arena a = ARENA_INIT;
    uint8_t *seen = arena_alloc(&a, TRIPLES);
    struct keys k = {0};
    for (size_t i = 0; i < n; i++) {
        mark_triples(line[i].text, line[i].text_n, seen);
        add_fields(&k, &line[i], i ? &line[i - 1] : &none);
    }
    drop_doubles(&k);
    for (uint32_t i = 0; i < TRIPLES; i++)
        if (seen[i])
            keys_add(&k, triple_key(i));
    size_t bytes = LOG_WORDS_MIN;
    while (bytes < LOG_WORDS_MAX && bytes * 8 < k.n * BITS_PER_KEY)
        bytes *= 2;
    uint8_t *byte = arena_alloc(&a, bytes);
    for (size_t i = 0; i < k.n; i++)
        for (int h = 0; h < HASHES; h++)
            byte[bit_of(k.key[i], h, bytes) / 8] |= (uint8_t)(1u << bit_of(k.key[i], h, bytes) % 8);
    strbuf_add(out, byte, bytes);
    free(k.key);
}
