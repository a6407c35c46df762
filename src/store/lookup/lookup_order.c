/* The page of a lookup. The rows that come first are selected, and only those of the page are sorted. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "store/lookup/lookup_internal.h"

/* A column whose values may be numbers or texts is sorted on two levels: first by number, and then, for values that
 * are no number, by text. */
enum { LEVELS_MAX = 2 * (LOOKUP_SORTS_MAX + 1) };

struct ranked {
    uint64_t key;
    uint32_t row;
};
struct levels {
    const uint64_t *key[LEVELS_MAX];
    size_t n;
};

/* Makes a key of a number. Keys have the same order as the numbers, or the reverse one if `descending`. A row
 * without a value comes last. */
static uint64_t key_of_number(double v, bool descending)
{
    uint64_t bits;
    v += 0.0; /* turns -0 into 0 */
    memcpy(&bits, &v, sizeof(bits));
    if (isnan(v))
        return UINT64_MAX;
    bits = bits >> 63 ? ~bits : bits | (uint64_t)1 << 63;
    return descending ? ~bits : bits;
}

static uint64_t key_of_rank(uint32_t rank, bool descending)
{
    return rank == 0 ? UINT64_MAX : descending ? UINT32_MAX - rank : rank;
}

static void add_level(struct looking *x, const struct lookup_values *v, bool texts, const struct lookup_sort *sort,
                      struct levels *l)
{
    const uint32_t *rank = texts ? texts_ranks(v->texts) : NULL;
    const uint32_t *map = lookup_map(x, v->table, sort->operand.column->type == LOOKUP_HPARAM);
    uint64_t *key = arena_array(x->a, uint64_t, x->n + 1);
    for (size_t i = 0; i < x->n; i++) {
        uint32_t place = map ? map[i] : (uint32_t)i;
        key[i] = place == LOOKUP_NO_ROW ? UINT64_MAX
                 : texts                ? key_of_rank(v->text[place] ? rank[v->text[place]] : 0, sort->descending)
                                        : key_of_number(v->number[place], sort->descending);
    }
    l->key[l->n++] = key;
}

static int add_levels(struct looking *x, const struct lookup_sort *sort, struct levels *l, struct error *err)
{
    struct lookup_values v;
    if (lookup_values(x, &sort->operand, false, &v, err) < 0)
        return -1;
    if (v.number)
        add_level(x, &v, false, sort, l);
    if (v.worded)
        add_level(x, &v, true, sort, l);
    return 0;
}

static int compare_ranked(const struct levels *l, const struct ranked *a, const struct ranked *b)
{
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    for (size_t i = 1; i < l->n; i++)
        if (l->key[i][a->row] != l->key[i][b->row])
            return l->key[i][a->row] < l->key[i][b->row] ? -1 : 1;
    return 0;
}

static int by_levels(const void *a, const void *b, void *l)
{
    return compare_ranked(l, a, b);
}

static void swap_ranked(struct ranked *a, struct ranked *b)
{
    struct ranked c = *a;
    *a = *b;
    *b = c;
}

/* Returns the median of the first, the middle and the last element. Rows are often sorted already, and this pivot
 * halves such rows. */
static struct ranked pivot_of(const struct levels *l, struct ranked *r, size_t low, size_t high)
{
    struct ranked *a = &r[low], *b = &r[low + (high - low) / 2], *c = &r[high - 1];
    if (compare_ranked(l, b, a) < 0)
        swap_ranked(a, b);
    if (compare_ranked(l, c, b) < 0)
        swap_ranked(b, c);
    if (compare_ranked(l, b, a) < 0)
        swap_ranked(a, b);
    return *b;
}

/* Hoare's selection. Afterwards the first k of r[low … high) are those that come first, in no particular order. */
static void select_first(const struct levels *l, struct ranked *r, size_t low, size_t high, size_t k)
{
    while (high - low > 1 && k > low && k < high) {
        const struct ranked pivot = pivot_of(l, r, low, high);
        size_t i = low, j = high - 1;
        for (;; i++, j--) {
            while (compare_ranked(l, &r[i], &pivot) < 0)
                i++;
            while (compare_ranked(l, &pivot, &r[j]) < 0)
                j--;
            if (i >= j)
                break;
            swap_ranked(&r[i], &r[j]);
        }
        size_t split = j + 1; /* no element of r[low … split) comes after one of r[split … high) */
        if (split == high)
            split--; /* the pivot comes after all others */
        if (k <= split)
            high = split;
        else
            low = split;
    }
}

int lookup_order(struct looking *x, const uint8_t *match, size_t match_n, size_t start, size_t end, int32_t *ret_ids,
                 struct error *err)
{
    struct levels l = {.n = 0};
    struct ranked *r = arena_array(x->a, struct ranked, match_n + 1);
    size_t n = 0;
    for (size_t i = 0; i < x->s->sort_n; i++)
        if (add_levels(x, &x->s->sort[i], &l, err) < 0)
            return -1;
    for (size_t i = 0; i < x->n; i++)
        if (match[i])
            r[n++] = (struct ranked){l.key[0][i], (uint32_t)i};
    select_first(&l, r, 0, n, end);
    select_first(&l, r, 0, end, start);
    qsort_r(r + start, end - start, sizeof(*r), by_levels, &l);
    for (size_t i = start; i < end; i++)
        ret_ids[i - start] = x->t->table[x->target].id[r[i].row];
    return 0;
}
