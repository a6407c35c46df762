#include "store/logs/log_find.h"

#include <stdint.h>
#include <string.h>
#include <strings.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* A byte and its other case: a byte fits if (byte | fold) == folded. fold is the bit by which the two cases of a
 * letter differ, and 0 for all other bytes. */
struct folded {
    uint8_t fold, byte;
};

static struct folded fold_of(char c)
{
    uint8_t lower = (uint8_t)c | 0x20;
    bool letter = lower >= 'a' && lower <= 'z';
    return (struct folded){letter ? 0x20 : 0, letter ? lower : (uint8_t)c};
}

static bool char_fits(struct folded f, char c)
{
    return ((uint8_t)c | f.fold) == f.byte;
}

static bool find_slowly(const char *text, size_t n, const char *what, size_t what_n)
{
    struct folded first = fold_of(what[0]);
    for (size_t i = 0; what_n <= n && i <= n - what_n; i++)
        if (char_fits(first, text[i]) && strncasecmp(text + i, what, what_n) == 0)
            return true;
    return false;
}

#ifdef __SSE2__
static __m128i chars_that_fit(const char *p, struct folded f)
{
    __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
    return _mm_cmpeq_epi8(_mm_or_si128(v, _mm_set1_epi8((char)f.fold)), _mm_set1_epi8((char)f.byte));
}

/* Sixteen places are tested at once. Where both the first and the last byte fit, the bytes between them are
 * compared. */
bool log_find(const char *text, size_t n, const char *what, size_t what_n)
{
    if (what_n == 0)
        return true;
    struct folded first = fold_of(what[0]), last = fold_of(what[what_n - 1]);
    size_t i = 0;
    for (; i + what_n + 15 <= n; i += 16) {
        unsigned places = (unsigned)_mm_movemask_epi8(
            _mm_and_si128(chars_that_fit(text + i, first), chars_that_fit(text + i + what_n - 1, last)));
        for (; places; places &= places - 1) {
            const char *at = text + i + __builtin_ctz(places);
            if (strncasecmp(at, what, what_n) == 0)
                return true;
        }
    }
    return find_slowly(text + i, n - i, what, what_n);
}
#else
bool log_find(const char *text, size_t n, const char *what, size_t what_n)
{
    return what_n == 0 || find_slowly(text, n, what, what_n);
}
#endif

bool log_find_any(const char *text, size_t n, struct store_texts what)
{
    for (size_t i = 0; i < what.n; i++)
        if (log_find(text, n, what.text[i], strlen(what.text[i])))
            return true;
    return what.n == 0;
}
