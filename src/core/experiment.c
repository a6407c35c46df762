#include "core/experiment.h"

#include <stdlib.h>
#include <string.h>

#include "common/strbuf.h"
#include "core/effects.h"
#include "core/ids.h"
#include "core/rm.h"
#include "core/searcher/searcher.h"
#include "core/trial.h"

struct experiment *experiment_find(const struct core *c, int32_t id)
{
    struct experiment *x = NULL;
    HASH_FIND(hh, c->experiments, &id, sizeof id, x);
    return x;
}

static void touch_searcher(struct core *c, struct experiment *x)
{
    if (x->searcher_touched)
        return;
    x->searcher_touched = true;
    STAILQ_INSERT_TAIL(&c->searchers_touched, x, searcher_next);
}

/* ---- states ------------------------------------------------------------------------------------------------------ */

/* The terminal steps that are the core's (§1.2): what else belongs to the end follows from CORE_EXPERIMENT_ENDED. */
static void ended(struct core *c, struct experiment *x)
{
    if (x->sm.state == RUN_COMPLETED)
        x->row.progress = 1;
    x->row.end_us = c->now_us;
    effect_add(c, CORE_PUT_SEARCHER)->searcher.experiment_id = x->row.id;
    effect_add(c, CORE_EXPERIMENT_ENDED)->experiment_id = x->row.id;
    HASH_DEL(c->experiments, x);
    LIST_INSERT_HEAD(&c->ended, x, in_ended);
}

static void set_state(struct core *c, struct experiment *x, enum run_state to)
{
    struct core_effect *e = effect_add(c, CORE_EXPERIMENT_STATE);
    e->state.experiment_id = x->row.id;
    e->state.from = x->sm.state;
    e->state.to = to;
    if (sm_move(&x->sm, to, NULL) < 0)
        abort(); /* callers ask sm_allows() */
    x->row.state = to;
    record_touch(c, &x->record);
    if (run_state_is_terminal(to))
        ended(c, x);
}

static void maybe_end(struct core *c, struct experiment *x)
{
    if (run_state_is_stopping(x->sm.state) && x->live_n == 0)
        set_state(c, x, run_state_terminal_for(x->sm.state));
}

/* Trials may end while they are told: each then reports back, and the last one ends the experiment. */
static void tell_trials(struct core *c, struct experiment *x)
{
    enum run_state wanted = x->sm.state;
    struct trial *t;
    LIST_FOREACH(t, &x->trials, in_experiment)
        if (x->sm.state == (int)wanted)
            trial_patch(c, t, wanted);
}

static void move(struct core *c, struct experiment *x, enum run_state to)
{
    set_state(c, x, to);
    tell_trials(c, x);
    maybe_end(c, x);
}

/* ---- the searcher's wishes --------------------------------------------------------------------------------------- */

static struct trial *trial_by_request(const struct experiment *x, const char *request_id)
{
    struct trial *t;
    LIST_FOREACH(t, &x->trials, in_experiment)
        if (strcmp(t->row.request_id, request_id) == 0)
            return t;
    return NULL;
}

static void searcher_failed(struct core *c, struct experiment *x)
{
    if (sm_allows(&x->sm, RUN_STOPPING_ERROR))
        move(c, x, RUN_STOPPING_ERROR);
}

/* A trial of a continued experiment that is not run again ends for the new searcher as it did for the old one. */
static int tell_searcher_of_old_trial(struct experiment *x, const struct trial *t, struct searcher_actions *more)
{
    if (trial_has_invalid_hp(t) && searcher_trial_exited_early(x->searcher, t->row.request_id, SEARCHER_EXIT_INVALID_HP,
                                                               more, NULL) < 0)
        return -1;
    return searcher_trial_exited(x->searcher, t->row.request_id, more, NULL);
}

/* The same seed draws the same trials: in a continued experiment, some of them are there already. */
static void carry_out_create(struct core *c, struct experiment *x, const struct searcher_action *action,
                             struct searcher_actions *more)
{
    struct trial *t = trial_by_request(x, action->request_id);
    bool leave_alone = t != NULL && t->sm.state == RUN_COMPLETED && !x->rerun_completed;
    if (t == NULL)
        trial_create(c, x, action);
    else if (!leave_alone)
        trial_again(c, t, action->hparams);
    if (searcher_trial_created(x->searcher, action->request_id, more, NULL) < 0 ||
        (leave_alone && tell_searcher_of_old_trial(x, t, more) < 0))
        searcher_failed(c, x);
}

static void carry_out_shutdown(struct core *c, struct experiment *x, const struct searcher_action *action)
{
    enum run_state to = action->failure  ? RUN_STOPPING_ERROR
                        : action->cancel ? RUN_STOPPING_CANCELED
                                         : RUN_STOPPING_COMPLETED;
    if (sm_allows(&x->sm, to))
        move(c, x, to);
}

