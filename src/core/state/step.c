#include "core/state/step.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/must.h"
#include "common/base/strbuf.h"

struct core_effect *effect_add(struct core *c, enum core_effect_type type)
{
    struct core_effects *e = c->out;
    if (e->n == e->cap) {
        e->cap = e->cap ? 2 * e->cap : 16;
        e->item = must_realloc(e->item, e->cap * sizeof(*e->item));
    }
    struct core_effect *effect = &e->item[e->n++];
    *effect = (struct core_effect){.type = type};
    return effect;
}

void core_effects_release(struct core_effects *e)
{
    arena_release(&e->arena);
    free(e->item);
    *e = (struct core_effects)CORE_EFFECTS_INIT;
}

static const struct trial_row *copy_trial(struct arena *a, const struct record *r)
{
    struct trial *t = container_of(r, struct trial, record);
    struct trial_row *copy = arena_dup(a, &t->row, sizeof(t->row));
    copy->hparams = t->new_hparams || !r->stored ? arena_strdup(a, t->row.hparams) : NULL;
    copy->excluded_agents = t->excluded ? arena_strdup(a, t->excluded) : NULL;
    t->new_hparams = false;
    return copy;
}

static const struct experiment_row *copy_experiment(struct arena *a, const struct experiment_row *row)
{
    struct experiment_row *copy = arena_dup(a, row, sizeof(*row));
    copy->failure = row->failure ? arena_strdup(a, row->failure) : NULL;
    return copy;
}

static const struct launched_row *copy_launched(struct arena *a, const struct record *r)
{
    struct launched_row *copy = arena_dup(a, r->row, sizeof(*copy));
    copy->description = r->stored ? NULL : arena_strdup(a, copy->description);
    return copy;
}

static void fill_put(struct arena *a, const struct record *r, struct core_effect *ret)
{
    static const enum core_effect_type types[RECORD_KIND_NR] = {
        [RECORD_EXPERIMENT] = CORE_PUT_EXPERIMENT,
        [RECORD_TRIAL] = CORE_PUT_TRIAL,
        [RECORD_TASK] = CORE_PUT_TASK,
        [RECORD_LAUNCHED] = CORE_PUT_LAUNCHED,
        [RECORD_ALLOCATION] = CORE_PUT_ALLOCATION,
        [RECORD_CONTAINER] = CORE_PUT_CONTAINER,
        [RECORD_AGENT] = CORE_PUT_AGENT,
    };
    *ret = (struct core_effect){.type = types[r->kind], .insert = !r->stored};
    switch (r->kind) {
    case RECORD_EXPERIMENT:
        ret->experiment = copy_experiment(a, r->row);
        break;
    case RECORD_TRIAL:
        ret->trial = copy_trial(a, r);
        break;
    case RECORD_TASK:
        ret->task = arena_dup(a, r->row, sizeof(struct task_row));
        break;
    case RECORD_LAUNCHED:
        ret->launched = copy_launched(a, r);
        break;
    case RECORD_ALLOCATION:
        ret->allocation = arena_dup(a, r->row, sizeof(struct allocation_row));
        break;
    case RECORD_CONTAINER:
        ret->container = arena_dup(a, r->row, sizeof(struct container_row));
        break;
    case RECORD_AGENT:
        ret->agent = arena_dup(a, r->row, sizeof(struct agent_row));
        break;
    case RECORD_KIND_NR:
        break;
    }
}

/* A row that the step will put. If the object of the row is freed before the end of the step, the effect is made at
 * that moment, and `record` is NULL. */
struct pending_put {
    struct record *record;
    enum record_kind kind;
    struct core_effect effect; /* used if `record` is NULL */
    STAILQ_ENTRY(pending_put) next;
};

void record_init(struct record *r, enum record_kind kind, const void *row, bool stored)
{
    *r = (struct record){.kind = kind, .row = row, .stored = stored};
}

void record_touch(struct core *c, struct record *r)
{
    if (r->put)
        return;
    r->put = arena_new(&c->out->arena, struct pending_put);
    r->put->record = r;
    r->put->kind = r->kind;
    STAILQ_INSERT_TAIL(&c->puts, r->put, next);
}

