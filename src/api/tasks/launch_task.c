/* A reader's thread finds template, workspace and files, and makes the configuration. Then one step of the core follows
 * on the loop; what the store needs beside the core's rows is stored in the same transaction. After the commit the
 * reply is read from the store. */
#include "api/tasks/launch_task.h"

#include <openssl/evp.h>
#include <string.h>

#include "api/checkpoints/task_account.h"
#include "api/cluster/pool_bindings.h"
#include "api/experiments/launch.h"
#include "api/experiments/model_archive.h"
#include "api/pipeline/access.h"
#include "api/pipeline/convert.h"
#include "api/pipeline/deleted_places.h"
#include "api/pipeline/internal.h"
#include "api/tasks/launched_views.h"
#include "api/tasks/shown_runs.h"
#include "api/tasks/ssh_keys.h"
#include "common/base/hex.h"
#include "common/config/config.h"
#include "common/json/json.h"
#include "common/system/random.h"
#include "gen/handlers.h"
#include "store/accounts/workspaces.h"
#include "store/cluster/tasks.h"

#define PREEMPTION_TIMEOUT_S MASTER_CONFIG_TASK_CONTAINER_DEFAULTS_PREEMPTION_TIMEOUT_S_DEFAULT

enum { SERVICE_TOKEN_BYTES = 24, HASH_BYTES = 32, DEFAULT_WORKSPACE_ID = 1 };

static void end_launch(struct req *r)
{
    struct launch *l = r->state;
    taskconf_free(l->made);
    strbuf_release(&l->archive);
}

/* ---- 1. what can be refused before the core is asked ------------------------------------------------------------- */

static int find_workspace(struct req *r, struct store *db, const struct launch *l, struct store_workspace *ret,
                          struct error *err)
{
    if (store_workspace_get(db, l->row.workspace_id, r->who.user_id, &r->arena, ret, err) < 0)
        return -1;
    if (ret->archived || (ret->state && *ret->state))
        return error_set(err, ERR_PRECONDITION, "workspace '%s' is %s; choose another workspace", ret->name,
                         ret->archived ? "archived" : "being deleted");
    return 0;
}

static int parse_config(const struct launch *l, struct json_object **ret, struct error *err)
{
    const char *text = l->config ? l->config : "{}";
    if (json_parse(text, strlen(text), ret, err) < 0)
        return -1;
    if (*ret && !json_object_is_type(*ret, json_type_object))
        return error_set(err, ERR_INVALID, "config must be an object");
    return 0;
}

static int read_template(struct req *r, struct store *db, const struct launch *l, struct json_object **ret,
                         struct error *err)
{
    struct store_template t;
    if (l->base)
        return json_parse(l->base, strlen(l->base), ret, err);
    if (!l->template_name || !*l->template_name)
        return 0;
    if (access_need_of(r, db, PERMISSION_VIEW_TEMPLATES, ACCESS_TEMPLATE(l->template_name), err) < 0)
        return -1;
    return store_template_get(db, l->template_name, &r->arena, &t, err) < 0
               ? -1
               : json_parse(t.config, strlen(t.config), ret, err);
}

static int make_config(struct req *r, struct launch *l, struct json_object *config, const struct expconf_context *ctx,
                       struct error *err)
{
    const struct config *master = api_info(r->api)->config;
    const struct taskconf_request rq = {.kind = l->kind,
                                        .config = config,
                                        .text = l->text,
                                        .text_n = l->text ? strlen(l->text) : 0,
                                        .cluster = ctx,
                                        .has_context = l->files_n > 0 || l->row.context_hash,
                                        .notebook_timeout_s = (int32_t)config_int(master, "notebook_timeout"),
                                        .tensorboard_timeout_s = (int32_t)config_int(master, "tensorboard_timeout")};
    return taskconf_prepare(&rq, &l->made, err);
}

static int prepare_config(struct req *r, struct store *db, struct launch *l, const struct store_workspace *w,
                          struct error *err)
{
    cleanup_json struct json_object *config = NULL;
    struct expconf_context ctx;
    const struct store_project_place place = {.default_compute_pool = w->default_compute_pool,
                                              .default_aux_pool = w->default_aux_pool};
    int rc = launch_context(r, &ctx, err);
    if (rc == 0)
        rc = expconf_check_text(l->text ? strlen(l->text) : l->config ? strlen(l->config) : 0, &ctx, err);
    if (rc == 0)
        rc = launch_context_place(&place, &ctx, err);
    if (rc == 0)
        rc = launch_context_policies(r, db, POLICY_NTSC, w->id, &ctx, err);
    if (rc == 0 && !l->text)
        rc = parse_config(l, &config, err);
    if (rc == 0)
        rc = read_template(r, db, l, &ctx.template_config, err);
    if (rc == 0)
        rc = make_config(r, l, config, &ctx, err);
    launch_context_release(&ctx);
    return rc;
}

