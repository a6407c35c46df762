/* Streams that repeat a query: `fetch` runs again after each period, until it returns STREAM_END. For data whose
 * changes wake no topic, or would wake it too often. */
#ifndef DET_API_PIPELINE_REPEATED_H
#define DET_API_PIPELINE_REPEATED_H

#include "api/pipeline/stream.h"
#include "api/pipeline/wait.h"

struct loop_timer;

struct repeated { /* what r->state points to */
    char topic[WAIT_TOPIC_MAX];
    struct loop_timer *timer;
    struct api *api;
    int64_t period_us;
    bool sent;  /* whether a line was sent: each stream sends at least one */
    void *seen; /* belongs to the stream's handler */
};

/* `return repeated_stream(...)` from a stream handler. period_s 0: the default period. */
int repeated_stream(struct req *r, int32_t period_s, void *seen, stream_fetch_fn *fetch, struct error *err);
void repeated_end(struct req *r); /* the request's r->on_end; a handler that sets its own must call this from it */
/* Adds a line if `anything` is set or if no line was sent yet. Call it in `fetch` only. */
void repeated_send(struct req *r, bool anything, const void *response);

#endif
