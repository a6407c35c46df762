#include "agent/task/runtime_container.h"

#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/engine/container.h"
#include "agent/engine/container_unborn.h"
#include "agent/task/task.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/must.h"
#include "common/system/log.h"

/* The time until the next look doubles while an engine stays away: one that is restarted is asked soon, and one that
 * this machine does not have costs next to nothing. */
enum { LOOK_AGAIN_US = 500000, LOOK_AGAIN_MAX_US = 30000000 };
/* runc may be at work for a while on a container that its engine has forgotten: a minute of looks, at growing times. */
enum { UNBORN_FIRST_US = 500000, UNBORN_LAST_US = 32000000 };

/* One engine at a time is asked: first who it is, then for its containers, then to remove one after the other. */
struct container_leftovers {
    struct agent *agent;
    struct loop_timer *timer;
    size_t engine_i;
    struct engine_greeting *greeting;
    struct engine_call *call;
    struct json_object *list; /* containers of the engine; NULL while none is looked through */
    size_t list_i;
    bool again;       /* an engine of this look did not answer, or has not removed everything */
    int64_t delay_us; /* until the next look */
    struct command_look {
        bool busy; /* a worker lists what commands have left */
        struct arena arena;
        struct apptainer_leftover *list;
        size_t n;
    } command;
    struct unborn_look {
        struct loop_timer *timer;
        int64_t delay_us, looked_us; /* until the next look at what runc has left; when the last one began */
        bool busy;                   /* a worker looks */
        struct arena arena;
        struct unborn_container *found;
        size_t n;
    } unborn;
};

static void look(struct container_leftovers *l);

static struct engine *engine_now(struct container_leftovers *l)
{
    return &l->agent->engines.engine[l->engine_i];
}

static void next_engine(struct container_leftovers *l)
{
    json_object_put(l->list);
    l->list = NULL;
    l->engine_i++;
    look(l);
}

static void remove_next(struct container_leftovers *l);

static void on_removed(void *ctx, struct json_object *body, const struct error *err)
{
    struct container_leftovers *l = ctx;
    (void)body;
    l->call = NULL;
    if (err && err->kind != ERR_NOT_FOUND) {
        log_warning("agent.container_left", "error=%s", log_quote(error_msg(err)));
        l->again = true;
    }
    remove_next(l);
}

static void remove_next(struct container_leftovers *l)
{
    size_t n = json_object_array_length(l->list);
    while (l->list_i < n) {
        struct json_object *c = json_object_array_get_idx(l->list, l->list_i++);
        struct json_object *labels = json_object_is_type(c, json_type_object) ? json_object_object_get(c, "Labels")
                                                                              : NULL;
        struct json_object *v = json_object_is_type(labels, json_type_object)
                                    ? json_object_object_get(labels, CONTAINER_LABEL "id")
                                    : NULL;
        const char *task = json_object_is_type(v, json_type_string) ? json_object_get_string(v) : "", *id;
        id = engine_text(c, "Id");
        if (!*task || !*id || strspn(id, "0123456789abcdef") != strlen(id) || task_find(l->agent, task))
            continue;
        log_info("agent.container_leftover", "container=%s engine=%s action=remove", log_quote(task),
                 engine_now(l)->name);
        l->call = container_remove(engine_now(l), id, on_removed, l);
        return;
    }
    next_engine(l);
}

static void on_list(void *ctx, struct json_object *body, const struct error *err)
{
    struct container_leftovers *l = ctx;
    l->call = NULL;
    if (err || !json_object_is_type(body, json_type_array)) {
        l->again = true;
        next_engine(l);
        return;
    }
    l->list = json_object_get(body);
    l->list_i = 0;
    remove_next(l);
}

static void on_greeted(void *ctx, const struct error *err)
{
    struct container_leftovers *l = ctx;
    const struct container_label label[] = {{CONTAINER_LABEL "type", "task-container"},
                                            {CONTAINER_LABEL "run_root", l->agent->config->run_root}};
    l->greeting = NULL;
    if (err) {
        l->again = true;
        next_engine(l);
    } else {
        l->call = container_list(engine_now(l), label, sizeof(label) / sizeof(label[0]), on_list, l);
    }
}

static bool is_known(void *ctx, const char *container_id)
{
    struct container_leftovers *l = ctx;
    return task_find(l->agent, container_id) != NULL;
}

