#include "store/experiments/unmanaged.h"

#include "store/experiments/removals.h"
#include "store/row_io.h"

int store_unmanaged_trial_set_state(struct store *st, int32_t trial_id, enum run_state state, int64_t now_us,
                                    struct error *err)
{
    return query_exec_one(st, Q_UNMANAGED_TRIAL_SET_STATE,
                          SQL_ARGS(sql_int(trial_id), sql_text(run_state_name(state)),
                                   sql_time(run_state_is_over(state) ? now_us : 0), sql_int(now_us)),
                          err, "trial %d", trial_id);
}

/* ---- the state of the experiment --------------------------------------------------------------------------------- */

int store_unmanaged_settle(struct store *st, int32_t experiment_id, struct error *err)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct trial_state *trial;
    size_t n;
    int64_t end_us = 0;
    if (list_unmanaged_trial_states(st, SQL_ARGS(sql_int(experiment_id)), &a, &trial, &n, err) < 0)
        return -1;
    enum run_state *state = arena_array(&a, enum run_state, n + 1);
    for (size_t i = 0; i < n; i++) {
        state[i] = trial[i].state;
        if (trial[i].end_us > end_us)
            end_us = trial[i].end_us;
    }
    enum run_state most = unmanaged_experiment_state(state, (int)n);
    int64_t changed; /* 0 if the experiment is being deleted */
    if (query_exec(st, Q_UNMANAGED_EXPERIMENT_SET,
                   SQL_ARGS(sql_int(experiment_id), sql_text(run_state_name(most)),
                            sql_time(run_state_is_over(most) ? end_us : 0), sql_opt_real(most == RUN_COMPLETED, 1)),
                   &changed, err) < 0)
        return -1;
    return changed && run_state_is_over(most) ? store_collection_ask(st, experiment_id, err) : 0;
}

int store_unmanaged_expire(struct store *st, int64_t heard_before_us, size_t *ret_n, struct error *err)
{
    cleanup_arena struct arena a = ARENA_INIT;
    int32_t *experiment;
    if (query_ids(st, Q_UNMANAGED_TRIALS_EXPIRE, SQL_ARGS(sql_int(heard_before_us)), &a, &experiment, ret_n, err) < 0)
        return -1;
    for (size_t i = 0; i < *ret_n; i++)
        if (store_unmanaged_settle(st, experiment[i], err) < 0)
            return -1;
    return 0;
}

/* ---- checkpoints that trials start from -------------------------------------------------------------------------- */

int store_trials_of_source(struct store *st, const char *checkpoint_uuid, const char *type, struct arena *a,
                           struct store_ints *ret, struct error *err)
{
    int32_t *id = NULL;
    size_t n = 0;
    const struct sql_args args = SQL_ARGS(sql_text(checkpoint_uuid), sql_text(type));
    if (query_ids(st, Q_TRIAL_SOURCE_INFOS_OF_CHECKPOINT, args, a, &id, &n, err) < 0)
        return -1;
    *ret = (struct store_ints){id, n};
    return 0;
}

int store_trials_of_version(struct store *st, int32_t model_id, int32_t version, const char *type, struct arena *a,
                            struct store_ints *ret, struct error *err)
{
    int32_t *id = NULL;
    size_t n = 0;
    const struct sql_args args = SQL_ARGS(sql_int(model_id), sql_int(version), sql_text(type));
    if (query_ids(st, Q_TRIAL_SOURCE_INFOS_OF_VERSION, args, a, &id, &n, err) < 0)
        return -1;
    *ret = (struct store_ints){id, n};
    return 0;
}
