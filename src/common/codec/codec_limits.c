/* Limits how long the lists of received messages may be. Rules: common/codec/codec.h. */
#include "common/codec/codec.h"
#include "common/codec/codec_internal.h"

static int check_list(const struct codec_field *f, size_t n, size_t max, struct error *err)
{
    return n <= max ? 0
                    : error_set(err, ERR_INVALID, "%s: %zu elements, at most %zu are allowed in one request", f->json,
                                n, max);
}

int codec_check_lists(const struct codec_message *m, const void *msg, size_t scalars_max, size_t messages_max,
                      struct error *err)
{
    for (size_t i = 0; i < m->field_n; i++) {
        const struct codec_field *f = &m->field[i];
        if (!codec_is_single(f)) {
            size_t max = f->type == CODEC_MESSAGE || (f->flags & CODEC_MAP) ? messages_max : scalars_max;
            if (check_list(f, *codec_count(f, msg), max, err) < 0)
                return -1;
        } else if (f->type == CODEC_MESSAGE) {
            const void *inner = *(void *const *)codec_at(msg, f->offset);
            if (inner && codec_check_lists(f->message, inner, scalars_max, messages_max, err) < 0)
                return -1;
        }
    }
    return 0;
}
