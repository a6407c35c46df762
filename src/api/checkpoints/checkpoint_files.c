#include "api/checkpoints/checkpoint_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <string.h>
#include <sys/stat.h>

#include "api/checkpoints/storage_roots.h"
#include "common/base/cleanup.h"
#include "common/json/json.h"
#include "common/system/beneath.h"
#include "common/task/checkpoint_place.h"

/* ---- opening ----------------------------------------------------------------------------------------------------- */

/* Whether the system refuses this to the master's account or service on this machine. A task with the owner's rights
 * may still be allowed to do it. */
static bool is_denied(int number)
{
    return number == EACCES || number == EPERM || number == EROFS;
}

/* The directory of a storage. ERR_UNIMPLEMENTED for storages that are not directories, ERR_PRECONDITION for
 * configurations that name no storage. Does not look at the disk. */
static int place_of(const struct checkpoint_site *site, struct arena *a, const char **ret, struct error *err)
{
    cleanup_json struct json_object *tree = NULL;
    const char *text = site->where.storage ? site->where.storage : site->where.experiment_config;
    if (!text)
        return error_set(err, ERR_PRECONDITION, "checkpoint %s does not say where it is stored", site->uuid);
    if (json_parse(text, strlen(text), &tree, err) < 0)
        return error_wrap(err, "storage of checkpoint %s", site->uuid);
    struct json_object *storage = site->where.storage ? tree : json_object_object_get(tree, "checkpoint_storage");
    if (checkpoint_place(storage, a, ret, err) < 0)
        return error_wrap(err, "checkpoint %s", site->uuid);
    return 0;
}

/* Opens the storage's directory. *ret_fd is -1 if the master may not open it; then *ret_why is a sentence that says
 * why. */
static int open_storage(const struct checkpoint_site *site, struct arena *a, int *ret_fd, const char **ret_why,
                        struct error *err)
{
    const char *place;
    if (place_of(site, a, &place, err) < 0)
        return -1;
    *ret_fd = storage_roots_open(site->roots, site->where.admin_storage, place, a, ret_why);
    return 0;
}

/* The library writes metadata.json into every checkpoint, so a directory that has it is a checkpoint. So is an empty
 * directory, since nothing in it can be lost. */
static int is_checkpoint(int dir, bool *ret, struct error *err)
{
    struct stat st;
    *ret = fstatat(dir, CHECKPOINT_METADATA, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode);
    if (*ret)
        return 0;
    int copy = beneath_open(dir, ".", O_RDONLY | O_DIRECTORY, NULL);
    DIR *entries = copy < 0 ? NULL : fdopendir(copy);
    if (!entries) {
        if (copy >= 0)
            close(copy);
        return error_errno(err, "looking at a checkpoint's directory");
    }
    *ret = true;
    for (struct dirent *e; *ret && (e = readdir(entries));)
        *ret = strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0;
    closedir(entries);
    return 0;
}

static int open_directory(const struct checkpoint_site *site, struct checkpoint_place_open *p, struct arena *a,
                          struct error *err)
{
    bool known;
    p->dir = beneath_open(p->storage, site->uuid, O_RDONLY | O_DIRECTORY, NULL);
    if (p->dir < 0 && errno == ENOENT) {
        p->found = CHECKPOINT_GONE;
        return 0;
    }
    if (p->dir < 0 && (errno == ELOOP || errno == ENOTDIR))
        return error_set(err, ERR_PRECONDITION,
                         "checkpoint %s is no directory in its storage, but a link or a file: the master does not "
                         "follow it",
                         site->uuid);
    if (p->dir < 0 && is_denied(errno)) {
        p->why = arena_printf(a, "the master's account may not open its directory (%s)", strerror(errno));
        return 0;
    }
    if (p->dir < 0)
        return error_errno(err, "the directory of checkpoint %s", site->uuid);
    if (is_checkpoint(p->dir, &known, err) < 0)
        return error_wrap(err, "checkpoint %s", site->uuid);
    if (storage_roots_is_own(site->roots, p->dir) || !known)
        p->why = arena_strdup(a, "its directory has no " CHECKPOINT_METADATA
                                 ", so that the master does not take it for a checkpoint");
    else if (storage_roots_is_anothers(site->roots, p->dir, site->where.owner_id))
        p->why = arena_strdup(a, "its directory was made by a task of another user");
    else
        p->found = CHECKPOINT_HERE;
    return 0;
}

void checkpoint_place_close(struct checkpoint_place_open *p)
{
    if (p->storage >= 0)
        close(p->storage);
    if (p->dir >= 0)
        close(p->dir);
    p->storage = p->dir = -1;
}

