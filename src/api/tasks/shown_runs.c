#include "api/tasks/shown_runs.h"

#include <stdlib.h>

#include "api/pipeline/access.h"
#include "api/pipeline/convert.h"
#include "api/pipeline/internal.h"
#include "store/experiments/experiments.h"
#include "store/experiments/trials.h"
#include "store/lookup/lookup.h"

enum { SHOWN_MAX = 1000 };

static int by_number(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return x < y ? -1 : x > y;
}

/* Makes a JSON list of the ids, each once. */
static const char *list_of(struct store_ints ids, struct arena *a)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    int32_t *sorted = arena_array(a, int32_t, ids.n + 1);
    for (size_t i = 0; i < ids.n; i++)
        sorted[i] = ids.value[i];
    qsort(sorted, ids.n, sizeof(*sorted), by_number);
    strbuf_addc(&text, '[');
    for (size_t i = 0; i < ids.n; i++)
        if (i == 0 || sorted[i] != sorted[i - 1])
            strbuf_addf(&text, "%s%d", text.n > 1 ? "," : "", sorted[i]);
    strbuf_addc(&text, ']');
    return arena_strdup(a, strbuf_str(&text));
}

static int find_by_filter(struct req *r, struct store *db, const struct wire_bulk_experiment_filters *f,
                          struct store_ints *ret, struct error *err)
{
    const struct store_experiment_filter filter = {
        .name = f->name,
        .description = f->description,
        .labels = {f->labels, f->labels_n},
        .has_archived = f->has_archived,
        .archived = f->archived,
        .states = experiment_state_names(f->states, f->states_n, &r->arena),
        .user_ids = {f->user_ids, f->user_ids_n},
        .project_id = f->project_id > 0 ? f->project_id : 0,
        .id = {.not_in = {f->excluded_experiment_ids, f->excluded_experiment_ids_n}},
        .visible = access_workspaces(r, PERMISSION_VIEW_EXPERIMENT_ARTIFACTS),
        .page = {.limit = -1 /* all */}};
    struct lookup_found found;
    if (store_experiment_find(db, &filter, &r->arena, &found, err) < 0)
        return -1;
    *ret = found.ids;
    return 0;
}

static int check_experiments(struct req *r, struct store *db, struct store_ints ids, struct error *err)
{
    struct store_experiment x;
    for (size_t i = 0; i < ids.n; i++)
        if (access_need_of(r, db, PERMISSION_VIEW_EXPERIMENT_ARTIFACTS, ACCESS_EXPERIMENT(ids.value[i]), err) < 0 ||
            store_experiment_get(db, ids.value[i], /* with_config= */ false, &r->arena, &x, err) < 0)
            return -1;
    return 0;
}

static int check_trials(struct req *r, struct store *db, struct store_ints ids, struct error *err)
{
    struct store_trial t;
    for (size_t i = 0; i < ids.n; i++)
        if (access_need_of(r, db, PERMISSION_VIEW_EXPERIMENT_ARTIFACTS, ACCESS_TRIAL(ids.value[i]), err) < 0 ||
            store_trial_get(db, ids.value[i], /* full= */ false, &r->arena, &t, err) < 0)
            return -1;
    return 0;
}

int shown_runs_find(struct req *r, struct store *db, const struct wire_launch_tensorboard_request *in,
                    const char **ret_experiments, const char **ret_trials, struct error *err)
{
    struct store_ints experiments = {in->experiment_ids, in->experiment_ids_n},
                      trials = {in->trial_ids, in->trial_ids_n};
    if (in->filters && find_by_filter(r, db, in->filters, &experiments, err) < 0)
        return -1;
    if (experiments.n + trials.n == 0)
        return error_set(err, ERR_INVALID, "a TensorBoard needs something to show: name experiments or trials%s",
                         in->filters ? " (the filter finds no experiment)" : "");
    if (experiments.n + trials.n > SHOWN_MAX)
        return error_set(err, ERR_INVALID, "a TensorBoard shows %d experiments and trials at most, and these are %zu",
                         SHOWN_MAX, experiments.n + trials.n);
    if (check_experiments(r, db, experiments, err) < 0 || check_trials(r, db, trials, err) < 0)
        return -1;
    *ret_experiments = list_of(experiments, &r->arena);
    *ret_trials = list_of(trials, &r->arena);
    return 0;
}
