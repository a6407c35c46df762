#include "api/sso/scim_access.h"

#include <openssl/crypto.h>
#include <string.h>

#include "api/pipeline/identity.h"
#include "api/pipeline/internal.h"
#include "api/pipeline/raw.h"
#include "api/rights/secret.h"
#include "api/sso/oauth_rules.h"
#include "common/base/base64.h"
#include "common/base/clock.h"
#include "common/config/config.h"
#include "net/http/http.h"
#include "store/functions.h"

enum { CREDENTIAL_MAX = 1024 };

int scim_check_enabled(const struct req *r, struct error *err)
{
    return config_bool(api_info(r->api)->config, "scim.enabled")
               ? 0
               : error_set(err, ERR_NOT_FOUND, "SCIM is not switched on here (scim.enabled)");
}

static bool takes_tokens_only(const struct req *r)
{
    return strcmp(config_str(api_info(r->api)->config, "scim.auth.type"), "oauth") == 0;
}

static bool credentials_match(const struct config *c, const char *header)
{
    const char *name = config_str(c, "scim.auth.username"), *password = config_str(c, "scim.auth.password");
    char text[CREDENTIAL_MAX * 2];
    size_t n;
    if (strncmp(header, "Bearer ", 7) == 0)
        return secret_matches(header + 7, strlen(header + 7), password);
    if (strncmp(header, "Basic ", 6) != 0 || base64_decode(header + 6, strlen(header + 6), (uint8_t *)text, &n) < 0)
        return false;
    const char *colon = memchr(text, ':', n);
    size_t name_n = colon ? (size_t)(colon - text) : n;
    bool right = colon && secret_matches(text, name_n, name) && secret_matches(colon + 1, n - name_n - 1, password);
    OPENSSL_cleanse(text, sizeof(text));
    return right;
}

/* has_failed: a guess, which counts. Of a bearer token that is refused, RFC 6750, 3.1 wants it said that it is no good.
 */
static int refuse(struct req *r, bool has_failed, struct error *err)
{
    const struct scim_caller *c = r->state;
    bool tokens_only = takes_tokens_only(r);
    if (has_failed)
        login_limits_failed(r->api->login_limits, &c->attempt, clock_now_us());
    req_add_header(r, "WWW-Authenticate",
                   c->is_bearer  ? "Bearer realm=\"scim\", error=\"invalid_token\""
                   : tokens_only ? "Bearer realm=\"scim\""
                                 : "Basic realm=\"scim\"");
    return error_set(err, ERR_UNAUTHENTICATED, "%s",
                     c->has_ended  ? "this token has ended: get another one from /oauth2/token"
                     : tokens_only ? "a token of /oauth2/token is needed here"
                                   : "name and password of scim.auth, or a token of /oauth2/token, are needed here");
}

/* What is no token: only this has to wait after failures. */
static int judge_password(struct req *r, struct core *core, struct error *err)
{
    struct scim_caller *c = r->state;
    if (login_attempt_check(r, &c->attempt, "to SCIM", NULL, err) < 0)
        return -1;
    if (!c->has_password)
        return refuse(r, c->has_tried, err);
    c->name = config_str(api_info(r->api)->config, "scim.auth.username");
    return c->next(r, core, err);
}

/* A token that is good is let through whatever has failed before, since nobody guesses one. One that has ended is no
 * guess: a directory whose token has just expired shows it in several requests at once. */
static int judge_token(struct req *r, struct core *core, struct error *err)
{
    const struct scim_caller *c = r->state;
    if (c->is_known)
        return c->next(r, core, err);
    return c->has_ended ? refuse(r, /* has_failed= */ false, err) : judge_password(r, core, err);
}

static int find_token(struct req *r, struct store *db, struct error *err)
{
    struct scim_caller *c = r->state;
    cleanup_error struct error why = ERROR_INIT;
    struct store_oauth_token t;
    uint8_t hash[TOKEN_HASH_BYTES];
    token_hash(c->token, hash);
    if (store_oauth_token_get(db, hash, &r->arena, &t, &why) == 0) {
        bool is_access = strcmp(t.kind, "ACCESS") == 0;
        c->is_known = is_access && !t.revoked && t.expiry_us > r->now_us;
        c->has_ended = is_access && !c->is_known;
        c->name = arena_printf(&r->arena, OAUTH_AUTHOR "%s", t.client_name);
    } else if (error_pass_unless(&why, ERR_NOT_FOUND, err)) {
        return -1;
    }
    return req_then_loop(r, judge_token);
}

int scim_access(struct req *r, struct core *core, req_loop_fn *next, struct error *err)
{
    struct scim_caller *c = r->state;
    if (scim_check_enabled(r, err) < 0)
        return -1;
    c->next = next;
    login_attempt_begin(r, "(scim)", &c->attempt);
    const char *header = http_request_header(r->http, "Authorization"), *token = req_bearer(r);
    c->has_tried = header != NULL;
    c->is_bearer = token != NULL;
    c->has_password = header && strlen(header) <= CREDENTIAL_MAX && !takes_tokens_only(r) &&
                      credentials_match(api_info(r->api)->config, header);
    if (!token || !token_has_form(token))
        return judge_password(r, core, err);
    c->token = arena_strdup(&r->arena, token);
    return req_then_read(r, find_token);
}
