#include "common/base/must.h"
#include "core/experiments/experiment_internal.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/strbuf.h"
#include "core/experiments/trial.h"
#include "core/resources/rm.h"
#include "core/state/ids.h"
#include "core/state/step.h"

/* ---- create ------------------------------------------------------------------------------------------------------ */

static struct experiment *new_experiment(struct core *c, const struct experiment_row *row,
                                         const struct core_experiment_spec *spec, struct pool *pool, bool stored)
{
    struct experiment *x = must_calloc(1, sizeof(*x));
    x->row = *row;
    x->row.failure = NULL;
    record_init(&x->record, RECORD_EXPERIMENT, &x->row, stored);
    x->spec = *spec;
    x->spec.searcher = x->spec.hyperparameters = NULL;
    x->spec.warning = NULL;
    x->spec.warning_n = 0;
    x->spec.pool = pool->name;
    if (spec->warm_start_checkpoint)
        x->spec.warm_start_checkpoint = must_strdup(spec->warm_start_checkpoint);
    x->pool = pool;
    x->job = job_new(x);
    LIST_INIT(&x->trials);
    HASH_ADD(hh, c->experiments, row.id, sizeof(x->row.id), x);
    HASH_ADD(by_job, c->jobs, row.job_id, strlen(x->row.job_id), x);
    return x;
}

static int check_spec(const struct core *c, const struct core_experiment_spec *spec, struct pool **ret_pool,
                      struct error *err)
{
    *ret_pool = pool_find(c, spec->pool);
    if (!*ret_pool)
        return error_set(err, ERR_INVALID, "resource pool \"%s\" does not exist", spec->pool);
    if (spec->slots_per_trial < 0 || spec->max_restarts < 0 || spec->preemption_timeout_s < 0)
        return error_set(err, ERR_INVALID, "slots_per_trial, max_restarts and preemption_timeout must be 0 or more");
    if (spec->needs.millicores < 0 || spec->needs.memory_bytes < 0)
        return error_set(err, ERR_INVALID, "resources.cpus and resources.memory must not be negative");
    if (spec->warm_start_checkpoint && strlen(spec->warm_start_checkpoint) >= CORE_UUID_MAX)
        return error_set(err, ERR_INVALID, "\"%s\" is not a checkpoint's uuid", spec->warm_start_checkpoint);
    if (HASH_COUNT(c->experiments) >= EXPERIMENTS_MAX)
        return error_set(err, ERR_TOO_LARGE, "%d experiments have not ended yet; wait for some to end, or kill some",
                         EXPERIMENTS_MAX);
    return 0;
}

/* Writes the configuration's warnings into the log of the first trial, because users look there when an experiment does
 * not do what they expected. */
static void log_config_warnings(struct core *c, const struct experiment *x, const struct core_experiment_spec *spec)
{
    for (size_t i = 0; i < spec->warning_n && x->trial_at_n > 0; i++)
        trial_log(c, x->trial_at[0], false, "warning: %s", spec->warning[i]);
}

static void log_warnings(struct core *c, const struct experiment *x, const struct core_experiment_spec *spec)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    if (x->trial_at_n > 0 && searcher_warning(x->searcher, &text) > 0)
        trial_log(c, x->trial_at[0], false, "warning: %s", text.s);
    log_config_warnings(c, x, spec);
}

/* Notes that nothing of this searcher is stored since it was made or restored, so that its first change is stored as a
 * snapshot. */
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
    if (searcher_check_start(searcher, strlen(spec->hyperparameters), err) < 0) {
        searcher_free(searcher);
        return -1;
    }

    struct experiment_row row = {.id = ++c->last_experiment_id,
                                 .state = RUN_PAUSED,
                                 .start_us = c->now_us,
                                 .queue_position = c->now_us,
                                 .owner_id = spec->owner_id};
    new_uuid(c, row.job_id);
    struct experiment *x = new_experiment(c, &row, spec, pool, false);
    begin_search(x, searcher);
    record_touch(c, &x->record);
    experiment_tell_searcher(c, x, &(struct searcher_event){.type = SEARCHER_STARTED}, NULL);
    log_warnings(c, x, spec);
    if (activate && x->row.state == RUN_PAUSED)
        experiment_move(c, x, RUN_ACTIVE);
    c->out->experiment_id = row.id;
    c->out->job_id = arena_strdup(&c->out->arena, row.job_id);
    return 0;
}

/* ---- continue ---------------------------------------------------------------------------------------------------- */

/* For the core, a continued experiment is a new one, which begins PAUSED: the table of states allows no move out of a
 * state in which an experiment has ended. */
static struct experiment *reopen_experiment(struct core *c, const struct core_restored_experiment *from,
                                            struct pool *pool)
{
    struct experiment_row row = from->row;
    row.state = RUN_PAUSED;
    row.progress = 0;
    row.end_us = 0;
    row.queue_position = c->now_us;
    struct experiment *x = new_experiment(c, &row, &from->spec, pool, true);
    experiment_note_state(c, row.id, from->row.state, RUN_PAUSED);
    record_touch(c, &x->record);
    return x;
}

/* Checks that all trials are over. An experiment ends after its trials, so this fails only if the store's rows
 * contradict each other. */
