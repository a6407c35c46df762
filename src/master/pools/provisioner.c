#include "master/pools/provisioner.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/must.h"
#include "common/system/log.h"
#include "master/master.h"
#include "master/pools/provider.h"

#define LONGEST_PAUSE_US 15000000ll

enum { MASTER_PORT_DEFAULT = 8080 };

/* What the core wants of one pool, until a turn begins to carry it out. */
struct order {
    struct arena arena;
    uint64_t number; /* the number of the last order */
    int launch;
    struct core_termination *terminate;
    size_t terminate_n;
};

struct member {
    struct provisioner *of;
    const char *pool;
    bool wanted; /* false: the pool is not elastic any more, and all its machines are to be ended */
    const struct provider_type *type;
    struct provider *provider;
    struct pool *thread;
    struct loop_timer *timer;
    struct order order;
    bool busy, again;
    int failures; /* the number of turns in a row in which the provider failed at something other than a launch */
    struct provisioner_counts counts;
};

struct provisioner {
    struct master *m;
    struct arena texts;
    atomic_bool stopping;
    struct member **member;
    size_t n;
};

/* One turn: it terminates machines, launches machines, and lists all machines. */
struct turn {
    struct member *of;
    struct order order;
    struct arena arena;
    struct error *terminate_failed; /* one error for each termination of the order */
    struct error launch_failed, list_failed;
    struct core_instance *instance;
    size_t n;
};

static void begin_turn(struct member *e);

/* ---- on the pool's thread ---------------------------------------------------------------------------------------- */

static void carry_out_turn(void *worker, void *job)
{
    struct turn *t = job;
    const struct provider_type *type = t->of->type;
    struct provider *p = t->of->provider;
    (void)worker;
    for (size_t i = 0; i < t->order.terminate_n; i++)
        type->terminate(p, t->order.terminate[i].id, &t->terminate_failed[i]);
    if (t->order.launch > 0 && !atomic_load(&t->of->of->stopping))
        type->launch(p, t->order.launch, &t->launch_failed);
    type->list(p, &t->arena, &t->instance, &t->n, &t->list_failed);
}

/* ---- on the loop ------------------------------------------------------------------------------------------------- */

static void turn_free(struct turn *t)
{
    for (size_t i = 0; i < t->order.terminate_n; i++)
        error_release(&t->terminate_failed[i]);
    error_release(&t->launch_failed);
    error_release(&t->list_failed);
    arena_release(&t->order.arena);
    arena_release(&t->arena);
    free(t);
}

/* Logs what has failed in a turn. Returns whether the provider has failed at something for which it will be asked
 * again. */
static bool log_turn(const struct turn *t)
{
    struct member *e = t->of;
    bool failed = t->list_failed.kind != ERR_NONE;
    for (size_t i = 0; i < t->order.terminate_n; i++) {
        const struct core_termination *x = &t->order.terminate[i];
        bool ended = t->terminate_failed[i].kind == ERR_NONE;
        failed = failed || !ended;
        e->counts.terminated += ended;
        if (ended)
            log_info("instance.terminated", "pool=%s id=%s reason=%s", e->pool, x->id, log_quote(x->reason));
        else
            log_warning("instance.terminate_failed", "pool=%s id=%s reason=%s action=try_again", e->pool, x->id,
                        log_quote(error_msg(&t->terminate_failed[i])));
    }
    if (t->launch_failed.kind != ERR_NONE) {
        e->counts.launch_failures++;
        log_warning("instance.launch_failed", "pool=%s wanted=%d reason=%s action=try_again", e->pool, t->order.launch,
                    log_quote(error_msg(&t->launch_failed)));
    } else if (t->order.launch > 0) {
        e->counts.launched += t->order.launch;
        log_info("instance.launched", "pool=%s n=%d", e->pool, t->order.launch);
    }
    if (t->list_failed.kind != ERR_NONE)
        log_warning("instance.list_failed", "pool=%s reason=%s action=try_again", e->pool,
                    log_quote(error_msg(&t->list_failed)));
    return failed;
}

/* Tells the core what the provider has listed, or why it could not. */
static void tell_core(struct turn *t)
{
    struct member *e = t->of;
    cleanup_error struct error err = ERROR_INIT;
    bool listed = t->list_failed.kind == ERR_NONE;
    const char *launch_error = t->launch_failed.kind != ERR_NONE ? error_msg(&t->launch_failed) : NULL;
    struct core_event ev = {.type = CORE_INSTANCES_LISTED,
                            .now_us = clock_now_us(),
                            .listed = {.pool = e->pool,
                                       .instance = t->instance,
                                       .n = t->n,
                                       .order = t->order.number,
                                       .launch_error = launch_error,
                                       .list_error = listed ? NULL : error_msg(&t->list_failed)}};
    if (master_step(e->of->m, &ev, NULL, &err) < 0)
        log_error("instance.list_ignored", "pool=%s reason=%s", e->pool, log_quote(error_msg(&err)));
}

