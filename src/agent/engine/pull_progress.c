/* How far a pull is: a table of layers, filled from the objects that the engine reports. */
#include "agent/engine/image.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/must.h"

enum { LAYERS_MAX = 512, ID_MAX = 64 };

struct layer {
    char id[ID_MAX + 1];
    int64_t current, total; /* bytes; 0: unknown */
    bool there;
};

struct pull_progress {
    struct layer layer[LAYERS_MAX];
    size_t layer_n;
};

struct pull_progress *pull_progress_new(void)
{
    return must_calloc(1, sizeof(struct pull_progress));
}

void pull_progress_free(struct pull_progress *p)
{
    free(p);
}

static struct layer *find_layer(struct pull_progress *p, const char *id)
{
    for (size_t i = 0; i < p->layer_n; i++)
        if (strcmp(p->layer[i].id, id) == 0)
            return &p->layer[i];
    if (p->layer_n == LAYERS_MAX || strlen(id) > ID_MAX)
        return NULL;
    struct layer *l = &p->layer[p->layer_n++];
    memcpy(l->id, id, strlen(id) + 1);
    return l;
}

static int64_t bytes_at(struct json_object *o, const char *name)
{
    struct json_object *v = json_object_object_get(o, name);
    int64_t n = json_object_is_type(v, json_type_int) ? json_object_get_int64(v) : 0;
    return n > 0 ? n : 0;
}

const char *pull_progress_take(struct pull_progress *p, struct json_object *o)
{
    static const char *const there[] = {"Pull complete", "Already exists", "Download complete"};
    if (!json_object_is_type(o, json_type_object))
        return "it answers with something that is no object";
    const char *id = engine_text(o, "id"), *status = engine_text(o, "status");
    const char *reason = engine_text(o, "errorDetail.message");
    reason = *reason ? reason : engine_text(o, "error");
    if (*reason)
        return reason;
    struct json_object *detail = json_object_object_get(o, "progressDetail");
    /* the first object names the tag as its id; a layer has details */
    struct layer *l = *id && detail ? find_layer(p, id) : NULL;
    if (!l)
        return NULL;
    if (strcmp(status, "Downloading") == 0) {
        l->current = bytes_at(detail, "current");
        l->total = bytes_at(detail, "total");
    }
    for (size_t i = 0; i < sizeof(there) / sizeof(there[0]); i++)
        if (strcmp(status, there[i]) == 0) {
            l->there = true;
            l->current = l->total;
        }
    return NULL;
}

static void add_size(struct strbuf *out, int64_t bytes)
{
    static const char *const unit[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    double n = (double)bytes;
    size_t i = 0;
    for (; n >= 1024 && i + 1 < sizeof(unit) / sizeof(unit[0]); i++)
        n /= 1024;
    strbuf_addf(out, i ? "%.1f %s" : "%.0f %s", n, unit[i]);
}

void pull_progress_describe(const struct pull_progress *p, struct strbuf *out)
{
    int64_t current = 0, total = 0;
    size_t there = 0;
    for (size_t i = 0; i < p->layer_n; i++) {
        current += p->layer[i].current;
        total += p->layer[i].total;
        there += p->layer[i].there;
    }
    if (p->layer_n == 0)
        return;
    strbuf_addf(out, "%zu of %zu layers are there", there, p->layer_n);
    if (total > 0) {
        strbuf_adds(out, ", ");
        add_size(out, current);
        strbuf_adds(out, " of ");
        add_size(out, total);
    }
}
