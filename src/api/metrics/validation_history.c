/* GET /experiments/{id}/validation-history: how the best value of the searcher's metric developed: each validation
 * of any trial that was better than all earlier ones, ordered by time. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/pipeline/handler.h"
#include "gen/handlers.h"
#include "store/experiments/experiments.h"
#include "store/experiments/trials.h"
#include "store/metrics/metrics.h"

enum { TRIALS_PER_TURN = 100 }; /* then other requests may use the reader */

struct history {
    struct store_experiment experiment;
    int32_t *trial;
    size_t trial_n, done;
    struct wire_experiment_validation_history_entry *entry; /* each trial's own best validations */
    size_t n, cap;
};

static int by_time(const void *x, const void *y)
{
    const struct wire_experiment_validation_history_entry *a = x, *b = y;
    if (a->end_time != b->end_time)
        return a->end_time < b->end_time ? -1 : 1;
    return (a->trial_id > b->trial_id) - (a->trial_id < b->trial_id);
}

/* Keeps the entries that are better than all entries before them; returns their number. */
static size_t keep_bests(struct wire_experiment_validation_history_entry *e, size_t n, bool smaller_is_better)
{
    size_t kept = 0;
    if (n)
        qsort(e, n, sizeof(*e), by_time);
    for (size_t i = 0; i < n; i++) {
        bool better = kept == 0 || (smaller_is_better ? e[i].searcher_metric < e[kept - 1].searcher_metric
                                                      : e[i].searcher_metric > e[kept - 1].searcher_metric);
        if (!isnan(e[i].searcher_metric) && better)
            e[kept++] = e[i];
    }
    return kept;
}

static void add_entry(struct history *h, const struct wire_experiment_validation_history_entry *e, size_t n,
                      struct arena *a)
{
    if (h->n + n > h->cap) {
        h->cap = 2 * (h->n + n);
        struct wire_experiment_validation_history_entry *more =
            arena_array(a, struct wire_experiment_validation_history_entry, h->cap);
        if (h->n)
            memcpy(more, h->entry, h->n * sizeof(*more));
        h->entry = more;
    }
    if (n)
        memcpy(h->entry + h->n, e, n * sizeof(*e));
    h->n += n;
}

/* Reads the trial's best validations. The best value of all trials at some moment is also the best of its own trial
 * at that moment. */
static int read_trial(struct req *r, struct store *db, int32_t trial_id, struct error *err)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct history *h = r->state;
    struct store_series_query q = {.trial_id = trial_id,
                                   .group = "validation",
                                   .names = {&h->experiment.searcher_metric, 1}};
    struct store_point *point;
    size_t n;
    if (store_metric_series(db, &q, &a, &point, &n, err) < 0)
        return -1;
    struct wire_experiment_validation_history_entry *e = arena_array(&a,
                                                                     struct wire_experiment_validation_history_entry,
                                                                     n + 1);
    for (size_t i = 0; i < n; i++)
        e[i] = (struct wire_experiment_validation_history_entry){.trial_id = trial_id,
                                                                 .has_end_time = true,
                                                                 .end_time = point[i].time_us,
                                                                 .searcher_metric = (float)point[i].first};
    add_entry(h, e, keep_bests(e, n, h->experiment.smaller_is_better), &r->arena);
    return 0;
}

static int read_trials(struct req *r, struct store *db, struct error *err)
{
    struct wire_get_experiment_validation_history_response *ret = r->ret;
    struct history *h = r->state;
    for (int turn = 0; h->done < h->trial_n; turn++) {
        if (turn == TRIALS_PER_TURN)
            return req_then_read(r, read_trials);
        if (read_trial(r, db, h->trial[h->done++], err) < 0)
            return -1;
    }
    ret->validation_history = h->entry;
    ret->validation_history_n = keep_bests(h->entry, h->n, h->experiment.smaller_is_better);
    return 0;
}

int api_get_experiment_validation_history(struct req *r, struct store *db,
                                          const struct wire_get_experiment_validation_history_request *in,
                                          struct wire_get_experiment_validation_history_response *ret,
                                          struct error *err)
{
    struct history *h = arena_new(&r->arena, struct history);
    r->state = h;
    if (store_experiment_get(db, in->experiment_id, /* with_config= */ false, &r->arena, &h->experiment, err) < 0 ||
        store_trial_ids_of_experiment(db, in->experiment_id, &r->arena, &h->trial, &h->trial_n, err) < 0)
        return -1;
    return h->experiment.searcher_metric && *h->experiment.searcher_metric ? read_trials(r, db, err) : 0;
}
