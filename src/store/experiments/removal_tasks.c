/* Removals that tasks carry out, and those of TensorBoard's files. */
#include <string.h>

#include "store/experiments/checkpoints.h"
#include "store/experiments/removals.h"
#include "store/row_io.h"

enum { CLAIMED_AT_ONCE = 1000, TRIES_TO_LONGEST_PAUSE = 6 };
#define SHORTEST_PAUSE_US 60000000ll
#define LONGEST_PAUSE_US 3600000000ll

int64_t store_removal_pause_us(int32_t tries)
{
    return tries < TRIES_TO_LONGEST_PAUSE ? SHORTEST_PAUSE_US << tries : LONGEST_PAUSE_US;
}

/* ---- TensorBoard's files ----------------------------------------------------------------------------------------- */

static int due_tensorboard(struct store *st, int64_t now_us, bool by_task, struct arena *a,
                           struct store_tensorboard_removal *ret, struct error *err)
{
    *ret = (struct store_tensorboard_removal){0};
    return get_tensorboards_due(st, SQL_ARGS(sql_int(now_us), sql_bool(by_task)), a, ret, err) < 0 ? -1 : 0;
}

int store_tensorboard_removal_due(struct store *st, int64_t now_us, struct arena *a,
                                  struct store_tensorboard_removal *ret, struct error *err)
{
    return due_tensorboard(st, now_us, /* by_task= */ false, a, ret, err);
}

/* ---- removals by tasks ------------------------------------------------------------------------------------------- */

int store_removal_group_next(struct store *st, int64_t now_us, struct arena *a, struct store_removal_group *ret,
                             bool *ret_found, struct error *err)
{
    struct store_tensorboard_removal b;
    int rc = get_removals_for_task(st, SQL_ARGS(sql_int(now_us)), a, ret, err);
    *ret_found = rc > 0;
    if (rc != 0)
        return rc < 0 ? -1 : 0;
    if (due_tensorboard(st, now_us, /* by_task= */ true, a, &b, err) < 0)
        return -1;
    *ret_found = b.experiment_id != 0;
    *ret = (struct store_removal_group){.experiment_id = b.experiment_id, .owner_id = b.owner_id};
    return 0;
}

int store_removal_group_claim(struct store *st, const struct store_removal_group *g, const char *task_id,
                              int64_t now_us, struct error *err)
{
    if (!g->globs)
        return query_exec(st, Q_TENSORBOARDS_CLAIM, SQL_ARGS(sql_text(task_id), sql_int(g->experiment_id)), NULL, err);
    return query_exec(st, Q_REMOVALS_CLAIM, ARGS_REMOVALS_CLAIM(g, task_id, now_us, CLAIMED_AT_ONCE), NULL, err);
}

int store_removal_reported(struct store *st, const char *uuid, const char *resources, const char *task_id,
                           struct error *err)
{
    if (store_checkpoint_set_resources(st, uuid, resources, err) < 0)
        return -1;
    bool nothing_left = strcmp(resources, "{}") == 0;
    return query_exec(st, Q_REMOVALS_REPORTED, SQL_ARGS(sql_text(uuid), sql_text(task_id), sql_bool(nothing_left)),
                      NULL, err);
}

int store_removals_task_ended(struct store *st, const char *task_id, bool well, int64_t now_us, const char *reason,
                              struct error *err)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct store_removal *r;
    struct store_tensorboard_removal b;
    size_t n;
    if (store_removals_of_task(st, task_id, &a, &r, &n, err) < 0 ||
        store_tensorboard_removal_of_task(st, task_id, &a, &b, err) < 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        if (store_removal_failed(st, r[i].uuid, r[i].globs, now_us + store_removal_pause_us(r[i].tries), reason, err) <
            0)
            return -1;
    if (b.experiment_id == 0)
        return 0;
    if (well)
        return store_tensorboard_removal_done(st, b.experiment_id, err);
    return store_tensorboard_removal_failed(st, b.experiment_id, now_us + store_removal_pause_us(b.tries), reason, err);
}
