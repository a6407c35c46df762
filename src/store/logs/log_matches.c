#include "store/logs/log_matches.h"

#include "store/experiments/trials.h"
#include "store/row_io.h"

int store_log_match_add(struct store *st, const struct store_log_match *m, int64_t now_us, bool *ret_new,
                        struct error *err)
{
    cleanup_arena struct arena a = ARENA_INIT;
    int64_t changes = 0;
    if (query_exec(st, Q_LOG_MATCHES_ADD, ARGS_LOG_MATCHES_ADD(m, now_us, &a), &changes, err) < 0)
        return explain_conflict(err, "task %s does not exist", m->task_id);
    *ret_new = changes > 0;
    return *ret_new && m->policy ? store_trial_set_log_policy_matched(st, m->trial_id, m->policy, err) : 0;
}
