/* A byte stream: bytes in both directions, in order, each of which may end by itself. What carries the bytes is hidden
 * behind one interface:
 *
 *   byte_stream_dial()    a TCP connection that is made now
 *   byte_stream_of_fd()   a connection or a pair of pipes that exists already
 *   ws_stream.h           binary messages of a WebSocket
 *   mux_link.h            one of many streams within the connection between master and agent
 *
 * Everything happens on the loop's thread. Callbacks come from the loop only, never from within a call of this header,
 * and every function may be called from within a callback, byte_stream_drop() included.
 *
 * The writer decides how much it lets wait: byte_stream_write() always copies. Hold your source while more than
 * BYTE_STREAM_WAITS bytes wait (byte_stream_pending()), and release it in on_drained. */
#ifndef DET_NET_STREAMS_BYTE_STREAM_H
#define DET_NET_STREAMS_BYTE_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"
#include "net/loop/loop.h"

enum { BYTE_STREAM_WAITS = 256 * 1024 };

struct byte_stream;

/* Any function may be NULL. */
struct byte_stream_handler {
    void (*on_open)(struct byte_stream *s, void *ctx); /* the port accepted; what was written before is on its way */
    void (*on_data)(struct byte_stream *s, const void *data, size_t n, void *ctx);
    void (*on_drained)(struct byte_stream *s, void *ctx); /* bytes had to wait after a write, and none waits any more */
    void (*on_end)(struct byte_stream *s, void *ctx);     /* the peer sends no more; we may still write */
    /* Called once, unless the stream is dropped; the stream is gone afterwards. why is NULL if both sides have ended
     * their direction; otherwise it is a sentence without a full stop, for people. */
    void (*on_close)(struct byte_stream *s, const char *why, void *ctx);
    void *ctx;
};

/* For on_close: nobody has answered in time. */
bool byte_stream_timed_out(const struct byte_stream *s);
void byte_stream_write(struct byte_stream *s, const void *data, size_t n); /* copies */
size_t byte_stream_pending(const struct byte_stream *s);                   /* bytes written that have not left */
void byte_stream_hold(struct byte_stream *s, bool on); /* no on_data while on: the peer has to wait */
void byte_stream_end(struct byte_stream *s);           /* ends our direction, after what was written */
void byte_stream_drop(struct byte_stream *s);          /* ends the stream now; no callback is called any more */
/* Drops the stream, and tells the peer why where the carrier has words (a WebSocket, a link; TCP has none). */
void byte_stream_abort(struct byte_stream *s, const char *why);
/* Gives the stream to another user: from now on the callbacks are those of h, which is copied. */
void byte_stream_set_handler(struct byte_stream *s, const struct byte_stream_handler *h);

/* The streams of one loop: what they share, and what ends them when the loop ends. */
struct byte_streams;
struct byte_streams *byte_streams_new(struct loop *l);
void byte_streams_free(struct byte_streams *all); /* drops the streams that are left; NULL is accepted */

struct byte_streams_stats {
    size_t open;             /* streams at present, those that are being opened included */
    uint64_t opened, failed; /* so far; failed: they were never open */
    uint64_t bytes_in, bytes_out;
};
struct byte_streams_stats byte_streams_stats(const struct byte_streams *all);

/* Counts the streams of one group, such as one task: a stream leaves its group when it ends. */
void byte_stream_join_group(struct byte_stream *s, const char *group);
size_t byte_streams_count_group(const struct byte_streams *all, const char *group);

/* Connects to a numeric address. A port that does not accept is reported by on_close, as is one that does not answer
 * within timeout_s. Fails only if the address is not numeric, or if the program has no descriptor left. */
int byte_stream_dial(struct byte_streams *all, const char *address, int port, int timeout_s,
                     const struct byte_stream_handler *h, struct byte_stream **ret, struct error *err);
/* Takes over descriptors that are open: a connected socket (in and out are the same), or two pipes. on_open is not
 * called. */
struct byte_stream *byte_stream_of_fd(struct byte_streams *all, int in, int out, const struct byte_stream_handler *h);

#endif
