#include "api/updates/update_read.h"

#include <stdlib.h>
#include <string.h>

#include "api/rights/permissions.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/json/json.h"
#include "store/changes/changes.h"

static const struct {
    const char *kind, *message, *deleted;
} names[UPDATE_KINDS] = {
    [UPDATE_PROJECT] = {"project", "project", "projects_deleted"},
    [UPDATE_MODEL] = {"model", "model", "models_deleted"},
    [UPDATE_VERSION] = {"model_version", "modelversion", "modelversions_deleted"},
};

/* ---- objects as messages ----------------------------------------------------------------------------------------- */

/* An object that was read, and its message. */
struct object {
    struct update_ids ids;
    int64_t seq;
    const char *text;
};
struct objects {
    struct object *item;
    size_t n;
};

static void add_text(struct strbuf *b, const char *key, const char *text)
{
    strbuf_addf(b, ",\"%s\":", key);
    strbuf_add_json(b, text ? text : "", text ? strlen(text) : 0);
}

static void add_time(struct strbuf *b, const char *key, int64_t us)
{
    char text[CLOCK_TEXT_MAX];
    clock_format_micros(us, text);
    add_text(b, key, text);
}

static void add_number(struct strbuf *b, const char *key, int64_t number)
{
    strbuf_addf(b, ",\"%s\":%lld", key, (long long)number);
}

static void add_bool(struct strbuf *b, const char *key, bool value)
{
    strbuf_addf(b, ",\"%s\":%s", key, value ? "true" : "false");
}

/* The value is JSON already. */
static void add_json(struct strbuf *b, const char *key, const char *json, const char *otherwise)
{
    strbuf_addf(b, ",\"%s\":", key);
    strbuf_adds(b, json && *json ? json : otherwise);
}

static void begin_object(struct strbuf *b, enum update_kind kind, int32_t id)
{
    strbuf_reset(b);
    strbuf_addf(b, "{\"%s\":{\"id\":%d", names[kind].message, id);
}

static const char *end_object(struct strbuf *b, struct arena *a, int64_t seq)
{
    add_number(b, "seq", seq);
    strbuf_adds(b, "}}");
    return arena_strndup(a, b->s, b->n);
}

static const char *project_text(const struct store_update_project *p, struct arena *a, struct strbuf *b)
{
    begin_object(b, UPDATE_PROJECT, p->id);
    add_text(b, "name", p->name);
    add_text(b, "description", p->description);
    add_bool(b, "archived", p->archived);
    add_time(b, "created_at", p->created_us);
    add_json(b, "notes", p->notes, "[]");
    add_number(b, "workspace_id", p->workspace_id);
    add_number(b, "user_id", p->user_id);
    add_bool(b, "immutable", p->immutable);
    add_text(b, "state", p->state ? p->state : "UNSPECIFIED");
    add_text(b, "key", p->key);
    return end_object(b, a, p->seq);
}

static const char *model_text(const struct store_update_model *m, struct arena *a, struct strbuf *b)
{
    begin_object(b, UPDATE_MODEL, m->id);
    add_text(b, "name", m->name);
    add_text(b, "description", m->description);
    add_bool(b, "archived", m->archived);
    add_time(b, "creation_time", m->created_us);
    add_text(b, "notes", m->notes);
    add_number(b, "workspace_id", m->workspace_id);
    add_number(b, "user_id", m->user_id);
    add_time(b, "last_updated_time", m->updated_us);
    add_json(b, "metadata", m->metadata, "{}");
    add_json(b, "labels", m->labels, "[]");
    return end_object(b, a, m->seq);
}

static const char *version_text(const struct store_update_version *v, struct arena *a, struct strbuf *b)
{
    begin_object(b, UPDATE_VERSION, v->id);
    add_text(b, "name", v->name);
    add_number(b, "version", v->version);
    add_text(b, "checkpoint_uuid", v->checkpoint_uuid);
    add_time(b, "creation_time", v->created_us);
    add_time(b, "last_updated_time", v->updated_us);
    add_json(b, "metadata", v->metadata, "{}");
    add_number(b, "model_id", v->model_id);
    add_number(b, "user_id", v->user_id);
    add_text(b, "comment", v->comment);
    add_json(b, "labels", v->labels, "[]");
    add_text(b, "notes", v->notes);
    add_number(b, "workspace_id", v->workspace_id);
    return end_object(b, a, v->seq);
}

