#include "core/experiments/trial.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/must.h"
#include "common/base/strbuf.h"
#include "common/config/schema.h"
#include "core/resources/allocation.h"
#include "core/searcher/searcher.h"
#include "core/state/ids.h"
#include "core/state/step.h"

struct trial *trial_find(const struct core *c, int32_t id)
{
    struct trial *t = NULL;
    HASH_FIND(hh, c->trials, &id, sizeof(id), t);
    return t;
}

static void set_trial_state(struct core *c, struct trial *t, enum run_state to)
{
    if (sm_check_move(&trial_sm, t->row.id, t->row.state, to, NULL) < 0)
        abort(); /* where a move may be forbidden, the caller has asked sm_type_allows() before */
    t->row.state = to;
    record_touch(c, &t->record);
}

/* ---- birth and end ----------------------------------------------------------------------------------------------- */

static struct trial *new_trial(struct core *c, struct experiment *x, const struct trial_row *row, bool stored)
{
    struct trial *t = must_calloc(1, sizeof(*t));
    t->row = *row;
    t->row.hparams = t->hparams = must_strdup(row->hparams);
    t->row.excluded_agents = t->excluded = row->excluded_agents ? must_strdup(row->excluded_agents) : NULL;
    if ((!t->excluded) != (!row->excluded_agents))
        abort();
    record_init(&t->record, RECORD_TRIAL, &t->row, stored);
    SET_TEXT(t->task.id, row->task_id);
    SET_TEXT(t->task.job_id, x->row.job_id);
    t->task.trial_id = row->id;
    t->task.start_us = row->start_us;
    t->task.has_log_retention = row->has_log_retention;
    t->task.log_retention_days = row->log_retention_days;
    record_init(&t->task_record, RECORD_TASK, &t->task, stored);
    t->experiment = x;
    t->number = SIZE_MAX;
    LIST_INSERT_HEAD(&x->trials, t, in_experiment);
    x->trial_n++;
    x->live_n += !run_state_is_terminal(row->state);
    HASH_ADD(hh, c->trials, row.id, sizeof(t->row.id), t);
    return t;
}

struct trial *trial_create(struct core *c, struct experiment *x, const struct searcher_action *create)
{
    struct trial_row row = {.id = ++c->last_trial_id,
                            .experiment_id = x->row.id,
                            .state = RUN_PAUSED,
                            .start_us = c->now_us,
                            .seed = create->trial_seed,
                            .hparams = create->hparams,
                            .has_log_retention = x->spec.has_log_retention,
                            .log_retention_days = x->spec.log_retention_days};
    SET_TEXT(row.request_id, create->request_id);
    snprintf(row.task_id, sizeof(row.task_id), "%d.%s", x->row.id, create->request_id);
    if (x->spec.warm_start_checkpoint)
        SET_TEXT(row.warm_start_checkpoint, x->spec.warm_start_checkpoint);
    struct trial *t = new_trial(c, x, &row, false);
    record_touch(c, &t->record);
    record_touch(c, &t->task_record);
    return t;
}

/* Gives the trial the id of its next task: E.REQUEST, then E.REQUEST-1, E.REQUEST-2 and so on. */
static void next_task_id(struct trial *t)
{
    char first[CORE_TASK_ID_MAX - 12];
    int n = snprintf(first, sizeof(first), "%d.%s", t->row.experiment_id, t->row.request_id);
    int last = t->row.task_id[n] == '-' ? (int)strtol(t->row.task_id + n + 1, NULL, 10) : 0;
    snprintf(t->row.task_id, sizeof(t->row.task_id), "%s-%d", first, last + 1);
}

/* The table of states allows a trial that has ended only one move, to ACTIVE. From ACTIVE the trial is then PAUSED
 * until its experiment is active again. */
void trial_again(struct core *c, struct trial *t, const char *hparams)
{
    set_trial_state(c, t, RUN_ACTIVE);
    set_trial_state(c, t, RUN_PAUSED);
    next_task_id(t);
    t->row.runs_before_task = t->row.run_id;
    t->row.end_us = 0;
    t->row.restarts = t->row.launch_failures = 0;
    t->row.early_exit = EARLY_EXIT_NONE;
    t->row.stopped_by_searcher = t->row.retries_canceled = false;
    free(t->excluded);
    t->row.excluded_agents = t->excluded = NULL;
    if (strcmp(hparams, t->hparams) != 0) { /* the configuration was changed */
        free(t->hparams);
        t->row.hparams = t->hparams = must_strdup(hparams);
        t->new_hparams = true;
    }
    SET_TEXT(t->task.id, t->row.task_id);
    t->task.start_us = c->now_us;
    t->task.end_us = 0;
    record_init(&t->task_record, RECORD_TASK, &t->task, false);
    t->experiment->live_n++;
    record_touch(c, &t->record);
    record_touch(c, &t->task_record);
}

