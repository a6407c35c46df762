/* PATCH of an experiment, and its labels: what people change without changing its state. The stored configuration is
 * changed as well, so that it always says what holds now (original_config stays as it was submitted). Limits and
 * shares of slots are given to the core in the same transaction; they count from the scheduler's next decision on. */
#include <math.h>
#include <string.h>

#include "api/cluster/config_policies.h"
#include "api/experiments/experiment_actions.h"
#include "api/pipeline/convert.h"
#include "api/pipeline/internal.h"
#include "common/json/json.h"
#include "core/config/expconf.h"
#include "gen/config_numbers.h"
#include "gen/handlers.h"
#include "store/experiments/removals.h"

typedef struct wire_experiment_patch_experiment patch;
typedef struct wire_experiment_patch_experiment_patch_resources patch_resources;
typedef struct wire_experiment_patch_experiment_patch_checkpoint_storage patch_policy;

/* ---- what may be changed ----------------------------------------------------------------------------------------- */

static int check_resources(const patch_resources *p, struct error *err)
{
    if (p->has_max_slots && p->max_slots < EXP_RESOURCES_MAX_SLOTS_MIN)
        return error_set(err, ERR_INVALID, "resources.max_slots is %d, allowed is 0 or more, or null for no limit",
                         p->max_slots);
    if (p->has_weight && !(p->weight > 0 && isfinite(p->weight)))
        return error_set(err, ERR_INVALID, "resources.weight is %g, allowed is a number above 0", p->weight);
    if (p->has_priority && (p->priority < EXP_RESOURCES_PRIORITY_MIN || p->priority > EXP_RESOURCES_PRIORITY_MAX))
        return error_set(err, ERR_INVALID, "resources.priority is %d, allowed is %d to %d (lower goes first)",
                         p->priority, EXP_RESOURCES_PRIORITY_MIN, EXP_RESOURCES_PRIORITY_MAX);
    return 0;
}

static int check_policy(const patch_policy *p, struct error *err)
{
    if (p->save_experiment_best < 0 || p->save_trial_best < 0 || p->save_trial_latest < 0)
        return error_set(err, ERR_INVALID,
                         "checkpoint_storage: save_experiment_best, save_trial_best and save_trial_latest must be 0 or "
                         "more");
    return 0;
}

/* bytes of the list as JSON; the number and length of labels are limited by experiment-config.json */
enum { LABELS_BYTES_MAX = 256 * 1024 };

static int check_texts(const patch *p, struct error *err)
{
    cleanup_json struct json_object *part = json_object_new_object();
    struct json_object *labels = NULL;
    if (p->labels && strlen(p->labels) > LABELS_BYTES_MAX)
        return error_set(err, ERR_INVALID, "labels: %zu bytes, at most %d are allowed", strlen(p->labels),
                         LABELS_BYTES_MAX);
    if (p->labels && json_parse(p->labels, strlen(p->labels), &labels, err) < 0)
        return error_wrap(err, "labels");
    if (labels)
        schema_put(exp_values, part, labels, labels);
    if (p->name)
        schema_put(exp_values, part, name, json_object_new_string(p->name));
    if (p->description)
        schema_put(exp_values, part, description, json_object_new_string(p->description));
    return expconf_check_part(part, err);
}

static int check_patch(struct req *r, const patch *p, struct error *err)
{
    const char **labels;
    size_t n;
    if (check_texts(p, err) < 0)
        return -1;
    if (p->labels && string_list_of_json(p->labels, &r->arena, &labels, &n, err) < 0)
        return error_wrap(err, "labels");
    if (p->resources && check_resources(p->resources, err) < 0)
        return -1;
    return p->checkpoint_storage ? check_policy(p->checkpoint_storage, err) : 0;
}

/* Whether the request sets max_slots to null. Only max_slots may be null, and it arrives as a resources message in
 * which no field is set. */
static bool clears_max_slots(const patch_resources *p)
{
    return !p->has_max_slots && !p->has_weight && !p->has_priority;
}

/* ---- the stored configuration ------------------------------------------------------------------------------------ */

static void change_resources(struct json_object *config, const patch_resources *p)
{
    struct json_object *o = schema_section(exp_values, config, resources);
    if (p->has_max_slots)
        schema_put(exp_resources, o, max_slots, json_object_new_int(p->max_slots));
    if (clears_max_slots(p))
        schema_put(exp_resources, o, max_slots, NULL);
    if (p->has_weight)
        schema_put(exp_resources, o, weight, json_new_double(p->weight));
    if (p->has_priority)
        schema_put(exp_resources, o, priority, json_object_new_int(p->priority));
}