/* ---- reading objects --------------------------------------------------------------------------------------------- */

static struct store_ints ints_of(const struct update_list *l)
{
    return (struct store_ints){.value = l->id, .n = l->n};
}

static int read_projects(struct store *db, const struct update_list *by, struct arena *a, struct objects *ret,
                         struct error *err)
{
    cleanup_strbuf struct strbuf b = STRBUF_INIT;
    struct store_update_project *p;
    if (store_update_projects(db, ints_of(&by[UPDATE_BY_ID]), ints_of(&by[UPDATE_BY_WORKSPACE]), a, &p, &ret->n, err) <
        0)
        return -1;
    ret->item = arena_array(a, struct object, ret->n + 1);
    for (size_t i = 0; i < ret->n; i++)
        ret->item[i] = (struct object){{{p[i].id, p[i].workspace_id, 0, p[i].user_id}},
                                       p[i].seq,
                                       project_text(&p[i], a, &b)};
    return 0;
}

static int read_models(struct store *db, const struct update_list *by, struct arena *a, struct objects *ret,
                       struct error *err)
{
    cleanup_strbuf struct strbuf b = STRBUF_INIT;
    struct store_update_model *m;
    if (store_update_models(db, ints_of(&by[UPDATE_BY_ID]), ints_of(&by[UPDATE_BY_WORKSPACE]),
                            ints_of(&by[UPDATE_BY_USER]), a, &m, &ret->n, err) < 0)
        return -1;
    ret->item = arena_array(a, struct object, ret->n + 1);
    for (size_t i = 0; i < ret->n; i++)
        ret->item[i] = (struct object){{{m[i].id, m[i].workspace_id, 0, m[i].user_id}},
                                       m[i].seq,
                                       model_text(&m[i], a, &b)};
    return 0;
}

static int read_versions(struct store *db, const struct update_list *by, struct arena *a, struct objects *ret,
                         struct error *err)
{
    cleanup_strbuf struct strbuf b = STRBUF_INIT;
    struct store_update_version *v;
    if (store_update_versions(db, ints_of(&by[UPDATE_BY_ID]), ints_of(&by[UPDATE_BY_MODEL]),
                              ints_of(&by[UPDATE_BY_USER]), a, &v, &ret->n, err) < 0)
        return -1;
    ret->item = arena_array(a, struct object, ret->n + 1);
    for (size_t i = 0; i < ret->n; i++)
        ret->item[i] = (struct object){{{v[i].id, v[i].workspace_id, v[i].model_id, v[i].user_id}},
                                       v[i].seq,
                                       version_text(&v[i], a, &b)};
    return 0;
}

static int (*const read_objects[UPDATE_KINDS])(struct store *, const struct update_list *, struct arena *,
                                               struct objects *, struct error *) = {
    [UPDATE_PROJECT] = read_projects,
    [UPDATE_MODEL] = read_models,
    [UPDATE_VERSION] = read_versions,
};

static const struct object *object_of(const struct objects *all, int32_t id)
{
    for (size_t low = 0, n = all->n; n > 0;) {
        int32_t middle = all->item[low + n / 2].ids.id[UPDATE_BY_ID];
        if (middle == id)
            return &all->item[low + n / 2];
        low = middle < id ? low + n / 2 + 1 : low;
        n = middle < id ? n - n / 2 - 1 : n / 2;
    }
    return NULL;
}

/* ---- changes ----------------------------------------------------------------------------------------------------- */

static enum update_kind kind_of(const char *name)
{
    size_t k = 0;
    while (k + 1 < UPDATE_KINDS && strcmp(names[k].kind, name) != 0)
        k++;
    return (enum update_kind)k;
}

/* Takes over the ids that the object had before the change. Of several changes of one object the first one says what it
 * was for subscribers that were told of none of them. */
