/* The agent's configuration, read once at the start. */
#ifndef DET_AGENT_CONFIG_H
#define DET_AGENT_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/machine/account.h"
#include "agent/python/python_order.h"
#include "common/base/arena.h"
#include "common/base/error.h"

#define AGENT_CONFIG_FILE "/etc/determined/agent.yaml" /* read unless another file is named */

enum { PINNED_NAME_MAX = 256 };

/* Limits of one task. 0: no limit. */
struct task_limits {
    int64_t memory_bytes, disk_bytes;
    int32_t processes;
};

struct agent_config {
    const char *master_host;
    int master_port;
    bool tls, tls_skip_verify;
    const char *tls_cert, *tls_cert_name; /* "" if unset */
    /* With pins (credentials.h): the SHA-256 of certificates of which the master must have one. tls_cert is then the
     * file where the link keeps the certificate, and tls_cert_name points to pinned_name, which the link fills in
     * before the first task starts. */
    const char *pin; /* one or more, without a gap between them; "" if there is none */
    char *pinned_name;
    /* certificate and key that the agent shows to the master; "" if unset */
    const char *tls_client_cert, *tls_client_key;
    const char *container_master_host; /* address of the master that tasks are told */
    int container_master_port;
    const char *agent_id, *hostname, *resource_pool;
    const char *slot_type;
    const char *visible_gpus; /* NULL: all of them */
    int artificial_slots, cpu_slots, slots_per_device;
    const char *container_runtime; /* as configured; "auto" by default */
    const char *container_socket;  /* of the container engine; "": where engines listen */
    const char *images_dir;        /* of images that Apptainer has pulled */
    bool setuid_starter;           /* Apptainer may use its program that is setuid */
    const char *token;             /* never logged */
    struct account_rules accounts; /* who tasks may run as */
    bool mount_namespaces, pid_namespaces;
    /* the limits of a task that asks for none, and the highest that a task may ask for */
    struct task_limits limit, limit_max;
    /* what is kept back of the machine from tasks that ask for cores or memory */
    double reserved_cpus;
    int64_t reserved_memory_bytes;
    bool debug, keep_ended; /* keep_ended: directories of ended tasks are kept */
    const char *http_proxy, *https_proxy, *ftp_proxy, *no_proxy;
    const char *log_level;
    int reconnect_attempts, reconnect_backoff_s;
    char **on_connection_lost;     /* NULL-terminated; NULL if unset */
    const char *data_dir;          /* directory of this agent's key; run_root unless it is set */
    const char *run_root;          /* task directories, lock, epoch */
    char **secret_path;            /* files and directories that no task should see, NULL-terminated */
    const char *python_path;       /* our library */
    const char *task_program;      /* determined-task */
    struct python_settings python; /* environments that are made for tasks */
};

struct config;

/* Reads the merged layers (common/config/config.h) and works out what depends on the machine. Strings live in the
 * arena. */
int agent_config_read(struct config *c, struct arena *a, struct agent_config *ret, struct error *err);

/* Lets the agent itself use the proxies of the configuration. Called once, at the start. */
void agent_config_use_proxies(const struct agent_config *c);
/* The proxy by which the agent itself reaches the master; NULL: none. An address of this machine needs none. */
const char *agent_config_master_proxy(const struct agent_config *c);

/* The limits of a task that asks for the limits `asked`. */
struct task_limits agent_config_limits(const struct agent_config *c, const struct task_limits *asked);

/* "http://host:port", as this agent and as its tasks reach the master. */
const char *agent_config_master_url(const struct agent_config *c, struct arena *a);
const char *agent_config_task_master_url(const struct agent_config *c, struct arena *a);

#endif
