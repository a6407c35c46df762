/* Shows task logs: complete or only their end, filtered, and following them across broken connections. */
#ifndef DET_CLI_CONNECTION_LOGS_H
#define DET_CLI_CONNECTION_LOGS_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/cli.h"
#include "common/json/json.h"

struct log_query {
    int32_t trial_id;    /* shows the log of this trial's task */
    const char *task_id; /* if trial_id is 0: shows the log of this task */
    /* the experiment whose first trial it is, for the message at Ctrl-C; 0: the user named the trial */
    int32_t experiment_id;
    bool json, follow;
    bool lines_only; /* prints no line about how to see them again */
    bool has_head, has_tail;
    int64_t head, tail;
    const char **allocation_id, **agent_id, **container_id, **rank_id, **source, **stdtype;
    size_t allocation_id_n, agent_id_n, container_id_n, rank_id_n, source_n, stdtype_n;
    const char *level; /* this level and all above it */
    const char *timestamp_before, *timestamp_after;
    const char *search; /* only lines that have this text; NULL: all lines */
    bool regex;         /* `search` is a regular expression */
    const char *stop;   /* command line that ends a followed task, for the message at Ctrl-C; NULL: none */
};

/* The options that all commands about logs have. */
#define LOG_QUERY(args) \
    {.json = (args)->json, \
     .follow = (args)->follow, \
     .has_head = (args)->has_head, \
     .head = (args)->head, \
     .has_tail = (args)->has_tail, \
     .tail = (args)->tail, \
     .agent_id = (args)->agent_ids, \
     .agent_id_n = (args)->agent_ids_n, \
     .container_id = (args)->container_ids, \
     .container_id_n = (args)->container_ids_n, \
     .rank_id = (args)->rank_ids, \
     .rank_id_n = (args)->rank_ids_n, \
     .source = (args)->sources, \
     .source_n = (args)->sources_n, \
     .stdtype = (args)->stdtypes, \
     .stdtype_n = (args)->stdtypes_n, \
     .level = (args)->level, \
     .timestamp_before = (args)->timestamp_before, \
     .timestamp_after = (args)->timestamp_after, \
     .search = (args)->search, \
     .regex = (args)->regex}

/* Prints the lines as the master has formatted them, then a line that says how to see them again. */
int logs_print(struct cli *cli, const struct log_query *q, struct error *err);

/* Writes a record of the master's own log as a line (cmd/cluster/master_logs.c). */
void master_log_write(struct json_object *record, FILE *to);

#endif
