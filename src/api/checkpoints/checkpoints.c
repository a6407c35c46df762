/* Checkpoints: reports from tasks, lists and details for people, and what is left of them after files were removed. */
#include <stdlib.h>
#include <string.h>

#include "api/checkpoints/checkpoint_access.h"
#include "api/pipeline/convert.h"
#include "api/pipeline/internal.h"
#include "common/base/hash.h"
#include "common/base/must.h"
#include "common/json/json.h"
#include "common/task/checkpoint_place.h"
#include "core/core.h"
#include "gen/handlers.h"
#include "store/cluster/tasks.h"
#include "store/experiments/checkpoints.h"
#include "store/experiments/experiments.h"
#include "store/experiments/removals.h"
#include "store/experiments/trials.h"
#include "store/models/models.h"

/* ---- reports: stored, and given to the core (a trial resumes from its newest checkpoint), in one transaction ----- */

/* A UUID that requests are about to report. The core takes a report before the store has checked it, so two trials
 * must not report the same UUID at once. While a trial's requests have claimed the UUID, nobody else can report it,
 * and what those requests read about it stays true. */
struct reporting {
    char uuid[CORE_UUID_MAX];
    int32_t trial_id;
    int n; /* number of requests that hold the claim, all for the same trial */
    UT_hash_handle hh;
};

struct report {
    struct store_checkpoint checkpoint;
    struct reporting *claim; /* NULL: nothing is claimed yet */
};

static int claim_uuid(struct req *r, struct report *p, struct error *err)
{
    const struct store_checkpoint *c = &p->checkpoint;
    struct reporting *known;
    HASH_FIND_STR(r->api->reporting, c->uuid, known);
    if (known && known->trial_id != c->trial_id)
        return error_set(err, ERR_CONFLICT,
                         "checkpoint %s is being reported by another trial: nothing was changed; a new checkpoint "
                         "needs a UUID of its own",
                         c->uuid);
    if (!known) {
        known = must_calloc(1, sizeof(*known));
        snprintf(known->uuid, sizeof(known->uuid), "%s", c->uuid);
        known->trial_id = c->trial_id;
        HASH_ADD_STR(r->api->reporting, uuid, known);
    }
    known->n++;
    p->claim = known;
    return 0;
}

static void end_report(struct req *r)
{
    struct report *p = r->state;
    if (!p || !p->claim || --p->claim->n > 0)
        return;
    HASH_DEL(r->api->reporting, p->claim);
    free(p->claim);
}

static int store_checkpoint_of(struct store *db, void *ctx, struct error *err)
{
    const struct req *r = ctx;
    const struct report *p = r->state;
    return store_checkpoint_put(db, &p->checkpoint, err);
}

static void checkpoint_stored(void *ctx, const struct error *err)
{
    struct error copy = ERROR_INIT;
    error_copy(&copy, err);
    req_finish(ctx, &copy);
}

static int checkpointed_step(struct req *r, struct core *core, struct error *err)
{
    const struct report *p = r->state;
    const struct store_checkpoint *c = &p->checkpoint;
    struct core_event ev = {.type = CORE_TRIAL_CHECKPOINTED,
                            .now_us = r->now_us,
                            .checkpoint = {.trial_id = c->trial_id,
                                           .uuid = c->uuid,
                                           .steps_completed = c->steps_completed}};
    struct companion companion = {.store = store_checkpoint_of, .done = checkpoint_stored, .ctx = r};
    if (api_core_step(r->api, core, &ev, &companion, err) < 0)
        return -1;
    return req_wait(r, NULL);
}

static int judge_step(struct req *r, struct store *db, struct error *err)
{
    const struct report *p = r->state;
    if (store_checkpoint_check_trial(db, p->checkpoint.uuid, p->checkpoint.trial_id, err) < 0)
        return -1;
    return req_then_loop(r, checkpointed_step);
}

static int claim_step(struct req *r, struct core *core, struct error *err)
{
    return claim_uuid(r, r->state, err) < 0 ? -1 : req_then_read(r, judge_step);
}

static int steps_of(const char *metadata, int32_t *ret, struct error *err)
{
    cleanup_json struct json_object *tree = NULL;
    struct json_object *steps = NULL;
    if (json_parse(metadata, strlen(metadata), &tree, err) < 0)
        return error_wrap(err, "metadata");
    if (!json_object_object_get_ex(tree, "steps_completed", &steps) || !json_object_is_type(steps, json_type_int))
        return error_set(err, ERR_INVALID,
                         "metadata.steps_completed is missing; it is the number of batches the checkpoint has trained");
    *ret = json_object_get_int(steps);
    return 0;
}

static const char *resources_json(const struct wire_map_int64 *resource, size_t n, struct arena *a)
{
    cleanup_strbuf struct strbuf out = STRBUF_INIT;
    strbuf_addc(&out, '{');
    for (size_t i = 0; i < n; i++) {
        if (i)
            strbuf_addc(&out, ',');
        strbuf_add_json(&out, resource[i].key, strlen(resource[i].key));
        strbuf_addf(&out, ":%lld", (long long)resource[i].value);
    }
    strbuf_addc(&out, '}');
    return arena_strdup(a, out.s);
}

