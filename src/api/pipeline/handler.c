/* Implements what handler.h offers to handlers about their request and about the API, except the choice of the next
 * step (steps.c). */
#include "api/pipeline/request_run.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "api/pipeline/internal.h"
#include "common/config/config.h"
#include "core/core.h"
#include "net/http/http.h"
#include "net/loop/loop.h"

const char *req_raw_param(const struct req *r, int index)
{
    return r->run->match.raw_param[index];
}

const void *req_body(const struct req *r, size_t *ret_n)
{
    *ret_n = r->run->body_n;
    return r->run->body ? r->run->body : "";
}

void req_drop_body(struct req *r)
{
    free(r->run->body);
    r->run->body = NULL;
    r->run->body_n = 0;
}

void req_add_header(struct req *r, const char *name, const char *value)
{
    for (size_t i = 0; i < REPLY_HEADERS_MAX; i++) {
        if (r->reply.header[i][0])
            continue;
        r->reply.header[i][0] = name;
        r->reply.header[i][1] = value;
        return;
    }
    assert(!"more reply headers than REPLY_HEADERS_MAX");
}

struct query_search {
    const char *name;
    struct arena *arena;
    const char *value;
};

static int query_match(const char *name, const char *value, void *ctx, struct error *err)
{
    struct query_search *q = ctx;
    if (!q->value && strcmp(name, q->name) == 0)
        q->value = arena_strdup(q->arena, value);
    return 0;
}

const char *req_query(const struct req *r)
{
    return r->run->query;
}

int req_query_param(struct req *r, const char *name, const char **ret, struct error *err)
{
    struct query_search q = {.name = name, .arena = &r->arena};
    if (http_query_each(r->run->query, query_match, &q, err) < 0)
        return -1;
    *ret = q.value;
    return 0;
}

struct cluster_message *api_cluster_message(struct api *a)
{
    return a->cluster_message;
}

struct joining *api_joining(struct api *a)
{
    return a->joining;
}

struct identities *api_identities(struct api *a)
{
    loop_assert();
    return a->identities;
}

const struct api_info *api_info(const struct api *a)
{
    return &a->info;
}

bool api_allows_root_links(const struct api *a)
{
    return config_bool(a->info.config, "security.allow_root_links");
}

int api_core_step(struct api *a, struct core *core, const struct core_event *ev, const struct companion *companion,
                  struct error *err)
{
    loop_assert();
    return a->services.core_step(a->services.ctx, ev, companion, err);
}

int req_core_step(struct req *r, struct core *core, const struct core_event *ev, const struct companion *companion,
                  struct error *err)
{
    struct core_event named = *ev;
    if (r->who.kind == PRINCIPAL_USER || r->who.kind == PRINCIPAL_USER_TOKEN)
        named.by = (struct core_actor){r->who.user_id, r->who.username};
    return api_core_step(r->api, core, &named, companion, err);
}

int req_need_admin(const struct req *r, const char *what, struct error *err)
{
    if (r->who.kind == PRINCIPAL_USER && r->who.admin)
        return 0;
    return error_set(err, ERR_FORBIDDEN, "only an admin may %s, and user '%s' is not an admin", what, r->who.username);
}

int req_need_user(const struct req *r, struct error *err)
{
    if (r->who.kind == PRINCIPAL_USER)
        return 0;
    return error_set(err, ERR_FORBIDDEN, "a task's token can't do this; log in as a user");
}

struct permissions *api_permissions(struct api *a)
{
    return a->permissions;
}