/* Orders the end of all machines of a pool that does not have a provider any more. */
static void end_all(struct member *e, const struct turn *t)
{
    struct order *o = &e->order;
    o->terminate = arena_array(&o->arena, struct core_termination, t->n + 1);
    for (size_t i = 0; i < t->n; i++)
        o->terminate[o->terminate_n++] = (struct core_termination){arena_strdup(&o->arena, t->instance[i].id),
                                                                   "its pool has no provider any more"};
    e->again = t->n > 0;
}

/* Begins the next turn at once if there is an order and the provider has not just failed. Otherwise the timer begins
 * it. */
static void go_on(struct member *e)
{
    int64_t pause_us = e->type->list_period_us;
    if (e->busy)
        return;
    if (e->again && e->failures == 0) {
        begin_turn(e);
        return;
    }
    for (int i = 1; i < e->failures && pause_us < LONGEST_PAUSE_US; i++)
        pause_us *= 2;
    loop_timer_arm(e->timer, pause_us < LONGEST_PAUSE_US ? pause_us : LONGEST_PAUSE_US);
}

/* Whether a pool that does not have a provider any more has no machines either. */
static bool has_ended_all(const struct turn *t)
{
    const struct member *e = t->of;
    return !e->wanted && t->list_failed.kind == ERR_NONE && t->n == 0 &&
           !(e->type->has_more && e->type->has_more(e->provider));
}

static void turn_done(void *job)
{
    struct turn *t = job;
    struct member *e = t->of;
    bool stopping = atomic_load(&e->of->stopping);
    e->busy = false;
    if (!stopping) {
        e->failures = log_turn(t) ? e->failures + 1 : 0;
        if (e->wanted)
            tell_core(t);
        else if (t->list_failed.kind == ERR_NONE)
            end_all(e, t);
    }
    bool over = stopping || has_ended_all(t);
    turn_free(t);
    if (!over)
        go_on(e);
}

static void begin_turn(struct member *e)
{
    cleanup_error struct error err = ERROR_INIT;
    struct turn *t = must_calloc(1, sizeof(*t));
    *t = (struct turn){.of = e, .order = e->order};
    t->terminate_failed = arena_array(&t->arena, struct error, t->order.terminate_n + 1);
    for (size_t i = 0; i < t->order.terminate_n; i++)
        t->terminate_failed[i] = (struct error)ERROR_INIT;
    e->order = (struct order){.number = t->order.number};
    e->again = false;
    e->busy = true;
    loop_timer_disarm(e->timer);
    if (pool_submit(e->thread, carry_out_turn, turn_done, t, &err) == 0)
        return;
    error_move(&t->list_failed, &err);
    turn_done(t);
}

static void on_time(void *ctx)
{
    struct member *e = ctx;
    if (!e->busy)
        begin_turn(e);
}

static struct member *find_member(const struct provisioner *p, const char *pool)
{
    for (size_t i = 0; i < p->n; i++)
        if (p->member[i]->wanted && strcmp(p->member[i]->pool, pool) == 0)
            return p->member[i];
    return NULL;
}

void provisioner_order(struct provisioner *p, const struct core_effect *e)
{
    struct member *of = p ? find_member(p, e->order.pool) : NULL;
    if (!of || atomic_load(&p->stopping))
        return;
    struct order *o = &of->order;
    arena_release(&o->arena);
    *o = (struct order){.number = e->order.number, .launch = e->order.launch, .terminate_n = e->order.terminate_n};
    o->terminate = arena_array(&o->arena, struct core_termination, o->terminate_n + 1);
    for (size_t i = 0; i < o->terminate_n; i++)
        o->terminate[i] = (struct core_termination){arena_strdup(&o->arena, e->order.terminate[i].id),
                                                    arena_strdup(&o->arena, e->order.terminate[i].reason)};
    of->again = true;
    go_on(of);
}

bool provisioner_counts(const struct provisioner *p, const char *pool, struct provisioner_counts *ret)
{
    const struct member *e = p ? find_member(p, pool) : NULL;
    if (e)
        *ret = e->counts;
    return e != NULL;
}

/* ---- setting up -------------------------------------------------------------------------------------------------- */

/* Finds the address of the master: provider.master_url, otherwise the address at which a program on the master's own
 * machine reaches it. */
