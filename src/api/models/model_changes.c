/* Creates, changes, moves, archives and deletes models. All of it runs on the writer's thread. */
#include <inttypes.h>
#include <string.h>

#include "api/models/model_rules.h"
#include "api/models/models.h"
#include "api/pipeline/access.h"
#include "api/pipeline/convert.h"
#include "api/pipeline/internal.h"
#include "api/pipeline/unchanged.h"
#include "gen/handlers.h"
#include "store/accounts/workspaces.h"

/* ---- what changes share ------------------------------------------------------------------------------------------ */

int model_need_open(const struct store_model *m, struct error *err)
{
    if (!m->archived)
        return 0;
    return error_set(
        err, ERR_PRECONDITION,
        "model \"%s\" is archived: it cannot be changed and no versions of it can be registered; unarchive "
        "it first",
        m->name);
}

int model_find_open(struct req *r, struct store *db, const char *named, struct store_model *ret, struct error *err)
{
    return store_model_find(db, named ? named : "", &r->arena, ret, err) < 0 ? -1 : model_need_open(ret, err);
}

int model_labels(const char *const *label, size_t n, struct arena *a, const char **ret, struct error *err)
{
    enum { LABELS_MAX = 1000, LABEL_MAX_BYTES = 1000 };
    const char **kept = arena_array(a, const char *, n + 1);
    size_t kept_n = 0;
    if (n > LABELS_MAX)
        return error_set(err, ERR_INVALID, "labels has %zu items, at most %d are allowed", n, LABELS_MAX);
    for (size_t i = 0; i < n; i++) {
        bool known = false;
        for (size_t j = 0; j < kept_n && !known; j++)
            known = strcmp(kept[j], label[i]) == 0;
        if (!*label[i] || strlen(label[i]) > LABEL_MAX_BYTES)
            return error_set(err, ERR_INVALID, "labels[%zu] has %zu bytes, allowed are 1 to %d", i, strlen(label[i]),
                             LABEL_MAX_BYTES);
        if (!known)
            kept[kept_n++] = label[i];
    }
    *ret = json_of_string_list(kept, kept_n, a);
    return 0;
}

int model_labels_of_json(const char *json, struct arena *a, const char **ret, struct error *err)
{
    const char **label;
    size_t n;
    if (string_list_of_json(json, a, &label, &n, err) < 0)
        return error_wrap(err, "labels");
    return model_labels(label, n, a, ret, err);
}

/* ---- the workspace of a model ------------------------------------------------------------------------------------ */

/* The workspace that the request names, by name or by id; *ret stays as it is if the request names none. */
static int find_workspace(struct req *r, struct store *db, const char *name, bool has_id, int32_t id, int32_t *ret,
                          struct error *err)
{
    struct store_workspace w = {.id = *ret};
    if (name && *name && has_id)
        return error_set(err, ERR_INVALID, "workspaceName and workspaceId are both given; give one of them");
    if (name && *name ? store_workspace_by_name(db, name, 0, &r->arena, &w, err) < 0
                      : store_workspace_get(db, has_id ? id : *ret, 0, &r->arena, &w, err) < 0)
        return -1;
    if (w.archived)
        return error_set(err, ERR_PRECONDITION, "workspace '%s' is archived; unarchive it or choose another one",
                         w.name);
    if (w.state)
        return error_set(err, ERR_PRECONDITION, "workspace '%s' is being deleted; choose another one", w.name);
    *ret = w.id;
    return access_need(r, PERMISSION_CREATE_MODEL_REGISTRY, w.id, err);
}

/* ---- create and change ------------------------------------------------------------------------------------------- */

