/* Whether somebody who shows a password, a secret or a token may try now: login_limits.h for a request. */
#ifndef DET_API_ACCOUNTS_LOGIN_ATTEMPT_H
#define DET_API_ACCOUNTS_LOGIN_ATTEMPT_H

#include "api/accounts/login_limits.h"
#include "api/pipeline/handler.h"

/* The attempt of this request's address to be `account`. To be called before the first step ends: r->http is needed. */
void login_attempt_begin(struct req *r, const char *account, struct login_attempt *ret);
/* ERR_TOO_MANY, with Retry-After: it has to wait. Call it on the loop. `what` is what has failed too often, such as
 * "to this account". ret_standing may be NULL. */
int login_attempt_check(struct req *r, const struct login_attempt *at, const char *what,
                        enum login_standing *ret_standing, struct error *err);

#endif
