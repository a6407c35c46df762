/* Long polls: requests that sleep until something happens to a thing, or a time is up.
 *
 * Things are named by topics, "preemption/12.uuid.1": the kind and the id. `return req_wait_topic(r, topic, timeout_us,
 * step)` sleeps; api_wake(topic) or the time-out runs `step` on the loop (r->timed_out tells which); a client that
 * leaves ends it. */
#ifndef DET_API_PIPELINE_WAIT_H
#define DET_API_PIPELINE_WAIT_H

#include "api/pipeline/handler.h"

enum { WAIT_TOPIC_MAX = 192 };

void wait_topic(char ret[WAIT_TOPIC_MAX], const char *kind, const char *id);

/* timeout_us 0: no limit. A wait that was woken may sleep again for the rest of its time, which r->deadline_us
 * keeps. */
int req_wait_topic(struct req *r, const char *topic, int64_t timeout_us, req_loop_fn *step);

/* Wakes the long polls and streams of the topic. Call it on the loop. */
void api_wake(struct api *a, const char *topic);

#endif
