/* POST /experiments. A reader's thread finds project, parent, configuration and archive. Then one step of the core
 * follows on the loop; the experiment's documents are stored in the same transaction. After the commit the reply is
 * read from the store. */
#include <stdlib.h>
#include <string.h>

#include "api/cluster/pool_bindings.h"
#include "api/experiments/launch.h"
#include "api/experiments/model_archive.h"
#include "api/pipeline/access.h"
#include "api/pipeline/convert.h"
#include "api/pipeline/deleted_places.h"
#include "api/pipeline/internal.h"
#include "common/base/cleanup.h"
#include "core/config/expconf.h"
#include "core/config/spec.h"
#include "core/core.h"
#include "gen/handlers.h"
#include "store/accounts/workspaces.h"
#include "store/experiments/experiments.h"
#include "store/experiments/trials.h"
#include "store/functions.h"

/* Lives from the first step to the end of the request. While the writer uses it, the loop does not change it. */
struct creation {
    const struct wire_create_experiment_request *in;
    const char *external_id; /* of an unmanaged experiment; NULL: none */
    const struct wire_experiment **ret_experiment;
    const char **ret_config;
    enum wire_launch_warning **ret_warnings; /* NULL: the reply has no such field */
    size_t *ret_warnings_n;
    const char ***ret_config_warnings; /* NULL: the reply has no such field */
    size_t *ret_config_warnings_n;
    struct exp_config *config;
    struct strbuf archive;
    const void *archive_data;
    size_t archive_n;
    struct store_project_place project;
    struct core_experiment_spec spec;
    struct store_experiment row;
    struct store_workspace_agent account; /* the account that its tasks run as */
    bool exceeds_slots;
};

static void end_creation(struct req *r)
{
    struct creation *c = r->state;
    exp_config_free(c->config);
    strbuf_release(&c->archive);
}

/* ---- 1. what can be refused before the core is asked ------------------------------------------------------------- */

static const struct wire_create_experiment_request *request_of(const struct req *r)
{
    return ((const struct creation *)r->state)->in;
}

/* Finds the project: the request's, else the one that the configuration names by workspace and project, else
 * Uncategorized. If the configuration names only one of the two, the check of the configuration reports that later. */
static int find_project(struct req *r, struct store *db, struct json_object *template_config,
                        struct store_project_place *ret, struct error *err)
{
    const struct wire_create_experiment_request *in = request_of(r);
    cleanup_free char *workspace = NULL, *project = NULL;
    const char *config = in->config ? in->config : "";
    expconf_place(config, strlen(config), template_config, &workspace, &project);
    if (in->project_id || !workspace || !*workspace || !project)
        return store_project_place_get(db, in->project_id ? in->project_id : 1, &r->arena, ret, err);
    return store_project_place_by_names(db, workspace, project, &r->arena, ret, err);
}

static int check_project(const struct store_project_place *p, struct error *err)
{
    if (p->archived)
        return error_set(err, ERR_PRECONDITION,
                         "project '%s' or its workspace is archived; unarchive it or choose another project", p->name);
    if (p->deleting)
        return error_set(err, ERR_PRECONDITION,
                         "project '%s' or its workspace is being deleted; choose another project", p->name);
    return 0;
}

static int parse_template(struct req *r, struct store *db, const char *name, struct json_object **ret,
                          struct error *err)
{
    struct store_template t;
    if (!name || !*name)
        return 0;
    if (access_need_of(r, db, PERMISSION_VIEW_TEMPLATES, ACCESS_TEMPLATE(name), err) < 0)
        return -1;
    return store_template_get(db, name, &r->arena, &t, err) < 0 ? -1 : json_parse(t.config, strlen(t.config), ret, err);
}

static int prepare_config(struct req *r, struct store *db, struct creation *c, struct error *err)
{
    const struct wire_create_experiment_request *in = request_of(r);
    struct expconf_context ctx;
    int rc = launch_context(r, &ctx, err);
    if (rc == 0)
        rc = expconf_check_text(in->config ? strlen(in->config) : 0, &ctx, err);
    if (rc == 0)
        rc = parse_template(r, db, in->template, &ctx.template_config, err);
    if (rc == 0)
        rc = find_project(r, db, ctx.template_config, &c->project, err);
    if (rc == 0)
        rc = launch_context_place(&c->project, &ctx, err);
    if (rc == 0)
        rc = launch_context_policies(r, db, POLICY_EXPERIMENT, c->project.workspace_id, &ctx, err);
    ctx.unmanaged = in->unmanaged;
    if (rc == 0)
        rc = expconf_prepare(in->config ? in->config : "", in->config ? strlen(in->config) : 0, &ctx, &c->config, err);
    launch_context_release(&ctx);
    return rc;
}

/* Makes the archive of the request's files, or takes the parent's archive. */
static int make_archive(struct req *r, struct store *db, struct creation *c, struct error *err)
{
    const struct wire_create_experiment_request *in = request_of(r);
    if (in->parent_id && !in->model_definition_n)
        return store_experiment_model_definition(db, in->parent_id, &r->arena, &c->archive_data, &c->archive_n, err);
    if (archive_build(in->model_definition, in->model_definition_n, &c->archive, err) < 0)
        return -1;
    c->archive_data = strbuf_str(&c->archive);
    c->archive_n = c->archive.n;
    return 0;
}

