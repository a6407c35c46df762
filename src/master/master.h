/* The master: core, store, API and agents wired together on one loop. Internal to src/master.
 *
 *     HTTP ─▶ api ──────────┐                       ┌─▶ writer thread ─ one transaction a group ─▶ store
 *     agents ─▶ agent_hub ──┤─▶ master_step(event) ─┤
 *     timer ────────────────┘        core           └─▶ effects, in order, after the commit of their step
 *
 * master_step() is the only way into the core (steps.c). */
#ifndef DET_MASTER_MASTER_H
#define DET_MASTER_MASTER_H

#include "api/api.h"
#include "common/config/config.h"
#include "core/core.h"
#include "master/agents/agent_hub.h"
#include "master/writer/writer.h"
#include "net/http/http.h"
#include "net/loop/loop.h"
#include "net/loop/pool.h"

struct first_accounts;
struct tls_files;
struct collector;
struct deletions;
struct admin;
struct service;
struct context_sweep;
struct log_retention;
struct log_ring;
struct log_policies_scanner;
struct provisioner;
struct sealer;
struct start_configs;
struct lookup_follower;
struct webhook_sender;

struct master {
    struct loop *loop;
    struct config *config;
    char *data_dir, *db_place;
    int lock_fd; /* the lock of the data directory */
    char agent_token[128];
    char collector_token[128];               /* the token of collectors, which read /metrics; "": there is none */
    struct agent_keys *agent_keys;           /* the keys of agents that have joined */
    struct agent_certificates *certificates; /* NULL: agents get none */
    struct store *db;                        /* the connection that the writer's thread uses */
    struct writer *writer;
    struct start_configs *start_configs; /* used by the writer's thread only */
    struct pool *readers, *workers;
    struct pool *lookups; /* a pool of one reader, which finds experiments and runs by what its store keeps in memory */
    struct pool *directory; /* waits for the directory (LDAP); NULL without one */
    struct pool *passwords; /* a pool of one reader, which hashes and checks passwords (api/accounts/password_lane.h) */
    struct pool *transfers; /* for transfers of checkpoints, which wait for disks and networks */
    struct first_accounts *first_accounts; /* the first users, which are still to be made; NULL: they exist */
    struct core *core;
    struct loop_timer *core_timer;
    int64_t clock_offset_us; /* the wall clock's offset to the monotonic clock; 0: it has not been read yet */
    struct housekeeping *housekeeping;
    struct presence *presence;
    struct read_probe *read_probe;
    struct collector *collector;
    struct deletions *deletions;
    struct webhook_sender *webhooks;
    struct log_policies_scanner *log_policies;
    struct sealer *log_sealer, *metric_sealer;
    struct log_retention *log_retention;
    struct context_sweep *context_sweep;
    struct lookup_follower *lookup_follower;
    struct log_ring *own_log; /* the last lines of the master's own log */
    struct agent_hub *agents;
    struct provisioner *provisioner;
    struct admin *admin;
    struct api *api;
    struct http_server *http;
    struct tls_files *tls;               /* NULL: the master serves HTTP without TLS */
    struct arena texts;                  /* memory for texts that live as long as the master */
    struct storage_roots *storage_roots; /* directories that an admin has opened to the master */
    struct api_info info;
    struct api_defaults defaults;
    struct service *service;               /* the connection to the service manager, such as systemd */
    int64_t started_us, started_steady_us; /* when the master started, by the wall clock and by the monotonic clock */
    bool draining;                         /* set by stop.c: the loop ends as soon as no work is left */
};

/* steps.c: gives one event to the core. Effects that are rows go to the writer; all others are carried out after the
 * commit. */
int master_step(struct master *m, const struct core_event *ev, const struct companion *companion, struct error *err);
/* Does the same for a step that the core has made already (core_restore). It takes over the contents of *effects. */
void master_carry_out(struct master *m, struct core_effects *effects, const struct companion *companion);

/* persist.c: stores the rows of one step. To be called on the writer's thread. */
int persist_effects(struct store *db, const struct core_effects *effects, int64_t now_us, const char *webhook_base_url,
                    struct error *err);
/* Reads everything that a starting core needs from the store. */
int persist_load(struct store *db, const struct core *core, struct arena *a, struct core_rows *ret, struct error *err);

/* start_task.c: carries out the start of a container. Sessions for it are stored after the rows of its step, and a
 * StartTask message is sent to the agent after their commit. *s must stay valid until then. */
struct start *start_prepare(struct master *m, const struct core_start *s);
void start_send(struct start *st); /* frees st as well */

/* accounts.c: accounts_load() reads what the store knows. The other functions make the users of a first start, and
 * their password. accounts_prepare_first() writes the file with the password before the server listens.
 * accounts_make_first() stores the users a short time later; logins wait until it has. */
int accounts_load(struct master *m, struct error *err);
int accounts_prepare_first(struct master *m, struct error *err);
void accounts_make_first(struct master *m);
void accounts_drop_first(
    struct master *m); /* frees first accounts that were prepared and not made, because the start failed */
/* Reads observability.token_file; "" if it is not set. */
int accounts_collector_token(const struct config *c, char ret[128], struct error *err);

/* core_options.c: makes the pools and defaults for the core and the API from the configuration. */
void core_options(struct master *m, struct core_opts *ret);
void api_defaults_of_config(struct master *m, const struct core_opts *opts, struct api_defaults *ret);

/* services.c: returns what the API needs from this master. */
struct api_services services_for_api(struct master *m);

/* stop.c: takes no more connections, answers the requests that were made, and carries out all that is queued, so that
 * the master's parts can be freed. If that does not come to an end, it ends the program, with status 75 if writes were
 * lost. */
void master_stop(struct master *m);

/* metrics_page.c */
void metrics_page(void *ctx, struct strbuf *out);

#endif
