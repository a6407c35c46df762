#include "agent/machine/slots.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "common/base/strbuf.h"
#include "common/system/files.h"
#include "common/system/log.h"

#define CPUINFO_MAX (16 * 1024 * 1024)
#define MODELS_MAX 16

struct processor {
    struct {
        char name[128];
        int cores;
    } model[MODELS_MAX];
    int model_n;
    char vendor[64];
};

/* Reads a line "model name\t: Intel …". Returns true and the value if the line has that key. */
static bool value_of(const char *line, const char *key, char *ret, size_t n)
{
    size_t k = strlen(key);
    if (strncmp(line, key, k) != 0)
        return false;
    const char *p = line + k + strspn(line + k, " \t");
    if (*p != ':')
        return false;
    p += 1 + strspn(p + 1, " \t");
    snprintf(ret, n, "%.*s", (int)strcspn(p, "\n"), p);
    return true;
}

static void count_core(struct processor *p, const char *name)
{
    int i = 0;
    while (i < p->model_n && strcmp(p->model[i].name, name) != 0)
        i++;
    if (i == MODELS_MAX)
        return;
    if (i == p->model_n)
        snprintf(p->model[p->model_n++].name, sizeof(p->model[i].name), "%s", name);
    p->model[i].cores++;
}

static void read_processor(const char *text, struct processor *p)
{
    char name[128];
    for (const char *line = text; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        if (value_of(line, "model name", name, sizeof(name)))
            count_core(p, name);
        else if (!p->vendor[0])
            value_of(line, "vendor_id", p->vendor, sizeof(p->vendor));
    }
}

/* "MODEL x N cores", joined by ", " when there are several models. */
static char *brand_of(const struct processor *p, struct arena *a)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    for (int i = 0; i < p->model_n; i++)
        strbuf_addf(&text, "%s%s x %d cores", i ? ", " : "", p->model[i].name, p->model[i].cores);
    return arena_strdup(a, text.n ? text.s : "unknown processor");
}

const char *slots_processor(const char *cpuinfo, struct arena *a)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    struct processor p = {0};
    if (file_read(cpuinfo, CPUINFO_MAX, &text, NULL) < 0)
        return "";
    read_processor(strbuf_str(&text), &p);
    return brand_of(&p, a);
}

static int find_processor(const char *cpuinfo, struct arena *a, struct slots *ret, struct error *err)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    struct processor p = {0};
    if (file_read(cpuinfo, CPUINFO_MAX, &text, err) < 0)
        return -1;
    read_processor(strbuf_str(&text), &p);
    ret->n = 1;
    ret->device = arena_new(a, struct wire_link_device);
    *ret->device = (struct wire_link_device){.type = WIRE_DEVICE_TYPE_CPU,
                                             .brand = brand_of(&p, a),
                                             .uuid = arena_strdup(a, p.vendor)};
    return 0;
}

/* Makes slots of parts of the machine's cores. */
static int divide_cores(int n, const char *cpuinfo, struct arena *a, struct slots *ret, struct error *err)
{
    struct cores all;
    const char *processor = slots_processor(cpuinfo, a);
    ret->n = (size_t)n;
    ret->cores = arena_array(a, struct cores, ret->n);
    if (cores_read(a, &all, err) < 0 || cores_divide(&all, ret->n, ret->cores, err) < 0)
        return -1;
    ret->device = arena_array(a, struct wire_link_device, ret->n);
    for (int i = 0; i < n; i++) {
        const char *list = cores_text(&ret->cores[i], 1, a);
        ret->device[i] = (struct wire_link_device){.id = i,
                                                   .type = WIRE_DEVICE_TYPE_CPU,
                                                   .brand = arena_printf(a, "cores %s of %s", list, processor),
                                                   .uuid = arena_printf(a, "cores-%s", list)};
    }
    return 0;
}

static void make_artificial(int n, struct arena *a, struct slots *ret)
{
    ret->n = (size_t)n;
    ret->device = arena_array(a, struct wire_link_device, ret->n);
    for (int i = 0; i < n; i++)
        ret->device[i] = (struct wire_link_device){.id = i,
                                                   .type = WIRE_DEVICE_TYPE_CPU,
                                                   .brand = "Artificial",
                                                   .uuid = arena_printf(a, "artificial-%d", i)};
}

/* ---- GPUs -------------------------------------------------------------------------------------------------------- */

