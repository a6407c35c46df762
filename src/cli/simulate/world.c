/* Runs the simulated world: connects agents, submits jobs, advances time. */
#include "cli/simulate/world_internal.h"

#include <stdlib.h>
#include <string.h>

#include "gen/config_numbers.h"

enum { FAIRNESS_LOOKS = 500 };

static void carry_out(struct world *w, const struct core_effect *e)
{
    if (e->type == CORE_START_CONTAINER)
        world_start_task(w, &e->start);
    else if (e->type == CORE_EXPERIMENT_ENDED)
        w->job[w->job_of[e->experiment_id]].ended = true;
    else
        world_must_stop(w, e);
}

void world_step(struct world *w, const struct core_event *ev)
{
    cleanup_effects struct core_effects effects = CORE_EFFECTS_INIT;
    struct core_event event = *ev;
    event.now_us = w->now_us;
    core_step(w->core, &event, &effects, NULL);
    w->timer_us = effects.next_timer_us;
    for (size_t i = 0; i < effects.n; i++)
        carry_out(w, &effects.item[i]);
}

/* ---- before the simulation begins -------------------------------------------------------------------------------- */

static void connect_agents(struct world *w)
{
    struct core_device device[CORE_DEVICES_MAX];
    int n = 0;
    for (int i = 0; i < CORE_DEVICES_MAX; i++)
        device[i] = (struct core_device){.id = i, .type = 2, .brand = "", .uuid = ""};
    for (size_t p = 0; p < w->cluster->pool_n; p++)
        for (const struct sim_agents *group = w->cluster->agents[p]; group->count > 0; group++)
            for (int i = 0; i < group->count; i++) {
                char id[32];
                snprintf(id, sizeof(id), "agent-%d", n++);
                world_step(w, &(struct core_event){.type = CORE_AGENT_CONNECTED,
                                                   .agent = {.agent_id = id,
                                                             .pool = w->cluster->pool[p].name,
                                                             .version = "",
                                                             .hostname = id,
                                                             .device = device,
                                                             .device_n = (size_t)group->slots}});
                w->share[p].slots += group->slots;
            }
}

static const char *searcher_text(const struct sim_job *j, char buf[256])
{
    if (strcmp(j->searcher, "random") == 0)
        snprintf(buf, 256, "{\"name\": \"random\", \"max_trials\": %d, \"max_concurrent_trials\": %d}", j->trials,
                 j->concurrent);
    else if (strcmp(j->searcher, "adaptive_asha") == 0)
        snprintf(buf, 256,
                 "{\"name\": \"adaptive_asha\", \"metric\": \"loss\", \"max_trials\": %d, \"max_time\": %d, "
                 "\"time_metric\": \"batches\", \"max_concurrent_trials\": %d}",
                 j->trials, SIM_STEPS, j->concurrent);
    else
        snprintf(buf, 256, "{\"name\": \"single\"}");
    return buf;
}

static int submit_job(struct world *w, const struct sim_job *j, size_t index, struct error *err)
{
    cleanup_effects struct core_effects effects = CORE_EFFECTS_INIT;
    char searcher[256];
    struct core_experiment_spec spec = {.owner_id = 1,
                                        .pool = w->cluster->pool[w->job[index].pool].name,
                                        .slots_per_trial = j->slots,
                                        .priority = j->priority,
                                        .weight = j->weight,
                                        .max_slots = j->max_slots,
                                        .preemption_timeout_s =
                                            MASTER_CONFIG_TASK_CONTAINER_DEFAULTS_PREEMPTION_TIMEOUT_S_DEFAULT,
                                        .seed = (uint32_t)index,
                                        .searcher = searcher_text(j, searcher),
                                        .hyperparameters = "{}"};
    struct core_event ev = {.type = CORE_EXPERIMENT_CREATE,
                            .now_us = w->now_us,
                            .create = {.spec = &spec, .activate = true}};
    w->job_of[++w->experiment_n] = index;
    if (core_step(w->core, &ev, &effects, err) < 0)
        return error_wrap(err, "row %zu", j->row);
    w->timer_us = effects.next_timer_us;
    for (size_t i = 0; i < effects.n; i++)
        carry_out(w, &effects.item[i]);
    return 0;
}

