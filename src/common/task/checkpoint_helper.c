#include "common/task/checkpoint_helper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/arena.h"
#include "common/base/cleanup.h"
#include "common/base/must.h"
#include "common/json/json.h"
#include "common/system/child_program.h"

enum { HELPERS_MAX = 16, NOT_THERE = 3, SILENCE_MS = 300 * 1000, WORDS_MAX = 4096 };

static atomic_int helpers;

struct checkpoint_helper {
    pid_t pid;           /* 0: the process was waited for */
    int out, words;      /* the process's stdout, and its stderr, which is a file without a name */
    struct strbuf first; /* bytes that were read when it was started */
};

/* ---- starting ---------------------------------------------------------------------------------------------------- */

/* Writes the request to a file, so that its secrets appear in no list of processes. */
static int request_file(const struct checkpoint_helper_options *o, struct error *err)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    cleanup_close int fd = memfd_create("checkpoint-request", MFD_CLOEXEC);
    strbuf_addf(&text, "{\"storage\":%s,\"uuid\":\"%s\",\"format\":\"%s\"}", o->storage, o->uuid, o->format);
    if (fd < 0 || write(fd, text.s, text.n) != (ssize_t)text.n || lseek(fd, 0, SEEK_SET) < 0)
        return error_errno(err, "keeping the request for a checkpoint");
    return take_fd(fd);
}

static int spawn_helper(const struct checkpoint_helper_options *o, int in, int out, int words, pid_t *ret,
                        struct error *err)
{
    cleanup_arena struct arena a = ARENA_INIT;
    char *const argv[] = {(char *)o->python, "-m", "determined.exec.fetch_checkpoint", NULL};
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, in, 0);
    posix_spawn_file_actions_adddup2(&files, out, 1);
    posix_spawn_file_actions_adddup2(&files, words, 2);
    int rc = child_program_start(argv, child_program_environment(arena_printf(&a, "PYTHONPATH=%s", o->python_path), &a),
                                 &files, o->own_session, ret);
    posix_spawn_file_actions_destroy(&files);
    return rc == 0 ? 0
                   : error_set(err, ERR_PRECONDITION, "object stores are read by %s, which cannot be run: %s",
                               o->python, strerror(rc));
}

static int launch_helper(struct checkpoint_helper *h, const struct checkpoint_helper_options *o, struct error *err)
{
    int pipe_of[2];
    cleanup_close int in = request_file(o, err);
    if (in < 0)
        return -1;
    h->words = memfd_create("checkpoint-words", MFD_CLOEXEC);
    if (h->words < 0 || pipe2(pipe_of, O_CLOEXEC) < 0)
        return error_errno(err, "a pipe for a checkpoint");
    h->out = pipe_of[0];
    int rc = spawn_helper(o, in, pipe_of[1], h->words, &h->pid, err);
    close(pipe_of[1]);
    return rc;
}

int checkpoint_helper_start(const struct checkpoint_helper_options *o, struct checkpoint_helper **ret,
                            struct error *err)
{
    bool end;
    if (atomic_fetch_add(&helpers, 1) >= HELPERS_MAX) {
        atomic_fetch_sub(&helpers, 1);
        return error_set(err, ERR_UNAVAILABLE,
                         "%d checkpoints of object stores are being read already; try again later", HELPERS_MAX);
    }
    struct checkpoint_helper *h = must_calloc(1, sizeof(*h));
    *h = (struct checkpoint_helper){.out = -1, .words = -1, .first = STRBUF_INIT};
    if (launch_helper(h, o, err) < 0 || checkpoint_helper_read(h, 64 * 1024, &h->first, &end, err) < 0) {
        checkpoint_helper_free(h);
        return -1;
    }
    *ret = h;
    return 0;
}

/* ---- its end ----------------------------------------------------------------------------------------------------- */

static int wait_for(struct checkpoint_helper *h)
{
    int status = -1;
    while (waitpid(h->pid, &status, 0) < 0 && errno == EINTR)
        ;
    h->pid = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* The last line that the process wrote to stderr. */
static void last_words(const struct checkpoint_helper *h, char ret[WORDS_MAX])
{
    off_t size = lseek(h->words, 0, SEEK_END), from = size > WORDS_MAX - 1 ? size - (WORDS_MAX - 1) : 0;
    ssize_t n = pread(h->words, ret, WORDS_MAX - 1, from);
    ret[n > 0 ? n : 0] = '\0';
    for (n = (ssize_t)strlen(ret); n > 0 && ret[n - 1] == '\n';)
        ret[--n] = '\0';
    const char *line = strrchr(ret, '\n');
    if (line)
        memmove(ret, line + 1, strlen(line));
}

static int read_helper_end(struct checkpoint_helper *h, bool *ret_end, struct error *err)
{
    char words[WORDS_MAX];
    int status = wait_for(h);
    *ret_end = status == 0;
    if (status == 0)
        return 0;
    last_words(h, words);
    return error_set(err, status == NOT_THERE ? ERR_NOT_FOUND : ERR_PRECONDITION, "the object store: %s",
                     *words ? words : "its client ended without an error message");
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

int checkpoint_helper_read(struct checkpoint_helper *h, size_t wanted, struct strbuf *ret, bool *ret_end,
                           struct error *err)
{
    struct pollfd p = {.fd = h->out, .events = POLLIN};
    *ret_end = false;
    if (ret != &h->first && h->first.n) {
        strbuf_add(ret, h->first.s, h->first.n);
        strbuf_release(&h->first);
        return 0;
    }
    int ready = poll(&p, 1, SILENCE_MS);
    if (ready == 0)
        return error_set(err, ERR_DEADLINE, "the object store has sent nothing for %d s", SILENCE_MS / 1000);
    strbuf_reserve(ret, wanted);
    ssize_t n = ready < 0 ? -1 : read(h->out, ret->s + ret->n, wanted);
    if (n < 0 && errno == EINTR)
        return 0;
    if (n < 0)
        return error_errno(err, "reading from an object store");
    ret->n += (size_t)n;
    ret->s[ret->n] = '\0';
    if (n > 0)
        return 0;
    if (h->pid)
        return read_helper_end(h, ret_end, err);
    *ret_end = true; /* the end was reported before */
    return 0;
}

void checkpoint_helper_free(struct checkpoint_helper *h)
{
    if (!h)
        return;
    if (h->pid) {
        kill(h->pid, SIGKILL);
        wait_for(h);
    }
    if (h->out >= 0)
        close(h->out);
    if (h->words >= 0)
        close(h->words);
    strbuf_release(&h->first);
    free(h);
    atomic_fetch_sub(&helpers, 1);
}
