#include "core/searcher/hparams.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "core/searcher/power.h"

enum hparam_type { HPARAM_NONE, HPARAM_CONST, HPARAM_INT, HPARAM_DOUBLE, HPARAM_LOG, HPARAM_CATEGORICAL };

/* HPARAM_NONE: no object, or one without a known `type`: a constant or a nested space. */
static enum hparam_type type_of(struct json_object *v)
{
    static const char *const names[] = {"", "const", "int", "double", "log", "categorical"};
    struct json_object *type;
    if (!json_object_is_type(v, json_type_object) || !json_object_object_get_ex(v, "type", &type) ||
        !json_object_is_type(type, json_type_string))
        return HPARAM_NONE;
    for (int t = HPARAM_CONST; t <= HPARAM_CATEGORICAL; t++)
        if (strcmp(json_object_get_string(type), names[t]) == 0)
            return (enum hparam_type)t;
    return HPARAM_NONE;
}

static struct json_object *member(struct json_object *v, const char *key)
{
    struct json_object *m = NULL;
    json_object_object_get_ex(v, key, &m);
    return m;
}

static bool is_number(struct json_object *v)
{
    return json_object_is_type(v, json_type_int) || json_object_is_type(v, json_type_double);
}

static int check_range(const char *name, struct json_object *v, struct error *err)
{
    if (!is_number(member(v, "minval")) || !is_number(member(v, "maxval")))
        return error_set(err, ERR_INVALID, "hyperparameters.%s: needs the numbers minval and maxval", name);
    if (json_object_get_double(member(v, "minval")) > json_object_get_double(member(v, "maxval")))
        return error_set(err, ERR_INVALID, "hyperparameters.%s: minval is greater than maxval", name);
    return 0;
}

static int check_one(const char *name, struct json_object *v, struct error *err)
{
    struct json_object *vals;
    switch (type_of(v)) {
    case HPARAM_INT:
    case HPARAM_DOUBLE:
        return check_range(name, v, err);
    case HPARAM_LOG:
        if (!is_number(member(v, "base")) || json_object_get_double(member(v, "base")) <= 0)
            return error_set(err, ERR_INVALID, "hyperparameters.%s: needs a base greater than 0", name);
        return check_range(name, v, err);
    case HPARAM_CATEGORICAL:
        vals = member(v, "vals");
        if (!json_object_is_type(vals, json_type_array) || json_object_array_length(vals) == 0)
            return error_set(err, ERR_INVALID, "hyperparameters.%s: needs a list vals with at least one value", name);
        return 0;
    case HPARAM_NONE:
        return json_object_is_type(v, json_type_object) ? hparams_check(v, err) : 0;
    default:
        return 0;
    }
}

int hparams_check(struct json_object *space, struct error *err)
{
    if (!json_object_is_type(space, json_type_object))
        return error_set(err, ERR_INVALID, "hyperparameters: expected an object");
    json_object_object_foreach(space, name, v) {
        if (check_one(name, v, err) < 0)
            return -1;
    }
    return 0;
}

/* With the shortest digits that read back as the same number: 0.1, not 0.10000000000000001. */
static struct json_object *new_double(double x)
{
    char text[32];
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, x);
        if (strtod(text, NULL) == x)
            break;
    }
    if (strpbrk(text, ".eni") == NULL) /* 2 is an int, this is a double */
        memcpy(text + strlen(text), ".0", sizeof ".0");
    return json_object_new_double_s(x, text);
}

static struct json_object *sample_one(struct json_object *v, struct rng *rng)
{
    switch (type_of(v)) {
    case HPARAM_CONST:
        return json_object_get(member(v, "val"));
    case HPARAM_INT: {
        int64_t low = json_object_get_int64(member(v, "minval")), high = json_object_get_int64(member(v, "maxval"));
        uint64_t drawn = rng_limit(rng, (uint64_t)high - (uint64_t)low);
        return json_object_new_int64((int64_t)((uint64_t)low + drawn));
    }
    case HPARAM_DOUBLE:
        return new_double(rng_uniform(rng, json_object_get_double(member(v, "minval")),
                                      json_object_get_double(member(v, "maxval"))));
    case HPARAM_LOG: {
        double exponent = rng_uniform(rng, json_object_get_double(member(v, "minval")),
                                      json_object_get_double(member(v, "maxval")));
        return new_double(power(json_object_get_double(member(v, "base")), exponent));
    }
    case HPARAM_CATEGORICAL: {
        struct json_object *vals = member(v, "vals");
        size_t drawn = (size_t)rng_int(rng, json_object_array_length(vals));
        return json_object_get(json_object_array_get_idx(vals, drawn));
    }
    case HPARAM_NONE:
    default:
        return json_object_is_type(v, json_type_object) ? hparams_sample(v, rng) : json_object_get(v);
    }
}

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

struct json_object *hparams_sample(struct json_object *space, struct rng *rng)
{
    size_t n = (size_t)json_object_object_length(space), i = 0;
    cleanup_free const char **names = calloc(n + 1, sizeof *names);
    if (names == NULL)
        abort();
    json_object_object_foreach(space, name, unused) {
        (void)unused;
        names[i++] = name;
    }
    qsort(names, n, sizeof *names, by_bytes);

    struct json_object *sample = json_object_new_object();
    for (i = 0; i < n; i++)
        json_object_object_add(sample, names[i], sample_one(member(space, names[i]), rng));
    return sample;
}
