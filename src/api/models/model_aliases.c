/* Aliases: names that stand for a version of a model, such as `production`. Moving an alias is one change, so that a
 * reader finds either the old or the new version, and never none. */
#include "api/models/model_rules.h"
#include "api/models/models.h"
#include "api/pipeline/internal.h"
#include "api/webhooks/webhook_events.h"
#include "api/webhooks/webhook_payload.h"
#include "gen/handlers.h"

static void alias_to_wire(const struct store_model_alias *s, struct wire_model_alias *ret)
{
    *ret = (struct wire_model_alias){.name = s->name,
                                     .version = s->version,
                                     .user_id = s->user_id,
                                     .username = s->username,
                                     .last_updated_time = s->updated_us,
                                     .has_last_updated_time = true};
}

static int read_aliases(struct req *r, struct store *db, int32_t model_id, struct wire_model_alias **ret, size_t *ret_n,
                        struct error *err)
{
    struct store_model_alias *s;
    size_t n;
    if (store_model_aliases(db, model_id, &r->arena, &s, &n, err) < 0)
        return -1;
    struct wire_model_alias *w = arena_array(&r->arena, struct wire_model_alias, n + 1);
    for (size_t i = 0; i < n; i++)
        alias_to_wire(&s[i], &w[i]);
    *ret = w;
    *ret_n = n;
    return 0;
}

int api_get_model_aliases(struct req *r, struct store *db, const struct wire_get_model_aliases_request *in,
                          struct wire_get_model_aliases_response *ret, struct error *err)
{
    struct store_model m;
    if (store_model_find(db, in->model_name ? in->model_name : "", &r->arena, &m, err) < 0)
        return -1;
    return read_aliases(r, db, m.id, &ret->aliases, &ret->aliases_n, err);
}

/* ---- webhooks ---------------------------------------------------------------------------------------------------- */

int model_alias_tell(struct req *r, struct store *db, const struct store_model *m, const char *alias, int32_t before,
                     int32_t now, struct error *err)
{
    struct webhook_alias_event e = {.model_id = m->id,
                                    .model_name = m->name,
                                    .workspace_id = m->workspace_id,
                                    .alias = alias,
                                    .username = r->who.username,
                                    .version = now,
                                    .version_before = before};
    return webhook_alias_changed(db, &e, api_info(r->api)->webhook_base_url, r->now_us, err);
}

int model_aliases_tell_gone(struct req *r, struct store *db, const struct store_model *m, struct error *err)
{
    struct store_model_alias *s;
    size_t n;
    if (store_model_aliases(db, m->id, &r->arena, &s, &n, err) < 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        if (model_alias_tell(r, db, m, s[i].name, s[i].version, 0, err) < 0)
            return -1;
    return 0;
}

int model_alias_told(struct req *r, struct core *core, struct error *err)
{
    r->api->services.webhooks_due(r->api->services.ctx);
    return 0;
}

/* ---- changes ----------------------------------------------------------------------------------------------------- */

/* Whether one more alias may be set. Moving one that exists is always allowed. */
static int check_count(struct store *db, const struct store_model *m, bool exists, struct error *err)
{
    enum { ALIASES_MAX = 100 };
    int64_t n;
    if (store_model_alias_count(db, m->id, &n, err) < 0)
        return -1;
    if (n < ALIASES_MAX || exists)
        return 0;
    return error_set(err, ERR_INVALID, "model \"%s\" has %d aliases, which is the limit: remove one of them", m->name,
                     ALIASES_MAX);
}

int api_put_model_alias(struct req *r, struct store *db, const struct wire_put_model_alias_request *in,
                        struct wire_put_model_alias_response *ret, struct error *err)
{
    struct store_model m;
    struct store_model_version v, before;
    struct wire_model_alias *w = arena_new(&r->arena, struct wire_model_alias);
    cleanup_error struct error none = ERROR_INIT;
    const char *alias = in->alias ? in->alias : "";
    if (model_check_alias(alias, err) < 0 || model_find_open(r, db, in->model_name, &m, err) < 0)
        return -1;
    if (in->version < 1)
        return error_set(err, ERR_INVALID, "version is %d; it is the number of a version, from 1", in->version);
    bool exists = store_model_version_find(db, &m, alias, &r->arena, &before, &none) == 0;
    if (store_model_version_find(db, &m, arena_printf(&r->arena, "%d", in->version), &r->arena, &v, err) < 0 ||
        check_count(db, &m, exists, err) < 0)
        return -1;
    struct store_model_alias s = {.model_id = m.id,
                                  .name = alias,
                                  .version = v.version,
                                  .user_id = r->who.user_id,
                                  .updated_us = r->now_us,
                                  .username = r->who.username};
    if (store_model_alias_put(db, &s, err) < 0 ||
        model_alias_tell(r, db, &m, alias, exists ? before.version : 0, v.version, err) < 0)
        return -1;
    alias_to_wire(&s, w);
    ret->alias = w;
    return req_then_loop(r, model_alias_told);
}

int api_delete_model_alias(struct req *r, struct store *db, const struct wire_delete_model_alias_request *in,
                           struct wire_delete_model_alias_response *ret, struct error *err)
{
    struct store_model m;
    struct store_model_version before;
    const char *alias = in->alias ? in->alias : "";
    cleanup_error struct error none = ERROR_INIT;
    if (model_find_open(r, db, in->model_name, &m, err) < 0)
        return -1;
    bool exists = store_model_version_find(db, &m, alias, &r->arena, &before, &none) == 0;
    if (store_model_alias_delete(db, m.id, alias, err) < 0 ||
        (exists && model_alias_tell(r, db, &m, alias, before.version, 0, err) < 0))
        return -1;
    return req_then_loop(r, model_alias_told);
}
