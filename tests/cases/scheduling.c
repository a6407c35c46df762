/* scheduling-cases.json. Fits and whole decisions are asked of the scheduler and of the obvious one (tests/plain). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/resources/scale.h"
#include "core/sched/agent_index.h"
#include "core/sched/moves.h"
#include "helpers.h"
#include "plain_sched.h"

enum { AGENTS_MAX = 64, GROUPS_MAX = 64, REQUESTS_MAX = 256, BLOCKED_MAX = 16 };

static enum fitting_policy policy_of(struct json_object *v, const char *key)
{
    return strcmp(member_string(v, key), "worst") == 0 ? FITTING_WORST : FITTING_BEST;
}

static struct sched_agent agent_of(struct json_object *v)
{
    int slots = (int)member_int(v, "slots");
    int aux = (int)member_int(v, member(v, "max_zero") ? "max_zero" : "max_zero_slot_containers");
    return (struct sched_agent){.id = member_string(v, "id"),
                                .open = true,
                                .slots = slots,
                                .empty_slots = slots - (int)member_int(v, "slots_used"),
                                .aux = aux,
                                .empty_aux = aux - (int)member_int(v, "zero_used")};
}

/* ---- fits -------------------------------------------------------------------------------------------------------- */

struct fit {
    struct sched_opts opts;
    struct agent_index agents;
    struct sched_agent agent[AGENTS_MAX];
    struct plain_agent plain[AGENTS_MAX];
    size_t n;
};

static void fit_begin(struct fit *f, const struct sched_opts *opts)
{
    *f = (struct fit){.opts = *opts};
    agent_index_init(&f->agents, opts);
}

static void fit_add(struct fit *f, const struct sched_agent *agent)
{
    if (f->n == AGENTS_MAX)
        abort();
    f->agent[f->n] = *agent;
    f->plain[f->n] = (struct plain_agent){agent->id,          agent->open, agent->slots,
                                          agent->empty_slots, agent->aux,  agent->empty_aux};
    agent_index_add(&f->agents, &f->agent[f->n++]);
}

/* Both must find the same; SIZE_MAX: they do not. */
static size_t fit_find(struct fit *f, const struct sched_request *r, struct arena *a, struct plain_share **ret)
{
    struct sched_share share[AGENTS_MAX];
    struct sched_request asked = *r;
    struct plain_snapshot s = {.opts = f->opts, .agent_n = f->n};
    struct plain_request plain = {.allocation_id = r->allocation_id,
                                  .slots = r->slots,
                                  .single_agent = r->single_agent};
    asked.hash = sched_hash(r->allocation_id);
    size_t n = plain_fit(&s, f->plain, &plain, a, ret), found = agent_index_fit(&f->agents, &asked, share);
    for (size_t i = 0; i < n && n == found; i++)
        if (share[i].agent != &f->agent[(*ret)[i].agent] || share[i].slots != (*ret)[i].slots)
            return SIZE_MAX;
    return n == found ? n : SIZE_MAX;
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
    static struct fit f;
    for (size_t i = 0; i < json_object_array_length(section); i++) {
        struct json_object *v = json_object_array_get_idx(section, i), *agents = member(v, "agents");
        cleanup_arena struct arena a = ARENA_INIT;
        struct plain_share *share;
        fit_begin(&f, &(struct sched_opts){.fitting = policy_of(v, "method")});
        for (size_t k = 0; k < json_object_array_length(agents); k++) {
            struct sched_agent agent = agent_of(json_object_array_get_idx(agents, k));
            fit_add(&f, &agent);
        }
        size_t n = fit_find(&f,
                            &(struct sched_request){.allocation_id = member_string(v, "allocation_id"),
                                                    .slots = (int)member_int(v, "slots_needed"),
                                                    .single_agent = member_bool(v, "single_agent")},
                            &a, &share);
        bool ok = n > 0 && n != SIZE_MAX &&
                  strcmp(f.agent[share[0].agent].id, member_string(v, "expect_first_agent")) == 0;
        case_check(c, ok, "%s", member_string(v, "name"));
        agent_index_free(&f.agents);
    }
}

