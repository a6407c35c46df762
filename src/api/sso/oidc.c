/* GET /oidc/sso and GET /oidc/callback: a login at the provider, by OpenID Connect's authorization code flow with PKCE.
 *
 * The first redirects the browser to the provider. The second takes what the browser brings back: check the ticket
 * (loop) → exchange the code for an ID token, at the provider (loop, which does not wait) → verify the token (worker);
 * if it is signed by a key that is not known, once more with the provider's present keys → ask the provider for claims
 * that the token does not have (loop) → find or make the account, and store the session (write) → open the session and
 * redirect (loop).
 *
 * Nothing of the provider's answers is believed that is not signed, or fetched from the provider itself over a
 * connection that the master has opened. */
#include <stdlib.h>
#include <string.h>

#include "api/accounts/login_session.h"
#include "api/accounts/remote_account.h"
#include "api/pipeline/author.h"
#include "api/pipeline/internal.h"
#include "api/pipeline/plain_page.h"
#include "api/pipeline/raw.h"
#include "api/pipeline/raw_handlers.h"
#include "api/sso/id_token.h"
#include "api/sso/oidc_provider.h"
#include "api/sso/remote_person.h"
#include "api/sso/sso.h"
#include "common/base/base64.h"
#include "common/base/clock.h"
#include "common/base/percent.h"
#include "common/json/json.h"
#include "common/system/log.h"
#include "net/client/http_client.h"
#include "net/http/http.h"

enum { ANSWER_MAX = 1024 * 1024, PATIENCE_S = 10, TEXT_MAX = 4096 };
#define SECOND_US INT64_C(1000000)
#define COOKIE "oidc_login"
/* Where `det auth login` of any version waits for the browser. */
#define CLI_ADDRESS "http://localhost:49176/"

struct login {
    struct oidc_ticket ticket;
    struct oidc_provider provider;
    struct login_session session;
    struct http_fetch_handle *fetch; /* the question to the provider that is under way */
    req_loop_fn *then;               /* takes its answer */
    int status;                      /* of the answer */
    const char *body, *failure;      /* the answer, or why there is none */
    const char *issuer;              /* in the address; NULL: many providers do not say */
    const char *code, *id_token, *access_token, *keys;
    bool keys_are_new, key_is_unknown;
    struct json_object *claims;
    struct remote_person person;
    struct remote_rules rules;
    struct remote_account account;
};

static const struct sso_settings *settings_of(const struct req *r)
{
    return sso_settings(r->api->sso);
}

/* What a browser shows when a login has failed. The way back is the page for passwords, which sends nobody on to the
 * provider again. The address is relative to /oidc/…, so that a prefix of a proxy stays. */
