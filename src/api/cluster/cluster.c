/* The master itself: identity, health, configuration, telemetry, and the raw routes about these. */
#include <string.h>

#include "api/cluster/cluster_message.h"
#include "api/cluster/joining.h"
#include "api/cluster/openapi.h"
#include "api/pipeline/convert.h"
#include "api/pipeline/identity.h"
#include "api/pipeline/internal.h"
#include "api/pipeline/raw.h"
#include "api/pipeline/raw_handlers.h"
#include "api/pipeline/sign_in.h"
#include "common/base/utf8.h"
#include "common/config/config.h"
#include "common/system/log.h"
#include "gen/handlers.h"
#include "net/http/http.h"

static const char **feature_switches(const struct api_info *info, struct arena *a, size_t *ret_n)
{
    struct json_object *list = config_get(info->config, "feature_switches");
    size_t n = list ? json_object_array_length(list) : 0;
    const char **text = arena_array(a, const char *, n + 1);
    for (size_t i = 0; i < n; i++)
        text[i] = json_object_get_string(json_object_array_get_idx(list, i));
    *ret_n = n;
    return text;
}

/* The release whose interface this master has. Clients compare it with their own version, and the released client
 * warns at every command unless they are equal. The version of this program is in another field. */
#define INTERFACE_VERSION "0.38.1"

int api_get_master(struct req *r, struct core *core, const struct wire_get_master_request *in,
                   struct wire_get_master_response *ret, struct error *err)
{
    const struct api_info *info = api_info(r->api);
    *ret = (struct wire_get_master_response){
        .version = INTERFACE_VERSION,
        .program_version = info->version,
        .has_password_min_length = true,
        .password_min_length = (int32_t)config_int(info->config, "security.password_min_length"),
        .master_id = info->master_id,
        .cluster_id = info->cluster_id,
        .cluster_name = info->cluster_name,
        .branding = "determined",
        .product = WIRE_GET_MASTER_RESPONSE_PRODUCT_COMMUNITY,
        .user_management_enabled = true,
        .has_custom_logo = config_get(info->config, "ui_customization.logo_paths.light_horizontal") != NULL,
        .rbac_enabled = r->api->by_roles,
        .strict_job_queue_control = config_bool(info->config, "security.authz.strict_job_queue_control")};
    struct sign_in_provider p;
    if (sign_in_provider_of(info->config, &r->arena, &p)) {
        ret->sso_providers = arena_new(&r->arena, struct wire_sso_provider);
        ret->sso_providers_n = 1;
        *ret->sso_providers = (struct wire_sso_provider){.name = p.name,
                                                         .sso_url = p.url,
                                                         .type = p.type,
                                                         .always_redirect = p.always_redirect};
    }
    ret->feature_switches = feature_switches(info, &r->arena, &ret->feature_switches_n);
    ret->cluster_message = cluster_message_shown(r);
    return 0;
}

/* This master reports nothing to anybody, whatever telemetry.enabled says: there is no key to report with. */
int api_get_telemetry(struct req *r, struct core *core, const struct wire_get_telemetry_request *in,
                      struct wire_get_telemetry_response *ret, struct error *err)
{
    ret->enabled = false;
    return 0;
}

static void add_providers(struct req *r, struct strbuf *out)
{
    struct sign_in_provider p;
    if (!sign_in_provider_of(api_info(r->api)->config, &r->arena, &p)) {
        strbuf_adds(out, "null");
        return;
    }
    strbuf_adds(out, "[{\"sso_url\":");
    strbuf_add_json(out, p.url, strlen(p.url));
    strbuf_adds(out, ",\"name\":");
    strbuf_add_json(out, p.name, strlen(p.name));
    strbuf_addf(out, ",\"type\":\"%s\",\"always_redirect\":%s}]", p.type, p.always_redirect ? "true" : "false");
}

