/* Requests to remove checkpoints, or some of their files. They are checked on a reader, which may look at the
 * storage, marked in the store by the writer, and carried out in the background (struct api_services.removals_due). */
#include <string.h>

#include "api/checkpoints/checkpoint_files.h"
#include "api/pipeline/access.h"
#include "api/pipeline/convert.h"
#include "api/pipeline/internal.h"
#include "gen/handlers.h"
#include "store/experiments/checkpoints.h"
#include "store/experiments/removals.h"
#include "store/models/models.h"

struct wanted {
    struct store_texts uuids; /* the checkpoints that have files */
    const char *globs;        /* JSON list; [] matches everything, NO_FILE matches nothing */
};

/* A request without a pattern removes nothing, but lists the checkpoint's files again. This pattern stands for it,
 * because no file has this name. */
#define NO_FILE "[\"/\"]"

/* ---- whether the checkpoint may be removed ----------------------------------------------------------------------- */

static int check_unused(struct req *r, struct store *db, const struct store_checkpoint *c, struct error *err)
{
    int32_t trial_id;
    if (store_checkpoint_user(db, c->uuid, &trial_id, err) < 0)
        return -1;
    if (trial_id == 0)
        return 0;
    return error_set(err, ERR_PRECONDITION,
                     "checkpoint %s is in use: trial %d starts or goes on from it; wait until the "
                     "trial is over, or kill it",
                     c->uuid, trial_id);
}

/* Refuses what would take files from a checkpoint in the model registry. */
static int check_unregistered(struct store *db, const char *uuid, const char *globs, struct error *err)
{
    return strcmp(globs, NO_FILE) == 0 ? 0 : store_check_unregistered(db, uuid, "deleted", err);
}

/* The configuration must say where the checkpoint is. If the master may not open that storage, a task on an agent
 * removes the files. */
static int check_storage(struct req *r, struct store *db, const struct store_checkpoint *c, struct error *err)
{
    struct checkpoint_site site = {.uuid = c->uuid, .roots = api_info(r->api)->storage_roots};
    struct checkpoint_place_open p;
    if (store_checkpoint_site(db, c->uuid, &r->arena, &site.where, err) < 0 ||
        checkpoint_site_open(&site, &r->arena, &p, err) < 0)
        return -1;
    checkpoint_place_close(&p);
    return 0;
}

static int check_checkpoint(struct req *r, struct store *db, const char *uuid, const char *globs, bool *ret_has_files,
                            struct error *err)
{
    struct store_checkpoint c;
    if (store_checkpoint_get(db, uuid, &r->arena, &c, err) < 0)
        return -1;
    *ret_has_files = strcmp(c.state, "DELETED") != 0;
    if (strcmp(c.state, "ACTIVE") == 0)
        return error_set(err, ERR_PRECONDITION, "checkpoint %s is being written (ACTIVE)", uuid);
    if (!*ret_has_files)
        return 0;
    return access_may_change(r, db, ACCESS_CHECKPOINT(uuid), err) < 0 || check_unused(r, db, &c, err) < 0 ||
                   check_unregistered(db, uuid, globs, err) < 0 || check_storage(r, db, &c, err) < 0
               ? -1
               : 0;
}

/* ---- the request ------------------------------------------------------------------------------------------------- */

int notify_removals_due(struct req *r, struct core *core, struct error *err)
{
    r->api->services.removals_due(r->api->services.ctx);
    return 0;
}

static int mark_for_removal(struct req *r, struct store *db, struct error *err)
{
    const struct wanted *w = r->state;
    for (size_t i = 0; i < w->uuids.n; i++) { /* a checkpoint may have been registered since it was looked at */
        const char *uuid = w->uuids.text[i];
        if (check_unregistered(db, uuid, w->globs, err) < 0 ||
            store_removal_add(db, uuid, w->globs, r->now_us, err) < 0)
            return -1;
    }
    return req_then_loop(r, notify_removals_due);
}

static int request_removal(struct req *r, struct store *db, const char *const *uuid, size_t n, const char *globs,
                           struct error *err)
{
    struct wanted *w = arena_new(&r->arena, struct wanted);
    const char **kept = arena_array(&r->arena, const char *, n + 1);
    *w = (struct wanted){.uuids = {kept, 0}, .globs = globs};
    if (n == 0)
        return error_set(err, ERR_INVALID, "checkpoint_uuids is empty; name at least one checkpoint");
    for (size_t i = 0; i < n; i++) {
        bool has_files;
        if (check_checkpoint(r, db, uuid[i], globs, &has_files, err) < 0)
            return -1;
        if (has_files)
            kept[w->uuids.n++] = uuid[i];
    }
    r->state = w;
    return req_then_write(r, mark_for_removal);
}

int api_delete_checkpoints(struct req *r, struct store *db, const struct wire_delete_checkpoints_request *in,
                           struct wire_delete_checkpoints_response *ret, struct error *err)
{
    return request_removal(r, db, in->checkpoint_uuids, in->checkpoint_uuids_n, "[]", err);
}

/* Whether the patterns match all files: then the checkpoint is removed as a whole. */
static bool names_everything(const char *const *glob, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(glob[i], "**/*") == 0 || strcmp(glob[i], "**") == 0)
            return true;
    return false;
}

int api_checkpoints_remove_files(struct req *r, struct store *db,
                                 const struct wire_checkpoints_remove_files_request *in,
                                 struct wire_checkpoints_remove_files_response *ret, struct error *err)
{
    const char *const *glob = in->checkpoint_globs;
    size_t n = in->checkpoint_globs_n;
    if (checkpoint_globs_check(glob, n, err) < 0)
        return -1;
    const char *globs = n == 0 ? NO_FILE : names_everything(glob, n) ? "[]" : json_of_string_list(glob, n, &r->arena);
    return request_removal(r, db, in->checkpoint_uuids, in->checkpoint_uuids_n, globs, err);
}
