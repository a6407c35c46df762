/* Lines of a task's log on their way into the store, whoever brings them: an agent (master/agents/agent_reports.c) or a request
 * (log_post.c). Each batch goes the same way:
 *
 *     log_ingest_scan()    loop: made ready for a scanner of log policies (log_scan.h), which looks through the lines
 *     log_ingest_store()   writer's thread: lines and matches, in one transaction
 *     log_ingest_stored()  loop, after the commit: followers of the log, the sealer, and the core of each new match
 */
#ifndef DET_API_LOG_INGEST_H
#define DET_API_LOG_INGEST_H

#include "api/logs/log_scan.h"

struct api;

struct log_ingest {
    const char *task_id;
    const char *container_id; /* of lines that an agent has numbered, the first of which is first_seq; NULL: they have no numbers */
    int64_t first_seq;
    struct store_log_batch lines; /* owned; made on any thread, or by log_ingest_store() if nobody has */
    struct arena *arena;          /* of the lines and the matches */
    struct log_scan scan;
    /* What log_ingest_store() fills. */
    bool *is_new;     /* of the scan's matches */
    int64_t first_id; /* of the first line that was not skipped */
    int64_t seq;      /* of the container's last line that is stored; numbered lines only */
    size_t skipped;   /* lines that had been stored before; numbered lines only */
};

/* agent_id: of lines that do not say; NULL: nobody knows. `done` is called on the loop when the lines have been scanned. */
void log_ingest_scan(struct log_ingest *g, const char *agent_id, void (*done)(struct log_scan *s), void *ctx);
/* May be called again for the same batch, in another transaction. */
int log_ingest_store(struct log_ingest *g, struct store *db, int64_t now_us, struct error *err);
void log_ingest_stored(struct api *a, const struct log_ingest *g);
void log_ingest_release(struct log_ingest *g);

#endif
