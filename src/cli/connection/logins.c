#include "cli/connection/logins.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "cli/connection/address.h"
#include "common/base/cleanup.h"
#include "common/base/must.h"
#include "common/json/json.h"
#include "common/system/files.h"

#define STORE_MAX (16 << 20)

static const char *home_directory(void)
{
    const char *home = getenv("HOME");
    if (home && *home)
        return home;
    const struct passwd *pw = getpwuid(getuid());
    return pw ? pw->pw_dir : "/";
}

int config_directory(struct arena *a, const char **ret, struct error *err)
{
    const char *debug = getenv("DET_DEBUG_CONFIG_PATH"), *xdg = getenv("XDG_CONFIG_HOME");
    const char *path = debug && *debug ? arena_strdup(a, debug)
                       : xdg && *xdg   ? arena_printf(a, "%s/determined", xdg)
                                       : arena_printf(a, "%s/.config/determined", home_directory());
    if (dir_make(path, 0700, err) < 0)
        return error_wrap(err, "the directory for logins");
    *ret = path;
    return 0;
}

/* ---- checking the file, and converting older versions ------------------------------------------------------------ */

static bool is_login_entry(struct json_object *entry)
{
    if (!json_object_is_type(entry, json_type_object))
        return false;
    json_object_object_foreach(entry, key, value)
    {
        if (strcmp(key, "active_user") == 0) {
            if (!json_object_is_type(value, json_type_string))
                return false;
        } else if (strcmp(key, "tokens") == 0 && json_object_is_type(value, json_type_object)) {
            json_object_object_foreach(value, user, token)
            {
                (void)user;
                if (!json_object_is_type(token, json_type_string))
                    return false;
            }
        } else {
            return false;
        }
    }
    return true;
}

static bool is_store(struct json_object *store)
{
    json_object_object_foreach(store, key, value)
    {
        if (strcmp(key, "version") == 0)
            continue;
        if (strcmp(key, "masters") != 0 || !json_object_is_type(value, json_type_object))
            return false;
        json_object_object_foreach(value, master, entry)
        {
            (void)master;
            if (!is_login_entry(entry))
                return false;
        }
    }
    return true;
}

static struct json_object *child_object(struct json_object *parent, const char *key)
{
    struct json_object *child;
    if (!json_object_object_get_ex(parent, key, &child)) {
        child = json_object_new_object();
        json_object_object_add(parent, key, child);
    }
    return child;
}

/* Adds an entry's tokens and active user to the entry of the same master. */
static void merge_entry(struct json_object *to, struct json_object *entry)
{
    struct json_object *tokens, *active, *have = child_object(to, "tokens");
    if (json_object_object_get_ex(entry, "tokens", &tokens)) {
        json_object_object_foreach(tokens, user, token)
        {
            json_object_object_add(have, user, json_object_get(token));
        }
    }
    if (json_object_object_get_ex(entry, "active_user", &active) && !json_object_object_get_ex(to, "active_user", NULL))
        json_object_object_add(to, "active_user", json_object_get(active));
}

/* Version 1 had masters as they were typed; version 2 has one entry for each canonical address. */
static struct json_object *raise_to_2(struct json_object *old)
{
    struct json_object *store = json_object_new_object(), *masters;
    json_object_object_add(store, "version", json_object_new_int(2));
    struct json_object *to = child_object(store, "masters");
    if (json_object_object_get_ex(old, "masters", &masters)) {
        json_object_object_foreach(masters, address, entry)
        {
            struct arena a = ARENA_INIT;
            const char *canonical;
            if (address_canonical(address, &a, &canonical, NULL) == 0)
                merge_entry(child_object(to, canonical), entry);
            arena_release(&a);
        }
    }
    return store;
}

static struct json_object *shape_store(struct json_object *read, const char *master)
{
    struct json_object *version;
    if (!json_object_is_type(read, json_type_object))
        return NULL;
    int number = json_object_object_get_ex(read, "version", &version) ? json_object_get_int(version) : 0;
    if (number == 0) { /* the oldest form: one entry for the only master */
        if (!is_login_entry(read))
            return NULL;
        struct json_object *store = json_object_new_object();
        json_object_object_add(store, "version", json_object_new_int(2));
        json_object_object_add(child_object(store, "masters"), master, json_object_get(read));
        return store;
    }
    if (number > 2 || !is_store(read))
        return NULL;
    return number == 2 ? json_object_get(read) : raise_to_2(read);
}

