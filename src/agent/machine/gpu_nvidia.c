/* NVIDIA's GPUs, through NVML, its management library. The declarations are our own: NVML never changes a function, and
 * gives a changed one a new name (_v2), so a header would protect from nothing. A GPU that is divided into MIG
 * instances counts as these instances, each with its own uuid. */
#include <stdbool.h>
#include <string.h>

#include "agent/machine/dynlib.h"
#include "agent/machine/gpu.h"
#include "common/system/log.h"

#define NVML_SUCCESS 0
#define NVML_NO_DRIVER 9
#define NVML_UNCORRECTED 1
#define NVML_VOLATILE 0 /* counted since the driver was loaded */
#define NVML_TEMPERATURE_GPU 0
#define NVML_THRESHOLD_SHUTDOWN 0
#define NVML_EVENT_XID 8ULL
#define TEXT_MAX 96   /* bytes of a name or a uuid */
#define EVENTS_MAX 64 /* events that one check takes; the rest waits for the next check */

struct nvml_memory {
    unsigned long long total, free, used;
};

struct nvml_utilization {
    unsigned gpu, memory;
};

struct nvml_event {
    void *device;
    unsigned long long type, data;
    unsigned gpu_instance, compute_instance;
};

typedef int nvml_text_fn(void *device, char *text, unsigned n);

static struct {
    void *library;
    int (*init)(void);
    int (*shutdown)(void);
    const char *(*error_string)(int code);
    int (*driver_version)(char *text, unsigned n);
    int (*count)(unsigned *n);
    int (*by_index)(unsigned i, void **device);
    nvml_text_fn *uuid, *name;
    int (*memory)(void *device, struct nvml_memory *m);
    int (*utilization)(void *device, struct nvml_utilization *u);
    int (*mig_mode)(void *device, unsigned *current, unsigned *pending);
    int (*mig_count)(void *device, unsigned *n);
    int (*mig_by_index)(void *device, unsigned i, void **instance);
    int (*errors)(void *device, int kind, int since, unsigned long long *n);
    int (*temperature)(void *device, int sensor, unsigned *degrees);
    int (*threshold)(void *device, int which, unsigned *degrees);
    int (*events_new)(void **set);
    int (*events_of)(void *device, unsigned long long types, void *set);
    int (*events_wait)(void *set, struct nvml_event *event, unsigned timeout_ms);
    int (*events_free)(void *set);
} nvml;

static const struct dynlib_function functions[] = {
    {"nvmlInit_v2", (void **)&nvml.init},
    {"nvmlShutdown", (void **)&nvml.shutdown},
    {"nvmlErrorString", (void **)&nvml.error_string},
    {"nvmlSystemGetDriverVersion", (void **)&nvml.driver_version},
    {"nvmlDeviceGetCount_v2", (void **)&nvml.count},
    {"nvmlDeviceGetHandleByIndex_v2", (void **)&nvml.by_index},
    {"nvmlDeviceGetUUID", (void **)&nvml.uuid},
    {"nvmlDeviceGetName", (void **)&nvml.name},
    {"nvmlDeviceGetMemoryInfo", (void **)&nvml.memory},
    {"nvmlDeviceGetUtilizationRates", (void **)&nvml.utilization},
    {"nvmlDeviceGetMigMode", (void **)&nvml.mig_mode, true}, /* exists since driver 450 */
    {"nvmlDeviceGetMaxMigDeviceCount", (void **)&nvml.mig_count, true},
    {"nvmlDeviceGetMigDeviceHandleByIndex", (void **)&nvml.mig_by_index, true},
    {"nvmlDeviceGetTotalEccErrors", (void **)&nvml.errors, true},
    {"nvmlDeviceGetTemperature", (void **)&nvml.temperature, true},
    {"nvmlDeviceGetTemperatureThreshold", (void **)&nvml.threshold, true},
    {"nvmlEventSetCreate", (void **)&nvml.events_new, true},
    {"nvmlDeviceRegisterEvents", (void **)&nvml.events_of, true},
    {"nvmlEventSetWait_v2", (void **)&nvml.events_wait, true},
    {"nvmlEventSetFree", (void **)&nvml.events_free, true},
    {NULL},
};

static int set_nvidia_error(struct error *err, int code, const char *what)
{
    return error_set(err, ERR_PRECONDITION, "NVML: %s: %s", what, nvml.error_string(code));
}