/* Whether `name` names the GPU: by its number, its uuid, or the beginning of its uuid, as CUDA accepts it. */
static bool is_named(const struct gpu *g, const char *name, size_t n)
{
    char number[16];
    snprintf(number, sizeof(number), "%d", g->index);
    if (strlen(number) == n && memcmp(number, name, n) == 0)
        return true;
    return n > 4 && strncmp(g->uuid, name, n) == 0;
}

/* Keeps the GPUs that are named, in the order of the list. */
static int keep_visible(const char *names, struct arena *a, struct gpu *gpu, size_t *n, struct error *err)
{
    bool *keep = arena_array(a, bool, *n + 1);
    size_t kept = 0;
    memset(keep, 0, *n + 1);
    for (const char *p = names; *p; p += strcspn(p, ",") + (p[strcspn(p, ",")] == ',')) {
        const char *word = p + strspn(p, " ");
        size_t length = strcspn(word, ", "), found = 0;
        for (size_t i = 0; i < *n; i++)
            if (is_named(&gpu[i], word, length)) {
                keep[i] = true;
                found++;
            }
        if (found == 0 && length > 0 && strncmp(word, "-1", length) != 0)
            return error_set(
                err, ERR_INVALID,
                "visible_gpus (or ROCR_VISIBLE_DEVICES or CUDA_VISIBLE_DEVICES) names the GPU \"%.*s\", which is not "
                "one of the %zu that are there; name them by index or uuid",
                (int)length, word, *n);
    }
    for (size_t i = 0; i < *n; i++)
        if (keep[i])
            gpu[kept++] = gpu[i];
    *n = kept;
    return 0;
}

/* Makes the slots of the GPUs. The parts of one GPU have the numbers that follow each other, and its uuid. */
static void list_gpu_slots(struct slots *s, struct arena *a)
{
    s->n = s->gpu_n * s->per_device;
    s->device = arena_array(a, struct wire_link_device, s->n);
    for (size_t i = 0; i < s->n; i++) {
        const struct gpu *g = &s->gpu[i / s->per_device];
        size_t part = i % s->per_device;
        s->device[i] = (struct wire_link_device){.id = g->index * (int32_t)s->per_device + (int32_t)part,
                                                 .type = s->maker->type,
                                                 .uuid = g->uuid};
        s->device[i].brand = s->per_device == 1
                                 ? g->model
                                 : arena_printf(a, "%s, part %zu of %zu", g->model, part + 1, s->per_device);
    }
}

/* Makes slots of one maker's GPUs. Returns -1 if there are none; *err says why. */
static int find_gpus(const struct gpu_maker *maker, const struct slots_request *q, struct arena *a, struct slots *ret,
                     struct error *err)
{
    struct slots s = {.maker = maker, .driver = "", .per_device = q->per_device > 1 ? (size_t)q->per_device : 1};
    const char *visible = q->visible_gpus;
    if (maker->open(a, &s.driver, err) < 0)
        return -1;
    int r = maker->list(a, &s.gpu, &s.gpu_n, err);
    if (r == 0 && s.gpu_n > 0 && visible)
        r = keep_visible(visible, a, s.gpu, &s.gpu_n, err);
    if (r == 0 && s.gpu_n == 0)
        r = error_set(err, ERR_NOT_FOUND, "this machine has no visible %s GPU", maker->name);
    if (r < 0) {
        maker->close();
        return -1;
    }
    list_gpu_slots(&s, a);
    for (size_t i = 0; i < s.gpu_n; i++) {
        const struct gpu *g = &s.gpu[i];
        log_info("gpu.found", "maker=%s index=%d uuid=%s model=%s memory_mib=%" PRIu64 " driver=%s", maker->name,
                 g->index, g->uuid, log_quote(g->model), g->memory_bytes >> 20, log_quote(s.driver));
    }
    *ret = s;
    return 0;
}

