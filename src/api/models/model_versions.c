/* Versions of models. A version is a registered checkpoint. */
#include <string.h>

#include "api/models/models.h"
#include "api/pipeline/access.h"
#include "api/pipeline/convert.h"
#include "api/pipeline/internal.h"
#include "api/pipeline/unchanged.h"
#include "gen/handlers.h"
#include "store/experiments/checkpoints.h"

/* ---- showing ----------------------------------------------------------------------------------------------------- */

static int fill_version(const struct store_model_version *v, const struct wire_model *model, struct arena *a,
                        struct wire_model_version *ret, struct error *err)
{
    *ret = (struct wire_model_version){.model = model,
                                       .version = v->version,
                                       .creation_time = v->created_us,
                                       .has_creation_time = true,
                                       .id = v->id,
                                       .name = v->name,
                                       .metadata = v->metadata,
                                       .last_updated_time = v->updated_us,
                                       .has_last_updated_time = true,
                                       .comment = v->comment,
                                       .username = v->username,
                                       .user_id = v->user_id,
                                       .notes = v->notes};
    return string_list_of_json(v->labels, a, &ret->labels, &ret->labels_n, err) < 0 ||
                   string_list_of_json(v->aliases, a, &ret->aliases, &ret->aliases_n, err) < 0
               ? -1
               : 0;
}

/* Shows versions with their checkpoints. */
static int show_versions(struct req *r, struct store *db, const struct store_model_version *v, size_t n,
                         const struct wire_model *model, struct wire_model_version **ret, struct error *err)
{
    struct arena *a = &r->arena;
    const char **uuid = arena_array(a, const char *, n + 1);
    struct wire_model_version *w = arena_array(a, struct wire_model_version, n + 1);
    struct store_checkpoint *c;
    size_t c_n;
    for (size_t i = 0; i < n; i++) {
        uuid[i] = v[i].checkpoint_uuid;
        if (fill_version(&v[i], model, a, &w[i], err) < 0)
            return -1;
    }
    if (store_checkpoints_by_uuid(db, (struct store_texts){uuid, n}, a, &c, &c_n, err) < 0)
        return -1;
    struct wire_checkpoint *shown = arena_array(a, struct wire_checkpoint, n + 1);
    for (size_t i = 0; i < n && i < c_n; i++) { /* a registered checkpoint has a row, so that none is left out */
        checkpoint_to_wire(r, &c[i], &shown[i]);
        w[i].checkpoint = &shown[i];
    }
    *ret = w;
    return 0;
}

static int show_version(struct req *r, struct store *db, const struct store_model *m, int32_t number,
                        const struct wire_model_version **ret, struct error *err)
{
    struct store_model_version v;
    const struct wire_model *model;
    struct wire_model_version *w;
    if (model_reply(r, db, arena_printf(&r->arena, "%d", m->id), &model, err) < 0 ||
        store_model_version_find(db, m, arena_printf(&r->arena, "%d", number), &r->arena, &v, err) < 0 ||
        show_versions(r, db, &v, 1, model, &w, err) < 0)
        return -1;
    *ret = w;
    return 0;
}

static int find_version(struct req *r, struct store *db, const char *model_named, const char *named,
                        struct store_model *ret_model, struct store_model_version *ret, struct error *err)
{
    return store_model_find(db, model_named ? model_named : "", &r->arena, ret_model, err) < 0
               ? -1
               : store_model_version_find(db, ret_model, named ? named : "", &r->arena, ret, err);
}

int api_get_model_version(struct req *r, struct store *db, const struct wire_get_model_version_request *in,
                          struct wire_get_model_version_response *ret, struct error *err)
{
    struct store_model m;
    struct store_model_version v;
    if (find_version(r, db, in->model_name, in->model_version_num, &m, &v, err) < 0)
        return -1;
    return show_version(r, db, &m, v.version, &ret->model_version, err);
}

