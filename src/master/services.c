/* What the API asks of the rest of the master: a row of functions (api.h), each of them one call elsewhere. */
#include <string.h>

#include "api/rights/secret.h"
#include "common/system/log.h"
#include "master/agents/agent_certificates.h"
#include "master/agents/agent_keys.h"
#include "master/agents/agent_message_checks.h"
#include "master/commands/tls_files.h"
#include "master/logs/log_policies.h"
#include "master/logs/log_retention.h"
#include "master/logs/log_sealer.h"
#include "master/master.h"
#include "master/removal/collector.h"
#include "master/removal/deletions.h"
#include "master/webhooks/webhook_sender.h"
#include "master/writer/metric_sealer.h"
#include "master/writer/read_probe.h"

static void submit_write(void *ctx, int (*work)(struct store *, void *, struct error *),
                         void (*done)(void *, const struct error *), void *job)
{
    struct master *m = ctx;
    struct writer_job j = {work, done, job};
    writer_submit(m->writer, &j, 1);
}

static bool admits_writes(void *ctx, struct error *err)
{
    return writer_admits(((struct master *)ctx)->writer, err);
}

static uint64_t last_ticket(void *ctx)
{
    return writer_ticket(((struct master *)ctx)->writer);
}

static void when_committed(void *ctx, uint64_t t, void (*fn)(void *), void *arg)
{
    writer_when_committed(((struct master *)ctx)->writer, t, fn, arg);
}

static int core_step_of_api(void *ctx, const struct core_event *ev, const struct companion *companion,
                            struct error *err)
{
    return master_step(ctx, ev, companion, err);
}

static int accept_agent(void *ctx, struct http_request *http, const char *agent_id, const struct agent_entry *entry,
                        struct error *err)
{
    return agent_hub_accept(((struct master *)ctx)->agents, http, agent_id, entry, err);
}

static int open_task_stream(void *ctx, const char *container_id, int port, const struct byte_stream_handler *h,
                            struct byte_stream **ret, struct error *err)
{
    return agent_streams_open(((struct master *)ctx)->agents, container_id, port, h, ret, err);
}

static const char *agent_peer(void *ctx, const char *agent_id)
{
    return agent_hub_peer(((struct master *)ctx)->agents, agent_id);
}

static bool agent_key_matches(void *ctx, const char *agent_id, const char *key, const char **ret_pool)
{
    return agent_keys_match(((struct master *)ctx)->agent_keys, agent_id, key, ret_pool);
}

static int check_agent_id(void *ctx, const char *agent_id, struct error *err)
{
    return agent_message_check_agent_id(agent_id, err);
}

static bool agent_has_key(void *ctx, const char *agent_id)
{
    return agent_keys_have(((struct master *)ctx)->agent_keys, agent_id);
}

static void agent_key_accepted(void *ctx, const char *agent_id, const uint8_t *hash, const char *pool)
{
    agent_keys_put(((struct master *)ctx)->agent_keys, agent_id, hash, pool);
}

static const char *certificate_fingerprint(void *ctx)
{
    const struct master *m = ctx;
    return m->tls ? tls_files_fingerprint(m->tls) : NULL;
}

static int64_t agent_certificate_us(void *ctx, const char *agent_id)
{
    return agent_keys_certificate_us(((struct master *)ctx)->agent_keys, agent_id);
}

static bool agent_shows_revoked(void *ctx, const struct http_request *http, const char *agent_id)
{
    return agent_certificates_shows_revoked(((struct master *)ctx)->certificates, http, agent_id);
}

static void agent_key_revoked(void *ctx, const char *agent_id, int64_t revoked_us)
{
    struct master *m = ctx;
    agent_keys_forget(m->agent_keys, agent_id);
    agent_certificates_revoked(m->certificates, agent_id, revoked_us);
    agent_hub_drop(m->agents, agent_id, "its key was revoked");
    log_info("agent.key_revoked", "id=%s", log_quote(agent_id));
}

static bool agent_token_matches(void *ctx, const char *token)
{
    return secret_matches(token, strlen(token), ((const struct master *)ctx)->agent_token);
}

static bool collector_token_matches(void *ctx, const char *token)
{
    return secret_matches(token, strlen(token), ((const struct master *)ctx)->collector_token);
}

