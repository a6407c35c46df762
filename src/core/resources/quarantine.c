#include "core/resources/quarantine.h"

#include <string.h>

#include "common/base/strbuf.h"
#include "common/base/utf8.h"
#include "core/resources/agents.h"
#include "core/state/ids.h"
#include "core/state/step.h"

static bool is_recent(const struct host_fault *f, int64_t now_us)
{
    return f->at_us <= now_us && now_us - f->at_us < QUARANTINE_PERIOD_US;
}

bool quarantine_note(struct agent_row *row, const char *task_id, enum exit_kind kind, int64_t now_us)
{
    int64_t together_us = kind == EXIT_RESTORE_ERROR ? QUARANTINE_TOGETHER_US : 0;
    int kept = 0;
    for (int i = 0; i < row->fault_n; i++)
        if (is_recent(&row->fault[i], now_us))
            row->fault[kept++] = row->fault[i];
    row->fault_n = kept;
    if (kept > 0 && now_us - row->fault[kept - 1].at_us <= together_us)
        return false;
    if (kept == CORE_HOST_FAULTS_MAX)
        memmove(&row->fault[0], &row->fault[1], (size_t)--row->fault_n * sizeof(row->fault[0]));
    struct host_fault *f = &row->fault[row->fault_n++];
    f->at_us = now_us;
    SET_TEXT(f->task_id, task_id);
    return row->fault_n == CORE_HOST_FAULTS_MAX;
}

void quarantine_forget(struct agent_row *row)
{
    row->fault_n = 0;
}

bool quarantine_is_common_loss(const struct core *c, const struct agent *agent)
{
    int agents = 0, missing = 0;
    for (const struct agent *other = c->agents; other; other = other->hh.next) {
        bool lost_now = other->presence == AGENT_GONE && other->row.lost_us != 0 && other->row.lost_us <= c->now_us &&
                        c->now_us - other->row.lost_us < QUARANTINE_TOGETHER_US;
        bool is_missing = lost_now || other->presence == AGENT_AWAY;
        if (other->pool != agent->pool || (!is_missing && other->presence != AGENT_CONNECTED))
            continue;
        agents++;
        missing += is_missing;
    }
    return missing >= 2 && 2 * missing > agents;
}

static bool has_failed_here(const struct agent *agent, const char *task_id, int64_t now_us)
{
    for (int i = 0; i < agent->row.fault_n; i++)
        if (is_recent(&agent->row.fault[i], now_us) && strcmp(agent->row.fault[i].task_id, task_id) == 0)
            return true;
    return false;
}

static bool has_failed_elsewhere(const struct core *c, const struct agent *agent, const char *task_id)
{
    for (const struct agent *other = c->agents; other; other = other->hh.next)
        if (other != agent && has_failed_here(other, task_id, c->now_us))
            return true;
    return false;
}

/* Keeps the reason as far as the row has room for it. */
static void keep_reason(struct agent_row *row, const char *why, const char *text)
{
    cleanup_strbuf struct strbuf reason = STRBUF_INIT;
    strbuf_addf(&reason, "quarantine: tasks failed here %d times within an hour, the last: %s%s%s",
                CORE_HOST_FAULTS_MAX, why, *text != '\0' ? ": " : "", text);
    size_t n = utf8_cut(reason.s, reason.n, sizeof(row->disabled_reason) - 1);
    memcpy(row->disabled_reason, reason.s, n);
    row->disabled_reason[n] = '\0';
}

void quarantine_fault(struct core *c, struct agent *agent, const struct container *k, enum exit_kind kind,
                      const char *text)
{
    struct allocation *a = k->allocation;
    if (!c->quarantine || has_failed_elsewhere(c, agent, a->row.task_id))
        return;
    record_touch(c, &agent->record);
    if (!quarantine_note(&agent->row, a->row.task_id, kind, c->now_us) || !agent->row.enabled)
        return;
    agent->row.enabled = false;
    agent->row.draining = true;
    keep_reason(&agent->row, exit_kind_text(kind), text ? text : "");
    agent_changed(c, agent);
    task_log(c, a, false, "agent %s goes into quarantine and gets no new tasks until an administrator enables it (%s)",
             agent->row.id, agent->row.disabled_reason);
}
