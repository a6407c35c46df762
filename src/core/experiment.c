#include "core/experiment.h"

#include <stdlib.h>
#include <string.h>

#include "common/strbuf.h"
#include "core/effects.h"
#include "core/ids.h"
#include "core/rm.h"
#include "core/searcher/searcher.h"
#include "core/trial.h"

/* Events from one snapshot of a searcher to the next, besides one for each of its trials. */
enum { SEARCHER_EVENTS_MIN = 256 };

struct experiment *experiment_find(const struct core *c, int32_t id)
{
    struct experiment *x = NULL;
    HASH_FIND(hh, c->experiments, &id, sizeof id, x);
    return x;
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
    HASH_DELETE(by_job, c->jobs, x);
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

static int tell_searcher(struct core *c, struct experiment *x, const struct searcher_event *ev, struct error *err);
static void exited_early(struct core *c, struct experiment *x, const struct trial *t, enum searcher_exit reason);

void experiment_add_trial(struct experiment *x, struct trial *t)
{
    if (t->number >= x->trial_at_n) {
        size_t n = t->number + 1 > 2 * x->trial_at_n ? t->number + 1 : 2 * x->trial_at_n;
        x->trial_at = realloc(x->trial_at, n * sizeof(struct trial *));
        if (x->trial_at == NULL)
            abort();
        memset(x->trial_at + x->trial_at_n, 0, (n - x->trial_at_n) * sizeof(struct trial *));
        x->trial_at_n = n;
    }
    x->trial_at[t->number] = t;
}

static void searcher_failed(struct core *c, struct experiment *x)
{
    if (sm_allows(&x->sm, RUN_STOPPING_ERROR))
        move(c, x, RUN_STOPPING_ERROR);
}

static void carry_out_shutdown(struct core *c, struct experiment *x, const struct searcher_action *action)
{
    enum run_state to = action->failure  ? RUN_STOPPING_ERROR
                        : action->cancel ? RUN_STOPPING_CANCELED
                                         : RUN_STOPPING_COMPLETED;
    if (sm_allows(&x->sm, to))
        move(c, x, to);
}

/* A trial of a continued experiment that is not run again ends for the new searcher as it did for the old one. */
static void tell_of_old_trial(struct core *c, struct experiment *x, const struct trial *t)
{
    if (trial_has_invalid_hp(t))
        exited_early(c, x, t, SEARCHER_EXIT_INVALID_HP);
    tell_searcher(c, x, &(struct searcher_event){.type = SEARCHER_EXITED, .trial = t->number}, NULL);
}

static struct trial *unclaimed_trial(const struct experiment *x, const char *request_id)
{
    struct trial *t;
    if (x->unclaimed_n == 0)
        return NULL;
    LIST_FOREACH(t, &x->trials, in_experiment)
        if (t->number == SIZE_MAX && strcmp(t->row.request_id, request_id) == 0)
            return t;
    return NULL;
}

/* The same seed draws the same trials: in a continued experiment, some of them are there already. */
static void carry_out_create(struct core *c, struct experiment *x, const struct searcher_action *action)
{
    struct trial *t = unclaimed_trial(x, action->request_id);
    if (t == NULL) {
        trial_create(c, x, action);
        return;
    }
    t->number = action->trial;
    x->unclaimed_n--;
    experiment_add_trial(x, t);
    if (t->sm.state == RUN_COMPLETED && !x->rerun_completed)
        tell_of_old_trial(c, x, t);
    else
        trial_again(c, t, action->hparams);
}

static void carry_out(struct core *c, struct experiment *x, const struct searcher_action *action)
{
    struct trial *t = action->trial < x->trial_at_n ? x->trial_at[action->trial] : NULL;
    if (action->type == SEARCHER_CREATE)
        carry_out_create(c, x, action);
    else if (t == NULL)
        return;
    else if (action->type == SEARCHER_VALIDATE_AFTER)
        trial_operation_given(c, t);
    else if (action->type == SEARCHER_CLOSE)
        trial_closed(c, t);
    else
        trial_stop_by_searcher(c, t);
}

/* In order, with what they lead to. An experiment that is stopping takes no more trials. */
static void carry_out_all(struct core *c, struct experiment *x)
{
    for (size_t i = 0; i < x->actions.n; i++) {
        struct searcher_action action = x->actions.item[i]; /* the list may grow under our hands */
        if (action.type == SEARCHER_SHUTDOWN)
            carry_out_shutdown(c, x, &action);
        else if (!run_state_is_stopping(x->sm.state) && !run_state_is_terminal(x->sm.state))
            carry_out(c, x, &action);
    }
    searcher_actions_release(&x->actions);
}

/* An event, kept if it matters, and what follows from it. What is told while actions are being carried out adds to
 * their list. -1: it cannot be. */
static int tell_searcher(struct core *c, struct experiment *x, const struct searcher_event *ev, struct error *err)
{
    int64_t before = (int64_t)searcher_event_n(x->searcher);
    bool is_first = x->actions.n == 0;
    int rv = searcher_step(x->searcher, ev, &x->actions, err);
    if (rv <= 0)
        return rv;
    if (!x->searcher_touched) {
        x->searcher_touched = true;
        x->searcher_events_from = before;
        STAILQ_INSERT_TAIL(&c->searchers_touched, x, searcher_next);
    }
    searcher_event_print(ev, &x->searcher_events);
    x->searcher_events_since++;
    if (is_first)
        carry_out_all(c, x);
    return 0;
}

static void exited_early(struct core *c, struct experiment *x, const struct trial *t, enum searcher_exit reason)
{
    tell_searcher(c, x, &(struct searcher_event){.type = SEARCHER_EXITED_EARLY, .trial = t->number, .reason = reason},
                  NULL);
}

static void put_snapshot(struct core *c, struct experiment *x)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    searcher_snapshot(x->searcher, &text);
    struct core_effect *e = effect_add(c, CORE_PUT_SEARCHER);
    e->searcher.experiment_id = x->row.id;
    e->searcher.snapshot = arena_strdup(&c->out->arena, text.s);
    x->searcher_events_since = 0;
}

