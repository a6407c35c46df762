#include "api/pipeline/access.h"

#include <stdio.h>
#include <string.h>

#include "api/pipeline/access_internal.h"
#include "api/pipeline/identity.h"
#include "api/pipeline/internal.h"
#include "api/pipeline/request_run.h"
#include "common/system/log.h"
#include "core/core.h"
#include "gen/handlers.h"
#include "store/accounts/owners.h"
#include "store/experiments/checkpoints.h"
#include "store/functions.h"

/* ---- the kinds of objects ---------------------------------------------------------------------------------------- */

const struct access_kind access_kinds[] = {
    [ACCESS_OBJECT_EXPERIMENT] = {"experiment", false, STORE_OWNED_EXPERIMENT, PERMISSION_VIEW_EXPERIMENT_METADATA},
    [ACCESS_OBJECT_TRIAL] = {"trial", false, STORE_OWNED_TRIAL, PERMISSION_VIEW_EXPERIMENT_METADATA},
    [ACCESS_OBJECT_TASK] = {"task", true, STORE_OWNED_TASK, PERMISSION_VIEW_NSC},
    [ACCESS_OBJECT_ALLOCATION] = {"allocation", true, STORE_OWNED_ALLOCATION, PERMISSION_VIEW_NSC},
    [ACCESS_OBJECT_CHECKPOINT] = {"checkpoint", true, STORE_OWNED_CHECKPOINT, PERMISSION_VIEW_EXPERIMENT_METADATA},
    [ACCESS_OBJECT_WORKSPACE] = {"workspace", false, STORE_OWNED_WORKSPACE, PERMISSION_VIEW_WORKSPACE},
    [ACCESS_OBJECT_PROJECT] = {"project", false, STORE_OWNED_PROJECT, PERMISSION_VIEW_PROJECT},
    [ACCESS_OBJECT_TEMPLATE] = {"template", true, STORE_OWNED_TEMPLATE, PERMISSION_VIEW_TEMPLATES},
    [ACCESS_OBJECT_MODEL] = {"model", true, STORE_OWNED_MODEL, PERMISSION_VIEW_MODEL_REGISTRY},
    [ACCESS_OBJECT_WEBHOOK] = {"webhook", false, STORE_OWNED_WEBHOOK, PERMISSION_VIEW_WEBHOOKS},
    [ACCESS_OBJECT_USER] = {"user", false, 0 /* no query: a user is their own owner */, PERMISSIONS_N},
    [ACCESS_OBJECT_COMMAND] = {"command", true, STORE_OWNED_TASK, PERMISSION_VIEW_NSC},
    [ACCESS_OBJECT_NOTEBOOK] = {"notebook", true, STORE_OWNED_TASK, PERMISSION_VIEW_NSC},
    [ACCESS_OBJECT_SHELL] = {"shell", true, STORE_OWNED_TASK, PERMISSION_VIEW_NSC},
    [ACCESS_OBJECT_TENSORBOARD] = {"tensorboard", true, STORE_OWNED_TASK, PERMISSION_VIEW_NSC},
};

const char *access_id_text(struct access_id id, char buffer[ACCESS_ID_TEXT_MAX])
{
    if (access_kinds[id.object].by_text)
        snprintf(buffer, ACCESS_ID_TEXT_MAX, "%s", id.text ? id.text : "");
    else
        snprintf(buffer, ACCESS_ID_TEXT_MAX, "%d", id.number);
    return buffer;
}

int access_not_found(struct access_id id, struct error *err)
{
    char text[ACCESS_ID_TEXT_MAX];
    if (id.object == ACCESS_OBJECT_ALLOCATION && !strchr(id.text, '.'))
        return error_set(err, ERR_INVALID, "allocation id '%.80s' is malformed; it is TASK_ID.N", id.text);
    return error_set(err, ERR_NOT_FOUND, "%s '%s' not found", access_kinds[id.object].name, access_id_text(id, text));
}

/* ---- the rule ---------------------------------------------------------------------------------------------------- */