static void finish_trial(struct core *c, struct trial *t, enum run_state end)
{
    set_trial_state(c, t, end);
    t->row.end_us = t->task.end_us = c->now_us;
    record_touch(c, &t->task_record);
    timer_clear(&c->timers, &t->invalid_hp);
    timer_clear(&c->timers, &t->retry);
}

static void end_trial(struct core *c, struct trial *t, enum run_state state)
{
    if (!sm_type_allows(&trial_sm, t->row.state, state))
        set_trial_state(
            c, t, RUN_STOPPING_COMPLETED); /* the trial was PAUSED, and its program has ended by itself nevertheless */
    finish_trial(c, t, state);
    fact_add(c, (struct fact){FACT_TRIAL_ENDED, .trial = t});
}

void trial_fail(struct core *c, struct trial *t)
{
    if (run_state_is_terminal(t->row.state))
        return;
    finish_trial(c, t, RUN_ERROR);
    if (t->allocation && allocation_is_open(t->allocation))
        allocation_end(c, t->allocation, EXIT_RESTORE_ERROR, 0, "the experiment could not be restored");
}

void trial_free(struct core *c, struct trial *t)
{
    timer_clear(&c->timers, &t->invalid_hp);
    timer_clear(&c->timers, &t->retry);
    record_release(c, &t->record);
    record_release(c, &t->task_record);
    HASH_DEL(c->trials, t);
    free(t->hparams);
    free(t->excluded);
    free(t);
}

/* ---- the wanted state -------------------------------------------------------------------------------------------- */

struct searcher_operation trial_operation(const struct trial *t)
{
    if (t->number == SIZE_MAX)
        return (struct searcher_operation){0};
    return searcher_operation(t->experiment->searcher, t->number);
}

static bool waits_for_searcher(const struct trial *t)
{
    return trial_operation(t).completed;
}

static void ask_for_allocation(struct core *c, struct trial *t)
{
    if (!t->allocation && t->retry.place == 0 && !waits_for_searcher(t))
        allocation_request(c, t);
}

enum { REASON_MAX = 192 }; /* bytes; a user's name has at most 127 */

/* Makes a text such as "the trial was paused by ada", so that the trial's log tells which user did it. */
static const char *reason_with_user(const struct core *c, const char *what, char buffer[REASON_MAX])
{
    snprintf(buffer, REASON_MAX, "%s%s%s", what, c->by.name ? " by " : "", c->by.name ? c->by.name : "");
    return buffer;
}

/* Carries out what the trial's state asks for. To call it twice does no harm. */
static void act_on_state(struct core *c, struct trial *t)
{
    char text[REASON_MAX];
    if (t->row.state == RUN_ACTIVE)
        ask_for_allocation(c, t);
    else if (t->row.state == RUN_PAUSED && t->allocation)
        allocation_terminate(c, t->allocation, reason_with_user(c, "the trial was paused", text));
    if (!run_state_is_stopping(t->row.state))
        return;
    if (!t->allocation)
        end_trial(c, t, run_state_terminal_for(t->row.state));
    else if (t->row.state == RUN_STOPPING_CANCELED)
        allocation_terminate(c, t->allocation, reason_with_user(c, "the trial was canceled", text));
    else if (t->row.state == RUN_STOPPING_KILLED || t->row.state == RUN_STOPPING_ERROR)
        allocation_kill(c, t->allocation, reason_with_user(c, "the trial was killed", text));
    else if (t->row.stopped_by_searcher)
        allocation_terminate(c, t->allocation, "the searcher stopped the trial");
}

/* docs/spec/lifecycle.md#patching-a-trials-state has the rules in the order in which they are applied here. */
void trial_patch(struct core *c, struct trial *t, enum run_state wanted)
{
    if (run_state_is_terminal(t->row.state) || run_state_is_terminal(wanted))
        return;
    if (t->row.state != wanted) {
        if (!sm_type_allows(&trial_sm, t->row.state, wanted))
            return;
        set_trial_state(c, t, wanted);
        if (wanted == RUN_ACTIVE && t->row.run_id > 0 && c->by.name)
            trial_log(c, t, false, "the trial was activated by %s", c->by.name);
    }
    act_on_state(c, t);
}

