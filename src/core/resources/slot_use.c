#include "core/resources/slot_use.h"

#include <string.h>

#include "common/base/strbuf.h"
#include "common/config/schema.h"
#include "core/resources/allocation.h"
#include "core/state/step.h"

/* 0: no limit */
static int64_t max_idle_us(const struct allocation *a)
{
    if (a->row.slots == 0)
        return 0;
    return a->trial ? a->trial->experiment->spec.max_idle_us : a->task->launched.max_idle_us;
}

static const char *time_text(struct core *c, int64_t us)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    duration_format(us * 1000, &text);
    return arena_strdup(&c->out->arena, strbuf_str(&text));
}

int64_t slot_use_every_us(const struct allocation *a)
{
    int64_t max_us = max_idle_us(a), every_us = max_us / 10;
    if (max_us <= 0)
        return 0;
    return every_us > SLOT_USE_EVERY_MAX_US   ? SLOT_USE_EVERY_MAX_US
           : every_us < SLOT_USE_EVERY_MIN_US ? SLOT_USE_EVERY_MIN_US
                                              : every_us;
}

void slot_use_begin(struct core *c, struct allocation *a)
{
    for (size_t i = 0; i < a->container_n && max_idle_us(a) > 0; i++) {
        const struct agent *agent = a->container[i]->agent;
        if (agent->tells_use)
            continue;
        task_log(c, a, false,
                 "warning: resources.max_idle_time does not hold for this run: agent %s (version %s) does not tell "
                 "whether its slots are used; install the master's version on it",
                 agent->row.id, agent->version && *agent->version ? agent->version : "unknown");
        return;
    }
}

/* For how long none of the allocation's slots has been in use; -1: it is not known of all of them. */
static int64_t idle_us_of(const struct allocation *a)
{
    int64_t least = -1;
    for (size_t i = 0; i < a->container_n; i++) {
        const struct container *k = a->container[i];
        if (k->row.state == CONTAINER_TERMINATED)
            continue;
        if (k->idle_us < 0)
            return -1;
        if (least < 0 || k->idle_us < least)
            least = k->idle_us;
    }
    return least;
}

static bool is_stopping(const struct allocation *a)
{
    return a->row.state >= ALLOCATION_TERMINATING || a->row.preempt_deadline_us != 0 || a->killed_us != 0;
}

static void note_warned(struct core *c, struct allocation *a, bool warned)
{
    a->row.warned_of_idleness = warned;
    record_touch(c, &a->record);
}

static void look_at(struct core *c, struct allocation *a)
{
    int64_t max_us = max_idle_us(a), idle_us = idle_us_of(a);
    if (max_us <= 0 || idle_us < 0 || is_stopping(a))
        return;
    if (idle_us >= max_us) {
        allocation_stop(c, a, RUN_LIMIT_MAX_IDLE_TIME,
                        arena_printf(&c->out->arena,
                                     "its slots were not used for %s, which is its resources.max_idle_time",
                                     time_text(c, max_us)));
    } else if (idle_us >= max_us / 2 && !a->row.warned_of_idleness) {
        note_warned(c, a, true);
        task_log(c, a, false,
                 "warning: the slots of this run have not been used for %s; the run will be stopped when that has "
                 "lasted for %s (resources.max_idle_time)",
                 time_text(c, max_us / 2), time_text(c, max_us));
    } else if (idle_us < max_us / 2 && a->row.warned_of_idleness) {
        note_warned(c, a, false);
        task_log(c, a, false, "the time for which the slots of this run were not used counts anew");
    }
}

static void tell_problem(struct core *c, struct container *k, const char *problem)
{
    if (k->allocation->told_use_unknown || max_idle_us(k->allocation) <= 0)
        return;
    k->allocation->told_use_unknown = true;
    task_log(c, k->allocation, false,
             "warning: resources.max_idle_time does not hold while agent %s cannot tell whether the slots of this run "
             "are used: %s",
             k->row.agent_id, problem);
}

/* An agent has one container of an allocation at most, so that the allocation is looked at once. */
void slot_use_told(struct core *c, const struct core_event *ev)
{
    for (size_t i = 0; i < ev->use.n; i++) {
        const struct core_slots_use *u = &ev->use.slots[i];
        struct container *k = container_find(c, u->container_id);
        if (!k || !k->agent || k->agent->presence != AGENT_CONNECTED || strcmp(k->row.agent_id, ev->use.agent_id) != 0)
            continue;
        bool known = !u->problem || !*u->problem;
        k->idle_us = known && u->idle_us >= 0 ? u->idle_us : -1;
        if (!known)
            tell_problem(c, k, u->problem);
        look_at(c, k->allocation);
    }
}

void slot_use_forget(struct agent *agent)
{
    struct container *k;
    LIST_FOREACH(k, &agent->containers, in_agent)
        k->idle_us = -1;
}