static bool has_indexes(struct json_object *expected, const struct plain_share *share, size_t n)
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
    static struct fit f;
    for (size_t i = 0; i < json_object_array_length(section); i++) {
        struct json_object *v = json_object_array_get_idx(section, i), *slots = member(v, "agent_slots");
        cleanup_arena struct arena a = ARENA_INIT;
        struct plain_share *share;
        fit_begin(&f, &(struct sched_opts){.allow_heterogeneous_fits = member_bool(v, "heterogeneous")});
        for (size_t k = 0; k < json_object_array_length(slots); k++) {
            int own = json_object_get_int(json_object_array_get_idx(slots, k));
            fit_add(&f, &(struct sched_agent){
                            .id = arena_printf(&a, "agent%zu", k), .open = true, .slots = own, .empty_slots = own});
        }
        size_t n = fit_find(&f,
                            &(struct sched_request){.allocation_id = "task1",
                                                    .slots = (int)member_int(v, "slots_needed")},
                            &a, &share);
        bool ok = member(v, "expect_agent_indexes") ? has_indexes(member(v, "expect_agent_indexes"), share, n)
                                                    : (int64_t)n == member_int(v, "expect_count");
        case_check(c, ok, "%s: %zu agents", member_string(v, "name"), n);
        agent_index_free(&f.agents);
    }
}

/* ---- whole decisions --------------------------------------------------------------------------------------------- */

/* A pool that is scheduled step after step. */
struct play {
    struct arena arena;
    struct sched *sched;
    struct json_object *positions;
    double weight; /* of a group that names none */
    struct sched_agent agent[AGENTS_MAX];
    struct sched_job group[GROUPS_MAX + REQUESTS_MAX];
    struct sched_request request[REQUESTS_MAX];
    const char *blocked[REQUESTS_MAX][BLOCKED_MAX];
    bool open[REQUESTS_MAX];
    size_t agent_n, group_n, request_n;
};

static struct sched_job *group_named(struct play *p, const char *name)
{
    for (size_t i = 0; i < p->group_n; i++)
        if (strcmp(p->group[i].job_id, name) == 0)
            return &p->group[i];
    return NULL;
}

/* Submitted in the order in which they appear. Positions of cases are decimal fractions; ours are whole. */
static struct sched_job *add_group(struct play *p, struct json_object *g, const char *id)
{
    struct sched_job *group = &p->group[p->group_n];
    struct json_object *position = member(p->positions, id);
    if (p->group_n == GROUPS_MAX + REQUESTS_MAX)
        abort();
    *group = (struct sched_job){.job_id = id,
                                .priority = member(g, "priority") ? (int)member_int(g, "priority") : 42,
                                .weight = member(g, "weight") ? member_double(g, "weight") : p->weight,
                                .max_slots = member(g, "max_slots") ? (int)member_int(g, "max_slots") : -1,
                                .submitted_us = (int64_t)p->group_n,
                                .queue_position = (int64_t)p->group_n};
    if (position)
        group->queue_position = llround(json_object_get_double(position) * 1e6);
    p->group_n++;
    return group;
}

static struct sched_agent *agent_named(struct play *p, const char *name)
{
    for (size_t i = 0; i < p->agent_n; i++)
        if (strcmp(p->agent[i].id, name) == 0)
            return &p->agent[i];
    abort();
}

static void change_empty(struct play *p, struct sched_agent *agent, int slots, int by)
{
    struct sched_agent to = *agent;
    if (slots > 0)
        to.empty_slots += by * slots;
    else
        to.empty_aux += by;
    sched_agent_set(p->sched, agent, &to);
}

static void fill_blocked(struct play *p, size_t i, struct json_object *list)
{
    size_t n = !list ? 0 : json_object_array_length(list);
    for (size_t k = 0; k < n && k < BLOCKED_MAX; k++)
        p->blocked[i][k] = json_object_get_string(json_object_array_get_idx(list, k));
    p->request[i].blocked_agent = p->blocked[i];
    p->request[i].blocked_n = n;
}

/* A task that is "allocated" holds its agent's slots, once its container has started (the file's notes). */
static void add_request(struct play *p, struct json_object *t)
{
    size_t i = p->request_n++;
    const char *id = member_string(t, "id"), *job = member_string(t, member(t, "group") ? "group" : "id");
    struct sched_job *group = group_named(p, job);
    if (p->request_n > REQUESTS_MAX)
        abort();
    p->request[i] = (struct sched_request){.allocation_id = id,
                                           .job = group ? group : add_group(p, NULL, job),
                                           .slots = (int)member_int(t, "slots_needed"),
                                           .single_agent = member_bool(t, "single_agent"),
                                           .preemptible = !member_bool(t, "non_preemptible"),
                                           .request_us = (int64_t)i};
    fill_blocked(p, i, member(t, "blocked_nodes"));
    p->open[i] = true;
    if (!member(t, "allocated")) {
        sched_request_add(p->sched, &p->request[i]);
        return;
    }
    struct sched_share share = {agent_named(p, member_string(t, "allocated")), p->request[i].slots};
    if (member_bool(t, "container_started"))
        change_empty(p, share.agent, share.slots, -1);
    sched_request_hold(p->sched, &p->request[i], 0, &share, 1);
}

