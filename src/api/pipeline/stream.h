/* Streams of lines: {"result": …} per line, chunked, docs/spec/wire.md#streams.
 *
 * A stream handler checks its request and returns `req_stream(r, topic, fetch)`. `fetch` runs on a reader thread
 * whenever the client has taken what was sent: it appends lines with stream_add() and says how to go on. So a slow
 * client costs one batch of memory and a reader only while it reads. STREAM_WAIT sleeps until api_wake() (wait.h) is
 * called for the topic, after a commit.
 *
 * Nothing is sent before the first line: an error before it is an HTTP status with the stream error body, a later one
 * is a last line. */
#ifndef DET_API_PIPELINE_STREAM_H
#define DET_API_PIPELINE_STREAM_H

#include "api/pipeline/handler.h"

enum stream_next {
    STREAM_MORE, /* there may be more right away */
    STREAM_WAIT, /* there is nothing new now; wait for the topic */
    STREAM_END,
};

enum { STREAM_BATCH_BYTES = 64 * 1024 }; /* fetch should stop adding lines when the batch has about this many bytes */

typedef int stream_fetch_fn(struct req *r, struct store *db, enum stream_next *ret_next, struct error *err);

/* `return req_stream(...)` from a stream handler. topic may be NULL for a stream that never waits. */
int req_stream(struct req *r, const char *topic, stream_fetch_fn *fetch);
/* For a stream that may have what it needs in memory. `before` runs on the loop before each fetch: STREAM_MORE
 * starts the fetch; STREAM_WAIT and STREAM_END replace it. `after` runs on the loop after each fetch. */
struct stream_memory {
    enum stream_next (*before)(struct req *r);
    void (*after)(struct req *r);
};
int req_stream_fed(struct req *r, const char *topic, stream_fetch_fn *fetch, const struct stream_memory *memory);
/* For a stream of bytes. Its fetch runs on a thread that may wait for a disk or a network (api_services.transfers).
 * An error before the first byte is the reply; a later error ends the connection. */
struct stream_head {
    int status;
    const char *content_type;
    bool has_length;
    uint64_t length;
};
typedef int stream_bytes_fn(struct req *r, enum stream_next *ret_next, struct error *err);
int req_stream_bytes(struct req *r, const struct stream_head *head, stream_bytes_fn *fetch);
/* For a text of another form than lines of JSON. Its fetch runs on a reader thread; the errors are those of a stream of
 * bytes. */
int req_stream_text(struct req *r, const struct stream_head *head, stream_fetch_fn *fetch);
struct strbuf *stream_batch(struct req *r); /* the buffer that `fetch` appends to */

/* Appends one result line to the batch; response has the route's response type. Call it in `fetch` only. */
void stream_add(struct req *r, const void *response);
size_t stream_batch_bytes(const struct req *r);

#endif
