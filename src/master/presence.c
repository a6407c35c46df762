#include "master/presence.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/base/clock.h"
#include "common/base/must.h"
#include "common/system/log.h"
#include "core/core.h"
#include "master/master.h"
#include "net/loop/loop.h"
#include "store/functions.h"

/* An agent that was seen after so long counts as there all the time. It is more than two periods, since a busy master
 * may be late. */
#define GAP_MAX_US (5 * (int64_t)PRESENCE_PERIOD_US / 2)

struct presence {
    struct master *m;
    struct loop_timer *timer;
};

struct seen {
    char id[CORE_AGENT_ID_MAX], pool[CORE_POOL_MAX];
    int32_t slots;
};

struct notes {
    int64_t now_us;
    size_t n;
    struct seen agent[];
};

static int store_notes(struct store *db, void *job, struct error *err)
{
    const struct notes *notes = job;
    for (size_t i = 0; i < notes->n; i++) {
        const struct seen *s = &notes->agent[i];
        if (store_usage_seen(db, s->id, s->pool, s->slots, notes->now_us, notes->now_us - GAP_MAX_US, err) < 0)
            return error_wrap(err, "agent %s", s->id);
    }
    return 0;
}

static void notes_stored(void *job, const struct error *err)
{
    if (err)
        log_warning("presence.failed", "reason=%s action=next_round", log_quote(error_msg(err)));
    free(job);
}

/* Adds an agent that is connected. A slot that is disabled or lost is there, too, but nobody can use it. */
static void add_agent(const struct core *core, const struct core_agent_view *v, struct notes *notes)
{
    struct core_slot_view slot[CORE_DEVICES_MAX];
    struct seen *s = &notes->agent[notes->n];
    if (!v->connected_us)
        return;
    size_t n = core_slots(core, v->id, slot);
    s->slots = 0;
    for (size_t i = 0; i < n; i++)
        s->slots += slot[i].enabled || slot[i].container_id;
    snprintf(s->id, sizeof(s->id), "%s", v->id);
    snprintf(s->pool, sizeof(s->pool), "%s", v->pool);
    notes->n++;
}

static struct notes *notes_new(size_t n)
{
    struct notes *notes = must_calloc(1, sizeof(*notes) + n * sizeof(*notes->agent));
    notes->now_us = clock_now_us();
    return notes;
}

static void submit(struct presence *p, struct notes *notes)
{
    struct writer_job job = {store_notes, notes_stored, notes};
    if (notes->n > 0)
        writer_submit(p->m->writer, &job, 1);
    else
        free(notes);
}

static void note_all(struct presence *p)
{
    const struct core *core = p->m->core;
    struct notes *notes = notes_new(core_agent_n(core));
    struct core_agent_view v;
    for (const struct agent *at = NULL; core_agent_next(core, &at, &v);)
        add_agent(core, &v, notes);
    submit(p, notes);
}

static void on_time(void *ctx)
{
    struct presence *p = ctx;
    loop_timer_arm(p->timer, PRESENCE_PERIOD_US);
    note_all(p);
}

void presence_note(struct presence *p, const char *agent_id)
{
    struct core_agent_view v;
    if (!p || !core_agent_by_id(p->m->core, agent_id, &v))
        return;
    struct notes *notes = notes_new(1);
    add_agent(p->m->core, &v, notes);
    submit(p, notes);
}

struct presence *presence_new(struct master *m)
{
    struct presence *p = must_calloc(1, sizeof(*p));
    p->m = m;
    p->timer = loop_timer_new(m->loop, on_time, p);
    loop_timer_arm(p->timer, PRESENCE_PERIOD_US);
    return p;
}

void presence_free(struct presence *p)
{
    if (!p)
        return;
    note_all(p);
    loop_timer_free(p->timer);
    free(p);
}
