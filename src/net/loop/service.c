#include "net/loop/service.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/must.h"
#include "common/system/log.h"

#define MESSAGE_MAX 512

struct service {
    int fd; /* socket connected to the manager; -1: there is no manager */
    struct loop_timer *watchdog;
    int64_t watchdog_us; /* time between two reports to the watchdog: half of what the manager allows */
    char status[MESSAGE_MAX];
};

/* Sends a datagram. flags: MSG_DONTWAIT for a message that may be lost. Other messages wait for a busy manager, but
 * only a short time, since this runs on the loop. */
static void notify_manager(const struct service *s, int flags, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static void notify_manager(const struct service *s, int flags, const char *fmt, ...)
{
    char text[MESSAGE_MAX + 32];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    if (s->fd < 0)
        return;
    if (send(s->fd, text, (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1, MSG_NOSIGNAL | flags) < 0)
        log_debug("service.not_told", "text=%s", log_quote(text));
}

/* Connects to the manager's socket. A leading '@' stands for the NUL byte of an abstract address. */
static int connect_to(const char *address)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    size_t n = address ? strlen(address) : 0;
    if (n < 2 || n >= sizeof(a.sun_path) || (*address != '/' && *address != '@'))
        return -1;
    memcpy(a.sun_path, address, n);
    if (*address == '@')
        a.sun_path[0] = 0;
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd >= 0)
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &(struct timeval){.tv_sec = 1}, sizeof(struct timeval));
    if (fd >= 0 && connect(fd, (struct sockaddr *)&a, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n)) < 0) {
        close(fd);
        fd = -1;
    }
    if (fd < 0)
        log_warning("service.no_manager", "socket=%s", log_quote(address));
    return fd;
}

static void on_watchdog(void *ctx)
{
    struct service *s = ctx;
    notify_manager(s, MSG_DONTWAIT, "WATCHDOG=1");
    loop_timer_arm(s->watchdog, s->watchdog_us);
}

static void start_watchdog(struct service *s)
{
    const char *period = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
    int64_t us = period ? strtoll(period, NULL, 10) : 0;
    if (us <= 0 || (pid && strtoll(pid, NULL, 10) != getpid()))
        return;
    s->watchdog_us = us / 2;
    loop_timer_arm(s->watchdog, s->watchdog_us);
}

struct service *service_new(struct loop *l)
{
    struct service *s = must_calloc(1, sizeof(*s));
    s->fd = connect_to(getenv("NOTIFY_SOCKET"));
    s->watchdog = loop_timer_new(l, on_watchdog, s);
    if (s->fd >= 0)
        start_watchdog(s);
    unsetenv("NOTIFY_SOCKET");
    unsetenv("WATCHDOG_USEC");
    unsetenv("WATCHDOG_PID");
    return s;
}

void service_ready(struct service *s)
{
    notify_manager(s, 0, "READY=1");
}

/* The time lets the manager distinguish several reloads. */
void service_reloading(struct service *s)
{
    notify_manager(s, 0, "RELOADING=1\nMONOTONIC_USEC=%" PRId64, clock_monotonic_us());
}

void service_stopping(struct service *s)
{
    notify_manager(s, 0, "STOPPING=1");
}

void service_status(struct service *s, const char *fmt, ...)
{
    char text[MESSAGE_MAX];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    if (strcmp(text, s->status) == 0)
        return;
    memcpy(s->status, text, sizeof(text));
    notify_manager(s, MSG_DONTWAIT, "STATUS=%s", text);
}

void service_free(struct service *s)
{
    if (!s)
        return;
    loop_timer_free(s->watchdog);
    if (s->fd >= 0)
        close(s->fd);
    free(s);
}
