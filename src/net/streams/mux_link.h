/* The byte streams within the connection between master and agent (mux.h). The carrier of the frames is the agent's
 * WebSocket, which the user of this header has: what comes in binary messages goes to mux_link_receive(), and frames go
 * out through `send` as long as little waits there, so that messages of the control protocol never wait behind more
 * than a few frames. */
#ifndef DET_NET_STREAMS_MUX_LINK_H
#define DET_NET_STREAMS_MUX_LINK_H

#include <stdint.h>

#include "net/streams/byte_stream.h"
#include "net/streams/mux.h"

/* Bytes that wait in the carrier before no more frames are made. A message that the carrier is given beside the frames
 * waits behind these, one frame, and what the kernel keeps (ws_keep_queue_short()). */
enum { MUX_LINK_WAITS_MAX = 64 * 1024 };

struct mux_link;

struct mux_link_options {
    bool opens;         /* this side opens streams, the other one accepts them */
    size_t streams_max; /* of the accepting side */
    /* Somebody opens a stream to `name`. Give it a handler with byte_stream_set_handler(), and answer with
     * mux_link_accept() or mux_link_refuse(), now or later. on_close may come before. Accepting side only. */
    void (*on_asked)(void *ctx, struct byte_stream *s, const char *name);
    void (*send)(void *ctx, const struct mux_frame *frame); /* copies */
    size_t (*waiting)(void *ctx);                           /* bytes that the carrier has not sent yet */
    void *ctx;
};

struct mux_link *mux_link_new(struct byte_streams *all, const struct mux_link_options *o);
/* Ends all streams, since the connection is gone: their on_close is called with why. From then on `send` is not called;
 * mux_link_open() fails. */
void mux_link_end(struct mux_link *l, const char *why);
void mux_link_free(struct mux_link *l); /* NULL is accepted; call mux_link_end() before, or there are no streams */

/* Takes a message of the peer. Fails if the peer breaks the protocol: the connection is to be closed then. */
int mux_link_receive(struct mux_link *l, const void *frame, size_t n, struct error *err);
void mux_link_drained(struct mux_link *l); /* nothing waits in the carrier any more */

/* timeout_s: how long the peer may take to accept or refuse */
int mux_link_open(struct mux_link *l, const char *name, int timeout_s, const struct byte_stream_handler *h,
                  struct byte_stream **ret, struct error *err);
void mux_link_accept(struct byte_stream *s);
void mux_link_refuse(struct byte_stream *s, const char *why); /* s is gone */

size_t mux_link_count(const struct mux_link *l);

#endif
