#include "common/config/schema_checks.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "common/config/address_range.h"
#include "common/config/capabilities.h"
#include "common/config/python_requirements.h"
#include "common/config/schedule.h"

#define CHECK(check) \
    static void check(struct json_object *v, const char *path, const struct schema_place *place, \
                      struct schema_problems *problems)
#define problem(...) schema_problem(problems, place, path, __VA_ARGS__)

static const char *member_text(struct json_object *v, const char *name)
{
    struct json_object *s = json_object_object_get(v, name);
    return json_object_is_type(s, json_type_string) ? json_object_get_string(s) : NULL;
}

static int64_t member_number(struct json_object *v, const char *name, int64_t otherwise)
{
    struct json_object *n = json_object_object_get(v, name);
    return n ? json_object_get_int64(n) : otherwise;
}

static bool is_set(struct json_object *v, const char *name)
{
    const char *s = member_text(v, name);
    return s && *s;
}

/* ---- Texts ------------------------------------------------------------------------------------------------------- */

CHECK(check_not_empty)
{
    bool list = json_object_is_type(v, json_type_array);
    if (list ? json_object_array_length(v) == 0 : json_object_get_string_len(v) == 0)
        problem("must not be empty");
}

CHECK(check_address_range)
{
    struct address_range range;
    cleanup_error struct error err = ERROR_INIT;
    if (address_range_parse(json_object_get_string(v), &range, &err) < 0)
        problem("%s", error_msg(&err));
}

CHECK(check_capability)
{
    uint64_t mask;
    if (capability_mask(json_object_get_string(v), &mask) < 0)
        problem("there is no Linux capability \"%s\" (man 7 capabilities lists them)", json_object_get_string(v));
}

CHECK(check_absolute_path)
{
    if (json_object_get_string(v)[0] != '/')
        problem("must be an absolute path, found \"%s\"", json_object_get_string(v));
}

CHECK(check_container_path)
{
    const char *s = json_object_get_string(v);
    if (!*s || strcmp(s, ".") == 0)
        problem("must name a path below the work directory or an absolute one, found \"%s\"", s);
}

static bool has_parent_step(const char *path)
{
    for (const char *p = path; *p;) {
        size_t n = strcspn(p, "/");
        if (n == 2 && p[0] == '.' && p[1] == '.')
            return true;
        p += n + (p[n] == '/');
    }
    return false;
}

CHECK(check_storage_prefix)
{
    if (has_parent_step(json_object_get_string(v)))
        problem("must not contain \"..\", found \"%s\"", json_object_get_string(v));
}

CHECK(check_environment_variable)
{
    const char *s = json_object_get_string(v);
    if (*s == '=' || *s == '\0')
        problem("must have the form NAME=VALUE, found \"%s\"", s);
}

CHECK(check_network_mode)
{
    if (strncmp(json_object_get_string(v), "container:", 10) == 0)
        problem("may not join another container's network, found \"%s\"", json_object_get_string(v));
}

static bool parse_port(const char **s, long *ret)
{
    char *end;
    if (!isdigit((unsigned char)**s))
        return false;
    *ret = strtol(*s, &end, 10);
    *s = end;
    return *ret >= 1 && *ret <= 65535;
}

CHECK(check_port_range)
{
    const char *s = json_object_get_string(v);
    long low, high;
    if (*s == '\0')
        return;
    if (!parse_port(&s, &low) || *s++ != ':' || !parse_port(&s, &high) || *s || low > high)
        problem("must be MIN:MAX with ports 1 to 65535, found \"%s\"", json_object_get_string(v));
}

CHECK(check_at_most_30_characters)
{
    if (json_object_get_string_len(v) > 30)
        problem("may have 30 characters at most, found %d", json_object_get_string_len(v));
}

static int64_t nanoseconds_of(struct json_object *v)
{
    int64_t ns = 0;
    if (json_object_is_type(v, json_type_int))
        ns = json_object_get_int64(v);
    else
        duration_parse(json_object_get_string(v), &ns);
    return ns;
}

/* A quarter of it, the time from ping to ping, must be a second at least. */
CHECK(check_agent_link_timeout)
{
    int64_t ns = nanoseconds_of(v);
    if (ns < INT64_C(4000000000) || ns > INT64_C(3600000000000))
        problem("must be from 4s to 1h, found %s", json_object_get_string(v));
}

CHECK(check_positive_duration)
{
    int64_t ns = nanoseconds_of(v);
    if (ns <= 0)
        problem("must be more than 0, found %s", json_object_get_string(v));
    else if (ns < 1000) /* the program counts in microseconds, so this would become 0, which often means no limit */
        problem("must be at least 1us, found %s", json_object_get_string(v));
}

