#include "core/state/ids.h"

#include <assert.h>
#include <string.h>

/* The generator splitmix64 (Steele, Lea, Flood 2014). It works well with any seed, and its state is one 64-bit
 * number. */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

void new_uuid(struct core *c, char ret[CORE_UUID_MAX])
{
    uint64_t high = next_random(&c->id_state), low = next_random(&c->id_state);
    high = (high & ~UINT64_C(0xf000)) | UINT64_C(0x4000);
    low = (low & ~(UINT64_C(3) << 62)) | UINT64_C(1) << 63;
    snprintf(ret, CORE_UUID_MAX, "%08x-%04x-%04x-%04x-%012llx", (unsigned)(high >> 32), (unsigned)(high >> 16 & 0xffff),
             (unsigned)(high & 0xffff), (unsigned)(low >> 48), (unsigned long long)(low & UINT64_C(0xffffffffffff)));
}

uint32_t new_random(struct core *c)
{
    return (uint32_t)next_random(&c->id_state);
}

void set_text(char *field, size_t size, const char *text)
{
    size_t n = strlen(text);
    assert(n < size);
    memcpy(field, text, n);
    memset(field + n, 0, size - n);
}
