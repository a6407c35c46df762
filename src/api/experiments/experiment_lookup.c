/* POST /experiments-search: the list of the web interface, with the filter language of store/lookup/lookup.h. */
#include "api/experiments/experiment_live.h"
#include "api/pipeline/access.h"
#include "api/pipeline/convert.h"
#include "api/pipeline/internal.h"
#include "gen/handlers.h"
#include "store/experiments/trials.h"
#include "store/lookup/lookup.h"

static struct wire_experiment *to_wire(struct req *r, struct store_experiment *x, const struct store_trial *best,
                                       struct wire_search_experiment_experiment *ret)
{
    struct wire_experiment *w = arena_new(&r->arena, struct wire_experiment);
    const struct wire_search_experiments_request *in = r->in;
    experiment_shorten(x, in->brief);
    experiment_to_wire(r, x, DISPLAY_STORED, w);
    ret->experiment = w;
    if (!best)
        return w;
    struct wire_trial *t = arena_new(&r->arena, struct wire_trial);
    trial_to_wire(best, DISPLAY_STORED, r->now_us, &r->arena, t);
    ret->best_trial = t;
    return w;
}

/* Reads the best trial of each experiment, sorted by id. */
static int best_trials(struct req *r, struct store *db, const struct store_experiment *x, size_t n,
                       struct store_trial **ret, size_t *ret_n, struct error *err)
{
    int32_t *id = arena_array(&r->arena, int32_t, n + 1);
    size_t id_n = 0;
    for (size_t i = 0; i < n; i++)
        if (x[i].has_best)
            id[id_n++] = x[i].best_trial_id;
    return store_trials_by_ids(db, (struct store_ints){id, id_n}, &r->arena, ret, ret_n, err);
}

static int show_experiments(struct req *r, struct store *db, struct error *err)
{
    struct wire_search_experiments_response *ret = r->ret;
    const struct lookup_found *found = r->state;
    struct store_experiment *x;
    struct store_trial *best;
    size_t n, best_n;
    if (store_experiments_shown(db, found->ids, &r->arena, &x, &n, err) < 0 ||
        best_trials(r, db, x, n, &best, &best_n, err) < 0)
        return -1;
    struct wire_experiment **all = arena_array(&r->arena, struct wire_experiment *, n + 1);
    ret->experiments = arena_array(&r->arena, struct wire_search_experiment_experiment, n + 1);
    ret->experiments_n = n;
    for (size_t i = 0; i < n; i++)
        all[i] = to_wire(r, &x[i],
                         x[i].has_best ? store_row_by_id(best, best_n, sizeof(*best), x[i].best_trial_id) : NULL,
                         &ret->experiments[i]);
    return experiments_show_live(r, all, n);
}

/* The lookup thread finds the experiments; any reader reads them, if there are many. */
int api_search_experiments(struct req *r, struct store *db, const struct wire_search_experiments_request *in,
                           struct wire_search_experiments_response *ret, struct error *err)
{
    const struct page page = page_of(in->offset, in->limit);
    struct lookup_found *found = arena_new(&r->arena, struct lookup_found);
    struct lookup *search;
    if (lookup_parse(LOOKUP_EXPERIMENTS, in->filter, in->sort, r->now_us, &r->arena, &search, err) < 0)
        return -1;
    lookup_limit(search, access_workspaces(r, PERMISSION_VIEW_EXPERIMENT_METADATA));
    if (store_lookup(db, search, in->has_project_id ? in->project_id : 0, page, &r->arena, found, err) < 0)
        return -1;
    ret->pagination = pagination(page, found->window, &r->arena);
    r->state = found;
    if (in->brief && found->ids.n <= EXPERIMENTS_READ_AT_ONCE)
        return show_experiments(r, db, err);
    return req_then_read(r, show_experiments);
}
