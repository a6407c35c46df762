#include "master/pools/line_program.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/must.h"
#include "common/system/child_program.h"
#include "common/system/log.h"
#include "common/system/process.h"

enum {
    ANSWER_MAX = 16 << 20, /* bytes of one answer */
    REMARK_MAX = 1000,     /* bytes of one line of its standard error that are logged */
    PATIENCE_MS = 1000,    /* for its end after its standard input was closed */
    TICK_MS = 100,
    READS_MAX = 64, /* of one pipe at a time */
};

struct line_program {
    struct line_program_opts opts;
    pid_t pid; /* 0: it does not run */
    int in, out, remarks;
    int64_t last_id;
    struct strbuf answer, remark; /* what has come of the next line */
    char last_remark[REMARK_MAX];
};

struct line_program *line_program_new(const struct line_program_opts *o)
{
    struct line_program *p = must_calloc(1, sizeof(*p));
    p->opts = *o;
    p->in = p->out = p->remarks = -1;
    return p;
}

/* ---- start and end ----------------------------------------------------------------------------------------------- */

static void close_pipe(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static bool wait_for_end(struct line_program *p, int patience_ms, int *ret_status)
{
    for (int waited = 0;; waited += 10) {
        if (waitpid(p->pid, ret_status, WNOHANG) != 0)
            return true;
        if (waited >= patience_ms)
            return false;
        sleep_ms(10);
    }
}

/* Ends the program with all processes of its session's group, and forgets what it has begun to answer. Returns its
 * status of waitpid(2). */
static int end_program(struct line_program *p, int patience_ms)
{
    int status = 0;
    if (!p->pid)
        return 0;
    close_pipe(&p->in);
    bool ended = wait_for_end(p, patience_ms, &status);
    kill(-p->pid, SIGKILL);
    if (!ended)
        waitpid(p->pid, &status, 0);
    p->pid = 0;
    close_pipe(&p->out);
    close_pipe(&p->remarks);
    strbuf_reset(&p->answer);
    strbuf_reset(&p->remark);
    return status;
}

void line_program_free(struct line_program *p)
{
    if (!p)
        return;
    end_program(p, PATIENCE_MS);
    strbuf_release(&p->answer);
    strbuf_release(&p->remark);
    free(p);
}

/* Opens three pipes, whose ends with even numbers are read from. All of them are closed when a program is started,
 * except the ends that it gets. */
static int open_pipes(int fd[6], struct error *err)
{
    for (int i = 0; i < 3; i++)
        if (pipe2(&fd[2 * i], O_CLOEXEC) < 0)
            return error_errno(err, "opening pipes to a program");
    return 0;
}

static int spawn_with(struct line_program *p, const int fd[6])
{
    cleanup_arena struct arena a = ARENA_INIT;
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, fd[0], 0);
    posix_spawn_file_actions_adddup2(&files, fd[3], 1);
    posix_spawn_file_actions_adddup2(&files, fd[5], 2);
    int rc = child_program_start(p->opts.argv, child_program_environment(p->opts.variable, &a), &files,
                                 /* own_session= */ true, &p->pid);
    posix_spawn_file_actions_destroy(&files);
    return rc;
}

static int start_program(struct line_program *p, struct error *err)
{
    int fd[6] = {-1, -1, -1, -1, -1, -1};
    int rc = open_pipes(fd, err);
    int failed = rc == 0 ? spawn_with(p, fd) : 0;
    close_pipe(&fd[0]);
    close_pipe(&fd[3]);
    close_pipe(&fd[5]);
    p->last_remark[0] = '\0';
    if (rc == 0 && failed == 0) {
        p->in = fd[1];
        p->out = fd[2];
        p->remarks = fd[4];
        fcntl(p->in, F_SETFL, O_NONBLOCK);
        fcntl(p->out, F_SETFL, O_NONBLOCK);
        fcntl(p->remarks, F_SETFL, O_NONBLOCK);
        return 0;
    }
    p->pid = 0;
    close_pipe(&fd[1]);
    close_pipe(&fd[2]);
    close_pipe(&fd[4]);
    return rc < 0 ? -1 : error_set(err, ERR_PRECONDITION, "cannot run %s: %s", p->opts.argv[0], strerror(failed));
}

/* ---- what the program writes ------------------------------------------------------------------------------------- */

/* Reads what is there, but at most READS_MAX times, so that a program that never stops writing does not keep the caller
 * from its limits. Returns false at the end of the file. */
