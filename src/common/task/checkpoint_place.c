#include "common/task/checkpoint_place.h"

#include <string.h>

#include "common/json/json.h"

static const char *text_of(struct json_object *storage, const char *key)
{
    struct json_object *v;
    if (!json_object_object_get_ex(storage, key, &v) || !json_object_is_type(v, json_type_string))
        return NULL;
    return *json_object_get_string(v) ? json_object_get_string(v) : NULL;
}

static bool leads_upwards(const char *path)
{
    for (const char *p = path; *p;) {
        size_t n = strcspn(p, "/");
        if (n == 2 && strncmp(p, "..", 2) == 0)
            return true;
        p += n + (p[n] == '/');
    }
    return false;
}

static bool is_below(const char *path, const char *directory)
{
    size_t n = strlen(directory);
    while (n > 1 && directory[n - 1] == '/')
        n--;
    return strncmp(path, directory, n) == 0 && (path[n] == '/' || path[n] == '\0' || n == 1);
}

static int shared_fs_place(struct json_object *storage, struct arena *a, const char **ret, struct error *err)
{
    const char *host = text_of(storage, "host_path"), *below = text_of(storage, "storage_path");
    if (!host)
        return error_set(err, ERR_PRECONDITION, "the shared_fs storage names no host_path");
    if (below && (leads_upwards(below) || (*below == '/' && !is_below(below, host))))
        return error_set(err, ERR_PRECONDITION, "the storage_path '%s' leads out of the host_path '%s'", below, host);
    *ret = !below          ? arena_strdup(a, host)
           : *below == '/' ? arena_strdup(a, below)
                           : arena_printf(a, "%s/%s", host, below);
    return 0;
}

int checkpoint_place(struct json_object *storage, struct arena *a, const char **ret, struct error *err)
{
    const char *type = json_object_is_type(storage, json_type_object) ? text_of(storage, "type") : NULL;
    if (type && strcmp(type, "shared_fs") == 0)
        return shared_fs_place(storage, a, ret, err);
    if (!type || strcmp(type, "directory") != 0)
        return error_set(err, ERR_UNIMPLEMENTED,
                         "the storage is %s, which only tasks can reach; allowed is shared_fs or "
                         "directory",
                         type ? type : "of no type");
    const char *path = text_of(storage, "container_path");
    if (!path)
        return error_set(err, ERR_PRECONDITION, "the directory storage names no container_path");
    *ret = arena_strdup(a, path);
    return 0;
}

bool checkpoint_uuid_is_valid(const char *text)
{
    static const char form[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
    for (size_t i = 0; i < sizeof(form) - 1; i++)
        if (form[i] == '-' ? text[i] != '-' : !text[i] || !strchr("0123456789abcdefABCDEF", text[i]))
            return false;
    return text[sizeof(form) - 1] == '\0';
}
