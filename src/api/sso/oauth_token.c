/* POST /oauth2/token: a client gets a token for SCIM, for a code (oauth_authorize.c), for a refresh token, or in its
 * own name. Its steps: read the form (loop) → find the client and compare its secret (read) → count a wrong one (loop)
 * → store the tokens (write) → answer (loop). Errors have the form of RFC 6749, 5.2.
 *
 * A code that comes a second time, within a day, was stolen by one of the two who have shown it, so that the tokens of
 * the first time end (RFC 6749, 4.1.2). A refresh token stays the same: it is good only together with the client's
 * secret, and a reply that is lost on the way locks no directory out (docs/decisions/0027-tokens-for-scim.md). */
#include <openssl/crypto.h>
#include <string.h>
#include <strings.h>

#include "api/accounts/login_attempt.h"
#include "api/pipeline/author.h"
#include "api/pipeline/identity.h"
#include "api/pipeline/internal.h"
#include "api/pipeline/raw.h"
#include "api/pipeline/raw_handlers.h"
#include "api/sso/oauth_rules.h"
#include "api/sso/scim_access.h"
#include "common/base/base64.h"
#include "common/base/clock.h"
#include "common/json/json.h"
#include "common/system/log.h"
#include "net/http/http.h"
#include "store/functions.h"

enum { FORM_MAX = 16 * 1024, BASIC_MAX = 2048 };
#define SECOND_US INT64_C(1000000)
#define FORM_TYPE "application/x-www-form-urlencoded"
#define ROUTE "POST /oauth2/token"

/* What the client has sent; NULL: it has not. */
struct form {
    const char *grant_type, *client_id, *client_secret, *code, *redirect_uri, *code_verifier, *refresh_token;
};

struct exchange {
    struct form form;
    struct store_oauth_client client;
    struct login_attempt attempt;
    struct token access, refresh;
    bool gives_refresh;
    bool is_client;      /* the secret is that of the client */
    bool code_is_used;   /* the code has come before; the tokens of that time have ended now */
    const char *problem; /* the code of an error that must not undo what was stored; NULL: there is none */
    const char *code;    /* of RFC 6749, of the error that the request ends with; NULL: by the error's kind */
};

/* ---- errors ------------------------------------------------------------------------------------------------------ */

static const char *code_of(const struct exchange *x, const struct error *err)
{
    if (x && x->code)
        return x->code;
    switch (err->kind) {
    case ERR_INVALID:
        return "invalid_request";
    case ERR_UNAUTHENTICATED:
        return "invalid_client";
    case ERR_UNAVAILABLE:
    case ERR_TOO_MANY:
        return "temporarily_unavailable";
    default:
        return "server_error";
    }
}

static void show_error(struct req *r, const struct error *err)
{
    cleanup_json struct json_object *doc = json_object_new_object();
    json_object_object_add(doc, "error", json_object_new_string(code_of(r->state, err)));
    json_object_object_add(doc, "error_description", json_object_new_string(error_msg(err)));
    req_add_header(r, "Cache-Control", "no-store");
    if (err->kind == ERR_UNAUTHENTICATED)
        req_add_header(r, "WWW-Authenticate", "Basic realm=\"oauth2\"");
    json_print(doc, &r->reply.body);
}

static int invalid(struct exchange *x, const char *code, const char *text, struct error *err)
{
    x->code = code;
    return error_set(err, ERR_INVALID, "%s", text);
}

/* ---- the form ---------------------------------------------------------------------------------------------------- */

struct reading {
    struct form *form;
    struct arena *arena;
};

static int take_field(const char *name, const char *value, void *ctx, struct error *err)
{
    struct reading *reading = ctx;
    struct form *f = reading->form;
    const struct {
        const char *name, **to;
    } all[] = {{"grant_type", &f->grant_type},       {"client_id", &f->client_id},
               {"client_secret", &f->client_secret}, {"code", &f->code},
               {"redirect_uri", &f->redirect_uri},   {"code_verifier", &f->code_verifier},
               {"refresh_token", &f->refresh_token}};
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
        if (strcmp(name, all[i].name) != 0)
            continue;
        if (*all[i].to)
            return error_set(err, ERR_INVALID, "%s is there twice", name);
        *all[i].to = arena_strdup(reading->arena, value);
    }
    return 0; /* other parameters are passed over, as RFC 6749, 3.2 wants it */
}

