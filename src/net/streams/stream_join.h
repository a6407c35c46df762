/* Joins two byte streams: what comes from one is written to the other. A side that takes no more holds the other one
 * back. When one side ends its direction, the other side's ends, too, after what was written; when a side is closed,
 * the other one is closed once its last bytes have left, with the first one's reason if that has failed. */
#ifndef DET_NET_STREAMS_STREAM_JOIN_H
#define DET_NET_STREAMS_STREAM_JOIN_H

#include "net/streams/byte_stream.h"

struct stream_join;

/* Called once, when both streams are gone; why is NULL if nothing failed, otherwise `failed` was the first to fail: 0
 * or 1, for a or b. */
typedef void stream_join_over_fn(void *ctx, int failed, const char *why);

/* Takes over both streams and their handlers. over may be NULL. byte_streams_free() ends what is left, without a call
 * of over. */
struct stream_join *stream_join(struct byte_streams *all, struct byte_stream *a, struct byte_stream *b,
                                stream_join_over_fn *over, void *ctx);
/* From now on passed[0] grows by the bytes that a has sent, passed[1] by those of b, until the join is over. */
void stream_join_count(struct stream_join *j, uint64_t passed[2]);
/* Ends both streams, unless bytes still wait for one of them: then the join ends by itself, once these have left. No
 * call of over follows if true is returned. */
bool stream_join_finish(struct stream_join *j, const char *why);
/* Ends both streams now, without a call of over. */
void stream_join_drop(struct stream_join *j, const char *why);

#endif