static void end_request(struct play *p, size_t i)
{
    struct sched_request *r = &p->request[i];
    for (size_t k = 0; k < r->share_n; k++)
        change_empty(p, r->share[k].agent, r->share[k].slots, 1);
    sched_request_remove(p->sched, r);
    p->open[i] = false;
}

static void remove_requests(struct play *p, struct json_object *ids)
{
    for (size_t i = 0; i < p->request_n; i++)
        if (p->open[i] && list_has(ids, p->request[i].allocation_id))
            end_request(p, i);
}

static void add_requests(struct play *p, struct json_object *list)
{
    for (size_t i = 0; list && i < json_object_array_length(list); i++)
        add_request(p, json_object_array_get_idx(list, i));
}

static void play_start(struct play *p, const struct sched_opts *opts, struct json_object *v, double weight)
{
    struct json_object *agents = member(v, "agents"), *groups = member(v, "groups");
    memset(p, 0, sizeof(*p));
    p->sched = sched_new(opts, NULL);
    p->positions = member(v, "queue_positions");
    p->weight = weight;
    for (size_t i = 0; i < json_object_array_length(agents) && i < AGENTS_MAX; i++) {
        p->agent[p->agent_n] = agent_of(json_object_array_get_idx(agents, i));
        sched_agent_join(p->sched, &p->agent[p->agent_n++]);
    }
    for (size_t i = 0; groups && i < json_object_array_length(groups); i++) {
        struct json_object *g = json_object_array_get_idx(groups, i);
        add_group(p, g, member_string(g, "id"));
    }
    add_requests(p, member(v, "tasks"));
}

static void play_end(struct play *p)
{
    for (size_t i = 0; i < p->request_n; i++)
        if (p->open[i])
            end_request(p, i);
    sched_free(p->sched);
    arena_release(&p->arena);
}

static void look(struct play *p, struct plain_snapshot *ret)
{
    struct plain_agent *agent = arena_array(&p->arena, struct plain_agent, AGENTS_MAX);
    struct plain_request *request = arena_array(&p->arena, struct plain_request, REQUESTS_MAX);
    *ret = (struct plain_snapshot){.opts = *sched_get_opts(p->sched),
                                   .agent = agent,
                                   .agent_n = p->agent_n,
                                   .request = request};
    for (size_t i = 0; i < p->agent_n; i++)
        agent[i] = (struct plain_agent){p->agent[i].id,    true,
                                        p->agent[i].slots, p->agent[i].empty_slots,
                                        p->agent[i].aux,   p->agent[i].empty_aux};
    for (size_t i = 0; i < p->request_n; i++) {
        const struct sched_request *r = &p->request[i];
        if (!p->open[i])
            continue;
        struct plain_share *share = arena_array(&p->arena, struct plain_share, r->share_n + 1);
        for (size_t k = 0; k < r->share_n; k++)
            share[k] = (struct plain_share){(size_t)(r->share[k].agent - p->agent), r->share[k].slots};
        request[ret->request_n++] = (struct plain_request){.allocation_id = r->allocation_id,
                                                           .job_id = r->job->job_id,
                                                           .priority = r->job->priority,
                                                           .queue_position = r->job->queue_position,
                                                           .submitted_us = r->job->submitted_us,
                                                           .request_us = r->request_us,
                                                           .weight = r->job->weight,
                                                           .max_slots = r->job->max_slots,
                                                           .slots = r->slots,
                                                           .single_agent = r->single_agent,
                                                           .preemptible = r->preemptible,
                                                           .blocked_agent = r->blocked_agent,
                                                           .blocked_n = r->blocked_n,
                                                           .state = r->state,
                                                           .share = share,
                                                           .share_n = r->share_n};
    }
}

static size_t length_of(struct json_object *list)
{
    return !list ? 0 : json_object_array_length(list);
}