const struct access_row *access_row_of(const struct req *r)
{
    return r->route ? &route_access[r->route - routes] : &r->run->match.raw->access;
}

const struct access_rule *access_rule_of(const struct req *r)
{
    const struct access_row *row = access_row_of(r);
    switch (r->who.kind) {
    case PRINCIPAL_USER:
        return r->who.admin ? &row->admin : &row->person;
    case PRINCIPAL_USER_TOKEN:
        return &row->user_token;
    case PRINCIPAL_TASK:
        return &row->task;
    case PRINCIPAL_NONE:
        break;
    }
    return &row->none;
}

/* ---- scopes ------------------------------------------------------------------------------------------------------ */

static int refuse_scope(const struct req *r, enum access_scope needed, struct error *err)
{
    const char *method = r->route ? r->route->method : r->run->match.raw->method;
    const char *path = r->route ? r->route->path : r->run->match.raw->pattern;
    if (!method)
        method = "any request to";
    if (needed == ACCESS_SCOPE_LOGIN)
        return error_set(err, ERR_FORBIDDEN, "forbidden: %s %s is not for access tokens: log in", method, path);
    if (!r->who.access_token)
        return error_set(err, ERR_FORBIDDEN,
                         "forbidden: %s %s needs the scope %s, but this task was submitted by an access token with the "
                         "scope %s, which its DET_USER_TOKEN has, too",
                         method, path, access_scope_word(needed), access_scope_word(r->who.scope));
    return error_set(err, ERR_FORBIDDEN,
                     "forbidden: %s %s needs an access token with the scope %s, token %lld has the scope %s", method,
                     path, access_scope_word(needed), (long long)r->who.session_id, access_scope_word(r->who.scope));
}

int access_check_scope(const struct req *r, struct error *err)
{
    enum access_scope needed = access_row_of(r)->scope;
    bool judged = r->who.kind == PRINCIPAL_USER || r->who.kind == PRINCIPAL_USER_TOKEN;
    return judged && r->who.scope < needed ? refuse_scope(r, needed, err) : 0;
}

int access_limit_job(const struct req *r, struct store *db, const char *job_id, struct error *err)
{
    if (r->who.scope >= ACCESS_SCOPE_ALL)
        return 0;
    return store_job_limit(db, job_id, access_scope_name(r->who.scope), err);
}

/* ---- kinds of credentials ---------------------------------------------------------------------------------------- */

static int refuse_admin_only(const struct req *r, const struct access_row *row, struct error *err)
{
    return error_set(err, ERR_FORBIDDEN, "only an admin may %s, and user '%s' is not an admin", row->what,
                     r->who.username);
}

static int refuse_credential(const struct req *r, struct error *err)
{
    const struct access_row *row = access_row_of(r);
    const char *method = r->route ? r->route->method : r->run->match.raw->method;
    const char *path = r->route ? r->route->path : r->run->match.raw->pattern;
    if (r->who.kind == PRINCIPAL_TASK)
        return error_set(err, ERR_FORBIDDEN,
                         "forbidden: %s %s is not for the session token of a task, which speaks for its own "
                         "allocation only; DET_USER_TOKEN speaks for the task's owner",
                         method, path);
    if (r->who.kind == PRINCIPAL_USER_TOKEN && row->what)
        return error_set(err, ERR_FORBIDDEN,
                         "only an admin may %s, and DET_USER_TOKEN never has an admin's rights: log in", row->what);
    if (r->who.kind == PRINCIPAL_USER_TOKEN)
        return error_set(err, ERR_FORBIDDEN, "forbidden: %s %s is not for DET_USER_TOKEN, the login of a task: log in",
                         method, path);
    return error_set(err, ERR_FORBIDDEN,
                     "forbidden: %s %s is for a task or an agent alone, which asks with its own token", method, path);
}

int access_check_credential(const struct req *r, struct error *err)
{
    switch (access_rule_of(r)->word) {
    case ACCESS_NO:
        return r->who.kind == PRINCIPAL_NONE ? error_set(err, ERR_UNAUTHENTICATED, "token missing")
                                             : refuse_credential(r, err);
    case ACCESS_ADMIN:
        return access_roles_give_rights(r) ? access_check_scope(r, err) : refuse_admin_only(r, access_row_of(r), err);
    default:
        return access_check_scope(r, err);
    }
}