static int check_form(const struct wire_checkpoint *w, struct error *err)
{
    const char *uuid = w && w->uuid ? w->uuid : "";
    if (!checkpoint_uuid_is_valid(uuid) || strpbrk(uuid, "ABCDEF"))
        return error_set(err, ERR_INVALID,
                         "checkpoint.uuid '%.60s' is not a UUID in lower case, such as "
                         "0a1b2c3d-1111-4222-8333-444455556666",
                         uuid);
    if (w->state != WIRE_CHECKPOINT_STATE_UNSPECIFIED && w->state != WIRE_CHECKPOINT_STATE_COMPLETED)
        return error_set(err, ERR_INVALID, "checkpoint %s: only STATE_COMPLETED is reported", uuid);
    return 0;
}

/* The allocation that reports: a task's own, by its session. A person may name any allocation of the trial's task. */
static int allocation_of(struct req *r, const struct wire_checkpoint *w, const char **ret, struct error *err)
{
    size_t n = strlen(w->task_id);
    const char *named = w->allocation_id && *w->allocation_id ? w->allocation_id : NULL;
    const char *own = r->who.kind == PRINCIPAL_TASK ? r->who.allocation_id : NULL;
    *ret = named ? named : own;
    if (!named || (own ? strcmp(named, own) == 0 : strncmp(named, w->task_id, n) == 0 && named[n] == '.'))
        return 0;
    return error_set(err, ERR_INVALID, "checkpoint.allocation_id '%.200s' is no allocation of task %s%s", named,
                     w->task_id, own ? " to which this session belongs" : "");
}

static int check_storage(struct req *r, struct store *db, const struct wire_checkpoint *w, int32_t trial_id,
                         struct error *err)
{
    bool registered = true;
    if (w->has_storage_id && store_trial_has_storage(db, trial_id, w->storage_id, &registered, err) < 0)
        return -1;
    if (registered)
        return 0;
    return error_set(err, ERR_INVALID,
                     "checkpoint.storage_id %d is no storage of trial %d: the trial registers its storage by "
                     "POST /api/v1/runs/start",
                     w->storage_id, trial_id);
}

int api_report_checkpoint(struct req *r, struct store *db, const struct wire_report_checkpoint_request *in,
                          struct wire_report_checkpoint_response *ret, struct error *err)
{
    const struct wire_checkpoint *w = in->checkpoint;
    struct report *p = arena_new(&r->arena, struct report);
    struct store_task task;
    const char *allocation_id;
    if (check_form(w, err) < 0 || store_task_get(db, w->task_id ? w->task_id : "", &r->arena, &task, err) < 0)
        return -1;
    if (!task.has_trial)
        return error_set(err, ERR_INVALID, "task '%s' is no trial; only trials report checkpoints", w->task_id);
    if (checkpoint_check_report(r, db, task.trial_id, err) < 0 || allocation_of(r, w, &allocation_id, err) < 0 ||
        check_storage(r, db, w, task.trial_id, err) < 0)
        return -1;
    p->checkpoint = (struct store_checkpoint){.uuid = w->uuid,
                                              .task_id = w->task_id,
                                              .allocation_id = allocation_id,
                                              .trial_id = task.trial_id,
                                              .report_us = w->has_report_time ? w->report_time : r->now_us,
                                              .state = "COMPLETED",
                                              .resources = resources_json(w->resources, w->resources_n, &r->arena),
                                              .metadata = w->metadata ? w->metadata : "{}",
                                              .has_storage = w->has_storage_id,
                                              .storage_id = w->storage_id};
    if (steps_of(p->checkpoint.metadata, &p->checkpoint.steps_completed, err) < 0)
        return -1;
    r->state = p;
    r->on_end = end_report;
    return req_then_loop(r, claim_step);
}

/* ---- get and list ------------------------------------------------------------------------------------------------ */

static int get_checkpoint(struct req *r, struct store *db, const char *uuid, const struct wire_checkpoint **ret,
                          struct error *err)
{
    struct store_checkpoint c;
    if (store_checkpoint_get(db, uuid, &r->arena, &c, err) < 0)
        return -1;
    struct wire_checkpoint *w = arena_new(&r->arena, struct wire_checkpoint);
    checkpoint_to_wire(r, &c, w);
    *ret = w;
    return 0;
}

int api_get_checkpoint(struct req *r, struct store *db, const struct wire_get_checkpoint_request *in,
                       struct wire_get_checkpoint_response *ret, struct error *err)
{
    const char *uuid;
    if (store_checkpoint_find(db, in->checkpoint_uuid, &r->arena, &uuid, err) < 0)
        return -1;
    return get_checkpoint(r, db, uuid, &ret->checkpoint, err);
}