static void fill_row(struct req *r, struct creation *c)
{
    const struct wire_create_experiment_request *in = request_of(r);
    const struct exp_config *config = c->config;
    const struct exp_values *v = &config->values;
    c->row = (struct store_experiment){.user_id = r->who.user_id,
                                       .project_id = c->project.id,
                                       .name = v->name,
                                       .description = v->description,
                                       .notes = "",
                                       .labels = launch_labels(config, &r->arena),
                                       .has_parent = in->parent_id != 0,
                                       .parent_id = in->parent_id,
                                       .state = "PAUSED",
                                       .start_us = r->now_us,
                                       .queue_position = r->now_us,
                                       .searcher_type = exp_searcher_kind_name(v->searcher.kind),
                                       .searcher_metric = v->searcher.metric,
                                       .smaller_is_better = v->searcher.smaller_is_better,
                                       .resource_pool = v->resources.resource_pool,
                                       .config = config->json,
                                       .original_config = in->config,
                                       .unmanaged = in->unmanaged,
                                       .external_id = c->external_id};
}

static void tell_config_warnings(struct req *r, const struct creation *c)
{
    if (c->ret_config_warnings)
        launch_config_warnings(r, c->config, c->ret_config_warnings, c->ret_config_warnings_n);
}

/* ---- 2. after the commit: reading the reply ---------------------------------------------------------------------- */

static int create_reply(struct req *r, struct store *db, struct error *err)
{
    const struct creation *c = r->state;
    struct store_experiment x;
    if (store_experiment_get(db, c->row.id, /* with_config= */ true, &r->arena, &x, err) < 0)
        return -1;
    struct wire_experiment *w = arena_new(&r->arena, struct wire_experiment);
    /* an active experiment waits for the scheduler now */
    bool queued = !x.unmanaged && strcmp(x.state, "ACTIVE") == 0;
    experiment_to_wire(r, &x, queued ? DISPLAY_QUEUED : DISPLAY_STORED, w);
    if (store_trial_ids_of_experiment(db, c->row.id, &r->arena, &w->trial_ids, &w->trial_ids_n, err) < 0)
        return -1;
    *c->ret_experiment = w;
    *c->ret_config = w->config;
    if (c->ret_warnings)
        launch_warnings(r, c->exceeds_slots, c->ret_warnings, c->ret_warnings_n);
    tell_config_warnings(r, c);
    return 0;
}

static void take_ids(void *ctx, const struct core_effects *effects)
{
    struct req *r = ctx;
    struct creation *c = r->state;
    c->row.id = effects->experiment_id;
    c->row.job_id = arena_strdup(&r->arena, effects->job_id);
}

static int store_documents(struct store *db, void *ctx, struct error *err)
{
    const struct req *r = ctx;
    const struct creation *c = r->state;
    if (store_experiment_insert(db, &c->row, c->archive_data, c->archive_n, err) < 0)
        return -1;
    return access_limit_job(r, db, c->row.job_id, err);
}

static void documents_stored(void *ctx, const struct error *err)
{
    struct req *r = ctx;
    if (!err) {
        req_resume_read(r, create_reply);
        return;
    }
    struct error copy = ERROR_INIT;
    error_copy(&copy, err);
    req_finish(r, &copy);
}

/* ---- the step of the core ---------------------------------------------------------------------------------------- */

static int create_step(struct req *r, struct core *core, struct error *err)
{
    const struct wire_create_experiment_request *in = request_of(r);
    struct creation *c = r->state;
    if (deleted_places_check(r->api->deleted_places, c->project.workspace_id, c->project.id, err) < 0 ||
        launch_check_pool(r, core, c->config, &c->exceeds_slots, err) < 0)
        return -1;
    struct core_event ev = {.type = CORE_EXPERIMENT_CREATE,
                            .now_us = r->now_us,
                            .create = {.spec = &c->spec, .activate = in->activate}};
    struct companion companion = {.stepped = take_ids, .store = store_documents, .done = documents_stored, .ctx = r};
    if (req_core_step(r, core, &ev, &companion, err) < 0)
        return -1;
    return req_wait(r, NULL);
}

/* The core only gives the experiment a number. It does not manage it afterwards. */
static int create_unmanaged_step(struct req *r, struct core *core, struct error *err)
{
    const struct creation *c = r->state;
    if (deleted_places_check(r->api->deleted_places, c->project.workspace_id, c->project.id, err) < 0)
        return -1;
    struct core_event ev = {.type = CORE_NEW_EXPERIMENT_ID, .now_us = r->now_us};
    struct companion companion = {.stepped = take_ids, .store = store_documents, .done = documents_stored, .ctx = r};
    if (req_core_step(r, core, &ev, &companion, err) < 0)
        return -1;
    return req_wait(r, NULL);
}

