/* /scim/v2: a directory service (Okta, Entra) makes, changes and deactivates accounts, by SCIM 2.0 as release 0.38.1
 * serves it. It sees and changes remote accounts only, and no account with a password, such as those of most admins.
 * scim_access.h says how it authenticates itself. */
#include <stdlib.h>
#include <string.h>

#include "api/accounts/remote_account.h"
#include "api/cluster/quota_follow.h"
#include "api/pipeline/author.h"
#include "api/pipeline/convert.h"
#include "api/pipeline/identity.h"
#include "api/pipeline/internal.h"
#include "api/pipeline/raw.h"
#include "api/pipeline/raw_handlers.h"
#include "api/sso/scim_access.h"
#include "api/sso/scim_user.h"
#include "common/base/number.h"
#include "common/json/json.h"
#include "common/system/log.h"
#include "store/functions.h"
#include "store/store.h"

enum { PAGE_DEFAULT = 100, PAGE_MAX = 500 };
#define TYPE "application/scim+json"
#define USER_SCHEMA "urn:ietf:params:scim:schemas:core:2.0:User"
#define GROUP_SCHEMA "urn:ietf:params:scim:schemas:core:2.0:Group"
#define LIST_SCHEMA "urn:ietf:params:scim:api:messages:2.0:ListResponse"

/* ---- answers ----------------------------------------------------------------------------------------------------- */

static void answer(struct req *r, struct json_object *doc)
{
    r->reply.content_type = TYPE;
    json_print(doc, &r->reply.body);
}

static struct json_object *schemas(const char *name)
{
    struct json_object *list = json_object_new_array();
    json_object_array_add(list, json_object_new_string(name));
    return list;
}

/* The user as a document of SCIM; the caller gives it back with json_object_put(). */
static struct json_object *user_document(struct req *r, const struct store_scim_user *u)
{
    struct json_object *doc = NULL, *meta = json_object_new_object();
    if (!u->attributes || json_parse(u->attributes, strlen(u->attributes), &doc, NULL) < 0)
        doc = json_object_new_object();
    const char *id = arena_printf(&r->arena, "%d", u->id);
    json_object_object_add(doc, "schemas", schemas(USER_SCHEMA));
    json_object_object_add(doc, "id", json_object_new_string(id));
    json_object_object_add(doc, "userName", json_object_new_string(u->username));
    json_object_object_add(doc, "active", json_object_new_boolean(u->active));
    if (u->display_name && *u->display_name && !json_object_object_get(doc, "displayName"))
        json_object_object_add(doc, "displayName", json_object_new_string(u->display_name));
    json_object_object_add(meta, "resourceType", json_object_new_string("User"));
    json_object_object_add(meta, "location", json_object_new_string(arena_printf(&r->arena, "/scim/v2/Users/%s", id)));
    json_object_object_add(doc, "meta", meta);
    return doc;
}