static void change_policy(struct json_object *config, const patch_policy *p)
{
    struct json_object *o = schema_section(exp_values, config, checkpoint_storage);
    schema_put(exp_checkpoint_storage, o, save_experiment_best, json_object_new_int(p->save_experiment_best));
    schema_put(exp_checkpoint_storage, o, save_trial_best, json_object_new_int(p->save_trial_best));
    schema_put(exp_checkpoint_storage, o, save_trial_latest, json_object_new_int(p->save_trial_latest));
}

static int change_texts(struct json_object *config, const patch *p, struct error *err)
{
    struct json_object *labels = NULL;
    if (p->name)
        schema_put(exp_values, config, name, json_object_new_string(p->name));
    if (p->description)
        schema_put(exp_values, config, description, json_object_new_string(p->description));
    if (p->labels && json_parse(p->labels, strlen(p->labels), &labels, err) < 0)
        return -1;
    if (p->labels)
        schema_put(exp_values, config, labels, labels);
    return 0;
}

static int changed_config(const char *old, const patch *p, struct arena *a, const char **ret, struct error *err)
{
    cleanup_json struct json_object *config = NULL;
    if (json_parse(old, strlen(old), &config, err) < 0 || change_texts(config, p, err) < 0)
        return error_wrap(err, "stored configuration");
    if (p->resources)
        change_resources(config, p->resources);
    if (p->checkpoint_storage)
        change_policy(config, p->checkpoint_storage);
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    json_print(config, &text);
    *ret = arena_strdup(a, strbuf_str(&text));
    return 0;
}

/* Stores the change, on top of what the writer's thread reads. */
static int store_patch(struct store *db, const patch *p, struct error *err)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct store_experiment x;
    const char *config = NULL;
    struct store_experiment_patch row = {.name = p->name,
                                         .description = p->description,
                                         .notes = p->notes,
                                         .labels = p->labels};
    if (store_experiment_get(db, p->id, /* with_config= */ true, &a, &x, err) < 0)
        return -1;
    if (x.archived)
        return error_set(err, ERR_PRECONDITION, "experiment %d is archived; unarchive it before you change it", x.id);
    if (changed_config(x.config, p, &a, &config, err) < 0 || store_experiment_patch(db, p->id, &row, err) < 0)
        return -1;
    if (p->checkpoint_storage && store_collection_ask(db, p->id, err) < 0)
        return -1;
    return store_experiment_set_config(db, p->id, config, x.resource_pool, err);
}

/* ---- the request ------------------------------------------------------------------------------------------------- */

static const patch *patch_of(const struct req *r)
{
    return ((const struct wire_patch_experiment_request *)r->in)->experiment;
}

static int patch_reply(struct req *r, struct store *db, struct error *err)
{
    struct wire_patch_experiment_response *ret = r->ret;
    struct store_experiment x;
    if (store_experiment_get(db, patch_of(r)->id, /* with_config= */ true, &r->arena, &x, err) < 0)
        return -1;
    struct wire_experiment *w = arena_new(&r->arena, struct wire_experiment);
    experiment_to_wire(r, &x, DISPLAY_STORED, w);
    ret->experiment = w;
    return 0;
}

static void notify_of_policy(const struct req *r)
{
    r->api->services.removals_due(r->api->services.ctx);
}

static int notify_of_policy_step(struct req *r, struct core *core, struct error *err)
{
    notify_of_policy(r);
    return 0;
}

static int write_step(struct req *r, struct store *db, struct error *err)
{
    if (store_patch(db, patch_of(r), err) < 0 || patch_reply(r, db, err) < 0)
        return -1;
    return patch_of(r)->checkpoint_storage ? req_then_loop(r, notify_of_policy_step) : 0;
}

static int store_beside(struct store *db, void *ctx, struct error *err)
{
    return store_patch(db, patch_of(ctx), err);
}

static void stored_beside(void *ctx, const struct error *err)
{
    struct error copy = ERROR_INIT;
    if (!err) {
        notify_of_policy(ctx);
        req_resume_read(ctx, patch_reply);
        return;
    }
    error_set(&copy, err->kind, "%s", error_msg(err));
    req_finish(ctx, &copy);
}

