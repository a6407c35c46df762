/* librocm_smi64.so.1 of a machine with as many GPUs as $STUB_ROCM says, for tests. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int rsmi_init(uint64_t flags)
{
    return getenv("STUB_ROCM") ? 0 : 8;
}
int rsmi_shut_down(void)
{
    return 0;
}
int rsmi_num_monitor_devices(uint32_t *n)
{
    return *n = (uint32_t)atoi(getenv("STUB_ROCM")), 0;
}
int rsmi_dev_name_get(uint32_t i, char *text, size_t n)
{
    return snprintf(text, n, "Stub MI%u", 100 + i), 0;
}
int rsmi_dev_unique_id_get(uint32_t i, uint64_t *id)
{
    return *id = 0xabc0 + i, 0;
}
int rsmi_dev_memory_total_get(uint32_t i, int kind, uint64_t *bytes)
{
    return *bytes = 64ull << 30, 0;
}
int rsmi_dev_memory_usage_get(uint32_t i, int kind, uint64_t *bytes)
{
    return *bytes = 1ull << 30, 0;
}
int rsmi_dev_busy_percent_get(uint32_t i, uint32_t *percent)
{
    return *percent = 7, 0;
}
int rsmi_version_str_get(int component, char *text, uint32_t n)
{
    return snprintf(text, n, "6.2.4"), 0;
}

int rsmi_status_string(int code, const char **text)
{
    *text = code == 8 ? "initialization failed" : "some error";
    return 0;
}
