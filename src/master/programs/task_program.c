#include "master/programs/task_program.h"

#include <stdarg.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "common/base/strbuf.h"
#include "common/json/json.h"

#define RUN_DIR "/run/determined"
#define SHARED_FS_DIR "/determined_shared_fs"

/* ---- parts of the message ---------------------------------------------------------------------------------------- */

/* A message that is being filled in. */
struct filling {
    const struct task_program *p;
    struct wire_link_start_task *t;
    struct arena *a;
};

static void add_variable(const struct filling *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void add_variable(const struct filling *f, const char *fmt, ...)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    va_list ap;
    va_start(ap, fmt);
    strbuf_vaddf(&text, fmt, ap);
    va_end(ap);
    f->t->env[f->t->env_n++] = arena_strdup(f->a, strbuf_str(&text));
}

static bool has_variable(const struct filling *f, const char *name)
{
    size_t n = strlen(name);
    for (size_t i = 0; i < f->t->env_n; i++)
        if (strncmp(f->t->env[i], name, n) == 0 && f->t->env[i][n] == '=')
            return true;
    return false;
}

/* Adds a variable that the user may have set to another value. */
static void offer_variable(const struct filling *f, const char *name, const char *value)
{
    if (value && *value && !has_variable(f, name))
        add_variable(f, "%s=%s", name, value);
}

static void add_file(const struct filling *f, const char *path, int mode, const char *text)
{
    f->t->files[f->t->files_n++] = (struct wire_link_task_file){
        .path = path, .mode = mode, .content = {.data = (uint8_t *)text, .n = strlen(text)}};
}

static void add_mount(const struct filling *f, const char *host_path, const char *path)
{
    struct wire_link_start_task *t = f->t;
    for (size_t i = 0; i < t->bind_mounts_n; i++)
        if (strcmp(t->bind_mounts[i].container_path, path) == 0)
            return;
    t->bind_mounts[t->bind_mounts_n++] =
        (struct wire_link_bind_mount){.host_path = host_path,
                                      .container_path = path,
                                      .read_only = true,
                                      .propagation = exp_bind_mount_defaults.propagation};
}

/* Sets argv to one line for the shell. */
static void set_line(const struct filling *f, const char *line)
{
    f->t->argv = arena_array(f->a, const char *, 1);
    f->t->argv[0] = arena_strdup(f->a, line);
    f->t->argv_n = 1;
}

static void add_extra(const struct filling *f, const char *name)
{
    const char **all = arena_array(f->a, const char *, f->t->extras_n + 1);
    for (size_t i = 0; i < f->t->extras_n; i++)
        all[i] = f->t->extras[i];
    all[f->t->extras_n++] = name;
    f->t->extras = all;
}

/* Adds a word as the shell takes it: in single quotes, for which the word itself must leave them. */
static void add_quoted(struct strbuf *line, const char *word)
{
    strbuf_adds(line, " '");
    for (; *word; word++) {
        if (*word == '\'')
            strbuf_adds(line, "'\\''");
        else
            strbuf_addc(line, *word);
    }
    strbuf_addc(line, '\'');
}

/* ---- commands and generic tasks ---------------------------------------------------------------------------------- */

static void fill_entrypoint(const struct filling *f)
{
    const struct taskconf *c = f->p->config;
    f->t->argv = arena_dup(f->a, c->argv, c->argv_n * sizeof(*c->argv));
    f->t->argv_n = c->argv_n;
}

/* ---- notebooks --------------------------------------------------------------------------------------------------- */

