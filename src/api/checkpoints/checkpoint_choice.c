#include "api/checkpoints/checkpoint_choice.h"

#include <stdlib.h>
#include <string.h>

#include "api/pipeline/convert.h"
#include "api/pipeline/raw.h"
#include "api/pipeline/raw_handlers.h"
#include "common/base/clock.h"
#include "common/json/json.h"
#include "gen/experiment_config.h"
#include "store/experiments/experiments.h"

int checkpoints_to_remove(struct store *db, int32_t experiment_id, const struct gc_policy *policy, struct arena *a,
                          struct store_texts *ret_uuids, struct error *err)
{
    struct store_collection_candidate *row;
    size_t n, gone = 0;
    if (store_checkpoints_for_collection(db, experiment_id, a, &row, &n, err) < 0)
        return -1;
    struct gc_candidate *candidate = arena_array(a, struct gc_candidate, n + 1);
    const char **uuid = arena_array(a, const char *, n + 1);
    for (size_t i = 0; i < n; i++)
        candidate[i] = (struct gc_candidate){.trial_id = row[i].trial_id,
                                             .steps_completed = row[i].steps_completed,
                                             .has_metric = row[i].has_metric,
                                             .metric = row[i].metric,
                                             .validation_id = row[i].validation_id};
    gc_choose(policy, candidate, n);
    for (size_t i = 0; i < n; i++)
        if (!candidate[i].keep && !row[i].in_use)
            uuid[gone++] = row[i].uuid;
    *ret_uuids = (struct store_texts){uuid, gone};
    return 0;
}

int checkpoint_policy(struct store *db, int32_t experiment_id, struct gc_policy *ret, struct error *err)
{
    cleanup_arena struct arena a = ARENA_INIT;
    cleanup_json struct json_object *config = NULL;
    struct json_object *storage;
    struct exp_checkpoint_storage s;
    struct store_experiment x;
    if (store_experiment_get(db, experiment_id, /* with_config= */ true, &a, &x, err) < 0 ||
        json_parse(x.config, strlen(x.config), &config, err) < 0)
        return -1;
    if (!json_object_object_get_ex(config, "checkpoint_storage", &storage))
        return error_set(err, ERR_PRECONDITION, "experiment %d has no checkpoint_storage in its configuration",
                         experiment_id);
    exp_checkpoint_storage_read(storage, &a, &s);
    *ret = (struct gc_policy){.experiment_best = s.save_experiment_best,
                              .trial_best = s.save_trial_best,
                              .trial_latest = s.save_trial_latest,
                              .smaller_is_better = x.smaller_is_better};
    return 0;
}

/* ---- GET /experiments/:id/preview_gc ----------------------------------------------------------------------------- */

static int policy_parameter(struct req *r, const char *name, int *ret, struct error *err)
{
    const char *text;
    char *end = NULL;
    if (req_query_param(r, name, &text, err) < 0)
        return -1;
    long n = text ? strtol(text, &end, 10) : -1;
    if (!text || end == text || *end || n < 0 || n > INT32_MAX)
        return error_set(err, ERR_INVALID, "%s is '%s', allowed is a number from 0", name, text ? text : "");
    *ret = (int)n;
    return 0;
}

static struct json_object *json_of(const char *text)
{
    struct json_object *v = NULL;
    return text && json_parse(text, strlen(text), &v, NULL) == 0 ? v : NULL;
}

static struct json_object *preview_of(const struct store_checkpoint *c)
{
    char time[CLOCK_TEXT_MAX];
    struct json_object *o = json_object_new_object();
    clock_format(c->report_us, time);
    json_object_object_add(o, "UUID", json_object_new_string(c->uuid));
    json_object_object_add(o, "TrialID", json_object_new_int(c->trial_id));
    json_object_object_add(o, "StepsCompleted", json_object_new_int(c->steps_completed));
    json_object_object_add(o, "State", json_object_new_string(c->state));
    json_object_object_add(o, "ReportTime", json_object_new_string(time));
    json_object_object_add(o, "Resources", json_of(c->resources));
    json_object_object_add(o, "Metadata", json_of(c->metadata));
    json_object_object_add(o, "Size", json_object_new_int64(c->size));
    struct json_object *metrics = json_of(c->validation_metrics);
    json_object_object_add(o, "ValidationMetrics", metrics);
    if (metrics) { /* the released client shows the metric only if this is set */
        struct json_object *step = json_object_new_object();
        json_object_object_add(step, "validation", json_object_get(metrics));
        json_object_object_add(o, "step", step);
    }
    return o;
}

int raw_preview_gc(struct req *r, struct store *db, struct error *err)
{
    struct gc_policy policy = {0};
    struct store_experiment x;
    struct store_texts uuids;
    struct store_checkpoint *c;
    size_t n;
    int32_t id;
    if (parse_id(req_raw_param(r, 0), "experiment", &id, err) < 0 ||
        policy_parameter(r, "save_experiment_best", &policy.experiment_best, err) < 0 ||
        policy_parameter(r, "save_trial_best", &policy.trial_best, err) < 0 ||
        policy_parameter(r, "save_trial_latest", &policy.trial_latest, err) < 0 ||
        store_experiment_get(db, id, /* with_config= */ false, &r->arena, &x, err) < 0)
        return -1;
    policy.smaller_is_better = x.smaller_is_better;
    if (checkpoints_to_remove(db, id, &policy, &r->arena, &uuids, err) < 0 ||
        store_checkpoints_by_uuid(db, uuids, &r->arena, &c, &n, err) < 0)
        return -1;
    cleanup_json struct json_object *reply = json_object_new_object();
    struct json_object *list = json_object_new_array();
    for (size_t i = 0; i < n; i++)
        json_object_array_add(list, preview_of(&c[i]));
    json_object_object_add(reply, "checkpoints", list);
    json_object_object_add(reply, "metric_name", json_object_new_string(x.searcher_metric));
    json_print(reply, &r->reply.body);
    return 0;
}
