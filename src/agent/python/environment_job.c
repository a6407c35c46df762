#include "agent/python/environment_job.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/python/environment_program.h"
#include "common/base/cleanup.h"
#include "common/base/must.h"
#include "common/system/child_program.h"
#include "common/system/files.h"
#include "common/system/log.h"

#define READ_BYTES 16384
#define MESSAGE_MAX (4 * 1024 * 1024)
#define REAP_US 200000

struct environment_job {
    struct loop *loop;
    struct environment_job_handler handler;
    pid_t pid;
    int in, out; /* our ends of its standard input and output; -1 once closed */
    struct loop_watch *watch_in, *watch_out;
    struct loop_timer *reaper;
    struct strbuf order, text;
    size_t written; /* of `order` */
    bool done;      /* on_done was called */
    bool dying;     /* nobody wants it any more; it waits for the end of its process */
    struct environment_job *next_dying;
};

static struct environment_job *dying; /* only the loop's thread uses it */

static void close_end(int *fd, struct loop_watch **watch)
{
    loop_watch_free(*watch);
    *watch = NULL;
    cleanup_close_p(fd);
    *fd = -1;
}

/* ---- the end of the process -------------------------------------------------------------------------------------- */

static void destroy(struct environment_job *j)
{
    close_end(&j->in, &j->watch_in);
    close_end(&j->out, &j->watch_out);
    loop_timer_free(j->reaper);
    strbuf_release(&j->order);
    strbuf_release(&j->text);
    free(j);
}

/* Frees the job once its process is gone. A process that is cancelled kills its programs first. */
static void on_reap(void *ctx)
{
    struct environment_job *j = ctx, **at = &dying;
    if (waitpid(j->pid, NULL, WNOHANG) == 0) {
        loop_timer_arm(j->reaper, REAP_US);
        return;
    }
    while (*at != j)
        at = &(*at)->next_dying;
    *at = j->next_dying;
    destroy(j);
}

/* The job is freed later, because a function of its own may be what calls this. */
void environment_job_free(struct environment_job *j)
{
    if (!j || j->dying)
        return;
    close_end(&j->in, &j->watch_in);
    close_end(&j->out, &j->watch_out);
    j->dying = true;
    j->next_dying = dying;
    dying = j;
    loop_timer_arm(j->reaper, 0);
}

void environment_jobs_release(void)
{
    while (dying) {
        struct environment_job *j = dying;
        dying = j->next_dying;
        destroy(j);
    }
}

static void finish(struct environment_job *j, const struct python_place *place, const struct error *err)
{
    if (j->done || j->dying)
        return;
    j->done = true;
    j->handler.on_done(j->handler.ctx, place, err);
}

/* ---- what it says ------------------------------------------------------------------------------------------------ */

static void on_ready(struct environment_job *j, const char *text, size_t n)
{
    cleanup_arena struct arena a = ARENA_INIT;
    cleanup_error struct error err = ERROR_INIT;
    struct python_place place;
    if (python_place_decode(text, n, &a, &place, &err) < 0)
        finish(j, NULL, &err);
    else
        finish(j, &place, NULL);
}

static void on_message(struct environment_job *j, const char *text, size_t n)
{
    cleanup_error struct error err = ERROR_INIT;
    char kind = n ? text[0] : 0;
    if (kind == ENVIRONMENT_SAYS_LINE) {
        j->handler.on_line(j->handler.ctx, text + 1, n - 1);
    } else if (kind == ENVIRONMENT_SAYS_READY) {
        on_ready(j, text + 1, n - 1);
    } else if (kind == ENVIRONMENT_SAYS_REFUSED || kind == ENVIRONMENT_SAYS_FAILED) {
        error_set(&err, kind == ENVIRONMENT_SAYS_REFUSED ? ERR_INVALID : ERR_UNAVAILABLE, "%.*s", (int)(n - 1),
                  text + 1);
        finish(j, NULL, &err);
    }
}

static void on_end(struct environment_job *j)
{
    cleanup_error struct error err = ERROR_INIT;
    close_end(&j->out, &j->watch_out);
    error_set(&err, ERR_UNAVAILABLE, "the process that makes Python environments ended without an answer");
    finish(j, NULL, &err);
}

/* The functions of the handler may free the job, which closes its ends at once, and frees it later. */
static void on_readable(int fd, void *ctx)
{
    struct environment_job *j = ctx;
    char buffer[READ_BYTES];
    ssize_t n = read(fd, buffer, sizeof(buffer));
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (n <= 0 || j->text.n > MESSAGE_MAX) {
        on_end(j);
        return;
    }
    strbuf_add(&j->text, buffer, (size_t)n);
    const char *end;
    while (j->out >= 0 && (end = memchr(j->text.s, '\n', j->text.n))) {
        size_t length = (size_t)(end - j->text.s);
        cleanup_free char *message = must_malloc(length + 1);
        memcpy(message, j->text.s, length);
        message[length] = 0;
        strbuf_consume(&j->text, length + 1);
        on_message(j, message, length);
    }
}

/* ---- the beginning ----------------------------------------------------------------------------------------------- */

static void on_writable(int fd, void *ctx)
{
    struct environment_job *j = ctx;
    ssize_t n = write(fd, j->order.s + j->written, j->order.n - j->written);
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (n > 0)
        j->written += (size_t)n;
    if (n < 0 || j->written == j->order.n) {
        loop_watch_free(j->watch_in);
        j->watch_in = NULL;
    }
}

static int start_process(struct environment_job *j, struct error *err)
{
    cleanup_arena struct arena a = ARENA_INIT;
    char *argv[] = {"/proc/self/exe", ENVIRONMENT_PROGRAM_COMMAND, NULL};
    int in[2], out[2];
    if (pipe2(in, O_CLOEXEC) < 0)
        return error_errno(err, "cannot make a pipe");
    j->in = in[1];
    if (pipe2(out, O_CLOEXEC) < 0) {
        close(in[0]);
        return error_errno(err, "cannot make a pipe");
    }
    j->out = out[0];
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, in[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&files, out[1], STDOUT_FILENO);
    int r = child_program_start(argv, child_program_environment(NULL, &a), &files, /* own_session= */ true, &j->pid);
    posix_spawn_file_actions_destroy(&files);
    close(in[0]);
    close(out[1]);
    return r ? error_set(err, ERR_UNAVAILABLE, "cannot start the process that makes Python environments: %s",
                         strerror(r))
             : 0;
}

int environment_job_new(struct loop *l, const struct python_order *o, const struct environment_job_handler *h,
                        struct environment_job **ret, struct error *err)
{
    struct environment_job *j = must_calloc(1, sizeof(*j));
    j->loop = l;
    j->handler = *h;
    j->in = j->out = -1;
    j->reaper = loop_timer_new(l, on_reap, j);
    if (start_process(j, err) < 0) {
        destroy(j);
        return -1;
    }
    python_order_encode(o, &j->order);
    strbuf_addc(&j->order, '\n');
    fcntl(j->in, F_SETFL, O_NONBLOCK);
    fcntl(j->out, F_SETFL, O_NONBLOCK);
    j->watch_in = loop_watch_writable(l, j->in, on_writable, j);
    j->watch_out = loop_watch_readable(l, j->out, on_readable, j);
    *ret = j;
    return 0;
}