void trial_stop_by_searcher(struct core *c, struct trial *t)
{
    if (run_state_is_terminal(t->row.state))
        return;
    t->row.stopped_by_searcher = true;
    record_touch(c, &t->record);
    trial_patch(c, t, RUN_STOPPING_COMPLETED);
}

void trial_operation_given(struct core *c, struct trial *t)
{
    if (t->row.state == RUN_ACTIVE)
        ask_for_allocation(c, t);
}

/* Has to be called when an operation of the trial was reported as completed. If the trial's allocation still waits, the
 * report came from an earlier run. The trial then needs no slots for now, so the allocation is ended. */
void trial_operation_completed(struct core *c, struct trial *t)
{
    if (waits_for_searcher(t) && t->allocation && t->allocation->row.state == ALLOCATION_PENDING)
        allocation_terminate(c, t->allocation, "the trial has nothing to do for now");
}

/* Has to be called when the searcher has closed the trial. If the trial waits for its searcher, it ends now. If it
 * runs, it ends by itself when it asks for its next operation. */
void trial_closed(struct core *c, struct trial *t)
{
    if (!run_state_is_terminal(t->row.state) && !t->allocation && waits_for_searcher(t))
        end_trial(c, t, RUN_COMPLETED);
}

/* ---- the end of an allocation ------------------------------------------------------------------------------------ */

static bool is_task_failure(enum exit_kind kind)
{
    return kind == EXIT_FAILED || kind == EXIT_TASK_ERROR || kind == EXIT_TASK_REFUSED;
}

bool trial_has_invalid_hp(const struct trial *t)
{
    return t->row.early_exit == EARLY_EXIT_INVALID_HP || t->row.early_exit == EARLY_EXIT_INIT_INVALID_HP;
}

/* Returns true if the trial's searcher asks for nothing more. The trial has then completed, however its last allocation
 * ended. */
static bool is_search_done(const struct trial *t)
{
    struct searcher_operation op = trial_operation(t);
    return op.completed && op.closed;
}

/* Returns true if the trial has ended because its program has exited with status 0, although the searcher may want more
 * of the trial (trial.h). */
static bool ends_by_itself(const struct trial *t)
{
    struct searcher_operation op = trial_operation(t);
    if (op.length == 0)
        return true;
    return !op.completed && op.completed_run != t->row.run_id;
}

static void tell_failure(struct core *c, struct trial *t, const char *text)
{
    fact_add(c, (struct fact){FACT_TRIAL_FAILED, .trial = t, .text = text});
}

static void run_again(struct core *c, struct trial *t)
{
    if (t->row.state == RUN_ACTIVE)
        ask_for_allocation(c, t);
}

/* Asks for another allocation later. An agent that cannot launch the trial would fail again at once, and for ever, so
 * each attempt waits twice as long as the one before. After TRIAL_LAUNCHES_MAX attempts, which take a quarter of an
 * hour, the trial ends. */
static void run_again_later(struct core *c, struct trial *t, const char *why)
{
    t->row.launch_failures++;
    record_touch(c, &t->record);
    if (t->row.launch_failures >= TRIAL_LAUNCHES_MAX) {
        trial_log(c, t, true, "Trial %d (Experiment %d) could not be started %d times in a row: giving up", t->row.id,
                  t->row.experiment_id, TRIAL_LAUNCHES_MAX);
        tell_failure(c, t,
                     arena_printf(&c->out->arena, "trial %d could not be started %d times in a row%s%s", t->row.id,
                                  TRIAL_LAUNCHES_MAX, why ? ", the last time: " : "", why ? why : ""));
        end_trial(c, t, RUN_ERROR);
        return;
    }
    int doublings = t->row.launch_failures <= 6 ? t->row.launch_failures - 1 : 6;
    int64_t delay_us = INT64_C(1000000) << doublings;
    timer_set(&c->timers, &t->retry, TIMER_TRIAL_RETRY,
              c->now_us + (delay_us < TRIAL_RETRY_MAX_US ? delay_us : TRIAL_RETRY_MAX_US));
}

/* Sets the count of failed launches back to 0 if the trial's program has been started. That is certain only if the
 * program has ended by itself: agents report RUNNING for a rendezvous and for a supervisor before the program has been
 * started. */
static void forget_failed_launches(struct core *c, struct trial *t, enum exit_kind kind)
{
    bool has_run = kind == EXIT_OK || kind == EXIT_FAILED || kind == EXIT_TASK_ERROR;
    if (!has_run || t->row.launch_failures == 0)
        return;
    t->row.launch_failures = 0;
    record_touch(c, &t->record);
}