int raw_info(struct req *r, struct core *core, struct error *err)
{
    const struct api_info *info = api_info(r->api);
    struct strbuf *out = &r->reply.body;
    strbuf_adds(out, "{\"version\":\"" INTERFACE_VERSION "\",\"program_version\":");
    strbuf_add_json(out, info->version, strlen(info->version));
    strbuf_adds(out, ",\"master_id\":");
    strbuf_add_json(out, info->master_id, strlen(info->master_id));
    strbuf_adds(out, ",\"cluster_id\":");
    strbuf_add_json(out, info->cluster_id, strlen(info->cluster_id));
    strbuf_adds(out, ",\"cluster_name\":");
    strbuf_add_json(out, info->cluster_name, strlen(info->cluster_name));
    strbuf_adds(out,
                ",\"telemetry\":{\"enabled\":false,\"otel_enabled\":false,\"otel_endpoint\":\"\"},\"sso_providers\":");
    add_providers(r, out);
    /* a client that hashes passwords asks for this first: a directory can check a plain password only */
    if (config_bool(info->config, "ldap.enabled"))
        strbuf_adds(out, ",\"plain_passwords\":true");
    strbuf_adds(out, "}\n");
    return 0;
}

int raw_openapi(struct req *r, struct core *core, struct error *err)
{
    strbuf_add(&r->reply.body, openapi_text, openapi_text_n);
    return 0;
}

int raw_openapi_page(struct req *r, struct core *core, struct error *err)
{
    req_add_header(
        r, "Content-Security-Policy",
        arena_printf(&r->arena,
                     "default-src 'none'; style-src %s; base-uri 'none'; form-action 'none'; frame-ancestors "
                     "'none'",
                     openapi_page_style));
    r->reply.content_type = "text/html; charset=utf-8";
    strbuf_add(&r->reply.body, openapi_page, openapi_page_n);
    return 0;
}

int raw_health(struct req *r, struct core *core, struct error *err)
{
    bool up = r->api->services.healthy(r->api->services.ctx);
    r->reply.status = up ? 200 : 503;
    strbuf_addf(
        &r->reply.body,
        "{\"status\":\"%s\",\"database\":\"%s\",\"resource_managers\":[{\"cluster_name\":\"default\",\"status\":\"up\"}]}\n",
        up ? "up" : "down", up ? "up" : "down");
    return 0;
}

int raw_metrics(struct req *r, struct core *core, struct error *err)
{
    if (!config_bool(api_info(r->api)->config, "observability.enable_prometheus"))
        return error_set(err, ERR_NOT_FOUND, "metrics are switched off (observability.enable_prometheus)");
    r->reply.content_type = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    r->api->services.metrics(r->api->services.ctx, &r->reply.body);
    return 0;
}

int raw_users_me(struct req *r, struct core *core, struct error *err)
{
    const struct identity_user *u = identities_user(api_identities(r->api), r->who.user_id);
    if (!u)
        return error_set(err, ERR_UNAUTHENTICATED, "Unauthorized");
    struct json_object *o = json_object_new_object();
    json_object_object_add(o, "id", json_object_new_int(u->id));
    json_object_object_add(o, "display_name", u->display_name[0] ? json_object_new_string(u->display_name) : NULL);
    json_object_object_add(o, "username", json_object_new_string(u->username));
    json_object_object_add(o, "name", json_object_new_string(u->display_name[0] ? u->display_name : u->username));
    json_object_object_add(o, "admin", json_object_new_boolean(u->admin));
    json_object_object_add(o, "active", json_object_new_boolean(u->active));
    json_object_object_add(o, "remote", json_object_new_boolean(u->remote));
    json_print(o, &r->reply.body);
    json_object_put(o);
    strbuf_addc(&r->reply.body, '\n');
    return 0;
}

/* ---- agents ------------------------------------------------------------------------------------------------------ */

static int copy_param(struct req *r, const char *name, char *ret, size_t size, struct error *err)
{
    const char *value = NULL;
    if (req_query_param(r, name, &value, err) < 0)
        return -1;
    if (value && strlen(value) >= size)
        return error_set(err, ERR_INVALID, "parameter %s has more than %zu bytes", name, size - 1);
    if (value && text_find_control(value))
        return error_set(err, ERR_INVALID, "parameter %s has a control character", name);
    snprintf(ret, size, "%s", value ? value : "");
    return 0;
}

/* Notes an agent that has no credential but a key that it has made itself, and refuses it until an admin has accepted
 * it. Nothing of it is kept but one entry of a small table. */
