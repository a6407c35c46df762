#include "master/commands/admin.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/must.h"
#include "common/system/files.h"
#include "common/system/log.h"
#include "master/commands/backup_note.h"
#include "master/commands/data_dir.h"
#include "master/master.h"
#include "store/engine/backup.h"

enum { CALLS_MAX = 8, WORD_PATIENCE_S = 5, ANSWER_MAX = 4096 };

struct admin {
    struct master *m;
    struct pool *pool; /* a pool of one thread, because a backup may take minutes */
    struct loop_watch *watch;
    int listen_fd;
    char *backup_path; /* the file of the backup that is being made */
    atomic_bool cancel;
};

struct admin_job {
    struct admin *a;
    int fd; /* the connection to the caller */
};

/* ---- What callers ask for; on the pool's thread ------------------------------------------------------------------ */

static int make_backup(struct admin *a, int *ret_fd, struct error *err)
{
    int64_t from_us = clock_monotonic_us();
    struct store *reader = NULL;
    cleanup_strbuf struct strbuf note = STRBUF_INIT;
    if (backup_note_make(a->m->data_dir, a->m->agent_token, &note, err) < 0 ||
        store_open_reader(a->m->db_place, &reader, err) < 0)
        return -1;
    unlink(a->backup_path);
    int rc = store_backup(reader, a->backup_path, strbuf_str(&note), &a->cancel, err);
    store_close(reader);
    if (rc < 0)
        return -1;
    int fd = open(a->backup_path, O_RDONLY | O_CLOEXEC);
    /* the file's name is not needed any more: the content exists as long as its descriptor is open */
    unlink(a->backup_path);
    if (fd < 0)
        return error_errno(err, "opening %s", a->backup_path);
    log_info("backup.made", "bytes=%lld ms=%lld", (long long)lseek(fd, 0, SEEK_END),
             (long long)(clock_monotonic_us() - from_us) / 1000);
    lseek(fd, 0, SEEK_SET);
    *ret_fd = fd;
    return 0;
}

static const struct word {
    const char *text;
    int (*run)(struct admin *a, int *ret_fd, struct error *err);
} words[] = {
    {"backup\n", make_backup},
};

/* ---- Messages ---------------------------------------------------------------------------------------------------- */

/* Sends one message, and a descriptor if there is one. */
static int send_message(int to, const char *text, int fd)
{
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control = {0};
    struct iovec part = {.iov_base = (void *)text, .iov_len = strlen(text)};
    struct msghdr msg = {.msg_iov = &part, .msg_iovlen = 1};
    if (fd >= 0) {
        msg.msg_control = control.bytes;
        msg.msg_controllen = sizeof(control.bytes);
        struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
        *c = (struct cmsghdr){.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof(int))};
        memcpy(CMSG_DATA(c), &fd, sizeof(fd));
    }
    return sendmsg(to, &msg, MSG_NOSIGNAL) < 0 ? -1 : 0;
}

static int receive_message(int from, char text[ANSWER_MAX], int *ret_fd)
{
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control;
    struct iovec part = {.iov_base = text, .iov_len = ANSWER_MAX - 1};
    struct msghdr msg = {.msg_iov = &part,
                         .msg_iovlen = 1,
                         .msg_control = control.bytes,
                         .msg_controllen = sizeof(control.bytes)};
    ssize_t n;
    do {
        n = recvmsg(from, &msg, MSG_CMSG_CLOEXEC);
    } while (n < 0 && errno == EINTR);
    if (n <= 0)
        return -1;
    text[n] = '\0';
    struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
    if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
        memcpy(ret_fd, CMSG_DATA(c), sizeof(*ret_fd));
    return 0;
}

/* ---- Serving ----------------------------------------------------------------------------------------------------- */

static int carry_out(struct admin *a, const char *text, int *ret_fd, struct error *err)
{
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
        if (strcmp(text, words[i].text) == 0)
            return words[i].run(a, ret_fd, err);
    }
    return error_set(err, ERR_INVALID, "this master does not know that command; is it of another version?");
}

