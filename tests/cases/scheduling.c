/* scheduling-cases.json: fits, scores, order, and the cases of the priority scheduler that need no preemption. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "helpers.h"
#include "core/sched/sched.h"

enum { AGENTS_MAX = 32, REQUESTS_MAX = 64 };

static enum fitting_policy policy_of(struct json_object *v, const char *key)
{
    return strcmp(member_string(v, key), "worst") == 0 ? FITTING_WORST : FITTING_BEST;
}

static struct sched_agent agent_of(struct json_object *v)
{
    int slots = (int)member_int(v, "slots"), aux = (int)member_int(v, member(v, "max_zero") ? "max_zero" : "max_zero_slot_containers");
    return (struct sched_agent){.id = member_string(v, "id"), .slots = slots, .empty_slots = slots - (int)member_int(v, "slots_used"),
                                .aux = aux, .empty_aux = aux - (int)member_int(v, "zero_used")};
}

static size_t agents_of(struct json_object *list, struct sched_agent *ret)
{
    size_t n = json_object_array_length(list);
    if (n > AGENTS_MAX)
        abort();
    for (size_t i = 0; i < n; i++)
        ret[i] = agent_of(json_object_array_get_idx(list, i));
    return n;
}

static void run_fit_scores(struct cases *c, struct json_object *section)
{
    for (size_t i = 0; i < json_object_array_length(section); i++) {
        struct json_object *v = json_object_array_get_idx(section, i);
        struct sched_agent agent = agent_of(v);
        double score = sched_score(policy_of(v, "method"), &agent, (int)member_int(v, "slots_needed"));
        case_check(c, fabs(score - member_double(v, "score")) < 1e-12, "%s: %g", json_object_to_json_string(v), score);
    }
}

static void run_find_fits(struct cases *c, struct json_object *section)
{
    for (size_t i = 0; i < json_object_array_length(section); i++) {
        struct json_object *v = json_object_array_get_idx(section, i);
        cleanup_arena struct arena a = ARENA_INIT;
        struct sched_agent agent[AGENTS_MAX];
        struct sched_share *share;
        struct sched_snapshot s = {.fitting = policy_of(v, "method"),
                                   .agent = agent,
                                   .agent_n = agents_of(member(v, "agents"), agent)};
        struct sched_request r = {.allocation_id = member_string(v, "allocation_id"),
                                  .slots = (int)member_int(v, "slots_needed"),
                                  .single_agent = member_bool(v, "single_agent")};
        size_t n = sched_fit(&s, agent, &r, &a, &share);
        case_check(c, n > 0 && strcmp(agent[share[0].agent].id, member_string(v, "expect_first_agent")) == 0, "%s",
                   member_string(v, "name"));
    }
}

static bool has_indexes(struct json_object *expected, const struct sched_share *share, size_t n)
{
    if (json_object_array_length(expected) != n)
        return false;
    for (size_t i = 0; i < n; i++) {
        bool found = false;
        for (size_t k = 0; k < n; k++)
            found = found || (int64_t)share[k].agent == json_object_get_int64(json_object_array_get_idx(expected, i));
        if (!found)
            return false;
    }
    return true;
}

static void run_dedicated_fits(struct cases *c, struct json_object *section)
{
    for (size_t i = 0; i < json_object_array_length(section); i++) {
        struct json_object *v = json_object_array_get_idx(section, i), *slots = member(v, "agent_slots");
        cleanup_arena struct arena a = ARENA_INIT;
        struct sched_agent agent[AGENTS_MAX];
        struct sched_share *share;
        size_t agent_n = json_object_array_length(slots);
        for (size_t k = 0; k < agent_n && k < AGENTS_MAX; k++) {
            int own = json_object_get_int(json_object_array_get_idx(slots, k));
            agent[k] = (struct sched_agent){.id = arena_printf(&a, "agent%zu", k), .slots = own, .empty_slots = own};
        }
        struct sched_snapshot s = {.agent = agent,
                                   .agent_n = agent_n,
                                   .allow_heterogeneous_fits = member_bool(v, "heterogeneous")};
        struct sched_request r = {.allocation_id = "task1", .slots = (int)member_int(v, "slots_needed")};
        size_t n = sched_fit(&s, agent, &r, &a, &share);
        bool ok = member(v, "expect_agent_indexes") != NULL ? has_indexes(member(v, "expect_agent_indexes"), share, n)
                                                            : (int64_t)n == member_int(v, "expect_count");
        case_check(c, ok, "%s: %zu agents", member_string(v, "name"), n);
    }
}

/* ---- the order of requests --------------------------------------------------------------------------------------- */

static size_t groups_of(struct json_object *list, struct sched_group *ret)
{
    size_t n = json_object_array_length(list);
    for (size_t i = 0; i < n && i < REQUESTS_MAX; i++) {
        struct json_object *g = json_object_array_get_idx(list, i);
        ret[i] = (struct sched_group){.job_id = member_string(g, "id"),
                                      .priority = (int)member_int(g, "priority"),
                                      .weight = 1,
                                      .max_slots = -1};
    }
    return n;
}

static const struct sched_group *group_named(const struct sched_group *group, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(group[i].job_id, name) == 0)
            return &group[i];
    abort();
}

static int by_turn(const void *a, const void *b)
{
    return sched_request_compare(a, b);
}

static bool has_order(struct json_object *by_priority, const struct sched_request *sorted, size_t n, bool zero_slot)
{
    json_object_object_foreach(by_priority, priority, ids) {
        size_t next = 0;
        for (size_t i = 0; i < n; i++) {
            if ((sorted[i].slots == 0) != zero_slot || sorted[i].group->priority != strtol(priority, NULL, 10))
                continue;
            struct json_object *id = json_object_array_get_idx(ids, next++);
            if (id == NULL || strcmp(json_object_get_string(id), sorted[i].allocation_id) != 0)
                return false;
        }
        if (next != json_object_array_length(ids))
            return false;
    }
    return true;
}

