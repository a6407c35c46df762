/* The session that a login opens, whatever has proved who logs in: a password, or a provider (api/sso). */
#ifndef DET_API_ACCOUNTS_LOGIN_SESSION_H
#define DET_API_ACCOUNTS_LOGIN_SESSION_H

#include "api/pipeline/handler.h"
#include "api/pipeline/identity.h"
#include "common/config/address_range.h"
#include "store/rows.h"

struct login_session {
    struct store_user user; /* as it was when the session was stored */
    struct token token;
    int64_t id, expiry_us;
    bool by_password;
    bool over_https; /* the cookie is never sent over plain http then */
    char address[ADDRESS_TEXT_MAX];
};

/* On the loop, while the client is there: notes the client's address, whether it uses https, and when the session will
 * end. ERR_CANCELED: the client has left. */
int login_session_begin(struct req *r, struct login_session *s, struct error *err);
/* On the writer's thread: makes a token and stores a session for `user`, as the store has it now. */
int login_session_store(struct req *r, struct store *db, const struct store_user *user, struct login_session *s,
                        struct error *err);
/* On the loop, after the commit: from now on the token opens requests. */
void login_session_remember(struct req *r, const struct login_session *s);
/* Gives the browser the session's cookie. */
void login_session_set_cookie(struct req *r, const struct login_session *s);
void login_session_clear_cookie(struct req *r, bool over_https);

#endif
