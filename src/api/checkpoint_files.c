#include "api/checkpoint_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "common/checkpoint_place.h"
#include "common/cleanup.h"
#include "common/json.h"

/* ---- where they are ---------------------------------------------------------------------------------------------- */

int checkpoint_site_place(const struct checkpoint_site *site, struct arena *a, const char **ret, struct error *err)
{
    cleanup_json struct json_object *tree = NULL;
    const char *text = site->storage ? site->storage : site->experiment_config;
    if (!text)
        return error_set(err, ERR_PRECONDITION, "checkpoint %s does not say where it is stored", site->uuid);
    if (json_parse(text, strlen(text), &tree, err) < 0)
        return error_wrap(err, "storage of checkpoint %s", site->uuid);
    struct json_object *storage = site->storage ? tree : json_object_object_get(tree, "checkpoint_storage");
    if (checkpoint_place(storage, a, ret, err) < 0)
        return error_wrap(err, "checkpoint %s", site->uuid);
    return 0;
}

int checkpoint_site_is_here(const struct checkpoint_site *site, bool *ret, struct error *err)
{
    cleanup_arena struct arena a = ARENA_INIT;
    cleanup_error struct error why = ERROR_INIT;
    const char *place;
    if (checkpoint_site_place(site, &a, &place, &why) < 0) {
        *ret = false;
        return why.kind == ERR_UNIMPLEMENTED ? 0 : (error_copy(err, &why), -1);
    }
    cleanup_close int storage = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    *ret = storage >= 0;
    return 0;
}

