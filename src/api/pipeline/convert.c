#include "api/pipeline/convert.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/pipeline/access.h"
#include "api/pipeline/identity.h"
#include "api/pipeline/internal.h"
#include "common/base/base64.h"
#include "common/base/clock.h"
#include "common/config/schema.h"
#include "common/json/json.h"
#include "core/config/expconf_secrets.h"
#include "store/experiments/checkpoints.h"
#include "store/experiments/experiments.h"
#include "store/experiments/trials.h"
#include "store/functions.h"

void identity_of_store(const struct store_user *u, struct identity_user *ret)
{
    *ret = (struct identity_user){.id = u->id,
                                  .admin = u->admin,
                                  .active = u->active,
                                  .remote = u->remote,
                                  .modified_at_us = u->modified_us,
                                  .last_auth_at_us = u->last_auth_us,
                                  .has_agent_user = u->agent.set,
                                  .agent_uid = u->agent.uid,
                                  .agent_gid = u->agent.gid};
    snprintf(ret->username, sizeof(ret->username), "%s", u->username);
    snprintf(ret->display_name, sizeof(ret->display_name), "%s", u->display_name ? u->display_name : "");
    snprintf(ret->agent_user, sizeof(ret->agent_user), "%s", u->agent.user ? u->agent.user : "");
    snprintf(ret->agent_group, sizeof(ret->agent_group), "%s", u->agent.group ? u->agent.group : "");
}

const struct wire_user *user_to_wire(const struct store_user *u, struct arena *a)
{
    struct wire_user *w = arena_new(a, struct wire_user);
    *w = (struct wire_user){.id = u->id,
                            .username = u->username,
                            .admin = u->admin,
                            .active = u->active,
                            .display_name = u->display_name ? u->display_name : "",
                            .modified_at = u->modified_us,
                            .has_modified_at = u->modified_us != 0,
                            .remote = u->remote,
                            .last_auth_at = u->last_auth_us,
                            .has_last_auth_at = u->last_auth_us != 0};
    if (u->agent.set) {
        struct wire_user_agent_user_group *g = arena_new(a, struct wire_user_agent_user_group);
        *g = (struct wire_user_agent_user_group){.agent_uid = u->agent.uid,
                                                 .has_agent_uid = true,
                                                 .agent_gid = u->agent.gid,
                                                 .has_agent_gid = true,
                                                 .agent_user = u->agent.user ? u->agent.user : "",
                                                 .agent_group = u->agent.group ? u->agent.group : ""};
        w->agent_user_group = g;
    }
    return w;
}

const struct wire_user *identity_to_wire(const struct identity_user *i, struct arena *a)
{
    const struct store_user u = {.id = i->id,
                                 .username = arena_strdup(a, i->username),
                                 .display_name = arena_strdup(a, i->display_name),
                                 .admin = i->admin,
                                 .active = i->active,
                                 .remote = i->remote,
                                 .modified_us = i->modified_at_us,
                                 .last_auth_us = i->last_auth_at_us,
                                 .agent = {.set = i->has_agent_user,
                                           .uid = i->agent_uid,
                                           .gid = i->agent_gid,
                                           .user = arena_strdup(a, i->agent_user),
                                           .group = arena_strdup(a, i->agent_group)}};
    return user_to_wire(&u, a);
}

struct page page_of(int32_t offset, int32_t limit)
{
    return (struct page){.offset = offset, .limit = limit};
}

const struct wire_pagination *pagination(struct page asked, struct page_window w, struct arena *a)
{
    struct wire_pagination *p = arena_new(a, struct wire_pagination);
    *p = (struct wire_pagination){
        .offset = asked.offset, .limit = asked.limit, .start_index = w.start, .end_index = w.end, .total = w.total};
    return p;
}

/* ---- names and numbers ------------------------------------------------------------------------------------------- */

static const char prefix[] = "STATE_";

const char *state_text(const struct codec_enum *e, int32_t number)
{
    const char *name = codec_enum_name(e, number);
    if (!name)
        return "";
    return strncmp(name, prefix, sizeof(prefix) - 1) == 0 ? name + sizeof(prefix) - 1 : name;
}