static bool plain_agrees(const struct plain_snapshot *s, struct json_object *step, struct arena *a)
{
    struct json_object *allocate = member(step, "to_allocate"), *release = member(step, "to_release");
    struct plain_decision d;
    plain_pass(s, a, &d);
    bool ok = d.allocate_n + d.unplaced_n == length_of(allocate) && d.release_n == length_of(release);
    for (size_t i = 0; i < d.allocate_n; i++)
        ok = ok && list_has(allocate, s->request[d.allocate[i].request].allocation_id);
    for (size_t i = 0; i < d.unplaced_n; i++)
        ok = ok && list_has(allocate, s->request[d.unplaced[i]].allocation_id);
    for (size_t i = 0; i < d.release_n; i++)
        ok = ok && list_has(release, s->request[d.release[i]].allocation_id);
    return ok;
}

/* What a pass places stays placed only if the step says so. The cases of fair share count what is granted as allocated,
 * whether there is a place for all of it or not. */
static bool decide(struct play *p, struct json_object *step)
{
    struct json_object *allocate = member(step, "to_allocate"), *release = member(step, "to_release");
    struct plain_snapshot s;
    struct sched_decision d;
    look(p, &s);
    bool ok = plain_agrees(&s, step, &p->arena);
    sched_pass(p->sched, 0, &p->arena, &d);
    ok = ok && d.allocate_n + d.unplaced_n == length_of(allocate) && d.release_n == length_of(release);
    for (size_t i = 0; i < d.allocate_n; i++)
        ok = ok && list_has(allocate, d.allocate[i].request->allocation_id);
    for (size_t i = 0; i < d.unplaced_n; i++)
        ok = ok && list_has(allocate, d.unplaced[i]->allocation_id);
    for (size_t i = 0; i < d.release_n; i++)
        ok = ok && list_has(release, d.release[i]->allocation_id);
    for (size_t i = 0; i < d.allocate_n && !member_bool(step, "allocate"); i++) {
        size_t request = (size_t)(d.allocate[i].request - p->request);
        end_request(p, request);
        p->open[request] = true;
        sched_request_add(p->sched, &p->request[request]);
    }
    return ok;
}

static void run_play(struct cases *c, struct json_object *v, const struct sched_opts *opts, double weight)
{
    static struct play p;
    struct json_object *steps = member(v, "steps");
    play_start(&p, opts, v, weight);
    bool ok = steps || decide(&p, v);
    for (size_t k = 0; k < length_of(steps); k++) {
        struct json_object *step = json_object_array_get_idx(steps, k);
        if (member(step, "remove"))
            remove_requests(&p, member(step, "remove"));
        add_requests(&p, member(step, "add"));
        ok = decide(&p, step) && ok;
    }
    case_check(c, ok, "%s", member_string(v, "name"));
    play_end(&p);
}

static void run_priority(struct cases *c, struct json_object *section)
{
    for (size_t i = 0; i < json_object_array_length(section); i++) {
        struct json_object *v = json_object_array_get_idx(section, i);
        run_play(c, v,
                 &(struct sched_opts){.preemption = member_bool(v, "preemption"), .fitting = policy_of(v, "fitting")},
                 1);
    }
}

/* A group that names no weight has 0 here (the file's notes). */
static void run_fair_share(struct cases *c, struct json_object *section)
{
    for (size_t i = 0; i < json_object_array_length(section); i++) {
        struct json_object *v = json_object_array_get_idx(section, i);
        run_play(c, v, &(struct sched_opts){.policy = SCHED_BY_FAIR_SHARE, .fitting = policy_of(v, "fitting")}, 0);
    }
}

/* ---- the order of requests --------------------------------------------------------------------------------------- */

static int by_turn(const void *a, const void *b)
{
    return sched_request_compare(a, b);
}

static bool has_order(struct json_object *by_priority, const struct sched_request *sorted, size_t n, bool zero_slot)
{
    json_object_object_foreach(by_priority, priority, ids)
    {
        size_t next = 0;
        for (size_t i = 0; i < n; i++) {
            if ((sorted[i].slots == 0) != zero_slot || sorted[i].priority != strtol(priority, NULL, 10))
                continue;
            struct json_object *id = json_object_array_get_idx(ids, next++);
            if (!id || strcmp(json_object_get_string(id), sorted[i].allocation_id) != 0)
                return false;
        }
        if (next != json_object_array_length(ids))
            return false;
    }
    return true;
}