int api_get_model_versions(struct req *r, struct store *db, const struct wire_get_model_versions_request *in,
                           struct wire_get_model_versions_response *ret, struct error *err)
{
    struct store_model m;
    struct store_model_version_list list;
    if (store_model_find(db, in->model_name ? in->model_name : "", &r->arena, &m, err) < 0 ||
        model_reply(r, db, in->model_name, &ret->model, err) < 0)
        return -1;
    struct store_model_version_filter f = {.model_id = m.id,
                                           .sort_by = (int32_t)in->sort_by,
                                           .descending = in->order_by == WIRE_ORDER_BY_DESC,
                                           .page = page_of(in->offset, in->limit)};
    if (store_model_version_list(db, &f, &r->arena, &list, err) < 0 ||
        show_versions(r, db, list.model_version, list.model_version_n, ret->model, &ret->model_versions, err) < 0)
        return -1;
    ret->model_versions_n = list.model_version_n;
    ret->pagination = pagination(f.page, list.window, &r->arena);
    return 0;
}

/* ---- changes ----------------------------------------------------------------------------------------------------- */

int api_post_model_version(struct req *r, struct store *db, const struct wire_post_model_version_request *in,
                           struct wire_post_model_version_response *ret, struct error *err)
{
    struct store_model m;
    struct store_model_version v = {.user_id = r->who.user_id,
                                    .name = in->name ? in->name : "",
                                    .comment = in->comment ? in->comment : "",
                                    .notes = in->notes ? in->notes : "",
                                    .metadata = in->metadata ? in->metadata : "{}",
                                    .created_us = r->now_us,
                                    .updated_us = r->now_us};
    if (!in->checkpoint_uuid || !*in->checkpoint_uuid)
        return error_set(err, ERR_INVALID, "checkpointUuid is missing: it names the checkpoint to register");
    if (model_find_open(r, db, in->model_name, &m, err) < 0 ||
        model_labels(in->labels, in->labels_n, &r->arena, &v.labels, err) < 0 ||
        store_checkpoint_find(db, in->checkpoint_uuid, &r->arena, &v.checkpoint_uuid, err) < 0)
        return -1;
    v.model_id = m.id;
    if (store_model_version_register(db, &v, err) < 0)
        return -1;
    return show_version(r, db, &m, v.version, &ret->model_version, err);
}

static int patch(const struct wire_model_patch_model_version *p, struct arena *a, struct store_model_version *v,
                 struct error *err)
{
    const char *uuid = p->checkpoint ? p->checkpoint->uuid : NULL;
    if (uuid && *uuid && strcmp(uuid, v->checkpoint_uuid) != 0)
        return error_set(err, ERR_INVALID,
                         "the checkpoint of a version cannot be changed: register checkpoint %.60s as a new version",
                         uuid);
    v->name = p->name ? p->name : v->name;
    v->comment = p->comment ? p->comment : v->comment;
    v->notes = p->notes ? p->notes : v->notes;
    v->metadata = p->metadata ? p->metadata : v->metadata;
    return p->labels ? model_labels_of_json(p->labels, a, &v->labels, err) : 0;
}

int api_patch_model_version(struct req *r, struct store *db, const struct wire_patch_model_version_request *in,
                            struct wire_patch_model_version_response *ret, struct error *err)
{
    const struct wire_model_patch_model_version *p = in->model_version;
    struct store_model m;
    struct store_model_version v;
    if (!p)
        return error_set(err, ERR_INVALID, "modelVersion is missing: it has the fields that change");
    if (find_version(r, db, in->model_name, in->model_version_num, &m, &v, err) < 0 || model_need_open(&m, err) < 0 ||
        need_unchanged(p->has_if_last_updated_time, p->if_last_updated_time, v.updated_us,
                       arena_printf(&r->arena, "version %d of model \"%s\"", v.version, m.name), err) < 0 ||
        patch(p, &r->arena, &v, err) < 0)
        return -1;
    v.updated_us = r->now_us;
    return store_model_version_update(db, &v, err) < 0 ? -1
                                                       : show_version(r, db, &m, v.version, &ret->model_version, err);
}

/* A version may be deleted by whoever registered it, by the owner of the model and by admins. */
int api_delete_model_version(struct req *r, struct store *db, const struct wire_delete_model_version_request *in,
                             struct wire_delete_model_version_response *ret, struct error *err)
{
    struct store_model m;
    struct store_model_version v;
    if (find_version(r, db, in->model_name, in->model_version_num, &m, &v, err) < 0)
        return -1;
    if (v.user_id != r->who.user_id && access_may_change(r, db, ACCESS_MODEL(in->model_name), err) < 0)
        return -1;
    return store_model_version_delete(db, &v, r->now_us, err);
}
