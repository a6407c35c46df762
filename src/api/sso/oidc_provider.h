/* What a provider of OpenID Connect says of itself: its discovery document (OpenID Connect Discovery 1.0). Pure
 * functions. */
#ifndef DET_API_SSO_OIDC_PROVIDER_H
#define DET_API_SSO_OIDC_PROVIDER_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/arena.h"
#include "common/base/error.h"

struct oidc_provider {
    const char *issuer; /* exactly as the provider writes it */
    const char *authorization, *token, *keys;
    const char *userinfo; /* "": there is none */
    bool secret_in_body;  /* how the client's secret is sent: in the body, or in the header Authorization */
};

/* Where the document is. */
const char *oidc_discovery_url(const char *issuer, struct arena *a);
/* ERR_BAD_GATEWAY: the document is not one of this issuer, or lacks something. */
int oidc_provider_read(const char *text, size_t n, const char *issuer, struct arena *a, struct oidc_provider *ret,
                       struct error *err);

#endif