static int list_checkpoints(struct req *r, struct store *db, struct store_checkpoint_filter *f,
                            const enum wire_checkpoint_state *state, size_t state_n, struct wire_checkpoint **ret,
                            size_t *ret_n, const struct wire_pagination **ret_page, struct error *err)
{
    const char **text = arena_array(&r->arena, const char *, state_n + 1);
    for (size_t i = 0; i < state_n; i++)
        text[i] = state_text(&wire_enum_checkpoint_state, (int32_t)state[i]);
    f->states = (struct store_texts){text, state_n};
    struct store_checkpoint_list found;
    if (store_checkpoint_list(db, f, &r->arena, &found, err) < 0)
        return -1;
    *ret = arena_array(&r->arena, struct wire_checkpoint, found.checkpoint_n + 1);
    *ret_n = found.checkpoint_n;
    for (size_t i = 0; i < found.checkpoint_n; i++)
        checkpoint_to_wire(r, &found.checkpoint[i], &(*ret)[i]);
    *ret_page = pagination(f->page, found.window, &r->arena);
    return 0;
}

/* Whether the list is descending. Without an order in the request, a list by the searcher's metric begins with the
 * best value. */
static bool is_descending(const struct store_experiment *x, enum wire_checkpoint_sort_by by, enum wire_order_by order)
{
    if (by == WIRE_CHECKPOINT_SORT_BY_SEARCHER_METRIC && order == WIRE_ORDER_BY_UNSPECIFIED)
        return !x->smaller_is_better;
    return order == WIRE_ORDER_BY_DESC;
}

int api_get_experiment_checkpoints(struct req *r, struct store *db,
                                   const struct wire_get_experiment_checkpoints_request *in,
                                   struct wire_get_experiment_checkpoints_response *ret, struct error *err)
{
    struct store_experiment x;
    struct store_checkpoint_filter f = {.experiment_id = in->id,
                                        .sort_by = (int32_t)in->sort_by_attr,
                                        .sort_by_metric = in->sort_by_metric,
                                        .page = page_of(in->offset, in->limit)};
    if (store_experiment_get(db, in->id, /* with_config= */ false, &r->arena, &x, err) < 0)
        return -1;
    f.descending = is_descending(&x, in->sort_by_attr, in->order_by);
    return list_checkpoints(r, db, &f, in->states, in->states_n, &ret->checkpoints, &ret->checkpoints_n,
                            &ret->pagination, err);
}

int api_get_trial_checkpoints(struct req *r, struct store *db, const struct wire_get_trial_checkpoints_request *in,
                              struct wire_get_trial_checkpoints_response *ret, struct error *err)
{
    struct store_trial t;
    struct store_experiment x;
    struct store_checkpoint_filter f = {.trial_id = in->id,
                                        .sort_by = (int32_t)in->sort_by_attr,
                                        .sort_by_metric = in->sort_by_metric,
                                        .page = page_of(in->offset, in->limit)};
    if (store_trial_get(db, in->id, /* full= */ false, &r->arena, &t, err) < 0 ||
        store_experiment_get(db, t.row.experiment_id, /* with_config= */ false, &r->arena, &x, err) < 0)
        return -1;
    f.descending = is_descending(&x, in->sort_by_attr, in->order_by);
    return list_checkpoints(r, db, &f, in->states, in->states_n, &ret->checkpoints, &ret->checkpoints_n,
                            &ret->pagination, err);
}

/* ---- change ------------------------------------------------------------------------------------------------------ */

int api_post_checkpoint_metadata(struct req *r, struct store *db,
                                 const struct wire_post_checkpoint_metadata_request *in,
                                 struct wire_post_checkpoint_metadata_response *ret, struct error *err)
{
    const struct wire_checkpoint *w = in->checkpoint;
    if (!w || !w->uuid)
        return error_set(err, ERR_INVALID, "checkpoint.uuid is missing");
    if (store_checkpoint_set_metadata(db, w->uuid, w->metadata ? w->metadata : "{}", err) < 0)
        return -1;
    return get_checkpoint(r, db, w->uuid, &ret->checkpoint, err);
}

/* Takes reports of what is left of checkpoints after files were removed. They come from the trial's task, or from a
 * task that collects checkpoints. */
int api_patch_checkpoints(struct req *r, struct store *db, const struct wire_patch_checkpoints_request *in,
                          struct wire_patch_checkpoints_response *ret, struct error *err)
{
    for (size_t i = 0; i < in->checkpoints_n; i++) {
        const struct wire_checkpoint_patch_checkpoint *c = &in->checkpoints[i];
        if (!c->resources)
            continue;
        const char *left = resources_json(c->resources->resources, c->resources->resources_n, &r->arena);
        if (checkpoint_check_removed(r, db, c->uuid ? c->uuid : "", err) < 0 ||
            store_check_unregistered(db, c->uuid, "patched", err) < 0 ||
            store_removal_reported(db, c->uuid, left, checkpoint_asking_task(r), err) < 0)
            return -1;
    }
    return 0;
}
