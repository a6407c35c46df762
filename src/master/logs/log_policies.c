#include "master/logs/log_policies.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/hash.h"
#include "common/base/must.h"
#include "common/json/json.h"
#include "common/system/log.h"
#include "core/config/log_policies.h"
#include "master/logs/webhook_patterns.h"
#include "master/master.h"
#include "net/loop/pool.h"
#include "store/experiments/experiments.h"

enum { SETS_MAX = 512, FRESH_US = 60000000, RETRY_US = 100000 };

/* The compiled policies of an experiment. */
struct set {
    int32_t experiment_id;
    int64_t read_us; /* by the monotonic clock */
    struct log_policies *policies;
    UT_hash_handle hh;
};

STAILQ_HEAD(scan_list, log_scan);

/* While a round runs, only the reader's thread uses `sets`, `round`, `webhooks` and `webhooks_read`. */
struct log_policies_scanner {
    struct pool *readers;
    struct loop_timer *retry;
    struct scan_list waiting, round;
    struct set *sets;
    bool busy;
    struct webhook_patterns *webhooks;
    struct {
        bool again; /* the patterns of webhooks are to be read again */
        bool any;   /* webhooks have patterns */
    } webhooks_read;
    /* For the loop: webhooks were changed since the last round began, and whether they may have patterns. */
    bool webhooks_changed, webhooks_any;
};

/* ---- the policies of an experiment; on a reader's thread --------------------------------------------------------- */

static void drop_set(struct log_policies_scanner *p, struct set *s)
{
    HASH_DEL(p->sets, s);
    log_policies_free(s->policies);
    free(s);
}

static struct log_policies *read_policies(struct store *db, int32_t experiment_id)
{
    cleanup_arena struct arena a = ARENA_INIT;
    cleanup_error struct error err = ERROR_INIT;
    cleanup_json struct json_object *config = NULL;
    struct store_experiment x;
    struct exp_values values;
    if (store_experiment_get(db, experiment_id, /* with_config= */ true, &a, &x, &err) < 0 ||
        json_parse(x.config, strlen(x.config), &config, &err) < 0) {
        log_warning("log_policies.unknown", "exp=%d reason=%s action=later", experiment_id, log_quote(error_msg(&err)));
        return NULL;
    }
    exp_values_read(config, &a, &values);
    return log_policies_new(values.log_policies, values.log_policies_n);
}

static struct log_policies *policies_of(struct log_policies_scanner *p, struct store *db, int32_t experiment_id)
{
    struct set *s;
    HASH_FIND(hh, p->sets, &experiment_id, sizeof(experiment_id), s);
    if (s && clock_monotonic_us() - s->read_us < FRESH_US)
        return s->policies;
    if (s)
        drop_set(p, s);
    else if (HASH_COUNT(p->sets) >= SETS_MAX)
        drop_set(p, p->sets); /* the oldest set */
    struct log_policies *policies = read_policies(db, experiment_id);
    if (!policies)
        return NULL;
    s = must_calloc(1, sizeof(*s));
    *s = (struct set){.experiment_id = experiment_id, .read_us = clock_monotonic_us(), .policies = policies};
    HASH_ADD(hh, p->sets, experiment_id, sizeof(s->experiment_id), s);
    return policies;
}

/* ---- one batch --------------------------------------------------------------------------------------------------- */

/* Adds the matches found in the lines of one agent to the matches of the agents before. */
static void note_matches(struct log_scan *s, struct log_policies *policies, const char *agent_id)
{
    size_t n = log_policies_n(policies);
    struct store_log_match *more = arena_array(s->arena, struct store_log_match, s->match_n + n + 1);
    if (s->match_n)
        memcpy(more, s->match, s->match_n * sizeof(*more));
    s->match = more;
    for (size_t i = 0; i < n; i++) {
        struct log_policy *l = log_policies_get(policies, i);
        if (!l->matched)
            continue;
        l->matched = false;
        s->match[s->match_n++] = (struct store_log_match){.trial_id = s->trial_id,
                                                          .task_id = s->task_id,
                                                          .agent_id = agent_id,
                                                          .pattern = arena_strdup(s->arena, l->pattern),
                                                          .policy = l->name ? arena_strdup(s->arena, l->name) : NULL,
                                                          .action = l->action};
    }
}

static const char *agent_of(const struct log_scan *s, size_t i)
{
    const char *own = s->line[i].agent_id;
    return own && *own ? own : s->agent_id ? s->agent_id : "";
}

static void warn_of_expensive(const struct log_scan *s, struct log_policies *policies, const bool *before)
{
    for (size_t i = 0; i < log_policies_n(policies); i++) {
        const struct log_policy *l = log_policies_get(policies, i);
        if (l->gave_up && !before[i])
            log_warning("log_policy.too_expensive", "exp=%d pattern=%s action=not_looked_for", s->experiment_id,
                        log_quote(l->pattern));
    }
}

