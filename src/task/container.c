#include "task/container.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/base/strbuf.h"
#include "common/system/files.h"

enum { PASSWD_MAX = 1024 * 1024 };

/* The first of these files that exists, or "". Engines show a container its own control groups here. */
static const char *first_file(const char *const *path)
{
    for (; *path; path++)
        if (access(*path, R_OK) == 0)
            return *path;
    return "";
}

static void find_control_groups(struct taskspec *spec)
{
    static const char *const oom[] = {"/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control", NULL};
    static const char *const pids[] = {"/sys/fs/cgroup/pids.events", "/sys/fs/cgroup/pids/pids.events", NULL};
    spec->oom_file = first_file(oom);
    spec->pids_file = spec->limit.processes ? first_file(pids) : "";
}

/* The order names bash. An image that has none runs the task's scripts with its POSIX shell. */
static int find_shell(struct taskspec *spec, struct error *err)
{
    static const char bash[] = "/bin/bash", sh[] = "/bin/sh";
    bool has_bash = access(bash, X_OK) == 0;
    if (!has_bash && access(sh, X_OK) < 0)
        return error_set(err, ERR_INVALID,
                         "the image %s has no shell: neither /bin/bash nor /bin/sh can be executed, and every task "
                         "needs one of them for its startup hooks",
                         spec->image);
    for (char **word = spec->argv; !has_bash && *word; word++)
        if (strcmp(*word, bash) == 0) {
            *word = (char *)sh;
            break;
        }
    return 0;
}

static int check_places(const struct taskspec *spec, struct error *err)
{
    for (size_t i = 0; i < spec->place_n; i++) {
        const struct taskspec_place *p = &spec->place[i];
        struct stat st;
        if (stat(p->target, &st) < 0)
            return error_errno(err, "cannot look at what is mounted at %s", p->target);
        if (st.st_dev != p->dev || st.st_ino != p->ino)
            return error_set(err, ERR_INVALID,
                             "what is mounted at %s is not what the agent has checked: its source was changed while "
                             "the container was started",
                             p->target);
    }
    return 0;
}

/* Whether a line of the text, NAME:PASSWORD:UID:…, has the uid. */
static bool has_uid(const char *text, uint32_t uid)
{
    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        const char *at = line;
        for (int field = 0; field < 2 && at; field++)
            at = memchr(at, ':', strcspn(at, "\n")) ? strchr(at, ':') + 1 : NULL;
        if (at && strtoull(at, NULL, 10) == uid)
            return true;
    }
    return false;
}

static int read_all(int fd, struct strbuf *ret)
{
    ssize_t n = 1;
    while (n > 0 && ret->n < PASSWD_MAX) {
        strbuf_reserve(ret, 4096);
        n = read(fd, ret->s + ret->n, 4096);
        ret->n += n > 0 ? (size_t)n : 0;
        ret->s[ret->n] = 0;
    }
    return n < 0 ? -1 : 0;
}

/* Adds the task's account to the container's /etc/passwd: without an entry for the uid, some programs, such as ssh,
 * refuse to work. The file is opened so that neither a link in the image nor a mount of the task leads out of the
 * container's own layer. Where that is not possible, the container stays without the entry. */
static void add_account(const struct taskspec *spec)
{
    struct open_how how = {.flags = O_RDWR | O_APPEND | O_CLOEXEC,
                           .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV};
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    cleanup_close int fd = *spec->passwd_line ? (int)syscall(SYS_openat2, AT_FDCWD, "/etc/passwd", &how, sizeof(how))
                                              : -1;
    if (fd < 0 || read_all(fd, &text) < 0 || has_uid(strbuf_str(&text), spec->uid))
        return;
    const char *newline = text.n && text.s[text.n - 1] != '\n' ? "\n" : "";
    if (dprintf(fd, "%s%s\n", newline, spec->passwd_line) < 0)
        fprintf(stderr, "WARNING: cannot add the task's account to /etc/passwd: %s\n", strerror(errno));
}

int container_check(struct taskspec *spec, struct error *err)
{
    return check_places(spec, err) < 0 ? -1 : find_shell(spec, err);
}

int container_prepare(struct taskspec *spec, struct error *err)
{
    find_control_groups(spec);
    add_account(spec);
    return container_check(spec, err);
}

void container_tell(const char *dir, int what, const char *text)
{
    char message[512];
    cleanup_free char *path = path_join(dir, TASKSPEC_PIPE);
    cleanup_close int fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    int n = snprintf(message, sizeof(message), "%c%s", what, text);
    ssize_t ignored = fd >= 0 ? write(fd, message, (size_t)n < sizeof(message) ? (size_t)n : sizeof(message) - 1) : 0;
    (void)ignored;
}
