/* A configuration over its template, on a hundred thousand random pairs, against the rule in its plainest words:
 *
 *     what one document does not say, the other does; objects member by member; a list: the template's, then the
 *     configuration's; anything else: the configuration's
 *
 * with the exceptions that the table below names by path. Nothing here reads the key tables that the product merges by.
 * The documents are as people write them, shorthands, nulls and nonsense among it. */
#include "cmocka_setup.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "common/json/json.h"
#include "core/config/expconf_internal.h"
#include "gen/config_tables.h"

enum { PAIRS = 100000 };

/* ---- The rule ---------------------------------------------------------------------------------------------------- */

enum exception { NONE, ONE_VALUE, SET, BY_KEY };

static const struct {
    const char *path; /* the path of the list, or of a section above it */
    enum exception exception;
    const char *key;
} exceptions[] = {
    {"entrypoint", ONE_VALUE, NULL},
    {"hyperparameters", ONE_VALUE, NULL},
    {"searcher.bracket_rungs", ONE_VALUE, NULL},
    {"labels", SET, NULL},
    {"environment.add_capabilities", SET, NULL},
    {"environment.drop_capabilities", SET, NULL},
    {"integrations.webhooks.webhook_id", SET, NULL},
    {"integrations.webhooks.webhook_name", SET, NULL},
    {"bind_mounts", BY_KEY, "container_path"},
    {"resources.devices", BY_KEY, "container_path"},
    {"environment.proxy_ports", BY_KEY, "proxy_port"},
    {"environment.pod_spec", BY_KEY, "name"},
    {"log_policies", BY_KEY, "name"},
};

static struct json_object *merge(const char *path, struct json_object *config, struct json_object *template_config);

static struct json_object *share(struct json_object *v)
{
    return json_object_get(v);
}

static enum exception exception_of(const char *path, const char **ret_key)
{
    for (size_t i = 0; i < sizeof(exceptions) / sizeof(*exceptions); i++) {
        size_t n = strlen(exceptions[i].path);
        if (strncmp(path, exceptions[i].path, n) == 0 && (path[n] == '\0' || path[n] == '.')) {
            *ret_key = exceptions[i].key;
            return exceptions[i].exception;
        }
    }
    return NONE;
}

static bool has(struct json_object *list, struct json_object *v)
{
    for (size_t i = 0; i < json_object_array_length(list); i++)
        if (json_object_equal(json_object_array_get_idx(list, i), v))
            return true;
    return false;
}

/* The order of values: first numbers, then all other values by their text. */
static int by_value(const void *a, const void *b)
{
    char text[2][256];
    for (int i = 0; i < 2; i++) {
        struct json_object *v = *(struct json_object *const *)(i ? b : a);
        bool number = json_object_is_type(v, json_type_int);
        if (number)
            snprintf(text[i], sizeof(text[i]), " %020d", json_object_get_int(v));
        else
            snprintf(text[i], sizeof(text[i]), "%s", v ? json_object_get_string(v) : "null");
    }
    return strcmp(text[0], text[1]);
}

static struct json_object *key_of(struct json_object *item, const char *key)
{
    return json_object_is_type(item, json_type_object) ? json_object_object_get(item, key) : NULL;
}

/* Returns whether the configuration has this item of the template, too. */
static bool is_taken(struct json_object *item, struct json_object *config, const char *key)
{
    for (size_t i = 0; i < json_object_array_length(config); i++) {
        struct json_object *other = json_object_array_get_idx(config, i);
        struct json_object *a = key_of(item, key), *b = key_of(other, key);
        if (a && b ? json_object_equal(a, b) : !a && !b && json_object_equal(item, other))
            return true;
    }
    return false;
}

static struct json_object *merge_lists(const char *path, struct json_object *config,
                                       struct json_object *template_config)
{
    const char *key = NULL;
    enum exception exception = exception_of(path, &key);
    if (exception == ONE_VALUE)
        return share(config);
    struct json_object *list = json_object_new_array();
    struct json_object *first = exception == BY_KEY ? config : template_config;
    struct json_object *second = exception == BY_KEY ? template_config : config;
    for (size_t i = 0; i < json_object_array_length(first); i++) {
        struct json_object *item = json_object_array_get_idx(first, i);
        if (exception != SET || !has(list, item))
            json_object_array_add(list, share(item));
    }
    for (size_t i = 0; i < json_object_array_length(second); i++) {
        struct json_object *item = json_object_array_get_idx(second, i);
        bool skip = exception == SET ? has(list, item) : exception == BY_KEY && is_taken(item, config, key);
        if (!skip)
            json_object_array_add(list, share(item));
    }
    if (exception == SET)
        json_object_array_sort(list, by_value);
    return list;
}

