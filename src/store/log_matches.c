#include "store/log_matches.h"

#include <string.h>

#include "store/query.h"
#include "store/trials.h"
#include "store/take.h"

static const char *const actions[LOG_POLICY_ACTION_NR] = {
    [LOG_POLICY_NONE] = "", [LOG_POLICY_CANCEL_RETRIES] = "cancel_retries", [LOG_POLICY_EXCLUDE_NODE] = "exclude_node"};

int store_log_match_add(struct store *st, const struct store_log_match *m, int64_t now_us, bool *ret_new,
                        struct error *err)
{
    int64_t changes = 0;
    if (query_exec(st, Q_LOG_MATCHES_ADD, SQL_ARGS(sql_text(m->task_id), sql_text(m->agent_id), sql_text(m->pattern),
                                                   sql_opt_text(m->policy), sql_text(actions[m->action]),
                                                   sql_int(m->trial_id), sql_int(now_us)), &changes, err) < 0)
        return explain_conflict(err, "task %s does not exist", m->task_id);
    *ret_new = changes > 0;
    return *ret_new && m->policy ? store_trial_set_log_policy_matched(st, m->trial_id, m->policy, err) : 0;
}

static void read_match(struct query *q, struct arena *a, void *row)
{
    struct store_log_match *m = row;
    m->trial_id = take_i32(q);
    m->agent_id = take_text(q, a);
    m->pattern = take_text(q, a);
    m->policy = take_opt_text(q, a);
    const char *action = take_text(q, a);
    for (int i = 0; i < LOG_POLICY_ACTION_NR; i++)
        if (strcmp(action, actions[i]) == 0)
            m->action = (enum log_policy_action)i;
}

int store_log_matches_open(struct store *st, struct arena *a, struct store_log_match **ret, size_t *ret_n,
                           struct error *err)
{
    return query_all(st, Q_LOG_MATCHES_OPEN, SQL_NO_ARGS, read_match, sizeof(**ret), a, ret, ret_n, err);
}
