/* /oauth2/authorize: a directory service sends an administrator's browser here to ask for a consent. GET shows what is
 * asked for, once the browser is logged in; POST, which only the buttons of that page send, gives the browser a code or
 * a refusal to take back. Everything that the decision needs is in the address of both, so that nothing is kept between
 * them. The code is stored as a hash, ends after a minute, and is good once (oauth_token.c). */
#include <string.h>

#include "api/accounts/actor.h"
#include "api/pipeline/access.h"
#include "api/pipeline/identity.h"
#include "api/pipeline/internal.h"
#include "api/pipeline/plain_page.h"
#include "api/pipeline/raw.h"
#include "api/pipeline/raw_handlers.h"
#include "api/sso/oauth_rules.h"
#include "api/sso/scim_access.h"
#include "common/base/cleanup.h"
#include "common/system/log.h"
#include "net/http/http.h"
#include "store/functions.h"

#define SECOND_US INT64_C(1000000)
#define FRAMES_NOWHERE "; base-uri 'none'; frame-ancestors 'none'"

static void show(struct req *r, const struct plain_page *page, const char *form_action)
{
    r->reply.content_type = PLAIN_PAGE_TYPE;
    req_add_header(r, "Content-Security-Policy",
                   arena_printf(&r->arena, PLAIN_PAGE_POLICY FRAMES_NOWHERE "; form-action %s", form_action));
    req_add_header(r, "Cache-Control", "no-store");
    req_add_header(r, "Referrer-Policy", "same-origin"); /* with no-referrer, the form would come from Origin "null" */
    strbuf_reset(&r->reply.body);                        /* the step may run a second time */
    plain_page(page, &r->reply.body);
}

static void show_failure(struct req *r, const struct error *err)
{
    show(r, &(struct plain_page){.title = "No access is given", .text = arena_printf(&r->arena, "%s.", error_msg(err))},
         "'none'");
}

/* The browser takes the answer back to the program. */
static int send_answer(struct req *r, const struct store_oauth_client *c, const char *name, const char *value,
                       const char *state)
{
    req_redirect(r, 303, oauth_answer(c->redirect_uri, name, value, state, &r->arena));
    return 0;
}

/* ---- what is asked for ------------------------------------------------------------------------------------------- */

static int read_request(struct req *r, struct oauth_request *ret, struct error *err)
{
    const struct {
        const char *name, **to;
    } all[] = {{"client_id", &ret->client_id},         {"redirect_uri", &ret->redirect_uri},
               {"response_type", &ret->response_type}, {"state", &ret->state},
               {"code_challenge", &ret->challenge},    {"code_challenge_method", &ret->challenge_method}};
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
        if (req_query_param(r, all[i].name, all[i].to, err) < 0)
            return -1;
    return ret->client_id ? 0 : error_set(err, ERR_INVALID, "The address lacks client_id");
}

/* Reads the request and finds its client. ERR_INVALID, ERR_NOT_FOUND: the browser must not be sent anywhere. */
static int find_client(struct req *r, struct store *db, struct oauth_request *q, struct store_oauth_client *c,
                       struct error *err)
{
    cleanup_error struct error why = ERROR_INIT;
    if (read_request(r, q, err) < 0)
        return -1;
    if (store_oauth_client_get(db, q->client_id, &r->arena, c, &why) == 0)
        return oauth_check_address(q, c->redirect_uri, err);
    if (error_pass_unless(&why, ERR_NOT_FOUND, err))
        return -1;
    return error_set(err, ERR_NOT_FOUND, "The program %.100s is not known here: add it with det oauth client add",
                     q->client_id);
}

/* ---- the page ---------------------------------------------------------------------------------------------------- */

/* The answer comes first, and the first of two counts: whoever has made the address cannot answer. */
static const char *answered_with(struct req *r, const char *answer)
{
    return arena_printf(&r->arena, "authorize?answer=%s&%s", answer, req_query(r));
}