/* ---- time -------------------------------------------------------------------------------------------------------- */

static void set_if_sooner(int64_t *next, int64_t candidate)
{
    if (candidate != 0 && (*next == 0 || candidate < *next))
        *next = candidate;
}

static void pass_time(struct world *w, int64_t to_us)
{
    for (size_t i = 0; i < w->cluster->pool_n; i++)
        w->share[i].used_us += (double)w->share[i].used * (double)(to_us - w->now_us);
    w->now_us = to_us;
}

static int run_due(struct world *w, struct error *err)
{
    for (; w->next_job < w->trace->n && SIM_START_US + w->trace->job[w->next_job].submit_us <= w->now_us; w->next_job++)
        if (submit_job(w, &w->trace->job[w->next_job], w->next_job, err) < 0)
            return -1;
    world_report_consequences(w);
    world_run_tasks(w);
    if (w->timer_us != 0 && w->timer_us <= w->now_us) {
        world_step(w, &(struct core_event){.type = CORE_TIMER});
        world_report_consequences(w);
    }
    for (size_t i = 0; i < w->cluster->pool_n; i++)
        world_measure_fairness(w, i);
    return 0;
}

static int run_all(struct world *w, struct error *err)
{
    for (;;) {
        int64_t next = timers_next_us(&w->timers);
        set_if_sooner(&next, w->timer_us);
        if (w->next_job < w->trace->n)
            set_if_sooner(&next, SIM_START_US + w->trace->job[w->next_job].submit_us);
        if (next == 0)
            return 0;
        pass_time(w, next > w->now_us ? next : w->now_us);
        if (run_due(w, err) < 0)
            return -1;
    }
}

/* ---- the whole simulation ---------------------------------------------------------------------------------------- */

static int find_pools(struct world *w, struct error *err)
{
    for (size_t i = 0; i < w->trace->n; i++) {
        const char *name = w->trace->job[i].pool;
        size_t p = 0;
        while (p < w->cluster->pool_n && name[0] != '\0' && strcmp(w->cluster->pool[p].name, name) != 0)
            p++;
        if (p == w->cluster->pool_n)
            return error_set(err, ERR_INVALID, "row %zu, column pool: %s has no pool \"%s\"", w->trace->job[i].row,
                             w->cluster->file, name);
        w->job[i].pool = (int)p;
    }
    return 0;
}

int sim_world_run(const struct sim_cluster *cluster, const struct sim_trace *trace, struct arena *a,
                  struct sim_result **ret, struct error *err)
{
    struct core_opts opts = {.pool = cluster->pool,
                             .pool_n = cluster->pool_n,
                             .agent_reconnect_wait_us = CORE_AGENT_RECONNECT_WAIT_US,
                             .restore_wait_us = CORE_RESTORE_WAIT_US,
                             .seed = 1};
    struct world w = {.cluster = cluster,
                      .trace = trace,
                      .now_us = SIM_START_US,
                      .job = arena_array(a, struct sim_job_result, trace->n + 1),
                      .job_of = arena_array(a, size_t, trace->n + 2),
                      .share = arena_array(a, struct share, cluster->pool_n)};
    const struct sim_job *last = &trace->job[trace->n - 1];
    w.look_every_us = 1 + (last->submit_us + last->duration_us) / FAIRNESS_LOOKS;
    for (size_t i = 0; i < cluster->pool_n; i++)
        w.share[i].fair_seen_us = SIM_START_US;
    if (find_pools(&w, err) < 0)
        return -1;
    w.core = core_new(&opts);
    connect_agents(&w);
    int rv = run_all(&w, err);
    *ret = arena_array(a, struct sim_result, cluster->pool_n + 1);
    for (size_t i = 0; rv == 0 && i <= cluster->pool_n; i++)
        world_sum_up(&w, i < cluster->pool_n ? (int)i : -1, a, &(*ret)[i]);
    world_release_tasks(&w);
    core_free(w.core);
    return rv;
}
