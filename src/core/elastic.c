#include "core/elastic.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "common/schema.h"
#include "core/agents.h"
#include "core/effects.h"
#include "core/rm.h"

#define SHORTEST_PAUSE_US 1000000
#define LONGEST_PAUSE_US 60000000

struct instance {
    char id[CORE_AGENT_ID_MAX];
    enum core_instance_state state;
    int64_t launch_us;
    struct agent *agent; /* NULL: has not come yet */
    bool came;           /* somebody with its id has been connected, in this life of the master or an earlier one */
    bool failed;         /* counted as a failed launch */
    bool inherited;      /* launched before this start of the master: its agent may be on its way back */
    int64_t idle_us, lost_us; /* since when; 0: it is not */
    char last_words[200]; /* of one that has stopped */
};

struct elastic {
    struct scale_opts opts;
    struct instance *instance; /* by id */
    size_t n;
    bool listed;               /* at least once */
    uint64_t ordered, seen;    /* the last order, and the one that the picture is younger than */
    int failures;              /* launches in a row */
    int64_t retry_us;
    char *problem;
    struct timer timer;
    bool due;
};

struct elastic *elastic_new(const struct scale_opts *opts)
{
    struct elastic *e = calloc(1, sizeof *e);
    if (e == NULL)
        abort();
    e->opts = *opts;
    return e;
}

void elastic_free(struct core *c, struct elastic *e)
{
    if (e == NULL)
        return;
    timer_clear(&c->timers, &e->timer);
    free(e->instance);
    free(e->problem);
    free(e);
}

void elastic_timer(struct timer *t)
{
    container_of(t, struct elastic, timer)->due = true;
}

static int by_id(const void *a, const void *b)
{
    return strcmp(((const struct instance *)a)->id, ((const struct instance *)b)->id);
}

static struct instance *find(const struct elastic *e, const char *id)
{
    struct instance wanted;
    if (e->n == 0 || strlen(id) >= sizeof wanted.id)
        return NULL;
    memcpy(wanted.id, id, strlen(id) + 1);
    return bsearch(&wanted, e->instance, e->n, sizeof wanted, by_id);
}

bool elastic_lists(const struct agent *agent)
{
    const struct elastic *e = agent->pool->elastic;
    return e != NULL && (!e->listed || find(e, agent->row.id) != NULL);
}

/* ---- launches that fail ------------------------------------------------------------------------------------------ */

static int64_t pause_us(const struct elastic *e)
{
    const struct scale_opts *o = &e->opts;
    if (o->launch_error_timeout_us > 0 && e->failures > o->launch_error_retries)
        return o->launch_error_timeout_us;
    int doubled = e->failures - 1;
    return doubled < 6 ? (int64_t)SHORTEST_PAUSE_US << doubled : LONGEST_PAUSE_US;
}

/* What fails during a pause counts with the failure that caused it. */
__attribute__((format(printf, 3, 4))) static void fail(const struct core *c, struct elastic *e, const char *fmt, ...)
{
    struct strbuf text = STRBUF_INIT;
    va_list ap;
    va_start(ap, fmt);
    strbuf_vaddf(&text, fmt, ap);
    va_end(ap);
    free(e->problem);
    e->problem = strbuf_detach(&text);
    if (c->now_us < e->retry_us)
        return;
    e->failures++;
    e->retry_us = c->now_us + pause_us(e);
}

static void succeed(struct elastic *e)
{
    free(e->problem);
    e->problem = NULL;
    e->failures = 0;
    e->retry_us = 0;
}

static const char *duration_text(struct core *c, int64_t us)
{
    struct strbuf text = STRBUF_INIT;
    duration_format(us * 1000, &text);
    const char *copy = arena_strdup(&c->out->arena, strbuf_str(&text));
    strbuf_release(&text);
    return copy;
}

/* ---- the picture ------------------------------------------------------------------------------------------------- */

/* Cut, if need be, between characters. */
static void set_last_words(struct instance *x, const char *text)
{
    size_t n = strlen(text);
    if (n >= sizeof x->last_words)
        for (n = sizeof x->last_words - 1; n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80;)
            n--;
    memcpy(x->last_words, text, n);
    x->last_words[n] = '\0';
}

