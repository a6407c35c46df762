#include "task/find_python.h"

#include <grp.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/base/arena.h"
#include "common/base/cleanup.h"
#include "common/base/strbuf.h"
#include "common/system/files.h"
#include "common/task/python_found.h"
#include "common/task/taskspec.h"
#include "task/python_facts.h"

enum { SPEC_BYTES_MAX = 16 * 1024 * 1024, SECONDS_MAX = 5 };
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MEMORY_MAX RLIM_INFINITY /* a sanitizer reserves terabytes of addresses */
#else
#define MEMORY_MAX (512 * 1024 * 1024)
#endif

static int read_order(const char *dir, struct arena *a, struct taskspec *ret, struct error *err)
{
    cleanup_free char *path = path_join(dir, "spec");
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    return file_read(path, SPEC_BYTES_MAX, &text, err) < 0 ? -1 : taskspec_decode(text.s, text.n, a, ret, err);
}

/* Limits this process and becomes the task's user for good. SIGALRM ends the process after SECONDS_MAX; the limit of
 * processor time works even where the alarm does not come. */
static int become_user(const struct taskspec *s, struct error *err)
{
    struct rlimit seconds = {SECONDS_MAX, SECONDS_MAX}, memory = {MEMORY_MAX, MEMORY_MAX};
    alarm(SECONDS_MAX);
    if (setrlimit(RLIMIT_CPU, &seconds) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return error_errno(err, "cannot limit the process that finds Python");
    setrlimit(RLIMIT_DATA, &memory);
    if (s->change_user && (setgroups(s->group_n, s->group) < 0 || setresgid(s->gid, s->gid, s->gid) < 0 ||
                           setresuid(s->uid, s->uid, s->uid) < 0))
        return error_errno(err, "cannot become the task's user");
    return 0;
}

static int write_found(const struct python_found *found, struct error *err)
{
    cleanup_strbuf struct strbuf out = STRBUF_INIT;
    python_found_encode(found, &out);
    return fd_write_all(STDOUT_FILENO, out.s, out.n) < 0 ? error_errno(err, "cannot write what was found") : 0;
}

static const char *or_null(const char *value)
{
    return *value ? value : NULL;
}

static struct python_search search_of(const struct taskspec *s)
{
    size_t n = 0;
    while (s->argv[n])
        n++;
    return (struct python_search){.argv = (const char *const *)s->argv,
                                  .argv_n = n,
                                  .work_dir = s->cwd,
                                  .path = or_null(taskspec_env(s, "PATH")),
                                  .python_path = or_null(taskspec_env(s, "PYTHONPATH")),
                                  .user_base = or_null(taskspec_env(s, "PYTHONUSERBASE"))};
}

int find_python(const char *dir, struct error *err)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct taskspec s;
    struct python_found found = {.executable = "", .version = ""};
    if (read_order(dir, &a, &s, err) < 0 || become_user(&s, err) < 0)
        return -1;
    struct python_search search = search_of(&s);
    python_facts_find(&search, &a, &found);
    return write_found(&found, err);
}

/* The interpreter that the command names. The command of a trial names none; it is started by DET_PYTHON_EXECUTABLE. */
static const char *python_of_task(const struct taskspec *s, struct arena *a)
{
    struct python_search search = search_of(s);
    const char **word = arena_array(a, const char *, search.argv_n + 1);
    memcpy(word, search.argv, search.argv_n * sizeof(*word));
    word[search.argv_n++] = taskspec_env(s, "DET_PYTHON_EXECUTABLE");
    search.argv = word;
    return python_facts_interpreter(&search, a);
}

void find_python_and_explain_missing(const struct taskspec *s, const struct missing_module *m, int fd)
{
    cleanup_arena struct arena a = ARENA_INIT;
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    if (become_user(s, NULL) == 0) {
        missing_module_explain(m, python_of_task(s, &a), &text);
        fd_write_all(fd, text.s, text.n);
    }
    _exit(0);
}