static int store_read(const char *path, const char *master, struct json_object **ret, struct error *err)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    cleanup_error struct error why = ERROR_INIT;
    cleanup_json struct json_object *read = NULL;
    if (file_read(path, STORE_MAX, &text, &why) < 0) {
        if (error_pass_unless(&why, ERR_NOT_FOUND, err))
            return -1;
        *ret = json_object_new_object();
        json_object_object_add(*ret, "version", json_object_new_int(2));
        return 0;
    }
    struct json_object *store = json_parse(text.s, text.n, &read, &why) == 0 ? shape_store(read, master) : NULL;
    if (!store) {
        unlink(path);
        return error_set(err, ERR_INTERNAL,
                         "the store of logins %s was not readable and has been deleted; please log in again", path);
    }
    *ret = store;
    return 0;
}

static int store_lock(const char *path, int *ret_fd, struct error *err)
{
    cleanup_close int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return error_errno(err, "%s", path);
    while (flock(fd, LOCK_EX) < 0)
        if (errno != EINTR)
            return error_errno(err, "locking %s", path);
    *ret_fd = take_fd(fd);
    return 0;
}

int logins_load(struct logins *l, const char *directory, const char *master, struct arena *a, struct error *err)
{
    cleanup_json struct json_object *store = NULL;
    cleanup_close int lock = -1;
    struct json_object *masters, *entry, *tokens, *active;
    const char *path = arena_printf(a, "%s/auth.json", directory);
    *l = (struct logins){.directory = directory, .master = master};
    if (store_lock(arena_printf(a, "%s.lock", path), &lock, err) < 0 || store_read(path, master, &store, err) < 0)
        return -1;
    if (!json_object_object_get_ex(store, "masters", &masters) || !json_object_object_get_ex(masters, master, &entry))
        return 0;
    if (json_object_object_get_ex(entry, "active_user", &active))
        l->active_user = arena_strdup(a, json_object_get_string(active));
    if (!json_object_object_get_ex(entry, "tokens", &tokens))
        return 0;
    size_t n = (size_t)json_object_object_length(tokens);
    l->user = arena_array(a, const char *, n + 1);
    l->token = arena_array(a, const char *, n + 1);
    json_object_object_foreach(tokens, user, token)
    {
        l->user[l->n] = arena_strdup(a, user);
        l->token[l->n++] = arena_strdup(a, json_object_get_string(token));
    }
    return 0;
}

const char *logins_token(const struct logins *l, const char *user)
{
    for (size_t i = 0; i < l->n; i++)
        if (strcmp(l->user[i], user) == 0)
            return l->token[i];
    return NULL;
}

static int store_write(const char *path, struct json_object *store, struct error *err)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    cleanup_free char *temp = must_asprintf("%s.temp", path);
    json_print_sorted(store, 4, &text);
    if (file_write(temp, text.s, text.n, 0600, err) < 0)
        return -1;
    if (rename(temp, path) < 0)
        return error_errno(err, "renaming %s", temp);
    return 0;
}

/* Changes this master's entry for `user`. */
typedef void change_fn(struct json_object *entry, const char *user, const char *value);

static int change_entry(const struct logins *l, change_fn *fn, const char *user, const char *value, struct error *err)
{
    cleanup_json struct json_object *store = NULL;
    cleanup_arena struct arena a = ARENA_INIT;
    cleanup_close int lock = -1;
    const char *path = arena_printf(&a, "%s/auth.json", l->directory);
    if (store_lock(arena_printf(&a, "%s.lock", path), &lock, err) < 0 || store_read(path, l->master, &store, err) < 0)
        return -1;
    fn(child_object(child_object(store, "masters"), l->master), user, value);
    return store_write(path, store, err);
}

static void change_token(struct json_object *entry, const char *user, const char *token)
{
    json_object_object_add(child_object(entry, "tokens"), user, json_object_new_string(token));
}

static void change_drop(struct json_object *entry, const char *user, const char *value)
{
    json_object_object_del(child_object(entry, "tokens"), user);
}

static void change_active(struct json_object *entry, const char *user, const char *value)
{
    json_object_object_del(entry, "active_user");
    if (user)
        json_object_object_add(entry, "active_user", json_object_new_string(user));
}

int logins_set_token(const struct logins *l, const char *user, const char *token, struct error *err)
{
    return change_entry(l, change_token, user, token, err);
}

int logins_set_active(const struct logins *l, const char *user, struct error *err)
{
    return change_entry(l, change_active, user, NULL, err);
}

int logins_drop(const struct logins *l, const char *user, struct error *err)
{
    return change_entry(l, change_drop, user, NULL, err);
}
