#include "api/tasks/launched_views.h"

#include <string.h>

#include "api/checkpoints/task_account.h"
#include "api/pipeline/access.h"
#include "api/pipeline/convert.h"
#include "api/pipeline/internal.h"
#include "common/config/schema.h"
#include "common/json/json.h"
#include "core/config/expconf_secrets.h"
#include "core/config/taskconf.h"
#include "gen/handlers.h"

int launched_find(struct req *r, struct store *db, enum task_kind kind, const char *id, struct store_launched_task *ret,
                  struct error *err)
{
    cleanup_error struct error failed = ERROR_INIT;
    int rc = store_launched_task_get(db, id ? id : "", &r->arena, ret, &failed);
    if (rc < 0 && error_pass_unless(&failed, ERR_NOT_FOUND, err))
        return -1;
    if (rc < 0 || ret->kind != kind)
        return error_set(err, ERR_NOT_FOUND, "%s '%.80s' not found", task_kind_word(kind), id ? id : "");
    return 0;
}

/* ---- what the kinds have in common ------------------------------------------------------------------------------- */

static enum wire_task_state state_of(const struct store_launched_task *t)
{
    if (t->end_us != 0 || t->state == ALLOCATION_TERMINATED)
        return WIRE_TASK_STATE_TERMINATED;
    if (!t->allocation_id || t->state <= ALLOCATION_ASSIGNED)
        return WIRE_TASK_STATE_QUEUED;
    return (enum wire_task_state)state_number(&wire_enum_task_state, allocation_state_name(t->state));
}

static void read_ids(const char *json, struct arena *a, int32_t **ret, size_t *ret_n)
{
    cleanup_json struct json_object *list = NULL;
    if (!json || json_parse(json, strlen(json), &list, NULL) < 0)
        return;
    size_t n = json_object_array_length(list);
    *ret = arena_array(a, int32_t, n + 1);
    for (size_t i = 0; i < n; i++)
        (*ret)[i] = json_object_get_int(json_object_array_get_idx(list, i));
    *ret_n = n;
}

static const struct wire_container *container_of_task(const struct store_launched_task *t, struct arena *a)
{
    int32_t *device_id = NULL;
    size_t n = 0;
    if (!t->container_id)
        return NULL;
    read_ids(t->device_ids, a, &device_id, &n);
    struct wire_container *w = arena_new(a, struct wire_container);
    *w = (struct wire_container){.parent = t->allocation_id,
                                 .id = t->container_id,
                                 .state = (enum wire_container_state)
                                     state_number(&wire_enum_container_state, container_state_name(t->container_state)),
                                 .devices = arena_array(a, struct wire_device, n + 1),
                                 .devices_n = n};
    for (size_t i = 0; i < n; i++)
        w->devices[i].id = device_id[i];
    return w;
}

static const char *service_address(const struct store_launched_task *t, bool with_token, struct arena *a)
{
    if (t->service_token && with_token)
        return arena_printf(a, "/proxy/%s/?token=%s", t->id, t->service_token);
    return arena_printf(a, "/proxy/%s/", t->id);
}

void launched_view(const struct req *r, const struct store_launched_task *t, struct launched_view *ret)
{
    struct arena *a = &((struct req *)r)->arena;
    bool is_open = access_sees_secrets(r, t->owner_id);
    *ret = (struct launched_view){.state = state_of(t),
                                  .container = container_of_task(t, a),
                                  .exit_status = t->end_us ? exit_to_text(t->exit_kind, t->exit_code, a) : "",
                                  .service_address = service_address(t, is_open, a),
                                  .private_key = is_open ? t->private_key : "",
                                  .public_key = t->public_key};
}

static const char *with_priority(const char *config, int32_t priority, struct arena *a)
{
    cleanup_json struct json_object *tree = NULL;
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    if (json_parse(config, strlen(config), &tree, NULL) < 0)
        return config;
    struct json_object *resources = schema_section(task_values, tree, resources);
    schema_put(task_resources, resources, priority, json_object_new_int(priority));
    json_print(tree, &text);
    return arena_strdup(a, strbuf_str(&text));
}

const char *launched_config(struct req *r, const struct store_launched_task *t)
{
    const char *config = with_priority(t->config, t->priority, &r->arena);
    return access_sees_secrets(r, t->owner_id) ? config : expconf_hide_secrets(config, SCHEMA_MASKED, &r->arena);
}

