#include "core/resources/instances.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/must.h"
#include "common/base/utf8.h"
#include "core/resources/agents.h"
#include "core/state/step.h"

void instances_init(struct instances *s, const struct scale_opts *opts)
{
    *s = (struct instances){.opts = opts};
    TAILQ_INIT(&s->touched);
}

static int compare_id(const void *id, const void *member)
{
    return strcmp(id, (*(struct instance *const *)member)->id);
}

struct instance *instances_find(const struct instances *s, const char *id)
{
    struct instance **found = s->n == 0 ? NULL : bsearch(id, s->at, s->n, sizeof(struct instance *), compare_id);
    return !found ? NULL : *found;
}

/* ---- classes ----------------------------------------------------------------------------------------------------- */

/* Finds the class of a machine. *ret_until_us is the time at which the machine leaves this class only because time
 * passes; INT64_MAX: never. */
static enum scale_class class_of(const struct core *c, const struct scale_opts *o, const struct instance *x,
                                 int64_t *ret_until_us)
{
    *ret_until_us = INT64_MAX;
    if (x->state == INSTANCE_STOPPED)
        return SCALE_STOPPED;
    if (x->state == INSTANCE_PENDING)
        return SCALE_PENDING;
    bool ending = x->state == INSTANCE_ENDING;
    if (ending && x->idle_us != 0) /* nothing is gained by keeping it longer than its tasks need */
        return SCALE_STOPPED;
    if (x->idle_us != 0) {
        *ret_until_us = x->idle_us + o->max_idle_us;
        return *ret_until_us <= c->now_us ? SCALE_LONG_IDLE : SCALE_IDLE;
    }
    if (x->lost_us == 0)
        return SCALE_OCCUPIED;
    *ret_until_us = x->has_connected ? 0 : x->launch_us + o->max_starting_us;
    if (x->inherited && c->settled_us > *ret_until_us)
        *ret_until_us = c->settled_us;
    if (c->now_us < *ret_until_us)
        return ending ? SCALE_DISCONNECTED : SCALE_STARTING; /* what ends is not waited for */
    *ret_until_us = x->lost_us + o->max_disconnected_us;
    return !x->has_connected || *ret_until_us <= c->now_us ? SCALE_LONG_DISCONNECTED : SCALE_DISCONNECTED;
}

static void count_instance(struct instance *x, int by)
{
    x->set->n_in[x->class] += by;
    x->set->may_return_n += x->may_return ? by : 0;
    x->set->leaving_n += x->leaving ? by : 0;
}

static void classify_instance(struct core *c, struct instance *x)
{
    int64_t until_us;
    count_instance(x, -1);
    x->class = class_of(c, x->set->opts, x, &until_us);
    x->may_return = x->inherited && x->lost_us != 0;
    count_instance(x, 1);
    if (until_us > c->now_us && until_us != INT64_MAX)
        timer_set(&c->timers, &x->class_timer, TIMER_INSTANCE, until_us);
    else
        timer_clear(&c->timers, &x->class_timer);
}

void instances_set_leaving(struct instance *x, bool leaving)
{
    count_instance(x, -1);
    x->leaving = leaving;
    count_instance(x, 1);
}

/* ---- looking ----------------------------------------------------------------------------------------------------- */

void instances_touch(struct instances *s, struct instance *x)
{
    if (x->touched)
        return;
    x->touched = true;
    TAILQ_INSERT_TAIL(&s->touched, x, in_touched);
}

void instance_timer(struct timer *t)
{
    struct instance *x = container_of(t, struct instance, class_timer);
    instances_touch(x->set, x);
}

/* Notes what the agent on the machine does. Returns true if the agent has come for the first time. */
static bool look_at_agent(struct core *c, struct pool *p, struct instance *x)
{
    struct agent *agent = agent_find(c, x->id);
    bool connected = agent && agent->pool == p && agent->presence == AGENT_CONNECTED;
    if (connected && !agent->row.instance) {
        agent->row.instance = true;
        record_touch(c, &agent->record);
    }
    bool comes = connected && !x->has_connected;
    x->has_connected = x->has_connected || agent;
    if (!connected || !LIST_EMPTY(&agent->containers))
        x->idle_us = 0;
    else if (x->idle_us == 0)
        x->idle_us = c->now_us;
    if (connected)
        x->lost_us = 0;
    else if (x->lost_us == 0)
        x->lost_us = c->now_us;
    return comes;
}