static int read_form(struct req *r, struct form *ret, struct error *err)
{
    const char *type = http_request_header(r->http, "Content-Type");
    struct reading reading = {.form = ret, .arena = &r->arena};
    size_t n;
    const char *body = req_body(r, &n);
    if (!type || strncasecmp(type, FORM_TYPE, strlen(FORM_TYPE)) != 0 || n > FORM_MAX || (n && memchr(body, 0, n)))
        return error_set(err, ERR_INVALID, "the body must be a form of at most %d bytes (Content-Type: " FORM_TYPE ")",
                         FORM_MAX);
    return http_query_each(arena_strndup(&r->arena, n ? body : "", n), take_field, &reading, err);
}

static int decode_part(struct arena *a, const char *text, size_t n, const char **ret, struct error *err)
{
    struct strbuf out = STRBUF_INIT;
    int rc = http_percent_decode(text, n, /* plus_is_blank= */ true, &out);
    *ret = rc == 0 ? arena_strdup(a, strbuf_str(&out)) : NULL;
    strbuf_release(&out);
    return rc == 0 ? 0 : error_set(err, ERR_INVALID, "the Authorization header has a malformed escape");
}

/* The client's id and secret come in the header or in the form, and not in both (RFC 6749, 2.3). */
static int read_basic(struct req *r, struct form *f, struct error *err)
{
    const char *header = http_request_header(r->http, "Authorization");
    char text[BASIC_MAX];
    size_t n;
    if (!header)
        return 0;
    if (strncmp(header, "Basic ", 6) != 0 || base64_decoded_max(strlen(header + 6)) >= sizeof(text) ||
        base64_decode(header + 6, strlen(header + 6), (uint8_t *)text, &n) < 0 || memchr(text, 0, n) ||
        !memchr(text, ':', n))
        return error_set(err, ERR_INVALID, "the Authorization header is not Basic with a client's id and secret");
    if (f->client_secret)
        return error_set(err, ERR_INVALID, "the client's secret is in the header and in the form: send it once");
    const char *colon = memchr(text, ':', n), *in_form = f->client_id;
    int rc = decode_part(&r->arena, text, (size_t)(colon - text), &f->client_id, err) < 0 ||
                     decode_part(&r->arena, colon + 1, n - (size_t)(colon - text) - 1, &f->client_secret, err) < 0
                 ? -1
                 : 0;
    OPENSSL_cleanse(text, sizeof(text));
    if (rc == 0 && in_form && strcmp(in_form, f->client_id) != 0)
        return error_set(err, ERR_INVALID, "client_id in the form is not the client of the Authorization header");
    return rc;
}

static int check_grant(struct exchange *x, struct error *err)
{
    const struct form *f = &x->form;
    if (!f->grant_type)
        return error_set(err, ERR_INVALID, "grant_type is missing");
    if (strcmp(f->grant_type, "authorization_code") == 0)
        return f->code ? 0 : error_set(err, ERR_INVALID, "code is missing");
    if (strcmp(f->grant_type, "refresh_token") == 0)
        return f->refresh_token ? 0 : error_set(err, ERR_INVALID, "refresh_token is missing");
    if (strcmp(f->grant_type, "client_credentials") == 0)
        return 0;
    return invalid(x, "unsupported_grant_type",
                   "grant_type must be authorization_code, refresh_token or client_credentials", err);
}

/* ---- tokens ------------------------------------------------------------------------------------------------------ */