static void tell_exit(struct core *c, struct trial *t, const struct allocation_row *ended)
{
    struct arena *a = &c->out->arena;
    if (ended->exit_kind == EXIT_FAILED)
        tell_failure(c, t, arena_printf(a, "trial %d failed: exit code %d", t->row.id, ended->exit_code));
    else
        tell_failure(c, t, arena_printf(a, "trial %d failed: %s", t->row.id, exit_kind_text(ended->exit_kind)));
}

static void handle_failure(struct core *c, struct trial *t)
{
    int max_restarts = t->experiment->spec.max_restarts;
    if (t->row.retries_canceled) {
        trial_log(c, t, true,
                  "the trial failed and matched logs to a don't retry policy: a log policy canceled its retries");
        end_trial(c, t, RUN_ERROR);
    } else if (t->row.restarts >= max_restarts) {
        end_trial(c, t, RUN_ERROR);
    } else {
        t->row.restarts++;
        record_touch(c, &t->record);
        trial_log(c, t, false, "restarting the trial: restart %d of %d", t->row.restarts, max_restarts);
        run_again(c, t);
    }
}

static void log_not_counted(struct core *c, const struct trial *t, enum exit_kind kind)
{
    if (t->row.state == RUN_ACTIVE && exit_kind_is_node_fault(kind))
        trial_log(c, t, false,
                  "the node failed, not the task: the trial runs again, and this does not count against "
                  "max_restarts (restarts so far: %d of %d)",
                  t->row.restarts, t->experiment->spec.max_restarts);
}

static void run_after_other_end(struct core *c, struct trial *t, enum exit_kind kind, const char *why)
{
    log_not_counted(c, t, kind);
    if (kind == EXIT_AGENT_ERROR)
        run_again_later(c, t, why);
    else
        run_again(c, t);
}

/* Ends a trial of which a run has gone over a limit. It does not run again: another run would be stopped, too. */
static void end_over_limit(struct core *c, struct trial *t, enum run_limit limit)
{
    const struct core_experiment_spec *spec = &t->experiment->spec;
    bool idle = limit == RUN_LIMIT_MAX_IDLE_TIME;
    cleanup_strbuf struct strbuf max = STRBUF_INIT;
    duration_format((idle ? spec->max_idle_us : spec->max_time_us) * 1000, &max);
    const char *why = arena_printf(&c->out->arena,
                                   idle
                                       ? "the slots of a run were not used for %s, which is its resources.max_idle_time"
                                       : "a run has taken %s, which is its resources.max_time",
                                   strbuf_str(&max));
    trial_log(c, t, true, "the trial does not run again: %s", why);
    tell_failure(c, t, arena_printf(&c->out->arena, "trial %d was stopped: %s", t->row.id, why));
    end_trial(c, t, RUN_ERROR);
}

void trial_allocation_ended(struct core *c, struct trial *t, const struct allocation_row *ended)
{
    enum exit_kind kind = ended->exit_kind;
    const char *why = t->allocation ? t->allocation->exit_text : NULL; /* freed after this call */
    t->allocation = NULL;
    if (run_state_is_terminal(t->row.state))
        return;
    forget_failed_launches(c, t, kind);
    if (is_task_failure(kind))
        tell_exit(c, t, ended);
    if (run_state_is_stopping(t->row.state))
        end_trial(c, t, is_task_failure(kind) ? RUN_ERROR : run_state_terminal_for(t->row.state));
    else if (trial_has_invalid_hp(t))
        end_trial(c, t, RUN_COMPLETED);
    else if (is_search_done(t))
        end_trial(c, t, RUN_COMPLETED);
    else if (kind == EXIT_OK && t->row.early_exit == EARLY_EXIT_USER_REQUESTED_STOP)
        end_trial(c, t, RUN_COMPLETED);
    else if (kind == EXIT_OK && !ended->preempt_acked && ends_by_itself(t))
        end_trial(c, t, RUN_COMPLETED);
    else if (ended->over_limit != RUN_LIMIT_NONE && t->row.state == RUN_ACTIVE)
        end_over_limit(c, t, ended->over_limit);
    else if (is_task_failure(kind))
        handle_failure(c, t);
    else
        run_after_other_end(c, t, kind, why);
}

/* ---- requests and reports ---------------------------------------------------------------------------------------- */

int trial_kill(struct core *c, int32_t id, struct error *err)
{
    struct trial *t = trial_find(c, id);
    if (!t)
        return error_set(err, ERR_NOT_FOUND, "trial '%d' not found", id);
    trial_patch(c, t, RUN_STOPPING_KILLED);
    return 0;
}

