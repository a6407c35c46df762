#include "core/searcher/hparams.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "common/base/must.h"
#include "common/json/json.h"
#include "core/searcher/power.h"

enum hparam_type { HPARAM_NONE, HPARAM_CONST, HPARAM_INT, HPARAM_DOUBLE, HPARAM_LOG, HPARAM_CATEGORICAL };

/* Returns HPARAM_NONE for a value that is not an object, and for an object without a known `type`. The first is a
 * constant, the second a nested space. */
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

static bool is_number(struct json_object *v)
{
    return json_object_is_type(v, json_type_int) || json_object_is_type(v, json_type_double);
}

static int check_range(const char *name, struct json_object *v, struct error *err)
{
    if (!is_number(json_member(v, "minval")) || !is_number(json_member(v, "maxval")))
        return error_set(err, ERR_INVALID, "hyperparameters.%s: needs the numbers minval and maxval", name);
    double low = json_object_get_double(json_member(v, "minval")),
           high = json_object_get_double(json_member(v, "maxval"));
    if (low > high)
        return error_set(err, ERR_INVALID, "hyperparameters.%s: minval is greater than maxval", name);
    if (!isfinite(high - low))
        return error_set(err, ERR_INVALID, "hyperparameters.%s: the range from %g to %g is too wide", name, low, high);
    return 0;
}

static int check_log(const char *name, struct json_object *v, struct error *err)
{
    if (!is_number(json_member(v, "base")) || json_object_get_double(json_member(v, "base")) <= 0)
        return error_set(err, ERR_INVALID, "hyperparameters.%s: needs a base greater than 0", name);
    if (check_range(name, v, err) < 0)
        return -1;
    double base = json_object_get_double(json_member(v, "base"));
    double low = power(base, json_object_get_double(json_member(v, "minval")));
    double high = power(base, json_object_get_double(json_member(v, "maxval")));
    if (!isfinite(low) || !isfinite(high))
        return error_set(err, ERR_INVALID,
                         "hyperparameters.%s: minval and maxval are exponents of base %g, which gives %g to %g", name,
                         base, low, high);
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
        return check_log(name, v, err);
    case HPARAM_CATEGORICAL:
        vals = json_member(v, "vals");
        if (!json_object_is_type(vals, json_type_array) || json_object_array_length(vals) == 0)
            return error_set(err, ERR_INVALID, "hyperparameters.%s: needs a list vals with at least one value", name);
        return 0;
    case HPARAM_NONE:
        return json_object_is_type(v, json_type_object) ? hparams_check(v, err) : 0;
    case HPARAM_CONST:
        break;
    }
    return 0;
}

int hparams_check(struct json_object *space, struct error *err)
{
    if (!json_object_is_type(space, json_type_object))
        return error_set(err, ERR_INVALID, "hyperparameters: expected an object");
    json_object_object_foreach(space, name, v)
    {
        if (check_one(name, v, err) < 0)
            return -1;
    }
    return 0;
}

static struct json_object *sample_one(struct json_object *v, struct rng *rng)
{
    switch (type_of(v)) {
    case HPARAM_CONST:
        return json_object_get(json_member(v, "val"));
    case HPARAM_INT: {
        int64_t low = json_object_get_int64(json_member(v, "minval")),
                high = json_object_get_int64(json_member(v, "maxval"));
        uint64_t drawn = rng_limit(rng, (uint64_t)high - (uint64_t)low);
        return json_object_new_int64((int64_t)((uint64_t)low + drawn));
    }
    case HPARAM_DOUBLE:
        return json_new_double(rng_uniform(rng, json_object_get_double(json_member(v, "minval")),
                                           json_object_get_double(json_member(v, "maxval"))));
    case HPARAM_LOG: {
        double exponent = rng_uniform(rng, json_object_get_double(json_member(v, "minval")),
                                      json_object_get_double(json_member(v, "maxval")));
        return json_new_double(power(json_object_get_double(json_member(v, "base")), exponent));
    }
    case HPARAM_CATEGORICAL: {
        struct json_object *vals = json_member(v, "vals");
        size_t drawn = (size_t)rng_int(rng, json_object_array_length(vals));
        return json_object_get(json_object_array_get_idx(vals, drawn));
    }
    case HPARAM_NONE:
        break;
    }
    return json_object_is_type(v, json_type_object) ? hparams_sample(v, rng) : json_object_get(v);
}

