/* Implements cli/local/local_cluster.h: local_cluster.c knows the directory, local_master.c and local_agents.c know
 * the programs in it. */
#ifndef DET_CLI_LOCAL_LOCAL_INTERNAL_H
#define DET_CLI_LOCAL_LOCAL_INTERNAL_H

#include "cli/local/local_cluster.h"

enum { LOCAL_POLL_MS = 5, LOCAL_PATIENCE_MS = 10000 };

const char *local_file(const struct local_cluster *c, const char *name);
/* The path of a program: in det's own directory, else the first in PATH. */
int local_program(struct local_cluster *c, const char *name, const char **ret, struct error *err);
const char *local_log_tail(struct local_cluster *c, const char *path);

/* The master's first password if its file still exists; -1 if not. */
int local_master_password(struct local_cluster *c, const char **ret);

/* The path of an agent's file. suffix: ".pid", ".log" or "". */
const char *local_agent_file(struct local_cluster *c, const char *agent, const char *suffix);
/* The names of the agents that have a pid file. */
size_t local_agent_list(struct local_cluster *c, const char ***ret);

#endif
