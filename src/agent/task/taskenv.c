#include "agent/task/taskenv.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "common/base/cleanup.h"
#include "common/base/strbuf.h"
#include "common/task/taskspec.h"

static size_t name_length(const char *entry)
{
    return strcspn(entry, "=");
}

static char **find(const struct taskenv *e, const char *name, size_t n)
{
    for (size_t i = 0; i < e->list.n; i++)
        if (name_length(e->list.item[i]) == n && memcmp(e->list.item[i], name, n) == 0)
            return &e->list.item[i];
    return NULL;
}

static void put_variable(struct taskenv *e, char *entry)
{
    char **old = find(e, entry, name_length(entry));
    if (old) {
        *old = entry;
        return;
    }
    word_list_add(&e->list, entry);
}

void taskenv_set(struct taskenv *e, const char *name, const char *value)
{
    put_variable(e, arena_printf(e->list.arena, "%s=%s", name, value));
}

const char *taskenv_get(const struct taskenv *e, const char *name)
{
    char **item = find(e, name, strlen(name));
    return item ? *item + strlen(name) + 1 : NULL;
}

static bool remove_variable(struct taskenv *e, const char *name)
{
    char **item = find(e, name, strlen(name));
    if (!item)
        return false;
    *item = e->list.item[--e->list.n];
    e->list.item[e->list.n] = NULL;
    return true;
}

void taskenv_replace(struct taskenv *e, const char *name, const char *file_variable, const char *file)
{
    if (remove_variable(e, name))
        taskenv_set(e, file_variable, file);
}

const char *taskenv_map_path(const char *path, const char *run_dir, struct arena *a)
{
    size_t n = strlen(TASKENV_RUN_DIR);
    if (strncmp(path, TASKENV_RUN_DIR, n) != 0 || (path[n] && path[n] != '/'))
        return path;
    return arena_printf(a, "%s%s", run_dir, path + n);
}

/* Whether a task gets this variable of the agent's environment. A task without a container uses the machine's tools and
 * libraries, so it gets what these need, but nothing else, because that may hold secrets. It does not get TMPDIR, since
 * its temporary files are its own (task/mounts_tmp.c). */
static bool is_of_the_machine(const char *entry)
{
    static const char *const name[] = {"PATH",        "LANG",          "LANGUAGE",    "TZ", "LD_LIBRARY_PATH",
                                       "VIRTUAL_ENV", "SSL_CERT_FILE", "SSL_CERT_DIR"};
    static const char *const prefix[] = {"LC_", "CUDA_", "OMP_", "MKL_"};
    size_t n = name_length(entry);
    for (size_t i = 0; i < sizeof(name) / sizeof(name[0]); i++)
        if (strlen(name[i]) == n && memcmp(entry, name[i], n) == 0)
            return true;
    for (size_t i = 0; i < sizeof(prefix) / sizeof(prefix[0]); i++)
        if (strncmp(entry, prefix[i], strlen(prefix[i])) == 0)
            return true;
    return false;
}

static void add_machine(struct taskenv *e, char *const *machine, const struct account *who, const char *work_dir)
{
    taskenv_set(e, "PATH", "/usr/local/bin:/usr/bin:/bin");
    for (; *machine; machine++)
        if (is_of_the_machine(*machine))
            put_variable(e, arena_strdup(e->list.arena, *machine));
    taskenv_set(e, "HOME",
                *who->home && strcmp(who->home, "/nonexistent") != 0 && account_reaches(who, who->home, X_OK)
                    ? who->home
                    : work_dir);
    taskenv_set(e, "USER", who->name);
    taskenv_set(e, "LOGNAME", who->name);
    /* programs such as JupyterLab open terminals with it */
    taskenv_set(e, "SHELL", account_shell_works(who->shell) ? who->shell : "/bin/sh");
    taskenv_set(e, "PYTHONUNBUFFERED", "1"); /* otherwise its output is buffered, and appears after all of its errors */
}

