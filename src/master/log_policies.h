/* Scans lines of trials for the log policies of their experiments, on a reader's thread, before the lines are stored.
 *
 *     agent_hub, POST /task-logs ─▶ scan, in the order in which batches came ─▶ lines and matches in one transaction
 *                                                                                            └▶ events of the core
 *
 * A match that is stored and whose event a crash swallowed is told the core again by the next master
 * (main.c: restore). Patterns are compiled once and read anew every minute, as experiments may be continued with
 * others. */
#ifndef DET_MASTER_LOG_POLICIES_H
#define DET_MASTER_LOG_POLICIES_H

#include "api/log_scan.h"

struct log_policies_scanner;
struct loop;
struct master;
struct pool;

struct log_policies_scanner *log_policies_scanner_new(struct loop *l, struct pool *readers);
void log_policies_scanner_free(struct log_policies_scanner *p); /* once it is idle */
bool log_policies_is_idle(const struct log_policies_scanner *p);

/* Whose lines these are: false if no trial's that is not over. */
bool log_policies_find_trial(const struct master *m, const char *allocation_id, struct log_scan *s);
/* `done` is called on the loop, in the order of the calls. */
void log_policies_scan_soon(struct log_policies_scanner *p, struct log_scan *s);

/* Tells the core of what was found; does nothing if it knows. */
void log_policies_tell(struct master *m, const struct store_log_match *match);
#endif
