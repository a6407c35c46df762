#include "store/experiments/checkpoints.h"

#include "common/json/json.h"
#include "store/lists/list.h"
#include "store/metrics/metric_seal.h"

/* ---- counters: a checkpoint counts while it has files ------------------------------------------------------------ */

static bool has_files(const char *state)
{
    return strcmp(state, "COMPLETED") == 0 || strcmp(state, "PARTIALLY_DELETED") == 0;
}

static int add_to_counters(struct store *st, const struct counted_checkpoint *c, int sign, struct error *err)
{
    if (!c->trial_id || !has_files(c->state))
        return 0;
    const struct sql_value n = sql_int(sign), size = sql_int(sign * c->size);
    if (query_send(st, Q_TRIALS_ADD_CHECKPOINT, SQL_ARGS(sql_int(c->trial_id), n, size), err) < 0)
        return -1;
    return query_send(st, Q_EXPERIMENTS_ADD_CHECKPOINT, SQL_ARGS(sql_int(c->experiment_id), n, size), err);
}

/* Runs the statement that changes a checkpoint, and changes the counters of trial and experiment accordingly. */
static int change_checkpoint(struct store *st, const char *uuid, enum sql_query name, struct sql_args args,
                             struct error *err)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct counted_checkpoint before, after;
    int had = get_checkpoints_counted(st, SQL_ARGS(sql_text(uuid)), &a, &before, err);
    if (had < 0 || (had && add_to_counters(st, &before, -1, err) < 0) || query_exec(st, name, args, NULL, err) < 0)
        return -1;
    int has = get_checkpoints_counted(st, SQL_ARGS(sql_text(uuid)), &a, &after, err);
    if (has == 0)
        return error_set(err, ERR_NOT_FOUND, "checkpoint '%s' not found", uuid);
    return has < 0 ? -1 : add_to_counters(st, &after, 1, err);
}

/* Adds up the sizes of a resources object. A size may be a JSON text, since the API sends an int64 as one. */
static int parse_resources(const char *resources, int64_t *ret_size, int *ret_n, struct error *err)
{
    cleanup_json struct json_object *files = NULL;
    int64_t size = 0;
    if (json_parse(resources, strlen(resources), &files, err) < 0)
        return error_wrap(err, "checkpoint resources");
    if (!json_object_is_type(files, json_type_object))
        return error_set(err, ERR_INVALID, "checkpoint resources: expected an object of paths and sizes");
    json_object_object_foreach(files, path, v)
    {
        (void)path;
        size += json_object_get_int64(v);
    }
    *ret_size = size;
    *ret_n = json_object_object_length(files);
    return 0;
}

/* ---- the owner of a checkpoint ----------------------------------------------------------------------------------- */

int store_checkpoint_owner(struct store *st, const char *uuid, struct arena *a, struct store_checkpoint_owner *ret,
                           bool *ret_found, struct error *err)
{
    int rc = get_checkpoints_owner(st, SQL_ARGS(sql_text(uuid)), a, ret, err);
    *ret_found = rc > 0;
    return rc < 0 ? -1 : 0;
}

int store_checkpoint_check_trial(struct store *st, const char *uuid, int32_t trial_id, struct error *err)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct store_checkpoint_owner owner;
    bool found;
    if (store_checkpoint_owner(st, uuid, &a, &owner, &found, err) < 0)
        return -1;
    if (!found || owner.trial_id == trial_id)
        return 0;
    return error_set(err, ERR_CONFLICT,
                     "checkpoint %s was reported by another trial, to which it belongs: nothing was changed; "
                     "a new checkpoint needs a UUID of its own",
                     uuid);
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

int store_checkpoint_put(struct store *st, const struct store_checkpoint *c, struct error *err)
{
    struct store_checkpoint row = *c;
    int n;
    if (parse_resources(c->resources ? c->resources : "{}", &row.size, &n, err) < 0 ||
        store_checkpoint_check_trial(st, c->uuid, c->trial_id, err) < 0)
        return -1;
    if (change_checkpoint(st, c->uuid, Q_CHECKPOINTS_PUT, ARGS_CHECKPOINTS_PUT(&row), err) < 0)
        return explain_conflict(err, "checkpoint %s: trial %d, storage %d or state \"%s\" does not exist", c->uuid,
                                c->trial_id, c->storage_id, c->state);
    return 0;
}

