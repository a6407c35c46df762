#include "cli/suggest.h"

#include <string.h>

enum { WORD_MAX = 40 };

static size_t min_size(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* The number of letters that are wrong, missing, surplus, or exchanged with their neighbour (optimal string
 * alignment). */
static size_t distance_of(const char *a, const char *b)
{
    size_t n = strlen(a), m = strlen(b), d[WORD_MAX + 1][WORD_MAX + 1];
    if (n > WORD_MAX || m > WORD_MAX)
        return WORD_MAX;
    for (size_t i = 0; i <= n; i++)
        d[i][0] = i;
    for (size_t k = 0; k <= m; k++)
        d[0][k] = k;
    for (size_t i = 1; i <= n; i++) {
        for (size_t k = 1; k <= m; k++) {
            size_t replaced = d[i - 1][k - 1] + (a[i - 1] != b[k - 1]);
            d[i][k] = min_size(replaced, min_size(d[i - 1][k], d[i][k - 1]) + 1);
            if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1])
                d[i][k] = min_size(d[i][k], d[i - 2][k - 2] + 1);
        }
    }
    return d[n][m];
}

void suggestion_try(struct suggestion *s, const char *candidate)
{
    size_t allowed = strlen(s->word) / 3, d = distance_of(s->word, candidate);
    if (d <= allowed && (!s->nearest || d < s->distance)) {
        s->nearest = candidate;
        s->distance = d;
    }
}

const char *suggestion_text(const struct suggestion *s, struct arena *a)
{
    return s->nearest ? arena_printf(a, "did you mean '%s'? ", s->nearest) : "";
}
