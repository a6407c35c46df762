/* What the requests to /proxy/ share: the services that were looked up, the relays, and how many connections each user
 * has to tasks. */
#ifndef DET_API_PROXY_PROXY_H
#define DET_API_PROXY_PROXY_H

#include "common/base/error.h"

struct config;
struct core;
struct loop;
struct proxy;

struct proxy *proxy_new(struct loop *l, struct core *core,
                        const struct config *c); /* without a configuration nothing is let through */
void proxy_free(struct proxy *p);                /* call it after http_server_free(); NULL is accepted */

#endif
