/* Lines of a trial on their way into the store, and what the log policies of its experiment find in them: matches are
 * stored with the lines, and told the core once they are. */
#ifndef DET_API_LOG_SCAN_H
#define DET_API_LOG_SCAN_H

#include <sys/queue.h>

#include "common/base/arena.h"
#include "store/logs/log_matches.h"
#include "store/logs/task_logs.h"

struct log_scan {
    const char *task_id;
    const char *agent_id; /* of lines that do not say; NULL: as the allocation's first container */
    const struct store_log_line *line;
    size_t line_n;
    struct arena *arena; /* of the matches */
    void (*done)(struct log_scan *s); /* on the loop */
    void *ctx;
    struct store_log_match *match; /* what was found: of each policy at most one for each node */
    size_t match_n;
    /* The scanner's own. */
    int32_t experiment_id, trial_id; /* 0: of no trial, there is nothing to be found */
    STAILQ_ENTRY(log_scan) next;
};

#endif