int api_post_model(struct req *r, struct store *db, const struct wire_post_model_request *in,
                   struct wire_post_model_response *ret, struct error *err)
{
    struct store_model m = {.name = in->name,
                            .description = in->description ? in->description : "",
                            .metadata = in->metadata ? in->metadata : "{}",
                            .notes = in->notes ? in->notes : "",
                            .workspace_id = 1,
                            .user_id = r->who.user_id,
                            .created_us = r->now_us,
                            .updated_us = r->now_us};
    int64_t last;
    if (model_check_name(in->name, err) < 0 || model_labels(in->labels, in->labels_n, &r->arena, &m.labels, err) < 0 ||
        find_workspace(r, db, in->workspace_name, in->has_workspace_id, in->workspace_id, &m.workspace_id, err) < 0 ||
        store_last_id(db, STORE_IDS_MODELS, &last, err) < 0)
        return -1;
    m.id = (int32_t)last + 1;
    return store_model_insert(db, &m, err) < 0 ? -1 : model_reply(r, db, m.name, &ret->model, err);
}

static int patch(struct req *r, struct store *db, const struct wire_model_patch_model *p, struct store_model *m,
                 struct error *err)
{
    bool moves = (p->workspace_name && *p->workspace_name) || p->has_workspace_id;
    if (p->name && (model_check_name(p->name, err) < 0))
        return -1;
    m->name = p->name ? p->name : m->name;
    m->description = p->description ? p->description : m->description;
    m->metadata = p->metadata ? p->metadata : m->metadata;
    m->notes = p->notes ? p->notes : m->notes;
    if (p->labels && model_labels_of_json(p->labels, &r->arena, &m->labels, err) < 0)
        return -1;
    return moves ? find_workspace(r, db, p->workspace_name, p->has_workspace_id, p->workspace_id, &m->workspace_id, err)
                 : 0;
}

static int store_change(struct req *r, struct store *db, struct store_model *m, struct error *err)
{
    m->updated_us = r->now_us;
    return store_model_update(db, m, err);
}

int api_patch_model(struct req *r, struct store *db, const struct wire_patch_model_request *in,
                    struct wire_patch_model_response *ret, struct error *err)
{
    const struct wire_model_patch_model *p = in->model;
    struct store_model m;
    if (!p)
        return error_set(err, ERR_INVALID, "model is missing: it has the fields that change");
    if (model_find_open(r, db, in->model_name, &m, err) < 0 ||
        need_unchanged(p->has_if_last_updated_time, p->if_last_updated_time, m.updated_us,
                       arena_printf(&r->arena, "model \"%s\"", m.name), err) < 0 ||
        patch(r, db, p, &m, err) < 0 || store_change(r, db, &m, err) < 0)
        return -1;
    return model_reply(r, db, m.name, &ret->model, err);
}

int api_move_model(struct req *r, struct store *db, const struct wire_move_model_request *in,
                   struct wire_move_model_response *ret, struct error *err)
{
    struct store_model m;
    if (model_find_open(r, db, in->model_name, &m, err) < 0 ||
        find_workspace(r, db, NULL, true, in->destination_workspace_id, &m.workspace_id, err) < 0)
        return -1;
    return store_change(r, db, &m, err);
}

/* ---- archive and delete ------------------------------------------------------------------------------------------ */

static int set_archived(struct req *r, struct store *db, const char *named, bool archived, struct error *err)
{
    struct store_model m;
    if (store_model_find(db, named ? named : "", &r->arena, &m, err) < 0)
        return -1;
    if (m.archived == archived)
        return 0;
    m.archived = archived;
    return store_change(r, db, &m, err);
}

int api_archive_model(struct req *r, struct store *db, const struct wire_archive_model_request *in,
                      struct wire_archive_model_response *ret, struct error *err)
{
    return set_archived(r, db, in->model_name, true, err);
}

int api_unarchive_model(struct req *r, struct store *db, const struct wire_unarchive_model_request *in,
                        struct wire_unarchive_model_response *ret, struct error *err)
{
    return set_archived(r, db, in->model_name, false, err);
}

/* The checkpoints stay, and are collected by the policy of their experiment from its next collection on. */
int api_delete_model(struct req *r, struct store *db, const struct wire_delete_model_request *in,
                     struct wire_delete_model_response *ret, struct error *err)
{
    struct store_model m;
    if (store_model_find(db, in->model_name ? in->model_name : "", &r->arena, &m, err) < 0)
        return -1;
    if (model_aliases_tell_gone(r, db, &m, err) < 0 || store_model_delete(db, m.id, err) < 0)
        return -1;
    return req_then_loop(r, model_alias_told);
}