/* Returns whether the member belongs to a storage of another kind. If the kinds differ, only members that all kinds
 * have are taken from the template. */
static bool is_of_other_kind(const char *path, const char *member, struct json_object *config,
                             struct json_object *template_config)
{
    if (strcmp(path, "checkpoint_storage") != 0 || strcmp(member, "type") == 0 || strncmp(member, "save_", 5) == 0)
        return false;
    static const char *const known[] = {"host_path", "storage_path", "bucket", "prefix", "container_path"};
    struct json_object *a = json_object_object_get(config, "type"),
                       *b = json_object_object_get(template_config, "type");
    bool is_known = false;
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
        is_known |= strcmp(known[i], member) == 0;
    return is_known && json_object_is_type(a, json_type_string) && json_object_is_type(b, json_type_string) &&
           !json_object_equal(a, b);
}

static struct json_object *merge_objects(const char *path, struct json_object *config,
                                         struct json_object *template_config)
{
    struct json_object *object = json_object_new_object();
    json_object_object_foreach(template_config, lower, lower_value)
    {
        if (!is_of_other_kind(path, lower, config, template_config))
            json_object_object_add(object, lower, share(lower_value));
    }
    json_object_object_foreach(config, upper, upper_value)
    {
        char below[256];
        struct json_object *other = json_object_object_get(object, upper);
        snprintf(below, sizeof(below), "%s%s%s", path, *path ? "." : "", upper);
        json_object_object_add(object, upper, merge(below, upper_value, other));
    }
    return object;
}

static struct json_object *merge(const char *path, struct json_object *config, struct json_object *template_config)
{
    const char *key;
    if (!config || !template_config)
        return share(config ? config : template_config);
    if (json_object_is_type(config, json_type_object) && json_object_is_type(template_config, json_type_object))
        return merge_objects(path, config, template_config);
    if (json_object_is_type(config, json_type_array) && json_object_is_type(template_config, json_type_array))
        return merge_lists(path, config, template_config);
    (void)exception_of(path, &key);
    return share(config);
}

/* ---- Shorthands, spelled out ------------------------------------------------------------------------------------- */

static void spell_out_devices(struct json_object *environment, const char *name, enum json_type shorthand)
{
    static const char *const kinds[] = {"cpu", "cuda", "rocm"};
    struct json_object *v = key_of(environment, name), *gpu;
    if (json_object_is_type(v, shorthand)) {
        struct json_object *each = json_object_new_object();
        for (size_t i = 0; i < 3; i++)
            json_object_object_add(each, kinds[i], share(v));
        json_object_object_add(environment, name, each);
    } else if (json_object_is_type(v, json_type_object) && json_object_object_get_ex(v, "gpu", &gpu)) {
        if (gpu)
            json_object_object_add(v, "cuda", share(gpu));
        json_object_object_del(v, "gpu");
    }
}

/* Makes a device of a text such as "/a:/b:r". */
static struct json_object *device_of(const char *s)
{
    char host[64], container[64], mode[64];
    int n = sscanf(s, "%63[^:]:%63[^:]:%63s", host, container, mode);
    if (n < 2)
        return NULL;
    struct json_object *device = json_object_new_object();
    json_object_object_add(device, "host_path", json_object_new_string(host));
    json_object_object_add(device, "container_path", json_object_new_string(container));
    json_object_object_add(device, "mode", n == 3 ? json_object_new_string(mode) : NULL);
    return device;
}

static void spell_out(struct json_object *config)
{
    struct json_object *environment = key_of(config, "environment"), *resources = key_of(config, "resources");
    struct json_object *devices = key_of(resources, "devices"), *policies = key_of(config, "log_policies"), *v;
    spell_out_devices(environment, "image", json_type_string);
    spell_out_devices(environment, "environment_variables", json_type_array);
    for (size_t i = 0; json_object_is_type(devices, json_type_array) && i < json_object_array_length(devices); i++) {
        v = json_object_array_get_idx(devices, i);
        v = json_object_is_type(v, json_type_string) ? device_of(json_object_get_string(v)) : NULL;
        if (v)
            json_object_array_put_idx(devices, i, v);
    }
    if (json_object_is_type(v = key_of(resources, "shm_size"), json_type_string) &&
        strcmp(json_object_get_string(v), "2k") == 0)
        json_object_object_add(resources, "shm_size", json_object_new_int(2048));
    for (size_t i = 0; json_object_is_type(policies, json_type_array) && i < json_object_array_length(policies); i++) {
        v = json_object_array_get_idx(policies, i);
        if (key_of(key_of(v, "action"), "type"))
            json_object_object_add(v, "action", share(key_of(key_of(v, "action"), "type")));
    }
}

