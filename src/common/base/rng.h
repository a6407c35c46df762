/* Random numbers that are the same everywhere: Mersenne Twister 19937, seeded and drawn from bit by bit as
 * numpy's RandomState(seed) is, so that an experiment's seed gives its hyperparameters for ever.
 *
 * The whole state is the struct: copy it to save it with a snapshot. For secrets use the system's randomness
 * instead. */
#ifndef DET_COMMON_BASE_RNG_H
#define DET_COMMON_BASE_RNG_H

#include <stddef.h>
#include <stdint.h>

#define RNG_STATE_N 624

struct rng {
    uint32_t key[RNG_STATE_N];
    uint32_t pos;
};

void rng_init(struct rng *r, uint32_t seed);
uint32_t rng_bits32(struct rng *r);
uint64_t rng_bits64(struct rng *r); /* two draws, the first one is the upper half */
/* each draw gives four bytes, least significant first; bytes left over are dropped */
void rng_bytes(struct rng *r, void *buf, size_t n);
uint64_t rng_limit(struct rng *r, uint64_t limit); /* 0 … limit, both possible; no draw when limit is 0 */
uint64_t rng_int(struct rng *r, uint64_t n);       /* 0 … n-1; n is at least 1 */
double rng_unit(struct rng *r);                    /* [0, 1) with 53 random bits */
double rng_uniform(struct rng *r, double low, double high);

#endif
