/* ID tokens of OpenID Connect (OpenID Connect Core 1.0, 3.1.3.7): whether one was made by the provider, for this
 * cluster, for this login, and is valid now. The signature is checked by libcjose. A pure function. */
#ifndef DET_API_SSO_ID_TOKEN_H
#define DET_API_SSO_ID_TOKEN_H

#include <stdint.h>

#include "common/base/error.h"
#include "common/json/json.h"

enum { ID_TOKEN_LEEWAY_S = 60 }; /* how far the provider's clock and the master's may be apart */

struct id_token_expected {
    const char *issuer, *client_id, *nonce;
    int64_t now_s;
};

/* `keys` is the provider's JSON Web Key Set. The caller gives *ret_claims back with json_object_put(). ERR_NOT_FOUND:
 * the token names a key that is not in the set, so that the set should be fetched again. ERR_UNAUTHENTICATED: the token
 * is not what is expected, and the sentence says which part. */
int id_token_verify(const char *token, struct json_object *keys, const struct id_token_expected *expected,
                    struct json_object **ret_claims, struct error *err);

#endif
