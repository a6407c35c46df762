#include "api/pipeline/access.h"

#include <stdio.h>
#include <string.h>

#include "api/pipeline/identity.h"
#include "api/pipeline/internal.h"
#include "api/pipeline/request_run.h"
#include "common/system/log.h"
#include "core/core.h"
#include "gen/handlers.h"
#include "store/accounts/owners.h"
#include "store/functions.h"

/* ---- the kinds of objects ---------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    bool by_text;
    enum store_owned stored;
} objects[] = {
    [ACCESS_OBJECT_EXPERIMENT] = {"experiment", false, STORE_OWNED_EXPERIMENT},
    [ACCESS_OBJECT_TRIAL] = {"trial", false, STORE_OWNED_TRIAL},
    [ACCESS_OBJECT_TASK] = {"task", true, STORE_OWNED_TASK},
    [ACCESS_OBJECT_ALLOCATION] = {"allocation", true, STORE_OWNED_ALLOCATION},
    [ACCESS_OBJECT_CHECKPOINT] = {"checkpoint", true, STORE_OWNED_CHECKPOINT},
    [ACCESS_OBJECT_WORKSPACE] = {"workspace", false, STORE_OWNED_WORKSPACE},
    [ACCESS_OBJECT_PROJECT] = {"project", false, STORE_OWNED_PROJECT},
    [ACCESS_OBJECT_TEMPLATE] = {"template", true, STORE_OWNED_TEMPLATE},
    [ACCESS_OBJECT_MODEL] = {"model", true, STORE_OWNED_MODEL},
    [ACCESS_OBJECT_WEBHOOK] = {"webhook", false, STORE_OWNED_WEBHOOK},
    [ACCESS_OBJECT_USER] = {"user", false, 0 /* no query: a user is their own owner */},
    [ACCESS_OBJECT_COMMAND] = {"command", true, STORE_OWNED_TASK},
    [ACCESS_OBJECT_NOTEBOOK] = {"notebook", true, STORE_OWNED_TASK},
    [ACCESS_OBJECT_SHELL] = {"shell", true, STORE_OWNED_TASK},
    [ACCESS_OBJECT_TENSORBOARD] = {"tensorboard", true, STORE_OWNED_TASK},
};

enum { ID_TEXT_MAX = 96 };

static const char *id_text(struct access_id id, char buffer[ID_TEXT_MAX])
{
    if (objects[id.object].by_text)
        snprintf(buffer, ID_TEXT_MAX, "%s", id.text ? id.text : "");
    else
        snprintf(buffer, ID_TEXT_MAX, "%d", id.number);
    return buffer;
}

static int not_found(struct access_id id, struct error *err)
{
    char text[ID_TEXT_MAX];
    if (id.object == ACCESS_OBJECT_ALLOCATION && !strchr(id.text, '.'))
        return error_set(err, ERR_INVALID, "allocation id '%.80s' is malformed; it is TASK_ID.N", id.text);
    return error_set(err, ERR_NOT_FOUND, "%s '%s' not found", objects[id.object].name, id_text(id, text));
}

/* ---- the rule ---------------------------------------------------------------------------------------------------- */

static const struct access_row *row_of(const struct req *r)
{
    return r->route ? &route_access[r->route - routes] : &r->run->match.raw->access;
}

static const struct access_rule *rule_of(const struct req *r)
{
    const struct access_row *row = row_of(r);
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
    enum access_scope needed = row_of(r)->scope;
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
    const struct access_row *row = row_of(r);
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
    switch (rule_of(r)->word) {
    case ACCESS_NO:
        return r->who.kind == PRINCIPAL_NONE ? error_set(err, ERR_UNAUTHENTICATED, "token missing")
                                             : refuse_credential(r, err);
    case ACCESS_ADMIN:
        return refuse_admin_only(r, row_of(r), err);
    default:
        return access_check_scope(r, err);
    }
}

/* ---- who owns an object ------------------------------------------------------------------------------------------ */

static int refuse_task(const struct req *r, struct access_id id, struct error *err)
{
    char text[ID_TEXT_MAX];
    return error_set(err, ERR_FORBIDDEN,
                     "forbidden: %s %s is not of allocation %s, which this session token speaks for",
                     objects[id.object].name, id_text(id, text), r->who.allocation_id);
}

