#include "task/agentlink.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/system/log.h"

int agentlink_open(struct agentlink *l, int dir, struct error *err)
{
    *l = (struct agentlink){.listener = -1, .fd = -1};
    /* The address goes through the descriptor, because the whole path may be longer than the address of a socket can
     * be. */
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    snprintf(a.sun_path, sizeof(a.sun_path), "/proc/self/fd/%d/socket", dir);
    unlinkat(dir, "socket", 0);
    cleanup_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || fchmod(fd, 0700) < 0 || bind(fd, (struct sockaddr *)&a, sizeof(a)) < 0 || listen(fd, 4) < 0)
        return error_errno(err, "cannot listen at the socket in the task's directory");
    l->listener = take_fd(fd);
    return 0;
}

void agentlink_drop(struct agentlink *l)
{
    if (l->fd >= 0)
        close(l->fd);
    l->fd = -1;
    strbuf_reset(&l->in);
    strbuf_reset(&l->out);
}

void agentlink_close(struct agentlink *l)
{
    agentlink_drop(l);
    if (l->listener >= 0)
        close(l->listener);
    l->listener = -1;
    strbuf_release(&l->in);
    strbuf_release(&l->out);
}

static bool may_connect(int fd)
{
    struct ucred peer;
    socklen_t n = sizeof(peer);
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) == 0 && (peer.uid == 0 || peer.uid == geteuid());
}

bool agentlink_accept(struct agentlink *l)
{
    int fd = accept4(l->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0)
        return false;
    if (!may_connect(fd)) {
        log_warning("task.connection_refused", "reason=\"another user\"");
        close(fd);
        return false;
    }
    agentlink_drop(l);
    l->fd = fd;
    return true;
}

static void take_frames(struct agentlink *l, agentlink_frame_fn *fn, void *ctx)
{
    cleanup_error struct error err = ERROR_INIT;
    struct task_frame f;
    size_t used;
    int r = 0;
    while (l->fd >= 0 && (r = task_frame_decode(l->in.s, l->in.n, &f, &used, &err)) > 0) {
        fn(ctx, &f);
        if (l->fd >= 0)
            strbuf_consume(&l->in, used);
    }
    if (r < 0) {
        log_warning("task.bad_frame", "error=%s", log_quote(error_msg(&err)));
        agentlink_drop(l);
    }
}

void agentlink_receive(struct agentlink *l, agentlink_frame_fn *fn, void *ctx)
{
    strbuf_reserve(&l->in, 16384);
    ssize_t n = read(l->fd, l->in.s + l->in.n, 16384);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        agentlink_drop(l);
        return;
    }
    l->in.n += (size_t)n;
    l->in.s[l->in.n] = 0;
    take_frames(l, fn, ctx);
}

void agentlink_send(struct agentlink *l, const struct task_frame *f)
{
    if (l->fd >= 0)
        task_frame_encode(f, &l->out);
}

void agentlink_flush(struct agentlink *l)
{
    while (l->fd >= 0 && l->out.n) {
        ssize_t n = send(l->fd, l->out.s, l->out.n, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return;
        if (n < 0)
            agentlink_drop(l);
        else
            strbuf_consume(&l->out, (size_t)n);
    }
}
