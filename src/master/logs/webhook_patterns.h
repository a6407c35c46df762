/* Looks in lines of task logs for the patterns of webhooks (TRIGGER_TYPE_TASK_LOG), on the thread that looks for log
 * policies (log_policies.h), which owns the patterns while it runs. Patterns of a workspace are compiled once, and read
 * anew when a webhook was made or deleted, and every minute.
 *
 * The cost of a line is bounded: a workspace has WEBHOOK_PATTERNS_MAX patterns and the cluster as many, each may take a
 * bounded number of steps on a line, and one that needs more is not looked for until the patterns are read again. */
#ifndef DET_MASTER_LOGS_WEBHOOK_PATTERNS_H
#define DET_MASTER_LOGS_WEBHOOK_PATTERNS_H

#include <stdbool.h>

#include "api/logs/log_scan.h"

struct store;
struct webhook_patterns;

struct webhook_patterns *webhook_patterns_new(void);
void webhook_patterns_free(struct webhook_patterns *p); /* p may be NULL */

/* Forgets the patterns if `changed` is true or if they are old. To be called once before lines are looked through.
 * Returns whether there are patterns at all. */
bool webhook_patterns_refresh(struct webhook_patterns *p, struct store *db, bool changed);
/* Fills s->hit: at most one hit of each trigger. */
void webhook_patterns_scan(struct webhook_patterns *p, struct store *db, struct log_scan *s);

#endif
