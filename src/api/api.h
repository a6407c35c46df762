/* The API as the master sees it: what the master gives it, how it is made and asked, and what it is told. Handlers include handler.h,
 * the files that take a request from one end to the other request.h. */
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
struct core;
struct core_event;
struct http_request;
struct identities;
struct log_ring;
struct log_scan;
struct loop;
struct pool;
struct store;
struct store_log_line;
struct store_log_match;

/* ---- what the master gives --------------------------------------------------------------------------------------- */

struct api_services {
    void *ctx;
    struct pool *readers, *workers; /* readers' worker context is a read-only struct store * */
    struct pool *searcher;          /* one thread: a reader */
    struct pool *transfers;         /* may wait for disks and networks; without the store */
    struct pool *passwords;         /* one thread: a reader */
    void (*submit_write)(void *ctx, int (*work)(struct store *db, void *job, struct error *err),
                         void (*done)(void *job, const struct error *err), void *job);
    bool (*admits_writes)(void *ctx, struct error *err);
    uint64_t (*ticket)(void *ctx); /* of the last write submitted */
    void (*when_committed)(void *ctx, uint64_t ticket, void (*fn)(void *arg), void *arg);
    int (*core_step)(void *ctx, const struct core_event *ev, const struct companion *companion, struct error *err);
    void (*metrics)(void *ctx, struct strbuf *out); /* OpenMetrics text of GET /metrics */
    /* Takes over an authenticated GET /agents; on failure the request still wants its answer. */
    int (*accept_agent)(void *ctx, struct http_request *http, const char *agent_id, bool joins, struct error *err);
    bool (*agent_token_matches)(void *ctx, const char *token); /* the one with which agents join */
    bool (*collector_token_matches)(void *ctx, const char *token); /* the one that reads metrics */
    bool (*agent_key_matches)(void *ctx, const char *agent_id, const char *key); /* the agent's own */
    void (*agent_key_revoked)(void *ctx, const char *agent_id); /* its row is gone */
    bool (*healthy)(void *ctx); /* the store answers */
    /* One that is DELETING, with all that belongs to it, in the background; or a trial of it (0: all). Fails when it was
     * continued meanwhile. */
    int (*delete_experiment)(void *ctx, int32_t experiment_id, int32_t trial_id, struct error *err);
    /* Asked right before the step that continues it: an error if it, or a trial of it, is being deleted. */
    int (*check_not_deleted)(void *ctx, int32_t experiment_id, struct error *err);
    /* Deletes what logs of tasks need not be kept any longer; `done` hears how many lines that were. */
    int (*sweep_logs)(void *ctx, void (*done)(void *arg, int64_t removed, const struct error *err), void *arg,
                      struct error *err);
    void (*collect)(void *ctx); /* there are checkpoints to be removed, or thinned out (store/experiments/removals.h) */
    void (*log_stored)(void *ctx, const char *task_id, size_t text_bytes); /* one more head of a task's log */
    /* Looks for what the log policies of a trial's experiment name; false: there is nothing to be looked for. */
    bool (*scan_log)(void *ctx, const char *allocation_id, struct log_scan *s);
    void (*log_matched)(void *ctx, const struct store_log_match *match); /* for the first time, and stored */
    void (*metrics_stored)(void *ctx, int32_t trial_id);                   /* one more report of a trial */
    struct log_ring *master_log; /* the master's own; any thread */
};

/* What requests to launch something start from: parts of the master's configuration, as JSON text or NULL. */
struct api_pool_defaults {
    const char *name, *description;
    int default_priority, aux_per_agent;
    struct sched_opts sched;
    const char *task_container_defaults;
    const char *provider, *master_url, *master_cert_name; /* provider NULL: it has the agents that connect */
};
struct api_defaults {
    const char *checkpoint_storage, *task_container_defaults, *compute_pool, *aux_pool;
    const struct api_pool_defaults *pool;
    size_t pool_n;
    size_t config_max; /* bytes of a configuration or template */
    struct store_agent_user_group default_task; /* the account of tasks whose owner is linked to none */
    bool launch_error; /* refuse what the pool is too small for now, instead of queueing it with a warning */
};

/* ---- made and asked --------------------------------------------------------------------------------------------- */

int api_new(struct loop *l, const struct api_services *s, const struct api_info *info,
            const struct api_defaults *defaults, struct core *core, struct api **ret, struct error *err);
void api_free(struct api *a);
bool api_is_idle(const struct api *a); /* no request is about to go on by itself in the loop's next turn */
/* The HTTP server's request callback; ctx is the struct api. */
void api_on_request(struct http_request *http, void *ctx);
bool api_has_credentials(struct http_request *http, void *ctx);
/* The accounts are there, or (failure: why) cannot be made: logins, which have waited, go on. */
void api_accounts_ready(struct api *a, const char *failure);
int api_passwords_waiting(const struct api *a);
size_t api_body_max(struct http_request *http, void *ctx); /* bytes that its route allows */
struct identities *api_identities(struct api *a); /* loop */

/* ---- told -------------------------------------------------------------------------------------------------------- */

/* Loop. A batch of a task's log is durable: its followers and whoever else must hear of it do. */
void api_log_stored(struct api *a, const char *task_id, int64_t first_id, const struct store_log_line *line, size_t n);
/* … a line that the core wrote, whose number nobody here knows. */
void api_log_stored_by_core(struct api *a, const char *task_id, size_t text_bytes);
/* The task is over: whoever follows its log comes to its end. */
void api_log_ended(struct api *a, const char *task_id);
struct api_log_stats { uint64_t fed, read; }; /* batches that followers had from memory, from the store */
struct api_log_stats api_log_stats(const struct api *a);

#endif