static void serve_caller(void *worker, void *job)
{
    const struct admin_job *j = job;
    char text[ANSWER_MAX], answer[ANSWER_MAX];
    cleanup_close int ignored = -1, fd = -1;
    cleanup_error struct error err = ERROR_INIT;
    struct timeval patience = {.tv_sec = WORD_PATIENCE_S};
    setsockopt(j->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    if (receive_message(j->fd, text, &ignored) < 0)
        return;
    int rc = carry_out(j->a, text, &fd, &err);
    if (rc < 0)
        log_error("admin.failed", "reason=%s", log_quote(error_msg(&err)));
    snprintf(answer, sizeof(answer), "%s%s", rc < 0 ? "error " : "ok", rc < 0 ? error_msg(&err) : "");
    if (send_message(j->fd, answer, fd) < 0)
        log_warning("admin.unanswered", "reason=%s", log_quote(strerror(errno)));
}

static void close_caller(void *job)
{
    struct admin_job *j = job;
    close(j->fd);
    free(j);
}

static void on_caller(int listen_fd, void *ctx)
{
    struct admin *a = ctx;
    int fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC);
    struct admin_job *j = fd < 0 ? NULL : must_malloc(sizeof(*j));
    if (j)
        *j = (struct admin_job){a, fd};
    if (j && pool_submit(a->pool, serve_caller, close_caller, j, NULL) == 0)
        return;
    free(j);
    if (fd >= 0)
        close(fd);
}

static int listen_in(struct admin *a, const char *data_dir, struct error *err)
{
    struct sockaddr_un address;
    cleanup_close int dir = -1;
    if (data_dir_socket(data_dir, &address, &dir, err) < 0)
        return -1;
    a->listen_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    /* removes the socket of a master that was killed; this master holds the lock, so no other one runs */
    unlink(address.sun_path);
    if (a->listen_fd < 0 || bind(a->listen_fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
        chmod(address.sun_path, 0600) < 0 || listen(a->listen_fd, CALLS_MAX) < 0)
        return error_errno(err, "%s/admin.sock", data_dir);
    return 0;
}

int admin_new(struct master *m, struct admin **ret, struct error *err)
{
    struct pool_options o = {.name = "det-admin", .threads = 1, .queue_max = CALLS_MAX};
    struct admin *a = must_calloc(1, sizeof(*a));
    *a = (struct admin){.m = m, .listen_fd = -1, .backup_path = path_join(m->data_dir, "backup.tmp")};
    store_file_remove(a->backup_path); /* removes the backup that a killed master has left */
    if (listen_in(a, m->data_dir, err) < 0 || pool_new(m->loop, &o, &a->pool, err) < 0) {
        admin_free(a);
        return -1;
    }
    a->watch = loop_watch_readable(m->loop, a->listen_fd, on_caller, a);
    *ret = a;
    return 0;
}

void admin_free(struct admin *a)
{
    if (!a)
        return;
    atomic_store(&a->cancel, true);
    if (a->watch)
        loop_watch_free(a->watch);
    if (a->listen_fd >= 0)
        close(a->listen_fd);
    pool_free(a->pool);
    free(a->backup_path);
    free(a);
}

/* ---- Calling ----------------------------------------------------------------------------------------------------- */

int admin_call(const char *data_dir, const char *word, int *ret_fd, struct error *err)
{
    struct sockaddr_un address;
    char text[ANSWER_MAX];
    cleanup_close int dir = -1, answer = -1, fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return error_errno(err, "a socket");
    if (data_dir_socket(data_dir, &address, &dir, err) < 0)
        return -1;
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
        return error_set(err, errno == ECONNREFUSED || errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, "%s/admin.sock: %s",
                         data_dir, strerror(errno));
    snprintf(text, sizeof(text), "%s\n", word);
    if (send_message(fd, text, -1) < 0 || receive_message(fd, text, &answer) < 0)
        return error_set(err, ERR_UNAVAILABLE, "the master of %s has gone before it was done", data_dir);
    if (answer < 0)
        return error_set(err, ERR_IO, "%s", strncmp(text, "error ", 6) == 0 ? text + 6 : text);
    *ret_fd = take_fd(answer);
    return 0;
}
