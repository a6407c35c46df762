/* AMD's GPUs, through the ROCm system management library. The library numbers its devices; the uuid that it gives is
 * the one that ROCR_VISIBLE_DEVICES expects. */
#include <inttypes.h>
#include <stdbool.h>

#include "agent/machine/dynlib.h"
#include "agent/machine/gpu.h"
#include "common/system/log.h"

#define RSMI_SUCCESS 0
#define RSMI_MEMORY_VRAM 0
#define RSMI_COMPONENT_DRIVER 0
#define TEXT_MAX 128

static struct {
    void *library;
    int (*init)(uint64_t flags);
    int (*shut_down)(void);
    int (*status_string)(int code, const char **text);
    int (*version)(int component, char *text, uint32_t n);
    int (*count)(uint32_t *n);
    int (*name)(uint32_t i, char *text, size_t n);
    int (*unique_id)(uint32_t i, uint64_t *id);
    int (*memory_total)(uint32_t i, int kind, uint64_t *bytes);
    int (*memory_used)(uint32_t i, int kind, uint64_t *bytes);
    int (*busy)(uint32_t i, uint32_t *percent);
} rsmi;

static const struct dynlib_function functions[] = {
    {"rsmi_init", (void **)&rsmi.init},
    {"rsmi_shut_down", (void **)&rsmi.shut_down},
    {"rsmi_status_string", (void **)&rsmi.status_string},
    {"rsmi_version_str_get", (void **)&rsmi.version},
    {"rsmi_num_monitor_devices", (void **)&rsmi.count},
    {"rsmi_dev_name_get", (void **)&rsmi.name},
    {"rsmi_dev_unique_id_get", (void **)&rsmi.unique_id},
    {"rsmi_dev_memory_total_get", (void **)&rsmi.memory_total},
    {"rsmi_dev_memory_usage_get", (void **)&rsmi.memory_used},
    {"rsmi_dev_busy_percent_get", (void **)&rsmi.busy},
    {NULL},
};

static const char *error_sentence(int code)
{
    const char *text = NULL;
    return rsmi.status_string(code, &text) == RSMI_SUCCESS && text ? text : "unknown error";
}

static int set_amd_error(struct error *err, int code, const char *what)
{
    return error_set(err, ERR_PRECONDITION, "ROCm SMI: %s: %s", what, error_sentence(code));
}

static void amd_close(void)
{
    if (rsmi.library)
        rsmi.shut_down();
    dynlib_close(rsmi.library);
    rsmi.library = NULL;
}

static int amd_open(struct arena *a, const char **ret_driver, struct error *err)
{
    char version[TEXT_MAX] = "";
    void *library;
    if (dynlib_open("ROCm system management library", "librocm_smi64.so.1", functions, &library, err) < 0)
        return -1;
    int code = rsmi.init(0);
    if (code != RSMI_SUCCESS) {
        set_amd_error(err, code, "cannot begin");
        dynlib_close(library);
        return -1;
    }
    rsmi.library = library;
    bool known = rsmi.version(RSMI_COMPONENT_DRIVER, version, sizeof(version)) == RSMI_SUCCESS;
    *ret_driver = arena_strdup(a, known ? version : "unknown");
    return 0;
}

static int amd_list(struct arena *a, struct gpu **ret, size_t *ret_n, struct error *err)
{
    uint32_t count = 0;
    size_t n = 0;
    int code = rsmi.count(&count);
    if (code != RSMI_SUCCESS)
        return set_amd_error(err, code, "cannot count the GPUs");
    struct gpu *list = arena_array(a, struct gpu, (size_t)count + 1);
    for (uint32_t i = 0; i < count; i++) {
        char name[TEXT_MAX] = "";
        uint64_t id = 0, bytes = 0;
        code = rsmi.unique_id(i, &id);
        if (code != RSMI_SUCCESS) {
            log_error("gpu.unusable", "maker=AMD index=%u reason=%s action=\"its slot is left out\"", i,
                      log_quote(error_sentence(code)));
            continue;
        }
        rsmi.name(i, name, sizeof(name));
        rsmi.memory_total(i, RSMI_MEMORY_VRAM, &bytes);
        list[n++] = (struct gpu){.index = (int)i,
                                 .uuid = arena_printf(a, "GPU-%016" PRIx64, id),
                                 .memory_bytes = bytes,
                                 .model = arena_strdup(a, *name ? name : "AMD GPU"),
                                 .handle = (void *)(uintptr_t)i};
    }
    *ret = list;
    *ret_n = n;
    return 0;
}

static int amd_usage(const struct gpu *g, struct gpu_usage *ret, struct error *err)
{
    uint32_t device = (uint32_t)(uintptr_t)g->handle;
    struct gpu_usage u = {0};
    int code = rsmi.memory_used(device, RSMI_MEMORY_VRAM, &u.memory_bytes);
    if (code != RSMI_SUCCESS)
        return set_amd_error(err, code, g->uuid);
    u.busy_known = rsmi.busy(device, &u.busy_percent) == RSMI_SUCCESS;
    *ret = u;
    return 0;
}

const struct gpu_maker gpu_amd = {
    .name = "AMD",
    .type = WIRE_DEVICE_TYPE_ROCM,
    .visible_variable = "ROCR_VISIBLE_DEVICES",
    .open = amd_open,
    .close = amd_close,
    .list = amd_list,
    .usage = amd_usage,
};
