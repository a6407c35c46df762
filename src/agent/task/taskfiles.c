#include "agent/task/taskfiles.h"

#include <ctype.h>
#include <string.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/base/strbuf.h"
#include "common/json/json.h"

/* ---- info/ ------------------------------------------------------------------------------------------------------- */

static void add_string(struct json_object *o, const char *key, const char *value)
{
    json_object_object_add(o, key, value ? json_object_new_string(value) : NULL);
}

static void add_int(struct json_object *o, const char *key, const char *value)
{
    json_object_object_add(o, key, json_object_new_int64(value ? strtoll(value, NULL, 10) : 0));
}

/* Adds a JSON text from the environment; an empty object if the task does not have that variable. */
static int add_json(struct json_object *o, const char *key, const char *text, struct error *err)
{
    struct json_object *v = NULL;
    text = text ? text : "{}";
    if (json_parse(text, strlen(text), &v, err) < 0)
        return error_wrap(err, "the task's %s", key);
    json_object_object_add(o, key, v);
    return 0;
}

static struct json_object *json_of_ints(const int32_t *list, size_t n)
{
    struct json_object *o = json_object_new_array();
    for (size_t i = 0; i < n; i++)
        json_object_array_add(o, json_object_new_int(list[i]));
    return o;
}

static int put_json(const struct taskdir *d, const char *name, struct json_object *o, struct error *err)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    json_print(o, &text);
    return taskdir_put_file(d, name, text.s, text.n, 0600, err);
}

static int write_cluster(const struct taskdir *d, const struct wire_link_start_task *t, const struct taskenv *e,
                         struct error *err)
{
    static const char *const row[][2] = {
        /* the key in the file, and the variable that holds its value */
        {"master_url", "DET_MASTER"},
        {"cluster_id", "DET_CLUSTER_ID"},
        {"agent_id", "DET_AGENT_ID"},
        {"task_id", "DET_TASK_ID"},
        {"allocation_id", "DET_ALLOCATION_ID"},
        {"session_token", "DET_SESSION_TOKEN"},
        {"task_type", "DET_TASK_TYPE"},
        {"master_cert_name", "DET_MASTER_CERT_NAME"},
        {"master_cert_file", "DET_MASTER_CERT_FILE"},
        {"latest_checkpoint", "DET_LATEST_CHECKPOINT"},
    };
    cleanup_json struct json_object *o = json_object_new_object();
    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++)
        add_string(o, row[i][0], taskenv_get(e, row[i][1]));
    json_object_object_add(o, "slot_ids", json_of_ints(t->device_ids, t->device_ids_n));
    return put_json(d, "info/cluster.json", o, err);
}

static int write_trial(const struct taskdir *d, const struct taskenv *e, struct error *err)
{
    cleanup_json struct json_object *o = json_object_new_object();
    add_int(o, "trial_id", taskenv_get(e, "DET_TRIAL_ID"));
    add_int(o, "experiment_id", taskenv_get(e, "DET_EXPERIMENT_ID"));
    add_int(o, "trial_seed", taskenv_get(e, "DET_TRIAL_SEED"));
    if (add_json(o, "hparams", taskenv_get(e, "DET_HPARAMS"), err) < 0 ||
        add_json(o, "config", taskenv_get(e, "DET_EXPERIMENT_CONFIG"), err) < 0)
        return -1;
    add_int(o, "steps_completed", taskenv_get(e, "DET_STEPS_COMPLETED"));
    add_int(o, "trial_run_id", taskenv_get(e, "DET_TRIAL_RUN_ID"));
    struct json_object *debug = json_object_object_get(json_object_object_get(o, "config"), "debug");
    json_object_object_add(o, "debug", json_object_new_boolean(debug && json_object_get_boolean(debug)));
    add_string(o, "inter_node_network_interface", taskenv_get(e, "DET_INTER_NODE_NETWORK_INTERFACE"));
    return put_json(d, "info/trial.json", o, err);
}

