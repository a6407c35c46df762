#include "agent/python/environment_cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "common/base/cleanup.h"
#include "common/base/must.h"
#include "common/base/strbuf.h"
#include "common/system/files.h"

/* ---- which ones to remove ---------------------------------------------------------------------------------------- */

static int by_last_use(const void *a, const void *b)
{
    const struct cached_environment *x = a, *y = b;
    if (x->used_us != y->used_us)
        return x->used_us < y->used_us ? -1 : 1;
    return strcmp(x->key, y->key);
}

bool environment_cache_choose(struct cached_environment *e, size_t n, int64_t needed, int64_t max_bytes)
{
    int64_t total = needed;
    for (size_t i = 0; i < n; i++) {
        e[i].remove = false;
        total += e[i].bytes;
    }
    if (n)
        qsort(e, n, sizeof(*e), by_last_use);
    for (size_t i = 0; i < n && max_bytes && total > max_bytes; i++)
        if (!e[i].in_use) {
            e[i].remove = true;
            total -= e[i].bytes;
        }
    if (!max_bytes || total <= max_bytes)
        return true;
    for (size_t i = 0; i < n; i++)
        e[i].remove = false;
    return false;
}

/* ---- one environment --------------------------------------------------------------------------------------------- */

void environment_paths(const char *cache, const char *key, struct arena *a, struct environment_paths *ret)
{
    const char *dir = arena_printf(a, "%s/%s", cache, key);
    *ret = (struct environment_paths){.key = key,
                                      .dir = dir,
                                      .environment = arena_printf(a, "%s/env", dir),
                                      .work = arena_printf(a, "%s/work", dir),
                                      .complete = arena_printf(a, "%s/complete", dir),
                                      .lock = arena_printf(a, "%s.lock", dir)};
}

bool environment_is_complete(const struct environment_paths *p)
{
    return access(p->complete, F_OK) == 0;
}

int environment_lock_open(const char *path, struct error *err)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    return fd < 0 ? error_errno(err, "cannot open %s", path) : fd;
}

void environment_touch(int lock_fd)
{
    futimens(lock_fd, NULL);
}

int environment_complete(const struct environment_paths *p, int64_t bytes, struct error *err)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    cleanup_close int dir = open(p->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    /* After a crash of the machine, the file must not be there without all that it stands for. */
    if (dir < 0 || syncfs(dir) < 0)
        return error_errno(err, "cannot write %s to the disk", p->dir);
    strbuf_addf(&text, "%" PRId64 "\n", bytes);
    return file_write(p->complete, text.s, text.n, 0644, err);
}

int environment_remove(const struct environment_paths *p, struct error *err)
{
    if (unlink(p->complete) < 0 && errno != ENOENT)
        return error_errno(err, "cannot remove %s", p->complete);
    return tree_remove(p->dir, err);
}

/* ---- all of them ------------------------------------------------------------------------------------------------- */

struct listing {
    struct cached_environment *list;
    size_t n, cap;
};

static void listing_add(struct listing *l, const struct cached_environment *e)
{
    if (l->n == l->cap) {
        l->cap = l->cap ? 2 * l->cap : 32;
        l->list = must_realloc(l->list, l->cap * sizeof(*l->list));
    }
    l->list[l->n++] = *e;
}

static bool is_key(const char *name)
{
    return strlen(name) == ENVIRONMENT_KEY_LENGTH && strspn(name, "0123456789abcdef") == ENVIRONMENT_KEY_LENGTH;
}

/* Looks at one environment. One that is locked by nobody and is not complete is removed. */
static void look_at(const char *cache, const char *key, struct listing *ret)
{
    cleanup_arena struct arena a = ARENA_INIT;
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    struct environment_paths p;
    struct cached_environment e = {.in_use = true};
    struct stat st;
    environment_paths(cache, key, &a, &p);
    memcpy(e.key, key, ENVIRONMENT_KEY_LENGTH + 1);
    cleanup_close int lock = environment_lock_open(p.lock, NULL);
    bool alone = lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) == 0;
    bool complete = file_read(p.complete, 64, &text, NULL) == 0;
    if (!complete) {
        if (alone)
            environment_remove(&p, NULL);
        return;
    }
    e.bytes = strtoll(strbuf_str(&text), NULL, 10);
    e.used_us = lock >= 0 && fstat(lock, &st) == 0 ? st.st_mtim.tv_sec * 1000000 + st.st_mtim.tv_nsec / 1000 : 0;
    e.in_use = !alone;
    listing_add(ret, &e);
}

static int list_all(const char *cache, const char *except, struct listing *ret, struct error *err)
{
    DIR *d = opendir(cache);
    if (!d)
        return error_errno(err, "cannot list %s", cache);
    for (struct dirent *e; (e = readdir(d));)
        if (is_key(e->d_name) && strcmp(e->d_name, except) != 0)
            look_at(cache, e->d_name, ret);
    closedir(d);
    return 0;
}

/* Removes what was chosen. A task may have begun to use one of them since; that one stays. */
static void remove_chosen(const char *cache, const struct listing *l)
{
    for (size_t i = 0; i < l->n; i++) {
        cleanup_arena struct arena a = ARENA_INIT;
        struct environment_paths p;
        if (!l->list[i].remove)
            continue;
        environment_paths(cache, l->list[i].key, &a, &p);
        cleanup_close int lock = environment_lock_open(p.lock, NULL);
        if (lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) == 0)
            environment_remove(&p, NULL);
    }
}

int environment_make_room(const char *cache, const char *except, int64_t needed, int64_t max_bytes, struct error *err)
{
    struct listing l = {0};
    if (list_all(cache, except, &l, err) < 0)
        return -1;
    bool fits = environment_cache_choose(l.list, l.n, needed, max_bytes);
    int64_t in_use = 0;
    for (size_t i = 0; i < l.n; i++)
        in_use += l.list[i].in_use ? l.list[i].bytes : 0;
    if (fits)
        remove_chosen(cache, &l);
    free(l.list);
    if (fits)
        return 0;
    return error_set(err, ERR_TOO_LARGE,
                     "it needs %" PRId64 " MiB, and the cache %s may hold %" PRId64
                     " MiB, of which tasks that run use %" PRId64
                     " MiB; end such a task, or raise python_environments.max_size of the agent",
                     needed >> 20, cache, max_bytes >> 20, in_use >> 20);
}
