/* A POST to an address that a user has named, such as that of a webhook. The peer is not trusted: it may be nobody,
 * lead into the master's own network, redirect, answer slowly, or answer for ever. So
 *
 * - every address that is connected to is asked for first, after its name was resolved, and after each redirect;
 * - nothing but http and https is spoken, no proxy and no .netrc of the environment is used;
 * - the exchange has one limit in time, and what is received has a limit in size.
 *
 * A redirect that keeps the method (307, 308) is followed with the body; any other one is followed by a POST, too. */
#ifndef DET_NET_CLIENT_OUTBOUND_H
#define DET_NET_CLIENT_OUTBOUND_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/base/error.h"
#include "common/config/address_range.h"

struct outbound_post {
    const char *url;
    const char *const *header; /* "Name: value" …, NULL-terminated */
    const void *body;
    size_t body_n;
    int timeout_s;
    bool (*may_connect)(const struct address *a, void *ctx);
    void *ctx;
    const atomic_bool *abandoned; /* the exchange ends soon after this is set; may be NULL */
};

/* Returns 0 if an HTTP status came back, whatever it is. ERR_FORBIDDEN: may_connect() has refused an address, which a
 * further attempt would not change. ERR_UNAVAILABLE: nobody has answered in time. */
int outbound_post(const struct outbound_post *p, int *ret_status, struct error *err);

#endif
