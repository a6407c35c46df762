#include "task/inside.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/base/strbuf.h"
#include "common/system/files.h"

enum { ORDER_MAX = 16 * 1024 * 1024 };

/* A message is written whole or not at all (SOCK_SEQPACKET). */
struct packet {
    char kind;
    int number;
    char text[sizeof(((struct inside_message *)0)->text)];
};

int inside_open(int *ret_outside, int *ret_inside, struct error *err)
{
    int fd[2], on = 1;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fd) < 0)
        return error_errno(err, "cannot make a socket");
    setsockopt(fd[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on));
    *ret_outside = fd[0];
    *ret_inside = fd[1];
    return 0;
}

/* The order may be larger than what a socket holds, so it goes as a file in memory. */
static int write_order(const struct taskspec *spec, struct error *err)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    taskspec_encode(spec, &text);
    cleanup_close int fd = memfd_create("order", MFD_CLOEXEC);
    if (fd < 0 || fd_write_all(fd, text.s, text.n) < 0)
        return error_errno(err, "cannot write the order for the container");
    return take_fd(fd);
}

int inside_order(int fd, enum inside_want want, const struct missing_module *missing, const struct taskspec *spec,
                 struct error *err)
{
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct packet p = {.kind = (char)want};
    struct iovec part = {.iov_base = &p, .iov_len = sizeof(p)};
    struct msghdr m = {.msg_iov = &part,
                       .msg_iovlen = 1,
                       .msg_control = control.room,
                       .msg_controllen = sizeof(control.room)};
    cleanup_close int order = write_order(spec, err);
    if (order < 0)
        return -1;
    if (missing)
        snprintf(p.text, sizeof(p.text), "%s", missing->name);
    control.head = (struct cmsghdr){.cmsg_level = SOL_SOCKET,
                                    .cmsg_type = SCM_RIGHTS,
                                    .cmsg_len = CMSG_LEN(sizeof(int))};
    memcpy(CMSG_DATA(&control.head), &order, sizeof(order));
    return sendmsg(fd, &m, MSG_NOSIGNAL) < 0 ? error_errno(err, "cannot send the order into the container") : 0;
}

static int read_order(int fd, struct arena *a, struct taskspec *ret, struct error *err)
{
    struct stat st;
    if (fstat(fd, &st) < 0 || st.st_size <= 0 || st.st_size > ORDER_MAX)
        return error_set(err, ERR_INVALID, "the order has no size that an order can have");
    char *text = arena_alloc(a, (size_t)st.st_size);
    if (pread(fd, text, (size_t)st.st_size, 0) != st.st_size)
        return error_errno(err, "cannot read the order");
    return taskspec_decode(text, (size_t)st.st_size, a, ret, err);
}

int inside_take_order(int fd, struct arena *a, enum inside_want *ret_want, struct missing_module *ret_missing,
                      struct taskspec *ret, struct error *err)
{
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct packet p = {0};
    struct iovec part = {.iov_base = &p, .iov_len = sizeof(p)};
    struct msghdr m = {.msg_iov = &part,
                       .msg_iovlen = 1,
                       .msg_control = control.room,
                       .msg_controllen = sizeof(control.room)};
    ssize_t n;
    do
        n = recvmsg(fd, &m, MSG_CMSG_CLOEXEC);
    while (n < 0 && errno == EINTR);
    if (n != sizeof(p))
        return error_set(err, ERR_PRECONDITION, "standard input brings no order: this is a program for the platform");
    const struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    cleanup_close int order = -1;
    if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
        memcpy(&order, CMSG_DATA(c), sizeof(order));
    if (order < 0)
        return error_set(err, ERR_PRECONDITION, "standard input brings no order");
    *ret_want = (enum inside_want)p.kind;
    snprintf(ret_missing->name, sizeof(ret_missing->name), "%.*s", (int)sizeof(ret_missing->name) - 1, p.text);
    return read_order(order, a, ret, err);
}

void inside_say(int fd, enum inside_said said, int number, const char *text)
{
    struct packet p = {.kind = (char)said, .number = number};
    snprintf(p.text, sizeof(p.text), "%s", text);
    send(fd, &p, sizeof(p), MSG_NOSIGNAL);
}

static pid_t sender_of(struct msghdr *m)
{
    struct ucred who = {0};
    for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c))
        if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_CREDENTIALS)
            memcpy(&who, CMSG_DATA(c), sizeof(who));
    return who.pid;
}

int inside_hear(int fd, struct inside_message *ret)
{
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof(struct ucred))];
    } control = {0};
    struct packet p = {0};
    struct iovec part = {.iov_base = &p, .iov_len = sizeof(p)};
    struct msghdr m = {.msg_iov = &part,
                       .msg_iovlen = 1,
                       .msg_control = control.room,
                       .msg_controllen = sizeof(control.room)};
    ssize_t n = recvmsg(fd, &m, MSG_DONTWAIT);
    /* Reported once, if the container has ended without having read its order. What it has said before is still there.
     */
    if (n < 0 && errno == ECONNRESET)
        n = recvmsg(fd, &m, MSG_DONTWAIT);
    if (n != sizeof(p))
        return n < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -1;
    p.text[sizeof(p.text) - 1] = 0;
    *ret = (struct inside_message){.said = (enum inside_said)p.kind, .number = p.number, .pid = sender_of(&m)};
    memcpy(ret->text, p.text, sizeof(ret->text));
    return 1;
}
