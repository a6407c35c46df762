#include "agent/engine/apptainer.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/engine/image.h"
#include "common/base/cleanup.h"
#include "common/base/percent.h"
#include "common/base/word_list.h"

enum { FILE_NAME_MAX = 200 }; /* bytes of an encoded reference, in which some characters take three bytes */

/* ---- images ------------------------------------------------------------------------------------------------------ */

static const char *const schemes[] = {"docker://", "oras://", "library://"};

static const char *without_scheme(const char *name)
{
    for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++)
        if (strncmp(name, schemes[i], strlen(schemes[i])) == 0)
            return name + strlen(schemes[i]);
    return name;
}

int apptainer_image_read(const char *name, const char *images, struct arena *a, struct apptainer_image *ret,
                         struct error *err)
{
    const char *rest = without_scheme(name);
    cleanup_strbuf struct strbuf file = STRBUF_INIT;
    if (*name == '/') {
        *ret = (struct apptainer_image){.path = name};
        return access(name, F_OK) == 0
                   ? 0
                   : error_set(err, ERR_INVALID, "environment.image: %.500s does not exist on this machine", name);
    }
    if (!image_name_is_good(rest))
        return error_set(err, ERR_INVALID,
                         "environment.image: \"%.200s\" is no name of an image; allowed are the absolute path of an "
                         "image file, docker://NAME, oras://NAME, library://NAME and NAME",
                         name);
    const char *reference = rest == name ? arena_printf(a, "docker://%s", name) : name;
    strbuf_add_percent(&file, reference, PERCENT_UNRESERVED);
    if (file.n > FILE_NAME_MAX)
        return error_set(err, ERR_INVALID,
                         "environment.image: the name %.100s… is too long for apptainer; allowed are about %d "
                         "characters",
                         name, FILE_NAME_MAX);
    *ret = (struct apptainer_image){.path = arena_printf(a, "%s/%s.sif", images, file.s), .reference = reference};
    return 0;
}

const char *apptainer_find(const char *name, const char *path, struct arena *a)
{
    for (const char *at = path ? path : "", *end; *at; at = *end ? end + 1 : end) {
        end = at + strcspn(at, ":");
        const char *file = arena_printf(a, "%.*s/%s", (int)(end - at), at, name);
        if (*at == '/' && access(file, X_OK) == 0)
            return file;
    }
    return NULL;
}

/* ---- command lines ----------------------------------------------------------------------------------------------- */

static void add_bind(struct word_list *w, const struct container_mount *m)
{
    word_list_add_option(w, "--bind",
                         arena_printf(w->arena, "%s:%s%s", m->source, m->target, m->read_only ? ":ro" : ""));
}

static int by_target(const void *x, const void *y)
{
    return strcmp(((const struct container_mount *)x)->target, ((const struct container_mount *)y)->target);
}

/* Apptainer mounts in the order of its words: what lies within another mount has to come after it. */
static void add_binds(struct word_list *w, const struct container_order *o)
{
    struct container_mount *m = arena_array(w->arena, struct container_mount, o->mount_n + 1);
    if (o->mount_n)
        memcpy(m, o->mount, o->mount_n * sizeof(*m));
    qsort(m, o->mount_n, sizeof(*m), by_target);
    for (size_t i = 0; i < o->mount_n; i++)
        add_bind(w, &m[i]);
}

static bool has_network_of_its_own(const struct container_order *o)
{
    return *o->network_mode && strcmp(o->network_mode, "host") != 0;
}

static void add_network(struct word_list *w, const struct container_order *o)
{
    if (!has_network_of_its_own(o))
        return;
    word_list_add_copy(w, "--net");
    word_list_add_option(w, "--network", o->network_mode);
    for (size_t i = 0; i < o->port_n && strcmp(o->network_mode, "none") != 0; i++)
        word_list_add_option(w, "--network-args", arena_printf(w->arena, "portmap=%d:%d/tcp", o->port[i], o->port[i]));
}