int trial_early_exit(struct core *c, int32_t id, enum early_exit reason, struct error *err)
{
    struct trial *t = trial_find(c, id);
    if (!t || run_state_is_terminal(t->row.state))
        return 0;
    if (t->row.early_exit != EARLY_EXIT_NONE)
        return error_set(err, ERR_PRECONDITION, "trial %d has already reported %s", id,
                         early_exit_name(t->row.early_exit));
    t->row.early_exit = reason;
    record_touch(c, &t->record);
    if (trial_has_invalid_hp(t)) {
        timer_set(&c->timers, &t->invalid_hp, TIMER_TRIAL_INVALID_HP, c->now_us + TRIAL_INVALID_HP_GRACE_US);
        fact_add(c, (struct fact){FACT_TRIAL_INVALID_HP, .trial = t});
    }
    return 0;
}

void trial_checkpointed(struct core *c, int32_t id, const char *uuid, int32_t steps_completed)
{
    struct trial *t = trial_find(c, id);
    if (!t || strlen(uuid) >= CORE_UUID_MAX)
        return;
    if (t->row.latest_checkpoint[0] != '\0' && steps_completed < t->row.steps_completed)
        return;
    SET_TEXT(t->row.latest_checkpoint, uuid);
    t->row.steps_completed = steps_completed;
    record_touch(c, &t->record);
}

bool trial_excludes(const struct trial *t, const char *agent_id)
{
    size_t n = strlen(agent_id);
    for (const char *line = t->excluded; line && *line != '\0'; line += strcspn(line, "\n") + 1)
        if (strncmp(line, agent_id, n) == 0 && line[n] == '\n')
            return true;
    return false;
}

static void exclude_agent(struct core *c, struct trial *t, const char *policy, const char *agent_id)
{
    if (!agent_id || agent_id[0] == '\0' || strlen(agent_id) >= CORE_AGENT_ID_MAX || trial_excludes(t, agent_id))
        return;
    struct strbuf lines = STRBUF_INIT;
    strbuf_addf(&lines, "%s%s\n", t->excluded ? t->excluded : "", agent_id);
    free(t->excluded);
    t->row.excluded_agents = t->excluded = strbuf_detach(&lines);
    record_touch(c, &t->record);
    trial_log(
        c, t, false,
        "log policy %s matched: the trial will not be restarted on node %s (the master therefore will not schedule on "
        "it)",
        policy, agent_id);
}

void trial_log_matched(struct core *c, int32_t id, const char *policy, const char *agent_id,
                       enum log_policy_action action)
{
    struct trial *t = trial_find(c, id);
    if (!t || run_state_is_terminal(t->row.state))
        return;
    if (action == LOG_POLICY_EXCLUDE_NODE) {
        exclude_agent(c, t, policy, agent_id);
    } else if (action == LOG_POLICY_CANCEL_RETRIES && !t->row.retries_canceled) {
        t->row.retries_canceled = true;
        record_touch(c, &t->record);
        trial_log(c, t, false, "log policy %s matched: the trial will not be restarted if it fails", policy);
    }
}

void trial_timer(struct core *c, struct timer *timer)
{
    if (timer->kind == TIMER_TRIAL_RETRY) {
        run_again(c, container_of(timer, struct trial, retry));
        return;
    }
    struct trial *t = container_of(timer, struct trial, invalid_hp);
    if (t->allocation)
        allocation_kill(c, t->allocation, "the trial reported invalid hyperparameters and did not exit");
}

/* ---- restart ----------------------------------------------------------------------------------------------------- */

/* Finds the checkpoint that an experiment starts from. It was looked up when the experiment was created; after a
 * restart, the rows of the experiment's trials name it. */
static void restore_warm_start(struct experiment *x, const struct trial_row *row)
{
    if (x->spec.warm_start_checkpoint || row->warm_start_checkpoint[0] == '\0')
        return;
    x->spec.warm_start_checkpoint = must_strdup(row->warm_start_checkpoint);
}

struct trial *trial_restore(struct core *c, struct experiment *x, const struct trial_row *row)
{
    restore_warm_start(x, row);
    return new_trial(c, x, row, true);
}

void trial_resume(struct core *c, struct trial *t)
{
    if (run_state_is_terminal(t->row.state))
        return;
    if (trial_has_invalid_hp(t))
        timer_set(&c->timers, &t->invalid_hp, TIMER_TRIAL_INVALID_HP, c->now_us + TRIAL_INVALID_HP_GRACE_US);
    act_on_state(c, t);
}