CHECK(check_schedule)
{
    struct schedule ignored;
    cleanup_error struct error err = ERROR_INIT;
    if (schedule_parse(json_object_get_string(v), &ignored, &err) < 0)
        problem("%s", error_msg(&err));
}

CHECK(check_storage_root)
{
    const char *s = json_object_get_string(v);
    if (*s != '/' || has_parent_step(s) || strspn(s, "/.") == strlen(s))
        problem("must be the absolute path of a directory below /, without \"..\", found \"%s\"", s);
}

CHECK(check_url_with_port)
{
    const char *s = json_object_get_string(v), *host = strstr(s, "://");
    const char *colon = host ? strrchr(host + 3, ':') : NULL;
    long port;
    if (!colon || (colon++, !parse_port(&colon, &port)) || (*colon && *colon != '/'))
        problem("must be an address with a port, such as http://localhost:8080, found \"%s\"", s);
}

/* ---- Python ------------------------------------------------------------------------------------------------------ */

CHECK(check_python_interpreter)
{
    cleanup_error struct error err = ERROR_INIT;
    if (python_interpreter_check(json_object_get_string(v), &err) < 0)
        problem("%s", error_msg(&err));
}

/* Requirements are one text, or a list of its lines. Items of another type are reported where the item is checked. */
CHECK(check_python_requirements)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    cleanup_error struct error err = ERROR_INIT;
    if (!json_object_is_type(v, json_type_array))
        strbuf_adds(&text, json_object_get_string(v));
    for (size_t i = 0; json_object_is_type(v, json_type_array) && i < json_object_array_length(v); i++) {
        struct json_object *line = json_object_array_get_idx(v, i);
        if (!json_object_is_type(line, json_type_string))
            return;
        strbuf_addf(&text, "%s\n", json_object_get_string(line));
    }
    if (python_requirements_check(strbuf_str(&text), &err) < 0)
        problem("%s", error_msg(&err));
}

CHECK(check_python)
{
    if (json_object_is_type(v, json_type_string))
        check_python_interpreter(v, path, place, problems);
    else if (json_object_is_type(v, json_type_array))
        check_python_requirements(v, path, place, problems);
    else if (!json_object_object_get(v, "interpreter") && !json_object_object_get(v, "requirements"))
        problem("must have \"interpreter\", \"requirements\" or both");
}

/* ---- Sections ---------------------------------------------------------------------------------------------------- */

CHECK(check_checkpoint_storage)
{
    const char *host = member_text(v, "host_path"), *storage = member_text(v, "storage_path");
    if (!storage || !member_text(v, "type") || strcmp(member_text(v, "type"), "shared_fs") != 0)
        return;
    size_t n = host ? strlen(host) : 0;
    while (n > 1 && host[n - 1] == '/')
        n--;
    bool inside = n == 1 || (n && strncmp(storage, host, n) == 0 && (storage[n] == '/' || storage[n] == '\0'));
    if (has_parent_step(storage))
        problem("storage_path must not contain \"..\", found \"%s\"", storage);
    else if (*storage == '/' && n && !inside)
        problem("storage_path must be relative or below host_path \"%s\", found \"%s\"", host, storage);
}

CHECK(check_elastic_security)
{
    if (is_set(v, "username") != is_set(v, "password"))
        problem("username and password must be set together");
}

CHECK(check_tls_client)
{
    if (is_set(v, "certificate") && json_object_get_boolean(json_object_object_get(v, "skip_verify")))
        problem("certificate has no meaning while skip_verify accepts any");
}

static void need_all(struct json_object *v, const char *const *names, const char *path,
                     const struct schema_place *place, struct schema_problems *problems)
{
    if (!json_object_get_boolean(json_object_object_get(v, "enabled")))
        return;
    for (; *names; names++) {
        if (!is_set(v, *names))
            problem("\"%s\" must be set while enabled is true", *names);
    }
}

CHECK(check_saml)
{
    static const char *const names[] = {"provider",         "idp_recipient_url",
                                        "idp_sso_url",      "idp_sso_descriptor_url",
                                        "idp_metadata_url", NULL};
    need_all(v, names, path, place, problems);
}

CHECK(check_oidc)
{
    static const char *const names[] = {"provider", "client_id", "idp_sso_url", "idp_recipient_url", NULL};
    static const char *const urls[] = {"idp_sso_url", "idp_recipient_url"};
    need_all(v, names, path, place, problems);
    for (size_t i = 0; i < sizeof(urls) / sizeof(*urls); i++) {
        const char *url = is_set(v, urls[i]) ? member_text(v, urls[i]) : NULL;
        if (url && strncmp(url, "https://", 8) != 0 && strncmp(url, "http://", 7) != 0)
            problem("%s must begin with https:// or http://, found \"%s\"", urls[i], url);
    }
}