/* In order, with what they lead to. An experiment that is stopping takes no more trials. */
static void carry_out(struct core *c, struct experiment *x, struct searcher_actions *actions)
{
    touch_searcher(c, x);
    for (size_t i = 0; i < actions->n; i++) {
        struct searcher_action action = actions->item[i]; /* the list may grow under our hands */
        struct trial *t;
        if (action.type == SEARCHER_SHUTDOWN)
            carry_out_shutdown(c, x, &action);
        else if (run_state_is_stopping(x->sm.state) || run_state_is_terminal(x->sm.state))
            continue;
        else if (action.type == SEARCHER_CREATE)
            carry_out_create(c, x, &action, actions);
        else if ((t = trial_by_request(x, action.request_id)) != NULL)
            trial_stop_by_searcher(c, t);
    }
    searcher_actions_release(actions);
}

static void save_searcher(struct core *c, struct experiment *x)
{
    struct strbuf text = STRBUF_INIT;
    searcher_snapshot(x->searcher, &text);
    if (x->snapshot != NULL && strcmp(x->snapshot, text.s) == 0) {
        strbuf_release(&text);
        return;
    }
    free(x->snapshot);
    x->snapshot = strbuf_detach(&text);
    struct core_effect *e = effect_add(c, CORE_PUT_SEARCHER);
    e->searcher.experiment_id = x->row.id;
    e->searcher.snapshot = arena_strdup(&c->out->arena, x->snapshot);
}

void experiments_save_searchers(struct core *c)
{
    while (!STAILQ_EMPTY(&c->searchers_touched)) {
        struct experiment *x = STAILQ_FIRST(&c->searchers_touched);
        STAILQ_REMOVE_HEAD(&c->searchers_touched, searcher_next);
        x->searcher_touched = false;
        if (!run_state_is_terminal(x->sm.state))
            save_searcher(c, x);
    }
}

/* ---- create ------------------------------------------------------------------------------------------------------ */

static struct experiment *new_experiment(struct core *c, const struct experiment_row *row,
                                         const struct core_experiment_spec *spec, struct pool *pool, bool stored)
{
    struct experiment *x = calloc(1, sizeof *x);
    if (x == NULL)
        abort();
    x->row = *row;
    record_init(&x->record, CORE_PUT_EXPERIMENT, &x->row, stored);
    sm_restore(&x->sm, &experiment_sm, row->id, row->state);
    x->spec = *spec;
    x->spec.searcher = x->spec.hyperparameters = NULL;
    x->spec.pool = pool->name;
    if (spec->warm_start_checkpoint != NULL &&
        (x->spec.warm_start_checkpoint = strdup(spec->warm_start_checkpoint)) == NULL)
        abort();
    x->pool = pool;
    LIST_INIT(&x->trials);
    HASH_ADD(hh, c->experiments, row.id, sizeof x->row.id, x);
    return x;
}

static int check_spec(const struct core *c, const struct core_experiment_spec *spec, struct pool **ret_pool,
                      struct error *err)
{
    *ret_pool = pool_find(c, spec->pool);
    if (*ret_pool == NULL)
        return error_set(err, ERR_INVALID, "resource pool \"%s\" does not exist", spec->pool);
    if (spec->slots_per_trial < 0 || spec->max_restarts < 0 || spec->preemption_timeout_s < 0)
        return error_set(err, ERR_INVALID, "slots_per_trial, max_restarts and preemption_timeout must be 0 or more");
    if (spec->warm_start_checkpoint != NULL && strlen(spec->warm_start_checkpoint) >= CORE_UUID_MAX)
        return error_set(err, ERR_INVALID, "\"%s\" is not a checkpoint's uuid", spec->warm_start_checkpoint);
    if (HASH_COUNT(c->experiments) >= EXPERIMENTS_MAX)
        return error_set(err, ERR_TOO_LARGE, "%d experiments have not ended yet; wait for some to end, or kill some",
                         EXPERIMENTS_MAX);
    return 0;
}

/* With the trials that it wants to begin with. */
static int new_searcher(const struct core_experiment_spec *spec, struct searcher **ret, struct searcher_actions *actions,
                        struct error *err)
{
    if (searcher_new(spec->searcher, spec->hyperparameters, spec->seed, ret, err) < 0)
        return -1;
    if (searcher_initial_trials(*ret, actions, err) == 0)
        return 0;
    searcher_actions_release(actions);
    searcher_free(*ret);
    return -1;
}