static struct instance known_or_new(const struct elastic *e, const struct core_instance *seen)
{
    const struct instance *known = find(e, seen->id);
    struct instance now = known != NULL ? *known : (struct instance){0};
    if (known == NULL) {
        memcpy(now.id, seen->id, strlen(seen->id) + 1);
        now.inherited = !e->listed;
    }
    now.state = seen->state;
    now.launch_us = seen->launch_us;
    set_last_words(&now, seen->detail != NULL ? seen->detail : "");
    return now;
}

static int take_list(struct elastic *e, const struct core_instance *seen, size_t n, struct error *err)
{
    for (size_t i = 0; i < n; i++)
        if (seen[i].id[0] == '\0' || strlen(seen[i].id) >= CORE_AGENT_ID_MAX)
            return error_set(err, ERR_INVALID, "instance id \"%.200s\": must have 1 to %d characters", seen[i].id,
                             CORE_AGENT_ID_MAX - 1);
    struct instance *now = calloc(n + 1, sizeof *now);
    if (now == NULL)
        abort();
    for (size_t i = 0; i < n; i++)
        now[i] = known_or_new(e, &seen[i]);
    qsort(now, n, sizeof *now, by_id);
    free(e->instance);
    e->instance = now;
    e->n = n;
    return 0;
}

/* Agents whose machines are not there any more. One that is still connected goes when its connection does. */
static void forget_vanished(struct core *c, const struct pool *p)
{
    struct agent *agent, *next;
    for (agent = c->agents; agent != NULL; agent = next) {
        next = agent->hh.next;
        if (agent->pool == p && agent->row.instance && agent->presence != AGENT_CONNECTED && !elastic_lists(agent))
            agent_forget(c, agent);
    }
}

/* Which agents are on the machines, and what they do. */
static void look(struct core *c, struct pool *p, struct instance *x)
{
    if (x->agent == NULL)
        x->agent = agent_find(c, x->id);
    struct agent *agent = x->agent;
    bool connected = agent != NULL && agent->pool == p && agent->presence == AGENT_CONNECTED;
    if (connected && !agent->row.instance) {
        agent->row.instance = true;
        record_touch(c, &agent->record);
    }
    if (connected && !x->came)
        succeed(p->elastic);
    x->came = x->came || agent != NULL;
    bool idle = connected && LIST_EMPTY(&agent->containers);
    if (!idle)
        x->idle_us = 0;
    else if (x->idle_us == 0)
        x->idle_us = c->now_us;
    if (connected)
        x->lost_us = 0;
    else if (x->lost_us == 0)
        x->lost_us = c->now_us;
}

static void note_stopped(struct core *c, struct elastic *e, const struct core_instance *seen)
{
    struct instance *x = find(e, seen->id);
    if (seen->state != INSTANCE_STOPPED || x->came || x->failed)
        return;
    x->failed = true;
    fail(c, e, "instance %s ended before its agent had connected%s%s", x->id, x->last_words[0] != '\0' ? ": " : "", x->last_words);
}

int elastic_listed(struct core *c, const struct core_event *ev, struct error *err)
{
    struct pool *p = pool_find(c, ev->listed.pool);
    struct elastic *e = p != NULL ? p->elastic : NULL;
    if (e == NULL)
        return error_set(err, ERR_NOT_FOUND, "resource pool \"%s\" is not elastic", ev->listed.pool);
    if (take_list(e, ev->listed.instance, ev->listed.n, err) < 0)
        return -1;
    bool answers = ev->listed.order == e->ordered && e->seen < e->ordered;
    e->listed = e->due = true;
    e->seen = ev->listed.order;
    for (size_t i = 0; i < e->n; i++)
        look(c, p, &e->instance[i]);
    for (size_t i = 0; i < ev->listed.n; i++)
        note_stopped(c, e, &ev->listed.instance[i]);
    if (answers && ev->listed.launch_error != NULL)
        fail(c, e, "%s", ev->listed.launch_error);
    forget_vanished(c, p);
    return 0;
}

/* ---- the decision ------------------------------------------------------------------------------------------------ */

