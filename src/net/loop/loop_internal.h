/* What the other files of src/net may know of a loop; nothing outside of src/net includes this. */
#ifndef DET_NET_LOOP_INTERNAL_H
#define DET_NET_LOOP_INTERNAL_H

#include "net/loop/loop.h"

struct evdns_base;

/* Takes back every post of (fn, ctx) that has not run: for objects that die with posts under way. From the loop's
 * thread. */
void loop_unpost(struct loop *l, loop_fn *fn, void *ctx);

/* The resolver, made on first use; NULL if it cannot be made. */
struct evdns_base *loop_dns(struct loop *l);

/* One lazily made object per loop (the HTTP client's transfers), released by loop_free(). */
void *loop_fetcher(const struct loop *l);
void loop_set_fetcher(struct loop *l, void *fetcher, void (*release)(void *fetcher));

#endif