static int store_one(struct req *r, struct store *db, const char *kind, const struct token *t, int64_t code_id,
                     int64_t life_s, struct error *err)
{
    const struct exchange *x = r->state;
    struct store_oauth_token row = {.client_id = x->client.id,
                                    .kind = kind,
                                    .code_id = code_id,
                                    .challenge = "",
                                    .created_us = r->now_us,
                                    .expiry_us = r->now_us + life_s * SECOND_US};
    memcpy(row.token_hash, t->hash, sizeof(row.token_hash));
    return store_oauth_token_insert(db, &row, err);
}

/* The code or refresh token of this text, if it is the client's; otherwise x->problem is set. It may be a code that has
 * expired: what was given for it may have to end all the same. */
static int find_token(struct req *r, struct store *db, const char *text, const char *kind,
                      struct store_oauth_token *ret, struct error *err)
{
    struct exchange *x = r->state;
    cleanup_error struct error why = ERROR_INIT;
    uint8_t hash[TOKEN_HASH_BYTES];
    token_hash(text, hash);
    if (store_oauth_token_get(db, hash, &r->arena, ret, &why) < 0) {
        if (error_pass_unless(&why, ERR_NOT_FOUND, err))
            return -1;
        x->problem = "invalid_grant";
    } else if (strcmp(ret->kind, kind) != 0 || strcmp(ret->client_id, x->client.id) != 0 || ret->revoked ||
               (strcmp(kind, "CODE") != 0 && ret->expiry_us <= r->now_us)) {
        x->problem = "invalid_grant";
    }
    return 0;
}

static int take_code(struct req *r, struct store *db, struct error *err)
{
    struct exchange *x = r->state;
    const struct form *f = &x->form;
    struct store_oauth_token code;
    if (find_token(r, db, f->code, "CODE", &code, err) < 0)
        return -1;
    if (x->problem)
        return 0;
    if (code.used) {
        x->problem = "invalid_grant";
        x->code_is_used = true;
        return store_oauth_tokens_revoke(db, code.id, err);
    }
    if (code.expiry_us <= r->now_us || (f->redirect_uri && strcmp(f->redirect_uri, x->client.redirect_uri) != 0) ||
        !oauth_verifier_fits(f->code_verifier, code.challenge)) {
        x->problem = "invalid_grant";
        return 0;
    }
    x->gives_refresh = true;
    if (store_oauth_code_use(db, code.id, err) < 0 ||
        store_one(r, db, "REFRESH", &x->refresh, code.id, OAUTH_REFRESH_LIFE_S, err) < 0)
        return -1;
    return store_one(r, db, "ACCESS", &x->access, code.id, OAUTH_ACCESS_LIFE_S, err);
}

static int take_refresh(struct req *r, struct store *db, struct error *err)
{
    struct exchange *x = r->state;
    struct store_oauth_token t;
    if (find_token(r, db, x->form.refresh_token, "REFRESH", &t, err) < 0)
        return -1;
    if (x->problem)
        return 0;
    if (store_oauth_token_extend(db, t.id, r->now_us + OAUTH_REFRESH_LIFE_S * SECOND_US, err) < 0)
        return -1;
    return store_one(r, db, "ACCESS", &x->access, t.code_id, OAUTH_ACCESS_LIFE_S, err);
}

static int give(struct req *r, struct store *db, struct error *err)
{
    const char *grant = ((const struct exchange *)r->state)->form.grant_type;
    if (strcmp(grant, "authorization_code") == 0)
        return take_code(r, db, err);
    if (strcmp(grant, "refresh_token") == 0)
        return take_refresh(r, db, err);
    const struct exchange *x = r->state;
    return store_one(r, db, "ACCESS", &x->access, 0, OAUTH_ACCESS_LIFE_S, err);
}

static int no_such_client(struct error *err)
{
    return error_set(err, ERR_UNAUTHENTICATED, "there is no client with this id and secret");
}