static void run_sort(struct cases *c, struct json_object *v)
{
    static struct play p;
    struct sched_request request[REQUESTS_MAX];
    struct json_object *groups = member(v, "groups");
    size_t n = json_object_array_length(member(v, "tasks"));
    memset(&p, 0, sizeof(p));
    for (size_t i = 0; i < json_object_array_length(groups); i++)
        add_group(&p, json_object_array_get_idx(groups, i), member_string(json_object_array_get_idx(groups, i), "id"));
    for (size_t i = 0; i < n && i < REQUESTS_MAX; i++) {
        struct json_object *t = json_object_array_get_idx(member(v, "tasks"), i);
        struct sched_job *group = group_named(&p, member_string(t, "group"));
        request[i] = (struct sched_request){.allocation_id = member_string(t, "id"),
                                            .slots = (int)member_int(t, "slots"),
                                            .job = group,
                                            .priority = group->priority,
                                            .request_us = -member_int(t, "age_min")};
    }
    qsort(request, n, sizeof(request[0]), by_turn);
    case_check(c, has_order(member(v, "pending_zero"), request, n, true), "pending_zero");
    case_check(c, has_order(member(v, "pending_nonzero"), request, n, false), "pending_nonzero");
}

/* ---- the queue --------------------------------------------------------------------------------------------------- */

static struct json_object *case_named(struct json_object *section, const char *name)
{
    for (size_t i = 0; i < json_object_array_length(section); i++)
        if (strcmp(member_string(json_object_array_get_idx(section, i), "name"), name) == 0)
            return json_object_array_get_idx(section, i);
    abort();
}

static void add_jobs(struct play *p, struct json_object *jobs, struct json_object *weights)
{
    for (size_t i = 0; i < json_object_array_length(jobs); i++) {
        struct json_object *job = json_object_array_get_idx(jobs, i), *slots = member(job, "slots");
        struct sched_job *g = add_group(p, job, member_string(job, "id"));
        if (member(weights, g->job_id))
            g->weight = member_double(weights, g->job_id);
        for (size_t k = 0; k < json_object_array_length(slots); k++) {
            struct sched_request *r = &p->request[p->request_n];
            *r = (struct sched_request){.allocation_id = arena_printf(&p->arena, "%s.%zu", g->job_id, k),
                                        .job = g,
                                        .slots = json_object_get_int(json_object_array_get_idx(slots, k)),
                                        .preemptible = true,
                                        .request_us = (int64_t)p->request_n};
            p->open[p->request_n++] = true;
            sched_request_add(p->sched, r);
        }
    }
}

struct job_state {
    bool scheduled;
    int requested, allocated;
};

static struct job_state state_of(const struct sched_job *g)
{
    struct job_state state = {0};
    struct sched_request *r;
    RB_FOREACH(r, sched_job_requests, (struct sched_job_requests *)&g->requests) {
        state.requested += r->slots;
        state.allocated += r->state == SCHED_PENDING ? 0 : r->slots;
        state.scheduled = state.scheduled || r->state != SCHED_PENDING;
    }
    return state;
}

static bool has_expected(const struct sched_job *g, int jobs_ahead, struct json_object *expect)
{
    struct job_state state = state_of(g);
    struct json_object *e = member(expect, g->job_id);
    const char *name = state.scheduled ? "SCHEDULED" : "QUEUED";
    return (!member(e, "state") || strcmp(member_string(e, "state"), name) == 0) &&
           (!member(e, "jobs_ahead") || member_int(e, "jobs_ahead") == jobs_ahead) &&
           (!member(e, "allocated") || member_int(e, "allocated") == state.allocated) &&
           (!member(e, "requested") || member_int(e, "requested") == state.requested);
}

static bool queue_is_as_expected(struct play *p, struct json_object *v)
{
    int ahead = 0, queued = 0, scheduled = 0;
    bool ok = true;
    for (const struct sched_job *g = sched_first_job(p->sched); g; g = sched_next_job(g), ahead++) {
        *(state_of(g).scheduled ? &scheduled : &queued) += 1;
        ok = ok && (!member(v, "expect") || has_expected(g, ahead, member(v, "expect")));
    }
    return ok &&
           (!member(v, "queued") || (member_int(v, "queued") == queued && member_int(v, "scheduled") == scheduled));
}

