/* Matches lines of trials against the log policies of their experiments (docs/spec/logs.md#log-policies), and lines of
 * all tasks against the patterns of webhooks (webhook_patterns.h), on a reader's thread, before the lines are stored.
 *
 *     agent_hub, POST /task-logs ─▶ scan, in the order in which batches came ─▶ lines and matches in one transaction
 *                                                                                            └▶ events of the core
 *
 * A crash may come after a match was stored and before the core has heard of it. So each master tells its core all
 * stored matches when it starts. Patterns are compiled once, and read again every minute, since an experiment may be
 * continued with other patterns. */
#ifndef DET_MASTER_LOGS_LOG_POLICIES_H
#define DET_MASTER_LOGS_LOG_POLICIES_H

#include "api/logs/log_scan.h"

struct log_policies_scanner;
struct loop;
struct master;
struct pool;

struct log_policies_scanner *log_policies_scanner_new(struct loop *l, struct pool *readers);
void log_policies_scanner_free(struct log_policies_scanner *p); /* to be called once the scanner is idle */
bool log_policies_is_idle(const struct log_policies_scanner *p);

/* Finds the trial to which these lines belong, and the agent on which they were written. Returns false if there is
 * nothing to look for: the lines belong to no trial, or to one that has ended, and no webhook has a pattern. */
bool log_policies_prepare(const struct master *m, const char *allocation_id, struct log_scan *s);
/* A webhook was made or deleted, so that the next scan reads the patterns of webhooks again. */
void log_policies_webhooks_changed(struct log_policies_scanner *p);
/* Queues a scan. `done` is called on the loop; the scans end in the order of the calls. */
void log_policies_scan_soon(struct log_policies_scanner *p, struct log_scan *s);

/* Tells the core of a match. To tell it twice does no harm. */
void log_policies_tell(struct master *m, const struct store_log_match *match);
#endif