static int check_trials_are_over(const struct core_event *ev, struct error *err)
{
    for (size_t i = 0; i < ev->resume.trial_n; i++) {
        const struct trial_row *t = &ev->resume.trial[i];
        if (!run_state_is_over(t->state))
            return error_set(err, ERR_PRECONDITION,
                             "experiment %d cannot be continued: its trial %d is %s, although the experiment has ended",
                             t->experiment_id, t->id, run_state_name(t->state));
    }
    return 0;
}

int experiment_continue(struct core *c, const struct core_event *ev, struct error *err)
{
    const struct core_restored_experiment *from = ev->resume.experiment;
    struct pool *pool;
    struct searcher *searcher;
    if (experiment_find(c, from->row.id) || !run_state_is_over(from->row.state))
        return error_set(err, ERR_PRECONDITION, "experiment %d is not over yet: wait for its end, or kill it",
                         from->row.id);
    if (check_trials_are_over(ev, err) < 0 || check_spec(c, &from->spec, &pool, err) < 0 ||
        searcher_new(from->spec.searcher, from->spec.hyperparameters, from->spec.seed, &searcher, err) < 0)
        return -1;
    struct experiment *x = reopen_experiment(c, from, pool);
    begin_search(x, searcher);
    x->rerun_completed = ev->resume.rerun_completed;
    for (size_t i = 0; i < ev->resume.trial_n; i++)
        trial_restore(c, x, &ev->resume.trial[i]);
    x->unclaimed_n = ev->resume.trial_n;
    experiment_tell_searcher(c, x, &(struct searcher_event){.type = SEARCHER_STARTED}, NULL);
    x->rerun_completed = false;
    log_config_warnings(c, x, &from->spec);
    if (x->row.state == RUN_PAUSED)
        experiment_move(c, x, RUN_ACTIVE);
    experiment_maybe_end(c, x);
    return 0;
}

/* ---- requests ---------------------------------------------------------------------------------------------------- */

static struct experiment *find_or_refuse(const struct core *c, int32_t id, struct error *err)
{
    struct experiment *x = experiment_find(c, id);
    if (!x)
        error_set(err, ERR_NOT_FOUND, "experiment '%d' not found", id);
    return x;
}

static int switch_between_active_and_paused(struct core *c, int32_t id, enum run_state to, struct error *err)
{
    struct experiment *x = find_or_refuse(c, id, err);
    if (!x)
        return -1;
    if (x->row.state == to)
        return 0;
    if (run_state_is_stopping(x->row.state))
        return error_set(err, ERR_PRECONDITION, "experiment in incompatible state %s", run_state_name(x->row.state));
    experiment_move(c, x, to);
    return 0;
}

int experiment_activate(struct core *c, int32_t id, struct error *err)
{
    return switch_between_active_and_paused(c, id, RUN_ACTIVE, err);
}

int experiment_pause(struct core *c, int32_t id, struct error *err)
{
    return switch_between_active_and_paused(c, id, RUN_PAUSED, err);
}

int experiment_cancel(struct core *c, int32_t id, struct error *err)
{
    struct experiment *x = find_or_refuse(c, id, err);
    if (!x)
        return -1;
    if (!run_state_is_stopping(x->row.state))
        experiment_move(c, x, RUN_STOPPING_CANCELED);
    return 0;
}

int experiment_kill(struct core *c, int32_t id, struct error *err)
{
    struct experiment *x = find_or_refuse(c, id, err);
    if (!x)
        return -1;
    if (sm_type_allows(&experiment_sm, x->row.state, RUN_STOPPING_KILLED))
        experiment_move(c, x, RUN_STOPPING_KILLED);
    return 0;
}

int experiment_set_resources(struct core *c, int32_t id, const struct core_resources_patch *p, struct error *err)
{
    struct experiment *x = find_or_refuse(c, id, err);
    if (!x)
        return -1;
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

/* ---- restart ----------------------------------------------------------------------------------------------------- */

int experiment_restore(struct core *c, const struct core_restored_experiment *r, struct experiment **ret,
                       struct error *err)
{
    struct pool *pool = pool_find(c, r->spec.pool);
    struct experiment *x = *ret = new_experiment(c, &r->row, &r->spec, pool ? pool : pool_find(c, NULL), true);
    if (!pool)
        return error_set(err, ERR_NOT_FOUND, "its resource pool \"%s\" does not exist any more", r->spec.pool);
    if (!r->searcher_snapshot)
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
        if (!run_state_is_terminal(t->row.state))
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
    experiment_maybe_end(c, x);
}

void experiment_fail(struct core *c, struct experiment *x, const char *reason)
{
    struct trial *t;
    LIST_FOREACH(t, &x->trials, in_experiment) {
        trial_log(c, t, true, "the experiment could not be restored: %s", reason);
        trial_fail(c, t);
    }
    experiment_note_failure(x, "the experiment could not be restored: %s", reason);
    experiment_set_state(c, x, RUN_ERROR);
}

void experiment_free(struct core *c, struct experiment *x)
{
    struct trial *t;
    while ((t = LIST_FIRST(&x->trials))) {
        LIST_REMOVE(t, in_experiment);
        trial_free(c, t);
    }
    if (x->searcher_touched)
        STAILQ_REMOVE(&c->searchers_touched, x, experiment, searcher_next);
    record_release(c, &x->record);
    job_leave(x);
    searcher_free(x->searcher);
    strbuf_release(&x->searcher_events);
    free(x->trial_at);
    free(x->failure);
    free((char *)x->spec.warm_start_checkpoint);
    free(x);
}
