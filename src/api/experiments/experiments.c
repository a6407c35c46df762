/* Experiments: get, list, and their model definition. Creation is in experiment_create.c, actions in
 * experiment_actions.c. */
#include <string.h>

#include "api/experiments/experiment_live.h"
#include "api/experiments/model_files.h"
#include "api/pipeline/access.h"
#include "api/pipeline/convert.h"
#include "api/pipeline/internal.h"
#include "api/pipeline/raw.h"
#include "api/pipeline/raw_handlers.h"
#include "core/core.h"
#include "gen/handlers.h"
#include "store/experiments/experiments.h"
#include "store/experiments/trials.h"
#include "store/lookup/lookup.h"
#include "store/metrics/metrics.h"

/* ---- one experiment: the live part from the core, the rest from the store ---------------------------------------- */

struct live {
    enum display_state display;
    bool active;
    struct core_job_view job;
    struct core_wait_view wait;
};

static struct live live_of(struct req *r, struct core *core, int32_t experiment_id)
{
    struct live live = {0};
    struct core_experiment_view view;
    if (!core_experiment(core, experiment_id, &view))
        return live;
    live.display = view.display;
    live.active = core_job(core, experiment_id, &live.job);
    if (live.active)
        core_wait(core, experiment_id, r->now_us, &r->arena, &live.wait);
    return live;
}

static int get_experiment_read(struct req *r, struct store *db, struct error *err)
{
    const struct wire_get_experiment_request *in = r->in;
    struct wire_get_experiment_response *ret = r->ret;
    const struct live *live = r->state;
    struct store_experiment x;
    if (store_experiment_get(db, in->experiment_id, /* with_config= */ true, &r->arena, &x, err) < 0)
        return -1;
    struct wire_experiment *w = arena_new(&r->arena, struct wire_experiment);
    experiment_to_wire(r, &x, live->display, w);
    if (store_trial_ids_of_experiment(db, in->experiment_id, &r->arena, &w->trial_ids, &w->trial_ids_n, err) < 0)
        return -1;
    ret->experiment = w;
    ret->config = w->config;
    if (live->active) {
        struct wire_job_summary *job = arena_new(&r->arena, struct wire_job_summary);
        job_summary_to_wire(&live->job, &live->wait, job);
        ret->job_summary = job;
    }
    return 0;
}

int api_get_experiment(struct req *r, struct core *core, const struct wire_get_experiment_request *in,
                       struct wire_get_experiment_response *ret, struct error *err)
{
    struct live *live = arena_new(&r->arena, struct live);
    *live = live_of(r, core, in->experiment_id);
    r->state = live;
    return req_then_read(r, get_experiment_read);
}

/* ---- the list ---------------------------------------------------------------------------------------------------- */

static struct store_int_filter id_filter(const struct wire_common_int32_field_filter *f)
{
    if (!f)
        return (struct store_int_filter){0};
    return (struct store_int_filter){.has_lt = f->has_lt,
                                     .lt = f->lt,
                                     .has_lte = f->has_lte,
                                     .lte = f->lte,
                                     .has_gt = f->has_gt,
                                     .gt = f->gt,
                                     .has_gte = f->has_gte,
                                     .gte = f->gte,
                                     .incl = {f->incl, f->incl_n},
                                     .not_in = {f->not_in, f->not_in_n}};
}

static int show_experiments(struct req *r, struct store *db, struct error *err)
{
    const struct wire_get_experiments_request *in = r->in;
    struct wire_get_experiments_response *ret = r->ret;
    const struct lookup_found *found = r->state;
    struct store_experiment *x;
    size_t n;
    if (store_experiments_shown(db, found->ids, &r->arena, &x, &n, err) < 0)
        return -1;
    struct wire_experiment **all = arena_array(&r->arena, struct wire_experiment *, n + 1);
    ret->experiments = arena_array(&r->arena, struct wire_experiment, n + 1);
    ret->experiments_n = n;
    for (size_t i = 0; i < n; i++) {
        experiment_shorten(&x[i], in->brief);
        experiment_to_wire(r, &x[i], DISPLAY_STORED, &ret->experiments[i]);
        all[i] = &ret->experiments[i];
    }
    return experiments_show_live(r, all, n);
}

/* The lookup thread finds the experiments; any reader reads them, if there are many. */
int api_get_experiments(struct req *r, struct store *db, const struct wire_get_experiments_request *in,
                        struct wire_get_experiments_response *ret, struct error *err)
{
    struct store_experiment_filter f = {.name = in->name,
                                        .description = in->description,
                                        .labels = {in->labels, in->labels_n},
                                        .has_archived = in->has_archived,
                                        .archived = in->archived,
                                        .states = experiment_state_names(in->states, in->states_n, &r->arena),
                                        .usernames = {in->users, in->users_n},
                                        .user_ids = {in->user_ids, in->user_ids_n},
                                        .project_id = in->project_id,
                                        .visible = access_workspaces(r, PERMISSION_VIEW_EXPERIMENT_METADATA),
                                        .id = id_filter(in->experiment_id_filter),
                                        .sort_by = (int32_t)in->sort_by,
                                        .descending = in->order_by == WIRE_ORDER_BY_DESC,
                                        .page = page_of(in->offset, in->limit)};
    struct lookup_found *found = arena_new(&r->arena, struct lookup_found);
    if (store_experiment_find(db, &f, &r->arena, found, err) < 0)
        return -1;
    ret->pagination = pagination(f.page, found->window, &r->arena);
    r->state = found;
    if (in->brief && found->ids.n <= EXPERIMENTS_READ_AT_ONCE)
        return show_experiments(r, db, err);
    return req_then_read(r, show_experiments);
}