/* Also when this class ends by itself; INT64_MAX: it does not. */
static enum scale_class class_of(const struct core *c, const struct elastic *e, const struct instance *x,
                                 int64_t *ret_until_us)
{
    const struct scale_opts *o = &e->opts;
    *ret_until_us = INT64_MAX;
    if (x->state == INSTANCE_STOPPED)
        return SCALE_STOPPED;
    if (x->state == INSTANCE_PENDING)
        return SCALE_PENDING;
    if (x->idle_us != 0) {
        *ret_until_us = x->idle_us + o->max_idle_us;
        return *ret_until_us <= c->now_us ? SCALE_LONG_IDLE : SCALE_IDLE;
    }
    if (x->lost_us == 0)
        return SCALE_OCCUPIED;
    *ret_until_us = x->came ? 0 : x->launch_us + o->max_starting_us;
    if (x->inherited && c->settled_us > *ret_until_us)
        *ret_until_us = c->settled_us;
    if (c->now_us < *ret_until_us)
        return SCALE_STARTING;
    *ret_until_us = x->lost_us + o->max_disconnected_us;
    return !x->came || *ret_until_us <= c->now_us ? SCALE_LONG_DISCONNECTED : SCALE_DISCONNECTED;
}

/* Would a pool of the greatest size hold it? What it would not hold calls for nothing. */
static bool calls_for_agents(const struct scale_opts *o, const struct sched_request *r)
{
    if (r->state != SCHED_PENDING || !scale_counts(r->slots, o->slots_per_instance))
        return false;
    return r->single_agent ? r->slots <= o->slots_per_instance
                           : r->slots <= (int64_t)o->max_instances * o->slots_per_instance;
}

/* No more than `most` is of interest, so a long queue is not walked to its end. */
static int desired(const struct pool *p, int most)
{
    const struct scale_opts *o = &p->elastic->opts;
    struct scale_demand d = {0};
    int now = 0;
    for (const struct sched_group *g = sched_first_group(p->sched); g != NULL && now < most; g = sched_next_group(g)) {
        struct sched_request *r;
        int64_t slots = 0;
        RB_FOREACH(r, sched_job, (struct sched_job *)&g->requests) {
            d.aux += r->state == SCHED_PENDING && r->slots == 0;
            slots += calls_for_agents(o, r) ? r->slots : 0;
            if (slots >= (int64_t)most * o->slots_per_instance && slots > 0)
                break;
        }
        scale_add_group(&d, slots, g->max_slots);
        now = scale_desired(&d, o->slots_per_instance, p->opts.max_aux_containers_per_agent);
    }
    return now;
}

static const char *reason_of(struct core *c, const struct elastic *e, const struct instance *x, enum scale_class is)
{
    switch (is) {
    case SCALE_STOPPED:
        return arena_printf(&c->out->arena, "stopped%s%s", x->last_words[0] != '\0' ? ": " : "", x->last_words);
    case SCALE_LONG_IDLE:
        return arena_printf(&c->out->arena, "idle for %s", duration_text(c, e->opts.max_idle_us));
    case SCALE_LONG_DISCONNECTED:
        if (!x->came)
            return arena_printf(&c->out->arena, "not connected within %s", duration_text(c, e->opts.max_starting_us));
        return arena_printf(&c->out->arena, "disconnected for %s", duration_text(c, e->opts.max_disconnected_us));
    default:
        return arena_printf(&c->out->arena, "more than max_instances, %d", e->opts.max_instances);
    }
}

static void set_leaving(struct core *c, struct pool *p, const struct instance *x, bool leaving)
{
    if (x->agent == NULL || x->agent->leaving == leaving)
        return;
    x->agent->leaving = leaving;
    agent_changed(x->agent);
    if (!leaving) /* it can be used again, for what waits now */
        timer_set(&c->timers, &p->pass, TIMER_POOL_PASS, c->now_us);
}

static void give_order(struct core *c, struct pool *p, const struct scale_instance *v, int terminate_n, int launch)
{
    struct elastic *e = p->elastic;
    struct core_termination *t = arena_array(&c->out->arena, struct core_termination, (size_t)terminate_n + 1);
    size_t n = 0;
    for (size_t i = 0; i < e->n; i++) {
        const struct instance *x = &e->instance[i];
        set_leaving(c, p, x, v[i].terminate);
        if (v[i].terminate)
            t[n++] = (struct core_termination){arena_strdup(&c->out->arena, x->id), reason_of(c, e, x, v[i].is)};
    }
    if (terminate_n == 0 && launch == 0)
        return;
    struct core_effect *effect = effect_add(c, CORE_ORDER_INSTANCES);
    effect->order.pool = arena_strdup(&c->out->arena, p->name);
    effect->order.number = ++e->ordered;
    effect->order.launch = launch;
    effect->order.terminate = t;
    effect->order.terminate_n = n;
}