static void fill_notebook(const struct filling *f)
{
    const struct taskconf *c = f->p->config;
    set_line(f, "exec \"$DET_PYTHON_EXECUTABLE\" -m determined.exec.notebook");
    add_extra(f, "notebook");
    /* The line of determined.exec.idle_watch: JupyterLab says that it is running before it listens. */
    f->t->ready_pattern = "^JupyterLab answers on port ";
    add_variable(f, "NOTEBOOK_PORT=%d", f->p->port);
    add_variable(f, "NOTEBOOK_CONFIG=%s", c->json);
    add_variable(f, "NOTEBOOK_IDLE_TYPE=%s", task_notebook_idle_type_name(c->values.notebook_idle_type));
    add_variable(f, "DET_NOTEBOOK_TOKEN=%s", f->p->service_token ? f->p->service_token : "");
}

/* ---- shells ------------------------------------------------------------------------------------------------------ */

static void fill_shell(const struct filling *f)
{
    const char *key = f->p->public_key ? f->p->public_key : "";
    set_line(f, "exec \"$DET_RUN_DIR/shell-entrypoint.sh\"");
    f->t->ready_pattern = "^Server listening on ";
    add_variable(f, "DET_SHELL_PORT=%d", f->p->port);
    add_file(f, RUN_DIR "/ssh/authorized_keys", 0600, key);
    add_file(f, RUN_DIR "/ssh/id_rsa.pub", 0600, key); /* as release 0.38.1 names it, whatever the type of key */
}

/* ---- TensorBoards ------------------------------------------------------------------------------------------------ */

static bool lies_in_tmp(const char *path)
{
    return strncmp(path, "/tmp/", 5) == 0 || strcmp(path, "/tmp") == 0;
}

/* Adds the mounts through which the task sees a storage that is a directory: the first shared_fs at its fixed place,
 * and what lies in the machine's /tmp at its own path, because a task has a /tmp of its own. */
static void add_storage_mounts(const struct filling *f, const struct exp_checkpoint_storage *s)
{
    const char *path = exp_checkpoint_storage_path(s);
    if (!path)
        return;
    if (s->kind == EXP_CHECKPOINT_STORAGE_SHARED_FS)
        add_mount(f, path, SHARED_FS_DIR); /* does nothing if the place is taken */
    if (lies_in_tmp(path))
        add_mount(f, path, path);
}

/* Sets what programs for S3 other than our library read. */
static void add_s3_variables(const struct filling *f, const struct exp_checkpoint_storage *s)
{
    const char *url = s->endpoint_url ? s->endpoint_url : "", *host = strstr(url, "://");
    offer_variable(f, "AWS_BUCKET", s->bucket);
    offer_variable(f, "AWS_ACCESS_KEY_ID", s->access_key);
    offer_variable(f, "AWS_SECRET_ACCESS_KEY", s->secret_key);
    offer_variable(f, "DET_S3_ENDPOINT_URL", url);
    offer_variable(f, "S3_ENDPOINT", host ? host + 3 : url);
    if (*url)
        offer_variable(f, "S3_USE_HTTPS", strncmp(url, "https://", 8) == 0 ? "1" : "0");
}

static void add_source(struct strbuf *list, const struct task_program_source *s)
{
    strbuf_addf(list, "%s{\"experimentId\":%d,\"checkpointStorage\":%s,\"trialIds\":[", list->n ? "," : "",
                s->experiment_id, s->storage);
    for (size_t i = 0; i < s->trial_n; i++)
        strbuf_addf(list, "%s%d", i ? "," : "", s->trial_id[i]);
    strbuf_adds(list, "]}");
}

static const char *keep(const struct filling *f, const char *text)
{
    return text ? arena_strdup(f->a, text) : NULL;
}

/* Reads a storage. The texts that are used here are copied into the arena. */
static void read_storage(const struct filling *f, const char *json, struct exp_checkpoint_storage *ret)
{
    cleanup_json struct json_object *tree = NULL;
    json_parse(json, strlen(json), &tree, NULL); /* the store's own text; without a tree, nothing is known of it */
    exp_checkpoint_storage_read(tree, f->a, ret);
    ret->tree = NULL;
    ret->host_path = keep(f, ret->host_path);
    ret->container_path = keep(f, ret->container_path);
    ret->bucket = keep(f, ret->bucket);
    ret->access_key = keep(f, ret->access_key);
    ret->secret_key = keep(f, ret->secret_key);
    ret->endpoint_url = keep(f, ret->endpoint_url);
}

