/* Where people sign in besides with a password, as clients are told by GET /info and GetMaster. */
#ifndef DET_API_PIPELINE_SIGN_IN_H
#define DET_API_PIPELINE_SIGN_IN_H

#include <stdbool.h>

#include "common/base/arena.h"

struct config;

struct sign_in_provider {
    const char *name, *type;
    const char *base; /* the master's own address as the provider knows it, without a slash at the end */
    const char *url;  /* where a login begins */
    bool always_redirect;
};

/* False: people sign in with passwords only. The texts are in the arena. Any thread may call it. */
bool sign_in_provider_of(const struct config *c, struct arena *a, struct sign_in_provider *ret);

#endif
