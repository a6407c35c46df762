#include "agent/slots.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/files.h"
#include "common/strbuf.h"

#define CPUINFO_MAX (16 * 1024 * 1024)
#define MODELS_MAX 16

struct processor {
    struct { char name[128]; int cores; } model[MODELS_MAX];
    int model_n;
    char vendor[64];
};

/* "model name\t: Intel …" → true and the value, if the line has that key. */
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

int slots_find(const char *slot_type, int artificial, const char *cpuinfo, struct arena *a,
               struct wire_link_device **ret, size_t *ret_n, struct error *err)
{
    bool none = strcmp(slot_type, "none") == 0;
    bool gpu = strcmp(slot_type, "gpu") == 0 || strcmp(slot_type, "cuda") == 0 || strcmp(slot_type, "rocm") == 0;
    if (artificial == 0 && gpu)
        return error_set(err, ERR_PRECONDITION,
                         "slot_type is %s, but no such device was found: this build looks for none yet; "
                         "set slot_type to auto, cpu or none",
                         slot_type);
    if (!none && !gpu && strcmp(slot_type, "auto") != 0 && strcmp(slot_type, "cpu") != 0)
        return error_set(err, ERR_INVALID, "slot_type is \"%s\", allowed are auto, none, cpu, gpu, cuda, rocm",
                         slot_type);
    size_t n = artificial > 0 ? (size_t)artificial : none ? 0 : 1;
    struct wire_link_device *list = arena_array(a, struct wire_link_device, n + 1);
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    struct processor p = {0};
    if (n > 0 && artificial == 0 && file_read(cpuinfo, CPUINFO_MAX, &text, err) < 0)
        return -1;
    read_processor(strbuf_str(&text), &p);
    for (size_t i = 0; i < n; i++) {
        list[i] = (struct wire_link_device){.id = (int32_t)i, .type = WIRE_DEVICE_TYPE_CPU};
        list[i].brand = artificial > 0 ? "Artificial" : brand_of(&p, a);
        list[i].uuid = artificial > 0 ? arena_printf(a, "artificial-%zu", i) : arena_strdup(a, p.vendor);
    }
    *ret = list;
    *ret_n = n;
    return 0;
}