static int answer(struct req *r, struct core *core, struct error *err)
{
    struct exchange *x = r->state;
    if (x->code_is_used)
        log_warning("oauth.code_used_twice", "client=%s name=%s", x->client.id, log_quote(x->client.name));
    if (x->problem)
        return invalid(x, x->problem,
                       "the code or refresh token is not good, or not any more, for this client and redirect_uri: let "
                       "an administrator allow the access again",
                       err);
    cleanup_json struct json_object *doc = json_object_new_object();
    json_object_object_add(doc, "access_token", json_object_new_string(x->access.text));
    json_object_object_add(doc, "token_type", json_object_new_string("Bearer"));
    json_object_object_add(doc, "expires_in", json_object_new_int(OAUTH_ACCESS_LIFE_S));
    json_object_object_add(doc, "scope", json_object_new_string(OAUTH_SCOPE));
    if (x->gives_refresh)
        json_object_object_add(doc, "refresh_token", json_object_new_string(x->refresh.text));
    req_add_header(r, "Cache-Control", "no-store");
    json_print(doc, &r->reply.body);
    log_info("oauth.token", "client=%s name=%s grant=%s", x->client.id, log_quote(x->client.name), x->form.grant_type);
    return 0;
}

static int store_tokens(struct req *r, struct store *db, struct error *err)
{
    struct exchange *x = r->state;
    struct store_oauth_client again;
    cleanup_error struct error why = ERROR_INIT;
    x->problem = NULL; /* the step may run a second time */
    x->gives_refresh = x->code_is_used = false;
    if (store_oauth_client_get(db, x->client.id, &r->arena, &again, &why) < 0)
        return error_pass_unless(&why, ERR_NOT_FOUND, err) ? -1 : no_such_client(err);
    if (store_oauth_tokens_forget(db, r->now_us - OAUTH_KEPT_S * SECOND_US, err) < 0 || give(r, db, err) < 0 ||
        store_oauth_tokens_trim(db, x->client.id, OAUTH_ACCESS_MAX, err) < 0)
        return -1;
    return req_then_loop(r, answer);
}

/* ---- the client -------------------------------------------------------------------------------------------------- */

static int judge_client(struct req *r, struct core *core, struct error *err)
{
    struct exchange *x = r->state;
    if (!x->is_client) {
        login_limits_failed(r->api->login_limits, &x->attempt, clock_now_us());
        return no_such_client(err);
    }
    login_limits_succeeded(r->api->login_limits, &x->attempt, clock_now_us());
    if (check_grant(x, err) < 0 || !r->api->services.admits_writes(r->api->services.ctx, err) ||
        token_new(&x->access, err) < 0 || token_new(&x->refresh, err) < 0)
        return -1;
    req_act_as(r, arena_printf(&r->arena, OAUTH_AUTHOR "%s", x->client.name), "oauth_client", ROUTE);
    return req_then_write(r, store_tokens);
}

static int find_client(struct req *r, struct store *db, struct error *err)
{
    struct exchange *x = r->state;
    cleanup_error struct error why = ERROR_INIT;
    uint8_t hash[TOKEN_HASH_BYTES];
    token_hash(x->form.client_secret, hash);
    if (store_oauth_client_get(db, x->form.client_id, &r->arena, &x->client, &why) == 0) {
        x->is_client = CRYPTO_memcmp(hash, x->client.secret_hash, sizeof(hash)) == 0;
    } else if (error_pass_unless(&why, ERR_NOT_FOUND, err)) {
        return -1;
    }
    return req_then_loop(r, judge_client);
}

int raw_oauth_token(struct req *r, struct core *core, struct error *err)
{
    struct exchange *x = arena_new(&r->arena, struct exchange);
    r->state = x;
    r->error_page = show_error;
    if (scim_check_enabled(r, err) < 0 || read_form(r, &x->form, err) < 0 || read_basic(r, &x->form, err) < 0)
        return -1;
    if (!x->form.client_id || !x->form.client_secret)
        return error_set(err, ERR_UNAUTHENTICATED,
                         "the client's id and secret are needed, as Basic authorization or in the form");
    login_attempt_begin(r, arena_printf(&r->arena, "(oauth) %s", x->form.client_id), &x->attempt);
    if (login_attempt_check(r, &x->attempt, "of this OAuth client", NULL, err) < 0)
        return -1;
    return req_then_read(r, find_client);
}
