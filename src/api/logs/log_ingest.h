/* Takes lines of a task's log into the store. All lines come this way, whether an agent brings them
 * (master/agents/agent_reports.c) or a request (log_post.c). The stages of each batch:
 *
 *     log_ingest_scan()    on the loop: prepares the batch, which is then searched for patterns (log_scan.h)
 *     log_ingest_store()   on the writer's thread: stores lines, matches and messages to webhooks in one transaction
 *     log_ingest_stored()  on the loop, after the commit: informs followers of the log, the sealer, the sender of
 *     webhooks, and the core of each new match */
#ifndef DET_API_LOGS_LOG_INGEST_H
#define DET_API_LOGS_LOG_INGEST_H

#include "api/logs/log_scan.h"

struct api;

struct log_ingest {
    const char *task_id;
    const char *base_url; /* where links in messages to webhooks begin */
    /* set if an agent has numbered the lines, the first of which is first_seq; NULL: the lines have no numbers */
    const char *container_id;
    int64_t first_seq;
    struct store_log_batch lines; /* owned; made on any thread beforehand, or by log_ingest_store() */
    struct arena *arena;          /* holds the lines and the matches */
    struct log_scan scan;
    /* log_ingest_store() fills the fields from here on. */
    bool *is_new;     /* for each match of the scan */
    bool told;        /* there is a message to a webhook */
    int64_t first_id; /* of the first line that was not skipped */
    int64_t seq;      /* number of the container's last stored line; numbered lines only */
    size_t skipped;   /* lines that had been stored before; numbered lines only */
};

/* agent_id: the agent of lines that name none; NULL: it is not known. `done` is called on the loop when the lines
 * have been scanned. */
void log_ingest_scan(struct log_ingest *g, const char *agent_id, void (*done)(struct log_scan *s), void *ctx);
/* May be called again for the same batch, in another transaction. */
int log_ingest_store(struct log_ingest *g, struct store *db, int64_t now_us, struct error *err);
void log_ingest_stored(struct api *a, const struct log_ingest *g);
void log_ingest_release(struct log_ingest *g);

#endif