/* ---- who owns an object ------------------------------------------------------------------------------------------ */

static int refuse_task(const struct req *r, struct access_id id, struct error *err)
{
    char text[ACCESS_ID_TEXT_MAX];
    return error_set(err, ERR_FORBIDDEN,
                     "forbidden: %s %s is not of allocation %s, which this session token speaks for",
                     access_kinds[id.object].name, access_id_text(id, text), r->who.allocation_id);
}

static int refuse_person(const struct req *r, struct access_id id, const char *owner, struct error *err)
{
    char text[ACCESS_ID_TEXT_MAX];
    const char *kind = access_kinds[id.object].name;
    access_id_text(id, text);
    if (!owner)
        return error_set(err, ERR_FORBIDDEN, "forbidden: %s %s belongs to nobody; an admin may change it", kind, text);
    return error_set(err, ERR_FORBIDDEN,
                     "forbidden: %s %s belongs to user '%s': its owner and admins may change it, and user "
                     "'%s' is neither; ask one of them",
                     kind, text, owner, r->who.username);
}

static bool only_owners(const struct req *r, enum access_word word)
{
    return word == ACCESS_OWNER_ALWAYS || word == ACCESS_EACH_ALWAYS || !r->api->sharing_open;
}

int access_may_change_of(const struct req *r, struct access_id id, int32_t owner_id, const char *owner_name,
                         int32_t workspace_id, struct error *err)
{
    if (access_by_roles(r))
        return access_judge_asked(r, id, &(struct store_owner){.user_id = owner_id, .workspace_id = workspace_id}, err);
    enum access_word word = access_rule_of(r)->word;
    if (word == ACCESS_ANY || !only_owners(r, word) || r->who.user_id == owner_id)
        return 0;
    return refuse_person(r, id, owner_name ? owner_name : "another one", err);
}

bool access_sees_secrets(const struct req *r, int32_t owner_id)
{
    if (r->who.kind == PRINCIPAL_NONE || (r->who.kind != PRINCIPAL_TASK && r->who.scope < ACCESS_SCOPE_ALL))
        return false;
    if (owner_id && r->who.user_id == owner_id)
        return true;
    return r->who.kind != PRINCIPAL_TASK && (r->api->sharing_open || (r->who.kind == PRINCIPAL_USER && r->who.admin));
}

bool access_is_own(const struct req *r, struct access_id id)
{
    const struct principal *who = &r->who;
    switch (id.object) {
    case ACCESS_OBJECT_EXPERIMENT:
        return id.number && id.number == who->experiment_id;
    case ACCESS_OBJECT_TRIAL:
        return id.number && id.number == who->trial_id;
    case ACCESS_OBJECT_TASK:
    case ACCESS_OBJECT_COMMAND:
    case ACCESS_OBJECT_NOTEBOOK:
    case ACCESS_OBJECT_SHELL:
    case ACCESS_OBJECT_TENSORBOARD:
        return id.text && *id.text && strcmp(id.text, who->task_id) == 0;
    case ACCESS_OBJECT_ALLOCATION:
        return id.text && *id.text && strcmp(id.text, who->allocation_id) == 0;
    default:
        return false;
    }
}

/* A trial's task owns the checkpoints that its trial reported. A task that removes files owns those of its
 * experiment. */
bool access_is_own_checkpoint(const struct req *r, const struct store_owner *o)
{
    if (r->who.trial_id)
        return o->trial_id == r->who.trial_id;
    return o->experiment_id && o->experiment_id == r->who.experiment_id;
}

