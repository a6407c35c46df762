#include "master/pools/provider_record.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "common/base/percent.h"
#include "common/system/files.h"
#include "common/system/log.h"
#include "common/system/sha256_digits.h"

enum { RECORD_MAX = 1 << 20, HASH_BYTES = 8, KEYS_MAX = 5 };

/* The keys of a provider section that say where its machines are found. A key that is missing here costs nothing but
 * the machines that only its older value finds. */
static const struct {
    const char *type, *key[KEYS_MAX + 1];
} places[] = {{"aws", {"region", "tag_key", "tag_value", "command"}},
              {"gcp", {"project", "zone", "label_key", "label_value", "command"}},
              {"command", {"command", "settings"}}};

/* ---- paths ------------------------------------------------------------------------------------------------------- */

static const char *directory_of(const char *data_dir, struct arena *a)
{
    return arena_printf(a, "%s/providers", data_dir);
}

static const char *hash_of(struct json_object *provider, struct arena *a)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    char *hex = arena_array(a, char, 2 * HASH_BYTES + 1);
    const char *type = json_get_text(provider, "type", a);
    strbuf_adds(&text, type);
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
        for (size_t k = 0; strcmp(places[i].type, type) == 0 && places[i].key[k]; k++) {
            struct json_object *v = json_member(provider, places[i].key[k]);
            strbuf_addf(&text, "\n%s", v ? json_object_to_json_string_ext(v, JSON_C_TO_STRING_PLAIN) : "");
        }
    sha256_digits(text.s, text.n, HASH_BYTES, hex);
    return hex;
}

const char *provider_record_path(const char *data_dir, const char *pool, struct json_object *provider, struct arena *a)
{
    cleanup_strbuf struct strbuf name = STRBUF_INIT;
    strbuf_add_percent(&name, pool, "-_");
    return arena_printf(a, "%s/%s.%s.json", directory_of(data_dir, a), strbuf_str(&name), hash_of(provider, a));
}

/* ---- one record -------------------------------------------------------------------------------------------------- */

int provider_record_write(const char *path, const char *pool, struct json_object *provider, struct error *err)
{
    cleanup_json struct json_object *record = json_object_new_object();
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    cleanup_arena struct arena a = ARENA_INIT;
    const char *directory = arena_strndup(&a, path, (size_t)(strrchr(path, '/') - path));
    json_object_object_add(record, "pool", json_object_new_string(pool));
    json_object_object_add(record, "provider", json_object_get(provider));
    json_print(record, &text);
    return dir_make(directory, 0700, err) < 0 ? -1 : file_write(path, text.s, text.n, 0600, err);
}

static int read_record(const char *path, struct json_object **ret, struct error *err)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    if (file_read(path, RECORD_MAX, &text, err) < 0)
        return -1;
    if (json_parse(text.s, text.n, ret, err) < 0)
        return error_wrap(err, "%s", path);
    if (json_object_is_type(json_member(*ret, "provider"), json_type_object))
        return 0;
    json_object_put(*ret);
    *ret = NULL;
    return error_set(err, ERR_INVALID, "%s has no provider section", path);
}

struct json_object *provider_record_read(const char *path, struct error *err)
{
    cleanup_json struct json_object *record = NULL;
    return read_record(path, &record, err) < 0 ? NULL : json_object_get(json_member(record, "provider"));
}

/* ---- all records ------------------------------------------------------------------------------------------------- */

struct found {
    struct arena *a;
    struct provider_record *at;
    size_t n;
};

static void add_record(struct found *f, const char *path, const char *type)
{
    cleanup_json struct json_object *record = NULL;
    cleanup_error struct error err = ERROR_INIT;
    if (read_record(path, &record, &err) < 0) {
        log_warning("instance.record_unread", "reason=%s", log_quote(error_msg(&err)));
        return;
    }
    if (strcmp(json_get_text(json_member(record, "provider"), "type", f->a), type) != 0)
        return;
    struct provider_record *more = arena_array(f->a, struct provider_record, f->n + 1);
    if (f->n)
        memcpy(more, f->at, f->n * sizeof(*more));
    more[f->n++] = (struct provider_record){.path = path, .pool = json_get_text(record, "pool", f->a)};
    f->at = more;
}

int provider_records(const char *data_dir, const char *type, struct arena *a, struct provider_record **ret,
                     size_t *ret_n, struct error *err)
{
    struct found f = {.a = a};
    const char *directory = directory_of(data_dir, a);
    DIR *d = opendir(directory);
    if (!d && errno != ENOENT)
        return error_errno(err, "reading %s", directory);
    for (struct dirent *e; d && (e = readdir(d));)
        if (e->d_name[0] != '.')
            add_record(&f, arena_printf(a, "%s/%s", directory, e->d_name), type);
    if (d)
        closedir(d);
    *ret = f.at;
    *ret_n = f.n;
    return 0;
}
