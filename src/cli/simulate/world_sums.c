/* Computes the results of a simulation: how fairly slots were shared while it ran, and the numbers at its end. */
#include "cli/simulate/world_internal.h"

#include <math.h>
#include <stdlib.h>

struct claim {
    double weight, demand, held, fair;
};

static int by_need(const void *pa, const void *pb)
{
    const struct claim *a = pa, *b = pb;
    double x = a->demand / a->weight, y = b->demand / b->weight;
    return x < y ? -1 : x > y;
}

/* Jain's index of what each job has of its weighted max-min share; -1: there is room for all jobs. */
static double jain_index(struct claim *claim, size_t n, double capacity)
{
    double weight = 0, wanted = 0, sum = 0, squares = 0;
    for (size_t i = 0; i < n; i++) {
        weight += claim[i].weight;
        wanted += claim[i].demand;
    }
    if (n < 2 || wanted <= capacity)
        return -1;
    qsort(claim, n, sizeof(*claim), by_need);
    for (size_t i = 0; i < n; i++) {
        double share = capacity * claim[i].weight / weight;
        double fair = share < claim[i].demand ? share : claim[i].demand;
        capacity -= fair;
        weight -= claim[i].weight;
        double x = fair > 0 ? claim[i].held / fair : 0;
        sum += x;
        squares += x * x;
    }
    return squares > 0 ? sum * sum / ((double)n * squares) : -1;
}

void world_measure_fairness(struct world *w, size_t pool)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct share *s = &w->share[pool];
    struct core_job_view *job;
    double passed_us = (double)(w->now_us - s->fair_seen_us);
    if (w->now_us - s->fair_seen_us < w->look_every_us)
        return;
    s->fair_seen_us = w->now_us;
    size_t n = core_queue(w->core, w->cluster->pool[pool].name, &a, &job), claims = 0;
    struct claim *claim = arena_array(&a, struct claim, n + 1);
    for (size_t i = 0; i < n; i++)
        if (job[i].requested_slots > 0)
            claim[claims++] = (struct claim){.weight = job[i].weight,
                                             .demand = job[i].requested_slots,
                                             .held = job[i].allocated_slots};
    double index = jain_index(claim, claims, s->slots);
    if (index < 0)
        return;
    s->fair_sum += index * passed_us;
    s->fair_us += passed_us;
}

static int by_size(const void *pa, const void *pb)
{
    double a = *(const double *)pa, b = *(const double *)pb;
    return a < b ? -1 : a > b;
}

/* The smallest wait that at least this part of the jobs does not exceed. */
static double wait_percentile(const double *sorted, size_t n, double part)
{
    size_t i = n > 0 ? (size_t)ceil(part * (double)n) : 0;
    return n == 0 ? 0 : sorted[i > 0 ? i - 1 : 0];
}

void world_sum_up(const struct world *w, int pool, struct arena *a, struct sim_result *ret)
{
    double *wait = arena_array(a, double, w->trace->n + 1), sum = 0, used_us = 0, fair_sum = 0, fair_us = 0;
    int64_t first_us = SIM_START_US + w->trace->job[0].submit_us;
    double span_us = (double)(w->end_us > first_us ? w->end_us - first_us : 0);
    size_t n = 0;
    *ret = (struct sim_result){.pool = pool < 0 ? "" : w->cluster->pool[pool].name, .makespan_s = span_us / 1e6};
    for (size_t i = 0; i < w->trace->n; i++) {
        const struct sim_job_result *j = &w->job[i];
        if (pool >= 0 && j->pool != pool)
            continue;
        ret->jobs++;
        ret->unstarted += !j->started;
        ret->preemptions += (size_t)j->preemptions;
        if (j->started)
            sum += wait[n++] = (double)j->wait_us / 1e6;
    }
    for (size_t i = 0; i < w->cluster->pool_n; i++) {
        if (pool >= 0 && (int)i != pool)
            continue;
        ret->slots += w->share[i].slots;
        used_us += w->share[i].used_us;
        fair_sum += w->share[i].fair_sum;
        fair_us += w->share[i].fair_us;
    }
    qsort(wait, n, sizeof(*wait), by_size);
    ret->wait_mean_s = n > 0 ? sum / (double)n : 0;
    ret->wait_p50_s = wait_percentile(wait, n, 0.5);
    ret->wait_p99_s = wait_percentile(wait, n, 0.99);
    ret->utilization = ret->slots > 0 && span_us > 0 ? used_us / (ret->slots * span_us) : 0;
    ret->fairness = fair_us > 0 ? fair_sum / fair_us : -1;
}