/* A snapshot grows with the trials, and so does the number of events from one to the next: what an event costs does
 * not. */
static void save_searcher(struct core *c, struct experiment *x)
{
    if (x->searcher_events_since > SEARCHER_EVENTS_MIN + searcher_trial_n(x->searcher)) {
        put_snapshot(c, x);
    } else {
        struct core_effect *e = effect_add(c, CORE_ADD_SEARCHER_EVENTS);
        e->searcher_events.experiment_id = x->row.id;
        e->searcher_events.from = x->searcher_events_from;
        e->searcher_events.lines = arena_strdup(&c->out->arena, x->searcher_events.s);
    }
    strbuf_reset(&x->searcher_events);
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
    x->job = job_new(x);
    LIST_INIT(&x->trials);
    HASH_ADD(hh, c->experiments, row.id, sizeof x->row.id, x);
    HASH_ADD(by_job, c->jobs, row.job_id, strlen(x->row.job_id), x);
    if (x->hh.tbl == NULL || x->by_job.tbl == NULL)
        abort();
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

/* Where people look when a search does something else than they thought. */
static void warn_of_searcher(struct core *c, const struct experiment *x)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    if (searcher_warning(x->searcher, &text) > 0 && x->trial_at_n > 0)
        trial_log(c, x->trial_at[0], false, "warning: %s", text.s);
}

/* What was never stored, or has just been read back: its first change is kept as a snapshot. */
static void begin_search(struct experiment *x, struct searcher *searcher)
{
    x->searcher = searcher;
    x->searcher_events_since = UINT64_MAX / 2;
}

int experiment_create(struct core *c, const struct core_experiment_spec *spec, bool activate, struct error *err)
{
    struct pool *pool;
    struct searcher *searcher;
    if (check_spec(c, spec, &pool, err) < 0 ||
        searcher_new(spec->searcher, spec->hyperparameters, spec->seed, &searcher, err) < 0)
        return -1;

    struct experiment_row row = {.id = ++c->last_experiment_id, .state = RUN_PAUSED, .start_us = c->now_us,
                                 .queue_position = c->now_us, .owner_id = spec->owner_id};
    new_uuid(c, row.job_id);
    struct experiment *x = new_experiment(c, &row, spec, pool, false);
    begin_search(x, searcher);
    record_touch(c, &x->record);
    tell_searcher(c, x, &(struct searcher_event){.type = SEARCHER_STARTED}, NULL);
    warn_of_searcher(c, x);
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
    if (experiment_find(c, from->row.id) != NULL || !run_state_is_over(from->row.state))
        return error_set(err, ERR_PRECONDITION, "experiment %d is not over yet: wait for its end, or kill it",
                         from->row.id);
    if (check_spec(c, &from->spec, &pool, err) < 0 ||
        searcher_new(from->spec.searcher, from->spec.hyperparameters, from->spec.seed, &searcher, err) < 0)
        return -1;
    struct experiment *x = reopen(c, from, pool);
    begin_search(x, searcher);
    x->rerun_completed = ev->resume.rerun_completed;
    for (size_t i = 0; i < ev->resume.trial_n; i++)
        trial_restore(c, x, &ev->resume.trial[i]);
    x->unclaimed_n = ev->resume.trial_n;
    tell_searcher(c, x, &(struct searcher_event){.type = SEARCHER_STARTED}, NULL);
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
    if ((p->set_priority && pool_check_priority(x->pool, p->priority, err) < 0) ||
        (p->set_weight && pool_check_weight(x->pool, p->weight, err) < 0))
        return error_wrap(err, "experiment %d", id);
    if (p->set_max_slots)
        x->spec.max_slots = p->max_slots;
    if (p->set_weight)
        x->spec.weight = p->weight;
    if (p->set_priority)
        x->spec.priority = p->priority;
    job_reweigh(x);
    return 0;
}