static bool read_some(int fd, struct strbuf *into)
{
    char buf[8192];
    ssize_t n = 1;
    for (int i = 0; i < READS_MAX && (n = read(fd, buf, sizeof(buf))) > 0; i++)
        strbuf_add(into, buf, (size_t)n);
    return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

/* Logs one line of the program's standard error, and keeps it: it may tell why the program ends. */
static void take_remark(struct line_program *p, const char *text, size_t n)
{
    size_t kept = n < sizeof(p->last_remark) ? n : sizeof(p->last_remark) - 1;
    if (n == 0)
        return;
    memcpy(p->last_remark, text, kept);
    p->last_remark[kept] = '\0';
    log_info("provider.remark", "name=%s text=%s", p->opts.name, log_quote(p->last_remark));
}

static void take_remarks(struct line_program *p, bool ended)
{
    const char *newline;
    while (p->remark.n > 0 && (newline = memchr(p->remark.s, '\n', p->remark.n))) {
        size_t n = (size_t)(newline - p->remark.s);
        take_remark(p, p->remark.s, n);
        strbuf_consume(&p->remark, n + 1);
    }
    if (p->remark.n > 0 && (ended || p->remark.n > REMARK_MAX)) {
        take_remark(p, p->remark.s, p->remark.n);
        strbuf_reset(&p->remark);
    }
}

static int say_that_it_ended(struct line_program *p, struct error *err)
{
    cleanup_strbuf struct strbuf how = STRBUF_INIT;
    if (p->remarks >= 0)
        read_some(p->remarks, &p->remark);
    take_remarks(p, /* ended= */ true);
    int status = end_program(p, PATIENCE_MS);
    if (WIFSIGNALED(status))
        strbuf_addf(&how, "by signal %d", WTERMSIG(status));
    else
        strbuf_addf(&how, "with exit status %d", WEXITSTATUS(status));
    return error_set(err, ERR_UNAVAILABLE, "%s ended %s before it had answered%s%s", p->opts.argv[0], strbuf_str(&how),
                     *p->last_remark ? ": " : "", p->last_remark);
}

/* Takes the next whole line of the answers. Returns 1 if it is the answer to the question, 0 if there is no line, or
 * one that answers another question. */
static int take_answer(struct line_program *p, struct json_object **ret, struct error *err)
{
    const char *newline = p->answer.n > 0 ? memchr(p->answer.s, '\n', p->answer.n) : NULL;
    cleanup_json struct json_object *answer = NULL;
    struct json_object *id = NULL;
    if (p->answer.n > ANSWER_MAX)
        return error_set(err, ERR_TOO_LARGE, "an answer of %s has more than %d bytes", p->opts.argv[0], ANSWER_MAX);
    if (!newline)
        return 0;
    size_t n = (size_t)(newline - p->answer.s);
    int rc = json_parse(p->answer.s, n, &answer, err);
    if (rc == 0 && !json_object_is_type(answer, json_type_object))
        rc = error_set(err, ERR_INVALID, "it is no JSON object");
    if (rc < 0)
        return error_wrap(err, "the line \"%.*s\" of %s is no answer", (int)(n < 100 ? n : 100), p->answer.s,
                          p->opts.argv[0]);
    strbuf_consume(&p->answer, n + 1);
    if (!json_object_object_get_ex(answer, "id", &id) || json_object_get_int64(id) != p->last_id)
        return 0;
    *ret = take_ptr(answer);
    return 1;
}

/* ---- asking ------------------------------------------------------------------------------------------------------ */

/* Writes as much of the line as the pipe takes. A program that does not read any more is about to end, which is noticed
 * at its standard output. */
static void write_some(struct line_program *p, struct strbuf *line)
{
    ssize_t n = write(p->in, line->s, line->n);
    if (n > 0)
        strbuf_consume(line, (size_t)n);
    else if (n < 0 && errno == EPIPE)
        strbuf_reset(line);
}

static int wait_for_answer(struct line_program *p, struct strbuf *line, struct json_object **ret, struct error *err)
{
    int64_t until_us = clock_monotonic_us() + p->opts.timeout_us;
    for (;;) {
        struct pollfd fds[] = {{p->out, POLLIN, 0}, {p->remarks, POLLIN, 0}, {line->n > 0 ? p->in : -1, POLLOUT, 0}};
        poll(fds, 3, TICK_MS);
        if (fds[2].revents)
            write_some(p, line);
        if (fds[1].revents && !read_some(p->remarks, &p->remark))
            close_pipe(&p->remarks);
        take_remarks(p, /* ended= */ false);
        bool open = !fds[0].revents || read_some(p->out, &p->answer);
        int rc = take_answer(p, ret, err);
        if (rc != 0)
            return rc > 0 ? 0 : -1;
        if (!open)
            return say_that_it_ended(p, err);
        if (p->opts.stopping && atomic_load(p->opts.stopping))
            return error_set(err, ERR_CANCELED, "the master ends");
        if (clock_monotonic_us() >= until_us)
            return error_set(err, ERR_DEADLINE, "%s has not answered within %g s, and was ended", p->opts.argv[0],
                             (double)p->opts.timeout_us / 1e6);
    }
}

/* Asks one question. If the program does not answer it, the program is ended, so that no answer comes late. */
static int exchange(struct line_program *p, struct json_object *question, struct json_object **ret, struct error *err)
{
    cleanup_strbuf struct strbuf line = STRBUF_INIT;
    cleanup_json struct json_object *answer = NULL;
    struct json_object *failure = NULL;
    json_object_object_add(question, "id", json_object_new_int64(++p->last_id));
    json_print(question, &line);
    strbuf_addc(&line, '\n');
    if (wait_for_answer(p, &line, &answer, err) < 0) {
        end_program(p, 0);
        return -1;
    }
    if (json_object_object_get_ex(answer, "error", &failure) && failure)
        return error_set(err, ERR_UNAVAILABLE, "%s", json_object_get_string(failure));
    *ret = take_ptr(answer);
    return 0;
}

static int open_program(struct line_program *p, struct error *err)
{
    cleanup_json struct json_object *answer = NULL;
    if (p->pid)
        return 0;
    if (start_program(p, err) < 0)
        return -1;
    if (exchange(p, p->opts.opening, &answer, err) == 0)
        return 0;
    end_program(p, 0);
    return -1;
}

int line_program_ask(struct line_program *p, struct json_object *question, struct json_object **ret, struct error *err)
{
    return open_program(p, err) < 0 ? -1 : exchange(p, question, ret, err);
}
