#include "core/experiments/gc.h"

#include <stdlib.h>

#include "common/base/must.h"

#define COMPARE(x, y) \
    do { \
        if ((x) != (y)) \
            return (x) < (y) ? -1 : 1; \
    } while (0)

/* An item to be sorted. It holds all that the comparisons need, because qsort() passes them no context. */
struct ranked {
    struct gc_candidate *candidate;
    double badness; /* a smaller value is a better one, whether the metric is to be small or large */
};

static int by_quality(const struct ranked *a, const struct ranked *b)
{
    COMPARE(a->badness, b->badness);
    COMPARE(a->candidate->validation_id, b->candidate->validation_id);
    COMPARE(a->candidate->trial_id, b->candidate->trial_id);
    COMPARE(b->candidate->steps_completed, a->candidate->steps_completed);
    return 0;
}

static int best_of_experiment_first(const void *a, const void *b)
{
    return by_quality(a, b);
}

static int best_of_trial_first(const void *pa, const void *pb)
{
    const struct ranked *a = pa, *b = pb;
    COMPARE(a->candidate->trial_id, b->candidate->trial_id);
    return by_quality(a, b);
}

static int newest_of_trial_first(const void *pa, const void *pb)
{
    const struct ranked *a = pa, *b = pb;
    COMPARE(a->candidate->trial_id, b->candidate->trial_id);
    COMPARE(b->candidate->steps_completed, a->candidate->steps_completed);
    return 0;
}

static void keep_first(struct ranked *r, size_t n, int limit)
{
    for (size_t i = 0; i < n && i < (size_t)limit; i++)
        r[i].candidate->keep = true;
}

/* Returns the end of the run of candidates that belong to one trial. The candidates of a trial follow each other. */
static size_t end_of_trial(const struct ranked *r, size_t from, size_t n)
{
    size_t end = from;
    while (end < n && r[end].candidate->trial_id == r[from].candidate->trial_id)
        end++;
    return end;
}

/* Keeps the candidates up to the rank `limit`, in order of their steps. Candidates with equal steps have the same rank,
 * so all of them are kept or none. */
static void keep_newest(struct ranked *r, size_t n, int limit)
{
    size_t rank = 1;
    for (size_t i = 0; i < n; i++) {
        if (i > 0 && r[i].candidate->steps_completed != r[i - 1].candidate->steps_completed)
            rank = i + 1;
        if (rank <= (size_t)limit)
            r[i].candidate->keep = true;
    }
}

static void keep_best(struct ranked *validated, size_t n, const struct gc_policy *policy)
{
    qsort(validated, n, sizeof(*validated), best_of_experiment_first);
    keep_first(validated, n, policy->experiment_best);
    qsort(validated, n, sizeof(*validated), best_of_trial_first);
    for (size_t from = 0, end; from < n; from = end) {
        end = end_of_trial(validated, from, n);
        keep_first(validated + from, end - from, policy->trial_best);
    }
}

static void keep_latest(struct ranked *all, size_t n, const struct gc_policy *policy)
{
    qsort(all, n, sizeof(*all), newest_of_trial_first);
    for (size_t from = 0, end; from < n; from = end) {
        end = end_of_trial(all, from, n);
        keep_newest(all + from, end - from, policy->trial_latest);
    }
}

void gc_choose(const struct gc_policy *policy, struct gc_candidate *candidate, size_t n)
{
    struct ranked *ranked = must_calloc(n + 1, sizeof(*ranked));
    size_t validated = 0;
    for (size_t i = 0; i < n; i++) {
        candidate[i].keep = false;
        if (!candidate[i].has_metric)
            continue;
        double metric = candidate[i].metric;
        ranked[validated++] = (struct ranked){&candidate[i], policy->smaller_is_better ? metric : -metric};
    }
    keep_best(ranked, validated, policy);
    for (size_t i = 0; i < n; i++)
        ranked[i] = (struct ranked){.candidate = &candidate[i]};
    keep_latest(ranked, n, policy);
    free(ranked);
}