struct store_texts experiment_state_names(const enum wire_experiment_state *state, size_t n, struct arena *a)
{
    const char **text = arena_array(a, const char *, n + 1);
    for (size_t i = 0; i < n; i++)
        text[i] = state_text(&wire_enum_experiment_state, (int32_t)state[i]);
    return (struct store_texts){text, n};
}

int32_t state_number(const struct codec_enum *e, const char *text)
{
    char name[64];
    int32_t number = 0;
    snprintf(name, sizeof(name), "%s%s", prefix, text ? text : "");
    return codec_enum_number(e, name, &number) == 0 ? number : 0;
}

int parse_id(const char *text, const char *what, int32_t *ret, struct error *err)
{
    char *end;
    long id = strtol(text, &end, 10);
    if (end == text || *end || id < 1 || id > INT32_MAX)
        return error_set(err, ERR_INVALID, "%s '%.40s' is not a number from 1", what, text);
    *ret = (int32_t)id;
    return 0;
}

/* ---- JSON texts -------------------------------------------------------------------------------------------------- */

int string_list_of_json(const char *json, struct arena *a, const char ***ret, size_t *ret_n, struct error *err)
{
    cleanup_json struct json_object *list = NULL;
    bool is_empty = !json ||
                    strcmp(json, "[]") == 0; /* so it is for most rows of a list, which would cost the parser more */
    if (!is_empty && json_parse(json, strlen(json), &list, err) < 0)
        return -1;
    if (list && !json_object_is_type(list, json_type_array))
        return error_set(err, ERR_INVALID, "expected a list of strings");
    size_t n = list ? json_object_array_length(list) : 0;
    const char **text = arena_array(a, const char *, n + 1);
    for (size_t i = 0; i < n; i++) {
        struct json_object *item = json_object_array_get_idx(list, i);
        if (!json_object_is_type(item, json_type_string))
            return error_set(err, ERR_INVALID, "item %zu of the list is not a string", i);
        text[i] = arena_strdup(a, json_object_get_string(item));
    }
    *ret = text;
    *ret_n = n;
    return 0;
}

const char *json_of_string_list(const char *const *text, size_t n, struct arena *a)
{
    cleanup_strbuf struct strbuf out = STRBUF_INIT;
    strbuf_addc(&out, '[');
    for (size_t i = 0; i < n; i++) {
        if (i)
            strbuf_addc(&out, ',');
        strbuf_add_json(&out, text[i], strlen(text[i]));
    }
    strbuf_addc(&out, ']');
    return arena_strdup(a, out.s);
}

int raw_list_of_json(const char *json, struct arena *a, const char ***ret, size_t *ret_n, struct error *err)
{
    cleanup_json struct json_object *list = NULL;
    if (json_parse(json, strlen(json), &list, err) < 0)
        return -1;
    size_t n = json_object_is_type(list, json_type_array) ? json_object_array_length(list) : 0;
    const char **text = arena_array(a, const char *, n + 1);
    for (size_t i = 0; i < n; i++)
        text[i] = arena_strdup(a, json_object_to_json_string_ext(json_object_array_get_idx(list, i),
                                                                 JSON_C_TO_STRING_PLAIN));
    *ret = text;
    *ret_n = n;
    return 0;
}

const char *json_of_raw_list(const char *const *json, size_t n, struct arena *a)
{
    if (n == 0)
        return NULL;
    cleanup_strbuf struct strbuf out = STRBUF_INIT;
    for (size_t i = 0; i < n; i++) {
        strbuf_addc(&out, i ? ',' : '[');
        strbuf_adds(&out, json[i] ? json[i] : "null");
    }
    strbuf_addc(&out, ']');
    return arena_strdup(a, out.s);
}

int canonical_json(const char *json, struct arena *a, const char **ret, struct error *err)
{
    cleanup_json struct json_object *tree = NULL;
    if (json_parse(json, strlen(json), &tree, err) < 0)
        return -1;
    cleanup_strbuf struct strbuf out = STRBUF_INIT;
    json_print_sorted(tree, 0, &out);
    *ret = arena_strdup(a, strbuf_str(&out));
    return 0;
}