/* What a task in a container has in place of the machine's variables. */
static void add_image(struct taskenv *e, const struct taskenv_facts *f)
{
    taskenv_set(e, "PATH", TASKSPEC_DEFAULT_PATH);
    taskenv_set(e, "HOME", f->work_dir);
    for (char *const *item = f->image_env; *item; item++)
        if (strchr(*item, '='))
            put_variable(e, arena_strdup(e->list.arena, *item));
    taskenv_set(e, "USER", f->account->name);
    taskenv_set(e, "LOGNAME", f->account->name);
    taskenv_set(e, "PYTHONUNBUFFERED", "1");
}

static bool has_name_in_any_case(const struct taskenv *e, const char *name)
{
    for (size_t i = 0; i < e->list.n; i++)
        if (name_length(e->list.item[i]) == strlen(name) && strncasecmp(e->list.item[i], name, strlen(name)) == 0)
            return true;
    return false;
}

static void add_proxy(struct taskenv *e, const char *name, const char *value)
{
    char lower[32];
    size_t n = strlen(name);
    if (!*value || has_name_in_any_case(e, name))
        return;
    for (size_t i = 0; i <= n; i++)
        lower[i] = (char)tolower((unsigned char)name[i]);
    taskenv_set(e, name, value);
    taskenv_set(e, lower, value);
}

static const char *slot_ids(const struct wire_link_start_task *t, struct arena *a)
{
    cleanup_strbuf struct strbuf b = STRBUF_INIT;
    strbuf_addc(&b, '[');
    for (size_t i = 0; i < t->device_ids_n; i++)
        strbuf_addf(&b, "%s%d", i ? "," : "", t->device_ids[i]);
    strbuf_addc(&b, ']');
    return arena_strdup(a, b.s);
}

/* Restricts a task to its own GPUs. Without a container, only these variables do that; a task without slots sees no
 * GPU. GPUs are named by uuid, since their numbers depend on who counts. A task that shares GPUs with others is told
 * the part of the memory of each that it may count on. */
static void add_gpus(struct taskenv *e, const struct wire_link_start_task *t, const struct slots *slots,
                     struct arena *a)
{
    struct slots_share *share;
    if (!slots->maker)
        return;
    cleanup_strbuf struct strbuf list = STRBUF_INIT, memory = STRBUF_INIT;
    size_t n = slots_shares(slots, t->device_ids, t->device_ids_n, a, &share);
    for (size_t i = 0; i < n; i++) {
        strbuf_addf(&list, "%s%s", i ? "," : "", share[i].gpu->uuid);
        strbuf_addf(&memory, "%s%" PRIu64, i ? "," : "", share[i].memory_bytes);
    }
    if (n > 0 && slots->per_device > 1)
        taskenv_set(e, "DET_GPU_MEMORY_BUDGET", memory.s);
    taskenv_set(e, slots->maker->visible_variable, strbuf_str(&list));
    if (slots->maker->type == WIRE_DEVICE_TYPE_CUDA)
        taskenv_set(e, "NVIDIA_VISIBLE_DEVICES", list.n ? list.s : "void");
}

/* The master gives the path of the file as it would be in a container. */
static void map_cert_file(struct taskenv *e, const struct taskenv_facts *f)
{
    const char *file = taskenv_get(e, "DET_MASTER_CERT_FILE");
    if (file)
        taskenv_set(e, "DET_MASTER_CERT_FILE", taskenv_map_path(file, f->run_dir, e->list.arena));
}