/* ---- from its trials --------------------------------------------------------------------------------------------- */

void experiment_trial_ended(struct core *c, struct experiment *x, struct trial *t)
{
    if (x->searcher != NULL) {
        if (t->sm.state == RUN_ERROR)
            exited_early(c, x, t, SEARCHER_EXIT_ERRORED);
        else if (t->sm.state == RUN_CANCELED)
            exited_early(c, x, t, SEARCHER_EXIT_USER_CANCELED);
        tell_searcher(c, x, &(struct searcher_event){.type = SEARCHER_EXITED, .trial = t->number}, NULL);
    }
    maybe_end(c, x);
}

void experiment_trial_invalid_hp(struct core *c, struct experiment *x, struct trial *t)
{
    exited_early(c, x, t, SEARCHER_EXIT_INVALID_HP);
}

void experiment_validated(struct core *c, int32_t trial_id, const char *metrics)
{
    struct trial *t = trial_find(c, trial_id);
    if (t == NULL || run_state_is_terminal(t->sm.state))
        return;
    struct experiment *x = t->experiment;
    struct searcher_event ev = {.trial = t->number};
    cleanup_error struct error err = ERROR_INIT;
    int rv = searcher_read_metrics(x->searcher, metrics, &ev, &err);
    if (rv > 0)
        tell_searcher(c, x, &ev, NULL);
    if (rv < 0) {
        c->out->searcher_error = arena_strdup(&c->out->arena, error_msg(&err));
        searcher_failed(c, x);
    }
}

int experiment_operation_completed(struct core *c, int32_t trial_id, int64_t length, double metric, struct error *err)
{
    struct trial *t = trial_find(c, trial_id);
    if (t == NULL || run_state_is_terminal(t->sm.state))
        return 0;
    struct searcher_event ev = {.type = SEARCHER_OPERATION_COMPLETED, .trial = t->number, .length = length,
                                .metric = metric, .run = t->row.run_id};
    if (tell_searcher(c, t->experiment, &ev, err) < 0)
        return error_wrap(err, "trial %d", trial_id);
    trial_operation_completed(c, t);
    return 0;
}

void experiment_trial_progress(struct core *c, int32_t trial_id, double progress)
{
    struct trial *t = trial_find(c, trial_id);
    if (t == NULL || run_state_is_terminal(t->sm.state))
        return;
    struct experiment *x = t->experiment;
    struct searcher_event ev = {.type = SEARCHER_PROGRESS, .trial = t->number, .progress = progress};
    tell_searcher(c, x, &ev, NULL);
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
        searcher_restore(x->searcher, r->searcher_snapshot, r->searcher_events, err) < 0)
        return -1;
    begin_search(x, x->searcher);
    return 0;
}

int experiment_restore_trial(struct experiment *x, struct trial *t, struct error *err)
{
    t->number = searcher_find(x->searcher, t->row.request_id);
    if (t->number == SIZE_MAX) {
        x->unclaimed_n++;
        if (!run_state_is_terminal(t->sm.state))
            return error_set(err, ERR_INVALID, "its searcher does not know trial %d", t->row.id);
        return 0;
    }
    experiment_add_trial(x, t);
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
    job_leave(x);
    searcher_free(x->searcher);
    searcher_actions_release(&x->actions);
    strbuf_release(&x->searcher_events);
    free(x->trial_at);
    free((char *)x->spec.warm_start_checkpoint);
    free(x);
}