int api_get_experiment_labels(struct req *r, struct store *db, const struct wire_get_experiment_labels_request *in,
                              struct wire_get_experiment_labels_response *ret, struct error *err)
{
    return store_experiment_labels(db, in->project_id, access_workspaces(r, PERMISSION_VIEW_EXPERIMENT_METADATA),
                                   &r->arena, &ret->labels, &ret->labels_n, err);
}

int api_get_best_searcher_validation_metric(struct req *r, struct store *db,
                                            const struct wire_get_best_searcher_validation_metric_request *in,
                                            struct wire_get_best_searcher_validation_metric_response *ret,
                                            struct error *err)
{
    double best;
    int32_t trial_id;
    if (store_best_metric(db, in->experiment_id, &best, &trial_id, err) < 0)
        return -1;
    ret->metric = (float)best;
    return 0;
}

/* ---- model definition -------------------------------------------------------------------------------------------- */

int api_get_model_def(struct req *r, struct store *db, const struct wire_get_model_def_request *in,
                      struct wire_get_model_def_response *ret, struct error *err)
{
    const void *tgz;
    size_t n;
    if (store_experiment_model_definition(db, in->experiment_id, &r->arena, &tgz, &n, err) < 0)
        return -1;
    ret->b64_tgz = base64_in_arena(tgz, n, &r->arena);
    return 0;
}

int api_get_model_def_tree(struct req *r, struct store *db, const struct wire_get_model_def_tree_request *in,
                           struct wire_get_model_def_tree_response *ret, struct error *err)
{
    const void *tgz;
    size_t n;
    if (store_experiment_model_definition(db, in->experiment_id, &r->arena, &tgz, &n, err) < 0)
        return -1;
    return model_tree(tgz, n, &r->arena, &ret->files, &ret->files_n, err);
}

static int get_model_file(struct req *r, struct store *db, int32_t experiment_id, const char *path,
                          struct model_file *ret, struct error *err)
{
    const void *tgz;
    size_t n;
    if (!path || !*path)
        return error_set(err, ERR_INVALID, "path is missing; name a file of the model definition");
    if (store_experiment_model_definition(db, experiment_id, &r->arena, &tgz, &n, err) < 0)
        return -1;
    return model_file(tgz, n, path, &r->arena, ret, err);
}

int api_get_model_def_file(struct req *r, struct store *db, const struct wire_get_model_def_file_request *in,
                           struct wire_get_model_def_file_response *ret, struct error *err)
{
    struct model_file file;
    if (get_model_file(r, db, in->experiment_id, in->path, &file, err) < 0)
        return -1;
    ret->file.data = file.data;
    ret->file.n = file.n;
    return 0;
}

/* The path as it may be put into a header: names of files may hold any byte, a header may not. */
static const char *in_header(const char *path, struct arena *a)
{
    char *clean = arena_strdup(a, path);
    for (char *p = clean; *p; p++)
        if (*p < ' ' || *p > '~' || *p == '"' || *p == '\\')
            *p = '_';
    return clean;
}

int raw_model_file(struct req *r, struct store *db, struct error *err)
{
    int32_t id;
    const char *path;
    struct model_file file;
    if (parse_id(req_raw_param(r, 0), "experiment", &id, err) < 0 || req_query_param(r, "path", &path, err) < 0 ||
        get_model_file(r, db, id, path, &file, err) < 0)
        return -1;
    r->reply.content_type = file.content_type;
    req_add_header(r, "Content-Disposition",
                   arena_printf(&r->arena, "attachment; filename=\"exp%d/%s\"", id, in_header(path, &r->arena)));
    strbuf_add(&r->reply.body, file.data, file.n);
    return 0;
}

/* exp<ID>_<NAME>_model_def.tar.gz; NAME has its special characters replaced and is, with its underscore, at most 50
 * bytes long. */
static const char *file_name(const struct store_experiment *x, struct arena *a)
{
    static const char kept[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_ -()[].{}";
    char clean[51] = "_";
    size_t n = 1;
    for (const char *p = x->name; *p && n < sizeof(clean) - 1; p++)
        if (strchr(kept, *p))
            clean[n++] = *p;
    return arena_printf(a, "attachment; filename=\"exp%d%.*s_model_def.tar.gz\"", x->id, (int)n, clean);
}

int raw_model_definition(struct req *r, struct store *db, struct error *err)
{
    int32_t id;
    const void *tgz;
    size_t n;
    struct store_experiment x;
    if (parse_id(req_raw_param(r, 0), "experiment", &id, err) < 0 ||
        store_experiment_get(db, id, /* with_config= */ false, &r->arena, &x, err) < 0 ||
        store_experiment_model_definition(db, id, &r->arena, &tgz, &n, err) < 0)
        return -1;
    r->reply.content_type = "application/x-gtar";
    req_add_header(r, "Content-Disposition", file_name(&x, &r->arena));
    strbuf_add(&r->reply.body, tgz, n);
    return 0;
}