/* ---- one message for each kind ----------------------------------------------------------------------------------- */

/* The fields that all of these messages have. They have no type in common. */
#define COMMON_FIELDS(t, v) \
    .id = (t)->id, .description = (t)->description, .state = (v).state, .start_time = (t)->start_us, \
    .has_start_time = true, .container = (v).container, .display_name = (t)->display_name, .user_id = (t)->owner_id, \
    .username = (t)->username, .resource_pool = (t)->pool, .exit_status = (v).exit_status, .job_id = (t)->job_id, \
    .workspace_id = (t)->workspace_id

const struct wire_command *command_to_wire(struct req *r, const struct store_launched_task *t)
{
    struct launched_view v;
    struct wire_command *w = arena_new(&r->arena, struct wire_command);
    launched_view(r, t, &v);
    *w = (struct wire_command){COMMON_FIELDS(t, v)};
    return w;
}

const struct wire_notebook *notebook_to_wire(struct req *r, const struct store_launched_task *t)
{
    struct launched_view v;
    struct wire_notebook *w = arena_new(&r->arena, struct wire_notebook);
    launched_view(r, t, &v);
    *w = (struct wire_notebook){COMMON_FIELDS(t, v), .service_address = v.service_address};
    return w;
}

/* The account that one logs in as: the one that was found at the launch, with the name that the agent has chosen since.
 * An agent that is not root runs every task as itself. */
static const char *login_account(const struct store_launched_task *t, struct arena *a)
{
    const char *found = t->agent_user_group ? t->agent_user_group : "{}";
    cleanup_json struct json_object *account = NULL;
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    if (!t->account || !*t->account || json_parse(found, strlen(found), &account, NULL) < 0)
        return found;
    json_object_object_add(account, "user", json_object_new_string(t->account));
    json_print(account, &text);
    return arena_strdup(a, strbuf_str(&text));
}

const struct wire_shell *shell_to_wire(struct req *r, const struct store_launched_task *t)
{
    struct launched_view v;
    struct wire_shell *w = arena_new(&r->arena, struct wire_shell);
    launched_view(r, t, &v);
    *w = (struct wire_shell){COMMON_FIELDS(t, v), .private_key = v.private_key, .public_key = v.public_key,
                             .agent_user_group = login_account(t, &r->arena)};
    return w;
}

const struct wire_tensorboard *tensorboard_to_wire(struct req *r, const struct store_launched_task *t)
{
    struct launched_view v;
    struct wire_tensorboard *w = arena_new(&r->arena, struct wire_tensorboard);
    launched_view(r, t, &v);
    *w = (struct wire_tensorboard){COMMON_FIELDS(t, v), .service_address = v.service_address};
    read_ids(t->experiment_ids, &r->arena, &w->experiment_ids, &w->experiment_ids_n);
    read_ids(t->trial_ids, &r->arena, &w->trial_ids, &w->trial_ids_n);
    return w;
}

/* ---- reading one, and lists -------------------------------------------------------------------------------------- */

int api_get_command(struct req *r, struct store *db, const struct wire_get_command_request *in,
                    struct wire_get_command_response *ret, struct error *err)
{
    struct store_launched_task t;
    if (launched_find(r, db, TASK_KIND_COMMAND, in->command_id, &t, err) < 0)
        return -1;
    ret->command = command_to_wire(r, &t);
    ret->config = launched_config(r, &t);
    return 0;
}

int api_get_notebook(struct req *r, struct store *db, const struct wire_get_notebook_request *in,
                     struct wire_get_notebook_response *ret, struct error *err)
{
    struct store_launched_task t;
    if (launched_find(r, db, TASK_KIND_NOTEBOOK, in->notebook_id, &t, err) < 0)
        return -1;
    ret->notebook = notebook_to_wire(r, &t);
    ret->config = launched_config(r, &t);
    return 0;
}

int api_get_shell(struct req *r, struct store *db, const struct wire_get_shell_request *in,
                  struct wire_get_shell_response *ret, struct error *err)
{
    struct store_launched_task t;
    if (launched_find(r, db, TASK_KIND_SHELL, in->shell_id, &t, err) < 0)
        return -1;
    ret->shell = shell_to_wire(r, &t);
    ret->config = launched_config(r, &t);
    return 0;
}