static int write_resources(const struct taskdir *d, const struct wire_link_start_task *t, const struct slots *slots,
                           struct error *err)
{
    cleanup_json struct json_object *o = json_object_new_object();
    struct json_object *uuids = json_object_new_array();
    cleanup_arena struct arena a = ARENA_INIT;
    struct slots_share *share;
    size_t n = slots_shares(slots, t->device_ids, t->device_ids_n, &a, &share);
    for (size_t i = 0; i < n; i++)
        json_object_array_add(uuids, json_object_new_string(share[i].gpu->uuid));
    json_object_object_add(o, "gpu_uuids", uuids);
    return put_json(d, "info/resources.json", o, err);
}

int taskfiles_write_info(const struct taskdir *d, const struct wire_link_start_task *t, const struct taskenv *env,
                         const struct slots *slots, struct error *err)
{
    if (write_cluster(d, t, env, err) < 0 || (t->task_type == WIRE_TASK_TYPE_TRIAL && write_trial(d, env, err) < 0))
        return -1;
    return write_resources(d, t, slots, err);
}

/* One string of execve(2) has at most 128 KiB. Libraries (ours and that of the released version) read info/trial.json,
 * which has both documents whatever their size. Programs that read the variables themselves find the files. */
int taskfiles_move_large(const struct taskdir *d, struct taskenv *env, struct error *err)
{
    enum { VARIABLE_MAX = 100 * 1024 };
    static const struct {
        const char *name, *file_variable, *file;
    } row[] = {
        {"DET_EXPERIMENT_CONFIG", "DET_EXPERIMENT_CONFIG_FILE", "info/experiment_config.json"},
        {"DET_HPARAMS", "DET_HPARAMS_FILE", "info/hparams.json"},
        {"NOTEBOOK_CONFIG", "NOTEBOOK_CONFIG_FILE", "info/notebook_config.json"},
    };
    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        const char *value = taskenv_get(env, row[i].name);
        if (!value || strlen(value) <= VARIABLE_MAX)
            continue;
        if (taskdir_put_file(d, row[i].file, value, strlen(value), 0600, err) < 0)
            return -1;
        taskenv_replace(env, row[i].name, row[i].file_variable,
                        arena_printf(env->list.arena, "%s/%s", d->seen, row[i].file));
    }
    return 0;
}

int taskfiles_write_rendezvous(const struct taskdir *d, const struct wire_link_start_task *t,
                               const struct wire_trial_rendezvous_info *info, struct error *err)
{
    cleanup_json struct json_object *o = json_object_new_object();
    struct json_object *addresses = json_object_new_array();
    int32_t own = (int32_t)t->device_ids_n;
    for (size_t i = 0; i < (info ? info->addresses_n : 1); i++)
        json_object_array_add(addresses, json_object_new_string(info ? info->addresses[i] : "127.0.0.1"));
    json_object_object_add(o, "container_addrs", addresses);
    json_object_object_add(o, "container_rank", json_object_new_int(info ? info->rank : 0));
    json_object_object_add(o, "container_slot_counts",
                           info ? json_of_ints(info->slots, info->slots_n) : json_of_ints(&own, 1));
    return put_json(d, "info/rendezvous.json", o, err);
}

/* ---- files that came with the message ---------------------------------------------------------------------------- */

int taskfiles_write_given(const struct taskdir *d, const struct wire_link_start_task *t, struct error *err)
{
    cleanup_arena struct arena a = ARENA_INIT;
    for (size_t i = 0; i < t->files_n; i++) {
        const struct wire_link_task_file *f = &t->files[i];
        const char *path = taskenv_map_path(f->path, d->run, &a);
        if (taskdir_put_path(d, path, f->content.data, f->content.n, (mode_t)f->mode & 0777, err) < 0)
            return -1;
    }
    return 0;
}

/* ---- scripts ----------------------------------------------------------------------------------------------------- */

static const char task_setup[] = "# Sourced first by every entrypoint: what holds for all kinds of tasks.\n"
                                 "TCD_STARTUP_HOOK=\"$DET_RUN_DIR/dynamic-tcd-startup-hook.sh\"\n"
                                 "if [ -z \"$HOME\" ] || [ \"$HOME\" = / ]; then\n"
                                 "    export HOME=\"$PWD\"\n"
                                 "fi\n";