static void show_failure(struct req *r, const struct error *err)
{
    const struct plain_page page = {.title = "Not logged in",
                                    .text = arena_printf(&r->arena, "%s.", error_msg(err)),
                                    .link = "../det/login?password",
                                    .link_text = "Back to the sign-in page"};
    r->reply.content_type = PLAIN_PAGE_TYPE;
    req_add_header(r, "Content-Security-Policy",
                   PLAIN_PAGE_POLICY "; base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
    req_add_header(r, "Cache-Control", "no-store");
    req_add_header(r, "Referrer-Policy", "no-referrer");
    plain_page(&page, &r->reply.body);
}

static void release(struct req *r)
{
    struct login *l = r->state;
    json_object_put(l->claims);
}

/* Notes in the log why somebody could not log in. Returns -1. */
static int refused(const struct req *r, const char *username, const struct error *err)
{
    const struct login *l = r->state;
    log_info("user.login_refused", "account=%s address=%s reason=%s", *username ? log_quote(username) : "-",
             l->session.address, log_quote(error_msg(err)));
    return -1;
}

/* ---- asking the provider ----------------------------------------------------------------------------------------- */

static void answered(void *ctx, struct http_fetch_reply *reply, const struct error *err)
{
    struct req *r = ctx;
    struct login *l = r->state;
    l->fetch = NULL;
    l->status = reply ? reply->status : 0;
    l->body = reply ? arena_strndup(&r->arena, strbuf_str(&reply->body), reply->body.n) : NULL;
    l->failure = reply ? NULL : arena_strdup(&r->arena, error_msg(err));
    sso_answered(r->api->sso);
    req_resume_loop(r, l->then);
}

static void browser_gone(struct req *r)
{
    struct login *l = r->state;
    http_fetch_cancel(l->fetch);
    sso_answered(r->api->sso);
}

/* `then` runs on the loop when the answer, or the reason why there is none, is in the login. */
static int ask(struct req *r, struct http_fetch *f, req_loop_fn *then, struct error *err)
{
    struct login *l = r->state;
    if (sso_ask(r->api->sso, err) < 0)
        return -1;
    f->timeout_s = PATIENCE_S;
    f->reply_max = ANSWER_MAX;
    l->then = then;
    l->fetch = http_fetch_start(r->api->loop, f, answered, r);
    return req_wait(r, browser_gone);
}

static int ask_for(struct req *r, const char *url, req_loop_fn *then, struct error *err)
{
    static const char *const header[] = {"Accept: application/json", NULL};
    struct http_fetch f = {.method = "GET", .url = url, .header = header};
    return ask(r, &f, then, err);
}

static int check_answer(const struct req *r, const char *what, struct error *err)
{
    const struct login *l = r->state;
    if (l->failure)
        return error_set(err, ERR_UNAVAILABLE, "the provider %s cannot be asked for its %s: %s", settings_of(r)->name,
                         what, l->failure);
    if (l->status != 200)
        return error_set(err, ERR_BAD_GATEWAY, "the provider %s answers %d when it is asked for its %s",
                         settings_of(r)->name, l->status, what);
    return 0;
}

/* ---- the provider's documents ------------------------------------------------------------------------------------ */

static int read_discovery(struct req *r, const char *text, struct error *err)
{
    struct login *l = r->state;
    return oidc_provider_read(text, strlen(text), settings_of(r)->issuer, &r->arena, &l->provider, err);
}

/* Goes on with `next` when l->provider is there: at once, or when the provider has answered. */
static int with_provider(struct req *r, struct core *core, req_loop_fn *next, req_loop_fn *took_discovery,
                         struct error *err)
{
    const char *known = sso_document(r->api->sso, SSO_DISCOVERY, r->now_us);
    if (!known)
        return ask_for(r, oidc_discovery_url(settings_of(r)->issuer, &r->arena), took_discovery, err);
    return read_discovery(r, known, err) < 0 ? -1 : next(r, core, err);
}

static int take_discovery(struct req *r, struct error *err)
{
    const struct login *l = r->state;
    if (check_answer(r, "configuration", err) < 0 || read_discovery(r, l->body, err) < 0)
        return -1;
    sso_keep_document(r->api->sso, SSO_DISCOVERY, l->body, clock_now_us());
    return 0;
}

/* ---- beginning a login ------------------------------------------------------------------------------------------- */

static void set_ticket(struct req *r, const char *value, int seconds)
{
    const struct login *l = r->state;
    req_add_header(r, "Set-Cookie",
                   arena_printf(&r->arena, COOKIE "=%s; Path=/; Max-Age=%d; HttpOnly; SameSite=Lax%s", value, seconds,
                                l->session.over_https ? "; Secure" : ""));
}

static void add_parameter(struct strbuf *out, const char *name, const char *value)
{
    char last = out->n ? out->s[out->n - 1] : '?';
    if (last != '?' && last != '&')
        strbuf_addc(out, '&');
    strbuf_addf(out, "%s=", name);
    strbuf_add_percent(out, value, PERCENT_UNRESERVED);
}

static const char *callback_url(struct req *r)
{
    return arena_printf(&r->arena, "%s/oidc/callback", settings_of(r)->base);
}

static int send_to_provider(struct req *r, struct core *core, struct error *err)
{
    const struct login *l = r->state;
    const struct sso_settings *x = settings_of(r);
    cleanup_strbuf struct strbuf url = STRBUF_INIT;
    strbuf_addf(&url, "%s%c", l->provider.authorization, strchr(l->provider.authorization, '?') ? '&' : '?');
    add_parameter(&url, "response_type", "code");
    add_parameter(&url, "client_id", x->client_id);
    add_parameter(&url, "redirect_uri", callback_url(r));
    add_parameter(&url, "scope", x->ask_for_groups ? "openid profile email groups" : "openid profile email");
    add_parameter(&url, "state", l->ticket.state);
    add_parameter(&url, "nonce", l->ticket.nonce);
    add_parameter(&url, "code_challenge", l->ticket.challenge);
    add_parameter(&url, "code_challenge_method", "S256");
    set_ticket(r, l->ticket.cookie, OIDC_TICKET_LIFE_S);
    req_redirect(r, 302, arena_strdup(&r->arena, strbuf_str(&url)));
    return 0;
}

static int began_with_discovery(struct req *r, struct core *core, struct error *err)
{
    return take_discovery(r, err) < 0 ? -1 : send_to_provider(r, core, err);
}

static int begin(struct req *r, struct error *err)
{
    struct login *l = arena_new(&r->arena, struct login);
    r->state = l;
    r->on_end = release;
    if (plain_page_is_wanted(r->http))
        r->error_page = show_failure;
    if (!settings_of(r)->enabled)
        return error_set(err, ERR_NOT_FOUND, "no provider is set up here: log in with a password");
    return login_session_begin(r, &l->session, err);
}

int raw_oidc_login(struct req *r, struct core *core, struct error *err)
{
    const char *relay = NULL;
    struct login *l;
    if (begin(r, err) < 0 || req_query_param(r, "relayState", &relay, err) < 0)
        return -1;
    l = r->state;
    if (oidc_ticket_new(sso_ticket_key(r->api->sso), r->now_us, relay ? relay : "", &r->arena, &l->ticket, err) < 0)
        return -1;
    return with_provider(r, core, send_to_provider, began_with_discovery, err);
}

/* ---- the end of a login: the session ----------------------------------------------------------------------------- */

static int open_session(struct req *r, struct core *core, struct error *err)
{
    struct login *l = r->state;
    login_session_remember(r, &l->session);
    remote_account_remember(r, &l->account);
    sso_note_used(r->api->sso, l->ticket.state, clock_now_us());
    set_ticket(r, "", 0);
    log_info("user.login", "user=%s address=%s provider=%s new=%s", log_quote(l->session.user.username),
             l->session.address, log_quote(settings_of(r)->name), l->account.is_new ? "true" : "false");
    if (oidc_relay_is_cli(l->ticket.relay)) {
        req_redirect(r, 303, arena_printf(&r->arena, CLI_ADDRESS "?token=%s", l->session.token.text));
        return 0;
    }
    login_session_set_cookie(r, &l->session);
    req_redirect(r, 303,
                 arena_printf(&r->arena, "%s%s", settings_of(r)->base, *l->ticket.relay ? l->ticket.relay : "/det/"));
    return 0;
}

static int store_login(struct req *r, struct store *db, struct error *err)
{
    struct login *l = r->state;
    if (remote_account_store(r, db, &l->person, &l->rules, &l->account, err) < 0)
        return refused(r, l->person.username, err);
    return login_session_store(r, db, &l->account.user, &l->session, err) < 0 ? -1 : req_then_loop(r, open_session);
}

/* ---- the claims -------------------------------------------------------------------------------------------------- */

static int take_person(struct req *r, struct core *core, struct error *err)
{
    struct login *l = r->state;
    const struct sso_settings *x = settings_of(r);
    if (remote_person_read(l->claims, &x->names, &r->arena, &l->person, err) < 0)
        return refused(r, "", err);
    l->rules = (struct remote_rules){.by = "provider",
                                     .provision = x->provision,
                                     .sync_agent = x->provision,
                                     .sync_groups = *x->names.groups != '\0'};
    req_act_as(r, l->person.username, "provider", "GET /oidc/callback");
    return req_then_write(r, store_login);
}

/* Adds what the token does not say. What the token says stays, since it is signed. */
static int take_userinfo(struct req *r, struct core *core, struct error *err)
{
    struct login *l = r->state;
    cleanup_json struct json_object *more = NULL;
    if (check_answer(r, "claims", err) < 0)
        return -1;
    if (json_parse(l->body, strlen(l->body), &more, NULL) < 0 || !json_object_is_type(more, json_type_object))
        return error_set(err, ERR_BAD_GATEWAY, "the claims of the provider %s are no JSON object",
                         settings_of(r)->name);
    if (strcmp(json_get_text(more, "sub", &r->arena), json_get_text(l->claims, "sub", &r->arena)) != 0) {
        error_set(err, ERR_UNAUTHENTICATED, "the provider's claims are about somebody else than its ID token (sub)");
        return refused(r, "", err);
    }
    json_object_object_foreach(more, name, value)
    {
        if (!json_object_object_get_ex(l->claims, name, NULL))
            json_object_object_add(l->claims, name, json_object_get(value));
    }
    return take_person(r, core, err);
}

static int complete_claims(struct req *r, struct core *core, struct error *err)
{
    const struct login *l = r->state;
    if (claims_are_whole(l->claims, &settings_of(r)->names) || !*l->provider.userinfo || !*l->access_token)
        return take_person(r, core, err);
    const char *const header[] = {"Accept: application/json",
                                  arena_printf(&r->arena, "Authorization: Bearer %s", l->access_token), NULL};
    struct http_fetch f = {.method = "GET", .url = l->provider.userinfo, .header = header};
    return ask(r, &f, take_userinfo, err);
}

/* ---- the ID token ------------------------------------------------------------------------------------------------ */

static int verified(struct req *r, struct core *core, struct error *err);

/* On a worker: RSA takes the time of a hundred requests. */
static int verify(struct req *r, struct error *err)
{
    struct login *l = r->state;
    cleanup_json struct json_object *keys = NULL;
    cleanup_error struct error why = ERROR_INIT;
    const struct id_token_expected expected = {.issuer = l->provider.issuer,
                                               .client_id = settings_of(r)->client_id,
                                               .nonce = l->ticket.nonce,
                                               .now_s = clock_now_us() / SECOND_US};
    if (json_parse(l->keys, strlen(l->keys), &keys, NULL) < 0 || !json_object_is_type(keys, json_type_object))
        return error_set(err, ERR_BAD_GATEWAY, "the keys of the provider %s are no JSON object", settings_of(r)->name);
    l->key_is_unknown = false;
    if (id_token_verify(l->id_token, keys, &expected, &l->claims, &why) == 0)
        return req_then_loop(r, verified);
    l->key_is_unknown = why.kind == ERR_NOT_FOUND && !l->keys_are_new;
    if (l->key_is_unknown)
        return req_then_loop(r, verified);
    error_set(err, ERR_UNAUTHENTICATED, "%s", error_msg(&why));
    return refused(r, "", err);
}

static int take_keys(struct req *r, struct core *core, struct error *err)
{
    struct login *l = r->state;
    if (check_answer(r, "keys", err) < 0)
        return -1;
    l->keys = l->body;
    l->keys_are_new = true;
    sso_keep_document(r->api->sso, SSO_KEYS, l->keys, clock_now_us());
    return req_then_work(r, verify);
}

/* A provider that has changed its keys is asked for them once in a login: for each such question somebody has logged in
 * there. */
static int verified(struct req *r, struct core *core, struct error *err)
{
    const struct login *l = r->state;
    return l->key_is_unknown ? ask_for(r, l->provider.keys, take_keys, err) : complete_claims(r, core, err);
}

/* ---- the code ---------------------------------------------------------------------------------------------------- */

static const char *text_in(struct req *r, struct json_object *o, const char *name)
{
    return json_object_is_type(o, json_type_object) ? json_get_text(o, name, &r->arena) : "";
}

static int take_token(struct req *r, struct core *core, struct error *err)
{
    struct login *l = r->state;
    cleanup_json struct json_object *reply = NULL;
    if (l->failure)
        return check_answer(r, "token", err);
    json_parse(l->body, strlen(l->body), &reply, NULL);
    const char *why = text_in(r, reply, "error");
    if (strcmp(why, "invalid_client") == 0 || strcmp(why, "unauthorized_client") == 0)
        return error_set(
            err, ERR_BAD_GATEWAY,
            "the provider %s does not accept this cluster (%s): an administrator checks oidc.client_id and "
            "oidc.client_secret",
            settings_of(r)->name, why);
    if (*why) {
        error_set(err, ERR_UNAUTHENTICATED, "the provider does not confirm this login (%.100s): begin it again", why);
        return refused(r, "", err);
    }
    if (check_answer(r, "token", err) < 0)
        return -1;
    l->id_token = text_in(r, reply, "id_token");
    l->access_token = text_in(r, reply, "access_token");
    if (!*l->id_token)
        return error_set(err, ERR_BAD_GATEWAY, "the provider %s sends no ID token", settings_of(r)->name);
    l->keys = sso_document(r->api->sso, SSO_KEYS, r->now_us);
    if (!l->keys)
        return ask_for(r, l->provider.keys, take_keys, err);
    l->keys = arena_strdup(&r->arena, l->keys);
    return req_then_work(r, verify);
}

/* RFC 6749, 2.3.1: both are encoded as in a form before they are joined. */
static const char *basic_credentials(struct req *r)
{
    const struct sso_settings *x = settings_of(r);
    cleanup_strbuf struct strbuf pair = STRBUF_INIT, text = STRBUF_INIT;
    strbuf_add_percent(&pair, x->client_id, PERCENT_UNRESERVED);
    strbuf_addc(&pair, ':');
    strbuf_add_percent(&pair, x->client_secret, PERCENT_UNRESERVED);
    base64_encode(pair.s, pair.n, &text);
    return arena_printf(&r->arena, "Authorization: Basic %s", strbuf_str(&text));
}

static int exchange_code(struct req *r, struct core *core, struct error *err)
{
    const struct login *l = r->state;
    const struct sso_settings *x = settings_of(r);
    cleanup_strbuf struct strbuf form = STRBUF_INIT;
    /* RFC 9207: the code of another provider is not sent to this one */
    if (l->issuer && strcmp(l->issuer, l->provider.issuer) != 0)
        return error_set(err, ERR_INVALID,
                         "the answer comes from the provider %.200s, expected is %s: begin the login again", l->issuer,
                         l->provider.issuer);
    const char *header[] = {"Accept: application/json", "Content-Type: application/x-www-form-urlencoded",
                            l->provider.secret_in_body ? NULL : basic_credentials(r), NULL};
    strbuf_adds(&form, "grant_type=authorization_code");
    add_parameter(&form, "code", l->code);
    add_parameter(&form, "redirect_uri", callback_url(r));
    add_parameter(&form, "code_verifier", l->ticket.verifier);
    if (l->provider.secret_in_body) {
        add_parameter(&form, "client_id", x->client_id);
        add_parameter(&form, "client_secret", x->client_secret);
    }
    struct http_fetch f = {
        .method = "POST", .url = l->provider.token, .header = header, .body = form.s, .body_n = form.n};
    return ask(r, &f, take_token, err);
}

static int came_back_with_discovery(struct req *r, struct core *core, struct error *err)
{
    return take_discovery(r, err) < 0 ? -1 : exchange_code(r, core, err);
}

/* ---- the way back ------------------------------------------------------------------------------------------------ */

/* What the provider says in the address; only a browser with the ticket's cookie is listened to. */
static int read_answer(struct req *r, struct error *err)
{
    struct login *l = r->state;
    const char *state = NULL, *refusal = NULL;
    if (req_query_param(r, "state", &state, err) < 0 || req_query_param(r, "error", &refusal, err) < 0 ||
        req_query_param(r, "iss", &l->issuer, err) < 0 || req_query_param(r, "code", &l->code, err) < 0 ||
        oidc_ticket_open(sso_ticket_key(r->api->sso), r->now_us, http_request_cookie(r->http, COOKIE), state, &r->arena,
                         &l->ticket, err) < 0 ||
        sso_check_unused(r->api->sso, l->ticket.state, err) < 0)
        return -1;
    if (refusal && *refusal)
        return error_set(err, ERR_FORBIDDEN, "the provider %s has not logged you in: %.100s", settings_of(r)->name,
                         refusal);
    if (!l->code || !*l->code || strlen(l->code) > TEXT_MAX)
        return error_set(err, ERR_INVALID, "the provider's answer has no code: begin the login again");
    return 0;
}

int raw_oidc_callback(struct req *r, struct core *core, struct error *err)
{
    if (begin(r, err) < 0)
        return -1;
    if (read_answer(r, err) < 0)
        return refused(r, "", err);
    return with_provider(r, core, exchange_code, came_back_with_discovery, err);
}
