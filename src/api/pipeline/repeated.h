/* Streams that come again every few seconds: `fetch` runs once more when the period is over, until it says STREAM_END. For
 * what nobody is told of, or is told of too often. */
#ifndef DET_API_REPEATED_H
#define DET_API_REPEATED_H

#include "api/pipeline/stream.h"
#include "api/pipeline/wait.h"

struct loop_timer;

struct repeated { /* r->state */
    char topic[WAIT_TOPIC_MAX];
    struct loop_timer *timer;
    struct api *api;
    int64_t period_us;
    bool sent;  /* something: such a stream says at least one thing */
    void *seen; /* of the stream's own */
};

/* `return repeated_stream(...)` from a stream handler. period_s 0: as usual. */
int repeated_stream(struct req *r, int32_t period_s, void *seen, stream_fetch_fn *fetch, struct error *err);
void repeated_end(struct req *r); /* is its r->on_end; one that sets its own calls it */
/* A line if there is anything to say, or nothing was said yet. In fetch only. */
void repeated_send(struct req *r, bool anything, const void *response);

#endif
