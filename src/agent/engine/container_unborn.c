#include "agent/engine/container_unborn.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "common/base/strbuf.h"
#include "common/system/files.h"
#include "common/system/log.h"
#include "common/system/mountinfo.h"
#include "common/system/procstat.h"

#define INIT_NAME "runc:[2:INIT]" /* as runc calls its process that waits */
#define SHIM_NAME "containerd-shim"

enum { TEXT_MAX = 4 * 1024 * 1024, LISTED_MAX = 1000, ENGINE_ID = 64 };

static bool read_of(const char *proc, pid_t pid, const char *file, struct strbuf *ret)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/%d/%s", proc, (int)pid, file);
    strbuf_reset(ret);
    return file_read(path, TEXT_MAX, ret, NULL) == 0;
}

/* ---- mounts ------------------------------------------------------------------------------------------------------ */

/* What follows `dir` in a path at or below it: "" or "/…". NULL: the path is not below it. */
static const char *rest_below(const char *path, const char *dir)
{
    size_t n = strcmp(dir, "/") == 0 ? 0 : strlen(dir);
    return strncmp(path, dir, n) == 0 && (!path[n] || path[n] == '/') ? path + n : NULL;
}

/* Where run_root is, in the words of mountinfo: the device of its file system, and its path there. */
static bool find_place(const struct unborn_search *s, struct arena *a, struct mountinfo_line *ret)
{
    cleanup_strbuf struct strbuf mounts = STRBUF_INIT;
    cleanup_free char *real = realpath(s->run_root, NULL), *file = path_join(s->proc, "self/mountinfo");
    struct mountinfo_line *m = arena_new(a, struct mountinfo_line);
    size_t longest = 0;
    if (!real || file_read(file, TEXT_MAX, &mounts, NULL) < 0)
        return false;
    const char *path = mountinfo_path(real, a), *text = strbuf_str(&mounts);
    while (mountinfo_next(&text, m)) {
        const char *rest = *m->at ? rest_below(path, m->at) : NULL;
        if (!rest || strlen(m->at) < longest)
            continue; /* of two that are as long the later one is on top */
        longest = strlen(m->at);
        snprintf(ret->device, sizeof(ret->device), "%s", m->device);
        const char *whole = arena_printf(a, "%s%s", strcmp(m->root, "/") == 0 ? "" : m->root, rest);
        if (strlen(whole) >= sizeof(ret->root))
            return false;
        snprintf(ret->root, sizeof(ret->root), "%s", whole);
    }
    return longest > 0;
}

/* The id of the task whose supervisor's directory the process sees where containers have it; NULL: it sees none that
 * lies at `place`. A directory that was removed has another name there, but still lies below that of its task. */
static const char *task_of(const struct unborn_search *s, pid_t pid, const struct mountinfo_line *place,
                           struct strbuf *scratch, struct arena *a)
{
    struct mountinfo_line *m = arena_new(a, struct mountinfo_line);
    if (!read_of(s->proc, pid, "mountinfo", scratch))
        return NULL;
    for (const char *text = strbuf_str(scratch); mountinfo_next(&text, m);) {
        const char *rest = strcmp(m->at, s->mounted) == 0 && strcmp(m->device, place->device) == 0
                               ? rest_below(m->root, place->root)
                               : NULL;
        if (!rest || *rest != '/')
            continue;
        size_t n = strcspn(rest + 1, "/");
        if (n && rest[1 + n] == '/')
            return arena_strndup(a, rest + 1, n);
    }
    return NULL;
}

/* ---- processes --------------------------------------------------------------------------------------------------- */

static bool has_name(const char *proc, pid_t pid, const char *begin, bool is_whole, struct strbuf *scratch)
{
    size_t n = strlen(begin);
    return read_of(proc, pid, "comm", scratch) && strncmp(strbuf_str(scratch), begin, n) == 0 &&
           (!is_whole || strcmp(strbuf_str(scratch) + n, "\n") == 0);
}

/* The word that follows `option` in a text of words that end in NUL; NULL: there is none. */
static const char *word_after(const struct strbuf *words, const char *option)
{
    const char *end = words->s + words->n;
    for (const char *at = words->s; at && at < end; at += strlen(at) + 1)
        if (strcmp(at, option) == 0)
            return at + strlen(at) + 1 < end ? at + strlen(at) + 1 : NULL;
    return NULL;
}

/* The process above `init`, if it is containerd's shim of that container: both name the engine's id of it. */
static pid_t shim_of(const char *proc, pid_t init, struct strbuf *scratch)
{
    cleanup_strbuf struct strbuf groups = STRBUF_INIT;
    struct procstat stat;
    if (!procstat_read(proc, init, &stat) || stat.parent <= 1 ||
        !has_name(proc, stat.parent, SHIM_NAME, /* is_whole= */ false, scratch) ||
        !read_of(proc, init, "cgroup", &groups) || !read_of(proc, stat.parent, "cmdline", scratch))
        return 0;
    const char *id = word_after(scratch, "-id");
    return id && strlen(id) == ENGINE_ID && strspn(id, "0123456789abcdef") == ENGINE_ID &&
                   strstr(strbuf_str(&groups), id)
               ? stat.parent
               : 0;
}

size_t container_unborn_list(const struct unborn_search *s, struct arena *a, struct unborn_container **ret)
{
    cleanup_strbuf struct strbuf scratch = STRBUF_INIT;
    struct mountinfo_line *place = arena_new(a, struct mountinfo_line);
    size_t n = 0;
    *ret = NULL;
    DIR *d = opendir(s->proc);
    for (pid_t pid; d && n < LISTED_MAX && (pid = procstat_next(d));) {
        if (!has_name(s->proc, pid, INIT_NAME, /* is_whole= */ true, &scratch))
            continue;
        if (!*ret) {
            *ret = arena_array(a, struct unborn_container, LISTED_MAX);
            if (!find_place(s, a, place))
                break;
        }
        const char *task = task_of(s, pid, place, &scratch, a);
        if (task)
            (*ret)[n++] = (struct unborn_container){.task = task, .init = pid, .shim = shim_of(s->proc, pid, &scratch)};
    }
    if (d)
        closedir(d);
    return n;
}

static bool end_one(const struct unborn_container *u)
{
    if (kill(u->init, SIGKILL) < 0 && errno == EPERM) {
        log_warning("agent.container_unborn_left",
                    "container=%s pid=%d shim=%d reason=\"it belongs to another user, who runs the engine\" "
                    "action=\"kill both as root\"",
                    log_quote(u->task), (int)u->init, (int)u->shim);
        return false;
    }
    log_info("agent.container_unborn", "container=%s pid=%d shim=%d action=kill", log_quote(u->task), (int)u->init,
             (int)u->shim);
    if (u->shim)
        kill(u->shim, SIGKILL); /* containerd, if it knows the container, then removes the rest of it */
    return true;
}

size_t container_unborn_end(const struct unborn_container *found, size_t n,
                            bool (*is_known)(void *ctx, const char *container_id), void *ctx)
{
    size_t ended = 0;
    for (size_t i = 0; i < n; i++)
        ended += !is_known(ctx, found[i].task) && end_one(&found[i]);
    return ended;
}
