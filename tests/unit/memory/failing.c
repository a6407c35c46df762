#include "failing.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmocka_setup.h"

/* The linker puts these between src/common/base/memory.c and the allocator that it asks (--wrap, meson.build). */
#ifdef MEMORY_SANITIZED
#define REAL(function) __real___interceptor_##function
#define HERE(function) __wrap___interceptor_##function
#else
#define REAL(function) __real___libc_##function
#define HERE(function) __wrap___libc_##function
#endif
void *REAL(malloc)(size_t n);
void *REAL(calloc)(size_t n, size_t size);
void *REAL(realloc)(void *p, size_t n);
void *HERE(malloc)(size_t n);
void *HERE(calloc)(size_t n, size_t size);
void *HERE(realloc)(void *p, size_t n);

enum { AT_FIRST = 40, LATER = 60, SAID_MAX = 4096 };

/* Shared by the test and the process of a run. */
struct shared {
    atomic_long allocations;
};
static struct shared *shared;
static atomic_bool counting;
static long failing; /* which one; 0: none */

/* Functions marked BARE run before a sanitizer has set itself up. */
#define BARE __attribute__((no_sanitize("address", "undefined")))

BARE static bool fails_now(void)
{
    return counting && atomic_fetch_add(&shared->allocations, 1) + 1 == failing;
}

BARE void *HERE(malloc)(size_t n)
{
    return fails_now() ? NULL : REAL(malloc)(n);
}
BARE void *HERE(calloc)(size_t n, size_t size)
{
    return fails_now() ? NULL : REAL(calloc)(n, size);
}
BARE void *HERE(realloc)(void *p, size_t n)
{
    return fails_now() ? NULL : REAL(realloc)(p, n);
}

static _Noreturn void be_run(failing_run *run, void *ctx, long n, int err_fd)
{
    const struct rlimit no_core = {0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    signal(SIGSEGV, SIG_DFL); /* cmocka's would take it for a failed assertion */
    signal(SIGBUS, SIG_DFL);
    dup2(err_fd, STDERR_FILENO);
    failing = n;
    counting = true;
    run(ctx);
    counting = false;
    _exit(0);
}

/* All that the process says, to its end. */
static size_t listen_to(int fd, char *text, size_t cap)
{
    size_t n = 0;
    ssize_t got;
    char rest[512];
    while ((got = n < cap ? read(fd, text + n, cap - n) : read(fd, rest, sizeof(rest))) > 0 ||
           (got < 0 && errno == EINTR))
        n += got > 0 && n < cap ? (size_t)got : 0;
    return n;
}

static bool ends_as_promised(int status, const char *said)
{
    const char *line = strstr(said, ": out of memory: ");
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT && line && strstr(line, " bytes more can't be had\n");
}

/* True when the n-th allocation was reached. */
static bool try_one(const char *name, failing_run *run, void *ctx, long n)
{
    char said[SAID_MAX];
    int fd[2], status;
    assert_int_equal(pipe(fd), 0);
    shared->allocations = 0;
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        be_run(run, ctx, n, fd[1]);
    close(fd[1]);
    said[listen_to(fd[0], said, sizeof(said) - 1)] = '\0';
    close(fd[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    bool reached = n > 0 && shared->allocations >= n;
    if (reached ? !ends_as_promised(status, said) : status != 0)
        fail_msg("%s: allocation %ld of %ld: status %#x, said: %s", name, n, (long)shared->allocations, status, said);
    return reached;
}

static long step_after(long n, long all)
{
    const char *every = getenv("DET_TEST_EVERY");
    if (every)
        return strtol(every, NULL, 10);
    return n < AT_FIRST || all <= AT_FIRST + LATER ? 1 : (all - AT_FIRST) / LATER;
}

void failing_sweep(const char *name, failing_run *run, failing_after *after, void *ctx)
{
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(shared, MAP_FAILED);
    try_one(name, run, ctx, 0);
    if (after)
        after(ctx, false);
    long all = shared->allocations, runs = 0;
    for (long n = 1;; n += step_after(n, all)) {
        bool failed = try_one(name, run, ctx, n);
        if (after)
            after(ctx, failed);
        if (!failed)
            break;
        runs++;
        assert_true(n <= 4 * all); /* else each run takes more than the one before, and this never ends */
    }
    print_message("memory: %s: %ld allocations, %ld of them failed in turn, each ended the run in one sentence\n", name,
                  all, runs);
    munmap(shared, sizeof(*shared));
}
