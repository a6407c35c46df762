/* What the master demands of the programs to which it gives tokens for SCIM, by OAuth 2.0 (RFC 6749, RFC 7636 and the
 * advice of RFC 9700): docs/decisions/0027-tokens-for-scim.md. Pure functions. */
#ifndef DET_API_SSO_OAUTH_RULES_H
#define DET_API_SSO_OAUTH_RULES_H

#include <stdbool.h>

#include "common/base/arena.h"
#include "common/base/error.h"

enum {
    OAUTH_URI_MAX = 2000,                      /* bytes of an address to which browsers are sent */
    OAUTH_STATE_MAX = 2000,                    /* bytes of the state that a client gets back */
    OAUTH_CLIENTS_MAX = 20,                    /* more than one, so that a secret can be replaced without a gap */
    OAUTH_CODE_LIFE_S = 60,                    /* of a code */
    OAUTH_ACCESS_LIFE_S = 60 * 60,             /* of a token for SCIM, which RFC 6749 calls an access token */
    OAUTH_REFRESH_LIFE_S = 180 * 24 * 60 * 60, /* of a refresh token, from its last use */
    OAUTH_KEPT_S = 24 * 60 * 60,               /* so long after its end a code or token is still known as one */
    OAUTH_ACCESS_MAX = 20,                     /* such tokens of a client; the oldest ends when there is one more */
};

/* The only scope that there is; what a client asks for beyond it is not given, and it is told so. */
#define OAUTH_SCOPE "scim"
/* What comes before the name of a client where the audit log names an author. No user name has a colon. */
#define OAUTH_AUTHOR "oauth-client:"

/* ERR_INVALID: browsers are not sent to this address. It is https://, or http:// to the browser's own machine. */
int oauth_check_redirect(const char *uri, struct error *err);
/* Scheme, host and port of an address that oauth_check_redirect() lets through. */
const char *oauth_origin(const char *uri, struct arena *a);

/* What a browser brings to GET /oauth2/authorize. NULL: it is not said. */
struct oauth_request {
    const char *client_id, *redirect_uri, *response_type, *state, *challenge, *challenge_method;
};
/* Whether the browser may be sent to the client's address at all: ERR_INVALID, which the person is shown. */
int oauth_check_address(const struct oauth_request *q, const char *registered, struct error *err);
/* What else is wrong, as the client is told it; NULL: nothing is. */
const char *oauth_fault(const struct oauth_request *q);
/* The client's address with the answer: `name` is "code" or "error". state may be NULL. */
const char *oauth_answer(const char *redirect_uri, const char *name, const char *value, const char *state,
                         struct arena *a);
/* Whether the verifier (NULL: none is given) is what the challenge was made of ("": the code has none). */
bool oauth_verifier_fits(const char *verifier, const char *challenge);

#endif
