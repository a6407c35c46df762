#include "store/metric_summary.h"

#include <math.h>
#include <string.h>

#include "common/clock.h"

bool metric_number(struct json_object *v, double *ret)
{
    static const struct { const char *text; double value; } special[] = {
        {"NaN", NAN}, {"Infinity", INFINITY}, {"-Infinity", -INFINITY},
    };
    if (json_object_is_type(v, json_type_int) || json_object_is_type(v, json_type_double)) {
        *ret = json_object_get_double(v);
        return true;
    }
    if (!json_object_is_type(v, json_type_string))
        return false;
    for (size_t i = 0; i < sizeof(special) / sizeof(*special); i++) {
        if (strcmp(json_object_get_string(v), special[i].text) == 0) {
            *ret = special[i].value;
            return true;
        }
    }
    return false;
}

static struct json_object *number(double v)
{
    if (isnan(v))
        return json_object_new_string("NaN");
    if (isinf(v))
        return json_object_new_string(v > 0 ? "Infinity" : "-Infinity");
    return json_object_new_double(v);
}

static const char *type_of(struct json_object *v)
{
    double ignored;
    int64_t us;
    if (metric_number(v, &ignored))
        return "number";
    switch (json_object_get_type(v)) {
    case json_type_boolean:
        return "boolean";
    case json_type_object:
        return "object";
    case json_type_array:
        return "array";
    case json_type_string:
        return clock_parse(json_object_get_string(v), (size_t)json_object_get_string_len(v), &us) == 0 ? "date"
               : "string";
    default:
        return "null";
    }
}

/* The entry of a name, by place. */
enum { TYPE, COUNT, SUM, MIN, MAX, LAST, LAST_STEP, ENTRY_NR };

static double entry_number(struct json_object *entry, int place)
{
    double v = 0;
    metric_number(json_object_array_get_idx(entry, (size_t)place), &v);
    return v;
}

static void set(struct json_object *entry, int place, struct json_object *v)
{
    json_object_array_put_idx(entry, (size_t)place, v);
}

static struct json_object *new_entry(struct json_object *v, int64_t step)
{
    double x = 0;
    metric_number(v, &x);
    struct json_object *entry = json_object_new_array_ext(ENTRY_NR);
    set(entry, TYPE, json_object_new_string(type_of(v)));
    set(entry, COUNT, json_object_new_int64(1));
    set(entry, SUM, number(x));
    set(entry, MIN, number(x));
    set(entry, MAX, number(x));
    set(entry, LAST, json_object_get(v));
    set(entry, LAST_STEP, json_object_new_int64(step));
    return entry;
}

/* NaN is neither the least nor the most, unless there is nothing else: fmin and fmax do just that. */
static void update_entry(struct json_object *entry, struct json_object *v, int64_t step)
{
    double x = 0;
    metric_number(v, &x);
    if (strcmp(json_object_get_string(json_object_array_get_idx(entry, TYPE)), type_of(v)) != 0)
        set(entry, TYPE, json_object_new_string("string"));
    set(entry, COUNT, json_object_new_int64(json_object_get_int64(json_object_array_get_idx(entry, COUNT)) + 1));
    set(entry, SUM, number(entry_number(entry, SUM) + x));
    set(entry, MIN, number(fmin(entry_number(entry, MIN), x)));
    set(entry, MAX, number(fmax(entry_number(entry, MAX), x)));
    if (step >= json_object_get_int64(json_object_array_get_idx(entry, LAST_STEP))) {
        set(entry, LAST, json_object_get(v));
        set(entry, LAST_STEP, json_object_new_int64(step));
    }
}

void metric_summary_add(struct json_object *summary, struct json_object *metrics, int64_t step)
{
    json_object_object_foreach(metrics, name, v) {
        struct json_object *entry;
        if (json_object_object_get_ex(summary, name, &entry))
            update_entry(entry, v, step);
        else
            json_object_object_add(summary, name, new_entry(v, step));
    }
}

static struct json_object *show_entry(struct json_object *entry)
{
    struct json_object *shown = json_object_new_object();
    const char *type = json_object_get_string(json_object_array_get_idx(entry, TYPE));
    int64_t count = json_object_get_int64(json_object_array_get_idx(entry, COUNT));
    json_object_object_add(shown, "count", json_object_new_int64(count));
    if (strcmp(type, "number") == 0) {
        json_object_object_add(shown, "sum", number(entry_number(entry, SUM)));
        json_object_object_add(shown, "min", number(entry_number(entry, MIN)));
        json_object_object_add(shown, "max", number(entry_number(entry, MAX)));
        json_object_object_add(shown, "mean", number(entry_number(entry, SUM) / (double)count));
    }
    json_object_object_add(shown, "last", json_object_get(json_object_array_get_idx(entry, LAST)));
    json_object_object_add(shown, "type", json_object_new_string(type));
    return shown;
}

struct json_object *metric_summary_show(struct json_object *summary)
{
    struct json_object *shown = json_object_new_object();
    json_object_object_foreach(summary, name, entry)
        json_object_object_add(shown, name, show_entry(entry));
    return shown;
}
