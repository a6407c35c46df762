/* Creates, changes, moves, archives and deletes projects, and sets their notes. All of it runs on the writer's
 * thread. */
#include <ctype.h>
#include <string.h>

#include "api/accounts/workspaces.h"
#include "api/cluster/config_policies.h"
#include "api/cluster/pool_bindings.h"
#include "api/cluster/quota_follow.h"
#include "api/pipeline/convert.h"
#include "api/pipeline/internal.h"
#include "api/pipeline/unchanged.h"
#include "gen/handlers.h"

enum { KEY_MAX = 5, KEY_OF_NAME = 3 };

/* ---- project keys: short names for people, unique in the cluster ------------------------------------------------- */

static int check_key(const char *key, struct error *err)
{
    size_t n = strlen(key);
    bool good = n >= 1 && n <= KEY_MAX;
    for (size_t i = 0; i < n; i++)
        good = good && (isupper((unsigned char)key[i]) || isdigit((unsigned char)key[i]));
    return good ? 0
                : error_set(err, ERR_INVALID,
                            "the key of a project is \"%.40s\"; it must be 1 to %d upper-case "
                            "letters and digits",
                            key, KEY_MAX);
}

static int key_is_free(struct req *r, struct store *db, const char *key, bool *ret, struct error *err)
{
    cleanup_error struct error none = ERROR_INIT;
    struct store_project p;
    *ret = store_project_by_key(db, key, &r->arena, &p, &none) < 0;
    return error_pass_unless(&none, ERR_NOT_FOUND, err) ? -1 : 0;
}

/* The key is the first letters of the name, and the first number that makes it unique. */
static int make_key(struct req *r, struct store *db, const char *name, const char **ret, struct error *err)
{
    char start[KEY_OF_NAME + 1] = "";
    size_t n = 0;
    for (const char *p = name; *p && n < KEY_OF_NAME; p++)
        if (isalnum((unsigned char)*p))
            start[n++] = (char)toupper((unsigned char)*p);
    if (n == 0)
        start[0] = 'P';
    for (int32_t number = 0; number < 100000; number++) {
        char suffix[16] = "";
        bool is_free;
        if (number > 0)
            snprintf(suffix, sizeof(suffix), "%d", number);
        int kept = KEY_MAX - (int)strlen(suffix);
        const char *key = arena_printf(&r->arena, "%.*s%s", kept, start, suffix);
        if (key_is_free(r, db, key, &is_free, err) < 0)
            return -1;
        if (is_free) {
            *ret = key;
            return 0;
        }
    }
    return error_set(err, ERR_CONFLICT, "no unused key was found for project \"%s\": give it one", name);
}

/* ---- creating and changing --------------------------------------------------------------------------------------- */

/* Whether a project can be created in the workspace, or be moved to it. */
static int check_workspace(struct req *r, struct store *db, int32_t id, struct error *err)
{
    struct store_workspace w;
    if (store_workspace_get(db, id, 0, &r->arena, &w, err) < 0)
        return -1;
    if (w.immutable)
        return error_set(err, ERR_PRECONDITION,
                         "workspace '%s' is the default workspace, which has no project but its own; choose "
                         "another workspace, or make one",
                         w.name);
    if (w.archived)
        return error_set(err, ERR_PRECONDITION, "workspace '%s' is archived; unarchive it or choose another one",
                         w.name);
    if (w.state)
        return error_set(err, ERR_PRECONDITION, "workspace '%s' is being deleted; choose another one", w.name);
    return 0;
}

static int read_project_reply(struct req *r, struct store *db, int32_t id, const struct wire_project **ret,
                              struct error *err)
{
    struct store_project p;
    if (store_project_get(db, id, &r->arena, &p, err) < 0)
        return -1;
    return project_reply(r, &p, ret, err);
}

