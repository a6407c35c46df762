#include "master/pools/agent_settings.h"

#include "common/json/json.h"

static void set_text(struct json_object *o, const char *key, const char *value)
{
    json_object_object_add(o, key, json_object_new_string(value));
}

static struct json_object *part_of(struct json_object *o, const char *name)
{
    struct json_object *part = json_member(o, name);
    if (!json_object_is_type(part, json_type_object)) {
        part = json_object_new_object();
        json_object_object_add(o, name, part);
    }
    return part;
}

static void add_tls(struct json_object *c, const struct provider_setup *s, const char *master_cert)
{
    struct json_object *tls = part_of(part_of(c, "security"), "tls"),
                       *name = json_member(s->config, "master_cert_name");
    json_object_object_add(tls, "enabled", json_object_new_boolean(true));
    if (!json_member(tls, "master_cert") && !json_object_get_boolean(json_member(tls, "skip_verify")) && *master_cert)
        set_text(tls, "master_cert", master_cert);
    if (name && *json_object_get_string(name))
        set_text(tls, "master_cert_name", json_object_get_string(name));
}

struct json_object *agent_settings(const struct provider_setup *s, const char *master_cert)
{
    static const char *const same[] = {"agent_reconnect_attempts", "agent_reconnect_backoff"};
    struct json_object *given = json_member(s->config, "agent_config_file_contents"), *c = NULL;
    if (!given || json_object_deep_copy(given, &c, NULL) < 0)
        c = json_object_new_object();
    set_text(c, "master_host", s->master_host);
    json_object_object_add(c, "master_port", json_object_new_int(s->master_port));
    set_text(c, "resource_pool", s->pool);
    for (size_t i = 0; i < 2; i++)
        if (!json_member(c, same[i]))
            json_object_object_add(c, same[i],
                                   json_object_new_int(json_object_get_int(json_member(s->config, same[i]))));
    if (s->master_tls)
        add_tls(c, s, master_cert);
    return c;
}
