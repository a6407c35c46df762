/* Deletes workspaces and projects, in three steps: the loop enters the place among those that are being deleted, so
 * that nothing new is created in it (api/pipeline/deleted_places.h); the writer checks that nothing forbids the
 * deletion, and marks the place; the loop starts the deletion of its experiments. */
#include "api/accounts/workspaces.h"
#include "api/pipeline/deleted_places.h"
#include "api/pipeline/internal.h"
#include "store/models/models.h"

struct place_deletion {
    const char *kind; /* "workspace" or "project" */
    struct store_workspace_deletion place;
    struct store_ints experiments;
    bool started; /* the place is marked in the store */
    bool *ret_completed;
};

static int delete_experiments(struct req *r, struct core *core, struct error *err)
{
    const struct place_deletion *d = r->state;
    const struct api_services *s = &r->api->services;
    for (size_t i = 0; i < d->experiments.n; i++) {
        /* if an experiment cannot be deleted, its workspace or project stays and shows the error */
        cleanup_error struct error failed = ERROR_INIT;
        s->delete_experiment(s->ctx, d->experiments.value[i], /* trial_id= */ 0, &failed);
    }
    return 0;
}

static int check_and_mark(struct req *r, struct store *db, struct error *err)
{
    struct place_deletion *d = r->state;
    const struct store_workspace_deletion p = d->place;
    const char *kind = d->kind;
    const int32_t id = p.project_id ? p.project_id : p.workspace_id;
    struct store_workspace_deletion_check check;
    if (store_workspace_deletion_check(db, p, r->who.user_id, &check, err) < 0)
        return -1;
    if (check.live > 0)
        return error_set(err, ERR_PRECONDITION,
                         "%s %d has %lld experiments that are not over: cancel or kill "
                         "them, or move them elsewhere",
                         kind, id, (long long)check.live);
    if (check.tasks > 0)
        return error_set(
            err, ERR_PRECONDITION,
            "%s %d has %lld commands, notebooks, shells, TensorBoards or generic tasks that are not over: kill "
            "them, or wait for their end",
            kind, id, (long long)check.tasks);
    if (check.of_others > 0 && !r->who.admin && !r->api->by_roles)
        return error_set(err, ERR_FORBIDDEN,
                         "forbidden: %s %d holds what belongs to other users (%lld things); an admin "
                         "may delete it",
                         kind, id, (long long)check.of_others);
    if (check.models > 0)
        return error_set(err, ERR_PRECONDITION,
                         "workspace %d has %lld models in the model registry: move them to another workspace or "
                         "delete them first",
                         id, (long long)check.models);
    if (store_check_place_unregistered(db, p.project_id, p.workspace_id, err) < 0 ||
        store_workspace_deletion_start(db, p, &r->arena, &d->experiments, err) < 0)
        return -1;
    d->started = true;
    *d->ret_completed = d->experiments.n == 0;
    return d->experiments.n ? req_then_loop(r, delete_experiments) : 0;
}

static void end_deletion(struct req *r)
{
    const struct place_deletion *d = r->state;
    if (!d->started)
        deleted_places_remove(r->api->deleted_places, d->place.workspace_id, d->place.project_id);
}

static int enter_place(struct req *r, struct core *core, struct error *err)
{
    const struct place_deletion *d = r->state;
    (void)core;
    (void)err;
    deleted_places_add(r->api->deleted_places, d->place.workspace_id, d->place.project_id, r->now_us);
    r->on_end = end_deletion;
    return req_then_write(r, check_and_mark);
}

int delete_workspace_or_project(struct req *r, const char *kind, struct store_workspace_deletion p, bool *ret_completed)
{
    struct place_deletion *d = arena_new(&r->arena, struct place_deletion);
    *d = (struct place_deletion){.kind = kind, .place = p, .ret_completed = ret_completed};
    r->state = d;
    return req_then_loop(r, enter_place);
}
