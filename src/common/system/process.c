#include "common/system/process.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/system/files.h"
#include "common/system/procstat.h"

enum { ARGS_MAX = 1 << 20, POLL_MS = 20, KILLED_MS = 5000 };

void sleep_ms(int ms)
{
    struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};
    nanosleep(&t, NULL);
}

bool process_find(pid_t pid, struct process *ret)
{
    struct procstat s;
    if (!procstat_read("/proc", pid, &s) || s.over)
        return false;
    *ret = (struct process){.pid = pid, .start = s.start};
    return true;
}

bool process_alive(pid_t pid)
{
    struct process p;
    waitpid(pid, NULL, WNOHANG); /* reaps it if it is a child of ours that has ended */
    return process_find(pid, &p);
}

int64_t process_start_us(const struct process *p)
{
    struct timespec since_boot;
    long ticks = sysconf(_SC_CLK_TCK);
    clock_gettime(CLOCK_BOOTTIME, &since_boot);
    int64_t up_us = since_boot.tv_sec * 1000000ll + since_boot.tv_nsec / 1000;
    return clock_now_us() - up_us + (int64_t)(p->start * 1000000 / (unsigned long long)ticks);
}

const char *process_next_arg(const struct process *p, const char *arg)
{
    const char *next = arg ? arg + strlen(arg) + 1 : p->args;
    return next < p->args + p->args_n ? next : NULL;
}

const char *process_option(const struct process *p, const char *name)
{
    for (const char *arg = process_next_arg(p, NULL); arg; arg = process_next_arg(p, arg))
        if (strcmp(arg, name) == 0)
            return process_next_arg(p, arg);
    return NULL;
}

void process_each(process_fn *fn, void *ctx)
{
    DIR *d = opendir("/proc");
    cleanup_strbuf struct strbuf args = STRBUF_INIT;
    for (pid_t pid; d && (pid = procstat_next(d));) {
        char path[64];
        struct process p;
        strbuf_reset(&args);
        snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
        if (pid == 1 || file_read(path, ARGS_MAX, &args, NULL) < 0 || args.n == 0 || !process_find(pid, &p))
            continue;
        p.args = strbuf_str(&args); /* ends with a NUL byte in any case */
        p.args_n = args.n;
        fn(&p, ctx);
    }
    if (d)
        closedir(d);
}

struct signalling {
    process_is_fn *is;
    void *ctx;
    int signo, n;
};

static void signal_one(const struct process *p, void *ctx)
{
    struct signalling *s = ctx;
    if (!s->is(p, s->ctx))
        return;
    kill(p->pid, s->signo);
    waitpid(p->pid, NULL, WNOHANG);
    s->n++;
}

int process_signal(process_is_fn *is, void *ctx, int signo)
{
    struct signalling s = {.is = is, .ctx = ctx, .signo = signo};
    process_each(signal_one, &s);
    return s.n;
}

static bool wait_gone(process_is_fn *is, void *ctx, int ms, const atomic_bool *hurry)
{
    for (int waited = 0; waited < ms; waited += POLL_MS) {
        if (process_signal(is, ctx, 0) == 0)
            return true;
        if (hurry && atomic_load(hurry))
            return false;
        sleep_ms(POLL_MS);
    }
    return false;
}

bool process_end(process_is_fn *is, void *ctx, int patience_ms, const atomic_bool *hurry)
{
    if (process_signal(is, ctx, SIGTERM) == 0 || wait_gone(is, ctx, patience_ms, hurry))
        return true;
    if (hurry && atomic_load(hurry))
        return false;
    process_signal(is, ctx, SIGKILL);
    return wait_gone(is, ctx, KILLED_MS, hurry);
}

bool process_supervises_below(const struct process *p, const char *directory)
{
    const char *slash = strrchr(p->args, '/'), *program = slash ? slash + 1 : p->args, *last = p->args;
    for (const char *arg = p->args; arg; arg = process_next_arg(p, arg))
        last = arg;
    size_t n = strlen(directory);
    return strcmp(program, "determined-task") == 0 && strncmp(last, directory, n) == 0 && last[n] == '/';
}
