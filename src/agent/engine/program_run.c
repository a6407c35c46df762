#include "agent/engine/program_run.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/base/must.h"
#include "common/system/child_program.h"

enum { OUTPUT_MAX = 1024 * 1024, LINE_MAX_BYTES = 4096, READ_BYTES = 65536, DRAIN_READS_MAX = 64 };

struct program_run {
    pid_t pid;
    int pid_fd, out_fd, err_fd; /* -1: there is none, or it is at its end */
    struct loop_watch *ended, *out, *err;
    struct strbuf output, line;
    struct program_handler handler;
};

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void run_free(struct program_run *r)
{
    loop_watch_free(r->ended);
    loop_watch_free(r->out);
    loop_watch_free(r->err);
    close_fd(&r->pid_fd);
    close_fd(&r->out_fd);
    close_fd(&r->err_fd);
    strbuf_release(&r->output);
    strbuf_release(&r->line);
    free(r);
}

static void end_line(struct program_run *r)
{
    if (r->line.n && r->handler.on_line)
        r->handler.on_line(r->handler.ctx, r->line.s, r->line.n);
    strbuf_reset(&r->line);
}

static void take_lines(struct program_run *r, const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (s[i] == '\n' || s[i] == '\r')
            end_line(r);
        else if (r->line.n < LINE_MAX_BYTES)
            strbuf_addc(&r->line, s[i]);
    }
}

/* Reads once. Returns what read() does: 0 at the end of the pipe, -1 if nothing is there. */
static ssize_t read_some(struct program_run *r, int fd)
{
    char text[READ_BYTES];
    ssize_t n = read(fd, text, sizeof(text));
    if (n > 0 && fd == r->err_fd)
        take_lines(r, text, (size_t)n);
    else if (n > 0 && r->output.n + (size_t)n <= OUTPUT_MAX)
        strbuf_add(&r->output, text, (size_t)n);
    return n;
}

static void on_readable(int fd, void *ctx)
{
    struct program_run *r = ctx;
    bool is_error = fd == r->err_fd;
    if (read_some(r, fd) != 0)
        return;
    loop_watch_free(is_error ? r->err : r->out);
    *(is_error ? &r->err : &r->out) = NULL;
    close_fd(is_error ? &r->err_fd : &r->out_fd);
}

/* Reads what the ended program has left in a pipe. The reads are bounded, because a process that the program started
 * may still hold the other end and write to it. */
static void drain(struct program_run *r, int fd)
{
    for (int i = 0; i < DRAIN_READS_MAX && fd >= 0 && read_some(r, fd) > 0; i++)
        ;
}

static void on_ended(int fd, void *ctx)
{
    struct program_run *r = ctx;
    int status = 0;
    (void)fd;
    if (waitpid(r->pid, &status, WNOHANG) == 0)
        return;
    drain(r, r->out_fd);
    drain(r, r->err_fd);
    end_line(r);
    r->handler.on_end(r->handler.ctx, status, &r->output);
    run_free(r);
}

static int spawn(struct program_run *r, const struct program_order *o, struct error *err)
{
    int out[2] = {-1, -1}, errors[2] = {-1, -1};
    if (pipe2(out, O_CLOEXEC) < 0 || pipe2(errors, O_CLOEXEC) < 0) {
        close_fd(&out[0]);
        close_fd(&out[1]);
        return error_errno(err, "cannot make a pipe");
    }
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, out[1], 1);
    posix_spawn_file_actions_adddup2(&files, errors[1], 2);
    int rc = child_program_start(o->argv, o->env, &files, /* own_session= */ true, &r->pid);
    posix_spawn_file_actions_destroy(&files);
    close_fd(&out[1]);
    close_fd(&errors[1]);
    r->out_fd = out[0];
    r->err_fd = errors[0];
    return rc != 0 ? error_set(err, ERR_PRECONDITION, "cannot run %s: %s", o->argv[0], strerror(rc)) : 0;
}

static struct loop_watch *watch_pipe(struct program_run *r, struct loop *l, int fd)
{
    if (fd < 0)
        return NULL;
    fcntl(fd, F_SETFL, O_NONBLOCK);
    return loop_watch_readable(l, fd, on_readable, r);
}

struct program_run *program_run_start(struct loop *l, const struct program_order *o, const struct program_handler *h,
                                      struct error *err)
{
    struct program_run *r = must_calloc(1, sizeof(*r));
    *r = (struct program_run){.pid_fd = -1, .out_fd = -1, .err_fd = -1, .handler = *h};
    if (spawn(r, o, err) < 0) {
        run_free(r);
        return NULL;
    }
    r->pid_fd = (int)syscall(SYS_pidfd_open, r->pid, 0);
    if (r->pid_fd < 0) {
        error_errno(err, "cannot watch process %d", (int)r->pid);
        program_run_cancel(r);
        return NULL;
    }
    fcntl(r->pid_fd, F_SETFD, FD_CLOEXEC);
    r->ended = loop_watch_readable(l, r->pid_fd, on_ended, r);
    r->out = watch_pipe(r, l, r->out_fd);
    r->err = watch_pipe(r, l, r->err_fd);
    return r;
}

void program_run_cancel(struct program_run *r)
{
    if (!r)
        return;
    kill(-r->pid, SIGKILL);
    kill(r->pid, SIGKILL);
    child_program_abandon(r->pid);
    run_free(r);
}

void program_run_leave(struct program_run *r)
{
    run_free(r);
}