static void take_old(struct update *u, const char *old_values)
{
    static const char *const column[UPDATE_BYS] = {NULL, "workspace_id", "model_id", "user_id"};
    cleanup_json struct json_object *v = NULL;
    if (!old_values || json_parse(old_values, strlen(old_values), &v, NULL) < 0)
        return;
    for (size_t by = 1; by < UPDATE_BYS; by++)
        if (!u->old.id[by])
            u->old.id[by] = json_object_get_int(json_object_object_get(v, column[by]));
}

static struct update *update_of(struct update *all, size_t *n, enum update_kind kind, int32_t id, struct arena *a)
{
    for (size_t i = 0; i < *n; i++)
        if (all[i].kind == kind && all[i].old.id[UPDATE_BY_ID] == id)
            return &all[i];
    struct update *u = &all[(*n)++];
    *u = (struct update){.kind = kind, .old.id[UPDATE_BY_ID] = id};
    u->leaves = arena_printf(a, "{\"%s\":\"%d\"}", names[kind].deleted, id);
    return u;
}

/* Reads what the changed objects are now. */
static int read_changed(struct store *db, struct arena *a, enum update_kind kind, struct update *all, size_t n,
                        struct error *err)
{
    struct update_list by[UPDATE_BYS] = {0};
    struct objects now = {0};
    by[UPDATE_BY_ID].id = arena_array(a, int32_t, n + 1);
    for (size_t i = 0; i < n; i++)
        if (all[i].kind == kind)
            by[UPDATE_BY_ID].id[by[UPDATE_BY_ID].n++] = all[i].old.id[UPDATE_BY_ID];
    if (by[UPDATE_BY_ID].n > 0 && read_objects[kind](db, by, a, &now, err) < 0)
        return -1;
    for (size_t i = 0; i < n; i++) {
        const struct object *o = all[i].kind == kind ? object_of(&now, all[i].old.id[UPDATE_BY_ID]) : NULL;
        if (all[i].kind != kind)
            continue;
        all[i].gone = !o;
        all[i].now = o ? o->ids : all[i].old;
        all[i].text = o ? o->text : NULL;
        for (size_t k = 0; o && k < UPDATE_BYS; k++)
            if (!all[i].old.id[k])
                all[i].old.id[k] = o->ids.id[k];
    }
    return 0;
}

/* A move of a model moves its versions, of which there is no record of their own. */
static int add_moved_versions(struct store *db, struct arena *a, const struct store_update *c, struct update *all,
                              size_t max, size_t *n, struct error *err)
{
    int32_t model_id = (int32_t)strtol(c->object_id, NULL, 10);
    struct update_list by[UPDATE_BYS] = {[UPDATE_BY_MODEL] = {&model_id, 1}};
    struct objects versions;
    if (strcmp(c->kind, "model") != 0 || strcmp(c->action, "update") != 0 || !strstr(c->old_values, "\"workspace_id\""))
        return 0;
    if (read_versions(db, by, a, &versions, err) < 0)
        return -1;
    for (size_t i = 0; i < versions.n && *n < max; i++)
        update_of(all, n, UPDATE_VERSION, versions.item[i].ids.id[UPDATE_BY_ID], a)->seq = c->seq;
    return 0;
}

enum { VERSIONS_MOVED_MAX = 1000 };

static int read_updates(struct store *db, struct arena *a, int64_t *seq, int64_t limit, struct update **ret,
                        size_t *ret_n, bool *ret_more, struct error *err)
{
    struct store_update *c;
    size_t n, count = 0;
    if (store_updates_after(db, *seq, limit, a, &c, &n, err) < 0)
        return -1;
    struct update *all = arena_array(a, struct update, n + VERSIONS_MOVED_MAX + 1);
    for (size_t i = 0; i < n; i++) {
        struct update *u = update_of(all, &count, kind_of(c[i].kind), (int32_t)strtol(c[i].object_id, NULL, 10), a);
        u->seq = *seq = c[i].seq;
        take_old(u, c[i].old_values);
        if (add_moved_versions(db, a, &c[i], all, n + VERSIONS_MOVED_MAX, &count, err) < 0)
            return -1;
    }
    for (size_t k = 0; k < UPDATE_KINDS; k++)
        if (read_changed(db, a, (enum update_kind)k, all, count, err) < 0)
            return -1;
    *ret = all;
    *ret_n = count;
    *ret_more = (int64_t)n == limit;
    return 0;
}