struct instance *instances_look(struct core *c, struct pool *p, struct instances *s, bool *ret_came)
{
    struct instance *x = TAILQ_FIRST(&s->touched);
    if (!x)
        return NULL;
    TAILQ_REMOVE(&s->touched, x, in_touched);
    x->touched = false;
    *ret_came = look_at_agent(c, p, x);
    classify_instance(c, x);
    return x;
}

/* ---- lists ------------------------------------------------------------------------------------------------------- */

/* Keeps the last line of a stopped machine's log, as far as there is room for it. */
static void set_stop_detail(struct instance *x, const char *text)
{
    size_t n = utf8_cut(text, strlen(text), sizeof(x->stop_detail) - 1);
    memcpy(x->stop_detail, text, n);
    x->stop_detail[n] = '\0';
}

static struct instance *new_instance(struct instances *s, const char *id, bool inherited)
{
    struct instance *x = must_calloc(1, sizeof(*x));
    memcpy(x->id, id, strlen(id) + 1);
    x->inherited = inherited;
    x->set = s;
    count_instance(x, 1);
    return x;
}

static void free_instance(struct core *c, struct instance *x)
{
    count_instance(x, -1);
    timer_clear(&c->timers, &x->class_timer);
    if (x->touched)
        TAILQ_REMOVE(&x->set->touched, x, in_touched);
    free(x);
}

static int by_id(const void *a, const void *b)
{
    return strcmp((*(struct instance *const *)a)->id, (*(struct instance *const *)b)->id);
}

static int check_ids(const struct core_instance *seen, size_t n, struct error *err)
{
    for (size_t i = 0; i < n; i++)
        if (seen[i].id[0] == '\0' || strlen(seen[i].id) >= CORE_AGENT_ID_MAX)
            return error_set(err, ERR_INVALID, "instance id \"%.200s\": must have 1 to %d characters", seen[i].id,
                             CORE_AGENT_ID_MAX - 1);
    return 0;
}

/* Frees the machines that are not listed any more. */
static void free_vanished(struct core *c, struct instance **at, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!at[i]->listed)
            free_instance(c, at[i]);
    free(at);
}

int instances_take_list(struct core *c, struct instances *s, const struct core_instance *seen, size_t n, bool first,
                        struct error *err)
{
    if (check_ids(seen, n, err) < 0)
        return -1;
    struct instance **now = must_calloc(n + 1, sizeof(struct instance *));
    size_t now_n = 0;
    for (size_t i = 0; i < s->n; i++)
        s->at[i]->listed = false;
    for (size_t i = 0; i < n; i++) {
        struct instance *x = instances_find(s, seen[i].id);
        if (!x)
            x = new_instance(s, seen[i].id, first);
        if (!x->listed)
            now[now_n++] = x;
        x->listed = true;
        x->state = seen[i].state;
        x->launch_us = seen[i].launch_us;
        set_stop_detail(x, seen[i].detail ? seen[i].detail : "");
        instances_touch(s, x);
    }
    free_vanished(c, s->at, s->n);
    qsort(now, now_n, sizeof(struct instance *), by_id);
    s->at = now;
    s->n = now_n;
    return 0;
}

void instances_release(struct core *c, struct instances *s)
{
    for (size_t i = 0; i < s->n; i++)
        free_instance(c, s->at[i]);
    free(s->at);
}

static void shift_time(int64_t *us, int64_t by_us)
{
    *us += *us != 0 ? by_us : 0;
}

void instances_clock_set(struct instances *s, int64_t by_us)
{
    for (size_t i = 0; i < s->n; i++) {
        shift_time(&s->at[i]->launch_us, by_us);
        shift_time(&s->at[i]->idle_us, by_us);
        shift_time(&s->at[i]->lost_us, by_us);
    }
}

bool instances_add_up(const struct core *c, const struct instances *s)
{
    int n_in[SCALE_CLASS_NR] = {0}, settling = 0, leaving = 0;
    int64_t until_us;
    bool right = true;
    for (size_t i = 0; i < s->n; i++) {
        const struct instance *x = s->at[i];
        n_in[x->class]++;
        settling += x->inherited && x->lost_us != 0;
        leaving += x->leaving;
        /* the timer that is due will change the class */
        bool ends = x->class_timer.place != 0 && x->class_timer.due_us <= c->now_us;
        right = right && (ends || class_of(c, s->opts, x, &until_us) == x->class) &&
                (i == 0 || strcmp(s->at[i - 1]->id, x->id) < 0);
    }
    return right && memcmp(n_in, s->n_in, sizeof(n_in)) == 0 && settling == s->may_return_n && leaving == s->leaving_n;
}