static void add_agent_part(struct taskenv *e, const struct wire_link_start_task *t, const struct taskenv_facts *f)
{
    const struct agent_config *c = f->config;
    taskenv_set(e, "DET_MASTER", agent_config_task_master_url(c, e->list.arena));
    taskenv_set(e, "DET_MASTER_HOST", c->container_master_host);
    taskenv_set(e, "DET_MASTER_ADDR", c->container_master_host);
    taskenv_set(e, "DET_MASTER_PORT", arena_printf(e->list.arena, "%d", c->container_master_port));
    taskenv_set(e, "DET_MASTER_ID", f->master_id);
    taskenv_set(e, "DET_CLUSTER_ID", f->cluster_id);
    taskenv_set(e, "DET_AGENT_ID", c->agent_id);
    if (*c->tls_cert_name)
        taskenv_set(e, "DET_MASTER_CERT_NAME", c->tls_cert_name);
    taskenv_set(e, "DET_CONTAINER_ID", t->container_id);
    taskenv_set(e, "DET_SLOT_IDS", slot_ids(t, e->list.arena));
    add_gpus(e, t, f->slots, e->list.arena);
}

static void prepend_path(struct taskenv *e, const char *name, const char *dir)
{
    const char *old = taskenv_get(e, name);
    taskenv_set(e, name, old && *old ? arena_printf(e->list.arena, "%s:%s", dir, old) : dir);
}

/* Lets the task find the Python that it asks for before any other. */
static void add_python(struct taskenv *e, const struct taskenv_facts *f)
{
    const struct python_place *p = f->python;
    if (!p)
        return;
    for (size_t i = p->bin_n; i-- > 0;)
        prepend_path(e, "PATH", p->bin[i]);
    if (*f->python_shims)
        prepend_path(e, "PATH", f->python_shims);
    remove_variable(e, "VIRTUAL_ENV"); /* of the agent */
    if (*p->environment)
        taskenv_set(e, "VIRTUAL_ENV", p->environment);
    if (!taskenv_get(e, "DET_PYTHON_EXECUTABLE"))
        taskenv_set(e, "DET_PYTHON_EXECUTABLE", p->interpreter);
}

/* Names the paths of our library, the work directory and the scripts, which have fixed places only in the image of a
 * container. */
static void add_places(struct taskenv *e, const struct taskenv_facts *f)
{
    const char *given = taskenv_get(e, "PYTHONUSERBASE"); /* may be set to a home directory that holds packages */
    const char *userbase = given && *given ? taskenv_map_path(given, f->run_dir, e->list.arena)
                                           : arena_printf(e->list.arena, "%s/pythonuserbase", f->run_dir);
    taskenv_set(e, "DET_RUN_DIR", f->run_dir);
    taskenv_set(e, "DET_WORKDIR", f->work_dir);
    taskenv_set(e, "PYTHONUSERBASE", userbase);
    add_python(e, f);
    prepend_path(e, "PATH", arena_printf(e->list.arena, "%s/bin", userbase));
    if (*f->library)
        prepend_path(e, "PYTHONPATH", f->library);
    if (!taskenv_get(e, "DET_PYTHON_EXECUTABLE"))
        taskenv_set(e, "DET_PYTHON_EXECUTABLE", "python3");
}

void taskenv_build(struct taskenv *e, const struct wire_link_start_task *t, const struct taskenv_facts *f,
                   char *const *machine, struct arena *a)
{
    *e = (struct taskenv){.list.arena = a};
    if (f->image_env)
        add_image(e, f);
    else
        add_machine(e, machine, f->account, f->work_dir);
    for (size_t i = 0; i < t->env_n; i++)
        put_variable(e, strchr(t->env[i], '=') ? arena_strdup(a, t->env[i]) : arena_printf(a, "%s=", t->env[i]));
    add_proxy(e, "HTTP_PROXY", f->config->http_proxy);
    add_proxy(e, "HTTPS_PROXY", f->config->https_proxy);
    add_proxy(e, "FTP_PROXY", f->config->ftp_proxy);
    add_proxy(e, "NO_PROXY", f->config->no_proxy);
    add_agent_part(e, t, f);
    map_cert_file(e, f);
    add_places(e, f);
}
