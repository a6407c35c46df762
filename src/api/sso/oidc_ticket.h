/* The ticket of one login at a provider of OpenID Connect: it ties the provider's answer to the browser that asked, and
 * to what the browser asked for. The master keeps nothing of a login under way. The browser has a cookie with a random
 * number, the time, and the page to go to afterwards; what the provider is given is computed of that cookie by HMAC
 * with a key that only this process has:
 *
 *     state      comes back with the browser: the browser that brings the answer must have the cookie
 *     nonce      comes back within the signed ID token: the token was made for this login
 *     verifier   PKCE (RFC 7636): only the master can use the code of this login
 *
 * So nobody can make a ticket but the master, a flood of logins takes no memory, and a ticket ends with the master's
 * process. Pure functions but for the random number. */
#ifndef DET_API_SSO_OIDC_TICKET_H
#define DET_API_SSO_OIDC_TICKET_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/arena.h"
#include "common/base/error.h"

enum {
    OIDC_TICKET_KEY = 32,         /* bytes */
    OIDC_TICKET_LIFE_S = 10 * 60, /* how long somebody may take for the provider's pages */
    OIDC_TICKET_RELAY_MAX = 2048, /* bytes */
};

struct oidc_ticket {
    const char *cookie, *state, *nonce, *verifier;
    const char *challenge; /* the SHA-256 of the verifier, which the provider is given first */
    const char *relay;     /* what the login was asked to go on with: "" or what oidc_relay_check() lets through */
};

/* Where a login may lead: "cli" (also "cli=true", as older clients ask), the port of `det` on the user's machine; or a
 * path of this master. ERR_INVALID for everything else, so that a link to the login page cannot lead to another host.
 */
int oidc_relay_check(const char *relay, struct error *err);
bool oidc_relay_is_cli(const char *relay);

int oidc_ticket_new(const uint8_t key[OIDC_TICKET_KEY], int64_t now_us, const char *relay, struct arena *a,
                    struct oidc_ticket *ret, struct error *err);
/* Opens the ticket of the cookie that a browser brings together with the state. ERR_INVALID: there is no cookie, it is
 * not the master's, or it belongs to another state; ERR_DEADLINE: it is too old. */
int oidc_ticket_open(const uint8_t key[OIDC_TICKET_KEY], int64_t now_us, const char *cookie, const char *state,
                     struct arena *a, struct oidc_ticket *ret, struct error *err);

#endif
