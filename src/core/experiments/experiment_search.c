/* An experiment and its searcher. What trials have done is told to the searcher; the actions that it answers with
 * are carried out; its state is kept in the store. */
#include "core/experiments/experiment_internal.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/must.h"
#include "common/base/strbuf.h"
#include "core/experiments/trial.h"
#include "core/state/step.h"

/* A snapshot is followed by the next one after this many events, and one more event for each trial. */
enum { SEARCHER_EVENTS_MIN = 256 };

/* ---- actions of the searcher ------------------------------------------------------------------------------------- */

void experiment_add_trial(struct experiment *x, struct trial *t)
{
    if (t->number >= x->trial_at_n) {
        size_t n = t->number + 1 > 2 * x->trial_at_n ? t->number + 1 : 2 * x->trial_at_n;
        x->trial_at = must_realloc(x->trial_at, n * sizeof(struct trial *));
        memset(x->trial_at + x->trial_at_n, 0, (n - x->trial_at_n) * sizeof(struct trial *));
        x->trial_at_n = n;
    }
    x->trial_at[t->number] = t;
}

static void searcher_failed(struct core *c, struct experiment *x)
{
    if (sm_type_allows(&experiment_sm, x->row.state, RUN_STOPPING_ERROR))
        experiment_move(c, x, RUN_STOPPING_ERROR);
}

static void carry_out_shutdown(struct core *c, struct experiment *x, const struct searcher_action *action)
{
    enum run_state to = action->failure  ? RUN_STOPPING_ERROR
                        : action->cancel ? RUN_STOPPING_CANCELED
                                         : RUN_STOPPING_COMPLETED;
    if (sm_type_allows(&experiment_sm, x->row.state, to))
        experiment_move(c, x, to);
}

/* Gives an event to the searcher, whose actions are added to *actions. 1: the event has changed the searcher and is
 * kept for restarts; 0: it has changed nothing; -1: the searcher refused it. */
static int step_searcher(struct core *c, struct experiment *x, const struct searcher_event *ev,
                         struct searcher_actions *actions, struct error *err)
{
    int64_t before = (int64_t)searcher_event_n(x->searcher);
    int rv = searcher_step(x->searcher, ev, actions, err);
    if (rv <= 0)
        return rv;
    if (!x->searcher_touched) {
        x->searcher_touched = true;
        x->searcher_events_from = before;
        STAILQ_INSERT_TAIL(&c->searchers_touched, x, searcher_next);
    }
    searcher_event_print(ev, &x->searcher_events);
    x->searcher_events_since++;
    return 1;
}

/* Tells the new searcher that a trial of a continued experiment has ended as it did for the old searcher. Such a trial
 * is not run again. */
static void replay_old_trial(struct core *c, struct experiment *x, const struct trial *t,
                             struct searcher_actions *actions)
{
    struct searcher_event early = {.type = SEARCHER_EXITED_EARLY,
                                   .trial = t->number,
                                   .reason = SEARCHER_EXIT_INVALID_HP};
    struct searcher_event exited = {.type = SEARCHER_EXITED, .trial = t->number};
    if (trial_has_invalid_hp(t))
        step_searcher(c, x, &early, actions, NULL);
    step_searcher(c, x, &exited, actions, NULL);
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

/* Carries out the creation of a trial. The same seed draws the same trials, so in a continued experiment some of the
 * trials that the searcher creates exist already. */
static void carry_out_create(struct core *c, struct experiment *x, const struct searcher_action *create,
                             struct searcher_actions *actions)
{
    struct trial *t = unclaimed_trial(x, create->request_id);
    bool is_old = t != NULL, runs = !is_old || t->row.state != RUN_COMPLETED || x->rerun_completed;
    if (!is_old)
        t = trial_create(c, x, create);
    else if (runs)
        trial_again(c, t, create->hparams);
    t->number = create->trial;
    x->unclaimed_n -= is_old;
    experiment_add_trial(x, t);
    if (!runs)
        replay_old_trial(c, x, t, actions);
    else if (x->row.state == RUN_ACTIVE)
        trial_patch(c, t, RUN_ACTIVE);
}

static struct trial *trial_of(const struct experiment *x, const struct searcher_action *action)
{
    return action->trial < x->trial_at_n ? x->trial_at[action->trial] : NULL;
}

/* Carries out an action of the searcher. An experiment that is stopping gets no more trials, and its trials are not
 * told of actions. */
static void carry_out(struct core *c, struct experiment *x, const struct searcher_action *action,
                      struct searcher_actions *actions)
{
    bool goes_on = !run_state_is_stopping(x->row.state) && !run_state_is_terminal(x->row.state);
    struct trial *t = goes_on && action->type != SEARCHER_CREATE ? trial_of(x, action) : NULL;
    switch (action->type) {
    case SEARCHER_CREATE:
        if (goes_on)
            carry_out_create(c, x, action, actions);
        return;
    case SEARCHER_VALIDATE_AFTER:
        if (t)
            trial_operation_given(c, t);
        return;
    case SEARCHER_CLOSE:
        if (t)
            trial_closed(c, t);
        return;
    case SEARCHER_STOP:
        if (t)
            trial_stop_by_searcher(c, t);
        return;
    case SEARCHER_SHUTDOWN:
        carry_out_shutdown(c, x, action);
        return;
    }
}

int experiment_tell_searcher(struct core *c, struct experiment *x, const struct searcher_event *ev, struct error *err)
{
    struct searcher_actions actions = SEARCHER_ACTIONS_INIT;
    int rv = step_searcher(c, x, ev, &actions, err);
    for (size_t i = 0; i < actions.n; i++) {
        /* a copy, because carrying out an action may add actions to the list */
        struct searcher_action action = actions.item[i];
        carry_out(c, x, &action, &actions);
    }
    searcher_actions_release(&actions);
    return rv < 0 ? -1 : 0;
}

static void exited_early(struct core *c, struct experiment *x, const struct trial *t, enum searcher_exit reason)
{
    experiment_tell_searcher(
        c, x, &(struct searcher_event){.type = SEARCHER_EXITED_EARLY, .trial = t->number, .reason = reason}, NULL);
}

/* ---- what the store keeps of the searcher ------------------------------------------------------------------------ */

static void put_snapshot(struct core *c, struct experiment *x)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    searcher_snapshot(x->searcher, &text);
    struct core_effect *e = effect_add(c, CORE_PUT_SEARCHER);
    e->searcher.experiment_id = x->row.id;
    e->searcher.snapshot = arena_strdup(&c->out->arena, text.s);
    x->searcher_events_since = 0;
}

