/* Declarations that pack.c and pack_doubles.c share. */
#ifndef DET_STORE_METRICS_PACK_INTERNAL_H
#define DET_STORE_METRICS_PACK_INTERNAL_H

#include <zstd.h>

#include "store/metrics/pack.h"

struct packer {
    ZSTD_CCtx *compress;
    ZSTD_DCtx *decompress;
    struct strbuf frame;    /* one compressed plane */
    struct strbuf scratch;  /* one plane before it is compressed */
    struct strbuf trial[2]; /* the smallest result so far and the one that is being tried */
    struct strbuf work, mapped;
};

void *packer_room(struct strbuf *b, size_t n); /* returns room for n bytes; the former contents are lost */
int unpack_byte(struct unpack *u, uint8_t *ret);

#endif
