/* A cluster on this machine without containers: a master and agents as daemons of the user who starts them.
 *
 * Everything is in one directory, $XDG_DATA_HOME/determined/<cluster> (for root /var/lib/determined/<cluster>, which
 * tasks that run as another user can reach):
 *
 *    master/             the master's data: database, agent.token, initial_password; only for its owner (0700)
 *    checkpoints/        where experiments save checkpoints unless they name another storage
 *    <agent>/            the agent's data: tasks and their spools
 *    master.pid, master.log, <agent>.pid, <agent>.log, master.url */
#ifndef DET_CLI_LOCAL_LOCAL_CLUSTER_H
#define DET_CLI_LOCAL_LOCAL_CLUSTER_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/cli.h"

struct local_cluster {
    struct cli *cli;
    const char *name, *directory;
    bool fresh; /* the master was started on an empty directory: it is making its first accounts */
};

/* Also makes the cluster's directory. */
int local_cluster_init(struct local_cluster *c, struct cli *cli, const char *name, struct error *err);

struct local_master {
    int64_t port;
    const char *config_path, *storage_path; /* NULL: defaults */
    const char *initial_password;           /* NULL: the master makes one */
    const char *work_dir;                   /* working directory of tasks; NULL: a directory for each task */
    bool delete_db;
};
/* Starts the master and returns when it answers. From then on cli->master is its address. An error if a master runs
 * already. */
int local_master_up(struct local_cluster *c, const struct local_master *m, struct error *err);
int local_master_down(struct local_cluster *c, bool delete_db, struct error *err);
/* Whether the master runs. If so, cli->master is its address from then on, and *ret_port its port. */
bool local_master_runs(struct local_cluster *c, int64_t *ret_port);
/* Stores a login of the user `determined` where the next `det` finds it, if the master's first password is still
 * valid. */
int local_master_log_in(struct local_cluster *c, bool *ret_logged_in, struct error *err);
const char *local_master_password_file(const struct local_cluster *c); /* NULL if there is none */

struct local_agent {
    const char *name, *master_host, *config_path, *resource_pool;
    const char *runtime; /* container_runtime of the agent; NULL: its own default */
    int64_t master_port;
    bool no_gpu, tls;
};
bool local_agent_runs(struct local_cluster *c, const char *name);
int local_agent_up(struct local_cluster *c, const struct local_agent *a, struct error *err);
/* Ends the tasks on the agent, then the agent. name NULL: all agents of the cluster. *ret_n is the number of agents. */
int local_agents_down(struct local_cluster *c, const char *name, int *ret_n, struct error *err);
/* Ends the agents that the master has launched (in a pool with the provider `local`). */
int local_launched_down(struct local_cluster *c, struct error *err);
/* Waits until `n` agents are registered; -1 if they are not after some seconds. */
int local_agents_wait(struct local_cluster *c, size_t n, struct error *err);
struct local_down {
    bool yes, kill, delete_db;
};
/* Pauses the experiments that run, or kills them, after asking if somebody is there to answer. False: the user wants
 * the cluster to stay. */
bool local_cluster_stop_experiments(struct local_cluster *c, const struct local_down *how);

int local_cluster_logs(struct local_cluster *c, bool follow, struct error *err);

#endif