static int find_any_gpus(const struct slots_request *q, struct arena *a, struct slots *ret, struct error *err)
{
    static const struct gpu_maker *const maker[] = {&gpu_nvidia, &gpu_amd};
    static const char *const type[] = {"cuda", "rocm"};
    bool any = strcmp(q->slot_type, "auto") == 0 || strcmp(q->slot_type, "gpu") == 0;
    cleanup_strbuf struct strbuf why = STRBUF_INIT;
    for (size_t i = 0; i < sizeof(maker) / sizeof(maker[0]); i++) {
        cleanup_error struct error one = ERROR_INIT;
        if (!any && strcmp(q->slot_type, type[i]) != 0)
            continue;
        if (find_gpus(maker[i], q, a, ret, &one) == 0)
            return 0;
        if (one.kind == ERR_INVALID) /* what the operator has configured is never ignored */
            return error_set(err, one.kind, "%s", error_msg(&one));
        if (one.kind != ERR_NOT_FOUND && strcmp(q->slot_type, "auto") == 0)
            log_warning("gpu.ignored", "maker=%s reason=%s", maker[i]->name, log_quote(error_msg(&one)));
        strbuf_addf(&why, "%s%s", why.n ? "; " : "", error_msg(&one));
    }
    return error_set(err, ERR_PRECONDITION,
                     "slot_type is %s, but no such device was found: %s; set slot_type to auto, cpu or none",
                     q->slot_type, strbuf_str(&why));
}

/* ---- all of them ------------------------------------------------------------------------------------------------- */

int slots_find(const struct slots_request *q, struct arena *a, struct slots *ret, struct error *err)
{
    static const char *const types[] = {"auto", "none", "cpu", "gpu", "cuda", "rocm"};
    size_t t = 0;
    struct slots s = {.driver = ""};
    while (t < sizeof(types) / sizeof(types[0]) && strcmp(types[t], q->slot_type) != 0)
        t++;
    if (t == sizeof(types) / sizeof(types[0]))
        return error_set(err, ERR_INVALID, "slot_type is \"%s\", allowed are auto, none, cpu, gpu, cuda, rocm",
                         q->slot_type);
    bool is_auto = t == 0, is_none = t == 1, is_cpu = t == 2;
    cleanup_error struct error no_gpu = ERROR_INIT;
    if (q->artificial > 0) {
        make_artificial(q->artificial, a, &s);
    } else if (!is_none) {
        int r = is_cpu ? -1 : find_any_gpus(q, a, &s, &no_gpu);
        bool give_up = r < 0 && !is_cpu && (!is_auto || no_gpu.kind == ERR_INVALID);
        if (give_up)
            return error_set(err, no_gpu.kind, "%s", error_msg(&no_gpu));
        if (r < 0 && (q->cpu_slots > 0 ? divide_cores(q->cpu_slots, q->cpuinfo, a, &s, err)
                                       : find_processor(q->cpuinfo, a, &s, err)) < 0)
            return -1;
    }
    *ret = s;
    return 0;
}

void slots_release(struct slots *s)
{
    if (s->maker)
        s->maker->close();
    s->maker = NULL;
}

size_t slots_gpu(const struct slots *s, size_t i)
{
    return i / s->per_device;
}

size_t slots_shares(const struct slots *s, const int32_t *id, size_t n, struct arena *a, struct slots_share **ret)
{
    struct slots_share *share = arena_array(a, struct slots_share, n + 1);
    size_t share_n = 0;
    for (size_t i = 0; i < n && s->maker; i++) {
        const struct wire_link_device *d = slots_device(s, id[i]);
        if (!d)
            continue;
        const struct gpu *g = &s->gpu[slots_gpu(s, (size_t)(d - s->device))];
        size_t k = 0;
        while (k < share_n && share[k].gpu != g)
            k++;
        if (k == share_n)
            share[share_n++] = (struct slots_share){.gpu = g};
        share[k].memory_bytes += g->memory_bytes / s->per_device;
    }
    *ret = share;
    return share_n;
}

bool slots_gpu_is_listed(const char *uuids, const struct gpu *g)
{
    size_t n = strlen(g->uuid);
    for (const char *p = uuids; p && (p = strstr(p, g->uuid)); p += n)
        if ((p == uuids || p[-1] == ',') && (p[n] == 0 || p[n] == ','))
            return true;
    return false;
}

const char *slots_cores(const struct slots *s, const int32_t *id, size_t n, struct arena *a)
{
    struct cores *own = arena_array(a, struct cores, n + 1);
    size_t own_n = 0;
    for (size_t i = 0; i < n && s->cores; i++)
        if (id[i] >= 0 && (size_t)id[i] < s->n)
            own[own_n++] = s->cores[id[i]];
    return own_n ? cores_text(own, own_n, a) : NULL;
}

const struct wire_link_device *slots_device(const struct slots *s, int32_t id)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->device[i].id == id)
            return &s->device[i];
    return NULL;
}
