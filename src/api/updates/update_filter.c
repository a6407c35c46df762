#include "api/updates/update_filter.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "common/base/compare.h"
#include "common/json/json.h"

enum { IDS_MAX = 10000, RANGES_MAX = 100000 };

static const struct {
    const char *name, *field[UPDATE_BYS];
} kinds[UPDATE_KINDS] = {
    [UPDATE_PROJECT] = {"projects", {"project_ids", "workspace_ids", NULL, NULL}},
    [UPDATE_MODEL] = {"models", {"model_ids", "workspace_ids", NULL, "user_ids"}},
    [UPDATE_VERSION] = {"modelversions", {"model_version_ids", NULL, "model_ids", "user_ids"}},
};

static int read_list(struct json_object *v, const char *name, struct arena *a, struct update_list *ret,
                     struct error *err)
{
    if (!v)
        return 0;
    if (!json_object_is_type(v, json_type_array) || json_object_array_length(v) > IDS_MAX)
        return error_set(err, ERR_INVALID, "%s must be a list of at most %d ids", name, IDS_MAX);
    ret->n = json_object_array_length(v);
    ret->id = arena_array(a, int32_t, ret->n + 1);
    for (size_t i = 0; i < ret->n; i++) {
        struct json_object *id = json_object_array_get_idx(v, i);
        int64_t number = json_object_get_int64(id);
        if (!json_object_is_type(id, json_type_int) || number < 1 || number > INT32_MAX)
            return error_set(err, ERR_INVALID, "%s[%zu] is %s; an id is a number from 1", name, i,
                             id ? json_object_to_json_string(id) : "null");
        ret->id[i] = (int32_t)number;
    }
    qsort(ret->id, ret->n, sizeof(*ret->id), compare_int32);
    return 0;
}

static int bad_ranges(const char *kind, struct error *err)
{
    return error_set(err, ERR_INVALID, "known.%s must be at most %d ids or ranges in ascending order, such as 1,3-7",
                     kind, RANGES_MAX);
}

static int read_number(const char **p, int32_t *ret)
{
    int64_t number = 0;
    const char *from = *p;
    for (; **p >= '0' && **p <= '9' && number <= INT32_MAX; (*p)++)
        number = number * 10 + (**p - '0');
    *ret = (int32_t)number;
    return *p > from && number <= INT32_MAX ? 0 : -1;
}

static int read_ranges(const char *text, const char *kind, struct arena *a, struct update_spec *ret, struct error *err)
{
    size_t n = 1;
    for (const char *p = text; *p; p++)
        n += *p == ',';
    if (n > RANGES_MAX)
        return bad_ranges(kind, err);
    ret->known = arena_array(a, struct update_range, n);
    for (const char *p = text; *p;) {
        struct update_range *r = &ret->known[ret->known_n];
        if (read_number(&p, &r->first) < 0)
            return bad_ranges(kind, err);
        r->last = r->first;
        if (*p == '-' && (p++, read_number(&p, &r->last) < 0))
            return bad_ranges(kind, err);
        if (r->last < r->first || (ret->known_n > 0 && r->first <= r[-1].last) || (*p && *p != ',') ||
            (*p == ',' && !p[1]))
            return bad_ranges(kind, err);
        p += *p == ',';
        ret->known_n++;
    }
    return 0;
}

static int read_kind(enum update_kind k, struct json_object *known, struct json_object *subscribe, struct arena *a,
                     struct update_spec *ret, struct error *err)
{
    struct json_object *ranges = json_member(known, kinds[k].name), *spec = json_member(subscribe, kinds[k].name);
    if (ranges && read_ranges(json_object_get_string(ranges), kinds[k].name, a, ret, err) < 0)
        return -1;
    if (spec && !json_object_is_type(spec, json_type_object))
        return error_set(err, ERR_INVALID, "subscribe.%s must be an object", kinds[k].name);
    for (size_t by = 0; spec && by < UPDATE_BYS; by++)
        if (kinds[k].field[by] &&
            read_list(json_member(spec, kinds[k].field[by]), kinds[k].field[by], a, &ret->by[by], err) < 0)
            return -1;
    ret->since = spec ? json_object_get_int64(json_member(spec, "since")) : 0;
    return 0;
}

int update_request_read(const char *text, size_t n, struct arena *a, struct update_request *ret, struct error *err)
{
    cleanup_json struct json_object *v = NULL;
    *ret = (struct update_request){0};
    if (json_parse(text, n, &v, err) < 0)
        return -1;
    if (!json_object_is_type(v, json_type_object))
        return error_set(err, ERR_INVALID, "a message must be an object with sync_id, known and subscribe");
    struct json_object *known = json_member(v, "known"), *subscribe = json_member(v, "subscribe"),
                       *id = json_member(v, "sync_id");
    if ((known && !json_object_is_type(known, json_type_object)) ||
        (subscribe && !json_object_is_type(subscribe, json_type_object)))
        return error_set(err, ERR_INVALID, "known and subscribe must be objects");
    ret->sync_id = id ? arena_strdup(a, json_object_to_json_string_ext(id, JSON_C_TO_STRING_PLAIN)) : "\"\"";
    for (size_t k = 0; k < UPDATE_KINDS; k++)
        if (read_kind((enum update_kind)k, known, subscribe, a, &ret->kind[k], err) < 0)
            return -1;
    return 0;
}

bool update_spec_wants(const struct update_spec *s, const struct update_ids *ids)
{
    for (size_t by = 0; by < UPDATE_BYS; by++)
        if (s->by[by].n > 0 && ids->id[by] &&
            bsearch(&ids->id[by], s->by[by].id, s->by[by].n, sizeof(int32_t), compare_int32))
            return true;
    return false;
}

static int compare_range(const void *key, const void *of)
{
    int32_t id = *(const int32_t *)key;
    const struct update_range *r = of;
    return id < r->first ? -1 : id > r->last;
}

bool update_spec_knows(const struct update_spec *s, int32_t id)
{
    return s->known_n > 0 && bsearch(&id, s->known, s->known_n, sizeof(*s->known), compare_range);
}

static void add_range(struct strbuf *out, bool *first, int64_t from, int64_t to)
{
    if (from > to)
        return;
    strbuf_addf(out, from == to ? "%s%lld" : "%s%lld-%lld", *first ? "" : ",", (long long)from, (long long)to);
    *first = false;
}

void update_spec_missing(const struct update_spec *s, const int32_t *id, size_t n, struct strbuf *out)
{
    bool first = true;
    size_t i = 0;
    for (size_t k = 0; k < s->known_n; k++) {
        int64_t from = s->known[k].first;
        while (i < n && id[i] < from)
            i++;
        for (; i < n && id[i] <= s->known[k].last; i++) {
            add_range(out, &first, from, (int64_t)id[i] - 1);
            from = (int64_t)id[i] + 1;
        }
        add_range(out, &first, from, s->known[k].last);
    }
}