static int make_archive(struct req *r, struct launch *l, struct error *err)
{
    unsigned char hash[HASH_BYTES];
    if (l->files_n == 0)
        return 0;
    if (archive_build(l->files, l->files_n, &l->archive, err) < 0)
        return -1;
    if (EVP_Digest(strbuf_str(&l->archive), l->archive.n, hash, NULL, EVP_sha256(), NULL) != 1)
        return error_set(err, ERR_INTERNAL, "OpenSSL gives no SHA-256 of the context");
    l->row.context_hash = hex_in_arena(hash, sizeof(hash), &r->arena);
    return 0;
}

/* The token that a notebook's program lets its user in with. */
static int make_service_token(struct req *r, struct launch *l, struct error *err)
{
    unsigned char token[SERVICE_TOKEN_BYTES];
    if (l->kind != TASK_KIND_NOTEBOOK)
        return 0;
    if (random_bytes(token, sizeof(token), err) < 0)
        return -1;
    l->row.service_token = hex_in_arena(token, sizeof(token), &r->arena);
    return 0;
}

/* The account that one logs in as to a shell. */
static int find_account(struct req *r, struct store *db, struct launch *l, const struct store_workspace *w,
                        struct error *err)
{
    struct store_user owner;
    cleanup_json struct json_object *account = NULL;
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    if (l->kind != TASK_KIND_SHELL)
        return 0;
    if (store_user_get(db, r->who.user_id, &r->arena, &owner, err) < 0)
        return -1;
    const struct store_agent_user_group x = task_account_of(&owner.agent, &w->agent, &r->api->defaults.default_task);
    account = json_object_new_object();
    json_object_object_add(account, "user", json_object_new_string(x.user));
    json_object_object_add(account, "uid", json_object_new_int(x.uid));
    json_object_object_add(account, "group", json_object_new_string(x.group));
    json_object_object_add(account, "gid", json_object_new_int(x.gid));
    json_print(account, &text);
    l->row.agent_user_group = arena_strdup(&r->arena, strbuf_str(&text));
    return 0;
}

static void fill_spec(struct req *r, struct launch *l)
{
    const struct task_values *v = &l->made->values;
    const struct task_resources *wanted = &v->resources;
    l->row.config = l->made->json;
    l->spec = (struct core_task_spec){
        .kind = l->kind,
        .owner_id = r->who.user_id,
        .workspace_id = l->row.workspace_id,
        .pool = wanted->resource_pool,
        .description = v->description ? v->description : "",
        .slots = wanted->slots,
        .needs = needs_of(wanted->cpus, wanted->memory_bytes),
        .priority = wanted->has_priority ? wanted->priority : SCHED_PRIORITY_DEFAULT,
        .max_slots = wanted->has_max_slots ? wanted->max_slots : -1,
        .weight = wanted->weight,
        .idle_timeout_us = l->made->idle_timeout_us,
        .max_time_us = wanted->has_max_time_us ? wanted->max_time_us : 0,
        .max_idle_us = wanted->has_max_idle_time_us ? wanted->max_idle_time_us : 0,
        .no_pause = l->no_pause,
        .preemption_timeout_s = v->has_preemption_timeout_s ? v->preemption_timeout_s : PREEMPTION_TIMEOUT_S,
        .parent_id = l->parent_id,
    };
}

/* ---- 2. after the commit: reading the reply ---------------------------------------------------------------------- */

static void tell_warnings(struct req *r, const struct launch *l)
{
    launch_warnings(r, l->exceeds_slots, l->ret_warnings, l->ret_warnings_n);
    if (l->made->warnings)
        string_list_of_json(json_object_to_json_string_ext(l->made->warnings, JSON_C_TO_STRING_PLAIN), &r->arena,
                            l->ret_config_warnings, l->ret_config_warnings_n, NULL);
}

static int launch_reply(struct req *r, struct store *db, struct error *err)
{
    const struct launch *l = r->state;
    struct store_launched_task t;
    if (store_launched_task_get(db, l->row.id, &r->arena, &t, err) < 0)
        return -1;
    l->show(r, &t);
    if (l->ret_config)
        *l->ret_config = launched_config(r, &t);
    tell_warnings(r, l);
    return 0;
}

