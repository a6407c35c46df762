/* The state of an experiment: who changes it, and what follows from that for its trials. */
#include "core/experiments/experiment_internal.h"

#include <stdlib.h>

#include "common/base/strbuf.h"
#include "core/experiments/trial.h"
#include "core/state/step.h"

struct experiment *experiment_find(const struct core *c, int32_t id)
{
    struct experiment *x = NULL;
    HASH_FIND(hh, c->experiments, &id, sizeof(id), x);
    return x;
}

/* Does the core's part of the end of an experiment. The driver does the rest when it carries out
 * CORE_EXPERIMENT_ENDED. */
static void end_experiment(struct core *c, struct experiment *x)
{
    if (x->row.state == RUN_COMPLETED)
        x->row.progress = 1;
    x->row.end_us = c->now_us;
    effect_add(c, CORE_PUT_SEARCHER)->searcher.experiment_id = x->row.id;
    effect_add(c, CORE_EXPERIMENT_ENDED)->experiment_id = x->row.id;
    HASH_DEL(c->experiments, x);
    HASH_DELETE(by_job, c->jobs, x);
    fact_add(c, (struct fact){FACT_EXPERIMENT_ENDED, .experiment = x});
}

void experiment_note_failure(struct experiment *x, const char *fmt, ...)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    va_list ap;
    /* a later failure follows from the experiment's being stopped, so it is not the reason */
    if (x->row.state == RUN_STOPPING_ERROR)
        return;
    va_start(ap, fmt);
    strbuf_vaddf(&text, fmt, ap);
    va_end(ap);
    free(x->failure);
    x->failure = strbuf_detach(&text);
    x->row.failure = NULL; /* row.failure pointed to the text that was freed */
}

void experiment_note_state(struct core *c, int32_t experiment_id, enum run_state from, enum run_state to)
{
    struct core_effect *e = effect_add(c, CORE_EXPERIMENT_STATE);
    e->state.experiment_id = experiment_id;
    e->state.from = from;
    e->state.to = to;
    e->state.by.user_id = c->by.user_id;
    e->state.by.name = c->by.name ? arena_strdup(&c->out->arena, c->by.name) : NULL;
}

void experiment_set_state(struct core *c, struct experiment *x, enum run_state to)
{
    if (to == RUN_STOPPING_ERROR || to == RUN_ERROR)
        x->row.failure = x->failure;
    experiment_note_state(c, x->row.id, x->row.state, to);
    if (sm_check_move(&experiment_sm, x->row.id, x->row.state, to, NULL) < 0)
        abort(); /* every caller has asked sm_type_allows() before */
    x->row.state = to;
    record_touch(c, &x->record);
    if (run_state_is_terminal(to))
        end_experiment(c, x);
}

void experiment_maybe_end(struct core *c, struct experiment *x)
{
    if (run_state_is_stopping(x->row.state) && x->live_n == 0)
        experiment_set_state(c, x, run_state_terminal_for(x->row.state));
}

void experiment_move(struct core *c, struct experiment *x, enum run_state to)
{
    struct trial *t;
    experiment_set_state(c, x, to);
    LIST_FOREACH(t, &x->trials, in_experiment)
        trial_patch(c, t, to);
    experiment_maybe_end(c, x);
}