int experiment_create(struct core *c, const struct core_experiment_spec *spec, bool activate, struct error *err)
{
    struct pool *pool;
    struct searcher *searcher;
    struct searcher_actions actions = SEARCHER_ACTIONS_INIT;
    if (check_spec(c, spec, &pool, err) < 0 || new_searcher(spec, &searcher, &actions, err) < 0)
        return -1;

    struct experiment_row row = {.id = ++c->last_experiment_id, .state = RUN_PAUSED, .start_us = c->now_us,
                                 .queue_position = c->now_us, .owner_id = spec->owner_id};
    new_uuid(c, row.job_id);
    struct experiment *x = new_experiment(c, &row, spec, pool, false);
    x->searcher = searcher;
    record_touch(c, &x->record);
    carry_out(c, x, &actions);
    if (activate && x->sm.state == RUN_PAUSED)
        move(c, x, RUN_ACTIVE);
    c->out->experiment_id = row.id;
    c->out->job_id = arena_strdup(&c->out->arena, row.job_id);
    return 0;
}

/* ---- continue ---------------------------------------------------------------------------------------------------- */

static struct experiment *reopen(struct core *c, const struct core_restored_experiment *from, struct pool *pool)
{
    struct experiment_row row = from->row;
    row.state = RUN_PAUSED;
    row.progress = 0;
    row.end_us = 0;
    row.queue_position = c->now_us;
    struct experiment *x = new_experiment(c, &row, &from->spec, pool, true);
    struct core_effect *e = effect_add(c, CORE_EXPERIMENT_STATE);
    e->state.experiment_id = row.id;
    e->state.from = from->row.state;
    e->state.to = RUN_PAUSED;
    record_touch(c, &x->record);
    return x;
}

int experiment_continue(struct core *c, const struct core_event *ev, struct error *err)
{
    const struct core_restored_experiment *from = ev->resume.experiment;
    struct pool *pool;
    struct searcher *searcher;
    struct searcher_actions actions = SEARCHER_ACTIONS_INIT;
    if (experiment_find(c, from->row.id) != NULL || !run_state_is_over(from->row.state))
        return error_set(err, ERR_PRECONDITION, "experiment %d is not over yet: wait for its end, or kill it",
                         from->row.id);
    if (check_spec(c, &from->spec, &pool, err) < 0 || new_searcher(&from->spec, &searcher, &actions, err) < 0)
        return -1;
    struct experiment *x = reopen(c, from, pool);
    x->searcher = searcher;
    x->rerun_completed = ev->resume.rerun_completed;
    for (size_t i = 0; i < ev->resume.trial_n; i++)
        trial_restore(c, x, &ev->resume.trial[i]);
    carry_out(c, x, &actions);
    x->rerun_completed = false;
    if (x->sm.state == RUN_PAUSED)
        move(c, x, RUN_ACTIVE);
    maybe_end(c, x);
    return 0;
}

/* ---- requests ---------------------------------------------------------------------------------------------------- */

static int incompatible(const struct experiment *x, struct error *err)
{
    return error_set(err, ERR_PRECONDITION, "experiment in incompatible state %s", sm_name(&x->sm));
}

static int switch_between(struct core *c, struct experiment *x, enum run_state to, struct error *err)
{
    if (x->sm.state == (int)to)
        return 0;
    if (run_state_is_stopping(x->sm.state))
        return incompatible(x, err);
    move(c, x, to);
    return 0;
}

static int not_found(int32_t id, struct error *err)
{
    return error_set(err, ERR_NOT_FOUND, "experiment '%d' not found", id);
}

int experiment_request(struct core *c, int32_t id, enum core_event_type request, struct error *err)
{
    struct experiment *x = experiment_find(c, id);
    if (x == NULL)
        return not_found(id, err);
    switch (request) {
    case CORE_EXPERIMENT_ACTIVATE:
        return switch_between(c, x, RUN_ACTIVE, err);
    case CORE_EXPERIMENT_PAUSE:
        return switch_between(c, x, RUN_PAUSED, err);
    case CORE_EXPERIMENT_CANCEL:
        if (!run_state_is_stopping(x->sm.state))
            move(c, x, RUN_STOPPING_CANCELED);
        return 0;
    default:
        if (sm_allows(&x->sm, RUN_STOPPING_KILLED))
            move(c, x, RUN_STOPPING_KILLED);
        return 0;
    }
}

int experiment_set_resources(struct core *c, int32_t id, const struct core_resources_patch *p, struct error *err)
{
    struct experiment *x = experiment_find(c, id);
    if (x == NULL)
        return not_found(id, err);
    if (p->set_max_slots)
        x->spec.max_slots = p->max_slots;
    if (p->set_weight)
        x->spec.weight = p->weight;
    if (p->set_priority)
        x->spec.priority = p->priority;
    x->pool->changed = true;
    return 0;
}