/* Makes mounts, variables and files of the sources. storage_config.json and the variables are for programs that were
 * written for release 0.38.1, which knew one storage only: that of the last experiment. */
static void add_sources(const struct filling *f)
{
    const struct task_program *p = f->p;
    cleanup_strbuf struct strbuf list = STRBUF_INIT;
    struct exp_checkpoint_storage s, s3 = {0};
    for (size_t i = 0; i < p->source_n; i++) {
        add_source(&list, &p->source[i]);
        read_storage(f, p->source[i].storage, &s);
        add_storage_mounts(f, &s);
        if (s.kind == EXP_CHECKPOINT_STORAGE_S3)
            s3 = s;
    }
    add_s3_variables(f, &s3);
    add_file(f, RUN_DIR "/tensorboard/sources.json", 0600, arena_printf(f->a, "{\"sources\":[%s]}", strbuf_str(&list)));
    if (p->source_n)
        add_file(f, RUN_DIR "/tensorboard/storage_config.json", 0600, p->source[p->source_n - 1].storage);
}

static void fill_tensorboard(const struct filling *f)
{
    const struct task_values *v = &f->p->config->values;
    cleanup_strbuf struct strbuf line = STRBUF_INIT;
    strbuf_adds(&line, "exec \"$DET_PYTHON_EXECUTABLE\" -m determined.exec.tensorboard "
                       "--sources \"$DET_RUN_DIR/tensorboard/sources.json\" --");
    for (size_t i = 0; i < v->tensorboard_args_n; i++)
        add_quoted(&line, v->tensorboard_args[i]);
    set_line(f, line.s);
    add_extra(f, "tensorboard");
    f->t->ready_pattern = "TensorBoard contains metrics";
    f->t->waiting_pattern = "TensorBoard is waiting for metrics";
    add_variable(f, "TENSORBOARD_PORT=%d", f->p->port);
    offer_variable(f, "TF_CPP_MIN_LOG_LEVEL", "3");
    add_sources(f);
}

/* ---- all kinds --------------------------------------------------------------------------------------------------- */

/* Lists the ports to which the agent lets streams through: that of the service, and those that the configuration
 * names. */
static void set_proxy_ports(const struct filling *f)
{
    const struct exp_environment *e = &f->p->config->values.environment;
    struct wire_link_start_task *t = f->t;
    t->proxy_ports = arena_array(f->a, int32_t, e->proxy_ports_n + 1);
    t->proxy_ports_n = 0;
    if (f->p->port)
        t->proxy_ports[t->proxy_ports_n++] = f->p->port;
    for (size_t i = 0; i < e->proxy_ports_n; i++)
        t->proxy_ports[t->proxy_ports_n++] = e->proxy_ports[i].proxy_port;
}

void task_program_fill(const struct task_program *p, struct wire_link_start_task *t, struct arena *a)
{
    static void (*const fill[TASK_KIND_NR])(const struct filling *f) = {
        [TASK_KIND_COMMAND] = fill_entrypoint, [TASK_KIND_NOTEBOOK] = fill_notebook,
        [TASK_KIND_SHELL] = fill_shell,        [TASK_KIND_TENSORBOARD] = fill_tensorboard,
        [TASK_KIND_GENERIC] = fill_entrypoint,
    };
    const struct filling f = {.p = p, .t = t, .a = a};
    const struct task_values *v = &p->config->values;
    t->work_dir = v->work_dir ? v->work_dir : "";
    if (v->debug)
        offer_variable(&f, "DET_DEBUG", "true");
    if (p->listen_address)
        add_variable(&f, "DET_LISTEN_ADDRESS=%s", p->listen_address);
    set_proxy_ports(&f);
    fill[p->config->kind](&f);
}