/* Never through a link, never upwards: `name` may come from a task. */
static int open_beneath(int dir, const char *name)
{
    const struct open_how how = {.flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC,
                                 .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
    return (int)syscall(SYS_openat2, dir, name, &how, sizeof(how));
}

int checkpoint_site_open(const struct checkpoint_site *site, int *ret_storage, int *ret_dir, struct error *err)
{
    cleanup_arena struct arena a = ARENA_INIT;
    const char *place;
    if (!checkpoint_uuid_is_valid(site->uuid))
        return error_set(err, ERR_INVALID, "'%s' is not a UUID", site->uuid);
    if (checkpoint_site_place(site, &a, &place, err) < 0)
        return -1;
    cleanup_close int storage = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (storage < 0)
        return error_set(err, ERR_PRECONDITION,
                         "checkpoint %s is in %s, which the master's machine can't open (%s); is the storage mounted "
                         "there, at the same path?", site->uuid, place, strerror(errno));
    int dir = open_beneath(storage, site->uuid);
    if (dir < 0 && errno != ENOENT)
        return error_errno(err, "%s/%s", place, site->uuid);
    *ret_storage = take_fd(storage);
    *ret_dir = dir;
    return 0;
}

/* ---- patterns ---------------------------------------------------------------------------------------------------- */

static bool glob_matches(const char *glob, const char *path)
{
    size_t g = strcspn(glob, "/"), p = strcspn(path, "/");
    const char *rest_of_glob = glob + g + (glob[g] == '/'), *rest_of_path = path + p + (path[p] == '/');
    if (g == 2 && strncmp(glob, "**", 2) == 0) {
        if (!*rest_of_glob)
            return true;
        return glob_matches(rest_of_glob, path) || (*path && path[p] == '/' && glob_matches(glob, rest_of_path));
    }
    if (!*path || !*glob)
        return !*path && !*glob;
    char segment[256], pattern[256];
    if (g >= sizeof(pattern) || p >= sizeof(segment))
        return false;
    snprintf(pattern, sizeof(pattern), "%.*s", (int)g, glob);
    snprintf(segment, sizeof(segment), "%.*s", (int)p, path);
    return fnmatch(pattern, segment, 0) == 0 && glob_matches(rest_of_glob, rest_of_path);
}

static int count_of_any_depth(const char *glob)
{
    int n = 0;
    for (const char *p = strstr(glob, "**"); p; p = strstr(p + 2, "**"))
        n++;
    return n;
}

int checkpoint_globs_check(const char *const *glob, size_t n, struct error *err)
{
    enum { GLOB_MAX = 1000, ANY_DEPTH_MAX = 4 }; /* each ** multiplies the work */
    for (size_t i = 0; i < n; i++) {
        if (!*glob[i] || *glob[i] == '/' || strlen(glob[i]) > GLOB_MAX || count_of_any_depth(glob[i]) > ANY_DEPTH_MAX)
            return error_set(err, ERR_INVALID,
                             "checkpoint_globs: '%.60s' is not allowed; a pattern is relative to the checkpoint, of 1 to %d "
                             "bytes with at most %d times **, for example \"optimizer/*.pt\" or \"**/*.log\"",
                             glob[i], GLOB_MAX, ANY_DEPTH_MAX);
    }
    return 0;
}

/* ---- removal ----------------------------------------------------------------------------------------------------- */

struct removal {
    struct json_object *globs, *left;
    struct strbuf path; /* within the checkpoint, of the directory at hand; ends with '/' unless empty */
    int depth;
};

static bool removes_everything(const struct removal *r)
{
    return json_object_array_length(r->globs) == 0;
}

static bool is_to_go(const struct removal *r, const char *path)
{
    for (size_t i = 0; i < json_object_array_length(r->globs); i++)
        if (glob_matches(json_object_get_string(json_object_array_get_idx(r->globs, i)), path))
            return true;
    return removes_everything(r);
}

static int remove_below(struct removal *r, int dir, bool *ret_removed, struct error *err);

static int failed(const struct removal *r, struct error *err)
{
    return error_errno(err, "%s", strbuf_str(&r->path));
}

static int remove_directory(struct removal *r, int parent, const char *name, bool *ret_removed, struct error *err)
{
    enum { DEPTH_MAX = 100 };
    if (r->depth == DEPTH_MAX)
        return error_set(err, ERR_PRECONDITION, "%s: more than %d directories deep", strbuf_str(&r->path), DEPTH_MAX);
    bool removed = is_to_go(r, strbuf_str(&r->path));
    size_t length = r->path.n;
    int dir = open_beneath(parent, name);
    if (dir < 0)
        return errno == ENOENT ? 0 : failed(r, err);
    strbuf_addc(&r->path, '/');
    r->depth++;
    int rc = remove_below(r, dir, &removed, err);
    r->depth--;
    if (rc == 0 && removed && (unlinkat(parent, name, AT_REMOVEDIR) == 0 || errno == ENOENT))
        *ret_removed = true;
    else if (rc == 0 && removed && errno != ENOTEMPTY && errno != EEXIST)
        rc = failed(r, err);
    else if (rc == 0)
        json_object_object_add(r->left, strbuf_str(&r->path), json_object_new_int64(0));
    strbuf_truncate(&r->path, length);
    return rc;
}

static int remove_entry(struct removal *r, int dir, const char *name, bool *ret_removed, struct error *err)
{
    struct stat st;
    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? 0 : failed(r, err);
    if (S_ISDIR(st.st_mode))
        return remove_directory(r, dir, name, ret_removed, err);
    if (!is_to_go(r, strbuf_str(&r->path))) {
        json_object_object_add(r->left, strbuf_str(&r->path), json_object_new_int64(st.st_size));
        return 0;
    }
    if (unlinkat(dir, name, 0) < 0 && errno != ENOENT)
        return failed(r, err);
    *ret_removed = true;
    return 0;
}

/* Takes `fd`. */
static int remove_below(struct removal *r, int fd, bool *ret_removed, struct error *err)
{
    DIR *entries = fdopendir(fd);
    int rc = 0;
    if (!entries) {
        close(fd);
        return failed(r, err);
    }
    for (struct dirent *e; rc == 0 && (e = readdir(entries));) {
        size_t length = r->path.n;
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        strbuf_adds(&r->path, e->d_name);
        rc = remove_entry(r, dirfd(entries), e->d_name, ret_removed, err);
        strbuf_truncate(&r->path, length);
    }
    closedir(entries);
    return rc;
}

static int remove_at(struct removal *r, const struct checkpoint_site *site, struct error *err)
{
    cleanup_close int storage = -1;
    int dir;
    bool removed = false;
    if (checkpoint_site_open(site, &storage, &dir, err) < 0)
        return -1;
    if (dir < 0)
        return 0;
    if (remove_below(r, dir, &removed, err) < 0)
        return error_wrap(err, "checkpoint %s", site->uuid);
    if (json_object_object_length(r->left) == 0 && unlinkat(storage, site->uuid, AT_REMOVEDIR) < 0 && errno != ENOENT)
        return error_errno(err, "checkpoint %s", site->uuid);
    return 0;
}

int tensorboard_files_remove(const char *experiment_config, const char *cluster_id, int32_t experiment_id,
                             struct error *err)
{
    cleanup_arena struct arena a = ARENA_INIT;
    const struct checkpoint_site site = {.uuid = "TensorBoard", .experiment_config = experiment_config};
    const char *place;
    if (checkpoint_site_place(&site, &a, &place, err) < 0)
        return -1;
    cleanup_close int storage = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (storage < 0)
        return error_errno(err, "%s", place);
    cleanup_close int all = open_beneath(storage, arena_printf(&a, "%s/tensorboard/experiment", cluster_id));
    if (all < 0)
        return errno == ENOENT ? 0 : error_errno(err, "TensorBoard files in %s", place);
    cleanup_json struct json_object *list = json_object_new_array(), *left = json_object_new_object();
    struct removal r = {.globs = list, .left = left, .path = STRBUF_INIT};
    bool removed = false;
    const char *name = arena_printf(&a, "%d", experiment_id);
    strbuf_adds(&r.path, name);
    int rc = remove_directory(&r, all, name, &removed, err);
    strbuf_release(&r.path);
    return rc < 0 ? error_wrap(err, "TensorBoard files in %s", place) : 0;
}

int checkpoint_files_remove(const struct checkpoint_site *site, const char *globs, struct strbuf *ret_left,
                            struct error *err)
{
    cleanup_json struct json_object *list = NULL, *left = json_object_new_object();
    if (json_parse(globs, strlen(globs), &list, err) < 0)
        return -1;
    struct removal r = {.globs = list, .left = left, .path = STRBUF_INIT};
    int rc = remove_at(&r, site, err);
    strbuf_release(&r.path);
    if (rc == 0)
        json_print(left, ret_left);
    return rc;
}