int access_owner_of(struct req *r, struct store *db, struct access_id id, struct store_owner *ret, struct error *err)
{
    const char *text = id.text;
    /* a checkpoint may be named by the beginning of its id */
    if (id.object == ACCESS_OBJECT_CHECKPOINT && r->may && text &&
        store_checkpoint_find(db, text, &r->arena, &text, NULL) < 0)
        text = id.text;
    return store_owner_get(db, access_kinds[id.object].stored, id.number,
                           text                              ? text
                           : access_kinds[id.object].by_text ? ""
                                                             : NULL,
                           &r->arena, ret, err);
}

static int check_stored(struct req *r, struct store *db, struct access_id id, bool may_be_missing, struct error *err)
{
    struct store_owner o = {0};
    int rc = access_owner_of(r, db, id, &o, err);
    if (rc < 0)
        return -1;
    if (rc == 0)
        return may_be_missing ? 0 : access_not_found(id, err);
    if (r->who.kind == PRINCIPAL_TASK)
        return id.object == ACCESS_OBJECT_CHECKPOINT && access_is_own_checkpoint(r, &o) ? 0 : refuse_task(r, id, err);
    if (!only_owners(r, access_rule_of(r)->word) || (o.user_id && o.user_id == r->who.user_id))
        return 0;
    return refuse_person(r, id, o.username, err);
}

int access_may_change(struct req *r, struct store *db, struct access_id id, struct error *err)
{
    if (access_by_roles(r))
        return access_judge_stored(r, db, id, err);
    if (access_rule_of(r)->word == ACCESS_ANY || (r->who.kind == PRINCIPAL_TASK && access_is_own(r, id)))
        return 0;
    return check_stored(r, db, id, /* may_be_missing= */ false, err);
}

int access_may_assign(const struct req *r, int32_t workspace_id, struct error *err)
{
    if (r->api->by_roles)
        return access_need(r, PERMISSION_ASSIGN_ROLES, workspace_id, err);
    if (r->who.admin)
        return 0;
    return error_set(err, ERR_FORBIDDEN, "only an admin may assign roles, and user '%s' is not an admin",
                     r->who.username);
}

/* ---- the object of the request ----------------------------------------------------------------------------------- */

/* The field of the decoded request that `at` names; NULL if the message around it is missing. The generator has
 * checked that the names exist. */
const void *access_find_field(const struct req *r, const char *at, const struct codec_field **ret)
{
    const struct codec_message *message = r->route->request;
    const char *from = r->in;
    for (;;) {
        size_t n = strcspn(at, ".");
        const struct codec_field *field = codec_field_by_name(message, at, n);
        *ret = field;
        if (!at[n])
            return from + field->offset;
        memcpy(&from, from + field->offset, sizeof(from));
        if (!from)
            return NULL;
        message = field->message;
        at += n + 1;
    }
}

static struct access_id id_of_request(const struct req *r, const struct access_rule *rule)
{
    struct access_id id = {.object = rule->object};
    const struct codec_field *at;
    const void *field = access_find_field(r, rule->at, &at);
    if (field && access_kinds[rule->object].by_text)
        memcpy(&id.text, field, sizeof(id.text));
    else if (field)
        memcpy(&id.number, field, sizeof(id.number));
    return id;
}

/* The owner of an object that belongs to something live. 0: the core does not know it, ask the store. */
static int32_t owner_in_memory(const struct core *c, struct access_id id)
{
    struct core_experiment_view x;
    struct core_trial_view t;
    struct core_task_view task;
    if (id.object == ACCESS_OBJECT_ALLOCATION) {
        const struct allocation_row *row = id.text ? core_allocation(c, id.text) : NULL;
        id = row && !row->trial_id ? ACCESS_TASK(row->task_id) : ACCESS_TRIAL(row ? row->trial_id : 0);
    }
    if (access_kinds[id.object].stored == STORE_OWNED_TASK && access_kinds[id.object].by_text)
        return id.text && core_task(c, id.text, &task) ? task.row->owner_id : 0;
    if (id.object == ACCESS_OBJECT_TRIAL)
        id = ACCESS_EXPERIMENT(id.number && core_trial(c, id.number, &t) ? t.row->experiment_id : 0);
    if (id.object != ACCESS_OBJECT_EXPERIMENT || !id.number || !core_experiment(c, id.number, &x))
        return 0;
    return x.row->owner_id;
}