static void nvidia_close(void)
{
    if (nvml.library)
        nvml.shutdown();
    dynlib_close(nvml.library);
    nvml.library = NULL;
}

static int nvidia_open(struct arena *a, const char **ret_driver, struct error *err)
{
    char version[TEXT_MAX] = "";
    void *library;
    if (dynlib_open("NVIDIA management library", "libnvidia-ml.so.1", functions, &library, err) < 0)
        return -1;
    int code = nvml.init();
    if (code != NVML_SUCCESS) {
        set_nvidia_error(err, code, code == NVML_NO_DRIVER ? "the kernel's driver is not loaded" : "cannot begin");
        dynlib_close(library);
        return -1;
    }
    nvml.library = library;
    bool known = nvml.driver_version(version, sizeof(version)) == NVML_SUCCESS;
    *ret_driver = arena_strdup(a, known ? version : "unknown");
    return 0;
}

static bool has_mig(void *device)
{
    unsigned current = 0, pending = 0;
    return nvml.mig_mode && nvml.mig_count && nvml.mig_by_index &&
           nvml.mig_mode(device, &current, &pending) == NVML_SUCCESS && current == 1;
}

/* How many errors of the card's memory could not be corrected since the driver was loaded; 0 if the card does not tell.
 */
static uint64_t count_errors(void *card)
{
    unsigned long long n = 0;
    return nvml.errors && nvml.errors(card, NVML_UNCORRECTED, NVML_VOLATILE, &n) == NVML_SUCCESS ? n : 0;
}

/* Fills in one GPU. A device that does not tell its uuid cannot be given to a task. */
static int describe_gpu(void *device, void *card, int index, struct arena *a, struct gpu *ret)
{
    char uuid[TEXT_MAX], name[TEXT_MAX] = "";
    struct nvml_memory m = {0};
    int code = nvml.uuid(device, uuid, sizeof(uuid));
    if (code != NVML_SUCCESS)
        return code;
    nvml.name(device, name, sizeof(name));
    nvml.memory(device, &m);
    *ret = (struct gpu){.index = index,
                        .uuid = arena_strdup(a, uuid),
                        .memory_bytes = m.total,
                        .handle = device,
                        .card = card,
                        .errors = count_errors(card),
                        .model = arena_strdup(a, *name ? name : "NVIDIA GPU")};
    return NVML_SUCCESS;
}

struct list {
    struct arena *arena;
    struct gpu *gpu;
    size_t n, cap;
};

static int add_gpu(struct list *l, void *device, void *card, int index)
{
    if (l->n == l->cap) {
        struct gpu *more = arena_array(l->arena, struct gpu, 2 * l->cap + 8);
        if (l->n)
            memcpy(more, l->gpu, l->n * sizeof(*more));
        l->gpu = more;
        l->cap = 2 * l->cap + 8;
    }
    int code = describe_gpu(device, card, index, l->arena, &l->gpu[l->n]);
    if (code == NVML_SUCCESS)
        l->n++;
    return code;
}

/* Adds the MIG instances of a card. They are numbered over all cards, since the number of a card would not distinguish
 * its instances. */
static void add_instances(struct list *l, void *device)
{
    unsigned n = 0;
    void *instance;
    nvml.mig_count(device, &n);
    for (unsigned i = 0; i < n; i++)
        if (nvml.mig_by_index(device, i, &instance) == NVML_SUCCESS)
            add_gpu(l, instance, device, (int)l->n);
}

static int nvidia_list(struct arena *a, struct gpu **ret, size_t *ret_n, struct error *err)
{
    unsigned count = 0;
    struct list l = {.arena = a};
    bool any_mig = false;
    void *device;
    int code = nvml.count(&count);
    if (code != NVML_SUCCESS)
        return set_nvidia_error(err, code, "cannot count the GPUs");
    for (unsigned i = 0; i < count; i++)
        any_mig |= nvml.by_index(i, &device) == NVML_SUCCESS && has_mig(device);
    for (unsigned i = 0; i < count; i++) {
        code = nvml.by_index(i, &device);
        if (code == NVML_SUCCESS && has_mig(device))
            add_instances(&l, device);
        else if (code == NVML_SUCCESS)
            code = add_gpu(&l, device, device, any_mig ? (int)l.n : (int)i);
        if (code != NVML_SUCCESS)
            log_error("gpu.unusable", "maker=NVIDIA index=%u reason=%s action=\"its slot is left out\"", i,
                      log_quote(nvml.error_string(code)));
    }
    *ret = l.gpu;
    *ret_n = l.n;
    return 0;
}

