#include "common/base/rng.h"

#include <assert.h>

/* Matsumoto and Nishimura 1998; names as in the paper: n = 624, m = 397. */
enum { M = 397 };

void rng_init(struct rng *r, uint32_t seed)
{
    r->key[0] = seed;
    for (uint32_t i = 1; i < RNG_STATE_N; i++)
        r->key[i] = UINT32_C(1812433253) * (r->key[i - 1] ^ (r->key[i - 1] >> 30)) + i;
    r->pos = RNG_STATE_N;
}

static uint32_t twist_words(uint32_t upper, uint32_t lower)
{
    uint32_t y = (upper & UINT32_C(0x80000000)) | (lower & UINT32_C(0x7fffffff));
    return (y >> 1) ^ (y & 1 ? UINT32_C(0x9908b0df) : 0);
}

static void generate_words(struct rng *r)
{
    for (int i = 0; i < RNG_STATE_N; i++)
        r->key[i] = r->key[(i + M) % RNG_STATE_N] ^ twist_words(r->key[i], r->key[(i + 1) % RNG_STATE_N]);
    r->pos = 0;
}

uint32_t rng_bits32(struct rng *r)
{
    if (r->pos >= RNG_STATE_N)
        generate_words(r);
    uint32_t y = r->key[r->pos++];
    y ^= y >> 11;
    y ^= (y << 7) & UINT32_C(0x9d2c5680);
    y ^= (y << 15) & UINT32_C(0xefc60000);
    return y ^ (y >> 18);
}

uint64_t rng_bits64(struct rng *r)
{
    uint64_t upper = rng_bits32(r);
    return upper << 32 | rng_bits32(r);
}

void rng_bytes(struct rng *r, void *buf, size_t n)
{
    unsigned char *p = buf;
    uint32_t bits = 0;
    for (size_t i = 0; i < n; i++, bits >>= 8) {
        if (i % 4 == 0)
            bits = rng_bits32(r);
        p[i] = (unsigned char)bits;
    }
}

/* Draws numbers with as many bits as `limit` has, until one is not above it. The result is unbiased and takes at most
 * two draws on average. */
uint64_t rng_limit(struct rng *r, uint64_t limit)
{
    if (limit == 0)
        return 0;
    uint64_t mask = UINT64_MAX >> __builtin_clzll(limit), value;
    do
        value = (limit <= UINT32_MAX ? rng_bits32(r) : rng_bits64(r)) & mask;
    while (value > limit);
    return value;
}

uint64_t rng_int(struct rng *r, uint64_t n)
{
    assert(n > 0);
    return rng_limit(r, n - 1);
}

double rng_unit(struct rng *r)
{
    uint32_t a = rng_bits32(r) >> 5, b = rng_bits32(r) >> 6;
    return (a * 67108864.0 + b) / 9007199254740992.0;
}

double rng_uniform(struct rng *r, double low, double high)
{
    return low + (high - low) * rng_unit(r);
}
