/* Preloaded into a program, this library changes the wall clock that the program sees, as settimeofday(2) would
 * change the machine's. The monotonic clocks are not changed. The file that DET_TEST_CLOCK names holds by how many
 * seconds the clock is wrong, as a 64-bit number of this machine. Tests change it while the program runs. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t *offset_s;

static void __attribute__((constructor)) map_offset(void)
{
    const char *path = getenv("DET_TEST_CLOCK");
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    void *page = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof(*offset_s), PROT_READ, MAP_SHARED, fd, 0);
    if (fd >= 0)
        close(fd);
    if (page != MAP_FAILED)
        offset_s = page;
}

static int64_t clock_offset(void)
{
    return offset_s ? *offset_s : 0;
}

int clock_gettime(clockid_t id, struct timespec *ret)
{
    static int (*real)(clockid_t, struct timespec *);
    if (!real)
        real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int rc = real(id, ret);
    if (rc == 0 && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE))
        ret->tv_sec += clock_offset();
    return rc;
}

int gettimeofday(struct timeval *restrict ret, void *restrict zone)
{
    struct timespec now;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &now);
    *ret = (struct timeval){now.tv_sec, now.tv_nsec / 1000};
    return 0;
}

time_t time(time_t *ret)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (ret)
        *ret = now.tv_sec;
    return now.tv_sec;
}
