#include "agent/task/supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/base/must.h"
#include "common/base/strbuf.h"

#define READ_BYTES 65536

struct supervisor {
    struct loop *loop;
    struct supervisor_handler handler;
    int fd;
    struct loop_watch *readable, *writable; /* `writable` is set only while bytes wait in `out` */
    struct strbuf in, out;
    /* `freed`: a callback has freed this object; its memory is released when the callback returns */
    bool in_callback, freed;
};

static void supervisor_release(struct supervisor *s)
{
    loop_watch_free(s->readable);
    if (s->writable)
        loop_watch_free(s->writable);
    close(s->fd);
    strbuf_release(&s->in);
    strbuf_release(&s->out);
    free(s);
}

void supervisor_free(struct supervisor *s)
{
    if (!s)
        return;
    s->freed = true;
    if (!s->in_callback)
        supervisor_release(s);
}

/* Calls on_close and frees the object. Must not be called from within a callback. */
static void supervisor_end(struct supervisor *s, const char *why)
{
    s->in_callback = true;
    s->handler.on_close(s->handler.ctx, why);
    supervisor_release(s);
}

/* Sends what waits in `out`. 0: it is sent, or waits for the socket; -1: the other side has closed the connection,
 * which the next read reports as well. */
static int supervisor_flush(struct supervisor *s);

static void on_writable(int fd, void *ctx)
{
    supervisor_flush(ctx);
}

static int supervisor_flush(struct supervisor *s)
{
    while (s->out.n) {
        ssize_t n = send(s->fd, s->out.s, s->out.n, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            break;
        if (n < 0) {
            strbuf_reset(&s->out);
            return -1;
        }
        strbuf_consume(&s->out, (size_t)n);
    }
    if (s->out.n && !s->writable)
        s->writable = loop_watch_writable(s->loop, s->fd, on_writable, s);
    if (!s->out.n && s->writable) {
        loop_watch_free(s->writable);
        s->writable = NULL;
    }
    return 0;
}

static void send_frame(struct supervisor *s, const struct task_frame *f)
{
    task_frame_encode(f, &s->out);
    supervisor_flush(s);
}

static void on_frame(struct supervisor *s, const struct task_frame *f)
{
    if (f->type == TASK_FRAME_LOGS)
        s->handler.on_logs(s->handler.ctx, f->logs.first, f->logs.count, f->logs.lines, f->logs.lines_n);
    else if (f->type == TASK_FRAME_EXIT)
        s->handler.on_exit(s->handler.ctx, &f->exit);
}

/* Passes each whole frame to the handler. Returns false if the object was freed. */
static bool take_frames(struct supervisor *s)
{
    cleanup_error struct error err = ERROR_INIT;
    struct task_frame f;
    size_t used, done = 0;
    int r = 0;
    s->in_callback = true;
    while (!s->freed && (r = task_frame_decode(s->in.s + done, s->in.n - done, &f, &used, &err)) > 0) {
        done += used;
        on_frame(s, &f);
    }
    s->in_callback = false;
    if (s->freed) {
        supervisor_release(s);
        return false;
    }
    strbuf_consume(&s->in, done);
    if (r < 0) {
        supervisor_end(s, error_msg(&err));
        return false;
    }
    return true;
}

static void on_readable(int fd, void *ctx)
{
    struct supervisor *s = ctx;
    strbuf_reserve(&s->in, READ_BYTES);
    ssize_t n = read(fd, s->in.s + s->in.n, READ_BYTES);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        supervisor_end(s, "the supervisor has closed the connection");
        return;
    }
    s->in.n += (size_t)n;
    s->in.s[s->in.n] = 0;
    take_frames(s);
}

static int open_socket(const char *dir, struct error *err)
{
    cleanup_close int at = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (at < 0)
        return error_errno(err, "cannot open %s", dir);
    /* The address goes through the descriptor, because the whole path may be longer than the address of a socket can
     * be. */
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    snprintf(a.sun_path, sizeof(a.sun_path), "/proc/self/fd/%d/socket", at);
    cleanup_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&a, sizeof(a)) < 0)
        return error_errno(err, "cannot reach the supervisor in %s", dir);
    return take_fd(fd);
}

int supervisor_connect(struct loop *l, const char *dir, uint64_t resume, const struct supervisor_handler *h,
                       struct supervisor **ret, struct error *err)
{
    int fd = open_socket(dir, err);
    if (fd < 0)
        return -1;
    struct supervisor *s = must_calloc(1, sizeof(*s));
    s->loop = l;
    s->handler = *h;
    s->fd = fd;
    s->readable = loop_watch_readable(l, fd, on_readable, s);
    struct task_frame f = {.type = TASK_FRAME_HELLO};
    f.hello.protocol = TASK_PROTOCOL;
    f.hello.resume = resume;
    send_frame(s, &f);
    *ret = s;
    return 0;
}

pid_t supervisor_pid(const struct supervisor *s)
{
    struct ucred peer = {0};
    socklen_t n = sizeof(peer);
    return getsockopt(s->fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) == 0 ? peer.pid : 0;
}

void supervisor_ack_logs(struct supervisor *s, uint64_t seq)
{
    struct task_frame f = {.type = TASK_FRAME_LOG_ACK};
    f.log_ack.seq = seq;
    send_frame(s, &f);
}

void supervisor_signal(struct supervisor *s, int signo)
{
    struct task_frame f = {.type = TASK_FRAME_SIGNAL};
    f.signal.signo = signo;
    send_frame(s, &f);
}

void supervisor_ack_exit(struct supervisor *s)
{
    send_frame(s, &(struct task_frame){.type = TASK_FRAME_EXIT_ACK});
}
