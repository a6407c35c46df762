/* Many byte streams within one connection: frames in, frames out. Pure: no socket, no clock, no allocation that a peer
 * can make large. docs/spec/agents.md#streams is the protocol; this file is its implementation for both sides.
 *
 * One side opens streams (the master), the other one accepts or refuses them (the agent). A frame is 8 bytes of head
 * and at most MUX_DATA_MAX bytes of body:
 *
 *   byte 0     kind (enum mux_kind)
 *   bytes 1-3  0
 *   bytes 4-7  the stream's number, little-endian: counted up from 1 by the side that opens
 *
 * Each direction of each stream has a window: bytes that the receiver will take. It begins with MUX_WINDOW_FIRST bytes;
 * a CREDIT frame adds to it when the receiver's user has taken what came. A receiver lets the window grow to
 * MUX_WINDOW_MAX for a stream that carries much, as long as all windows together stay within a bound. So a stream that
 * nobody reads holds back nothing but itself, and what one connection can make us keep is bounded.
 *
 * Frames are taken one after the other by the carrier (mux_next()), which stops as long as enough waits. Frames without
 * data come first; of streams that have data, each in turn gives one frame. */
#ifndef DET_NET_STREAMS_MUX_H
#define DET_NET_STREAMS_MUX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"

enum {
    MUX_HEAD = 8,
    MUX_DATA_MAX = 60 * 1024, /* with all heads less than the 64 KiB that the kernel sends as one packet inside */
    MUX_FRAME_MAX = MUX_HEAD + MUX_DATA_MAX,
    MUX_WINDOW_FIRST = 64 * 1024,
    MUX_WINDOW_MAX = 1024 * 1024,
    MUX_GROWTH_MAX = 64 * 1024 * 1024, /* by which all windows of one connection together may grow */
    MUX_NAME_MAX = 96,                 /* bytes of what a stream is opened to */
    MUX_REASON_MAX = 300,              /* bytes of a reason; a longer one is cut */
    MUX_STREAMS_MAX = 16384,           /* of one connection, of which each side may demand less */
};

/*  kind, its number, and who sends it with which body */
#define MUX_KINDS(X) \
    X(OPEN, 1)   /* opener: the name of what to open */ \
    X(ACCEPT, 2) /* accepter: nothing */ \
    X(REFUSE, 3) /* accepter: the reason. The stream is gone */ \
    X(DATA, 4)   /* both, after ACCEPT: 1 to MUX_DATA_MAX bytes */ \
    X(CREDIT, 5) /* both: by how many bytes the window grows, a little-endian number of 4 bytes */ \
    X(END, 6)    /* both: nothing; this side sends no more data. After both sides' END the stream is gone */ \
    X(CLOSE, 7)  /* both: the reason. The stream is gone, and data that are under way are not wanted */

enum mux_kind {
#define MUX_KIND(name, number) MUX_##name = number,
    MUX_KINDS(MUX_KIND)
#undef MUX_KIND
};

struct mux;
struct mux_stream;

/* What the user of the multiplexer is told, always from within mux_receive() or mux_end(). `owner` is what mux_open()
 * or mux_set_owner() was given. A callback may call any function of this header, except those two and mux_free(). */
struct mux_handler {
    /* Somebody opens a stream: set its owner, and answer with mux_accept() or mux_refuse(), now or later. Only called
     * on the accepting side. */
    void (*on_asked)(void *ctx, struct mux_stream *s, const char *name);
    void (*on_accepted)(void *owner);
    void (*on_data)(void *owner, const void *data, size_t n); /* then call mux_consumed() */
    void (*on_end)(void *owner); /* not called if our END was sent already: on_closed(NULL) says both */
    void (*on_closed)(void *owner, const char *why); /* the stream is gone; why is NULL after both sides' END */
    void *ctx;
};

/* streams_max: for the accepting side; a stream beyond it is refused */
struct mux *mux_new(bool opens, size_t streams_max, const struct mux_handler *h);
void mux_free(struct mux *m); /* NULL is accepted; streams that are left are freed without a callback */
/* Ends every stream with on_closed(why), since the connection is gone. */
void mux_end(struct mux *m, const char *why);

/* ---- the connection's side ---- */

/* Takes one frame of the peer. Fails if the frame breaks the protocol: then the connection has to be closed, for the
 * reason in *err. */
int mux_receive(struct mux *m, const void *frame, size_t n, struct error *err);
/* A frame to be sent: its head, and then its body. */
struct mux_frame {
    uint8_t head[MUX_HEAD];
    const void *body; /* valid until the next call of a function of this header */
    size_t body_n;
};
/* What a frame has changed for a stream. */
struct mux_sent {
    void *owner;  /* NULL: nothing */
    bool emptied; /* nothing of what was written waits any more */
    bool over;    /* both sides have ended: the stream is gone */
};
/* Makes the next frame. Returns false if nothing may be sent at present. No callback is called. */
bool mux_next(struct mux *m, struct mux_frame *ret, struct mux_sent *ret_sent);
/* Makes a frame of the first bytes of `data` without keeping a copy of them, and returns how many they are. 0: they
 * have to be given to mux_write(), since other frames are to be sent before them, or the peer takes no more. */
size_t mux_pass(struct mux_stream *s, const void *data, size_t n, struct mux_frame *ret);
bool mux_has_frames(const struct mux *m);
size_t mux_count(const struct mux *m); /* streams that are open or being opened */

/* ---- the user's side ---- */

/* Opens a stream; name has at most MUX_NAME_MAX bytes. Fails only if the connection has no number left. */
int mux_open(struct mux *m, const char *name, void *owner, struct mux_stream **ret, struct error *err);
void mux_set_owner(struct mux_stream *s, void *owner);
void mux_accept(struct mux_stream *s);
void mux_refuse(struct mux_stream *s, const char *why); /* s is gone */
void mux_write(struct mux_stream *s, const void *data, size_t n);
size_t mux_pending(const struct mux_stream *s); /* bytes written that are in no frame yet */
/* The user has taken n bytes of what on_data brought, and the peer may send as many again. */
void mux_consumed(struct mux_stream *s, size_t n);
/* Sends END after what was written. If the peer's END has come, the stream is gone then (struct mux_sent). */
void mux_finish(struct mux_stream *s);
void mux_close(struct mux_stream *s, const char *why); /* s is gone, without a callback */

#endif