static void master_address(struct master *m, struct json_object *provider, struct provider_setup *s, struct arena *a)
{
    const char *url = json_object_get_string(json_object_object_get(provider, "master_url"));
    const char *bind = config_str(m->config, "bind_host");
    bool any = strcmp(bind, "0.0.0.0") == 0 || strcmp(bind, "::") == 0;
    s->master_tls = m->tls != NULL;
    s->master_host = any ? "127.0.0.1" : bind;
    s->master_port = (int)config_int(m->config, "port");
    if (!url || !*url)
        return;
    const char *host = strstr(url, "://") + 3, *bracket = strchr(host, ']'),
               *colon = strchr(bracket ? bracket : host, ':');
    s->master_tls = strncmp(url, "https:", 6) == 0;
    s->master_host = colon ? arena_strndup(a, host, (size_t)(colon - host)) : host;
    s->master_port = colon ? (int)strtol(colon + 1, NULL, 10) : MASTER_PORT_DEFAULT;
}

static int add_member(struct provisioner *p, const char *pool, const struct provider_type *type,
                      struct json_object *config, struct error *err)
{
    struct master *m = p->m;
    struct member *e = must_calloc(1, sizeof(*e)),
                  **all = must_realloc(p->member, (p->n + 1) * sizeof(struct member *));
    const struct pool_options thread = {.name = "det-provider", .threads = 1, .queue_max = 1};
    struct provider_setup setup = {.pool = pool,
                                   .config = config,
                                   .data_dir = m->data_dir,
                                   .master_cert = config_str(m->config, "security.tls.cert"),
                                   .cluster_id = m->info.cluster_id,
                                   .agent_token = m->agent_token,
                                   .stopping = &p->stopping};
    master_address(m, config, &setup, &p->texts);
    *e = (struct member){.of = p, .pool = pool, .wanted = config != NULL, .type = type, .provider = type->open(&setup)};
    p->member = all;
    p->member[p->n++] = e;
    e->timer = loop_timer_new(m->loop, on_time, e);
    if (pool_new(m->loop, &thread, &e->thread, err) < 0)
        return -1;
    begin_turn(e);
    return 0;
}

static bool has_member(const struct provisioner *p, const char *pool, const struct provider_type *type)
{
    const struct member *e = find_member(p, pool);
    return e && e->type == type;
}

/* Adds the pools that have no provider of this type any more but still have machines of it. If a directory cannot be
 * read, the master starts all the same. */
static int add_leftovers(struct provisioner *p, const struct provider_type *type, struct error *err)
{
    cleanup_error struct error failed = ERROR_INIT;
    const char **pool = NULL;
    size_t n = 0;
    if (type->pools(p->m->data_dir, &p->texts, &pool, &n, &failed) < 0)
        log_warning("instance.list_failed", "provider=%s reason=%s", type->name, log_quote(error_msg(&failed)));
    for (size_t i = 0; i < n; i++)
        if (!has_member(p, pool[i], type) && add_member(p, pool[i], type, NULL, err) < 0)
            return -1;
    return 0;
}

int provisioner_new(struct master *m, struct provisioner **ret, struct error *err)
{
    struct json_object *pools = config_get(m->config, "resource_pools");
    struct provisioner *p = *ret = must_calloc(1, sizeof(*p));
    const struct provider_type *type;
    p->m = m;
    for (size_t i = 0; pools && i < json_object_array_length(pools); i++) {
        struct json_object *pool = json_object_array_get_idx(pools, i),
                           *config = json_object_object_get(pool, "provider");
        if (config &&
            add_member(p, json_object_get_string(json_object_object_get(pool, "pool_name")),
                       provider_find(json_object_get_string(json_object_object_get(config, "type"))), config, err) < 0)
            return -1;
    }
    for (size_t i = 0; (type = provider_at(i)); i++)
        if (add_leftovers(p, type, err) < 0)
            return -1;
    return 0;
}

void provisioner_stop(struct provisioner *p)
{
    if (!p)
        return;
    atomic_store(&p->stopping, true);
    for (size_t i = 0; i < p->n; i++)
        loop_timer_disarm(p->member[i]->timer);
}

void provisioner_free(struct provisioner *p)
{
    if (!p)
        return;
    for (size_t i = 0; i < p->n; i++) {
        struct member *e = p->member[i];
        pool_free(e->thread);
        e->type->close(e->provider);
        loop_timer_free(e->timer);
        arena_release(&e->order.arena);
        free(e);
    }
    free(p->member);
    arena_release(&p->texts);
    free(p);
}
