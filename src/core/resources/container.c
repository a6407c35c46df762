/* The containers of an allocation: each has a state of its own, and when one fails, the others are killed. */
#include "core/resources/allocation_internal.h"

#include <string.h>

#include "core/resources/quarantine.h"
#include "core/resources/rm.h"
#include "core/state/ids.h"
#include "core/state/step.h"

static bool all_are(const struct allocation *a, enum container_state first, enum container_state last)
{
    for (size_t i = 0; i < a->container_n; i++)
        if (a->container[i]->row.state < first || a->container[i]->row.state > last)
            return false;
    return a->container_n > 0;
}

/* If all containers are prepared and have told their addresses, each may start its program, and knows the addresses of
 * its peers. */
static void maybe_all_prepared(struct core *c, struct allocation *a)
{
    if (all_are(a, CONTAINER_STARTING, CONTAINER_RUNNING))
        wake_long_polls(c, a, CORE_WAKE_RENDEZVOUS);
}

/* If all containers run, their programs run as well. From then on a preemption gives the programs time for a
 * checkpoint. A notebook and its like is ready later, when its output says so. */
static void maybe_all_running(struct core *c, struct allocation *a)
{
    if (a->row.ready || !all_are(a, CONTAINER_RUNNING, CONTAINER_RUNNING))
        return;
    if (a->trial || task_kind_ready(a->task->row.kind) == TASK_READY_WHEN_RUNNING)
        allocation_set_ready(c, a);
    task_log(c, a, false, "Resources for %s have started", allocation_name(c, a));
}

static void maybe_all_pulled(struct core *c, struct allocation *a)
{
    if (a->row.pulled_us || !all_are(a, CONTAINER_STARTING, CONTAINER_RUNNING))
        return;
    a->row.pulled_us = c->now_us;
    record_touch(c, &a->record);
}

static void note_runtime_id(struct core *c, struct container *k, const char *id)
{
    if (!id || !*id || strlen(id) >= CORE_RUNTIME_ID_MAX || strcmp(id, k->row.runtime_id) == 0)
        return;
    SET_TEXT(k->row.runtime_id, id);
    record_touch(c, &k->record);
}

static void note_container_progress(struct core *c, struct container *k, const struct core_container_report *r)
{
    static const enum allocation_state raised_to[] = {
        [CONTAINER_ASSIGNED] = ALLOCATION_ASSIGNED,
        [CONTAINER_PULLING] = ALLOCATION_PULLING,
        [CONTAINER_STARTING] = ALLOCATION_STARTING,
        [CONTAINER_RUNNING] = ALLOCATION_RUNNING,
    };
    note_runtime_id(c, k, r->runtime_id);
    if (r->state <= k->row.state)
        return;
    if (r->address && strlen(r->address) < CORE_ADDRESS_MAX)
        SET_TEXT(k->row.address, r->address);
    if (r->account && *r->account && strlen(r->account) < CORE_ACCOUNT_MAX)
        SET_TEXT(k->row.account, r->account);
    container_set_state(c, k, r->state);
    allocation_raise_state(c, k->allocation, raised_to[r->state]);
    maybe_all_pulled(c, k->allocation);
    maybe_all_prepared(c, k->allocation);
    maybe_all_running(c, k->allocation);
}

/* Finds how a container ended from what the agent reports. EXIT_OK needs exit code 0, whatever kind the agent
 * reports. */
static enum exit_kind judge_exit(enum exit_kind kind, int32_t code)
{
    if (kind == EXIT_NONE)
        return code == 0 ? EXIT_TASK_ERROR : EXIT_FAILED;
    return kind == EXIT_OK && code != 0 ? EXIT_FAILED : kind;
}

/* Handles the end of a container on an agent that may have a part in it. */
void container_failed(struct core *c, struct container *k, enum exit_kind kind, int32_t code, const char *text)
{
    if (container_is_live(k) && !k->allocation->row.killed && exit_kind_is_node_fault(kind))
        quarantine_fault(c, k->agent, k, kind, text);
    container_exited(c, k, kind, code, text);
}

void container_report(struct core *c, struct container *k, const struct core_container_report *r)
{
    if (r->state != CONTAINER_TERMINATED) {
        note_container_progress(c, k, r);
        return;
    }
    enum exit_kind kind = judge_exit(r->exit_kind, r->exit_code);
    if (r->by_master)
        container_exited(c, k, kind, r->exit_code, r->exit_text);
    else
        container_failed(c, k, kind, r->exit_code, r->exit_text);
}

/* Finds how the allocation has ended when all its containers have ended and none of them has failed by itself. */
static enum exit_kind exit_kind_of_containers(const struct allocation *a)
{
    for (size_t i = 0; i < a->container_n; i++)
        if (a->container[i]->row.exit_kind != EXIT_OK && !a->container[i]->row.daemon)
            return a->row.killed ? EXIT_KILLED : EXIT_TASK_ERROR;
    return EXIT_OK;
}

/* Returns whether this failure explains the end of the allocation. In general the first failure does. There is one
 * exception: when a node is lost, the containers on other nodes fail at once because they miss their peer, long before
 * the node is given up. In that case the loss of the node explains the end. */
static bool explains_the_end(const struct allocation *a, enum exit_kind kind)
{
    bool lost = kind == EXIT_AGENT_FAILED || kind == EXIT_RESTORE_ERROR;
    return a->row.exit_kind == EXIT_NONE || (lost && !exit_kind_is_transient(a->row.exit_kind));
}

void container_exited(struct core *c, struct container *k, enum exit_kind kind, int32_t code, const char *text)
{
    struct allocation *a = k->allocation;
    if (!container_is_live(k))
        return;
    k->row.exit_kind = kind;
    k->row.exit_code = code;
    container_set_state(c, k, CONTAINER_TERMINATED);
    a->pool->rm->released(c, k);

    bool told_to = a->row.killed || (k->row.daemon && allocation_workers_done(a));
    if (kind != EXIT_OK && !told_to && explains_the_end(a, kind)) {
        a->row.exit_kind = kind;
        a->row.exit_code = code;
        record_touch(c, &a->record);
    }
    if (allocation_all_ended(a)) {
        bool failed = a->row.exit_kind != EXIT_NONE;
        allocation_end(c, a, failed ? a->row.exit_kind : exit_kind_of_containers(a), a->row.exit_code,
                       a->exit_text ? a->exit_text : text);
    } else if (a->killed_us == 0 && a->row.exit_kind != EXIT_NONE) {
        task_log(c, a, false, "forcibly killing allocation's remaining resources (reason: %s)", exit_kind_text(kind));
        allocation_kill_containers(c, a);
    } else if (a->killed_us == 0 && allocation_workers_done(a)) {
        allocation_kill_containers(c, a);
    }
}