static void add_gpus(struct word_list *w, const struct container_order *o)
{
    if (o->gpu_n && o->gpu_type == WIRE_DEVICE_TYPE_CUDA)
        word_list_add_copy(w, "--nv");
    if (o->gpu_n && o->gpu_type == WIRE_DEVICE_TYPE_ROCM)
        word_list_add_copy(w, "--rocm");
}

/* Nothing of the agent's environment, home and working directory gets into a container, and its process ids are its
 * own, so that all of it ends with its first process. */
static void add_separation(struct word_list *w)
{
    static const char *const option[] = {"--cleanenv", "--no-home", "--no-mount", "tmp,cwd", "--pid",
                                         "--no-init",  "--ipc",     "--pwd",      "/"};
    for (size_t i = 0; i < sizeof(option) / sizeof(option[0]); i++)
        word_list_add_copy(w, option[i]);
}

/* Commas and colons separate the parts of --bind. */
static int check_path(const char *path, struct error *err)
{
    if (strpbrk(path, ":,\\\n"))
        return error_set(err, ERR_INVALID,
                         "the bind mount %s cannot be made: apptainer takes no path with a comma, a colon or a "
                         "backslash",
                         path);
    return 0;
}

int apptainer_check(const struct container_order *o, struct error *err)
{
    for (size_t i = 0; i < o->mount_n; i++)
        if (check_path(o->mount[i].source, err) < 0 || check_path(o->mount[i].target, err) < 0)
            return -1;
    for (size_t i = 0; i < o->device_n; i++)
        if (strcmp(o->device[i].host_path, o->device[i].container_path) != 0)
            return error_set(err, ERR_INVALID,
                             "resources.devices: %s cannot be %s in the container: apptainer shows a container the "
                             "machine's /dev, so a device keeps its path there",
                             o->device[i].host_path, o->device[i].container_path);
    return 0;
}

char **apptainer_exec_words(const char *program, const struct container_order *o, bool in_user_namespace,
                            const char *mark, struct arena *a)
{
    struct word_list w = {.arena = a};
    word_list_add_copy(&w, program);
    word_list_add_copy(&w, "--quiet");
    word_list_add_copy(&w, "exec");
    if (in_user_namespace)
        word_list_add_copy(&w, "--userns");
    add_separation(&w);
    word_list_add_copy(&w, "--writable-tmpfs");
    add_gpus(&w, o);
    add_network(&w, o);
    for (size_t i = 0; i < o->add_capability_n; i++)
        word_list_add_option(&w, "--add-caps",
                             arena_printf(a, "%s%s", strncmp(o->add_capability[i], "CAP_", 4) == 0 ? "" : "CAP_",
                                          o->add_capability[i]));
    add_binds(&w, o);
    word_list_add_option(&w, "--env", arena_printf(a, APPTAINER_MARK "=%s", mark));
    word_list_add_copy(&w, o->image);
    for (char *const *word = o->argv; *word; word++)
        word_list_add_copy(&w, *word);
    return w.item;
}

char **apptainer_pull_words(const char *program, const char *file, const char *reference, struct arena *a)
{
    struct word_list w = {.arena = a};
    word_list_add_copy(&w, program);
    word_list_add_copy(&w, "pull");
    word_list_add_copy(&w, "--force");
    word_list_add_copy(&w, file);
    word_list_add_copy(&w, reference);
    return w.item;
}

size_t apptainer_credentials(const char *name, const char *registry_auth, struct arena *a, const char *ret[2])
{
    cleanup_json struct json_object *auth = NULL;
    char prefix[32];
    if (!*registry_auth || json_parse(registry_auth, strlen(registry_auth), &auth, NULL) < 0)
        return 0;
    const char *user = engine_text(auth, "username"), *password = engine_text(auth, "password");
    size_t n = strlen(name) < sizeof(prefix) ? strlen(name) : sizeof(prefix) - 1;
    for (size_t i = 0; i < n; i++)
        prefix[i] = (char)toupper((unsigned char)name[i]);
    prefix[n] = 0;
    ret[0] = arena_printf(a, "%s_DOCKER_USERNAME=%s", prefix, user);
    ret[1] = arena_printf(a, "%s_DOCKER_PASSWORD=%s", prefix, password);
    return 2;
}