static void run_sort(struct cases *c, struct json_object *v)
{
    struct sched_group group[REQUESTS_MAX];
    struct sched_request request[REQUESTS_MAX];
    size_t group_n = groups_of(member(v, "groups"), group), n = json_object_array_length(member(v, "tasks"));
    for (size_t i = 0; i < n && i < REQUESTS_MAX; i++) {
        struct json_object *t = json_object_array_get_idx(member(v, "tasks"), i);
        request[i] = (struct sched_request){.allocation_id = member_string(t, "id"),
                                            .slots = (int)member_int(t, "slots"),
                                            .group = group_named(group, group_n, member_string(t, "group")),
                                            .request_us = -member_int(t, "age_min")};
    }
    qsort(request, n, sizeof request[0], by_turn);
    case_check(c, has_order(member(v, "pending_zero"), request, n, true), "pending_zero");
    case_check(c, has_order(member(v, "pending_nonzero"), request, n, false), "pending_nonzero");
}

/* ---- whole decisions --------------------------------------------------------------------------------------------- */

/* A pool that is scheduled step after step. */
struct play {
    struct sched_agent agent[AGENTS_MAX];
    struct sched_group group[REQUESTS_MAX];
    struct sched_request request[REQUESTS_MAX];
    struct sched_share held[REQUESTS_MAX][AGENTS_MAX]; /* by an allocated request */
    size_t held_n[REQUESTS_MAX];
    size_t agent_n, group_n, request_n;
};

static void take(struct play *p, size_t request, const struct sched_share *share, size_t n, int sign)
{
    for (size_t i = 0; i < n; i++) {
        struct sched_agent *agent = &p->agent[share[i].agent];
        *(share[i].slots > 0 ? &agent->empty_slots : &agent->empty_aux) -= sign *
                                                                           (share[i].slots > 0 ? share[i].slots : 1);
    }
    p->request[request].allocated = sign > 0;
    p->held_n[request] = n;
    memmove(p->held[request], share, n * sizeof *share);
}

static void add_requests(struct play *p, struct json_object *list)
{
    for (size_t i = 0; list != NULL && i < json_object_array_length(list) && p->request_n < REQUESTS_MAX; i++) {
        struct json_object *t = json_object_array_get_idx(list, i);
        p->request[p->request_n] = (struct sched_request){
            .allocation_id = member_string(t, "id"), .slots = (int)member_int(t, "slots_needed"),
            .group = group_named(p->group, p->group_n, member_string(t, "group")), .request_us = (int64_t)p->request_n};
        p->request_n++;
    }
}

static void remove_requests(struct play *p, struct json_object *ids)
{
    for (size_t i = p->request_n; i-- > 0;) {
        if (!list_has(ids, p->request[i].allocation_id))
            continue;
        take(p, i, p->held[i], p->held_n[i], -1);
        size_t last = --p->request_n;
        p->request[i] = p->request[last];
        p->held_n[i] = p->held_n[last];
        memmove(p->held[i], p->held[last], sizeof p->held[i]);
    }
}

static bool decide(struct play *p, struct json_object *step)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct sched_snapshot s = {.agent = p->agent,
                               .agent_n = p->agent_n,
                               .request = p->request,
                               .request_n = p->request_n};
    struct sched_decision d;
    sched_in_order(&s, &a, &d);
    bool ok = d.release_n == 0 && d.allocate_n == json_object_array_length(member(step, "to_allocate"));
    for (size_t i = 0; i < d.allocate_n; i++) {
        ok = ok && list_has(member(step, "to_allocate"), p->request[d.allocate[i].request].allocation_id);
        if (member_bool(step, "allocate"))
            take(p, d.allocate[i].request, d.allocate[i].share, d.allocate[i].share_n, 1);
    }
    return ok;
}

static void start_play(struct play *p, struct json_object *v)
{
    memset(p, 0, sizeof *p);
    p->agent_n = agents_of(member(v, "agents"), p->agent);
    p->group_n = groups_of(member(v, "groups"), p->group);
    add_requests(p, member(v, "tasks"));
}

static void run_priority(struct cases *c, struct json_object *section)
{
    static struct play p;
    for (size_t i = 0; i < json_object_array_length(section); i++) {
        struct json_object *v = json_object_array_get_idx(section, i), *steps = member(v, "steps");
        if (member_bool(v, "preemption")) {
            case_check(c, false, "%s: preemption by priority does not exist yet", member_string(v, "name"));
            continue;
        }
        start_play(&p, v);
        bool ok = steps != NULL || decide(&p, v);
        for (size_t k = 0; steps != NULL && k < json_object_array_length(steps); k++) {
            struct json_object *step = json_object_array_get_idx(steps, k);
            if (member(step, "remove") != NULL)
                remove_requests(&p, member(step, "remove"));
            add_requests(&p, member(step, "add"));
            ok = decide(&p, step) && ok;
        }
        case_check(c, ok, "%s", member_string(v, "name"));
    }
}

CASE_SECTION(fit_scores, run_fit_scores)
CASE_SECTION(find_fits, run_find_fits)
CASE_SECTION(dedicated_fits, run_dedicated_fits)
CASE_SECTION(sort, run_sort)
CASE_SECTION(priority, run_priority)
CASE_SECTION(priority_multi, run_priority)

const struct case_section scheduling_sections[] = {
    CASE_ROW(fit_scores), CASE_ROW(find_fits), CASE_ROW(dedicated_fits), CASE_ROW(sort),
    CASE_ROW(priority), CASE_ROW(priority_multi), {0},
};
