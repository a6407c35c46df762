/* POST /experiments/continue: an experiment that is over goes on, from the latest checkpoints of its trials. A
 * reader's thread checks whether it may, and makes the configuration. Then one step of the core follows on the loop;
 * the new configuration is stored in the same transaction. The configuration as it was first submitted is kept
 * unchanged. */
#include <stdlib.h>
#include <string.h>

#include "api/cluster/pool_bindings.h"
#include "api/experiments/launch.h"
#include "api/pipeline/convert.h"
#include "api/pipeline/internal.h"
#include "common/base/hash.h"
#include "common/base/must.h"
#include "common/json/json.h"
#include "core/config/spec.h"
#include "gen/handlers.h"
#include "store/accounts/workspaces.h"
#include "store/experiments/checkpoints.h"
#include "store/experiments/experiments.h"
#include "store/experiments/trials.h"

struct continuation {
    struct store_experiment was;
    struct exp_config *config;
    const char *labels; /* JSON list */
    struct core_restored_experiment experiment;
    struct trial_row *trial;
    size_t trial_n;
    struct store_workspace_agent account; /* the account that its tasks run as */
    bool exceeds_slots;
    struct continuing *claim;
};

/* An experiment that a request is about to continue. Without this claim two requests could both read that the
 * experiment is over and both continue it, the second with outdated rows. After the claim no other request continues
 * it, and what this one reads stays true. */
struct continuing {
    int32_t experiment_id;
    UT_hash_handle hh;
};

static int claim_experiment(struct req *r, struct continuation *c, int32_t experiment_id, struct error *err)
{
    struct continuing *known;
    HASH_FIND(hh, r->api->continuing, &experiment_id, sizeof(experiment_id), known);
    if (known)
        return error_set(err, ERR_PRECONDITION, "experiment %d is being continued by another request", experiment_id);
    c->claim = arena_new(&r->arena, struct continuing);
    c->claim->experiment_id = experiment_id;
    HASH_ADD(hh, r->api->continuing, experiment_id, sizeof(c->claim->experiment_id), c->claim);
    return 0;
}

static void end_continuation(struct req *r)
{
    struct continuation *c = r->state;
    if (c->claim)
        HASH_DEL(r->api->continuing, c->claim);
    exp_config_free(c->config);
}

/* ---- 1. whether the experiment may go on, and with which configuration ------------------------------------------- */

static int check_state(const struct store_experiment *x, enum run_state *ret, struct error *err)
{
    if (x->unmanaged)
        return error_set(err, ERR_PRECONDITION, "experiment %d runs outside the cluster: it cannot be continued here",
                         x->id);
    if (x->archived || x->parent_archived)
        return error_set(err, ERR_PRECONDITION,
                         "experiment %d, its project or its workspace is archived: unarchive it first", x->id);
    if (run_state_parse(x->state, ret) < 0 || *ret == RUN_DELETING || *ret == RUN_DELETED || *ret == RUN_DELETE_FAILED)
        return error_set(err, ERR_PRECONDITION, "experiment %d is in state %s: it cannot be continued", x->id,
                         x->state);
    if (!run_state_is_terminal(*ret))
        return error_set(err, ERR_PRECONDITION, "experiment %d is not over yet: wait for its end, or kill it", x->id);
    return 0;
}

/* Refuses halving searchers: they have compared their trials with each other, and these decisions cannot be taken
 * back. */
static int check_searcher(const struct continuation *c, struct error *err)
{
    enum exp_searcher_kind kind = c->config->values.searcher.kind;
    if (kind != EXP_SEARCHER_SINGLE && kind != EXP_SEARCHER_GRID && kind != EXP_SEARCHER_RANDOM)
        return error_set(err, ERR_PRECONDITION,
                         "experiment %d has the searcher %s; only single, grid and random ones can be continued",
                         c->was.id, exp_searcher_kind_name(kind));
    for (size_t i = 0; i < c->trial_n; i++)
        if (c->trial[i].state != RUN_COMPLETED)
            return 0;
    if (kind != EXP_SEARCHER_SINGLE && c->trial_n)
        return error_set(err, ERR_PRECONDITION, "experiment %d has been completed, cannot continue", c->was.id);
    return 0;
}