int checkpoint_site_open(const struct checkpoint_site *site, struct arena *a, struct checkpoint_place_open *ret,
                         struct error *err)
{
    cleanup_error struct error kind = ERROR_INIT;
    *ret = (struct checkpoint_place_open){.found = CHECKPOINT_ELSEWHERE, .storage = -1, .dir = -1};
    if (!checkpoint_uuid_is_valid(site->uuid))
        return error_set(err, ERR_INVALID, "'%s' is not a UUID", site->uuid);
    if (open_storage(site, a, &ret->storage, &ret->why, &kind) < 0) {
        ret->in_object_store = kind.kind == ERR_UNIMPLEMENTED;
        ret->why = arena_strdup(a, error_msg(&kind));
        return ret->in_object_store ? 0 : (error_move(err, &kind), -1);
    }
    if (ret->storage < 0)
        return 0;
    if (open_directory(site, ret, a, err) == 0)
        return 0;
    checkpoint_place_close(ret);
    return -1;
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
    enum { GLOB_MAX = 1000, ANY_DEPTH_MAX = 4 }; /* each ** multiplies the work of matching */
    for (size_t i = 0; i < n; i++) {
        if (!*glob[i] || *glob[i] == '/' || strlen(glob[i]) > GLOB_MAX || count_of_any_depth(glob[i]) > ANY_DEPTH_MAX)
            return error_set(
                err, ERR_INVALID,
                "checkpoint_globs: '%.60s' is not allowed; a pattern is relative to the checkpoint, of 1 to %d "
                "bytes with at most %d times **, for example \"optimizer/*.pt\" or \"**/*.log\"",
                glob[i], GLOB_MAX, ANY_DEPTH_MAX);
    }
    return 0;
}

/* ---- removing files ---------------------------------------------------------------------------------------------- */