/* ---- Random documents -------------------------------------------------------------------------------------------- */

static uint64_t state = 20240917;

static unsigned draw(unsigned n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (unsigned)(state >> 33) % n;
}

static const char *pick(const char *words) /* words are separated by blanks */
{
    static char word[64];
    unsigned n = 1, chosen;
    for (const char *p = words; *p; p++)
        n += *p == ' ';
    for (chosen = draw(n); chosen > 0; chosen--)
        words = strchr(words, ' ') + 1;
    snprintf(word, sizeof(word), "%.*s", (int)strcspn(words, " "), words);
    return word;
}

static struct json_object *word(const char *words)
{
    return json_object_new_string(pick(words));
}

static struct json_object *anything(int depth)
{
    struct json_object *v;
    switch (draw(depth > 0 ? 7 : 5)) {
    case 0:
        return NULL;
    case 1:
        return json_object_new_int((int)draw(3));
    case 2:
        return json_object_new_double(0.5);
    case 3:
        return json_object_new_boolean(true);
    case 4:
        return word("a b x:y");
    case 5:
        v = json_object_new_array();
        for (unsigned n = draw(4); n > 0; n--)
            json_object_array_add(v, anything(depth - 1));
        return v;
    default:
        v = json_object_new_object();
        for (unsigned n = draw(4); n > 0; n--)
            json_object_object_add(v, pick("a b c type name"), anything(depth - 1));
        return v;
    }
}

static struct json_object *list_of(const char *words, bool numbers)
{
    struct json_object *list = json_object_new_array();
    for (unsigned n = draw(4); n > 0; n--)
        json_object_array_add(list, numbers ? json_object_new_int((int)draw(4)) : word(words));
    return list;
}

/* Makes items with some of the named members. Members whose names end in "port" are numbers. */
static struct json_object *items_of(const char *members)
{
    struct json_object *list = json_object_new_array();
    for (unsigned n = draw(4); n > 0; n--) {
        struct json_object *item = json_object_new_object();
        for (unsigned m = 1 + draw(3); m > 0; m--) {
            const char *name = pick(members);
            bool number = strstr(name, "port") != NULL;
            json_object_object_add(item, name, number ? json_object_new_int((int)draw(3)) : word("a b c"));
        }
        json_object_array_add(list, item);
    }
    return list;
}

enum shape {
    TEXT,
    NUMBER,
    TEXTS,
    NUMBERS,
    FREE,
    MOUNTS,
    DEVICES,
    PORTS,
    POLICIES,
    IMAGE,
    VARIABLES,
    STORAGE,
    SIZE,
    POD
};

static struct json_object *value_of(enum shape shape)
{
    struct json_object *v;
    switch (shape) {
    case TEXT:
        return word("a b c");
    case NUMBER:
        return json_object_new_int((int)draw(5));
    case TEXTS:
        return list_of("a b c d", false);
    case NUMBERS:
        return list_of("", true);
    case FREE:
        return anything(3);
    case MOUNTS:
        return items_of("host_path container_path read_only");
    case DEVICES:
        return draw(2) ? items_of("host_path container_path mode") : list_of("/a:/x /b:/x:r /b:/y no", false);
    case PORTS:
        return items_of("proxy_port proxy_tcp");
    case POLICIES:
        v = items_of("name pattern action");
        if (json_object_array_length(v) > 0 && draw(2)) {
            struct json_object *action = json_object_new_object();
            json_object_object_add(action, "type", draw(4) ? word("a b") : NULL);
            json_object_object_add(json_object_array_get_idx(v, 0), "action", action);
        }
        return v;
    case IMAGE:
    case VARIABLES:
        if (draw(2))
            return shape == IMAGE ? word("i j") : list_of("A=1 A=2 B=1", false);
        v = json_object_new_object();
        for (unsigned n = draw(4); n > 0; n--)
            json_object_object_add(v, pick("cpu cuda rocm gpu"),
                                   !draw(5)         ? NULL
                                   : shape == IMAGE ? word("i j")
                                                    : list_of("A=1 A=2 B=1", false));
        return v;
    case STORAGE:
        return word("shared_fs directory s3 gcs");
    case SIZE:
        return draw(2) ? word("2k") : json_object_new_int(7);
    default:
        v = json_object_new_object();
        json_object_object_add(v, pick("spec metadata"), items_of("name image"));
        json_object_object_add(v, pick("spec more"), anything(2));
        return v;
    }
}

/* Experiments have the fields from the beginning to SHARED_TO, and tasks those from SHARED_FROM to the end. So both
 * have the fields between these two. */
