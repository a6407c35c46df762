/* What only other files of src/net may know of a loop. */
#ifndef DET_NET_LOOP_LOOP_INTERNAL_H
#define DET_NET_LOOP_LOOP_INTERNAL_H

#include "net/loop/loop.h"

struct evdns_base;

/* Removes every post of (fn, ctx) that has not run: for objects that are freed while posts wait. Call it on the loop's
 * thread. */
void loop_unpost(struct loop *l, loop_fn *fn, void *ctx);

/* The resolver, made on first use; NULL if it cannot be made. */
struct evdns_base *loop_dns(struct loop *l);

/* One object per loop, made on first use (the HTTP client's transfers); loop_free() releases it. */
void *loop_fetcher(const struct loop *l);
void loop_set_fetcher(struct loop *l, void *fetcher, void (*release)(void *fetcher));

/* Memory that the WebSockets of a loop share, n bytes of it, which is the same for each call. It lives as long as the
 * loop. */
void *loop_shared_memory(struct loop *l, size_t n);

#endif
