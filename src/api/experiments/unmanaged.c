/* Unmanaged trials: they run elsewhere (core_v2) and only report to the master. The core gives them numbers and
 * knows nothing else of them: everything about them is in the store. */
#include <stdio.h>
#include <string.h>

#include "api/pipeline/access.h"
#include "api/pipeline/convert.h"
#include "api/pipeline/internal.h"
#include "api/webhooks/webhook_events.h"
#include "common/system/random.h"
#include "core/core.h"
#include "gen/handlers.h"
#include "store/cluster/tasks.h"
#include "store/experiments/checkpoints.h"
#include "store/experiments/experiments.h"
#include "store/experiments/trials.h"
#include "store/experiments/unmanaged.h"

/* ---- creating a trial -------------------------------------------------------------------------------------------- */

struct making {
    const struct wire_create_trial_request *in;
    const char *external_id; /* NULL: none */
    const struct wire_trial **ret;
    struct trial_row row;
    char job_id[CORE_UUID_MAX];
};

static int show_trial(struct req *r, struct store *db, int32_t trial_id, const struct wire_trial **ret,
                      struct error *err)
{
    struct store_trial t;
    struct wire_trial *w = arena_new(&r->arena, struct wire_trial);
    if (store_trial_get(db, trial_id, /* full= */ true, &r->arena, &t, err) < 0)
        return -1;
    trial_to_wire(&t, DISPLAY_STORED, r->now_us, &r->arena, w);
    *ret = w;
    return 0;
}

/* Stores the trial. If another request has stored it meanwhile, that trial is the result. */
static int store_trial(struct req *r, struct store *db, struct error *err)
{
    struct making *m = r->state;
    int32_t there = 0;
    struct task_row task = {.trial_id = m->row.id, .start_us = r->now_us};
    if (m->external_id && store_unmanaged_trial_id(db, m->row.experiment_id, m->external_id, &there, err) < 0)
        return -1;
    if (there)
        return show_trial(r, db, there, m->ret, err);
    memcpy(task.id, m->row.task_id, sizeof(task.id));
    memcpy(task.job_id, m->job_id, sizeof(task.job_id));
    if (store_trial_put(db, &m->row, /* insert= */ true, err) < 0 ||
        store_task_put(db, &task, /* insert= */ true, err) < 0 ||
        store_trial_touch(db, m->row.id, r->now_us, err) < 0 ||
        (m->external_id && store_trial_set_external_id(db, m->row.id, m->external_id, err) < 0))
        return -1;
    return show_trial(r, db, m->row.id, m->ret, err);
}

static void take_id(void *ctx, const struct core_effects *effects)
{
    *(int32_t *)ctx = effects->trial_id;
}

static int store_nothing(struct store *db, void *ctx, struct error *err)
{
    return 0;
}

static void stored_nothing(void *ctx, const struct error *err)
{
}

static int number_step(struct req *r, struct core *core, struct error *err)
{
    struct making *m = r->state;
    struct core_event ev = {.type = CORE_NEW_TRIAL_ID, .now_us = r->now_us};
    struct companion companion = {.stepped = take_id,
                                  .store = store_nothing,
                                  .done = stored_nothing,
                                  .ctx = &m->row.id};
    if (req_core_step(r, core, &ev, &companion, err) < 0)
        return -1;
    return req_then_write(r, store_trial);
}

static int check_making(const struct making *m, const struct store_experiment *x, struct error *err)
{
    if (!m->in->unmanaged)
        return error_set(err, ERR_INVALID, "only unmanaged trials are created by request; set unmanaged");
    if (!x->unmanaged)
        return error_set(err, ERR_PRECONDITION, "experiment %d is managed by the master, which makes its trials itself",
                         x->id);
    return 0;
}

/* Runs on a reader's thread. */
static int make_trial(struct req *r, struct store *db, const struct making *request, struct error *err)
{
    struct making *m = arena_new(&r->arena, struct making);
    struct store_experiment x;
    int32_t there = 0;
    *m = *request;
    if (!m->in)
        return error_set(err, ERR_INVALID, "create_trial_request is missing");
    if (store_experiment_get(db, m->in->experiment_id, /* with_config= */ false, &r->arena, &x, err) < 0 ||
        check_making(m, &x, err) < 0)
        return -1;
    if (m->external_id && store_unmanaged_trial_id(db, x.id, m->external_id, &there, err) < 0)
        return -1;
    if (there)
        return show_trial(r, db, there, m->ret, err);
    m->row = (struct trial_row){.experiment_id = x.id,
                                .state = RUN_PAUSED,
                                .start_us = r->now_us,
                                .hparams = m->in->hparams ? m->in->hparams : "{}"};
    if (random_uuid(m->row.request_id, err) < 0)
        return -1;
    snprintf(m->row.task_id, sizeof(m->row.task_id), "%d.%s", x.id, m->row.request_id);
    snprintf(m->job_id, sizeof(m->job_id), "%s", x.job_id);
    r->state = m;
    return req_then_loop(r, number_step);
}

