/* The API as the master sees it: what the master gives to the API, how the API is made and asked, and what the API
 * is told. Handlers do not include this header: they include pipeline/handler.h. The files that take a request from
 * accepting it to the reply include pipeline/request.h. */
#ifndef DET_API_API_H
#define DET_API_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/pipeline/companion.h"
#include "api/pipeline/info.h"
#include "common/base/error.h"
#include "common/base/strbuf.h"
#include "core/sched/opts.h"
#include "store/rows.h"

struct api;
struct byte_stream;
struct byte_stream_handler;
struct core;
struct core_event;
struct http_request;
struct identities;
struct joining;
struct cluster_message;
struct permissions;
struct log_ring;
struct log_scan;
struct loop;
struct pool;
struct store;
struct store_log_line;
struct store_log_match;

/* With what an agent has connected. */
struct agent_entry {
    bool joins;         /* with a token, so that it may be given a key of its own */
    int64_t join_token; /* which one; 0: the cluster's own */
    const char *pool;   /* the only pool that it may join; "": any */
};

/* ---- what the master gives --------------------------------------------------------------------------------------- */

struct api_services {
    void *ctx;
    struct pool *readers, *workers; /* each thread of `readers` has a read-only struct store * as its worker context */
    struct pool *lookups;           /* one thread, which reads the store and runs large lookups */
    struct pool *transfers;         /* threads that may wait for disks and networks, and have no store */
    struct pool *passwords;         /* one thread, which reads the store and hashes passwords */
    struct pool *directory;         /* threads that wait for the directory; NULL: ldap.enabled is off */
    void (*submit_write)(void *ctx, int (*work)(struct store *db, void *job, struct error *err),
                         void (*done)(void *job, const struct error *err), void *job);
    bool (*admits_writes)(void *ctx, struct error *err);
    uint64_t (*ticket)(void *ctx); /* number of the last write that was submitted */
    void (*when_committed)(void *ctx, uint64_t ticket, void (*fn)(void *arg), void *arg);
    int (*core_step)(void *ctx, const struct core_event *ev, const struct companion *companion, struct error *err);
    void (*metrics)(void *ctx, struct strbuf *out); /* appends the OpenMetrics text of GET /metrics */
    /* Takes over the connection of an authenticated GET /agents. If it fails, the caller still has to answer the
     * request. */
    int (*accept_agent)(void *ctx, struct http_request *http, const char *agent_id, const struct agent_entry *entry,
                        struct error *err);
    /* Opens a stream to a port of a task's container, through its agent's link or directly (task_streams.route). The
     * agent lets through only ports of StartTask.proxyPorts. Fails if the container does not run, its agent cannot be
     * reached, or too many streams are open; a port that does not answer is reported by the handler's on_close. */
    int (*open_task_stream)(void *ctx, const char *container_id, int port, const struct byte_stream_handler *h,
                            struct byte_stream **ret, struct error *err);
    bool (*agent_token_matches)(void *ctx,
                                const char *token); /* whether this is the token with which new agents join */
    /* whether this is the token with which metrics are read */
    bool (*collector_token_matches)(void *ctx, const char *token);
    /* the agent's address; NULL: the agent is not connected */
    const char *(*agent_peer)(void *ctx, const char *agent_id);
    /* whether this is the agent's own key; *ret_pool: the only pool that it is good for, or "" */
    bool (*agent_key_matches)(void *ctx, const char *agent_id, const char *key, const char **ret_pool);
    int (*check_agent_id)(void *ctx, const char *agent_id, struct error *err);
    /* the key's row is deleted, and that the agent's certificates were revoked at this time is stored */
    void (*agent_key_revoked)(void *ctx, const char *agent_id, int64_t revoked_us);
    /* until when the agent's last certificate is valid; 0: it has been given none */
    int64_t (*agent_certificate_us)(void *ctx, const char *agent_id);
    /* whether the agent has shown a certificate of its own that was revoked; it is refused, and the log says so */
    bool (*agent_shows_revoked)(void *ctx, const struct http_request *http, const char *agent_id);
    /* an admin has accepted the agent, and the key's row is stored; pool: the only one that it is good for, or "" */
    void (*agent_key_accepted)(void *ctx, const char *agent_id, const uint8_t *hash, const char *pool);
    bool (*agent_has_key)(void *ctx, const char *agent_id); /* whether some machine has a key for this id */
    /* SHA-256 of the master's certificate as hexadecimal digits; NULL without TLS */
    const char *(*certificate_fingerprint)(void *ctx);
    bool (*healthy)(void *ctx); /* whether the store answers */
    /* Deletes an experiment whose state is DELETING, or one of its trials (0: all), with everything that belongs
     * to it, in the background. Fails if the experiment was continued in the meantime. */
    int (*delete_experiment)(void *ctx, int32_t experiment_id, int32_t trial_id, struct error *err);
    /* An error if the experiment, or a trial of it, is being deleted. Call it right before the step that
     * continues the experiment. */
    int (*check_not_deleted)(void *ctx, int32_t experiment_id, struct error *err);
    /* Deletes the log lines that have been kept for as long as they must be; `done` is given the number of lines. */
    int (*delete_expired_logs)(void *ctx, void (*done)(void *arg, int64_t removed, const struct error *err), void *arg,
                               struct error *err);
    /* checkpoints are marked for removal, or an experiment is due for collection (store/experiments/removals.h) */
    void (*removals_due)(void *ctx);
    void (*webhooks_due)(void *ctx);             /* a message to a webhook is committed */
    void (*webhook_patterns_changed)(void *ctx); /* webhooks look for other patterns in task logs than before */
    /* Sends the message of the test button. `done` is called on the loop; err is NULL if the receiver has taken it. */
    int (*test_webhook)(void *ctx, const char *url, bool slack, void (*done)(void *arg, const struct error *err),
                        void *arg, struct error *err);
    void (*log_stored)(void *ctx, const char *task_id,
                       size_t text_bytes); /* a task's log has one more head in the store */
    /* Looks through lines for the patterns of the log policies of a trial's experiment, and for those of webhooks.
     * False: there is nothing to look for. */
    bool (*scan_log)(void *ctx, const char *allocation_id, struct log_scan *s);
    /* a policy has matched for the first time, and the match is stored */
    void (*log_matched)(void *ctx, const struct store_log_match *match);
    void (*metrics_stored)(void *ctx, int32_t trial_id); /* a trial has one more report in the store */
    struct log_ring *master_log;                         /* the master's own log; any thread may use it */
};

