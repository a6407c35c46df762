/* What the carriers of byte streams share. Other files do not include it.
 *
 * A carrier embeds a struct byte_stream as its first member and has a table of functions. It tells the stream's user
 * through stream_tell_…(), only from the loop (an event, a timer, a message that came, or `wake`), and touches the
 * stream afterwards only if the call has returned true: the user may have dropped it. What happens within a call by the
 * user is told later: stream_soon() has `wake` called in the loop's next turn. */
#ifndef DET_NET_STREAMS_BYTE_STREAM_INTERNAL_H
#define DET_NET_STREAMS_BYTE_STREAM_INTERNAL_H

#include <stdint.h>
#include <sys/queue.h>

#include "common/base/hash.h"
#include "net/streams/byte_stream.h"

struct byte_stream_carrier {
    void (*write)(struct byte_stream *s, const void *data, size_t n);
    size_t (*pending)(const struct byte_stream *s);
    void (*hold)(struct byte_stream *s, bool on);
    void (*end)(struct byte_stream *s);
    void (*wake)(struct byte_stream *s);
    /* Lets go of what carries the stream. why: for the peer; NULL if the stream is closed already. No function of this
     * table but `release` follows. */
    void (*leave)(struct byte_stream *s, const char *why);
    /* Frees the memory, or puts the stream into the list of remnants until what carried it has come to its end. */
    void (*release)(struct byte_stream *s);
    void (*end_remnant)(struct byte_stream *s); /* ends and frees a remnant; NULL where there are none */
};

struct stream_group {
    size_t n;
    UT_hash_handle hh;
    char name[];
};

struct byte_stream {
    const struct byte_stream_carrier *carrier;
    struct byte_stream_handler handler;
    struct byte_streams *all;
    unsigned telling; /* callbacks of its user that are being called */
    bool gone;        /* dropped or closed */
    bool opened;      /* the stream's user may have data */
    bool timed_out;   /* why it is closed: nobody has answered in time */
    bool soon;        /* in the list of those to wake */
    uint64_t soon_turn;
    struct stream_group *group; /* NULL: none */
    TAILQ_ENTRY(byte_stream) in_all, in_soon;
};

TAILQ_HEAD(byte_stream_list, byte_stream);

struct stream_join;
TAILQ_HEAD(stream_join_list, stream_join);

struct byte_streams {
    struct loop *loop;
    struct byte_stream_list list, soon, remnants;
    struct stream_join_list joins; /* stream_join.c */
    struct stream_group *groups;
    struct byte_streams_stats stats;
    bool posted, ending;
    uint64_t turn;
    /* What is read from a descriptor lies here until the user's callback returns. */
    char *piece;
};

enum { PIECE_MAX = 256 * 1024 };

void stream_init(struct byte_stream *s, struct byte_streams *all, const struct byte_stream_carrier *carrier,
                 const struct byte_stream_handler *h);
void stream_soon(struct byte_stream *s);
void stream_set_open(struct byte_stream *s); /* a stream that is open from its beginning, or whose user opens it */
bool stream_tell_open(struct byte_stream *s);
bool stream_tell_data(struct byte_stream *s, const void *data, size_t n);
bool stream_tell_drained(struct byte_stream *s);
bool stream_tell_end(struct byte_stream *s);
void stream_tell_close(struct byte_stream *s, const char *why); /* s is gone afterwards */

void stream_joins_drop(struct byte_streams *all);

#endif