static int ask_to_be_accepted(struct req *r, const char *id, const char *key, struct error *err)
{
    const struct api_services *s = &r->api->services;
    struct pending_agent asked = {0};
    bool is_new = false;
    if (!config_bool(api_info(r->api)->config, "security.pending_agents"))
        return error_set(
            err, ERR_UNAUTHENTICATED,
            "this cluster takes agents with a token only (security.pending_agents is false): give the agent "
            "one (det agent join-token create)");
    if (s->agent_has_key(s->ctx, id))
        return error_set(err, ERR_CONFLICT,
                         "another key belongs to the agent id '%s': if this is the same machine, revoke the key (det "
                         "agent revoke-key %s); if not, set another agent_id",
                         id, id);
    token_hash(key, asked.hash);
    snprintf(asked.address, sizeof(asked.address), "%s", http_request_peer(r->http));
    if (s->check_agent_id(s->ctx, id, err) < 0 || copy_param(r, "id", asked.id, sizeof(asked.id), err) < 0 ||
        copy_param(r, "hostname", asked.hostname, sizeof(asked.hostname), err) < 0 ||
        copy_param(r, "version", asked.version, sizeof(asked.version), err) < 0 ||
        copy_param(r, "resource_pool", asked.pool, sizeof(asked.pool), err) < 0 ||
        joining_ask(r->api->joining, &asked, r->now_us, &is_new, err) < 0)
        return -1;
    char fingerprint[JOINING_FINGERPRINT + 1];
    joining_fingerprint(asked.hash, fingerprint);
    if (is_new)
        log_info("agent.waits", "id=%s address=%s fingerprint=%s action=\"det agent accept, or reject\"", log_quote(id),
                 log_quote(asked.address), fingerprint);
    return error_set(err, ERR_FORBIDDEN, "agent '%s' waits to be accepted: det agent accept %s (fingerprint %s)", id,
                     id, fingerprint);
}

/* Finds out with what the agent comes. ERR_UNAUTHENTICATED: nothing that opens this agent id. */
static int check_entry(struct req *r, const char *id, struct agent_entry *ret, struct error *err)
{
    const struct api_services *s = &r->api->services;
    const char *token = req_bearer(r), *join = NULL;
    const struct join_token *t = token ? joining_find_token(r->api->joining, token, r->now_us) : NULL;
    if (req_query_param(r, "join", &join, err) < 0)
        return -1;
    *ret = (struct agent_entry){.pool = ""};
    if (token && s->agent_token_matches(s->ctx, token)) {
        ret->joins = true;
        return 0;
    }
    if (t && id && s->agent_has_key(s->ctx, id))
        return error_set(
            err, ERR_CONFLICT,
            "the agent id '%s' has a key already, and a join token lets in new agents only: revoke the key "
            "(det agent revoke-key %s), or set another agent_id",
            id, id);
    if (t) {
        *ret = (struct agent_entry){.joins = true, .join_token = t->id, .pool = arena_strdup(&r->arena, t->pool)};
        return 0;
    }
    if (token && id && s->agent_key_matches(s->ctx, id, token, &ret->pool))
        return 0;
    if (token && id && join && strcmp(join, "ask") == 0)
        return ask_to_be_accepted(r, id, token, err);
    if (id && s->agent_shows_revoked(s->ctx, r->http, id))
        return error_set(err, ERR_UNAUTHENTICATED,
                         "key and certificate of agent '%s' were revoked by an administrator: it must join again, with "
                         "a token (det agent join-token create) or by det agent accept",
                         id);
    return error_set(
        err, ERR_UNAUTHENTICATED,
        "the agents' token is missing or wrong, or has ended; give the agent a token (det agent join-token "
        "create, or the content of the master's agent.token; agent key token or token_file)");
}

int raw_agents(struct req *r, struct core *core, struct error *err)
{
    const struct api_services *s = &r->api->services;
    const char *id = NULL;
    struct agent_entry entry;
    if (req_query_param(r, "id", &id, err) < 0 || check_entry(r, id, &entry, err) < 0)
        return -1;
    if (!id)
        return error_set(err, ERR_INVALID, "missing parameter: id");
    struct http_request *http = r->http;
    r->http = NULL;
    http_request_set_ctx(http, NULL, NULL);
    if (s->accept_agent(s->ctx, http, id, &entry, err) < 0) {
        r->http = http; /* the request has yet to be answered */
        return -1;
    }
    return 0; /* the connection now speaks the link's protocol; no HTTP reply is sent */
}