static void take_row(void *ctx, const struct core_effects *effects)
{
    struct req *r = ctx;
    struct launch *l = r->state;
    const struct launched_row *core = effects->launched;
    struct store_launched_task *row = &l->row;
    l->job_id = arena_strdup(&r->arena, effects->job_id);
    row->id = arena_strdup(&r->arena, core->task_id);
    row->description = arena_strdup(&r->arena, core->description);
    row->pool = arena_strdup(&r->arena, core->pool);
    row->slots = core->slots;
    row->millicores = core->millicores;
    row->memory_bytes = core->memory_bytes;
    row->priority = core->priority;
    row->max_slots = core->max_slots;
    row->weight = core->weight;
    row->queue_position = core->queue_position;
    row->run_id = core->run_id;
    row->idle_timeout_us = core->idle_timeout_us;
    row->max_time_us = core->max_time_us;
    row->max_idle_us = core->max_idle_us;
    row->generic = core->state;
    row->no_pause = core->no_pause;
    row->preemption_timeout_s = core->preemption_timeout_s;
}

static int store_documents(struct store *db, void *ctx, struct error *err)
{
    const struct req *r = ctx;
    const struct launch *l = r->state;
    if (l->files_n && store_context_add(db, l->row.context_hash, strbuf_str(&l->archive), l->archive.n, err) < 0)
        return -1;
    return store_launched_task_insert(db, &l->row, err) < 0 ? -1 : access_limit_job(r, db, l->job_id, err);
}

static void documents_stored(void *ctx, const struct error *err)
{
    struct req *r = ctx;
    if (!err) {
        req_resume_read(r, launch_reply);
        return;
    }
    struct error copy = ERROR_INIT;
    error_copy(&copy, err);
    req_finish(r, &copy);
}

/* ---- the step of the core ---------------------------------------------------------------------------------------- */

static int launch_step(struct req *r, struct core *core, struct error *err)
{
    struct launch *l = r->state;
    if (deleted_places_check(r->api->deleted_places, l->row.workspace_id, /* project_id= */ 0, err) < 0)
        return -1;
    const char *misfit = core_misfit(core, l->spec.pool, l->spec.slots, /* single_node= */ true, &l->spec.needs,
                                     &r->arena);
    l->exceeds_slots = misfit != NULL;
    if (misfit && r->api->defaults.launch_error)
        return error_set(err, ERR_INVALID, "slots requested exceeds cluster capacity (and launch_error is set): %s",
                         misfit);
    struct core_event ev = {.type = CORE_TASK_CREATE, .now_us = r->now_us, .task = &l->spec};
    struct companion companion = {.stepped = take_row, .store = store_documents, .done = documents_stored, .ctx = r};
    if (req_core_step(r, core, &ev, &companion, err) < 0)
        return -1;
    return req_wait(r, NULL);
}

static int make_keys(struct req *r, struct error *err)
{
    struct launch *l = r->state;
    const struct config *master = api_info(r->api)->config;
    struct ssh_keys keys;
    struct ssh_keys_request rq = {.type = config_str(master, "security.ssh.key_type"),
                                  .rsa_bits = (int)config_int(master, "security.ssh.rsa_key_size"),
                                  .passphrase = l->passphrase};
    if (ssh_keys_new(&rq, &r->arena, &keys, err) < 0)
        return -1;
    l->row.private_key = keys.private_key;
    l->row.public_key = keys.public_key;
    return req_then_loop(r, launch_step);
}

/* Files of another task are taken over as long as the store has them (master/removal/context_sweep.h). */
static int check_taken_over(struct req *r, struct store *db, const struct launch *l, struct error *err)
{
    bool there = true;
    if (l->files_n || !l->context_hash)
        return 0;
    if (store_context_exists(db, l->context_hash, &there, err) < 0)
        return -1;
    return there
               ? 0
               : error_set(
                     err, ERR_PRECONDITION,
                     "the files of task '%s' are no longer kept: they are removed %lld days after the end of the last "
                     "task that has them (retention_policy.context_days); send the files again",
                     l->context_of, (long long)config_int(api_info(r->api)->config, "retention_policy.context_days"));
}

/* ---- the request ------------------------------------------------------------------------------------------------- */

static int only_preview(struct req *r, struct launch *l)
{
    static const struct store_launched_task none = {
        .id = "", .description = "", .pool = "", .job_id = "", .username = "", .owner_id = 0};
    l->show(r, &none);
    *l->ret_config = arena_strdup(&r->arena, l->made->json);
    tell_warnings(r, l);
    return 0;
}