int updates_read(struct store *db, struct arena *a, int64_t *seq, int64_t limit, struct update **ret, size_t *ret_n,
                 bool *ret_more, struct error *err)
{
    if (store_begin_read(db, err) < 0)
        return -1;
    int rc = read_updates(db, a, seq, limit, ret, ret_n, ret_more, err);
    store_rollback(db);
    return rc;
}

/* ---- catching up ------------------------------------------------------------------------------------------------- */

bool update_is_visible(const struct permission_set *may, enum update_kind kind, int32_t workspace_id)
{
    static const enum permission needed[UPDATE_KINDS] = {[UPDATE_PROJECT] = PERMISSION_VIEW_PROJECT,
                                                         [UPDATE_MODEL] = PERMISSION_VIEW_MODEL_REGISTRY,
                                                         [UPDATE_VERSION] = PERMISSION_VIEW_MODEL_REGISTRY};
    return !may || permission_set_has(may, needed[kind], workspace_id);
}

static void drop_invisible(struct objects *all, enum update_kind kind, const struct permission_set *may)
{
    size_t n = 0;
    for (size_t i = 0; i < all->n; i++)
        if (update_is_visible(may, kind, all->item[i].ids.id[UPDATE_BY_WORKSPACE]))
            all->item[n++] = all->item[i];
    all->n = n;
}

static int catch_up_kind(struct store *db, struct arena *a, enum update_kind kind, const struct update_spec *s,
                         const struct permission_set *may, int64_t since, struct strbuf *out, struct error *err)
{
    cleanup_strbuf struct strbuf missing = STRBUF_INIT;
    struct objects all;
    if (read_objects[kind](db, s->by, a, &all, err) < 0)
        return -1;
    drop_invisible(&all, kind, may);
    int32_t *id = arena_array(a, int32_t, all.n + 1);
    for (size_t i = 0; i < all.n; i++)
        id[i] = all.item[i].ids.id[UPDATE_BY_ID];
    update_spec_missing(s, id, all.n, &missing);
    if (missing.n > 0)
        strbuf_addf(out, "{\"%s\":\"%s\"}\n", names[kind].deleted, strbuf_str(&missing));
    for (size_t i = 0; i < all.n; i++)
        if (all.item[i].seq > since || !update_spec_knows(s, id[i])) {
            strbuf_adds(out, all.item[i].text);
            strbuf_addc(out, '\n');
        }
    return 0;
}

static int catch_up(struct store *db, struct arena *a, struct update_request *request, const struct permission_set *may,
                    struct strbuf *out, int64_t *ret_seq, struct error *err)
{
    struct store_change_head head;
    if (store_change_head(db, a, &head, err) < 0)
        return -1;
    *ret_seq = head.seq;
    strbuf_addf(out, "{\"sync_id\":%s,\"complete\":false}\n", request->sync_id);
    for (size_t k = 0; k < UPDATE_KINDS; k++) {
        /* If changes after `since` are no longer recorded, nobody knows which objects they were of. A number after the
         * last one comes from another database. */
        int64_t since = request->kind[k].since;
        if (since < head.base_seq || since > head.seq)
            since = -1;
        if (catch_up_kind(db, a, (enum update_kind)k, &request->kind[k], may, since, out, err) < 0)
            return -1;
    }
    strbuf_addf(out, "{\"sync_id\":%s,\"complete\":true}\n", request->sync_id);
    return 0;
}

int updates_catch_up(struct store *db, struct arena *a, struct update_request *request,
                     const struct permission_set *may, struct strbuf *out, int64_t *ret_seq, struct error *err)
{
    if (store_begin_read(db, err) < 0)
        return -1;
    int rc = catch_up(db, a, request, may, out, ret_seq, err);
    store_rollback(db);
    return rc;
}
