#include "store/models/models.h"

#include <stdlib.h>
#include <string.h>

#include "common/json/json.h"
#include "store/row_io.h"

int store_model_delete(struct store *st, int32_t id, struct error *err)
{
    if (mark_last_id(st, STORE_IDS_MODELS, err) < 0 ||
        query_exec(st, Q_TRIAL_SOURCE_INFOS_FORGET_VERSION, ARGS_TRIAL_SOURCE_INFOS_FORGET_VERSION(id, 0), NULL, err) <
            0)
        return -1;
    return query_exec_one(st, Q_MODELS_DELETE, ARGS_MODELS_DELETE(id), err, "model %d", id);
}

/* ---- versions ---------------------------------------------------------------------------------------------------- */

static int check_registrable(struct store *st, const char *uuid, struct error *err)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct store_registrable c;
    if (store_registrable_get(st, uuid, &a, &c, err) < 0)
        return -1;
    if (strcmp(c.state, "COMPLETED") != 0)
        return error_set(err, ERR_PRECONDITION,
                         "checkpoint %s is in %s state; checkpoints for model versions must be in a COMPLETED state",
                         uuid, c.state);
    if (c.deleting)
        return error_set(err, ERR_PRECONDITION,
                         "checkpoint %s cannot be registered: the experiment or the trial that it belongs to is being "
                         "deleted",
                         uuid);
    if (c.removing)
        return error_set(err, ERR_PRECONDITION,
                         "checkpoint %s cannot be registered: its files are about to be removed, by a request or by "
                         "the policy of its experiment",
                         uuid);
    return 0;
}

static int count_versions(struct store *st, int32_t model_id, int64_t now_us, struct error *err)
{
    return query_exec(st, Q_MODELS_COUNT_VERSIONS, ARGS_MODELS_COUNT_VERSIONS(model_id, now_us), NULL, err);
}

int store_model_version_register(struct store *st, struct store_model_version *v, struct error *err)
{
    int32_t last;
    if (check_registrable(st, v->checkpoint_uuid, err) < 0 ||
        query_i32(st, Q_MODEL_VERSIONS_LAST, ARGS_MODEL_VERSIONS_LAST(v->model_id), &last, err) < 0)
        return -1;
    v->version = last + 1;
    if (query_exec(st, Q_MODEL_VERSIONS_INSERT, ARGS_MODEL_VERSIONS_INSERT(v), NULL, err) < 0)
        return -1;
    return count_versions(st, v->model_id, v->created_us, err);
}

static int check_no_alias(const struct store_model_version *v, struct error *err)
{
    cleanup_json struct json_object *names = NULL;
    if (json_parse(v->aliases, strlen(v->aliases), &names, err) < 0)
        return -1;
    if (json_object_array_length(names) == 0)
        return 0;
    return error_set(err, ERR_PRECONDITION,
                     "version %d has the alias '%s': move the alias to another version or remove it before this "
                     "version is deleted",
                     v->version, json_object_get_string(json_object_array_get_idx(names, 0)));
}

int store_model_version_delete(struct store *st, const struct store_model_version *v, int64_t now_us, struct error *err)
{
    if (check_no_alias(v, err) < 0 ||
        query_exec(st, Q_TRIAL_SOURCE_INFOS_FORGET_VERSION,
                   ARGS_TRIAL_SOURCE_INFOS_FORGET_VERSION(v->model_id, v->version), NULL, err) < 0 ||
        query_exec_one(st, Q_MODEL_VERSIONS_DELETE, ARGS_MODEL_VERSIONS_DELETE(v->model_id, v->version), err,
                       "version %d of the model", v->version) < 0)
        return -1;
    return count_versions(st, v->model_id, now_us, err);
}

/* ---- finding a version ------------------------------------------------------------------------------------------- */

enum { DIGITS_MAX = 9 };

static bool is_number(const char *text)
{
    size_t n = strspn(text, "0123456789");
    return n > 0 && n <= DIGITS_MAX && !text[n];
}

/* *ret is 0 if there is no such version. */
static int number_of(struct store *st, int32_t model_id, const char *named, int32_t *ret, struct error *err)
{
    if (is_number(named)) {
        *ret = (int32_t)strtol(named, NULL, 10);
        return 0;
    }
    if (strcmp(named, "-1") == 0)
        return query_i32(st, Q_MODEL_VERSIONS_LAST, ARGS_MODEL_VERSIONS_LAST(model_id), ret, err);
    return query_i32(st, Q_MODEL_ALIASES_VERSION, ARGS_MODEL_ALIASES_VERSION(model_id, named), ret, err);
}

int store_model_version_find(struct store *st, const struct store_model *m, const char *named, struct arena *a,
                             struct store_model_version *ret, struct error *err)
{
    int32_t number = 0;
    if (number_of(st, m->id, named, &number, err) < 0)
        return -1;
    int rc = get_model_versions_by_number(st, ARGS_MODEL_VERSIONS_BY_NUMBER(m->id, number), a, ret, err);
    return query_found(rc, err, "model '%s' version '%.80s'", m->name, named);
}

/* ---- registered checkpoints are kept ----------------------------------------------------------------------------- */

int store_check_unregistered(struct store *st, const char *uuid, const char *done, struct error *err)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct store_registration at;
    if (store_registration_of_checkpoint(st, uuid, &a, &at, err) < 0)
        return -1;
    if (at.version == 0)
        return 0;
    return error_set(err, ERR_INVALID,
                     "checkpoint %s is in the model registry, as version %d of model \"%s\", and cannot be %s: delete "
                     "that version first",
                     uuid, at.version, at.model_name, done);
}

static int refuse_deletion(const struct store_registration *at, const char *what, int32_t id, struct error *err)
{
    if (at->version == 0)
        return 0;
    return error_set(err, ERR_INVALID,
                     "%s %d cannot be deleted: checkpoints are registered as model versions; checkpoint %s is version "
                     "%d of model \"%s\": delete that version first",
                     what, id, at->checkpoint_uuid, at->version, at->model_name);
}

int store_check_none_registered(struct store *st, int32_t experiment_id, int32_t trial_id, struct error *err)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct store_registration at;
    if (store_registration_of_experiment(st, experiment_id, trial_id, &a, &at, err) < 0)
        return -1;
    return refuse_deletion(&at, trial_id ? "run" : "experiment", trial_id ? trial_id : experiment_id, err);
}

int store_check_place_unregistered(struct store *st, int32_t project_id, int32_t workspace_id, struct error *err)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct store_registration at;
    if (store_registration_of_place(st, project_id, workspace_id, &a, &at, err) < 0)
        return -1;
    return refuse_deletion(&at, project_id ? "project" : "workspace", project_id ? project_id : workspace_id, err);
}
