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
#define TEXT_MAX 96 /* bytes of a name or a uuid */

struct nvml_memory {
    unsigned long long total, free, used;
};

struct nvml_utilization {
    unsigned gpu, memory;
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

/* Fills in one GPU. A device that does not tell its uuid cannot be given to a task. */
static int describe_gpu(void *device, int index, struct arena *a, struct gpu *ret)
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
                        .model = arena_strdup(a, *name ? name : "NVIDIA GPU")};
    return NVML_SUCCESS;
}

struct list {
    struct arena *arena;
    struct gpu *gpu;
    size_t n, cap;
};

static int add_gpu(struct list *l, void *device, int index)
{
    if (l->n == l->cap) {
        struct gpu *more = arena_array(l->arena, struct gpu, 2 * l->cap + 8);
        if (l->n)
            memcpy(more, l->gpu, l->n * sizeof(*more));
        l->gpu = more;
        l->cap = 2 * l->cap + 8;
    }
    int code = describe_gpu(device, index, l->arena, &l->gpu[l->n]);
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
            add_gpu(l, instance, (int)l->n);
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
            code = add_gpu(&l, device, any_mig ? (int)l.n : (int)i);
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
    nvml.utilization(g->handle, &u);
    *ret = (struct gpu_usage){.busy_percent = u.gpu, .memory_bytes = m.used};
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
};
