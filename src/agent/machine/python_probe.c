#include "agent/machine/python_probe.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/base/must.h"
#include "common/base/strbuf.h"
#include "common/system/child_program.h"

#define PATIENCE_US 8000000 /* longer than the time after which the process ends itself */
#define READ_BYTES 65536

struct python_probe {
    struct python_probe_process process;
    struct loop_watch *watch;
    struct loop_timer *timer;
    struct strbuf text;
    python_probe_fn *done;
    void *ctx;
};

int python_probe_process_start(const char *task_program, const char *dir, struct python_probe_process *ret,
                               struct error *err)
{
    char *argv[] = {(char *)task_program, "--look-for-python", (char *)dir, NULL}, *env[] = {NULL};
    int told[2];
    if (pipe2(told, O_CLOEXEC) < 0)
        return error_errno(err, "cannot make a pipe");
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDWR, 0);
    posix_spawn_file_actions_adddup2(&actions, told[1], 1);
    posix_spawn_file_actions_adddup2(&actions, 0, 2);
    pid_t pid;
    int r = posix_spawn(&pid, argv[0], &actions, NULL, argv, env);
    posix_spawn_file_actions_destroy(&actions);
    close(told[1]);
    if (r != 0) {
        close(told[0]);
        return error_set(err, ERR_PRECONDITION, "cannot run %s: %s", argv[0], strerror(r));
    }
    *ret = (struct python_probe_process){.pid = pid, .fd = told[0]};
    return 0;
}

void python_probe_process_end(struct python_probe_process *process)
{
    if (!process->pid)
        return;
    kill(process->pid, SIGKILL);
    close(process->fd);
    child_program_abandon(process->pid);
    *process = (struct python_probe_process){.fd = -1};
}

/* Reports the result. `done` frees the probe. */
static void on_end(struct python_probe *k)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct python_found found;
    bool good = k->text.n && python_found_decode(k->text.s, k->text.n, &a, &found) == 0 && *found.executable;
    k->done(k->ctx, good ? &found : NULL);
}

static void on_readable(int fd, void *ctx)
{
    struct python_probe *k = ctx;
    strbuf_reserve(&k->text, READ_BYTES);
    ssize_t n = read(fd, k->text.s + k->text.n, READ_BYTES);
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (n > 0)
        k->text.n += (size_t)n;
    if (n <= 0 || k->text.n > PYTHON_FOUND_BYTES_MAX)
        on_end(k);
}

static void on_timer(void *ctx)
{
    struct python_probe *k = ctx;
    k->done(k->ctx, NULL);
}

struct python_probe *python_probe_new(struct loop *l, struct python_probe_process *process, python_probe_fn *done,
                                      void *ctx)
{
    struct python_probe *k = must_calloc(1, sizeof(*k));
    k->process = *process;
    *process = (struct python_probe_process){.fd = -1};
    k->done = done;
    k->ctx = ctx;
    fcntl(k->process.fd, F_SETFL, O_NONBLOCK);
    k->watch = loop_watch_readable(l, k->process.fd, on_readable, k);
    k->timer = loop_timer_new(l, on_timer, k);
    loop_timer_arm(k->timer, PATIENCE_US);
    return k;
}

void python_probe_free(struct python_probe *k)
{
    if (!k)
        return;
    loop_watch_free(k->watch);
    loop_timer_free(k->timer);
    strbuf_release(&k->text);
    python_probe_process_end(&k->process);
    free(k);
}
