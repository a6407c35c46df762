/* libnvidia-ml.so.1 of a machine with GPUs, for tests. The file $STUB_NVML says what it reports, in words
 * `name=number`. The file is read at each call, so that a test can break a GPU while the agent runs.
 *
 *   count=N          GPUs (default 0)             mig=I        GPU I is cut into two instances
 *   init=CODE        nvmlInit fails               lost=I       GPU I does not answer (from the start or later)
 *   error=CODE       counting fails
 *   xid=X            the driver reports this Xid of GPU 1, once
 *   ecc=N            GPU 1 has so many uncorrected errors when it is asked for the second time
 *   degrees=N        how hot GPU 1 is; at 95 GPUs switch themselves off
 *   busy=N           how busy all GPUs are, in percent (default 42); instances do not tell
 *
 * Built with -DOLD it lacks functions that the agent needs; built with -DNO_MIG it lacks only those of MIG. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SUCCESS = 0, INVALID = 2, NOT_SUPPORTED = 3, NO_DRIVER = 9, TIMEOUT = 10, LOST = 15 };

struct memory {
    unsigned long long total, free, used;
};
struct utilization {
    unsigned gpu, memory;
};

static int stub_setting(const char *name, int otherwise)
{
    char text[4096] = "";
    FILE *f = fopen(getenv("STUB_NVML"), "r");
    size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;
    if (f)
        fclose(f);
    text[n] = 0;
    for (char *word = strtok(text, " \n"); word; word = strtok(NULL, " \n"))
        if (strncmp(word, name, strlen(name)) == 0 && word[strlen(name)] == '=')
            return atoi(word + strlen(name) + 1);
    return otherwise;
}

/* A handle is the number 1 + card + 100 * (1 + instance). */
static int card_of(void *device)
{
    return (int)((long)device - 1) % 100;
}
static int instance_of(void *device)
{
    return (int)((long)device - 1) / 100;
}
static int answer_of(void *device)
{
    return stub_setting("lost", -1) == card_of(device) ? LOST : SUCCESS;
}

int nvmlInit_v2(void)
{
    return stub_setting("init", SUCCESS);
}
int nvmlShutdown(void)
{
    return SUCCESS;
}

const char *nvmlErrorString(int code)
{
    return code == LOST ? "GPU is lost" : code == NO_DRIVER ? "Driver Not Loaded" : "some error";
}

int nvmlSystemGetDriverVersion(char *text, unsigned n)
{
    snprintf(text, n, "535.104.05");
    return SUCCESS;
}

int nvmlDeviceGetCount_v2(unsigned *n)
{
    *n = (unsigned)stub_setting("count", 0);
    return stub_setting("error", SUCCESS);
}

int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **device)
{
    if ((int)i >= stub_setting("count", 0))
        return INVALID;
    *device = (void *)(long)(1 + i);
    return SUCCESS;
}

int nvmlDeviceGetUUID(void *device, char *text, unsigned n)
{
    if (instance_of(device))
        snprintf(text, n, "MIG-%08d-000%d", card_of(device), instance_of(device));
    else
        snprintf(text, n, "GPU-%08d-aaaa", card_of(device));
    return answer_of(device);
}

int nvmlDeviceGetName(void *device, char *text, unsigned n)
{
    snprintf(text, n, instance_of(device) ? "Stub S100 MIG 1g.5gb" : "Stub S100");
    return answer_of(device);
}

int nvmlDeviceGetMemoryInfo(void *device, struct memory *m)
{
    *m = (struct memory){.total = 80ull << 30, .used = 3ull << 30};
    return answer_of(device);
}

#ifndef OLD
int nvmlDeviceGetUtilizationRates(void *device, struct utilization *u)
{
    if (instance_of(device) > 0)
        return NOT_SUPPORTED;
    *u = (struct utilization){.gpu = (unsigned)stub_setting("busy", 42)};
    return answer_of(device);
}
#endif

#ifndef OLD
struct event {
    void *device;
    unsigned long long type, data;
    unsigned gpu_instance, compute_instance;
};

int nvmlDeviceGetTotalEccErrors(void *device, int kind, int since, unsigned long long *n)
{
    static int asked;
    if (card_of(device) != 1 || kind != 1 || since != 0)
        *n = 0;
    else
        *n = asked++ ? (unsigned long long)stub_setting("ecc", 0) : 0;
    return answer_of(device);
}

int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *degrees)
{
    *degrees = card_of(device) == 1 ? (unsigned)stub_setting("degrees", 40) : 40;
    return answer_of(device);
}

int nvmlDeviceGetTemperatureThreshold(void *device, int which, unsigned *degrees)
{
    *degrees = which == 0 ? 95 : 90;
    return answer_of(device);
}

/* A set of events is the GPU that it is for. */
int nvmlEventSetCreate(void **set)
{
    *set = calloc(1, sizeof(void *));
    return SUCCESS;
}

int nvmlDeviceRegisterEvents(void *device, unsigned long long types, void *set)
{
    *(void **)set = device;
    return types == 8 && !instance_of(device) ? SUCCESS : INVALID;
}

int nvmlEventSetFree(void *set)
{
    free(set);
    return SUCCESS;
}

int nvmlEventSetWait_v2(void *set, struct event *e, unsigned timeout_ms)
{
    static int told;
    int xid = stub_setting("xid", 0);
    if (timeout_ms != 0 || told || !xid || card_of(*(void **)set) != 1)
        return TIMEOUT;
    told = 1;
    *e = (struct event){.device = *(void **)set, .type = 8, .data = (unsigned long long)xid};
    return SUCCESS;
}
#endif

#if !defined(OLD) && !defined(NO_MIG)
int nvmlDeviceGetMigMode(void *device, unsigned *current, unsigned *pending)
{
    *current = *pending = stub_setting("mig", -1) == card_of(device);
    return answer_of(device);
}

int nvmlDeviceGetMaxMigDeviceCount(void *device, unsigned *n)
{
    *n = 7;
    return SUCCESS;
}

int nvmlDeviceGetMigDeviceHandleByIndex(void *device, unsigned i, void **ret)
{
    *ret = (void *)((long)device + 100 * (1 + (long)i));
    return i < 2 ? SUCCESS : INVALID;
}
#endif