static const struct {
    const char *path;
    enum shape shape;
} fields[] = {
    {"name", TEXT},
    {"max_restarts", NUMBER},
    {"labels", TEXTS},
    {"data", FREE},
    {"hyperparameters", FREE},
    {"log_policies", POLICIES},
    {"searcher.name", TEXT},
    {"searcher.metric", TEXT},
    {"searcher.max_trials", NUMBER},
    {"searcher.max_length", FREE},
    {"searcher.bracket_rungs", NUMBERS},
    {"checkpoint_storage.type", STORAGE},
    {"checkpoint_storage.host_path", TEXT},
    {"checkpoint_storage.bucket", TEXT},
    {"checkpoint_storage.container_path", TEXT},
    {"checkpoint_storage.save_trial_best", NUMBER},
    {"checkpoint_storage.save_trial_latest", NUMBER},
    {"min_validation_period.batches", NUMBER},
    {"min_validation_period.epochs", NUMBER},
    {"integrations.webhooks.webhook_id", NUMBERS},
    {"integrations.webhooks.webhook_name", TEXTS},
    {"profiling.enabled", TEXT},
    {"resources.slots_per_trial", NUMBER},
    {"description", TEXT},
    {"entrypoint", TEXTS},
    {"bind_mounts", MOUNTS},
    {"resources.devices", DEVICES},
    {"resources.shm_size", SIZE},
    {"environment.image", IMAGE},
    {"environment.environment_variables", VARIABLES},
    {"environment.ports", FREE},
    {"environment.proxy_ports", PORTS},
    {"environment.add_capabilities", TEXTS},
    {"environment.drop_capabilities", TEXTS},
    {"environment.registry_auth", FREE},
    {"environment.pod_spec", POD},
    {"slurm.sbatch_args", TEXTS},
    {"nobody.knows", FREE},
    {"tensorboard_args", TEXTS},
    {"work_dir", TEXT},
    {"resources.slots", NUMBER},
};
enum { FIELDS = sizeof(fields) / sizeof(*fields), SHARED_FROM = 23, SHARED_TO = 38 };

static void put(struct json_object *config, const char *path, struct json_object *v)
{
    const char *dot;
    while ((dot = strchr(path, '.'))) {
        char name[64];
        snprintf(name, sizeof(name), "%.*s", (int)(dot - path), path);
        struct json_object *next = key_of(config, name);
        if (!json_object_is_type(next, json_type_object)) {
            next = json_object_new_object();
            json_object_object_add(config, name, next);
        }
        config = next;
        path = dot + 1;
    }
    json_object_object_add(config, path, v);
}

/* Makes a document of a few fields from a short part of the table, so that two documents often have some of the same
 * fields. One value in sixteen is null, and one in sixteen is of any type. */
static struct json_object *document(unsigned from, unsigned to, unsigned first)
{
    struct json_object *config = json_object_new_object();
    for (unsigned n = draw(7); n > 0; n--) {
        unsigned i = from + (first + draw(8)) % (to - from);
        put(config, fields[i].path, !draw(16) ? NULL : !draw(16) ? anything(2) : value_of(fields[i].shape));
    }
    return config;
}

/* ---- The property ------------------------------------------------------------------------------------------------ */

static void check_pair(const struct schema_key *table, unsigned from, unsigned to, int i)
{
    unsigned first = draw(to - from);
    cleanup_json struct json_object *config = document(from, to, first), *template_config = document(from, to, first);
    cleanup_strbuf struct strbuf texts = STRBUF_INIT;
    json_print(config, &texts);
    strbuf_adds(&texts, "\nupon ");
    json_print(template_config, &texts);
    cleanup_json struct json_object *found = template_lay(table, config, template_config);
    spell_out(config);
    spell_out(template_config);
    cleanup_json struct json_object *expected = merge("", config, template_config);
    if (json_object_equal(found, expected))
        return;
    fail_msg("pair %d: %s\ngives %s\nnot   %s", i, strbuf_str(&texts), json_object_get_string(found),
             json_object_get_string(expected));
}

static void test_merge__of_experiments_follows_the_rule(void **unused)
{
    for (int i = 0; i < PAIRS; i++)
        check_pair(experiment_config_keys, 0, SHARED_TO, i);
}

static void test_merge__of_tasks_follows_the_same_rule(void **unused)
{
    for (int i = 0; i < PAIRS / 4; i++)
        check_pair(task_config_keys, SHARED_FROM, FIELDS, i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_merge__of_experiments_follows_the_rule),
        cmocka_unit_test(test_merge__of_tasks_follows_the_same_rule),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
