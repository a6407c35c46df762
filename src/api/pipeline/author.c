#include "api/pipeline/author.h"

#include "api/pipeline/internal.h"
#include "api/pipeline/request_run.h"
#include "api/rights/origin.h"
#include "store/changes/changes.h"

static const char *via_of(const struct principal *who)
{
    switch (who->kind) {
    case PRINCIPAL_USER:
        return who->access_token ? "access_token" : "session";
    case PRINCIPAL_USER_TOKEN:
        return "task_token";
    default:
        return "none";
    }
}

static const char *address_of(struct req *r)
{
    struct address client;
    char *text = arena_alloc(&r->arena, ADDRESS_TEXT_MAX);
    if (!r->http)
        return "";
    origin_client(r->api->proxies, r->http, &client);
    address_text(&client, text);
    return text;
}

/* NULL: the request is for a raw route, and nobody is logged in who could be its author. */
static const char *route_of(struct req *r)
{
    const struct raw_route *raw = r->run->match.raw;
    if (r->route)
        return r->route->rpc;
    return raw && raw->method && r->who.kind != PRINCIPAL_NONE
               ? arena_printf(&r->arena, "%s %s", raw->method, raw->pattern)
               : NULL;
}

/* The address is asked for once, while the client is still there. */
const char *req_author(struct req *r)
{
    if (r->run->author)
        return r->run->author;
    const char *route = r->who.kind == PRINCIPAL_TASK ? NULL : route_of(r);
    if (!route)
        return NULL;
    const struct change_author author = {.at_us = r->now_us,
                                         .user_id = r->who.user_id,
                                         .session_id = r->who.session_id,
                                         .username = r->who.username,
                                         .via = via_of(&r->who),
                                         .address = address_of(r),
                                         .route = route};
    return r->run->author = change_author_text(&r->arena, &author);
}

void req_act_as(struct req *r, const char *username, const char *via, const char *route)
{
    const struct change_author author = {
        .at_us = r->now_us, .username = username, .via = via, .address = address_of(r), .route = route};
    r->run->author = change_author_text(&r->arena, &author);
}

const char *api_author_now(const struct api *a)
{
    return a && a->running ? req_author(a->running) : NULL;
}
