/* Configuration templates. A template is checked when it is written. Its combination with a configuration is checked
 * when something is created with it. */
#include <string.h>

#include "api/pipeline/access.h"
#include "api/pipeline/convert.h"
#include "api/pipeline/internal.h"
#include "api/pipeline/names.h"
#include "core/config/expconf.h"
#include "gen/handlers.h"
#include "store/functions.h"

/* ---- reading ----------------------------------------------------------------------------------------------------- */

int api_get_templates(struct req *r, struct store *db, const struct wire_get_templates_request *in,
                      struct wire_get_templates_response *ret, struct error *err)
{
    struct store_template_filter f = {.name = in->name,
                                      .workspace_ids = {in->workspace_ids, in->workspace_ids_n},
                                      .visible = access_workspaces(r, PERMISSION_VIEW_TEMPLATES),
                                      .descending = in->order_by == WIRE_ORDER_BY_DESC,
                                      .page = page_of(in->offset, in->limit)};
    struct store_template_list list;
    if (store_template_list(db, &f, &r->arena, &list, err) < 0)
        return -1;
    ret->templates = arena_array(&r->arena, struct wire_template, list.template_n + 1);
    ret->templates_n = list.template_n;
    for (size_t i = 0; i < list.template_n; i++)
        ret->templates[i] = *template_to_wire(r, &list.template[i]);
    ret->pagination = pagination(f.page, list.window, &r->arena);
    return 0;
}

static int read_back(struct req *r, struct store *db, const char *name, const struct wire_template **ret,
                     struct error *err)
{
    struct store_template t;
    if (store_template_get(db, name, &r->arena, &t, err) < 0)
        return -1;
    *ret = template_to_wire(r, &t);
    return 0;
}

int api_get_template(struct req *r, struct store *db, const struct wire_get_template_request *in,
                     struct wire_get_template_response *ret, struct error *err)
{
    return read_back(r, db, in->template_name, &ret->template, err);
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

/* The name is a part of paths. */
static int check_name(const char *name, struct error *err)
{
    return name_check("template", name, "/", err);
}

static int check_config(const struct req *r, const char *json, const char *name, struct error *err)
{
    cleanup_json struct json_object *config = NULL;
    size_t max = r->api->defaults.config_max;
    if (!json)
        return error_set(err, ERR_INVALID, "template '%s': config is missing", name);
    if (strlen(json) > max)
        return error_set(err, ERR_INVALID,
                         "template '%s' has %zu bytes, at most %zu are allowed (the master's limits.config_size)", name,
                         strlen(json), max);
    return json_parse(json, strlen(json), &config, err) < 0 ? -1 : expconf_check_template(config, name, err);
}

static int check_template(const struct req *r, const struct wire_template *t, struct store_template *ret,
                          struct error *err)
{
    if (!t)
        return error_set(err, ERR_INVALID, "template is missing");
    if (check_name(t->name, err) < 0 || check_config(r, t->config, t->name, err) < 0)
        return -1;
    *ret = (struct store_template){.name = t->name,
                                   .config = t->config,
                                   .workspace_id = t->workspace_id ? t->workspace_id : 1,
                                   .user_id = r->who.user_id};
    return 0;
}

int api_post_template(struct req *r, struct store *db, const struct wire_post_template_request *in,
                      struct wire_post_template_response *ret, struct error *err)
{
    struct store_template t;
    if (check_template(r, in->template, &t, err) < 0 ||
        access_need(r, PERMISSION_CREATE_TEMPLATES, t.workspace_id, err) < 0 || store_template_insert(db, &t, err) < 0)
        return -1;
    return read_back(r, db, t.name, &ret->template, err);
}

/* A template that exists needs the permission to change it; a new one the permission to create it where it goes. */
static int check_put(struct req *r, struct store *db, const struct store_template *t, struct error *err)
{
    struct store_template old;
    cleanup_error struct error failed = ERROR_INIT;
    if (store_template_get(db, t->name, &r->arena, &old, &failed) == 0)
        return access_need_of(r, db, PERMISSION_UPDATE_TEMPLATES, ACCESS_TEMPLATE(t->name), err);
    return error_pass_unless(&failed, ERR_NOT_FOUND, err)
               ? -1
               : access_need(r, PERMISSION_CREATE_TEMPLATES, t->workspace_id, err);
}

/* Creates the template, or replaces its configuration; an existing one stays in its workspace. */
int api_put_template(struct req *r, struct store *db, const struct wire_put_template_request *in,
                     struct wire_put_template_response *ret, struct error *err)
{
    struct store_template t;
    cleanup_error struct error failed = ERROR_INIT;
    if (check_template(r, in->template, &t, err) < 0 || check_put(r, db, &t, err) < 0)
        return -1;
    if (store_template_set_config(db, t.name, t.config, &failed) == 0)
        return read_back(r, db, t.name, &ret->template, err);
    if (error_pass_unless(&failed, ERR_NOT_FOUND, err))
        return -1;
    return store_template_insert(db, &t, err) < 0 ? -1 : read_back(r, db, t.name, &ret->template, err);
}

int api_patch_template_config(struct req *r, struct store *db, const struct wire_patch_template_config_request *in,
                              struct wire_patch_template_config_response *ret, struct error *err)
{
    if (check_config(r, in->config, in->template_name, err) < 0 ||
        store_template_set_config(db, in->template_name, in->config, err) < 0)
        return -1;
    return read_back(r, db, in->template_name, &ret->template, err);
}

int api_patch_template_name(struct req *r, struct store *db, const struct wire_patch_template_name_request *in,
                            struct wire_patch_template_name_response *ret, struct error *err)
{
    if (check_name(in->new_name, err) < 0 ||
        store_template_rename(db, in->old_name ? in->old_name : "", in->new_name, err) < 0)
        return -1;
    return read_back(r, db, in->new_name, &ret->template, err);
}

int api_delete_template(struct req *r, struct store *db, const struct wire_delete_template_request *in,
                        struct wire_delete_template_response *ret, struct error *err)
{
    return store_template_delete(db, in->template_name, err);
}