/* ERR_NOT_FOUND: the core does not hold the experiment, so that only the store has to change. */
static int tell_core(struct req *r, struct core *core, const patch *p, struct error *err)
{
    const patch_resources *from = p->resources;
    struct core_resources_patch resources = {.set_max_slots = from->has_max_slots || clears_max_slots(from),
                                             .max_slots = from->has_max_slots ? from->max_slots : -1,
                                             .set_weight = from->has_weight,
                                             .weight = from->weight,
                                             .set_priority = from->has_priority,
                                             .priority = from->priority};
    struct core_event ev = {.type = CORE_EXPERIMENT_RESOURCES,
                            .now_us = r->now_us,
                            .resources = {.experiment_id = p->id, .patch = &resources}};
    struct companion companion = {.store = store_beside, .done = stored_beside, .ctx = r};
    return req_core_step(r, core, &ev, &companion, err);
}

static int patch_step(struct req *r, struct core *core, struct error *err)
{
    cleanup_error struct error failed = ERROR_INIT;
    if (tell_core(r, core, patch_of(r), &failed) == 0)
        return req_wait(r, NULL);
    return error_pass_unless(&failed, ERR_NOT_FOUND, err) ? -1 : req_then_write(r, write_step);
}

/* Checks the change against the configuration policies of the experiment's workspace. */
static int check_policies(struct req *r, struct store *db, const patch *p, struct error *err)
{
    const patch_resources *from = p->resources;
    const patch_policy *kept = p->checkpoint_storage;
    struct policy_change change = {.set_collection = kept != NULL};
    struct store_experiment x;
    if (!from && !kept)
        return 0;
    if (from) {
        change.set_priority = from->has_priority;
        change.priority = from->priority;
        change.set_weight = from->has_weight;
        change.weight = from->weight;
        change.set_max_slots = from->has_max_slots || clears_max_slots(from);
        change.max_slots = from->has_max_slots ? from->max_slots : -1;
    }
    if (kept) {
        change.save_experiment_best = kept->save_experiment_best;
        change.save_trial_best = kept->save_trial_best;
        change.save_trial_latest = kept->save_trial_latest;
    }
    if (store_experiment_get(db, p->id, /* with_config= */ false, &r->arena, &x, err) < 0)
        return -1;
    return config_policies_check_change(r, db, POLICY_EXPERIMENT, x.workspace_id, &change, err);
}

int api_patch_experiment(struct req *r, struct store *db, const struct wire_patch_experiment_request *in,
                         struct wire_patch_experiment_response *ret, struct error *err)
{
    const patch *p = in->experiment;
    if (check_patch(r, p, err) < 0 || check_policies(r, db, p, err) < 0)
        return -1;
    return p->resources ? req_then_loop(r, patch_step) : req_then_write(r, write_step);
}

/* ---- labels ------------------------------------------------------------------------------------------------------ */

static int change_label(struct req *r, struct store *db, int32_t id, const char *label, bool add, const char ***ret,
                        size_t *ret_n, struct error *err)
{
    struct store_experiment x;
    if (store_experiment_get(db, id, /* with_config= */ false, &r->arena, &x, err) < 0)
        return -1;
    const char **old;
    size_t n, kept = 0;
    if (string_list_of_json(x.labels, &r->arena, &old, &n, err) < 0)
        return -1;
    const char **labels = arena_array(&r->arena, const char *, n + 1);
    for (size_t i = 0; i < n; i++)
        if (strcmp(old[i], label) != 0)
            labels[kept++] = old[i];
    if (add)
        labels[kept++] = label;
    patch p = {.id = id, .labels = json_of_string_list(labels, kept, &r->arena)};
    if ((add && check_texts(&p, err) < 0) || store_patch(db, &p, err) < 0)
        return -1;
    *ret = labels;
    *ret_n = kept;
    return 0;
}

int api_put_experiment_label(struct req *r, struct store *db, const struct wire_put_experiment_label_request *in,
                             struct wire_put_experiment_label_response *ret, struct error *err)
{
    if (!in->label || !*in->label)
        return error_set(err, ERR_INVALID, "the label is empty");
    return change_label(r, db, in->experiment_id, in->label, true, &ret->labels, &ret->labels_n, err);
}

int api_delete_experiment_label(struct req *r, struct store *db, const struct wire_delete_experiment_label_request *in,
                                struct wire_delete_experiment_label_response *ret, struct error *err)
{
    return change_label(r, db, in->experiment_id, in->label ? in->label : "", false, &ret->labels, &ret->labels_n, err);
}