static const char entrypoint[] =
    "#!/bin/bash\n"
    "# Entry of a task: the hooks of the cluster and of the user, then the user's command in this process's place.\n"
    ". \"$DET_RUN_DIR/task-setup.sh\"\n"
    "if [ -n \"$DET_GANG_PROBE\" ]; then\n"
    "    if command -v \"$DET_PYTHON_EXECUTABLE\" >/dev/null; then\n"
    "        (cd / && exec \"$DET_PYTHON_EXECUTABLE\" -m determined.exec.gang_probe) || exit\n"
    "    else\n"
    "        echo \"WARNING: the task's machines are not probed, since there is no $DET_PYTHON_EXECUTABLE\" >&2\n"
    "    fi\n"
    "fi\n"
    "set -e\n"
    "for hook in \"$TCD_STARTUP_HOOK\" ./startup-hook.sh; do\n"
    "    if [ -f \"$hook\" ]; then\n"
    "        set -x\n"
    "        . \"$hook\"\n"
    "        { set +x; } 2>/dev/null\n"
    "    fi\n"
    "done\n"
    "exec \"$@\"\n";

static const char launch[] =
    "command -v \"$DET_PYTHON_EXECUTABLE\" >/dev/null || {\n"
    "    echo \"ERROR: DET_PYTHON_EXECUTABLE is \\\"$DET_PYTHON_EXECUTABLE\\\", which is not on this machine's PATH\" >&2\n"
    "    exit 1\n"
    "}\n"
    "exec \"$DET_PYTHON_EXECUTABLE\" -m determined.exec.launch\n";

static const char *entrypoint_name(enum wire_task_type type)
{
    switch (type) {
    case WIRE_TASK_TYPE_TRIAL:
        return "train/entrypoint.sh";
    case WIRE_TASK_TYPE_COMMAND:
        return "command-entrypoint.sh";
    case WIRE_TASK_TYPE_GENERIC:
        return "generic-task-entrypoint.sh";
    default:
        return "task-entrypoint.sh";
    }
}

bool taskfiles_is_trial_class(const char *s)
{
    const char *colon = strchr(s, ':');
    if (!colon || colon == s || !colon[1])
        return false;
    for (const char *p = s; *p; p++) {
        bool ok = isalnum((unsigned char)*p) || *p == '_' || p == colon ||
                  (p < colon && (*p == '.' || *p == '-' || *p == '/'));
        if (!ok)
            return false;
    }
    return true;
}

int taskfiles_write_entrypoint(const struct taskdir *d, const struct wire_link_start_task *t, struct arena *a,
                               char ***ret_argv, struct error *err)
{
    const char *name = entrypoint_name(t->task_type);
    if (t->argv_n == 0)
        return error_set(err, ERR_INVALID, "the task has no entrypoint");
    if (taskdir_put_file(d, "task-setup.sh", task_setup, sizeof(task_setup) - 1, 0744, err) < 0 ||
        taskdir_put_file(d, name, entrypoint, sizeof(entrypoint) - 1, 0744, err) < 0)
        return -1;
    char **argv = arena_array(a, char *, t->argv_n + 5);
    size_t n = 0;
    /* bash has always run the users' hooks; where it is missing, a POSIX shell runs the rest. Whether an image has it
     * is found out within the container (task/container.c). */
    argv[n++] = d->in_image || access("/bin/bash", X_OK) == 0 ? "/bin/bash" : "/bin/sh";
    argv[n++] = arena_printf(a, "%s/%s", d->seen, name);
    bool is_class = t->argv_n == 1 && t->task_type == WIRE_TASK_TYPE_TRIAL && taskfiles_is_trial_class(t->argv[0]);
    if (t->argv_n == 1) {
        argv[n++] = "/bin/sh";
        argv[n++] = "-c";
    }
    for (size_t i = 0; i < t->argv_n; i++)
        argv[n++] = is_class ? arena_strdup(a, launch) : arena_strdup(a, t->argv[i]);
    *ret_argv = argv;
    return 0;
}