int api_create_trial(struct req *r, struct store *db, const struct wire_create_trial_request *in,
                     struct wire_create_trial_response *ret, struct error *err)
{
    return make_trial(r, db, &(struct making){.in = in, .ret = &ret->trial}, err);
}

int api_put_trial(struct req *r, struct store *db, const struct wire_put_trial_request *in,
                  struct wire_put_trial_response *ret, struct error *err)
{
    if (!in->external_trial_id || !*in->external_trial_id)
        return error_set(err, ERR_INVALID, "external_trial_id is missing");
    return make_trial(r, db,
                      &(struct making){.in = in->create_trial_request,
                                       .external_id = in->external_trial_id,
                                       .ret = &ret->trial},
                      err);
}

int api_get_trial_by_external_id(struct req *r, struct store *db,
                                 const struct wire_get_trial_by_external_id_request *in,
                                 struct wire_get_trial_by_external_id_response *ret, struct error *err)
{
    const char *x = in->external_experiment_id ? in->external_experiment_id : "";
    const char *t = in->external_trial_id ? in->external_trial_id : "";
    int32_t id;
    if (store_unmanaged_trial_id_by_external(db, x, t, &id, err) < 0)
        return -1;
    if (!id)
        return error_set(err, ERR_NOT_FOUND, "trial '%s' of experiment '%s' not found", t, x);
    if (access_need_of(r, db, PERMISSION_VIEW_EXPERIMENT_METADATA, ACCESS_TRIAL(id), err) < 0)
        return -1;
    return show_trial(r, db, id, &ret->trial, err);
}

/* ---- what an unmanaged trial reports ----------------------------------------------------------------------------- */

static int need_unmanaged(struct req *r, struct store *db, int32_t trial_id, struct store_trial *ret, struct error *err)
{
    struct store_experiment_brief x;
    if (store_trial_get(db, trial_id, /* full= */ false, &r->arena, ret, err) < 0 ||
        store_experiment_brief(db, ret->row.experiment_id, &x, err) < 0)
        return -1;
    if (!x.unmanaged)
        return error_set(err, ERR_PRECONDITION,
                         "trial %d is managed by the master; only unmanaged trials report their state", trial_id);
    return 0;
}

/* Gives the experiment the state that follows from those of its trials, and tells webhooks if it is another one. */
static int settle(struct req *r, struct store *db, int32_t experiment_id, struct error *err)
{
    struct store_experiment_brief before, after;
    if (store_experiment_brief(db, experiment_id, &before, err) < 0 ||
        store_unmanaged_settle(db, experiment_id, err) < 0 ||
        store_experiment_brief(db, experiment_id, &after, err) < 0)
        return -1;
    if (before.state == after.state)
        return 0;
    return webhook_state_changed(db, experiment_id, run_state_name(after.state), api_info(r->api)->webhook_base_url,
                                 r->now_us, err);
}

static int settled(struct req *r, struct core *core, struct error *err)
{
    r->api->services.webhooks_due(r->api->services.ctx);
    return notify_removals_due(r, core, err);
}

int api_start_trial(struct req *r, struct store *db, const struct wire_start_trial_request *in,
                    struct wire_start_trial_response *ret, struct error *err)
{
    struct store_trial t;
    if (need_unmanaged(r, db, in->trial_id, &t, err) < 0)
        return -1;
    if (t.row.run_id > 0 && !in->resume)
        return error_set(err, ERR_PRECONDITION, "trial %d has already been started; resume it, or create another one",
                         in->trial_id);
    if (store_unmanaged_trial_start(db, in->trial_id, r->now_us, err) < 0 ||
        settle(r, db, t.row.experiment_id, err) < 0 ||
        store_trial_get(db, in->trial_id, /* full= */ false, &r->arena, &t, err) < 0)
        return -1;
    ret->trial_run_id = t.row.run_id;
    ret->latest_checkpoint = t.row.latest_checkpoint[0] ? arena_strdup(&r->arena, t.row.latest_checkpoint) : NULL;
    ret->steps_completed = t.row.latest_checkpoint[0] ? t.row.steps_completed : 0;
    return req_then_loop(r, settled);
}

