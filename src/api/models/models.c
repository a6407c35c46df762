/* Shows and lists models. Changes are in model_changes.c. */
#include "api/models/models.h"

#include <string.h>

#include "api/pipeline/access.h"
#include "api/pipeline/convert.h"
#include "api/pipeline/internal.h"
#include "gen/handlers.h"

int model_to_wire(const struct store_model *m, struct arena *a, struct wire_model *ret, struct error *err)
{
    *ret = (struct wire_model){.name = m->name,
                               .description = m->description,
                               .metadata = m->metadata,
                               .creation_time = m->created_us,
                               .has_creation_time = true,
                               .last_updated_time = m->updated_us,
                               .has_last_updated_time = true,
                               .id = m->id,
                               .num_versions = m->version_n,
                               .username = m->username,
                               .workspace_id = m->workspace_id,
                               .user_id = m->user_id,
                               .archived = m->archived,
                               .notes = m->notes};
    return string_list_of_json(m->labels, a, &ret->labels, &ret->labels_n, err);
}

int model_reply(struct req *r, struct store *db, const char *named, const struct wire_model **ret, struct error *err)
{
    struct store_model m;
    struct wire_model *w = arena_new(&r->arena, struct wire_model);
    if (store_model_find(db, named ? named : "", &r->arena, &m, err) < 0 || model_to_wire(&m, &r->arena, w, err) < 0)
        return -1;
    *ret = w;
    return 0;
}

int api_get_model(struct req *r, struct store *db, const struct wire_get_model_request *in,
                  struct wire_get_model_response *ret, struct error *err)
{
    return model_reply(r, db, in->model_name, &ret->model, err);
}

int api_get_models(struct req *r, struct store *db, const struct wire_get_models_request *in,
                   struct wire_get_models_response *ret, struct error *err)
{
    struct store_model_filter f = {.id = in->id,
                                   .name = in->name,
                                   .description = in->description,
                                   .labels = {in->labels, in->labels_n},
                                   .has_archived = in->has_archived,
                                   .archived = in->archived,
                                   .usernames = {in->users, in->users_n},
                                   .user_ids = {in->user_ids, in->user_ids_n},
                                   .workspace_names = {in->workspace_names, in->workspace_names_n},
                                   .workspace_ids = {in->workspace_ids, in->workspace_ids_n},
                                   .visible = access_workspaces(r, PERMISSION_VIEW_MODEL_REGISTRY),
                                   .sort_by = (int32_t)in->sort_by,
                                   .descending = in->order_by == WIRE_ORDER_BY_DESC,
                                   .page = page_of(in->offset, in->limit)};
    struct store_model_list list;
    if (store_model_list(db, &f, &r->arena, &list, err) < 0)
        return -1;
    ret->models = arena_array(&r->arena, struct wire_model, list.model_n + 1);
    ret->models_n = list.model_n;
    for (size_t i = 0; i < list.model_n; i++)
        if (model_to_wire(&list.model[i], &r->arena, &ret->models[i], err) < 0)
            return -1;
    ret->pagination = pagination(f.page, list.window, &r->arena);
    return 0;
}

int api_get_model_labels(struct req *r, struct store *db, const struct wire_get_model_labels_request *in,
                         struct wire_get_model_labels_response *ret, struct error *err)
{
    return store_model_labels(db, in->has_workspace_id ? in->workspace_id : 0,
                              access_workspaces(r, PERMISSION_VIEW_MODEL_REGISTRY), &r->arena, &ret->labels,
                              &ret->labels_n, err);
}