void record_release(struct core *c, struct record *r)
{
    if (!r->put)
        return;
    fill_put(&c->out->arena, r, &r->put->effect);
    r->put->record = NULL;
    r->put = NULL;
}

static size_t count_puts(const struct core *c)
{
    size_t n = 0;
    const struct pending_put *put;
    STAILQ_FOREACH(put, &c->puts, next)
        n++;
    return n;
}

static struct core_effect take_put(struct core *c, struct pending_put *put)
{
    struct record *r = put->record;
    if (!r)
        return put->effect;
    fill_put(&c->out->arena, r, &put->effect);
    r->stored = true;
    r->put = NULL;
    return put->effect;
}

/* Adds the effects for all rows that were touched. They are added kind by kind, parents before children, so that
 * references within the store hold after each statement. */
void effects_put_touched(struct core *c)
{
    struct core_effects *e = c->out;
    size_t puts = count_puts(c), n = 0;
    if (puts == 0)
        return;
    struct core_effect *all = must_calloc(puts + e->n, sizeof(*all));
    for (int kind = 0; kind < RECORD_KIND_NR; kind++) {
        struct pending_put *put;
        STAILQ_FOREACH(put, &c->puts, next)
            if ((int)put->kind == kind)
                all[n++] = take_put(c, put);
    }
    STAILQ_INIT(&c->puts);
    if (e->n > 0)
        memcpy(all + puts, e->item, e->n * sizeof(*all));
    free(e->item);
    e->item = all;
    e->n = e->cap = puts + e->n;
}

void fact_add(struct core *c, struct fact fact)
{
    struct fact *copy = arena_dup(&c->out->arena, &fact, sizeof(fact));
    if (c->last_fact)
        STAILQ_INSERT_AFTER(&c->facts, c->last_fact, copy, next);
    else
        STAILQ_INSERT_HEAD(&c->facts, copy, next);
    c->last_fact = copy;
}

bool fact_take(struct core *c, struct fact *ret)
{
    struct fact *first = STAILQ_FIRST(&c->facts);
    c->last_fact = NULL; /* the facts that follow from this fact go before all others */
    if (!first)
        return false;
    STAILQ_REMOVE_HEAD(&c->facts, next);
    *ret = *first;
    return true;
}

__attribute__((format(printf, 5, 0))) static void
add_log(struct core *c, const char *task_id, const char *allocation_id, bool error, const char *fmt, va_list ap)
{
    struct strbuf text = STRBUF_INIT;
    strbuf_vaddf(&text, fmt, ap);
    strbuf_addc(&text, '\n');
    struct core_effect *e = effect_add(c, CORE_TASK_LOG);
    e->log.task_id = arena_strdup(&c->out->arena, task_id);
    e->log.allocation_id = arena_strdup(&c->out->arena, allocation_id);
    e->log.text = arena_strdup(&c->out->arena, text.s);
    e->log.error = error;
    strbuf_release(&text);
}

void task_log(struct core *c, const struct allocation *a, bool error, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    add_log(c, a->row.task_id, a->row.id, error, fmt, ap);
    va_end(ap);
}

void trial_log(struct core *c, const struct trial *t, bool error, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    add_log(c, t->row.task_id, NULL, error, fmt, ap);
    va_end(ap);
}

void wake_long_polls(struct core *c, const struct allocation *a, enum core_wake what)
{
    struct core_effect *e = effect_add(c, CORE_WAKE);
    e->wake.what = what;
    e->wake.allocation_id = arena_strdup(&c->out->arena, a->row.id);
}

void signal_container(struct core *c, const struct container *k, int signal)
{
    struct core_effect *e = effect_add(c, CORE_SIGNAL_CONTAINER);
    e->signal.agent_id = arena_strdup(&c->out->arena, k->row.agent_id);
    e->signal.container_id = arena_strdup(&c->out->arena, k->row.id);
    e->signal.signal = signal;
}