static int wanted_state(enum wire_trial_state state, enum run_state *ret, struct error *err)
{
    static const struct {
        enum wire_trial_state wire;
        enum run_state run;
    } known[] = {
        {WIRE_TRIAL_STATE_RUNNING, RUN_ACTIVE}, {WIRE_TRIAL_STATE_ACTIVE, RUN_ACTIVE},
        {WIRE_TRIAL_STATE_PAUSED, RUN_PAUSED},  {WIRE_TRIAL_STATE_COMPLETED, RUN_COMPLETED},
        {WIRE_TRIAL_STATE_ERROR, RUN_ERROR},    {WIRE_TRIAL_STATE_CANCELED, RUN_CANCELED},
    };
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
        if (known[i].wire == state) {
            *ret = known[i].run;
            return 0;
        }
    }
    return error_set(err, ERR_INVALID,
                     "state STATE_%s cannot be reported by a trial; allowed are RUNNING, PAUSED, "
                     "COMPLETED, CANCELED and ERROR",
                     state_text(&wire_enum_trial_state, (int32_t)state));
}

/* Changes the state. A request without a state is a heartbeat. */
int api_patch_trial(struct req *r, struct store *db, const struct wire_patch_trial_request *in,
                    struct wire_patch_trial_response *ret, struct error *err)
{
    struct store_trial t;
    enum run_state state = RUN_PAUSED;
    if (need_unmanaged(r, db, in->trial_id, &t, err) < 0)
        return -1;
    if (!in->has_state) {
        if (store_trial_touch(db, in->trial_id, r->now_us, err) < 0)
            return -1;
    } else if (wanted_state(in->state, &state, err) < 0 ||
               store_unmanaged_trial_set_state(db, in->trial_id, state, r->now_us, err) < 0 ||
               settle(r, db, t.row.experiment_id, err) < 0) {
        return -1;
    }
    if (show_trial(r, db, in->trial_id, &ret->trial, err) < 0)
        return -1;
    return in->has_state ? req_then_loop(r, settled) : 0;
}

/* ---- the checkpoints or models that a trial starts from ---------------------------------------------------------- */

int api_report_trial_source_info(struct req *r, struct store *db,
                                 const struct wire_report_trial_source_info_request *in,
                                 struct wire_report_trial_source_info_response *ret, struct error *err)
{
    const struct wire_trial_source_info *s = in->trial_source_info;
    struct store_trial t;
    struct store_checkpoint c;
    if (!s)
        return error_set(err, ERR_INVALID, "trial_source_info is missing");
    if (s->trial_source_info_type != WIRE_TRIAL_SOURCE_INFO_TYPE_INFERENCE &&
        s->trial_source_info_type != WIRE_TRIAL_SOURCE_INFO_TYPE_FINE_TUNING)
        return error_set(err, ERR_INVALID,
                         "trial_source_info_type is missing; TRIAL_SOURCE_INFO_TYPE_INFERENCE and "
                         "TRIAL_SOURCE_INFO_TYPE_FINE_TUNING are allowed");
    if (store_trial_get(db, s->trial_id, /* full= */ false, &r->arena, &t, err) < 0 ||
        store_checkpoint_get(db, s->checkpoint_uuid ? s->checkpoint_uuid : "", &r->arena, &c, err) < 0)
        return -1;
    bool inference = s->trial_source_info_type == WIRE_TRIAL_SOURCE_INFO_TYPE_INFERENCE;
    struct store_trial_source row = {.trial_id = s->trial_id,
                                     .checkpoint_uuid = s->checkpoint_uuid,
                                     .type = inference ? "INFERENCE" : "FINE_TUNING",
                                     .has_model = s->has_model_id,
                                     .model_id = s->model_id,
                                     .has_version = s->has_model_version,
                                     .model_version = s->model_version};
    if (store_trial_source_put(db, &row, err) < 0)
        return -1;
    ret->trial_id = s->trial_id;
    ret->checkpoint_uuid = s->checkpoint_uuid;
    return 0;
}