const char *base64_in_arena(const void *data, size_t n, struct arena *a)
{
    cleanup_strbuf struct strbuf out = STRBUF_INIT;
    base64_encode(data, n, &out);
    return arena_strndup(a, strbuf_str(&out), out.n);
}

void resources_to_wire(const char *json, struct arena *a, struct wire_map_int64 **ret, size_t *ret_n)
{
    cleanup_json struct json_object *tree = NULL;
    *ret_n = 0;
    if (!json || json_parse(json, strlen(json), &tree, NULL) < 0 || !json_object_is_type(tree, json_type_object))
        return;
    *ret = arena_array(a, struct wire_map_int64, (size_t)json_object_object_length(tree) + 1);
    json_object_object_foreach(tree, path, size)(
        *ret)[(*ret_n)++] = (struct wire_map_int64){.key = arena_strdup(a, path), .value = json_object_get_int64(size)};
}

/* ---- experiments ------------------------------------------------------------------------------------------------- */

enum wire_experiment_state experiment_state_to_wire(const char *stored, enum display_state display)
{
    static const enum wire_experiment_state shown[] = {[DISPLAY_QUEUED] = WIRE_EXPERIMENT_STATE_QUEUED,
                                                       [DISPLAY_PULLING] = WIRE_EXPERIMENT_STATE_PULLING,
                                                       [DISPLAY_STARTING] = WIRE_EXPERIMENT_STATE_STARTING,
                                                       [DISPLAY_RUNNING] = WIRE_EXPERIMENT_STATE_RUNNING};
    if (display == DISPLAY_STORED)
        return (enum wire_experiment_state)state_number(&wire_enum_experiment_state, stored);
    return shown[display];
}

void experiment_to_wire(struct req *r, const struct store_experiment *x, enum display_state display,
                        struct wire_experiment *ret)
{
    bool secrets = access_sees_secrets(r, x->user_id);
    *ret = (struct wire_experiment){
        .id = x->id,
        .description = x->description,
        .start_time = x->start_us,
        .has_start_time = x->start_us != 0,
        .end_time = x->end_us,
        .has_end_time = x->end_us != 0,
        .state = experiment_state_to_wire(x->state, display),
        .archived = x->archived,
        .num_trials = x->num_trials,
        .display_name = x->display_name,
        .user_id = x->user_id,
        .username = x->username,
        .resource_pool = x->resource_pool,
        .searcher_type = x->searcher_type,
        .searcher_metric = x->searcher_metric,
        .name = x->name,
        .notes = x->notes,
        .job_id = x->job_id,
        .forked_from = x->parent_id,
        .has_forked_from = x->has_parent,
        .progress = x->progress,
        .has_progress = x->has_progress,
        .project_id = x->project_id,
        .project_name = x->project_name,
        .workspace_id = x->workspace_id,
        .workspace_name = x->workspace_name,
        .parent_archived = x->parent_archived,
        .config = secrets ? x->config : expconf_hide_secrets(x->config, SCHEMA_MASKED, &r->arena),
        .original_config = secrets ? x->original_config : expconf_hide_secrets_yaml(x->original_config, &r->arena),
        .project_owner_id = x->project_owner_id,
        .checkpoint_size = x->checkpoint_size,
        .checkpoint_count = x->checkpoint_count,
        .best_trial_searcher_metric = x->best_metric,
        .has_best_trial_searcher_metric = x->has_best,
        .best_trial_id = x->best_trial_id,
        .has_best_trial_id = x->has_best,
        .unmanaged = x->unmanaged,
        .failure = x->failure,
        .external_experiment_id = x->external_id,
        .model_definition_size = (int32_t)x->model_definition_size,
        .has_model_definition_size = true};
    if (x->unmanaged && ret->state == WIRE_EXPERIMENT_STATE_ACTIVE)
        ret->state = WIRE_EXPERIMENT_STATE_RUNNING;
    if (x->end_us) {
        ret->duration = (int32_t)((x->end_us - x->start_us) / 1000000);
        ret->has_duration = true;
    }
    struct wire_experiment *w = ret;
    string_list_of_json(x->labels, &r->arena, &w->labels, &w->labels_n, NULL);
}