static void log_stored(void *ctx, const char *task_id, size_t text_bytes)
{
    sealer_added(((struct master *)ctx)->log_sealer, task_id, text_bytes);
}

static int check_not_deleted(void *ctx, int32_t experiment_id, struct error *err)
{
    switch (deletions_of(((struct master *)ctx)->deletions, experiment_id)) {
    case DELETION_OF_ALL:
        return error_set(err, ERR_PRECONDITION, "experiment %d is being deleted: it cannot be continued",
                         experiment_id);
    case DELETION_OF_TRIALS:
        return error_set(err, ERR_PRECONDITION,
                         "experiment %d has lost trials, which were deleted: it cannot be continued, but "
                         "forked",
                         experiment_id);
    case DELETION_OF_NOTHING:
        break;
    }
    return 0;
}

static bool scan_log(void *ctx, const char *allocation_id, struct log_scan *s)
{
    const struct master *m = ctx;
    if (!log_policies_prepare(m, allocation_id, s))
        return false;
    log_policies_scan_soon(m->log_policies, s);
    return true;
}

static void webhook_patterns_changed(void *ctx)
{
    log_policies_webhooks_changed(((struct master *)ctx)->log_policies);
}

static void log_matched(void *ctx, const struct store_log_match *match)
{
    log_policies_tell(ctx, match);
}

static void metrics_stored(void *ctx, int32_t trial_id)
{
    metric_sealer_reported(((struct master *)ctx)->metric_sealer, trial_id);
}

static int sweep_logs(void *ctx, void (*done)(void *, int64_t, const struct error *), void *arg, struct error *err)
{
    return log_retention_sweep(((struct master *)ctx)->log_retention, done, arg, err);
}

static bool is_healthy(void *ctx)
{
    const struct master *m = ctx;
    return writer_admits(m->writer, NULL) && read_probe_is_well(m->read_probe);
}

static int delete_experiment(void *ctx, int32_t experiment_id, int32_t trial_id, struct error *err)
{
    return deletions_add(((struct master *)ctx)->deletions, experiment_id, trial_id, err);
}

static void wake_collector(void *ctx)
{
    collector_wake(((struct master *)ctx)->collector);
}

static void wake_webhooks(void *ctx)
{
    webhook_sender_wake(((struct master *)ctx)->webhooks);
}

static int test_webhook(void *ctx, const char *url, bool slack, void (*done)(void *, const struct error *), void *arg,
                        struct error *err)
{
    return webhook_sender_test(((struct master *)ctx)->webhooks, url, slack, done, arg, err);
}

struct api_services services_for_api(struct master *m)
{
    return (struct api_services){.ctx = m,
                                 .readers = m->readers,
                                 .lookups = m->lookups,
                                 .workers = m->workers,
                                 .transfers = m->transfers,
                                 .passwords = m->passwords,
                                 .directory = m->directory,
                                 .submit_write = submit_write,
                                 .admits_writes = admits_writes,
                                 .ticket = last_ticket,
                                 .when_committed = when_committed,
                                 .core_step = core_step_of_api,
                                 .metrics = metrics_page,
                                 .accept_agent = accept_agent,
                                 .open_task_stream = open_task_stream,
                                 .agent_token_matches = agent_token_matches,
                                 .collector_token_matches = collector_token_matches,
                                 .agent_peer = agent_peer,
                                 .agent_key_matches = agent_key_matches,
                                 .agent_key_revoked = agent_key_revoked,
                                 .agent_certificate_us = agent_certificate_us,
                                 .agent_shows_revoked = agent_shows_revoked,
                                 .agent_key_accepted = agent_key_accepted,
                                 .agent_has_key = agent_has_key,
                                 .check_agent_id = check_agent_id,
                                 .certificate_fingerprint = certificate_fingerprint,
                                 .healthy = is_healthy,
                                 .delete_experiment = delete_experiment,
                                 .check_not_deleted = check_not_deleted,
                                 .removals_due = wake_collector,
                                 .webhooks_due = wake_webhooks,
                                 .webhook_patterns_changed = webhook_patterns_changed,
                                 .test_webhook = test_webhook,
                                 .log_stored = log_stored,
                                 .scan_log = scan_log,
                                 .log_matched = log_matched,
                                 .metrics_stored = metrics_stored,
                                 .delete_expired_logs = sweep_logs,
                                 .master_log = m->own_log};
}