struct json_object *hparams_sample(struct json_object *space, struct rng *rng)
{
    size_t n;
    cleanup_free const char **names = json_sorted_names(space, &n);
    struct json_object *sample = json_object_new_object();
    for (size_t i = 0; i < n; i++)
        json_object_object_add(sample, names[i], sample_one(json_member(space, names[i]), rng));
    return sample;
}

/* ---- grid -------------------------------------------------------------------------------------------------------- */

/* The i-th of n values that lie evenly between minval and maxval, both included. If n is 1, the value is the middle. */
static double spaced_value(struct json_object *v, int64_t i, int64_t n)
{
    double low = json_object_get_double(json_member(v, "minval")),
           high = json_object_get_double(json_member(v, "maxval"));
    return n == 1 ? (low + high) / 2 : low + (double)i * (high - low) / (double)(n - 1);
}

static struct json_object *spaced_int(struct json_object *v, int64_t i, int64_t n)
{
    int64_t low = json_object_get_int64(json_member(v, "minval")),
            high = json_object_get_int64(json_member(v, "maxval"));
    double x = round(spaced_value(v, i, n));
    return json_object_new_int64(x <= (double)low ? low : x >= (double)high ? high : (int64_t)x);
}

static int64_t axis_length(struct json_object *v)
{
    int64_t count = json_object_get_int64(json_member(v, "count"));
    switch (type_of(v)) {
    case HPARAM_INT: {
        uint64_t whole = (uint64_t)json_object_get_int64(json_member(v, "maxval")) -
                         (uint64_t)json_object_get_int64(json_member(v, "minval"));
        return whole < (uint64_t)count ? (int64_t)whole + 1 : count;
    }
    case HPARAM_DOUBLE:
    case HPARAM_LOG:
        return count;
    case HPARAM_CATEGORICAL:
        return (int64_t)json_object_array_length(json_member(v, "vals"));
    case HPARAM_CONST:
    case HPARAM_NONE:
        break;
    }
    return 1;
}

static struct json_object *axis_value(struct json_object *v, int64_t i)
{
    switch (type_of(v)) {
    case HPARAM_CONST:
        return json_object_get(json_member(v, "val"));
    case HPARAM_INT:
        return spaced_int(v, i, axis_length(v));
    case HPARAM_DOUBLE:
        return json_new_double(spaced_value(v, i, axis_length(v)));
    case HPARAM_LOG:
        return json_new_double(
            power(json_object_get_double(json_member(v, "base")), spaced_value(v, i, axis_length(v))));
    case HPARAM_CATEGORICAL:
        return json_object_get(json_object_array_get_idx(json_member(v, "vals"), (size_t)i));
    case HPARAM_NONE:
        break;
    }
    return json_object_get(v);
}

static bool is_group(struct json_object *v)
{
    return type_of(v) == HPARAM_NONE && json_object_is_type(v, json_type_object);
}

int hparams_grid_size(struct json_object *space, int64_t *ret, struct error *err)
{
    int64_t size = 1;
    json_object_object_foreach(space, name, v)
    {
        int64_t n = 0;
        if (is_group(v)) {
            if (hparams_grid_size(v, &n, err) < 0)
                return -1;
        } else {
            n = axis_length(v);
        }
        if (n < 1)
            return error_set(err, ERR_INVALID, "hyperparameters.%s: a grid search needs a \"count\" of 1 or more here",
                             name);
        if (__builtin_mul_overflow(size, n, &size) || size > HPARAMS_GRID_MAX)
            return error_set(err, ERR_INVALID,
                             "hyperparameters: the grid has more than %" PRId64 " points; give smaller counts",
                             HPARAMS_GRID_MAX);
    }
    *ret = size;
    return 0;
}

/* Makes the point with the number *index. The last axis varies fastest, so the last axis takes its digit from *index
 * first. */
static struct json_object *grid_point(struct json_object *space, int64_t *index)
{
    size_t n;
    cleanup_free const char **names = json_sorted_names(space, &n);
    cleanup_free struct json_object **value = must_calloc(n + 1, sizeof(struct json_object *));
    for (size_t i = n; i-- > 0;) {
        struct json_object *v = json_member(space, names[i]);
        if (is_group(v)) {
            value[i] = grid_point(v, index);
            continue;
        }
        value[i] = axis_value(v, *index % axis_length(v));
        *index /= axis_length(v);
    }
    struct json_object *point = json_object_new_object();
    for (size_t i = 0; i < n; i++)
        json_object_object_add(point, names[i], value[i]);
    return point;
}

struct json_object *hparams_grid_point(struct json_object *space, int64_t index)
{
    return grid_point(space, &index);
}
