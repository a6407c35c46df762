/* Aliases: names that stand for a version of a model, such as `production`. Moving an alias is one change, so that a
 * reader finds either the old or the new version, and never none. */
#include "api/models/model_rules.h"
#include "api/models/models.h"
#include "api/pipeline/internal.h"
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
    if (store_model_alias_put(db, &s, err) < 0)
        return -1;
    alias_to_wire(&s, w);
    ret->alias = w;
    return 0;
}

int api_delete_model_alias(struct req *r, struct store *db, const struct wire_delete_model_alias_request *in,
                           struct wire_delete_model_alias_response *ret, struct error *err)
{
    struct store_model m;
    if (model_find_open(r, db, in->model_name, &m, err) < 0)
        return -1;
    return store_model_alias_delete(db, m.id, in->alias ? in->alias : "", err);
}