/* ---- trials ------------------------------------------------------------------------------------------------------ */

enum wire_trial_state trial_state_to_wire(enum run_state stored, enum display_state display)
{
    static const enum wire_trial_state shown[] = {[DISPLAY_QUEUED] = WIRE_TRIAL_STATE_QUEUED,
                                                  [DISPLAY_PULLING] = WIRE_TRIAL_STATE_PULLING,
                                                  [DISPLAY_STARTING] = WIRE_TRIAL_STATE_STARTING,
                                                  [DISPLAY_RUNNING] = WIRE_TRIAL_STATE_RUNNING};
    /* an active trial that the core does not know is an unmanaged one, which runs elsewhere */
    if (display == DISPLAY_STORED && stored == RUN_ACTIVE)
        return WIRE_TRIAL_STATE_RUNNING;
    if (display == DISPLAY_STORED)
        return (enum wire_trial_state)state_number(&wire_enum_trial_state, run_state_name(stored));
    return shown[display];
}

static const struct wire_trial_metrics_workload *validation_to_wire(const struct store_validation *v, struct arena *a)
{
    if (!v->id)
        return NULL;
    struct wire_common_metrics *metrics = arena_new(a, struct wire_common_metrics);
    metrics->avg_metrics = v->metrics;
    struct wire_trial_metrics_workload *w = arena_new(a, struct wire_trial_metrics_workload);
    *w = (struct wire_trial_metrics_workload){.end_time = v->end_us,
                                              .has_end_time = true,
                                              .metrics = metrics,
                                              .total_batches = v->total_batches};
    return w;
}

void job_summary_to_wire(const struct core_job_view *job, const struct core_wait_view *wait,
                         struct wire_job_summary *ret)
{
    *ret = (struct wire_job_summary){.state = job->scheduled ? WIRE_JOB_STATE_SCHEDULED : WIRE_JOB_STATE_QUEUED,
                                     .jobs_ahead = job->jobs_ahead,
                                     .reason = wait->reason,
                                     .has_estimated_start = wait->estimated_start_us != 0,
                                     .estimated_start = wait->estimated_start_us};
}

void trial_to_wire(const struct store_trial *t, enum display_state display, int64_t now_us, struct arena *a,
                   struct wire_trial *ret)
{
    const struct trial_row *row = &t->row;
    int64_t end_us = row->end_us ? row->end_us : now_us;
    *ret = (struct wire_trial){.id = row->id,
                               .experiment_id = row->experiment_id,
                               .start_time = row->start_us,
                               .has_start_time = row->start_us != 0,
                               .end_time = row->end_us,
                               .has_end_time = row->end_us != 0,
                               .state = trial_state_to_wire(row->state, display),
                               .restarts = row->restarts,
                               .hparams = row->hparams,
                               .total_batches_processed = t->total_batches,
                               .best_validation = validation_to_wire(&t->best_validation, a),
                               .latest_validation = validation_to_wire(&t->latest_validation, a),
                               .runner_state = t->runner_state,
                               .wall_clock_time = row->start_us ? (double)(end_us - row->start_us) / 1e6 : 0,
                               .warm_start_checkpoint_uuid = arena_strdup(a, row->warm_start_checkpoint),
                               .task_id = arena_strdup(a, row->task_id),
                               .total_checkpoint_size = (uint64_t)t->checkpoint_size,
                               .checkpoint_count = t->checkpoint_count,
                               .summary_metrics = t->summary_metrics,
                               .task_ids = t->task_ids,
                               .task_ids_n = t->task_ids_n,
                               .searcher_metric_value = t->searcher_metric,
                               .log_retention_days = t->log_retention_days,
                               .has_log_retention_days = t->has_log_retention,
                               .metadata = t->metadata,
                               .log_policy_matched = t->log_policy_matched};
}

/* ---- checkpoints ------------------------------------------------------------------------------------------------- */

