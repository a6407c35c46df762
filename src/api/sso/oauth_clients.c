/* /oauth2/clients: the programs to which the master gives tokens for SCIM. Administrators add and remove them, with
 * `det oauth client`. A client's secret is shown once, when the client is made; only its hash is stored. */
#include <string.h>

#include "api/accounts/actor.h"
#include "api/pipeline/identity.h"
#include "api/pipeline/names.h"
#include "api/pipeline/raw.h"
#include "api/pipeline/raw_handlers.h"
#include "api/sso/oauth_rules.h"
#include "common/base/hex.h"
#include "common/json/json.h"
#include "common/system/log.h"
#include "common/system/random.h"
#include "store/functions.h"

enum { ID_BYTES = 8 };

static struct json_object *client_document(const struct store_oauth_client *c)
{
    struct json_object *doc = json_object_new_object();
    json_object_object_add(doc, "id", json_object_new_string(c->id));
    json_object_object_add(doc, "name", json_object_new_string(c->name));
    json_object_object_add(doc, "domain", json_object_new_string(c->redirect_uri));
    return doc;
}

int raw_oauth_clients(struct req *r, struct store *db, struct error *err)
{
    struct store_oauth_client *c;
    size_t n;
    if (store_oauth_clients(db, &r->arena, &c, &n, err) < 0)
        return -1;
    cleanup_json struct json_object *list = json_object_new_array();
    for (size_t i = 0; i < n; i++)
        json_object_array_add(list, client_document(&c[i]));
    json_print(list, &r->reply.body);
    return 0;
}

/* ---- adding ------------------------------------------------------------------------------------------------------ */

static int read_text(struct json_object *body, const char *name, struct arena *a, const char **ret, struct error *err)
{
    struct json_object *v = json_member(body, name);
    if (!json_object_is_type(v, json_type_string) ||
        strlen(json_object_get_string(v)) != (size_t)json_object_get_string_len(v))
        return error_set(err, ERR_INVALID,
                         "the body is {\"name\": TEXT, \"domain\": ADDRESS}; %s is missing or no text", name);
    *ret = arena_strdup(a, json_object_get_string(v));
    return 0;
}

static int read_client(struct req *r, struct store_oauth_client *ret, struct error *err)
{
    cleanup_json struct json_object *body = NULL;
    size_t n;
    const char *text = req_body(r, &n);
    if (json_parse(text ? text : "", n, &body, err) < 0)
        return error_wrap(err, "the body is no JSON");
    if (!json_object_is_type(body, json_type_object))
        return error_set(err, ERR_INVALID, "the body is no JSON object");
    if (read_text(body, "name", &r->arena, &ret->name, err) < 0 ||
        read_text(body, "domain", &r->arena, &ret->redirect_uri, err) < 0 ||
        name_check("OAuth client", ret->name, "", err) < 0)
        return -1;
    return oauth_check_redirect(ret->redirect_uri, err);
}

static int check_room(struct req *r, struct store *db, const char *name, struct error *err)
{
    struct store_oauth_client *c;
    size_t n;
    if (store_oauth_clients(db, &r->arena, &c, &n, err) < 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        if (strcmp(c[i].name, name) == 0)
            return error_set(
                err, ERR_CONFLICT,
                "OAuth client '%s' exists already: remove it first (det oauth client remove %s), or choose "
                "another name",
                name, c[i].id);
    if (n >= OAUTH_CLIENTS_MAX)
        return error_set(err, ERR_PRECONDITION,
                         "there are %zu OAuth clients, at most %d are allowed: remove those that are not needed any "
                         "more (det oauth client remove)",
                         n, OAUTH_CLIENTS_MAX);
    return 0;
}

static int make_id(struct arena *a, const char **ret, struct error *err)
{
    unsigned char raw[ID_BYTES];
    if (random_bytes(raw, sizeof(raw), err) < 0)
        return -1;
    *ret = hex_in_arena(raw, sizeof(raw), a);
    return 0;
}

struct new_client {
    struct store_oauth_client row;
    struct token secret;
};

static int answer_added(struct req *r, struct core *core, struct error *err)
{
    const struct new_client *c = r->state;
    cleanup_json struct json_object *doc = client_document(&c->row);
    json_object_object_add(doc, "secret", json_object_new_string(c->secret.text));
    json_print(doc, &r->reply.body);
    log_info("oauth.client_added", "client=%s name=%s by=%s", c->row.id, log_quote(c->row.name),
             log_quote(r->who.username));
    return 0;
}

int raw_oauth_post_client(struct req *r, struct store *db, struct error *err)
{
    struct new_client *c = arena_new(&r->arena, struct new_client);
    c->row = (struct store_oauth_client){.user_id = r->who.user_id, .created_us = r->now_us};
    if (read_client(r, &c->row, err) < 0 || actor_check_again(r, db, /* as_admin= */ true, err) < 0 ||
        check_room(r, db, c->row.name, err) < 0 || make_id(&r->arena, &c->row.id, err) < 0 ||
        token_new(&c->secret, err) < 0)
        return -1;
    memcpy(c->row.secret_hash, c->secret.hash, sizeof(c->row.secret_hash));
    if (store_oauth_client_insert(db, &c->row, err) < 0)
        return -1;
    r->state = c;
    return req_then_loop(r, answer_added);
}

/* ---- removing ---------------------------------------------------------------------------------------------------- */

static int answer_removed(struct req *r, struct core *core, struct error *err)
{
    strbuf_adds(&r->reply.body, "{}");
    log_info("oauth.client_removed", "client=%s by=%s", log_quote(r->state), log_quote(r->who.username));
    return 0;
}

int raw_oauth_delete_client(struct req *r, struct store *db, struct error *err)
{
    char *id = arena_strdup(&r->arena, req_raw_param(r, 0));
    cleanup_error struct error why = ERROR_INIT;
    if (actor_check_again(r, db, /* as_admin= */ true, err) < 0)
        return -1;
    if (store_oauth_client_delete(db, id, &why) < 0)
        return error_pass_unless(&why, ERR_NOT_FOUND, err)
                   ? -1
                   : error_set(err, ERR_NOT_FOUND, "there is no OAuth client '%.100s': see det oauth client list", id);
    r->state = id;
    return req_then_loop(r, answer_removed);
}