/* All trials must still exist, since the search rests on all of them. */
static int check_trials(struct req *r, struct store *db, int32_t id, struct error *err)
{
    int64_t n;
    if (store_run_deletions_count(db, id, &n, err) < 0)
        return -1;
    return n ? error_set(err, ERR_PRECONDITION,
                         "experiment %d has lost trials, which were deleted: it cannot be continued, but "
                         "forked",
                         id)
             : 0;
}

/* Finds for each trial the latest checkpoint that still exists. Its newest one may have been collected when the
 * experiment ended. */
static int find_checkpoints(struct req *r, struct store *db, struct continuation *c, struct error *err)
{
    for (size_t i = 0; i < c->trial_n; i++) {
        struct trial_row *t = &c->trial[i];
        struct store_latest_checkpoint latest;
        if (!t->latest_checkpoint[0])
            continue;
        if (store_checkpoint_latest(db, t->id, &latest, err) < 0)
            return -1;
        memcpy(t->latest_checkpoint, latest.uuid, sizeof(t->latest_checkpoint));
        t->steps_completed = latest.steps_completed;
    }
    return 0;
}

/* Finds the checkpoint from which trials without own checkpoints start. It is not needed, and may not exist any
 * more, if all trials have checkpoints. */
static int find_warm_start(struct req *r, struct store *db, struct continuation *c, struct error *err)
{
    bool all = c->trial_n > 0;
    for (size_t i = 0; i < c->trial_n; i++)
        all = all && c->trial[i].latest_checkpoint[0];
    if (launch_warm_start(r, db, &c->config->values.searcher, &c->experiment.spec.warm_start_checkpoint, err) == 0)
        return 0;
    if (!all || error_http_status(err->kind) >= 500)
        return -1;
    error_release(err);
    return 0;
}

static int prepare_config(struct req *r, struct store *db, const char *override, struct continuation *c,
                          struct error *err)
{
    struct expconf_context ctx;
    cleanup_json struct json_object *effective = NULL;
    int rc = launch_context(r, &ctx, err);
    if (rc == 0)
        rc = launch_context_policies(r, db, POLICY_EXPERIMENT, c->was.workspace_id, &ctx, err);
    if (rc == 0)
        rc = json_parse(c->was.config, strlen(c->was.config), &effective, err);
    if (rc == 0)
        rc = expconf_continue(effective, override ? override : "", override ? strlen(override) : 0, &ctx, &c->config,
                              err);
    launch_context_release(&ctx);
    return rc;
}

static void fill_row(struct continuation *c, enum run_state state)
{
    const struct store_experiment *x = &c->was;
    c->experiment.row = (struct experiment_row){.id = x->id,
                                                .state = state,
                                                .start_us = x->start_us,
                                                .end_us = x->end_us,
                                                .queue_position = x->queue_position,
                                                .owner_id = x->user_id};
    snprintf(c->experiment.row.job_id, sizeof(c->experiment.row.job_id), "%s", x->job_id);
}

/* ---- 2. the step of the core, and after it ----------------------------------------------------------------------- */

static int continue_reply(struct req *r, struct store *db, struct error *err)
{
    struct wire_continue_experiment_response *ret = r->ret;
    const struct continuation *c = r->state;
    struct store_experiment x;
    if (store_experiment_get(db, c->was.id, /* with_config= */ true, &r->arena, &x, err) < 0)
        return -1;
    struct wire_experiment *w = arena_new(&r->arena, struct wire_experiment);
    experiment_to_wire(r, &x, DISPLAY_STORED, w);
    if (store_trial_ids_of_experiment(db, c->was.id, &r->arena, &w->trial_ids, &w->trial_ids_n, err) < 0)
        return -1;
    ret->experiment = w;
    launch_warnings(r, c->exceeds_slots, &ret->warnings, &ret->warnings_n);
    launch_config_warnings(r, c->config, &ret->config_warnings, &ret->config_warnings_n);
    return 0;
}

