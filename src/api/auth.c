/* Login, logout, who am I. */
#include <openssl/crypto.h>
#include <stdio.h>
#include <string.h>

#include "api/convert.h"
#include "api/identity.h"
#include "api/password.h"
#include "common/config.h"
#include "common/log.h"
#include "gen/handlers.h"
#include "store/sessions.h"
#include "store/users.h"

/* ---- login: read the account, check the password on a worker, store the session, know it on the loop ---- */

struct login {
    const char *wire_password;
    struct store_user user;
    bool known;
    struct token token;
    int64_t session_id;
};

/* A browser then never sends the cookie in the clear. */
static bool over_tls(const struct req *r)
{
    const char *cert = config_str(api_info(r->api)->config, "security.tls.cert");
    return cert && *cert;
}

static int login_remember(struct req *r, struct error *err)
{
    struct login *l = r->state;
    struct identity_session s = {.kind = PRINCIPAL_USER, .id = l->session_id,
                                 .user_id = l->user.id,
                                 .expires_at_us = r->now_us + SESSION_LIFETIME_US};
    struct identity_user u;
    identity_of_store(&l->user, &u);
    identities_put_user(api_identities(r->api), &u);
    identities_put_session(api_identities(r->api), l->token.hash, &s);
    struct wire_login_response *ret = r->ret;
    ret->token = arena_strdup(&r->arena, l->token.text);
    ret->user = user_to_wire(&l->user, &r->arena);
    req_add_header(r, "Set-Cookie",
                   arena_printf(&r->arena, "auth=%s; Path=/; Max-Age=%lld; HttpOnly; SameSite=Lax%s", l->token.text,
                                SESSION_LIFETIME_US / 1000000, over_tls(r) ? "; Secure" : ""));
    log_info("user.login", "user=%s", log_quote(l->user.username));
    return 0;
}

static int login_store(struct req *r, struct error *err)
{
    struct login *l = r->state;
    struct store_session s = {.user_id = l->user.id, .kind = "LOGIN", .created_us = r->now_us,
                              .expiry_us = r->now_us + SESSION_LIFETIME_US};
    memcpy(s.token_hash, l->token.hash, sizeof(s.token_hash));
    if (store_session_insert(r->db, &s, &l->session_id, err) < 0 ||
        store_user_touch_auth(r->db, l->user.id, r->now_us, err) < 0)
        return -1;
    l->user.last_auth_us = r->now_us;
    return req_then(r, REQ_LOOP, login_remember);
}

static int login_check(struct req *r, struct error *err)
{
    struct login *l = r->state;
    bool usable = l->known && l->user.password_hash && !l->user.remote;
    if (!usable)
        password_burn_check(l->wire_password);
    if (!usable || !password_matches(l->wire_password, l->user.password_hash))
        return error_set(err, ERR_UNAUTHENTICATED, "invalid credentials");
    if (!l->user.active)
        return error_set(err, ERR_FORBIDDEN, "user is not active");
    if (token_new(&l->token, err) < 0)
        return -1;
    return req_then(r, REQ_WRITE, login_store);
}

int api_login(struct req *r, const struct wire_login_request *in, struct wire_login_response *ret, struct error *err)
{
    if (!in->username || !*in->username)
        return error_set(err, ERR_INVALID, "missing argument: username");
    struct login *l = arena_new(&r->arena, struct login);
    r->state = l;
    if (password_wire_form(in->password, in->is_hashed, &r->arena, &l->wire_password, err) < 0)
        return -1;
    cleanup_error struct error unknown = ERROR_INIT;
    l->known = store_user_by_name(r->db, in->username, &r->arena, &l->user, &unknown) == 0;
    if (!l->known && unknown.kind != ERR_NOT_FOUND) {
        error_move(err, &unknown);
        return -1;
    }
    return req_then(r, REQ_WORK, login_check);
}

/* ---- logout ---- */

static int logout_forget(struct req *r, struct error *err)
{
    identities_drop_session(api_identities(r->api), r->who.session_id);
    req_add_header(r, "Set-Cookie", "auth=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax");
    return 0;
}

int api_logout(struct req *r, const struct wire_logout_request *in, struct wire_logout_response *ret, struct error *err)
{
    if (r->who.kind != PRINCIPAL_USER)
        return error_set(err, ERR_INVALID, "the session of a task can't be logged out; it ends with its allocation");
    if (store_session_delete(r->db, r->who.token_hash, err) < 0)
        return -1;
    return req_then(r, REQ_LOOP, logout_forget);
}

/* ---- who am I: from memory, asked by every client before everything else ---- */

static int who_am_i(struct req *r, const struct wire_user **ret, struct error *err)
{
    const struct identity_user *u = identities_user(api_identities(r->api), r->who.user_id);
    if (!u)
        return error_set(err, ERR_UNAUTHENTICATED, "invalid credentials");
    *ret = identity_to_wire(u, &r->arena);
    return 0;
}

int api_get_me(struct req *r, const struct wire_get_me_request *in, struct wire_get_me_response *ret, struct error *err)
{
    return who_am_i(r, &ret->user, err);
}

int api_current_user(struct req *r, const struct wire_current_user_request *in, struct wire_current_user_response *ret,
                     struct error *err)
{
    return who_am_i(r, &ret->user, err);
}
