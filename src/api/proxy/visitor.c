#include "api/proxy/visitor.h"

#include <string.h>
#include <strings.h>

#include "api/pipeline/access.h"
#include "api/pipeline/identity.h"
#include "api/pipeline/internal.h"
#include "api/pipeline/raw.h"
#include "api/proxy/proxy_headers.h"
#include "api/rights/origin.h"
#include "net/http/http.h"

/* The part of an Authorization header behind its scheme; NULL: it has another scheme. */
static const char *credentials(const struct req *r, const char *scheme)
{
    const char *value = http_request_header(r->http, "Authorization");
    size_t n = strlen(scheme);
    if (!value || strncasecmp(value, scheme, n) != 0 || value[n] != ' ')
        return NULL;
    value += n;
    return value + strspn(value, " ");
}

/* As everywhere, a cookie counts only if no header has credentials. The scheme "token" is the task's own. */
static const char *session_token(const struct req *r)
{
    const char *bearer = credentials(r, "Bearer");
    bool other = http_request_header(r->http, "Authorization") && !credentials(r, "token");
    return bearer || other ? bearer : http_request_cookie(r->http, "auth");
}

void visitor_identify(struct req *r)
{
    struct principal who;
    if (identities_authenticate(r->api->identities, session_token(r), r->now_us, &who, NULL) == 0 &&
        who.kind != PRINCIPAL_TASK)
        r->who = who;
    access_take_permissions(r);
}

/* The token is as good as its owner's account. */
static bool is_tasks_token(const struct req *r, const struct task_service *s, const char *token)
{
    uint8_t hash[TOKEN_HASH_BYTES];
    const struct identity_user *owner = identities_user(r->api->identities, s->owner_id);
    if (!s->has_token || !token || !*token || !owner || !owner->active)
        return false;
    token_hash(token, hash);
    return memcmp(hash, s->token_hash, sizeof(hash)) == 0;
}

/* Looks for the task's own token in all places where it may be. */
static bool shows_task_token(struct req *r, const struct task_service *s, struct visitor *v)
{
    const char *in_query = NULL;
    if (req_query_param(r, "token", &in_query, NULL) == 0 && is_tasks_token(r, s, in_query)) {
        v->token = in_query;
        return true;
    }
    if (is_tasks_token(r, s, credentials(r, "token")))
        return true;
    if (!is_tasks_token(r, s, http_request_cookie(r->http, PROXY_TOKEN_COOKIE)))
        return false;
    v->by_cookie = true;
    return true;
}

/* An Authorization header is the task's if the platform did not need it, and it holds no session of the platform. */
static bool keeps_authorization(const struct req *r, const struct task_service *s)
{
    const char *value = http_request_header(r->http, "Authorization");
    return value && (s->open || credentials(r, "token")) && !strstr(value, TOKEN_PREFIX) &&
           identities_authenticate(r->api->identities, credentials(r, "Bearer"), r->now_us, &(struct principal){0},
                                   NULL) < 0;
}

static bool may_use(const struct req *r, const struct task_service *s)
{
    if (r->who.kind == PRINCIPAL_NONE)
        return false;
    if (r->api->by_roles)
        return access_has(r, s->permission, s->workspace_id);
    return r->who.admin || r->who.user_id == s->owner_id;
}

static int refuse_visitor(const struct req *r, const struct task_service *s, struct error *err)
{
    if (r->who.kind == PRINCIPAL_NONE)
        return error_set(err, ERR_UNAUTHENTICATED, "Unauthorized");
    return error_set(err, ERR_NOT_FOUND, "service '%.200s' not found", s->name);
}

int visitor_check(struct req *r, const struct task_service *s, struct visitor *ret, struct error *err)
{
    struct visitor v = {.keeps_authorization = keeps_authorization(r, s)};
    bool is_own = r->who.kind != PRINCIPAL_NONE && r->who.user_id == s->owner_id;
    v.by_task_token = shows_task_token(r, s, &v);
    v.is_owner = is_own || (v.by_task_token && r->who.kind == PRINCIPAL_NONE);
    if (!s->open && !v.by_task_token) {
        if (!may_use(r, s))
            return refuse_visitor(r, s, err);
        if (access_check_scope(r, err) < 0)
            return -1;
        v.by_cookie = !http_request_header(r->http, "Authorization");
    }
    if (!s->open && v.by_cookie && origin_check_page(r->api->proxies, r->http, err) < 0)
        return -1;
    *ret = v;
    return 0;
}