static void scan_for_policies(struct log_policies_scanner *p, struct store *db, struct log_scan *s)
{
    struct log_policies *policies = s->experiment_id ? policies_of(p, db, s->experiment_id) : NULL;
    bool found = false, *gave_up;
    if (!policies || log_policies_n(policies) == 0)
        return;
    gave_up = arena_array(s->arena, bool, log_policies_n(policies));
    for (size_t i = 0; i < log_policies_n(policies); i++)
        gave_up[i] = log_policies_get(policies, i)->gave_up;
    for (size_t i = 0; i < s->line_n; i++) {
        found |= log_policies_scan(policies, s->line[i].text, s->line[i].text_n);
        if (!found || (i + 1 < s->line_n && strcmp(agent_of(s, i), agent_of(s, i + 1)) == 0))
            continue;
        note_matches(s, policies, agent_of(s, i));
        found = false;
    }
    warn_of_expensive(s, policies, gave_up);
}

/* ---- rounds: everything that waits at a time, so that the order stays -------------------------------------------- */

static void scan_round(void *worker, void *job)
{
    struct log_policies_scanner *p = job;
    struct log_scan *s;
    p->webhooks_read.any = webhook_patterns_refresh(p->webhooks, worker, p->webhooks_read.again);
    p->webhooks_read.again = false;
    STAILQ_FOREACH(s, &p->round, next) {
        scan_for_policies(p, worker, s);
        if (p->webhooks_read.any)
            webhook_patterns_scan(p->webhooks, worker, s);
    }
}

static void start_round(struct log_policies_scanner *p);

static void finish_scans(struct scan_list *list)
{
    while (!STAILQ_EMPTY(list)) {
        struct log_scan *s = STAILQ_FIRST(list);
        STAILQ_REMOVE_HEAD(list, next);
        s->done(s);
    }
}

static void round_done(void *job)
{
    struct log_policies_scanner *p = job;
    p->webhooks_any = p->webhooks_read.any || p->webhooks_changed;
    finish_scans(&p->round);
    p->busy = false;
    start_round(p);
}

static void start_round(struct log_policies_scanner *p)
{
    cleanup_error struct error err = ERROR_INIT;
    if (p->busy || STAILQ_EMPTY(&p->waiting))
        return;
    STAILQ_CONCAT(&p->round, &p->waiting);
    p->busy = true;
    p->webhooks_read.again |= p->webhooks_changed;
    p->webhooks_changed = false;
    if (pool_submit(p->readers, scan_round, round_done, p, &err) == 0)
        return;
    p->busy = false; /* the readers' queue is full; the timer tries again */
    STAILQ_CONCAT(&p->waiting, &p->round);
    loop_timer_arm(p->retry, RETRY_US);
}

static void on_retry(void *ctx)
{
    start_round(ctx);
}

bool log_policies_prepare(const struct master *m, const char *allocation_id, struct log_scan *s)
{
    const struct allocation_row *allocation = core_allocation(m->core, allocation_id ? allocation_id : "");
    struct core_trial_view trial;
    bool webhooks_any = m->log_policies->webhooks_any;
    if (!allocation || strcmp(allocation->task_id, s->task_id) != 0)
        return webhooks_any;
    const struct container_row *container = core_allocation_container(m->core, allocation_id, 0);
    if (!s->agent_id && container)
        s->agent_id = arena_strdup(s->arena, container->agent_id);
    if (!allocation->trial_id || !core_trial(m->core, allocation->trial_id, &trial))
        return webhooks_any;
    s->trial_id = allocation->trial_id;
    s->experiment_id = trial.row->experiment_id;
    return true;
}

void log_policies_webhooks_changed(struct log_policies_scanner *p)
{
    p->webhooks_changed = p->webhooks_any = true;
}

bool log_policies_is_idle(const struct log_policies_scanner *p)
{
    return !p || (!p->busy && STAILQ_EMPTY(&p->waiting));
}

void log_policies_scan_soon(struct log_policies_scanner *p, struct log_scan *s)
{
    STAILQ_INSERT_TAIL(&p->waiting, s, next);
    start_round(p);
}

struct log_policies_scanner *log_policies_scanner_new(struct loop *l, struct pool *readers)
{
    struct log_policies_scanner *p = must_calloc(1, sizeof(*p));
    p->readers = readers;
    p->retry = loop_timer_new(l, on_retry, p);
    p->webhooks = webhook_patterns_new();
    p->webhooks_any = true; /* until the first round has looked */
    STAILQ_INIT(&p->waiting);
    STAILQ_INIT(&p->round);
    return p;
}

void log_policies_scanner_free(struct log_policies_scanner *p)
{
    struct set *s, *next;
    if (!p)
        return;
    loop_timer_free(p->retry);
    webhook_patterns_free(p->webhooks);
    HASH_ITER(hh, p->sets, s, next)
        drop_set(p, s);
    free(p);
}

/* ---- the core ---------------------------------------------------------------------------------------------------- */

void log_policies_tell(struct master *m, const struct store_log_match *match)
{
    cleanup_error struct error err = ERROR_INIT;
    struct core_event ev = {.type = CORE_TRIAL_LOG_MATCHED,
                            .now_us = clock_now_us(),
                            .log_matched = {.trial_id = match->trial_id,
                                            .agent_id = match->agent_id,
                                            .policy = match->policy ? match->policy : match->pattern,
                                            .action = match->action}};
    if (match->action != LOG_POLICY_NONE && master_step(m, &ev, NULL, &err) < 0)
        log_warning("log_policy.ignored", "trial=%d reason=%s", match->trial_id, log_quote(error_msg(&err)));
}
