#include "api/checkpoints/storage_roots.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/base/cleanup.h"
#include "common/base/must.h"
#include "common/config/config.h"
#include "common/json/json.h"
#include "common/system/beneath.h"
#include "common/system/log.h"
#include "common/task/checkpoint_place.h"

struct storage_roots {
    struct arena arena;
    const char **root;
    size_t n;
    bool has_own;
    struct stat own;        /* the master's data directory */
    int64_t task_uid_first; /* 0: no agent uses own uids for tasks */
};

enum { TASK_UIDS_MAX = 1000000 }; /* the most uids that an agent can have for tasks */

/* ---- paths ------------------------------------------------------------------------------------------------------- */

const char *storage_path_normal(const char *path, struct arena *a)
{
    cleanup_strbuf struct strbuf normal = STRBUF_INIT;
    if (*path != '/')
        return NULL;
    for (const char *p = path; *p;) {
        p += strspn(p, "/");
        size_t n = strcspn(p, "/");
        if (n == 2 && strncmp(p, "..", 2) == 0)
            return NULL;
        if (n > 0 && !(n == 1 && *p == '.')) {
            strbuf_addc(&normal, '/');
            strbuf_add(&normal, p, n);
        }
        p += n;
    }
    return normal.n ? arena_strdup(a, strbuf_str(&normal)) : "/";
}

/* Whether path is root or below it. Both must be in normal form. */
static bool is_below(const char *path, const char *root)
{
    size_t n = strlen(root);
    return strncmp(path, root, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

static bool may_be_root(const char *normal)
{
    return normal && strcmp(normal, "/") != 0;
}

/* ---- roots ------------------------------------------------------------------------------------------------------- */

static void add_root(struct storage_roots *r, const char *path, const char *key)
{
    const char *normal = storage_path_normal(path, &r->arena);
    if (may_be_root(normal))
        r->root[r->n++] = normal;
    else
        log_warning(
            "checkpoint.root_ignored",
            "path=%s key=%s reason=\"the master removes nothing there: the path is the machine's root directory "
            "or has two dots; tasks do\"",
            log_quote(path), key);
}

/* The path of a storage that is a directory; NULL if it is none. */
static const char *place_of(struct json_object *storage, struct arena *a)
{
    cleanup_error struct error ignored = ERROR_INIT;
    const char *place = NULL;
    return checkpoint_place(storage, a, &place, &ignored) < 0 ? NULL : place;
}

struct storage_roots *storage_roots_new(const struct config *c, const char *data_dir)
{
    struct storage_roots *r = must_calloc(1, sizeof(*r));
    struct json_object *list = config_get(c, "security.checkpoint_roots");
    size_t n = list ? json_object_array_length(list) : 0;
    r->root = arena_array(&r->arena, const char *, n + 1);
    const char *cluster = place_of(config_get(c, "checkpoint_storage"), &r->arena);
    if (cluster)
        add_root(r, cluster, "checkpoint_storage");
    for (size_t i = 0; i < n; i++)
        add_root(r, json_object_get_string(json_object_array_get_idx(list, i)), "security.checkpoint_roots");
    r->has_own = stat(data_dir, &r->own) == 0;
    r->task_uid_first = config_int(c, "security.task_uid_first");
    return r;
}

void storage_roots_free(struct storage_roots *r)
{
    if (!r)
        return;
    arena_release(&r->arena);
    free(r);
}

/* The longest root that the place is below, so that an admin's link below an admin's root is followed. NULL: there
 * is none. */
static const char *root_of(const struct storage_roots *r, const char *admin_storage, const char *place, struct arena *a)
{
    cleanup_json struct json_object *storage = NULL;
    const char *best = NULL, *of_workspace = NULL;
    for (size_t i = 0; i < r->n; i++)
        if (is_below(place, r->root[i]) && (!best || strlen(r->root[i]) > strlen(best)))
            best = r->root[i];
    if (admin_storage && json_parse(admin_storage, strlen(admin_storage), &storage, NULL) == 0)
        of_workspace = place_of(storage, a);
    if (of_workspace)
        of_workspace = storage_path_normal(of_workspace, a);
    if (may_be_root(of_workspace) && is_below(place, of_workspace) && (!best || strlen(of_workspace) > strlen(best)))
        best = of_workspace;
    return best;
}

bool storage_roots_is_own(const struct storage_roots *r, int dir)
{
    struct stat st;
    return r->has_own && fstat(dir, &st) == 0 && st.st_dev == r->own.st_dev && st.st_ino == r->own.st_ino;
}

bool storage_roots_is_anothers(const struct storage_roots *r, int dir, int32_t user_id)
{
    struct stat st;
    if (!r->task_uid_first || fstat(dir, &st) < 0)
        return false;
    int64_t of = (int64_t)st.st_uid - r->task_uid_first;
    return of >= 0 && of < TASK_UIDS_MAX && of != user_id;
}

/* ---- opening ----------------------------------------------------------------------------------------------------- */

/* Opens one directory after the other, so that each can be checked. Closes `at`. The result is opened with O_PATH:
 * it can be used only to open something below it. */
static int open_below(const struct storage_roots *r, int at, const char *rest, struct arena *a)
{
    for (;;) {
        if (at < 0)
            return -1;
        if (storage_roots_is_own(r, at)) {
            close(at);
            errno = EPERM;
            return -1;
        }
        rest += strspn(rest, "/");
        if (!*rest)
            return at;
        size_t n = strcspn(rest, "/");
        int next = beneath_open(at, arena_strndup(a, rest, n), O_PATH | O_DIRECTORY, NULL);
        int error = errno;
        close(at);
        errno = error;
        at = next;
        rest += n;
    }
}

static const char *explain_refusal(int error)
{
    if (error == EPERM)
        return "it lies in the master's own data directory";
    return error == ELOOP || error == ENOTDIR ? "it leads through a link, or something on the way is no directory"
                                              : strerror(error);
}

int storage_roots_open(const struct storage_roots *r, const char *admin_storage, const char *place, struct arena *a,
                       const char **ret_why)
{
    const char *normal = storage_path_normal(place, a), *root = normal ? root_of(r, admin_storage, normal, a) : NULL;
    if (!root) {
        *ret_why = arena_printf(
            a,
            "%s is below none of the directories that an admin has opened to the master (checkpoint_storage of the "
            "cluster or the workspace, security.checkpoint_roots)",
            place);
        return -1;
    }
    cleanup_close int at = open_below(r, open(root, O_PATH | O_DIRECTORY | O_CLOEXEC), normal + strlen(root), a);
    int fd = at < 0 ? -1 : beneath_open(at, ".", O_RDONLY | O_DIRECTORY, NULL);
    if (fd < 0)
        *ret_why =
            arena_printf(a, "the master's machine can't open %s (%s); is the storage mounted there, at the same path?",
                         place, explain_refusal(errno));
    return fd;
}
