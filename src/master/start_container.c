#include "master/start_container.h"

#include <string.h>

#include "common/base/base64.h"
#include "common/base/cleanup.h"
#include "common/base/must.h"
#include "common/base/strbuf.h"
#include "common/json/json.h"

/* Whether somebody named the image. Every effective configuration has one: without a word about images it is that of
 * the defaults. */
static bool image_is_named(const struct start_container_order *o)
{
    const char *image = exp_environment_image_of(o->environment, o->device_kind);
    const char *otherwise = exp_environment_image_of(&exp_environment_defaults, o->device_kind);
    return image && *image && strcmp(image, otherwise) != 0;
}

static void add_text(struct json_object *o, const char *name, const char *value)
{
    if (value && *value)
        json_object_object_add(o, name, json_object_new_string(value));
}

/* `auth` is user name and password, as Docker's own configuration file has them: "NAME:PASSWORD" in base64. Engines
 * read it from there only, so the two are told apart here. */
static void add_pair(struct json_object *o, const char *auth)
{
    size_t n = auth ? strlen(auth) : 0;
    cleanup_free char *pair = must_calloc(base64_decoded_max(n) + 1, 1);
    if (n == 0 || base64_decode(auth, n, (uint8_t *)pair, &n) < 0)
        return;
    char *colon = strchr(pair, ':');
    if (!colon)
        return;
    *colon = 0;
    add_text(o, "username", pair);
    add_text(o, "password", colon + 1);
}

/* The credentials as an engine takes them; "" if there are none. */
static const char *credentials_of(const struct exp_registry_auth *r, struct arena *a)
{
    cleanup_json struct json_object *o = json_object_new_object();
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    add_text(o, "username", r->username);
    add_text(o, "password", r->password);
    add_pair(o, r->auth);
    add_text(o, "email", r->email);
    add_text(o, "serveraddress", r->serveraddress);
    add_text(o, "identitytoken", r->identitytoken);
    add_text(o, "registrytoken", r->registrytoken);
    if (json_object_object_length(o) == 0)
        return "";
    json_print(o, &text);
    return arena_strdup(a, strbuf_str(&text));
}

static void devices_of(const struct start_container_order *o, struct wire_link_task_container *w, struct arena *a)
{
    w->devices = arena_array(a, struct wire_link_task_device, o->device_n + 1);
    for (; w->devices_n < o->device_n; w->devices_n++)
        w->devices[w->devices_n] =
            (struct wire_link_task_device){.host_path = o->device[w->devices_n].host_path,
                                           .container_path = o->device[w->devices_n].container_path,
                                           .mode = o->device[w->devices_n].mode};
}

static void ports_of(struct json_object *ports, struct wire_link_task_container *w, struct arena *a)
{
    if (!ports)
        return;
    w->ports = arena_array(a, int32_t, (size_t)json_object_object_length(ports) + 1);
    json_object_object_foreach(ports, name, port)
    {
        (void)name;
        w->ports[w->ports_n++] = json_object_get_int(port);
    }
}

const struct wire_link_task_container *start_container_fill(const struct start_container_order *o, struct arena *a)
{
    const struct exp_environment *e = o->environment;
    struct wire_link_task_container *w = arena_new(a, struct wire_link_task_container);
    *w = (struct wire_link_task_container){
        .image_named = image_is_named(o),
        .force_pull = e->force_pull_image,
        .registry_auth = credentials_of(&e->registry_auth, a),
        .add_capabilities = arena_dup(a, e->add_capabilities, e->add_capabilities_n * sizeof(*e->add_capabilities)),
        .add_capabilities_n = e->add_capabilities_n,
        /* the containers of one task find each other by the addresses of their machines */
        .network_mode = o->container_n > 1 ? "host" : o->network_mode};
    devices_of(o, w, a);
    ports_of(e->ports, w, a);
    return w;
}