/* ---- the request ------------------------------------------------------------------------------------------------- */

static int only_validate(struct req *r, const struct creation *c)
{
    tell_config_warnings(r, c);
    struct wire_experiment *none = arena_new(&r->arena, struct wire_experiment);
    none->has_start_time = true;
    *c->ret_experiment = none;
    *c->ret_config = none->config = arena_strdup(&r->arena, c->config->json);
    return 0;
}

static int prepare_spec(struct req *r, struct store *db, struct creation *c, struct error *err)
{
    if (c->in->unmanaged && c->in->parent_id)
        return error_set(err, ERR_INVALID, "an unmanaged experiment cannot be forked from another one");
    if (c->in->unmanaged)
        return 0;
    core_spec_of_config(c->config, r->who.user_id, &r->arena, &c->spec);
    c->spec.workspace_id = c->project.workspace_id;
    return launch_warm_start(r, db, &c->config->values.searcher, &c->spec.warm_start_checkpoint, err);
}

/* Runs on a thread that may wait for the storage's disk. */
static int look_at_storage(struct req *r, struct error *err)
{
    struct creation *c = r->state;
    launch_warn_of_storage(r, c->config, &c->account);
    core_spec_take_warnings(c->config, &r->arena, &c->spec);
    return c->in->validate_only ? only_validate(r, c) : req_then_loop(r, create_step);
}

/* Whether the one who asks may create it there, and read what it takes from its parent. */
static int check_permissions(struct req *r, struct store *db, const struct creation *c, struct error *err)
{
    if (access_need(r, PERMISSION_CREATE_EXPERIMENT, c->project.workspace_id, err) < 0)
        return -1;
    return c->in->parent_id
               ? access_need_of(r, db, PERMISSION_VIEW_EXPERIMENT_ARTIFACTS, ACCESS_EXPERIMENT(c->in->parent_id), err)
               : 0;
}

static int create_experiment(struct req *r, struct store *db, const struct creation *request, struct error *err)
{
    struct creation *c = arena_new(&r->arena, struct creation);
    *c = *request;
    r->state = c;
    r->on_end = end_creation;
    if (prepare_config(r, db, c, err) < 0 || check_permissions(r, db, c, err) < 0 ||
        check_project(&c->project, err) < 0 || prepare_spec(r, db, c, err) < 0)
        return -1;
    if (!c->in->unmanaged &&
        (pool_check_workspace(r, db, c->config->values.resources.resource_pool, c->project.workspace_id, err) < 0 ||
         launch_account(r, db, r->who.user_id, c->project.id, &c->account, err) < 0))
        return -1;
    if (!c->in->validate_only && make_archive(r, db, c, err) < 0)
        return -1;
    fill_row(r, c);
    if (!c->in->unmanaged)
        return req_then_transfer(r, look_at_storage);
    return c->in->validate_only ? only_validate(r, c) : req_then_loop(r, create_unmanaged_step);
}

int api_create_experiment(struct req *r, struct store *db, const struct wire_create_experiment_request *in,
                          struct wire_create_experiment_response *ret, struct error *err)
{
    return create_experiment(r, db,
                             &(struct creation){.in = in,
                                                .ret_experiment = &ret->experiment,
                                                .ret_config = &ret->config,
                                                .ret_warnings = &ret->warnings,
                                                .ret_warnings_n = &ret->warnings_n,
                                                .ret_config_warnings = &ret->config_warnings,
                                                .ret_config_warnings_n = &ret->config_warnings_n},
                             err);
}

/* Returns the experiment that has this external id, or makes one: the same request twice gives the same experiment. */
int api_put_experiment(struct req *r, struct store *db, const struct wire_put_experiment_request *in,
                       struct wire_put_experiment_response *ret, struct error *err)
{
    const struct wire_create_experiment_request *wanted = in->create_experiment_request;
    cleanup_error struct error none = ERROR_INIT;
    struct store_experiment x;
    if (!in->external_experiment_id || !*in->external_experiment_id)
        return error_set(err, ERR_INVALID, "external_experiment_id is missing");
    if (!wanted || !wanted->unmanaged)
        return error_set(err, ERR_INVALID, "only unmanaged experiments have external ids; set unmanaged");
    if (store_experiment_by_external_id(db, in->external_experiment_id, &r->arena, &x, &none) == 0) {
        if (access_need_of(r, db, PERMISSION_CREATE_EXPERIMENT, ACCESS_EXPERIMENT(x.id), err) < 0)
            return -1;
        struct wire_experiment *w = arena_new(&r->arena, struct wire_experiment);
        experiment_to_wire(r, &x, DISPLAY_STORED, w);
        ret->experiment = w;
        ret->config = w->config;
        return 0;
    }
    if (error_pass_unless(&none, ERR_NOT_FOUND, err))
        return -1;
    return create_experiment(r, db,
                             &(struct creation){.in = wanted,
                                                .external_id = in->external_experiment_id,
                                                .ret_experiment = &ret->experiment,
                                                .ret_config = &ret->config},
                             err);
}