/* ---- from its trials --------------------------------------------------------------------------------------------- */

static void tell_searcher_exited_early(struct core *c, struct experiment *x, struct trial *t, enum searcher_exit reason)
{
    struct searcher_actions actions = SEARCHER_ACTIONS_INIT;
    int rv = searcher_trial_exited_early(x->searcher, t->row.request_id, reason, &actions, NULL);
    carry_out(c, x, &actions);
    if (rv < 0)
        searcher_failed(c, x);
}

static void tell_searcher_exited(struct core *c, struct experiment *x, struct trial *t)
{
    struct searcher_actions actions = SEARCHER_ACTIONS_INIT;
    int rv = searcher_trial_exited(x->searcher, t->row.request_id, &actions, NULL);
    carry_out(c, x, &actions);
    if (rv < 0)
        searcher_failed(c, x);
}

void experiment_trial_ended(struct core *c, struct experiment *x, struct trial *t)
{
    if (x->searcher != NULL) {
        if (t->sm.state == RUN_ERROR)
            tell_searcher_exited_early(c, x, t, SEARCHER_EXIT_ERRORED);
        else if (t->sm.state == RUN_CANCELED)
            tell_searcher_exited_early(c, x, t, SEARCHER_EXIT_USER_CANCELED);
        tell_searcher_exited(c, x, t);
    }
    maybe_end(c, x);
}

void experiment_trial_invalid_hp(struct core *c, struct experiment *x, struct trial *t)
{
    tell_searcher_exited_early(c, x, t, SEARCHER_EXIT_INVALID_HP);
}

void experiment_validated(struct core *c, int32_t trial_id, const char *metrics)
{
    struct trial *t = trial_find(c, trial_id);
    if (t == NULL || run_state_is_terminal(t->sm.state))
        return;
    struct experiment *x = t->experiment;
    struct searcher_actions actions = SEARCHER_ACTIONS_INIT;
    cleanup_error struct error err = ERROR_INIT;
    int rv = searcher_validation_completed(x->searcher, t->row.request_id, metrics, &actions, &err);
    carry_out(c, x, &actions);
    if (rv < 0) {
        c->out->searcher_error = arena_strdup(&c->out->arena, error_msg(&err));
        searcher_failed(c, x);
    }
}

void experiment_trial_progress(struct core *c, int32_t trial_id, double progress)
{
    struct trial *t = trial_find(c, trial_id);
    if (t == NULL || run_state_is_terminal(t->sm.state))
        return;
    struct experiment *x = t->experiment;
    searcher_set_trial_progress(x->searcher, t->row.request_id, progress);
    x->row.progress = searcher_progress(x->searcher);
    record_touch(c, &x->record);
}

/* ---- restart ----------------------------------------------------------------------------------------------------- */

int experiment_restore(struct core *c, const struct core_restored_experiment *r, struct experiment **ret,
                       struct error *err)
{
    struct pool *pool = pool_find(c, r->spec.pool);
    struct experiment *x = *ret = new_experiment(c, &r->row, &r->spec, pool != NULL ? pool : pool_find(c, NULL), true);
    if (pool == NULL)
        return error_set(err, ERR_NOT_FOUND, "its resource pool \"%s\" does not exist any more", r->spec.pool);
    if (r->searcher_snapshot == NULL)
        return error_set(err, ERR_NOT_FOUND, "it has no searcher snapshot");
    if (searcher_new(r->spec.searcher, r->spec.hyperparameters, r->spec.seed, &x->searcher, err) < 0 ||
        searcher_restore(x->searcher, r->searcher_snapshot, err) < 0)
        return -1;
    if ((x->snapshot = strdup(r->searcher_snapshot)) == NULL)
        abort();
    return 0;
}

void experiment_resume(struct core *c, struct experiment *x)
{
    struct trial *t;
    LIST_FOREACH(t, &x->trials, in_experiment)
        trial_resume(c, t);
    maybe_end(c, x);
}

void experiment_fail(struct core *c, struct experiment *x, const char *reason)
{
    struct trial *t;
    LIST_FOREACH(t, &x->trials, in_experiment) {
        trial_log(c, t, true, "the experiment could not be restored: %s", reason);
        trial_fail(c, t);
    }
    set_state(c, x, RUN_ERROR);
}

void experiment_free(struct core *c, struct experiment *x)
{
    struct trial *t;
    while ((t = LIST_FIRST(&x->trials)) != NULL) {
        LIST_REMOVE(t, in_experiment);
        trial_free(c, t);
    }
    searcher_free(x->searcher);
    free(x->snapshot);
    free((char *)x->spec.warm_start_checkpoint);
    free(x);
}
