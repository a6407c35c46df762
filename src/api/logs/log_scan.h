/* Searches lines of a task while they are on their way into the store: lines of a trial for the patterns of its
 * experiment's log policies, and lines of every task for those of webhooks. What is found is stored with the lines; the
 * core and the sender of webhooks are told of it after the commit. */
#ifndef DET_API_LOGS_LOG_SCAN_H
#define DET_API_LOGS_LOG_SCAN_H

#include <sys/queue.h>

#include "api/webhooks/webhook_events.h"
#include "common/base/arena.h"
#include "store/logs/log_matches.h"
#include "store/logs/task_logs.h"

struct log_scan {
    const char *task_id;
    const char *agent_id; /* the agent of lines that name none; NULL: that of the allocation's first container */
    const struct store_log_line *line;
    size_t line_n;
    struct arena *arena;              /* holds what is found */
    void (*done)(struct log_scan *s); /* on the loop */
    void *ctx;
    struct store_log_match *match; /* what was found: at most one match of each policy on each node */
    size_t match_n;
    struct webhook_log_hit *hit; /* patterns of webhooks that were found: at most one hit of each trigger */
    size_t hit_n;
    /* The fields from here on belong to the scanner. */
    int32_t experiment_id, trial_id; /* 0: the lines belong to no trial, so that no policy applies */
    STAILQ_ENTRY(log_scan) next;
};

#endif