static void run_queue(struct cases *c, struct json_object *v, struct json_object *of, enum sched_policy policy)
{
    static struct play p;
    struct sched_decision d;
    play_start(&p, &(struct sched_opts){.policy = policy}, of, 1);
    add_jobs(&p, member(of, "jobs"), member(v, "weights"));
    sched_pass(p.sched, 0, &p.arena, &d);
    case_check(c, queue_is_as_expected(&p, v), "%s", member_string(v, "name"));
    play_end(&p);
}

/* A case may lean on another for its agents and jobs ("same_as"); one that has none of its own and names no other is
 * about the order of the case before it. */
static void run_job_queue(struct cases *c, struct json_object *section)
{
    struct json_object *of = NULL;
    for (size_t i = 0; i < json_object_array_length(section); i++) {
        struct json_object *v = json_object_array_get_idx(section, i);
        const char *scheduler = member_string(v, "scheduler");
        if (member(v, "same_as"))
            of = case_named(section, member_string(v, "same_as"));
        else if (member(v, "jobs"))
            of = v;
        if (strstr(scheduler, "priority"))
            run_queue(c, v, of, SCHED_BY_PRIORITY);
        if (strstr(scheduler, "fair_share"))
            run_queue(c, v, of, SCHED_BY_FAIR_SHARE);
    }
}

static struct sched_job *job_named(struct play *p, struct json_object *v, const char *key)
{
    return group_named(p, member_string(v, key));
}

static void place_jobs(struct play *p, struct json_object *jobs)
{
    memset(p, 0, sizeof(*p));
    p->sched = sched_new(&(struct sched_opts){0}, NULL);
    for (size_t i = 0; i < json_object_array_length(jobs); i++) {
        struct json_object *job = json_object_array_get_idx(jobs, i);
        struct sched_job *g = &p->group[p->group_n++];
        *g = (struct sched_job){.job_id = json_object_get_string(json_object_array_get_idx(job, 0)),
                                .priority = json_object_get_int(json_object_array_get_idx(job, 1)),
                                .queue_position = json_object_get_int64(json_object_array_get_idx(job, 2)),
                                .submitted_us = (int64_t)i};
        p->request[i] = (struct sched_request){.allocation_id = g->job_id, .job = g, .slots = 1};
        p->open[p->request_n++] = true;
        sched_request_add(p->sched, &p->request[i]);
    }
}

static const char *anchor_name(const struct sched_move *m, bool ahead)
{
    return m->second ? m->second->job_id : ahead ? "HEAD" : "TAIL";
}

/* After the move it stands next to the anchor, on the right side. */
static bool stands_by(struct play *p, const struct sched_job *g, const struct sched_job *anchor, bool ahead)
{
    const struct sched_job *first = ahead ? g : anchor, *second = ahead ? anchor : g;
    (void)p;
    return sched_next_job(first) == second;
}

static void run_legacy_job_moves(struct cases *c, struct json_object *section)
{
    static struct play p;
    for (size_t i = 0; i < json_object_array_length(section); i++) {
        struct json_object *v = json_object_array_get_idx(section, i);
        bool ahead = member(v, "ahead_of") != NULL;
        struct sched_move m;
        place_jobs(&p, member(v, "jobs"));
        struct sched_job *g = job_named(&p, v, "move"), *anchor = job_named(&p, v, ahead ? "ahead_of" : "behind_of");
        sched_plan_move(g, anchor, ahead, 1000, &p.arena, &m);
        bool ok = m.adopts_priority == member_bool(v, "prio_change") &&
                  anchor->priority == member_int(v, "anchor_priority") &&
                  strcmp(anchor_name(&m, ahead), member_string(v, "second_anchor")) == 0;
        for (size_t k = 0; k < m.step_n; k++) {
            struct sched_job to = *m.step[k].job;
            to.priority = m.step[k].priority;
            to.queue_position = m.step[k].queue_position;
            sched_job_set(p.sched, m.step[k].job, &to);
        }
        case_check(c, ok && stands_by(&p, g, anchor, ahead), "%s", json_object_to_json_string(v));
        play_end(&p);
    }
}

/* ---- elastic pools ----------------------------------------------------------------------------------------------- */