static void answer_list(struct req *r, struct json_object *take_items, int64_t total, int64_t start)
{
    cleanup_json struct json_object *doc = json_object_new_object();
    json_object_object_add(doc, "schemas", schemas(LIST_SCHEMA));
    json_object_object_add(doc, "totalResults", json_object_new_int64(total));
    json_object_object_add(doc, "startIndex", json_object_new_int64(start));
    json_object_object_add(doc, "itemsPerPage", json_object_new_int64((int64_t)json_object_array_length(take_items)));
    json_object_object_add(doc, "Resources", take_items);
    answer(r, doc);
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

struct page_asked {
    struct scim_caller caller;
    struct scim_filter filter;
    int64_t start, count; /* start counts from 1 */
};

static int read_count(struct req *r, const char *name, int64_t otherwise, int64_t *ret, struct error *err)
{
    const char *text = NULL;
    char *end;
    *ret = otherwise;
    if (req_query_param(r, name, &text, err) < 0)
        return -1;
    if (!text || !*text)
        return 0;
    long long n = strtoll(text, &end, 10);
    if (*end || n < 0 || n > INT32_MAX)
        return error_set(err, ERR_INVALID, "%s must be a number from 0 on, found \"%.50s\"", name, text);
    *ret = n;
    return 0;
}

static int read_page(struct req *r, struct page_asked *ret, struct error *err)
{
    const char *filter = NULL;
    if (read_count(r, "startIndex", 1, &ret->start, err) < 0 ||
        read_count(r, "count", PAGE_DEFAULT, &ret->count, err) < 0 || req_query_param(r, "filter", &filter, err) < 0 ||
        scim_filter_read(filter, &r->arena, &ret->filter, err) < 0)
        return -1;
    ret->start = ret->start < 1 ? 1 : ret->start;
    ret->count = ret->count > PAGE_MAX ? PAGE_MAX : ret->count;
    return 0;
}

static int list_users(struct req *r, struct store *db, struct error *err)
{
    const struct page_asked *p = r->state;
    struct store_scim_user *u;
    size_t n;
    int64_t total;
    if (store_scim_users_count(db, p->filter.username, p->filter.external_id, &total, err) < 0 ||
        store_scim_users(db, p->filter.username, p->filter.external_id, p->count, p->start - 1, &r->arena, &u, &n,
                         err) < 0)
        return -1;
    struct json_object *items = json_object_new_array();
    for (size_t i = 0; i < n; i++)
        json_object_array_add(items, user_document(r, &u[i]));
    answer_list(r, items, total, p->start);
    return 0;
}

static int begin_users(struct req *r, struct core *core, struct error *err)
{
    return read_page(r, r->state, err) < 0 ? -1 : req_then_read(r, list_users);
}

int raw_scim_users(struct req *r, struct core *core, struct error *err)
{
    r->state = arena_new(&r->arena, struct page_asked);
    return scim_access(r, core, begin_users, err);
}

/* The groups of the cluster, so that a directory finds what it asks for; they are changed by admins, not by SCIM. */
static int list_groups(struct req *r, struct store *db, struct error *err)
{
    const struct page_asked *p = r->state;
    struct store_group_filter f = {.page = page_of((int32_t)(p->start - 1), (int32_t)(p->count ? p->count : 1))};
    struct store_group_list list;
    if (store_group_list(db, &f, &r->arena, &list, err) < 0)
        return -1;
    struct json_object *items = json_object_new_array();
    for (size_t i = 0; i < list.group_n && p->count; i++) {
        struct json_object *g = json_object_new_object();
        json_object_object_add(g, "schemas", schemas(GROUP_SCHEMA));
        json_object_object_add(g, "id", json_object_new_string(arena_printf(&r->arena, "%d", list.group[i].id)));
        json_object_object_add(g, "displayName", json_object_new_string(list.group[i].name));
        json_object_array_add(items, g);
    }
    answer_list(r, items, list.window.total, p->start);
    return 0;
}

static int begin_groups(struct req *r, struct core *core, struct error *err)
{
    struct page_asked *p = r->state;
    if (read_count(r, "startIndex", 1, &p->start, err) < 0 || read_count(r, "count", PAGE_DEFAULT, &p->count, err) < 0)
        return -1;
    p->start = p->start < 1 ? 1 : p->start;
    p->count = p->count > PAGE_MAX ? PAGE_MAX : p->count;
    return req_then_read(r, list_groups);
}

int raw_scim_groups(struct req *r, struct core *core, struct error *err)
{
    r->state = arena_new(&r->arena, struct page_asked);
    return scim_access(r, core, begin_groups, err);
}

static int find_user(struct req *r, struct store *db, struct store_scim_user *ret, struct error *err)
{
    const char *text = req_raw_param(r, 0);
    char *end;
    long long id = strtoll(text, &end, 10);
    if (*end || end == text || id < 1 || id > INT32_MAX)
        return error_set(err, ERR_NOT_FOUND, "user '%.100s' not found", text);
    return store_scim_user_get(db, (int32_t)id, &r->arena, ret, err);
}

static int show_user(struct req *r, struct store *db, struct error *err)
{
    struct store_scim_user u;
    if (find_user(r, db, &u, err) < 0)
        return -1;
    cleanup_json struct json_object *doc = user_document(r, &u);
    answer(r, doc);
    return 0;
}

static int begin_user(struct req *r, struct core *core, struct error *err)
{
    return req_then_read(r, show_user);
}

int raw_scim_user(struct req *r, struct core *core, struct error *err)
{
    r->state = arena_new(&r->arena, struct scim_caller);
    return scim_access(r, core, begin_user, err);
}

/* ---- changing ---------------------------------------------------------------------------------------------------- */

struct change {
    struct scim_caller caller;
    const char *route;
    req_store_fn *step;
    struct json_object *body;
    struct store_user user;     /* as it is afterwards */
    struct quota_news *renamed; /* NULL: the user is called as before */
};

static void release(struct req *r)
{
    struct change *c = r->state;
    json_object_put(c->body);
}

static int remember(struct req *r, struct core *core, struct error *err)
{
    const struct change *c = r->state;
    struct identity_user u;
    identity_of_store(&c->user, &u);
    identities_put_user(api_identities(r->api), &u);
    if (!u.active)
        identities_drop_sessions_of_user(api_identities(r->api), u.id, IDENTITY_END_ALL, NULL);
    log_info("scim.user", "user=%s active=%s", log_quote(u.username), u.active ? "true" : "false");
    return c->renamed ? quota_tell(r, core, c->renamed, err) : 0;
}

static int read_change(struct req *r, struct core *core, struct error *err)
{
    struct change *c = r->state;
    size_t n;
    const char *body = req_body(r, &n);
    if (json_parse(body ? body : "", n, &c->body, err) < 0)
        return error_wrap(err, "the body is no JSON");
    if (!r->api->services.admits_writes(r->api->services.ctx, err))
        return -1;
    req_act_as(r, c->caller.name, "scim", c->route);
    return req_then_write(r, c->step);
}

static int begin_change(struct req *r, struct core *core, const char *route, req_store_fn *step, struct error *err)
{
    struct change *c = arena_new(&r->arena, struct change);
    c->route = route;
    c->step = step;
    r->state = c;
    r->on_end = release;
    return scim_access(r, core, read_change, err);
}

static int finish_change(struct req *r, struct store *db, int32_t id, const struct scim_user *given, struct error *err)
{
    struct change *c = r->state;
    struct store_scim_user u;
    if (store_scim_user_set(db, id, given->external_id, given->attributes, err) < 0 ||
        (!given->active && store_sessions_end_of_user(db, id, err) < 0) ||
        store_user_get(db, id, &r->arena, &c->user, err) < 0 || store_scim_user_get(db, id, &r->arena, &u, err) < 0)
        return -1;
    cleanup_json struct json_object *doc = user_document(r, &u);
    strbuf_reset(&r->reply.body); /* the step may run a second time */
    answer(r, doc);
    return req_then_loop(r, remember);
}

static int store_new(struct req *r, struct store *db, struct error *err)
{
    struct change *c = r->state;
    struct scim_user given;
    struct store_user u;
    int64_t last = 0;
    if (scim_user_read(c->body, &r->arena, &given, err) < 0 || store_last_id(db, STORE_IDS_USERS, &last, err) < 0)
        return -1;
    u = (struct store_user){.id = (int32_t)last + 1,
                            .username = given.username,
                            .active = given.active,
                            .remote = true,
                            .modified_us = r->now_us};
    if (remote_display_name(db, given.display_name, 0, &u.display_name, err) < 0 || store_user_insert(db, &u, err) < 0)
        return -1;
    r->reply.status = 201;
    return finish_change(r, db, u.id, &given, err);
}

static int store_given(struct req *r, struct store *db, const struct store_scim_user *before, struct json_object *doc,
                       struct error *err)
{
    struct change *c = r->state;
    struct scim_user given;
    /* a document without "active" must not activate an account that was deactivated */
    if (json_object_is_type(doc, json_type_object) && !json_object_object_get(doc, "active"))
        json_object_object_add(doc, "active", json_object_new_boolean(before->active));
    if (scim_user_read(doc, &r->arena, &given, err) < 0)
        return -1;
    struct store_user_patch patch = {.username = strcmp(given.username, before->username) == 0 ? NULL : given.username,
                                     .has_active = true,
                                     .active = given.active};
    if (patch.username && before->admin)
        return error_set(err, ERR_FORBIDDEN,
                         "user '%s' is an admin here: whoever had the new name at the provider would be one, too; an "
                         "administrator renames the account here, or takes the admin's rights away first",
                         before->username);
    if (remote_display_name(db, given.display_name, before->id, &patch.display_name, err) < 0 ||
        store_user_patch(db, &patch, before->id, r->now_us, err) < 0 ||
        (patch.username && quota_read_names(r, db, &c->renamed, err) < 0))
        return -1;
    return finish_change(r, db, before->id, &given, err);
}

static int store_put(struct req *r, struct store *db, struct error *err)
{
    struct change *c = r->state;
    struct store_scim_user before;
    const char *id = json_object_is_type(c->body, json_type_object) ? json_get_text(c->body, "id", &r->arena) : "";
    if (*id && strcmp(id, req_raw_param(r, 0)) != 0)
        return error_set(err, ERR_INVALID, "the id in the body, %.50s, is another than in the path", id);
    return find_user(r, db, &before, err) < 0 ? -1 : store_given(r, db, &before, c->body, err);
}

static int store_changed(struct req *r, struct store *db, struct error *err)
{
    struct change *c = r->state;
    struct store_scim_user before;
    if (find_user(r, db, &before, err) < 0)
        return -1;
    cleanup_json struct json_object *doc = user_document(r, &before);
    return scim_user_patch(doc, c->body, &r->arena, err) < 0 ? -1 : store_given(r, db, &before, doc, err);
}

int raw_scim_post_user(struct req *r, struct core *core, struct error *err)
{
    return begin_change(r, core, "POST /scim/v2/Users", store_new, err);
}

int raw_scim_put_user(struct req *r, struct core *core, struct error *err)
{
    return begin_change(r, core, "PUT /scim/v2/Users/:id", store_put, err);
}

int raw_scim_patch_user(struct req *r, struct core *core, struct error *err)
{
    return begin_change(r, core, "PATCH /scim/v2/Users/:id", store_changed, err);
}