int api_get_tensorboard(struct req *r, struct store *db, const struct wire_get_tensorboard_request *in,
                        struct wire_get_tensorboard_response *ret, struct error *err)
{
    struct store_launched_task t;
    if (launched_find(r, db, TASK_KIND_TENSORBOARD, in->tensorboard_id, &t, err) < 0)
        return -1;
    ret->tensorboard = tensorboard_to_wire(r, &t);
    ret->config = launched_config(r, &t);
    return 0;
}

/* A list shows the tasks that are not over, and those that ended less than a day ago. */
#define LISTED_AFTER_END_US 86400000000ll

/* The filter of a list. The requests of the kinds have the same fields, and the same numbers of orders. */
#define FILTER_OF(r, in, of_kind) \
    {.kind = task_kind_name(of_kind), \
     .ended_after_us = (r)->now_us - LISTED_AFTER_END_US, \
     .usernames = {(in)->users, (in)->users_n}, \
     .user_ids = {(in)->user_ids, (in)->user_ids_n}, \
     .workspace_id = (in)->workspace_id, \
     .visible = access_workspaces(r, PERMISSION_VIEW_NSC), \
     .sort_by = (int32_t)(in)->sort_by, \
     .descending = (in)->order_by == WIRE_ORDER_BY_DESC, \
     .page = page_of((in)->offset, (in)->limit)}

int api_get_commands(struct req *r, struct store *db, const struct wire_get_commands_request *in,
                     struct wire_get_commands_response *ret, struct error *err)
{
    struct store_launched_task_filter f = FILTER_OF(r, in, TASK_KIND_COMMAND);
    struct store_launched_task_list list;
    if (store_launched_task_list(db, &f, &r->arena, &list, err) < 0)
        return -1;
    ret->commands = arena_array(&r->arena, struct wire_command, list.launched_task_n + 1);
    for (; ret->commands_n < list.launched_task_n; ret->commands_n++)
        ret->commands[ret->commands_n] = *command_to_wire(r, &list.launched_task[ret->commands_n]);
    ret->pagination = pagination(f.page, list.window, &r->arena);
    return 0;
}

int api_get_notebooks(struct req *r, struct store *db, const struct wire_get_notebooks_request *in,
                      struct wire_get_notebooks_response *ret, struct error *err)
{
    struct store_launched_task_filter f = FILTER_OF(r, in, TASK_KIND_NOTEBOOK);
    struct store_launched_task_list list;
    if (store_launched_task_list(db, &f, &r->arena, &list, err) < 0)
        return -1;
    ret->notebooks = arena_array(&r->arena, struct wire_notebook, list.launched_task_n + 1);
    for (; ret->notebooks_n < list.launched_task_n; ret->notebooks_n++)
        ret->notebooks[ret->notebooks_n] = *notebook_to_wire(r, &list.launched_task[ret->notebooks_n]);
    ret->pagination = pagination(f.page, list.window, &r->arena);
    return 0;
}

int api_get_shells(struct req *r, struct store *db, const struct wire_get_shells_request *in,
                   struct wire_get_shells_response *ret, struct error *err)
{
    struct store_launched_task_filter f = FILTER_OF(r, in, TASK_KIND_SHELL);
    struct store_launched_task_list list;
    if (store_launched_task_list(db, &f, &r->arena, &list, err) < 0)
        return -1;
    ret->shells = arena_array(&r->arena, struct wire_shell, list.launched_task_n + 1);
    for (; ret->shells_n < list.launched_task_n; ret->shells_n++)
        ret->shells[ret->shells_n] = *shell_to_wire(r, &list.launched_task[ret->shells_n]);
    ret->pagination = pagination(f.page, list.window, &r->arena);
    return 0;
}

int api_get_tensorboards(struct req *r, struct store *db, const struct wire_get_tensorboards_request *in,
                         struct wire_get_tensorboards_response *ret, struct error *err)
{
    struct store_launched_task_filter f = FILTER_OF(r, in, TASK_KIND_TENSORBOARD);
    struct store_launched_task_list list;
    if (store_launched_task_list(db, &f, &r->arena, &list, err) < 0)
        return -1;
    ret->tensorboards = arena_array(&r->arena, struct wire_tensorboard, list.launched_task_n + 1);
    for (; ret->tensorboards_n < list.launched_task_n; ret->tensorboards_n++)
        ret->tensorboards[ret->tensorboards_n] = *tensorboard_to_wire(r, &list.launched_task[ret->tensorboards_n]);
    ret->pagination = pagination(f.page, list.window, &r->arena);
    return 0;
}
