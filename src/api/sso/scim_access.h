/* Who asks for something below /scim: a directory service, by the name and password of scim.auth, by that password as a
 * bearer token, or by a token that it has got from /oauth2/token. With scim.auth.type "oauth" only such tokens count.
 * Guessing is as slow as it is for accounts (api/accounts/login_limits.h), but a good token never waits: nobody guesses
 * one. */
#ifndef DET_API_SSO_SCIM_ACCESS_H
#define DET_API_SSO_SCIM_ACCESS_H

#include "api/accounts/login_attempt.h"
#include "api/pipeline/handler.h"

/* r->state points to a struct that begins with this one. */
struct scim_caller {
    const char *name; /* as the audit log shows it */
    req_loop_fn *next;
    struct login_attempt attempt;
    /* What the Authorization header has. */
    bool has_tried;    /* something */
    bool is_bearer;    /* a bearer token */
    bool has_password; /* the password of scim.auth */
    const char *token; /* what may be a token of OAuth; NULL: none was looked for */
    /* What the store says of the token. */
    bool is_known;  /* the token is good */
    bool has_ended; /* the token was good */
};

/* Goes on with `next`, on the loop, once the caller is known. */
int scim_access(struct req *r, struct core *core, req_loop_fn *next, struct error *err);
/* ERR_NOT_FOUND: scim.enabled is false. */
int scim_check_enabled(const struct req *r, struct error *err);

#endif