/* Reads the usage of a GPU. A MIG instance has its own memory but no utilisation of its own. */
static int nvidia_usage(const struct gpu *g, struct gpu_usage *ret, struct error *err)
{
    struct nvml_memory m;
    struct nvml_utilization u = {0};
    int code = nvml.memory(g->handle, &m);
    if (code != NVML_SUCCESS)
        return set_nvidia_error(err, code, g->uuid);
    bool known = nvml.utilization(g->handle, &u) == NVML_SUCCESS;
    *ret = (struct gpu_usage){.busy_known = known, .busy_percent = u.gpu, .memory_bytes = m.used};
    return 0;
}

/* Xids are what the driver's errors are called. Those of this list are caused by programs: the next program finds the
 * GPU as it should be (NVIDIA, "Xid Errors"; its plugin for Kubernetes passes over the same ones). */
static bool is_of_a_program(unsigned long long xid)
{
    static const unsigned short programs[] = {13, 31, 43, 45, 68, 109};
    for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++)
        if (programs[i] == xid)
            return true;
    return false;
}

static void nvidia_health_end(struct gpu_health *h)
{
    if (h->events)
        nvml.events_free(h->events);
    h->events = NULL;
}

/* Takes the Xids that have come since the last check. Returns the first that is not a program's; 0: there is none. A
 * library or card without such events has none. */
static unsigned long long take_xid(const struct gpu *g, struct gpu_health *h)
{
    struct nvml_event e;
    unsigned long long found = 0;
    if (!nvml.events_new || !nvml.events_of || !nvml.events_wait || !nvml.events_free)
        return 0;
    if (!h->begun && nvml.events_new(&h->events) != NVML_SUCCESS)
        h->events = NULL;
    if (!h->begun && h->events && nvml.events_of(g->card, NVML_EVENT_XID, h->events) != NVML_SUCCESS)
        nvidia_health_end(h);
    h->begun = true;
    for (int i = 0; h->events && i < EVENTS_MAX && nvml.events_wait(h->events, &e, 0) == NVML_SUCCESS; i++)
        if (!found && e.type == NVML_EVENT_XID && !is_of_a_program(e.data))
            found = e.data;
    return found;
}

/* Whether the card has just become so hot that it switches itself off. */
static bool becomes_hot(const struct gpu *g, struct gpu_health *h, unsigned *ret_degrees)
{
    unsigned most = 0;
    bool was = h->hot;
    h->hot = nvml.temperature && nvml.threshold &&
             nvml.threshold(g->card, NVML_THRESHOLD_SHUTDOWN, &most) == NVML_SUCCESS && most > 0 &&
             nvml.temperature(g->card, NVML_TEMPERATURE_GPU, ret_degrees) == NVML_SUCCESS && *ret_degrees >= most;
    return h->hot && !was;
}

static int nvidia_health(const struct gpu *g, struct gpu_health *h, struct error *err)
{
    unsigned long long xid = take_xid(g, h);
    uint64_t errors = count_errors(g->card), before = h->errors;
    unsigned degrees = 0;
    bool hot = becomes_hot(g, h, &degrees);
    h->errors = errors;
    if (xid)
        return error_set(err, ERR_PRECONDITION, "its driver reported Xid %llu", xid);
    if (errors > before)
        return error_set(err, ERR_PRECONDITION, "its memory had %llu error%s that could not be corrected (ECC)",
                         (unsigned long long)(errors - before), errors - before == 1 ? "" : "s");
    if (hot)
        return error_set(err, ERR_PRECONDITION, "it is %u °C hot, at which it switches itself off", degrees);
    return 0;
}

const struct gpu_maker gpu_nvidia = {
    .name = "NVIDIA",
    .type = WIRE_DEVICE_TYPE_CUDA,
    .visible_variable = "CUDA_VISIBLE_DEVICES",
    .open = nvidia_open,
    .close = nvidia_close,
    .list = nvidia_list,
    .usage = nvidia_usage,
    .health = nvidia_health,
    .health_end = nvidia_health_end,
};