int api_post_project(struct req *r, struct store *db, const struct wire_post_project_request *in,
                     struct wire_post_project_response *ret, struct error *err)
{
    struct store_project p = {.workspace_id = in->workspace_id,
                              .user_id = r->who.user_id,
                              .name = in->name,
                              .key = in->key,
                              .description = in->description ? in->description : "",
                              .created_us = r->now_us,
                              .modified_us = r->now_us};
    int64_t last;
    if (check_workspace_or_project_name("project", in->name, err) < 0 ||
        (p.key && *p.key && check_key(p.key, err) < 0) || check_workspace(r, db, in->workspace_id, err) < 0 ||
        ((!p.key || !*p.key) && make_key(r, db, p.name, &p.key, err) < 0) ||
        store_last_id(db, STORE_IDS_PROJECTS, &last, err) < 0)
        return -1;
    p.id = (int32_t)last + 1;
    return store_project_insert(db, &p, err) < 0 ? -1 : read_project_reply(r, db, p.id, &ret->project, err);
}

static int need_own(const struct store_project *p, struct error *err)
{
    if (p->immutable)
        return error_set(err, ERR_PRECONDITION, "project %d is immutable: it belongs to every cluster", p->id);
    return 0;
}

static int need_open(const struct store_project *p, struct error *err)
{
    if (p->archived || p->workspace_archived)
        return error_set(err, ERR_PRECONDITION,
                         "project %d or its workspace is archived; unarchive it before it is "
                         "changed",
                         p->id);
    return 0;
}

static int store_change(struct req *r, struct store *db, struct store_project *p, struct error *err)
{
    p->modified_us = modified_after(p->modified_us, r->now_us);
    return store_project_update(db, p, err);
}

static int need_unchanged_project(struct req *r, const struct store_project *p, bool has_expected, int64_t expected_us,
                                  struct error *err)
{
    return need_unchanged(has_expected, expected_us, p->modified_us, arena_printf(&r->arena, "project \"%s\"", p->name),
                          err);
}

int api_patch_project(struct req *r, struct store *db, const struct wire_patch_project_request *in,
                      struct wire_patch_project_response *ret, struct error *err)
{
    const struct wire_project_patch_project *patch = in->project;
    struct store_project p;
    if (!patch)
        return error_set(err, ERR_INVALID, "the request names nothing to change; name at least one field");
    if (store_project_get(db, in->id, &r->arena, &p, err) < 0 || need_own(&p, err) < 0 ||
        need_unchanged_project(r, &p, patch->has_if_modified_at, patch->if_modified_at, err) < 0 ||
        need_open(&p, err) < 0 || (patch->name && check_workspace_or_project_name("project", patch->name, err) < 0) ||
        (patch->key && check_key(patch->key, err) < 0))
        return -1;
    p.name = patch->name ? patch->name : p.name;
    p.description = patch->description ? patch->description : p.description;
    p.key = patch->key ? patch->key : p.key;
    return store_change(r, db, &p, err) < 0 ? -1 : read_project_reply(r, db, p.id, &ret->project, err);
}

int api_move_project(struct req *r, struct store *db, const struct wire_move_project_request *in,
                     struct wire_move_project_response *ret, struct error *err)
{
    struct store_project p;
    if (store_project_get(db, in->project_id, &r->arena, &p, err) < 0 || need_own(&p, err) < 0 ||
        need_open(&p, err) < 0 || check_workspace(r, db, in->destination_workspace_id, err) < 0 ||
        pool_check_move(r, db, p.id, 0, in->destination_workspace_id, err) < 0 ||
        config_policies_check_move(r, db, p.id, 0, in->destination_workspace_id, err) < 0)
        return -1;
    p.workspace_id = in->destination_workspace_id;
    return store_change(r, db, &p, err) < 0 ? -1 : quota_follow_project(r, db, p.id, err);
}

static int set_archived(struct req *r, struct store *db, int32_t id, bool archived, struct error *err)
{
    struct store_project p;
    if (store_project_get(db, id, &r->arena, &p, err) < 0 || need_own(&p, err) < 0)
        return -1;
    if (p.workspace_archived)
        return error_set(err, ERR_PRECONDITION, "the workspace of project %d is archived; unarchive that first", id);
    p.archived = archived;
    return store_change(r, db, &p, err);
}