int launch_task(struct req *r, struct store *db, const struct launch *request, struct error *err)
{
    struct launch *l = arena_new(&r->arena, struct launch);
    struct store_workspace w;
    *l = *request;
    r->state = l;
    r->on_end = end_launch;
    l->row.workspace_id = l->workspace_id ? l->workspace_id : DEFAULT_WORKSPACE_ID;
    l->row.context_hash = l->context_hash;
    l->row.parent_id = l->parent_id;
    l->row.forked_from = l->forked_from;
    if (access_need(r, PERMISSION_CREATE_NSC, l->row.workspace_id, err) < 0 || find_workspace(r, db, l, &w, err) < 0 ||
        prepare_config(r, db, l, &w, err) < 0 ||
        pool_check_workspace(r, db, l->made->values.resources.resource_pool, w.id, err) < 0)
        return -1;
    if (l->preview)
        return only_preview(r, l);
    if (check_taken_over(r, db, l, err) < 0 || find_account(r, db, l, &w, err) < 0 ||
        make_service_token(r, l, err) < 0 || make_archive(r, l, err) < 0)
        return -1;
    fill_spec(r, l);
    return l->kind == TASK_KIND_SHELL ? req_then_work(r, make_keys) : req_then_loop(r, launch_step);
}

/* ---- the routes -------------------------------------------------------------------------------------------------- */

/* What the requests and the replies of all kinds have in common. */
#define LAUNCH_OF(in, ret) \
    .config = (in)->config, .template_name = (in)->template_name, .files = (in)->files, .files_n = (in)->files_n, \
    .workspace_id = (in)->workspace_id, .ret_config = &(ret)->config, .ret_warnings = &(ret)->warnings, \
    .ret_warnings_n = &(ret)->warnings_n, .ret_config_warnings = &(ret)->config_warnings, \
    .ret_config_warnings_n = &(ret)->config_warnings_n

static void show_command(struct req *r, const struct store_launched_task *t)
{
    struct wire_launch_command_response *ret = r->ret;
    ret->command = command_to_wire(r, t);
}

int api_launch_command(struct req *r, struct store *db, const struct wire_launch_command_request *in,
                       struct wire_launch_command_response *ret, struct error *err)
{
    return launch_task(r, db, &(struct launch){.kind = TASK_KIND_COMMAND, .show = show_command, LAUNCH_OF(in, ret)},
                       err);
}

static void show_notebook(struct req *r, const struct store_launched_task *t)
{
    struct wire_launch_notebook_response *ret = r->ret;
    ret->notebook = notebook_to_wire(r, t);
}

int api_launch_notebook(struct req *r, struct store *db, const struct wire_launch_notebook_request *in,
                        struct wire_launch_notebook_response *ret, struct error *err)
{
    return launch_task(
        r, db,
        &(struct launch){.kind = TASK_KIND_NOTEBOOK, .show = show_notebook, .preview = in->preview, LAUNCH_OF(in, ret)},
        err);
}

static void show_shell(struct req *r, const struct store_launched_task *t)
{
    struct wire_launch_shell_response *ret = r->ret;
    ret->shell = shell_to_wire(r, t);
}

int api_launch_shell(struct req *r, struct store *db, const struct wire_launch_shell_request *in,
                     struct wire_launch_shell_response *ret, struct error *err)
{
    const char *passphrase = NULL;
    if (ssh_keys_read_passphrase(in->data.data, in->data.n, &r->arena, &passphrase, err) < 0)
        return -1;
    return launch_task(
        r, db,
        &(struct launch){.kind = TASK_KIND_SHELL, .show = show_shell, .passphrase = passphrase, LAUNCH_OF(in, ret)},
        err);
}

static void show_tensorboard(struct req *r, const struct store_launched_task *t)
{
    struct wire_launch_tensorboard_response *ret = r->ret;
    ret->tensorboard = tensorboard_to_wire(r, t);
}

int api_launch_tensorboard(struct req *r, struct store *db, const struct wire_launch_tensorboard_request *in,
                           struct wire_launch_tensorboard_response *ret, struct error *err)
{
    struct launch l = {.kind = TASK_KIND_TENSORBOARD, .show = show_tensorboard, LAUNCH_OF(in, ret)};
    if (shown_runs_find(r, db, in, &l.row.experiment_ids, &l.row.trial_ids, err) < 0)
        return -1;
    return launch_task(r, db, &l, err);
}
