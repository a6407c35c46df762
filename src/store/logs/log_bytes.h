/* Within the store: writes varints into blocks of log lines, and reads them with every end checked. */
#ifndef DET_STORE_LOGS_LOG_BYTES_H
#define DET_STORE_LOGS_LOG_BYTES_H

#include <stdint.h>

#include "common/base/error.h"
#include "common/base/strbuf.h"

struct log_bytes {
    const uint8_t *p, *end;
};

static inline int log_bytes_varint(struct log_bytes *c, uint64_t *ret)
{
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 64 && c->p < c->end; shift += 7) {
        uint8_t byte = *c->p++;
        v |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) {
            *ret = v;
            return 0;
        }
    }
    return -1;
}

/* Reads a count. It fails if the count is larger than the bytes that are left, since each element takes at least one
 * byte. */
static inline int log_bytes_count(struct log_bytes *c, uint64_t *ret)
{
    return log_bytes_varint(c, ret) < 0 || *ret > (uint64_t)(c->end - c->p) ? -1 : 0;
}

static inline int64_t log_bytes_unzigzag(uint64_t v)
{
    return (int64_t)((v >> 1) ^ (0 - (v & 1)));
}

static inline void log_bytes_add_varint(struct strbuf *b, uint64_t v)
{
    char byte[10];
    size_t n = 0;
    for (; v >= 0x80; v >>= 7)
        byte[n++] = (char)(v | 0x80);
    byte[n++] = (char)v;
    strbuf_add(b, byte, n);
}

static inline uint64_t log_bytes_zigzag(int64_t v)
{
    return ((uint64_t)v << 1) ^ (uint64_t)(v >> 63);
}

static inline int log_block_damaged(struct error *err)
{
    return error_set(err, ERR_IO, "a block of task logs is damaged in the database");
}

#endif
