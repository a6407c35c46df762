/* The provider at which people can sign in without a password of this cluster, as GET /info and GetMaster show it. */
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