static void look(struct container_leftovers *l)
{
    if (l->engine_i < l->agent->engines.n) {
        l->greeting = engine_greet(engine_now(l), on_greeted, l);
    } else if (l->again) {
        l->again = false;
        loop_timer_arm(l->timer, l->delay_us);
        l->delay_us = l->delay_us < LOOK_AGAIN_MAX_US / 2 ? 2 * l->delay_us : LOOK_AGAIN_MAX_US;
    }
}

/* The list is made on a worker's thread, because that reads all of /proc and a directory that may be a network's. */
static void list_work(void *worker, void *ctx)
{
    struct container_leftovers *l = ctx;
    (void)worker;
    l->command.n = runtime_apptainer_list_leftovers(l->agent->config, &l->command.arena, &l->command.list);
}

static void list_done(void *ctx)
{
    struct container_leftovers *l = ctx;
    runtime_apptainer_end_leftovers(l->agent->config, l->command.list, l->command.n, is_known, l);
    arena_release(&l->command.arena);
    l->command.busy = false;
    look(l);
}

static void on_timer(void *ctx)
{
    struct container_leftovers *l = ctx;
    if (l->greeting || l->call || l->command.busy) {
        loop_timer_arm(l->timer, l->delay_us);
        return;
    }
    l->engine_i = 0;
    l->command.busy = l->agent->engines.command.name &&
                      pool_submit(l->agent->sampler, list_work, list_done, l, NULL) == 0;
    if (!l->command.busy)
        look(l);
}

static void unborn_work(void *worker, void *ctx)
{
    struct container_leftovers *l = ctx;
    const struct unborn_search search = {"/proc", l->agent->config->run_root, CONTAINER_SUPERVISOR};
    (void)worker;
    l->unborn.n = container_unborn_list(&search, &l->unborn.arena, &l->unborn.found);
}

static void arm_unborn(struct unborn_look *u)
{
    if (u->delay_us > UNBORN_LAST_US)
        return;
    loop_timer_arm(u->timer, u->delay_us);
    u->delay_us *= 2;
}

static void unborn_done(void *ctx)
{
    struct container_leftovers *l = ctx;
    container_unborn_end(l->unborn.found, l->unborn.n, is_known, l);
    arena_release(&l->unborn.arena);
    l->unborn.busy = false;
    arm_unborn(&l->unborn);
}

static void on_unborn(void *ctx)
{
    struct container_leftovers *l = ctx;
    l->unborn.looked_us = clock_monotonic_us();
    l->unborn.busy = pool_submit(l->agent->sampler, unborn_work, unborn_done, l, NULL) == 0;
    if (!l->unborn.busy)
        arm_unborn(&l->unborn);
}

struct container_leftovers *container_leftovers_new(struct agent *a)
{
    struct container_leftovers *l = must_calloc(1, sizeof(*l));
    l->agent = a;
    l->delay_us = LOOK_AGAIN_US;
    l->timer = loop_timer_new(a->loop, on_timer, l);
    l->unborn.timer = loop_timer_new(a->loop, on_unborn, l);
    /* at once, when the loop runs; containers that are kept for somebody to look at are left alone */
    if (!a->config->keep_ended) {
        loop_timer_arm(l->timer, 0);
        container_leftovers_look_for_unborn(l);
    }
    return l;
}

void container_leftovers_look_for_unborn(struct container_leftovers *l)
{
    if (l->agent->engines.n == 0)
        return;
    int64_t since_us = clock_monotonic_us() - l->unborn.looked_us;
    l->unborn.delay_us = UNBORN_FIRST_US;
    if (!l->unborn.busy)
        loop_timer_arm(l->unborn.timer, since_us < UNBORN_FIRST_US ? UNBORN_FIRST_US - since_us : 0);
}

void container_leftovers_look_again(struct container_leftovers *l)
{
    l->delay_us = LOOK_AGAIN_US;
    loop_timer_arm(l->timer, l->delay_us);
}

void container_leftovers_free(struct container_leftovers *l)
{
    if (!l)
        return;
    engine_greeting_cancel(l->greeting);
    engine_call_cancel(l->call);
    json_object_put(l->list);
    loop_timer_free(l->timer);
    loop_timer_free(l->unborn.timer);
    arena_release(&l->unborn.arena);
    arena_release(&l->command.arena);
    free(l);
}