static int refuse_person(const struct req *r, struct access_id id, const char *owner, struct error *err)
{
    char text[ID_TEXT_MAX];
    const char *kind = objects[id.object].name;
    id_text(id, text);
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
                         struct error *err)
{
    enum access_word word = rule_of(r)->word;
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

static bool is_own(const struct req *r, struct access_id id)
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
static bool is_own_checkpoint(const struct req *r, const struct store_owner *o)
{
    if (r->who.trial_id)
        return o->trial_id == r->who.trial_id;
    return o->experiment_id && o->experiment_id == r->who.experiment_id;
}

static int check_stored(struct req *r, struct store *db, struct access_id id, bool may_be_missing, struct error *err)
{
    struct store_owner o = {0};
    int rc = store_owner_get(db, objects[id.object].stored, id.number,
                             id.text                      ? id.text
                             : objects[id.object].by_text ? ""
                                                          : NULL,
                             &r->arena, &o, err);
    if (rc < 0)
        return -1;
    if (rc == 0)
        return may_be_missing ? 0 : not_found(id, err);
    if (r->who.kind == PRINCIPAL_TASK)
        return id.object == ACCESS_OBJECT_CHECKPOINT && is_own_checkpoint(r, &o) ? 0 : refuse_task(r, id, err);
    if (!only_owners(r, rule_of(r)->word) || (o.user_id && o.user_id == r->who.user_id))
        return 0;
    return refuse_person(r, id, o.username, err);
}

int access_may_change(struct req *r, struct store *db, struct access_id id, struct error *err)
{
    if (rule_of(r)->word == ACCESS_ANY || (r->who.kind == PRINCIPAL_TASK && is_own(r, id)))
        return 0;
    return check_stored(r, db, id, /* may_be_missing= */ false, err);
}

int access_may_assign(const struct req *r, int32_t workspace_id, struct error *err)
{
    if (r->who.admin)
        return 0;
    return error_set(err, ERR_FORBIDDEN, "only an admin may assign roles, and user '%s' is not an admin",
                     r->who.username);
}

/* ---- the object of the request ----------------------------------------------------------------------------------- */

/* The field of the decoded request that `at` names; NULL if the message around it is missing. The generator has
 * checked that the names exist. */
static const void *find_field(const struct req *r, const char *at)
{
    const struct codec_message *message = r->route->request;
    const char *from = r->in;
    for (;;) {
        size_t n = strcspn(at, ".");
        const struct codec_field *field = codec_field_by_name(message, at, n);
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
    const void *field = find_field(r, rule->at);
    if (field && objects[rule->object].by_text)
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
    if (objects[id.object].stored == STORE_OWNED_TASK && objects[id.object].by_text)
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
        return id.number == r->who.user_id ? 0 : refuse_admin_only(r, row_of(r), err);
    if (id.object == ACCESS_OBJECT_CHECKPOINT)
        return ACCESS_ASKS_STORE;
    return is_own(r, id) ? 0 : refuse_task(r, id, err);
}

/* Whether the request names no object. A parameter of the path is always there. */
static bool is_missing(const struct req *r, const struct access_rule *rule, struct access_id id)
{
    const struct route_match *m = &r->run->match.rpc;
    for (size_t i = 0; i < m->param_n; i++)
        if (strcmp(m->param[i].name, rule->at) == 0)
            return false;
    return objects[rule->object].by_text ? !id.text || !*id.text : !id.number;
}

int access_check_object(const struct req *r, const struct core *core, struct error *err)
{
    const struct access_rule *rule = rule_of(r);
    if (rule->word != ACCESS_OWN && rule->word != ACCESS_OWNER && rule->word != ACCESS_OWNER_ALWAYS)
        return 0;
    struct access_id id = id_of_request(r, rule);
    if (is_missing(r, rule, id))
        return error_set(err, ERR_INVALID, "%s is missing: it names the %s of this request", rule->at,
                         objects[rule->object].name);
    return rule->word == ACCESS_OWN ? check_own(r, id, err) : check_owner(r, core, rule, id, err);
}

int access_check_stored(struct req *r, struct store *db, struct error *err)
{
    const struct access_rule *rule = rule_of(r);
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
    const struct access_rule *rule = &row_of(r)->person;
    char text[ID_TEXT_MAX];
    switch (rule->word) {
    case ACCESS_OWN:
    case ACCESS_OWNER:
    case ACCESS_OWNER_ALWAYS:
        log_change(r, objects[rule->object].name, id_text(id_of_request(r, rule), text));
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