int store_checkpoint_set_resources(struct store *st, const char *uuid, const char *resources, struct error *err)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct counted_checkpoint before;
    int64_t size, old_size;
    int n, old_n;
    int rc = get_checkpoints_counted(st, SQL_ARGS(sql_text(uuid)), &a, &before, err);
    if (query_found(rc, err, "checkpoint '%s'", uuid) < 0 || parse_resources(resources, &size, &n, err) < 0 ||
        parse_resources(before.resources, &old_size, &old_n, err) < 0)
        return -1;
    const char *state = n == 0 ? "DELETED" : n < old_n ? "PARTIALLY_DELETED" : before.state;
    return change_checkpoint(st, uuid, Q_CHECKPOINTS_SET_RESOURCES,
                             SQL_ARGS(sql_text(uuid), sql_text(resources), sql_int(size), sql_text(state)), err);
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* Adds the training metrics of a checkpoint's step that have been sealed into a block and were therefore not found
 * in a row. */
static int add_sealed_metrics(struct store *st, struct store_checkpoint *c, size_t n, struct arena *a,
                              struct error *err)
{
    for (size_t i = 0; i < n; i++) {
        struct report_row report;
        if (c[i].training_metrics || !c[i].trial_id)
            continue;
        int found = metric_sealed_at(st, c[i].trial_id, "training", c[i].steps_completed, a, &report, err);
        if (found < 0)
            return -1;
        if (found)
            c[i].training_metrics = report.avg_metrics;
    }
    return 0;
}

static int get_checkpoint(struct store *st, const char *uuid, struct arena *a, struct store_checkpoint *ret,
                          struct error *err)
{
    int rc = get_checkpoints_by_uuid(st, SQL_ARGS(sql_text(uuid)), a, ret, err);
    return rc > 0 && add_sealed_metrics(st, ret, 1, a, err) < 0 ? -1 : rc;
}

int store_checkpoint_get(struct store *st, const char *uuid, struct arena *a, struct store_checkpoint *ret,
                         struct error *err)
{
    bool own;
    if (metric_reading_begin(st, &own, err) < 0)
        return -1;
    int rc = get_checkpoint(st, uuid, a, ret, err);
    metric_reading_end(st, own);
    return query_found(rc, err, "checkpoint '%s'", uuid);
}

int store_checkpoint_find(struct store *st, const char *beginning, struct arena *a, const char **ret, struct error *err)
{
    enum { BEGINNING_MIN = 4 };
    struct uuid_range r = {"", ""};
    size_t n = strlen(beginning);
    *ret = beginning;
    if (n < BEGINNING_MIN || n >= CORE_UUID_MAX - 1 || strspn(beginning, "0123456789abcdef-") != n)
        return 0; /* the text is a whole UUID or none; the caller reports if there is no such checkpoint */
    if (get_checkpoints_by_beginning(st, SQL_ARGS(sql_text(beginning)), a, &r, err) < 0)
        return -1;
    if (strcmp(r.first, r.last) != 0)
        return error_set(err, ERR_INVALID,
                         "several checkpoints begin with '%s', such as %s and %s; give more of the UUID", beginning,
                         r.first, r.last);
    *ret = *r.first ? r.first : beginning;
    return 0;
}

int store_checkpoints_by_uuid(struct store *st, struct store_texts uuids, struct arena *a,
                              struct store_checkpoint **ret, size_t *ret_n, struct error *err)
{
    struct store_checkpoint *rows = arena_array(a, struct store_checkpoint, uuids.n + 1);
    size_t n = 0;
    bool own;
    int rc = metric_reading_begin(st, &own, err);
    if (rc < 0)
        return -1;
    for (size_t i = 0; i < uuids.n && rc >= 0; i++) {
        rc = get_checkpoint(st, uuids.text[i], a, &rows[n], err);
        n += rc > 0;
    }
    metric_reading_end(st, own);
    *ret = rows;
    *ret_n = n;
    return rc < 0 ? -1 : 0;
}

int store_checkpoint_list(struct store *st, const struct store_checkpoint_filter *f, struct arena *a,
                          struct store_checkpoint_list *ret, struct error *err)
{
    bool own;
    if (metric_reading_begin(st, &own, err) < 0)
        return -1;
    int rc = checkpoint_list(st, f, a, ret, err);
    if (rc == 0)
        rc = add_sealed_metrics(st, ret->checkpoint, ret->checkpoint_n, a, err);
    metric_reading_end(st, own);
    return rc;
}

/* ---- storage backends -------------------------------------------------------------------------------------------- */

int store_storage_backend_id(struct store *st, const char *config, int32_t *ret, struct error *err)
{
    const struct sql_args args = SQL_ARGS(sql_text(config));
    if (query_exec(st, Q_STORAGE_BACKENDS_PUT, args, NULL, err) < 0)
        return -1;
    return query_i32(st, Q_STORAGE_BACKENDS_ID, args, ret, err);
}