/* Stores a snapshot of the searcher, or only the events since the last snapshot. Snapshots grow with the number of
 * trials, and so does the number of events from one snapshot to the next. So the cost of one event does not grow with
 * the number of trials. */
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
        if (!run_state_is_terminal(x->row.state))
            save_searcher(c, x);
    }
}

/* ---- what trials report ------------------------------------------------------------------------------------------ */

void experiment_trial_ended(struct core *c, struct trial *t)
{
    struct experiment *x = t->experiment;
    x->live_n--;
    if (x->searcher) {
        if (t->row.state == RUN_ERROR)
            exited_early(c, x, t, SEARCHER_EXIT_ERRORED);
        else if (t->row.state == RUN_CANCELED)
            exited_early(c, x, t, SEARCHER_EXIT_USER_CANCELED);
        experiment_tell_searcher(c, x, &(struct searcher_event){.type = SEARCHER_EXITED, .trial = t->number}, NULL);
    }
    experiment_maybe_end(c, x);
}

void experiment_trial_invalid_hp(struct core *c, struct trial *t)
{
    exited_early(c, t->experiment, t, SEARCHER_EXIT_INVALID_HP);
}

void experiment_validated(struct core *c, int32_t trial_id, const char *metrics)
{
    struct trial *t = trial_find(c, trial_id);
    if (!t || run_state_is_terminal(t->row.state))
        return;
    struct experiment *x = t->experiment;
    struct searcher_event ev = {.trial = t->number};
    cleanup_error struct error err = ERROR_INIT;
    int rv = searcher_read_metrics(x->searcher, metrics, &ev, &err);
    if (rv > 0)
        experiment_tell_searcher(c, x, &ev, NULL);
    if (rv < 0) {
        c->out->searcher_error = arena_strdup(&c->out->arena, error_msg(&err));
        experiment_note_failure(x, "trial %d: %s", trial_id, error_msg(&err));
        searcher_failed(c, x);
    }
}

int experiment_operation_completed(struct core *c, int32_t trial_id, int64_t length, double metric, struct error *err)
{
    struct trial *t = trial_find(c, trial_id);
    if (!t || run_state_is_terminal(t->row.state))
        return 0;
    struct searcher_event ev = {.type = SEARCHER_OPERATION_COMPLETED,
                                .trial = t->number,
                                .length = length,
                                .metric = metric,
                                .run = t->row.run_id};
    if (experiment_tell_searcher(c, t->experiment, &ev, err) < 0)
        return error_wrap(err, "trial %d", trial_id);
    trial_operation_completed(c, t);
    return 0;
}

void experiment_trial_progress(struct core *c, int32_t trial_id, double progress)
{
    struct trial *t = trial_find(c, trial_id);
    if (!t || run_state_is_terminal(t->row.state))
        return;
    struct experiment *x = t->experiment;
    struct searcher_event ev = {.type = SEARCHER_PROGRESS, .trial = t->number, .progress = progress};
    experiment_tell_searcher(c, x, &ev, NULL);
    x->row.progress = searcher_progress(x->searcher);
    record_touch(c, &x->record);
}