static void run_desired_new_agents(struct cases *c, struct json_object *section)
{
    for (size_t i = 0; i < json_object_array_length(section); i++) {
        struct json_object *v = json_object_array_get_idx(section, i), *pending = member(v, "pending_slots");
        int per_agent = (int)member_int(v, "slots_per_agent");
        struct scale_demand d = {0};
        for (size_t k = 0; k < json_object_array_length(pending); k++) {
            int slots = json_object_get_int(json_object_array_get_idx(pending, k));
            d.aux += slots == 0;
            if (scale_counts(slots, per_agent))
                d.slots += slots;
        }
        int desired = scale_desired(&d, per_agent, (int)member_int(v, "max_zero_slot_per_agent"));
        case_check(c, desired == member_int(v, "desired"), "%s: %d", json_object_to_json_string(v), desired);
    }
}

static void run_instances_to_launch(struct cases *c, struct json_object *section)
{
    for (size_t i = 0; i < json_object_array_length(section); i++) {
        struct json_object *v = json_object_array_get_idx(section, i);
        struct scale_opts o = {.min_instances = (int)member_int(v, "min"), .max_instances = (int)member_int(v, "max")};
        int launch = scale_launch(&o, (int)member_int(v, "existing"), (int)member_int(v, "recently_launched"),
                                  (int)member_int(v, "desired_new"));
        case_check(c, launch == member_int(v, "launch"), "%s: %d", member_string(v, "name"), launch);
    }
}

/* The longer ones are listed with the shorter ones. */
static enum scale_class class_of(struct json_object *v, const char *id)
{
    static const struct {
        const char *list;
        enum scale_class class;
    } row[] = {{"stopped", SCALE_STOPPED},
               {"long_idle", SCALE_LONG_IDLE},
               {"idle", SCALE_IDLE},
               {"long_disconnected", SCALE_LONG_DISCONNECTED},
               {"disconnected", SCALE_DISCONNECTED},
               {"pending", SCALE_PENDING},
               {"recently_launched", SCALE_STARTING}};
    for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++)
        if (list_has(member(v, row[i].list), id))
            return row[i].class;
    return SCALE_OCCUPIED;
}

static void run_instances_to_terminate(struct cases *c, struct json_object *section)
{
    for (size_t i = 0; i < json_object_array_length(section); i++) {
        struct json_object *v = json_object_array_get_idx(section, i), *list = member(v, "instances");
        size_t n = json_object_array_length(list);
        struct scale_instance instance[AGENTS_MAX] = {0};
        bool ok = n <= AGENTS_MAX;
        for (size_t k = 0; ok && k < n; k++) {
            const char *id = json_object_get_string(json_object_array_get_idx(list, k));
            instance[k] = (struct scale_instance){.class = class_of(v, id),
                                                  .launch_us = -member_int(member(v, "launch_age_min"), id)};
        }
        int ended = ok ? scale_terminate(instance, n, (int)member_int(v, "min"), (int)member_int(v, "max")) : 0;
        for (size_t k = 0; ok && k < n; k++)
            ok = instance[k].terminate ==
                 list_has(member(v, "terminate"), json_object_get_string(json_object_array_get_idx(list, k)));
        ok = ok && ended == (int)json_object_array_length(member(v, "terminate"));
        case_check(c, ok, "%s: %d", member_string(v, "name"), ended);
    }
}

CASE_SECTION(fit_scores, run_fit_scores)
CASE_SECTION(find_fits, run_find_fits)
CASE_SECTION(dedicated_fits, run_dedicated_fits)
CASE_SECTION(sort, run_sort)
CASE_SECTION(priority, run_priority)
CASE_SECTION(priority_multi, run_priority)
CASE_SECTION(fair_share, run_fair_share)
CASE_SECTION(job_queue, run_job_queue)
CASE_SECTION(legacy_job_moves, run_legacy_job_moves)
CASE_SECTION(desired_new_agents, run_desired_new_agents)
CASE_SECTION(instances_to_launch, run_instances_to_launch)
CASE_SECTION(instances_to_terminate, run_instances_to_terminate)

const struct case_section scheduling_sections[] = {
    CASE_ROW(fit_scores),
    CASE_ROW(find_fits),
    CASE_ROW(dedicated_fits),
    CASE_ROW(sort),
    CASE_ROW(priority),
    CASE_ROW(priority_multi),
    CASE_ROW(fair_share),
    CASE_ROW(job_queue),
    CASE_ROW(legacy_job_moves),
    CASE_ROW(desired_new_agents),
    CASE_ROW(instances_to_launch),
    CASE_ROW(instances_to_terminate),
    {0},
};
