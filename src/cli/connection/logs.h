/* Showing task logs: as they come, from the beginning or the end, filtered, and on through dropped connections. */
#ifndef DET_CLI_LOGS_H
#define DET_CLI_LOGS_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/cli.h"
#include "common/json/json.h"

struct log_query {
    int32_t trial_id;    /* of the trial's task */
    const char *task_id; /* else of this task */
    int32_t experiment_id; /* whose first trial it is, for the words at Ctrl-C; 0: the trial was named itself */
    bool json, follow;
    bool has_head, has_tail;
    int64_t head, tail;
    const char **allocation_id, **agent_id, **container_id, **rank_id, **source, **stdtype;
    size_t allocation_id_n, agent_id_n, container_id_n, rank_id_n, source_n, stdtype_n;
    const char *level; /* this one and those above it */
    const char *timestamp_before, *timestamp_after;
};

/* Prints the lines as the master wrote them, then the line on how to look at them again. */
int logs_print(struct cli *cli, const struct log_query *q, struct error *err);

/* A record of the master's own log as a line (cmd/cluster/master_logs.c). */
void master_log_write(struct json_object *record, FILE *to);

#endif
