/* Within packing (pack.c, pack_doubles.c). */
#ifndef DET_STORE_METRICS_PACK_INTERNAL_H
#define DET_STORE_METRICS_PACK_INTERNAL_H

#include <zstd.h>

#include "store/metrics/pack.h"

struct packer {
    ZSTD_CCtx *compress;
    ZSTD_DCtx *decompress;
    struct strbuf frame;    /* one plane, compressed */
    struct strbuf scratch;  /* one plane, plain */
    struct strbuf trial[2]; /* the best candidate and the one that is being tried */
    struct strbuf work, mapped;
};

void *packer_room(struct strbuf *b, size_t n); /* n bytes in place of whatever is there */
int unpack_byte(struct unpack *u, uint8_t *ret);

#endif