static int show_consent(struct req *r, struct store *db, struct error *err)
{
    struct oauth_request q = {0};
    struct store_oauth_client c;
    memset(r->reply.header, 0, sizeof(r->reply.header)); /* the step may run a second time */
    if (find_client(r, db, &q, &c, err) < 0)
        return -1;
    const char *fault = oauth_fault(&q);
    if (fault)
        return send_answer(r, &c, "error", fault, q.state);
    const struct plain_page page = {
        .title = "Let a directory make accounts?",
        .text = arena_printf(&r->arena,
                             "The program \"%s\" asks for access to SCIM: it could make, change and deactivate the "
                             "remote accounts of this cluster, and read the names of its groups. It could do nothing "
                             "else. Your answer takes you to %s. Allow it only if you have just begun this in the "
                             "settings of your directory service.",
                             c.name, c.redirect_uri),
        .button = {{answered_with(r, "allow"), "Allow"}, {answered_with(r, "refuse"), "Refuse"}}};
    /* browsers apply form-action also to where a form's answer redirects to */
    show(r, &page, arena_printf(&r->arena, "'self' %s", oauth_origin(c.redirect_uri, &r->arena)));
    return 0;
}

/* The route is open, so that a browser without a session is sent to log in, and not away. */
int raw_oauth_authorize(struct req *r, struct core *core, struct error *err)
{
    r->error_page = show_failure;
    if (scim_check_enabled(r, err) < 0)
        return -1;
    if (identities_authenticate(r->api->identities, http_request_cookie(r->http, "auth"), r->now_us, &r->who, NULL) <
            0 ||
        r->who.kind != PRINCIPAL_USER || r->who.scope != ACCESS_SCOPE_LOGIN) {
        /* relative, so that a prefix of a proxy stays */
        req_redirect_to_login(r, "../det/login", arena_printf(&r->arena, "/oauth2/authorize?%s", req_query(r)));
        return 0;
    }
    access_take_permissions(r);
    if (r->api->by_roles ? !access_has(r, PERMISSION_ADMINISTRATE_OAUTH, 0) : !r->who.admin)
        return error_set(err, ERR_FORBIDDEN,
                         "Only an admin may let a program make accounts, and you are logged in as %s", r->who.username);
    return req_then_read(r, show_consent);
}

/* ---- the answer -------------------------------------------------------------------------------------------------- */

static int store_code(struct req *r, struct store *db, const struct oauth_request *q, const char **ret,
                      struct error *err)
{
    struct token code;
    struct store_oauth_token row = {.client_id = q->client_id,
                                    .kind = "CODE",
                                    .challenge = q->challenge ? q->challenge : "",
                                    .created_us = r->now_us,
                                    .expiry_us = r->now_us + OAUTH_CODE_LIFE_S * SECOND_US};
    if (actor_check_again(r, db, /* as_admin= */ true, err) < 0 || token_new(&code, err) < 0)
        return -1;
    memcpy(row.token_hash, code.hash, sizeof(row.token_hash));
    if (store_oauth_tokens_forget(db, r->now_us - OAUTH_KEPT_S * SECOND_US, err) < 0 ||
        store_oauth_token_insert(db, &row, err) < 0)
        return -1;
    *ret = arena_strdup(&r->arena, code.text);
    return 0;
}

struct consent {
    struct store_oauth_client client;
    const char *code, *state; /* what the browser takes back; state: NULL: the program has sent none */
};

static int answer_allowed(struct req *r, struct core *core, struct error *err)
{
    const struct consent *x = r->state;
    log_info("oauth.allowed", "client=%s name=%s by=%s", x->client.id, log_quote(x->client.name),
             log_quote(r->who.username));
    return send_answer(r, &x->client, "code", x->code, x->state);
}

int raw_oauth_answer(struct req *r, struct store *db, struct error *err)
{
    struct oauth_request q = {0};
    struct consent *x = arena_new(&r->arena, struct consent);
    const struct store_oauth_client *c = &x->client;
    const char *answer = NULL, *code;
    r->error_page = show_failure;
    memset(r->reply.header, 0, sizeof(r->reply.header)); /* the step may run a second time */
    if (scim_check_enabled(r, err) < 0 || req_query_param(r, "answer", &answer, err) < 0 ||
        find_client(r, db, &q, &x->client, err) < 0)
        return -1;
    const char *fault = oauth_fault(&q);
    if (fault || !answer || strcmp(answer, "allow") != 0)
        return send_answer(r, c, "error", fault ? fault : "access_denied", q.state);
    if (store_code(r, db, &q, &code, err) < 0)
        return -1;
    x->code = code;
    x->state = q.state;
    r->state = x;
    return req_then_loop(r, answer_allowed);
}
