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
struct log_retention;
struct log_ring;
struct log_policies_scanner;
struct provisioner;
struct sealer;
struct start_configs;
struct lookup_follower;

struct master {
    struct loop *loop;
    struct config *config;
    char *data_dir, *db_place;
    int lock_fd; /* of the data directory */
    char agent_token[128];
    char collector_token[128];     /* the token of programs that read /metrics; "": there is none */
    struct agent_keys *agent_keys; /* the keys of agents that have joined */
    struct store *db;              /* the connection that the writer's thread uses */
    struct writer *writer;
    struct start_configs *start_configs; /* used by the writer's thread only */
    struct pool *readers, *workers;
    struct pool *lookups;   /* one thread of a reader: finds experiments and runs by what its store keeps in memory */
    struct pool *passwords; /* one reader's thread, which hashes and checks them (api/accounts/password_lane.h) */
    struct pool *transfers; /* of checkpoints: wait for disks and networks, so that nobody else does */
    struct first_accounts *first_accounts; /* the first users, which are still to be made; NULL: they exist */
    struct core *core;
    struct loop_timer *core_timer;
    int64_t clock_offset_us; /* of the wall clock to the monotonic one; 0: not read yet */
    struct housekeeping *housekeeping;
    struct read_probe *read_probe;
    struct collector *collector;
    struct deletions *deletions;
    struct log_policies_scanner *log_policies;
    struct sealer *log_sealer, *metric_sealer;
    struct log_retention *log_retention;
    struct lookup_follower *lookup_follower;
    struct log_ring *own_log; /* the last lines of the master's own log */
    struct agent_hub *agents;
    struct provisioner *provisioner;
    struct admin *admin;
    struct api *api;
    struct http_server *http;
    struct tls_files *tls;               /* NULL: plain HTTP */
    struct arena texts;                  /* memory for texts that live as long as the master */
    struct storage_roots *storage_roots; /* directories that an admin has opened to the master */
    struct api_info info;
    struct api_defaults defaults;
    struct service *service;               /* the connection to the service manager, such as systemd */
    int64_t started_us, started_steady_us; /* when the master started, by the wall clock and by the monotonic clock */
    bool draining;                         /* set by stop.c: the loop ends as soon as nothing is under way */
};

/* steps.c: one event through the core; row effects go to the writer, all others are carried out after the commit. */
int master_step(struct master *m, const struct core_event *ev, const struct companion *companion, struct error *err);
/* Does the same for a step that the core has made already (core_restore). It takes over what *effects holds. */
void master_carry_out(struct master *m, struct core_effects *effects, const struct companion *companion);

/* persist.c: the rows of one step; on the writer's thread. */
int persist_effects(struct store *db, const struct core_effects *effects, int64_t now_us, struct error *err);
/* Everything a starting core needs, out of the store. */
int persist_load(struct store *db, const struct core *core, struct arena *a, struct core_rows *ret, struct error *err);

/* start_task.c: a start effect becomes sessions in the store, written behind the rows of its step (*s lives until it is
 * sent), and after their commit a StartTask message to the agent. */
struct start *start_prepare(struct master *m, const struct core_start *s);
void start_send(struct start *st); /* frees it */

/* accounts.c: what the store knows; then the first start's users and their password. The file with the password is
 * there before the server listens (accounts_prepare_first), the users a moment later (accounts_make_first); logins wait
 * for them. */
int accounts_load(struct master *m, struct error *err);
int accounts_prepare_first(struct master *m, struct error *err);
void accounts_make_first(struct master *m);
void accounts_drop_first(
    struct master *m); /* frees first accounts that were prepared and not made, because the start failed */
/* The agents' token: the configured one, else the data directory's, made at the first start. */
int accounts_agent_token(struct master *m, char ret[128], struct error *err);
int accounts_collector_token(const struct config *c, char ret[128],
                             struct error *err); /* observability.token_file; "" if it is not set */

/* core_options.c: pools and defaults of the configuration, for the core and for the API. */
void core_options(struct master *m, struct core_opts *ret);
void api_defaults_of_config(struct master *m, const struct core_opts *opts, struct api_defaults *ret);

/* services.c: what the API asks of this master. */
struct api_services services_for_api(struct master *m);

/* stop.c: no more connections, an answer to what was asked, and all that is queued carried out: afterwards the master's
 * parts can be freed. Ends the program when that does not come to an end; status 75 if writes were lost. */
void master_stop(struct master *m);

/* metrics_page.c */
void metrics_page(void *ctx, struct strbuf *out);

#endif