static int check_owner(const struct req *r, const struct core *core, const struct access_rule *rule,
                       struct access_id id, struct error *err)
{
    if (!only_owners(r, rule->word))
        return 0;
    int32_t owner_id = owner_in_memory(core, id);
    if (!owner_id)
        return ACCESS_ASKS_STORE;
    if (owner_id == r->who.user_id)
        return 0;
    const struct identity_user *owner = identities_user(r->api->identities, owner_id);
    return refuse_person(r, id, owner ? owner->username : "another one", err);
}

static int check_own(const struct req *r, struct access_id id, struct error *err)
{
    if (id.object == ACCESS_OBJECT_USER)
        return id.number == r->who.user_id ? 0 : refuse_admin_only(r, access_row_of(r), err);
    if (id.object == ACCESS_OBJECT_CHECKPOINT)
        return ACCESS_ASKS_STORE;
    return access_is_own(r, id) ? 0 : refuse_task(r, id, err);
}

/* Whether the request names no object. A parameter of the path is always there. */
static bool is_missing(const struct req *r, const struct access_rule *rule, struct access_id id)
{
    const struct route_match *m = &r->run->match.rpc;
    for (size_t i = 0; i < m->param_n; i++)
        if (strcmp(m->param[i].name, rule->at) == 0)
            return false;
    return access_kinds[rule->object].by_text ? !id.text || !*id.text : !id.number;
}

int access_check_object(const struct req *r, const struct core *core, struct error *err)
{
    const struct access_rule *rule = access_rule_of(r);
    if (access_by_roles(r))
        return access_check_roles(r, err);
    if (rule->word != ACCESS_OWN && rule->word != ACCESS_OWNER && rule->word != ACCESS_OWNER_ALWAYS)
        return 0;
    struct access_id id = id_of_request(r, rule);
    if (is_missing(r, rule, id))
        return error_set(err, ERR_INVALID, "%s is missing: it names the %s of this request", rule->at,
                         access_kinds[rule->object].name);
    return rule->word == ACCESS_OWN ? check_own(r, id, err) : check_owner(r, core, rule, id, err);
}

int access_check_stored(struct req *r, struct store *db, struct error *err)
{
    const struct access_rule *rule = access_rule_of(r);
    if (access_by_roles(r))
        return access_check_roles_stored(r, db, err);
    return check_stored(r, db, id_of_request(r, rule), rule->may_be_missing, err);
}

/* ---- a line in the master's log for each change ------------------------------------------------------------------ */

static void log_change(const struct req *r, const char *object, const char *id)
{
    char token[48] = "";
    if (r->who.access_token)
        snprintf(token, sizeof(token), " access_token=%lld", (long long)r->who.session_id);
    if (object)
        log_info("api.changed", "route=%s %s=%s by=%s%s", r->route->rpc, object, log_quote(id),
                 log_quote(r->who.username), token);
    else
        log_info("api.changed", "route=%s by=%s%s", r->route->rpc, log_quote(r->who.username), token);
}

/* Routes by which a run reports about itself (tier A) are not logged: they are called too often, and nobody decided
 * on them. */
void access_log_change(const struct req *r)
{
    if (!r->route || r->route->tier == 'A' || strcmp(r->route->method, "GET") == 0 || r->who.kind == PRINCIPAL_NONE ||
        r->who.kind == PRINCIPAL_TASK)
        return;
    const struct access_rule *rule = &access_row_of(r)->person;
    char text[ACCESS_ID_TEXT_MAX];
    switch (rule->word) {
    case ACCESS_OWN:
    case ACCESS_OWNER:
    case ACCESS_OWNER_ALWAYS:
        log_change(r, access_kinds[rule->object].name, access_id_text(id_of_request(r, rule), text));
        return;
    case ACCESS_EACH:
    case ACCESS_EACH_ALWAYS:
    case ACCESS_ADMIN:
        log_change(r, NULL, NULL);
        return;
    default:
        return;
    }
}