int api_archive_project(struct req *r, struct store *db, const struct wire_archive_project_request *in,
                        struct wire_archive_project_response *ret, struct error *err)
{
    return set_archived(r, db, in->id, true, err);
}

int api_unarchive_project(struct req *r, struct store *db, const struct wire_unarchive_project_request *in,
                          struct wire_unarchive_project_response *ret, struct error *err)
{
    return set_archived(r, db, in->id, false, err);
}

int api_delete_project(struct req *r, struct store *db, const struct wire_delete_project_request *in,
                       struct wire_delete_project_response *ret, struct error *err)
{
    struct store_project p;
    if (store_project_get(db, in->id, &r->arena, &p, err) < 0 || need_own(&p, err) < 0)
        return -1;
    return delete_workspace_or_project(r, "project", (struct store_workspace_deletion){.project_id = p.id},
                                       &ret->completed);
}

/* ---- notes ------------------------------------------------------------------------------------------------------- */

static void add_note(struct strbuf *out, const char *name, const char *contents)
{
    strbuf_adds(out, out->n > 1 ? ",{\"name\":" : "{\"name\":");
    strbuf_add_json(out, name ? name : "", name ? strlen(name) : 0);
    strbuf_adds(out, ",\"contents\":");
    strbuf_add_json(out, contents ? contents : "", contents ? strlen(contents) : 0);
    strbuf_addc(out, '}');
}

struct new_notes {
    int32_t project_id;
    bool keep; /* the notes that exist stay before them */
    const struct wire_project_note *note;
    size_t n;
    bool has_if_modified;
    int64_t if_modified_us;
};

static int set_notes(struct req *r, struct store *db, const struct new_notes *w, const struct wire_project **ret,
                     struct error *err)
{
    cleanup_strbuf struct strbuf notes = STRBUF_INIT;
    const struct wire_project *now;
    struct store_project p;
    if (store_project_get(db, w->project_id, &r->arena, &p, err) < 0 ||
        need_unchanged_project(r, &p, w->has_if_modified, w->if_modified_us, err) < 0 || need_open(&p, err) < 0 ||
        project_reply(r, &p, &now, err) < 0)
        return -1;
    strbuf_addc(&notes, '[');
    for (size_t i = 0; w->keep && i < now->notes_n; i++)
        add_note(&notes, now->notes[i].name, now->notes[i].contents);
    for (size_t i = 0; i < w->n; i++)
        add_note(&notes, w->note[i].name, w->note[i].contents);
    strbuf_addc(&notes, ']');
    p.notes = strbuf_str(&notes);
    return store_change(r, db, &p, err) < 0 ? -1 : read_project_reply(r, db, p.id, ret, err);
}

int api_add_project_note(struct req *r, struct store *db, const struct wire_add_project_note_request *in,
                         struct wire_add_project_note_response *ret, struct error *err)
{
    const struct wire_project *p;
    if (!in->note)
        return error_set(err, ERR_INVALID, "note is missing");
    const struct new_notes w = {.project_id = in->project_id, .keep = true, .note = in->note, .n = 1};
    if (set_notes(r, db, &w, &p, err) < 0)
        return -1;
    ret->notes = p->notes;
    ret->notes_n = p->notes_n;
    return 0;
}

int api_put_project_notes(struct req *r, struct store *db, const struct wire_put_project_notes_request *in,
                          struct wire_put_project_notes_response *ret, struct error *err)
{
    const struct wire_project *p;
    const struct new_notes w = {.project_id = in->project_id,
                                .note = in->notes,
                                .n = in->notes_n,
                                .has_if_modified = in->has_if_modified_at,
                                .if_modified_us = in->if_modified_at};
    if (set_notes(r, db, &w, &p, err) < 0)
        return -1;
    ret->notes = p->notes;
    ret->notes_n = p->notes_n;
    return 0;
}