/* What requests that launch something start from: parts of the master's configuration, as JSON text or NULL. */
struct api_pool_defaults {
    const char *name, *description;
    int default_priority, aux_per_agent;
    struct sched_opts sched;
    const char *task_container_defaults;
    /* provider is NULL in a pool whose agents connect by themselves */
    const char *provider, *master_url, *master_cert_name;
};
struct api_defaults {
    const char *checkpoint_storage, *task_container_defaults, *compute_pool, *aux_pool;
    const struct api_pool_defaults *pool;
    size_t pool_n;
    size_t config_max;                          /* the most bytes that a configuration or template may have */
    struct store_agent_user_group default_task; /* the account of tasks whose owner is not linked to an account */
    /* whether to refuse an experiment that its pool is too small for now; otherwise it is queued with a warning */
    bool launch_error;
};

/* ---- how the API is made and asked ------------------------------------------------------------------------------- */

int api_new(struct loop *l, const struct api_services *s, const struct api_info *info,
            const struct api_defaults *defaults, struct core *core, struct api **ret, struct error *err);
void api_free(struct api *a);
bool api_is_idle(const struct api *a); /* whether no request is waiting for the loop's next turn */
/* The HTTP server's callback for each request; ctx is the struct api. */
void api_on_request(struct http_request *http, void *ctx);
bool api_has_credentials(struct http_request *http, void *ctx);
/* The accounts of the first start exist, or (failure: the reason) cannot be made. Logins that waited for this go on. */
void api_accounts_ready(struct api *a, const char *failure);
int api_passwords_waiting(const struct api *a);
/* whether the request is handled as soon as its head is there: what is passed on to a task */
bool api_takes_early(struct http_request *http, void *ctx);
/* the most bytes that the body may have, by the request's route */
size_t api_body_max(struct http_request *http, void *ctx);
struct joining *api_joining(struct api *a);                 /* cluster/joining.h; loop only */
struct cluster_message *api_cluster_message(struct api *a); /* cluster/cluster_message.h; loop only */
struct identities *api_identities(struct api *a);           /* call it on the loop only */
struct permissions *api_permissions(struct api *a);         /* call it on the loop only */

/* ---- what the API is told (call all of these on the loop) -------------------------------------------------------- */

/* A batch of lines of a task's log is committed. Its followers get the lines. */
void api_log_stored(struct api *a, const char *task_id, int64_t first_id, const struct store_log_line *line, size_t n);
/* The core has stored a line of a task's log. Its number is not known here, so that followers read it from the
 * store. */
void api_log_stored_by_core(struct api *a, const char *task_id, size_t text_bytes);
/* The task has ended: streams that follow its log end once they have sent everything. */
void api_log_ended(struct api *a, const char *task_id);
struct proxy_stats;
struct api_log_stats {
    uint64_t fed, read;
}; /* batches that followers were given from memory, and from the store */
struct api_log_stats api_log_stats(const struct api *a);
struct proxy_stats api_proxy_stats(const struct api *a); /* proxy/proxy.h */

#endif