struct removal {
    struct json_object *globs, *left;
    struct strbuf path; /* path of the current directory within the checkpoint; ends with '/' unless it is empty */
    int depth;
    bool keeps_metadata; /* metadata.json stays until everything else is removed */
    bool metadata_is_to_go;
    int64_t metadata_size; /* -1: there is no metadata.json */
    bool denied;           /* a removal was refused by the system (is_denied()) */
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

static int failed_at(struct removal *r, const char *path, struct error *err)
{
    r->denied = is_denied(errno);
    return error_errno(err, "%s", path);
}

static int set_file_error(struct removal *r, struct error *err)
{
    return failed_at(r, strbuf_str(&r->path), err);
}

static int remove_directory(struct removal *r, int parent, const char *name, bool *ret_removed, struct error *err)
{
    enum { DEPTH_MAX = 100 };
    if (r->depth == DEPTH_MAX)
        return error_set(err, ERR_PRECONDITION, "%s: more than %d directories deep", strbuf_str(&r->path), DEPTH_MAX);
    bool removed = is_to_go(r, strbuf_str(&r->path));
    size_t length = r->path.n;
    int dir = beneath_open(parent, name, O_RDONLY | O_DIRECTORY, NULL);
    if (dir < 0)
        return errno == ENOENT ? 0 : set_file_error(r, err);
    strbuf_addc(&r->path, '/');
    r->depth++;
    int rc = remove_below(r, dir, &removed, err);
    r->depth--;
    if (rc == 0 && removed && (unlinkat(parent, name, AT_REMOVEDIR) == 0 || errno == ENOENT))
        *ret_removed = true;
    else if (rc == 0 && removed && errno != ENOTEMPTY && errno != EEXIST)
        rc = set_file_error(r, err);
    else if (rc == 0)
        json_object_object_add(r->left, strbuf_str(&r->path), json_object_new_int64(0));
    strbuf_truncate(&r->path, length);
    return rc;
}

static int remove_entry(struct removal *r, int dir, const char *name, bool *ret_removed, struct error *err)
{
    struct stat st;
    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? 0 : set_file_error(r, err);
    if (S_ISDIR(st.st_mode))
        return remove_directory(r, dir, name, ret_removed, err);
    if (r->keeps_metadata && r->depth == 0 && strcmp(name, CHECKPOINT_METADATA) == 0) {
        r->metadata_size = st.st_size;
        r->metadata_is_to_go = is_to_go(r, name);
        return 0;
    }
    if (!is_to_go(r, strbuf_str(&r->path))) {
        json_object_object_add(r->left, strbuf_str(&r->path), json_object_new_int64(st.st_size));
        return 0;
    }
    if (unlinkat(dir, name, 0) < 0 && errno != ENOENT)
        return set_file_error(r, err);
    *ret_removed = true;
    return 0;
}

/* Removes what is below a directory. Closes `fd`. */
static int remove_below(struct removal *r, int fd, bool *ret_removed, struct error *err)
{
    DIR *entries = fdopendir(fd);
    int rc = 0;
    if (!entries) {
        close(fd);
        return set_file_error(r, err);
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

/* Removes metadata.json, last of all: the checkpoint is recognised by it when the removal is continued, or when more
 * is removed later. */
static int remove_metadata(struct removal *r, int dir, struct error *err)
{
    if (r->metadata_size < 0)
        return 0;
    if (!r->metadata_is_to_go || json_object_object_length(r->left) > 0)
        json_object_object_add(r->left, CHECKPOINT_METADATA, json_object_new_int64(r->metadata_size));
    else if (unlinkat(dir, CHECKPOINT_METADATA, 0) < 0 && errno != ENOENT)
        return failed_at(r, CHECKPOINT_METADATA, err);
    return 0;
}

static int remove_at(struct removal *r, const struct checkpoint_site *site, const struct checkpoint_place_open *p,
                     struct error *err)
{
    bool removed = false;
    int dir = beneath_open(p->dir, ".", O_RDONLY | O_DIRECTORY, NULL);
    if (dir < 0)
        return failed_at(r, site->uuid, err);
    r->keeps_metadata = true;
    r->metadata_size = -1;
    if (remove_below(r, dir, &removed, err) < 0 || remove_metadata(r, p->dir, err) < 0)
        return error_wrap(err, "checkpoint %s", site->uuid);
    if (json_object_object_length(r->left) == 0 && unlinkat(p->storage, site->uuid, AT_REMOVEDIR) < 0 &&
        errno != ENOENT)
        return failed_at(r, site->uuid, err);
    return 0;
}

/* The result of a removal. If the system has refused it, that is not an error: a task has to do the removal. */
static int removal_result(const struct removal *r, int rc, struct arena *a, const char **ret_elsewhere,
                          struct error *err)
{
    if (rc == 0 || !r->denied)
        return rc;
    *ret_elsewhere = arena_printf(a, "the master's account may not remove it (%s)", error_msg(err));
    error_release(err);
    return 0;
}

static int remove_tensorboard(int storage, const char *cluster_id, int32_t experiment_id, struct arena *a,
                              const char **ret_elsewhere, struct error *err)
{
    cleanup_close int all = beneath_open(storage, arena_printf(a, "%s/tensorboard/experiment", cluster_id),
                                         O_RDONLY | O_DIRECTORY, NULL);
    if (all < 0 && errno == ENOENT)
        return 0;
    cleanup_json struct json_object *list = json_object_new_array(), *left = json_object_new_object();
    struct removal r = {.globs = list, .left = left, .path = STRBUF_INIT};
    bool removed = false;
    const char *name = arena_printf(a, "%d", experiment_id);
    cleanup_error struct error why = ERROR_INIT;
    int rc = all < 0 ? failed_at(&r, "tensorboard", &why) : 0;
    strbuf_adds(&r.path, name);
    if (rc == 0)
        rc = remove_directory(&r, all, name, &removed, &why);
    strbuf_release(&r.path);
    if (removal_result(&r, rc, a, ret_elsewhere, &why) == 0)
        return 0;
    error_move(err, &why);
    return error_wrap(err, "TensorBoard files");
}

int tensorboard_files_remove(const struct checkpoint_site *site, const char *cluster_id, int32_t experiment_id,
                             struct arena *a, const char **ret_elsewhere, struct error *err)
{
    cleanup_error struct error kind = ERROR_INIT;
    cleanup_close int storage = -1;
    *ret_elsewhere = NULL;
    if (open_storage(site, a, &storage, ret_elsewhere, &kind) < 0) {
        if (error_pass_unless(&kind, ERR_UNIMPLEMENTED, err))
            return -1;
        *ret_elsewhere = arena_strdup(a, error_msg(&kind));
    }
    return storage < 0 ? 0 : remove_tensorboard(storage, cluster_id, experiment_id, a, ret_elsewhere, err);
}

int checkpoint_files_remove(const struct checkpoint_site *site, const char *globs, struct arena *a,
                            const char **ret_elsewhere, struct strbuf *ret_left, struct error *err)
{
    cleanup_json struct json_object *list = NULL, *left = json_object_new_object();
    cleanup_error struct error why = ERROR_INIT;
    struct checkpoint_place_open p;
    if (json_parse(globs, strlen(globs), &list, err) < 0 || checkpoint_site_open(site, a, &p, err) < 0)
        return -1;
    *ret_elsewhere = p.found == CHECKPOINT_ELSEWHERE ? p.why : NULL;
    struct removal r = {.globs = list, .left = left, .path = STRBUF_INIT};
    int rc = p.found == CHECKPOINT_HERE ? remove_at(&r, site, &p, &why) : 0;
    strbuf_release(&r.path);
    checkpoint_place_close(&p);
    if (removal_result(&r, rc, a, ret_elsewhere, &why) < 0) {
        error_move(err, &why);
        return -1;
    }
    if (!*ret_elsewhere)
        json_print(left, ret_left);
    return 0;
}