/* Right after a restart, agents that are on their way back are neither surplus nor missing. */
static bool is_settling(const struct core *c, const struct elastic *e)
{
    for (size_t i = 0; i < e->n && c->now_us < c->settled_us; i++)
        if (e->instance[i].inherited && e->instance[i].lost_us != 0)
            return true;
    return false;
}

static void earlier(int64_t *due_us, int64_t us, int64_t now_us)
{
    if (us > now_us && us < *due_us)
        *due_us = us;
}

static void decide(struct core *c, struct pool *p)
{
    struct elastic *e = p->elastic;
    struct scale_instance *v = arena_array(&c->out->arena, struct scale_instance, e->n + 1);
    int64_t due_us = INT64_MAX, until_us;
    int starting = 0;
    for (size_t i = 0; i < e->n; i++) {
        struct instance *x = &e->instance[i];
        v[i] = (struct scale_instance){.is = class_of(c, e, x, &until_us), .launch_us = x->launch_us};
        starting += v[i].is == SCALE_PENDING || v[i].is == SCALE_STARTING;
        earlier(&due_us, until_us, c->now_us);
        if (v[i].is != SCALE_LONG_DISCONNECTED || x->came || x->failed)
            continue;
        x->failed = true;
        fail(c, e, "instance %s has not connected within %s", x->id, duration_text(c, e->opts.max_starting_us));
    }
    int most = e->opts.max_instances - (int)e->n, launch = 0;
    int ended = scale_terminate(v, e->n, e->opts.min_instances, is_settling(c, e) ? INT_MAX : e->opts.max_instances);
    if (c->now_us >= e->retry_us && most > 0)
        launch = scale_launch(&e->opts, (int)e->n, starting, desired(p, most + starting));
    earlier(&due_us, e->retry_us, c->now_us);
    give_order(c, p, v, ended, launch);
    if (due_us != INT64_MAX)
        timer_set(&c->timers, &e->timer, TIMER_POOL_SCALE, due_us);
    else
        timer_clear(&c->timers, &e->timer);
}

void elastic_turn(struct core *c, struct pool *p, bool changed)
{
    struct elastic *e = p->elastic;
    if (!changed && !e->due)
        return;
    for (size_t i = 0; i < e->n; i++)
        look(c, p, &e->instance[i]);
    e->due = false;
    if (e->listed && e->seen == e->ordered)
        decide(c, p);
}

/* ---- the rest ---------------------------------------------------------------------------------------------------- */

static void shift(int64_t *us, int64_t by_us)
{
    *us += *us != 0 ? by_us : 0;
}

void elastic_clock_set(struct core *c, int64_t by_us)
{
    shift(&c->settled_us, by_us);
    for (size_t i = 0; i < c->pool_n; i++) {
        struct elastic *e = c->pool[i].elastic;
        if (e == NULL)
            continue;
        shift(&e->retry_us, by_us);
        for (size_t k = 0; k < e->n; k++) {
            shift(&e->instance[k].launch_us, by_us);
            shift(&e->instance[k].idle_us, by_us);
            shift(&e->instance[k].lost_us, by_us);
        }
    }
}

void elastic_restored(struct core *c)
{
    struct agent *agent, *next;
    for (agent = c->agents; agent != NULL; agent = next) {
        next = agent->hh.next;
        if (agent->row.instance && agent->presence == AGENT_GONE && !elastic_lists(agent))
            agent_forget(c, agent);
    }
}

void elastic_view(const struct core *c, const struct pool *p, struct core_pool_view *ret)
{
    const struct elastic *e = p->elastic;
    int64_t until_us;
    if (e == NULL)
        return;
    ret->elastic = true;
    ret->scale = &e->opts;
    ret->instance_n = (int)e->n;
    ret->problem = e->problem;
    ret->retry_us = e->retry_us;
    for (size_t i = 0; i < e->n; i++) {
        enum scale_class is = class_of(c, e, &e->instance[i], &until_us);
        ret->starting_n += is == SCALE_PENDING || is == SCALE_STARTING;
    }
}