static const struct wire_common_metrics *metrics_to_wire(const char *avg, struct arena *a)
{
    struct wire_common_metrics *m = arena_new(a, struct wire_common_metrics);
    m->avg_metrics = avg ? avg : "{}"; /* clients index the object without checking whether it exists */
    return m;
}

void checkpoint_to_wire(struct req *r, const struct store_checkpoint *c, struct wire_checkpoint *ret)
{
    struct arena *a = &r->arena;
    const char *config = access_sees_secrets(r, c->owner_id) ? c->experiment_config
                                                             : expconf_hide_secrets(c->experiment_config, NULL, a);
    struct wire_checkpoint_training_metadata *t = arena_new(a, struct wire_checkpoint_training_metadata);
    *t = (struct wire_checkpoint_training_metadata){.trial_id = c->trial_id,
                                                    .has_trial_id = c->trial_id != 0,
                                                    .experiment_id = c->experiment_id,
                                                    .has_experiment_id = c->experiment_id != 0,
                                                    .experiment_config = config,
                                                    .hparams = c->hparams,
                                                    .training_metrics = metrics_to_wire(c->training_metrics, a),
                                                    .validation_metrics = metrics_to_wire(c->validation_metrics, a),
                                                    .searcher_metric = c->searcher_metric,
                                                    .has_searcher_metric = c->has_searcher_metric};
    *ret = (struct wire_checkpoint){.task_id = c->task_id,
                                    .allocation_id = c->allocation_id,
                                    .uuid = c->uuid,
                                    .report_time = c->report_us,
                                    .has_report_time = c->report_us != 0,
                                    .metadata = c->metadata,
                                    .state = (enum wire_checkpoint_state)state_number(&wire_enum_checkpoint_state,
                                                                                      c->state),
                                    .training = t,
                                    .storage_id = c->storage_id,
                                    .has_storage_id = c->has_storage};
    resources_to_wire(c->resources, a, &ret->resources, &ret->resources_n);
}

/* ---- allocations ------------------------------------------------------------------------------------------------- */

/* The API's enum of allocation states has neither PENDING nor ASSIGNED, so that both have to be shown as another
 * state. */
static enum wire_task_state allocation_state_to_wire(enum allocation_state state)
{
    return (enum wire_task_state)state_number(&wire_enum_task_state, allocation_state_name(state));
}

const char *exit_to_text(enum exit_kind kind, int32_t code, struct arena *a)
{
    if (kind == EXIT_NONE)
        return NULL;
    const char *text = exit_kind_text(kind);
    return kind == EXIT_FAILED ? arena_printf(a, "%s (exit code %d)", text, code) : text;
}

void allocation_to_wire(const struct allocation_row *x, struct arena *a, struct wire_task_allocation *ret)
{
    char start[CLOCK_TEXT_MAX] = "", end[CLOCK_TEXT_MAX] = "";
    if (x->start_us)
        clock_format(x->start_us, start);
    if (x->end_us)
        clock_format(x->end_us, end);
    *ret = (struct wire_task_allocation){.task_id = arena_strdup(a, x->task_id),
                                         .state = allocation_state_to_wire(x->state),
                                         .is_ready = x->ready,
                                         .has_is_ready = true,
                                         .start_time = x->start_us ? arena_strdup(a, start) : NULL,
                                         .end_time = x->end_us ? arena_strdup(a, end) : NULL,
                                         .allocation_id = arena_strdup(a, x->id),
                                         .slots = x->slots,
                                         .exit_reason = exit_to_text(x->exit_kind, x->exit_code, a),
                                         .status_code = x->exit_code,
                                         .has_status_code = x->exit_kind == EXIT_OK || x->exit_kind == EXIT_FAILED};
}

/* ---- templates --------------------------------------------------------------------------------------------------- */

const struct wire_template *template_to_wire(struct req *r, const struct store_template *s)
{
    struct wire_template *w = arena_new(&r->arena, struct wire_template);
    const char *config = access_sees_secrets(r, s->user_id) ? s->config
                                                            : expconf_hide_secrets(s->config, SCHEMA_MASKED, &r->arena);
    *w = (struct wire_template){.name = s->name, .config = config, .workspace_id = s->workspace_id};
    return w;
}