static int store_config(struct store *db, void *ctx, struct error *err)
{
    const struct req *r = ctx;
    const struct continuation *c = r->state;
    const struct exp_config *config = c->config;
    const char *name = config->values.name, *description = config->values.description;
    struct store_experiment_patch patch = {.name = name ? name : "",
                                           .description = description ? description : "",
                                           .labels = c->labels};
    if (store_experiment_set_config(db, c->was.id, config->json, config->values.resources.resource_pool, err) < 0)
        return -1;
    return store_experiment_patch(db, c->was.id, &patch, err);
}

static void config_stored(void *ctx, const struct error *err)
{
    struct req *r = ctx;
    if (!err) {
        req_resume_read(r, continue_reply);
        return;
    }
    struct error copy = ERROR_INIT;
    error_copy(&copy, err);
    req_finish(r, &copy);
}

static int continue_step(struct req *r, struct core *core, struct error *err)
{
    struct continuation *c = r->state;
    bool single = c->config->values.searcher.kind == EXP_SEARCHER_SINGLE;
    /* the experiment may have been deleted since the reader looked */
    if (r->api->services.check_not_deleted(r->api->services.ctx, c->was.id, err) < 0)
        return -1;
    if (launch_check_pool(r, core, c->config, &c->exceeds_slots, err) < 0)
        return -1;
    struct core_event ev = {
        .type = CORE_EXPERIMENT_CONTINUE,
        .now_us = r->now_us,
        .resume = {.experiment = &c->experiment, .trial = c->trial, .trial_n = c->trial_n, .rerun_completed = single}};
    struct companion companion = {.store = store_config, .done = config_stored, .ctx = r};
    return req_core_step(r, core, &ev, &companion, err) < 0 ? -1 : req_wait(r, NULL);
}

/* Runs on a thread that may wait for the storage's disk. */
static int check_storage(struct req *r, struct error *err)
{
    struct continuation *c = r->state;
    launch_warn_of_storage(r, c->config, &c->account);
    core_spec_take_warnings(c->config, &r->arena, &c->experiment.spec);
    return req_then_loop(r, continue_step);
}

static int prepare_continuation(struct req *r, struct store *db, struct error *err)
{
    const struct wire_continue_experiment_request *in = r->in;
    struct continuation *c = r->state;
    enum run_state state;
    if (store_experiment_get(db, in->id, /* with_config= */ true, &r->arena, &c->was, err) < 0 ||
        check_state(&c->was, &state, err) < 0 || prepare_config(r, db, in->override_config, c, err) < 0 ||
        store_trial_rows_of_experiment(db, in->id, &r->arena, &c->trial, &c->trial_n, err) < 0 ||
        check_searcher(c, err) < 0 || check_trials(r, db, in->id, err) < 0 || find_checkpoints(r, db, c, err) < 0)
        return -1;
    if (pool_check_workspace(r, db, c->config->values.resources.resource_pool, c->was.workspace_id, err) < 0 ||
        launch_account(r, db, c->was.user_id, c->was.project_id, &c->account, err) < 0)
        return -1;
    core_spec_of_config(c->config, c->was.user_id, &r->arena, &c->experiment.spec);
    c->experiment.spec.workspace_id = c->was.workspace_id;
    if (find_warm_start(r, db, c, err) < 0)
        return -1;
    c->labels = launch_labels(c->config, &r->arena);
    fill_row(c, state);
    return req_then_transfer(r, check_storage);
}

int api_continue_experiment(struct req *r, struct core *core, const struct wire_continue_experiment_request *in,
                            struct wire_continue_experiment_response *ret, struct error *err)
{
    struct continuation *c = arena_new(&r->arena, struct continuation);
    r->state = c;
    r->on_end = end_continuation;
    return claim_experiment(r, c, in->id, err) < 0 ? -1 : req_then_read(r, prepare_continuation);
}