CHECK(check_resource_manager)
{
    struct json_object *gateway = json_object_object_get(v, "internal_task_gateway");
    if (gateway && member_number(gateway, "gateway_port_range_start", 32768) >=
                       member_number(gateway, "gateway_port_range_end", 65535))
        problem("internal_task_gateway.gateway_port_range_start must be below gateway_port_range_end");
}

CHECK(check_pool_names)
{
    for (size_t i = 0; i < json_object_array_length(v); i++) {
        const char *name = member_text(json_object_array_get_idx(v, i), "pool_name");
        for (size_t j = 0; name && j < i; j++) {
            const char *other = member_text(json_object_array_get_idx(v, j), "pool_name");
            if (other && strcmp(name, other) == 0)
                problem("two pools have the name \"%s\"", name);
        }
    }
}

static void check_master_url(const char *url, const char *path, const struct schema_place *place,
                             struct schema_problems *problems)
{
    size_t scheme = strncmp(url, "http://", 7) == 0 ? 7 : strncmp(url, "https://", 8) == 0 ? 8 : 0;
    if (!scheme || !url[scheme])
        problem("master_url must begin with http:// or https:// and name a host, found \"%s\"", url);
    else if (strchr(url + scheme, '/'))
        problem("master_url may not have a path, found \"%s\"", url);
}

CHECK(check_provider)
{
    int64_t low = member_number(v, "min_instances", 0), high = member_number(v, "max_instances", 5);
    if (low > high)
        problem("min_instances is %lld, more than max_instances, which is %lld", (long long)low, (long long)high);
    if (is_set(v, "master_url"))
        check_master_url(member_text(v, "master_url"), path, place, problems);
}

/* The numbers of GPUs that a Google machine may have: cluster-config 6.5. */
CHECK(check_gcp_instance_type)
{
    static const struct {
        const char *gpu;
        int counts[7];
    } kinds[] = {
        {"nvidia-tesla-t4", {0, 1, 2, 4, -1}},
        {"nvidia-tesla-p100", {0, 1, 2, 4, -1}},
        {"nvidia-tesla-p4", {0, 1, 2, 4, -1}},
        {"nvidia-tesla-v100", {0, 1, 2, 4, 8, -1}},
        {"nvidia-tesla-a100", {0, 1, 2, 4, 8, 16, -1}},
        {"nvidia-a100-80gb", {0, 1, 2, 4, 8, -1}},
        {"nvidia-l4", {0, 1, 2, 4, 8, -1}},
    };
    const char *gpu = is_set(v, "gpu_type") ? member_text(v, "gpu_type") : "nvidia-tesla-t4";
    int64_t count = member_number(v, "gpu_num", 4);
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
        if (strcmp(kinds[i].gpu, gpu) != 0)
            continue;
        for (const int *c = kinds[i].counts; *c >= 0; c++) {
            if (*c == count)
                return;
        }
        problem("a machine cannot have %lld GPUs of type \"%s\"", (long long)count, gpu);
        return;
    }
    if (count > 0)
        problem("unknown gpu_type \"%s\"", gpu);
}

const struct schema_check schema_builtin_checks[] = {
    {"absolute_path", check_absolute_path},
    {"address_range", check_address_range},
    {"agent_link_timeout", check_agent_link_timeout},
    {"at_most_30_characters", check_at_most_30_characters},
    {"capability", check_capability},
    {"checkpoint_storage", check_checkpoint_storage},
    {"container_path", check_container_path},
    {"elastic_security", check_elastic_security},
    {"environment_variable", check_environment_variable},
    {"gcp_instance_type", check_gcp_instance_type},
    {"network_mode", check_network_mode},
    {"not_empty", check_not_empty},
    {"oidc", check_oidc},
    {"pool_names", check_pool_names},
    {"port_range", check_port_range},
    {"positive_duration", check_positive_duration},
    {"provider", check_provider},
    {"python", check_python},
    {"python_interpreter", check_python_interpreter},
    {"python_requirements", check_python_requirements},
    {"resource_manager", check_resource_manager},
    {"saml", check_saml},
    {"schedule", check_schedule},
    {"storage_prefix", check_storage_prefix},
    {"storage_root", check_storage_root},
    {"tls_client", check_tls_client},
    {"url_with_port", check_url_with_port},
    {NULL, NULL},
};
