#include "api/accounts/login_session.h"

#include <string.h>

#include "api/pipeline/convert.h"
#include "api/pipeline/internal.h"
#include "api/rights/origin.h"
#include "common/config/config.h"
#include "store/functions.h"

#define SECOND_US INT64_C(1000000)

int login_session_begin(struct req *r, struct login_session *s, struct error *err)
{
    struct address client;
    if (!r->http)
        return error_set(err, ERR_CANCELED, "the client has left");
    s->over_https = origin_is_https(r->api->proxies, r->http);
    s->expiry_us = r->now_us +
                   config_int(api_info(r->api)->config, "security.session_lifetime_hours") * 3600 * SECOND_US;
    origin_client(r->api->proxies, r->http, &client);
    address_text(&client, s->address);
    return 0;
}

int login_session_store(struct req *r, struct store *db, const struct store_user *user, struct login_session *s,
                        struct error *err)
{
    struct store_session row = {.user_id = user->id,
                                .kind = "LOGIN",
                                .scope = access_scope_name(ACCESS_SCOPE_LOGIN),
                                .created_us = r->now_us,
                                .expiry_us = s->expiry_us};
    if (!user->active)
        return error_set(err, ERR_FORBIDDEN, "user is not active");
    if (token_new(&s->token, err) < 0)
        return -1;
    memcpy(row.token_hash, s->token.hash, sizeof(row.token_hash));
    if (store_session_insert(db, &row, &s->id, err) < 0 || store_user_touch_auth(db, user->id, r->now_us, err) < 0)
        return -1;
    s->user = *user;
    s->user.last_auth_us = r->now_us;
    return 0;
}

void login_session_remember(struct req *r, const struct login_session *s)
{
    struct identity_session opened = {.kind = PRINCIPAL_USER,
                                      .scope = ACCESS_SCOPE_LOGIN,
                                      .id = s->id,
                                      .user_id = s->user.id,
                                      .password_at_us = s->by_password ? r->now_us : 0,
                                      .expires_at_us = s->expiry_us};
    struct identity_user u;
    identity_of_store(&s->user, &u);
    identities_put_user(api_identities(r->api), &u);
    identities_put_session(api_identities(r->api), s->token.hash, &opened);
}

/* A browser never sends a Secure cookie over plain http. SameSite keeps the cookie from most requests that pages of
 * other sites make; api/rights/origin.h refuses the others. */
static void set_cookie(struct req *r, const char *value, long long seconds, bool secure)
{
    req_add_header(r, "Set-Cookie",
                   arena_printf(&r->arena, "auth=%s; Path=/; Max-Age=%lld; HttpOnly; SameSite=Lax%s", value, seconds,
                                secure ? "; Secure" : ""));
}

void login_session_set_cookie(struct req *r, const struct login_session *s)
{
    set_cookie(r, s->token.text, (s->expiry_us - r->now_us) / SECOND_US, s->over_https);
}

void login_session_clear_cookie(struct req *r, bool over_https)
{
    set_cookie(r, "", 0, over_https);
}
