/* Many agents in one process, without machines: they join a master as the real ones do, over a WebSocket each, take
 * what they are told to start, and report it as starting, running and, a while later, ended with code 0. No task does
 * anything.
 *
 *     agents_load PORT TOKEN_FILE AGENTS SLOTS TASKS RUN_MS [POOL]
 *
 * It goes on until all agents have joined and so many tasks have ended. Whatever the master does wrong on the way ends
 * it with status 1: an order for
 * a slot that is taken or not there, an order given twice, an agent turned away. Prints `what   number unit` lines;
 * seconds count from the first agent's first connection. */
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/hash.h"
#include "common/base/strbuf.h"
#include "common/system/files.h"
#include "gen/wire.h"
#include "net/loop/loop.h"
#include "net/websocket/ws.h"

/* so many join at a time, because real agents spread out over their back-off */
enum { JOINING_MAX = 500, SLOTS_MAX = 64, MESSAGE_MAX = 64 << 20 };

struct task {
    char container_id[64], allocation_id[128];
    struct agent *agent;
    int32_t device[SLOTS_MAX];
    size_t device_n;
    int64_t due_us;
    bool waits; /* in `running` until its time is over */
    TAILQ_ENTRY(task) in_running;
    UT_hash_handle hh, by_allocation;
};

struct agent {
    char id[32];
    struct ws *ws;
    int64_t epoch;
    bool welcome;
    struct task *on[SLOTS_MAX];
};

static struct loop *loop;
static struct loop_timer *next_end;
static struct agent *agent;
static struct task *tasks, *allocations; /* the same: of containers until they are forgotten, of allocations for ever */
static TAILQ_HEAD(, task) running = TAILQ_HEAD_INITIALIZER(running);
static const char *pool = "default";
static char url[128], bearer[512];
static int agent_n, slot_n, asked_n, joined_n;
static long task_n, placed_n, ended_n, busiest_n;
static int64_t run_us, begin_us, joined_us, placed_us;
static bool done;

static _Noreturn __attribute__((format(printf, 1, 2))) void fail(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    fprintf(stderr, "agents_load: ");
    vfprintf(stderr, fmt, ap);
    fprintf(stderr, "\n");
    va_end(ap);
    exit(1);
}

/* ---- what the master is told ------------------------------------------------------------------------------------- */

static void send_message(struct agent *a, struct wire_link_agent_message m)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    m.epoch = a->epoch;
    codec_encode(&wire_msg_link_agent_message, &m, &text);
    ws_send(a->ws, text.s, text.n, true);
}

static void send_state(const struct task *t, enum wire_container_state state, const struct wire_link_task_exit *end)
{
    struct wire_link_task_state s = {.container_id = t->container_id,
                                     .allocation_id = t->allocation_id,
                                     .state = state,
                                     .address = "",
                                     .time = clock_now_us(),
                                     .has_time = true,
                                     .exit = end};
    send_message(t->agent, (struct wire_link_agent_message){.state = &s});
}

static void send_hello(struct agent *a)
{
    struct wire_link_device device[SLOTS_MAX] = {0};
    struct wire_link_agent_hello hello = {.protocol = 1,
                                          .agent_id = a->id,
                                          .version = DET_VERSION,
                                          .resource_pool = pool,
                                          .hostname = "localhost",
                                          .devices = device,
                                          .devices_n = (size_t)slot_n};
    for (int32_t i = 0; i < slot_n; i++)
        device[i] = (struct wire_link_device){.id = i, .brand = "load", .uuid = "", .type = WIRE_DEVICE_TYPE_CPU};
    send_message(a, (struct wire_link_agent_message){.hello = &hello});
}

/* ---- tasks ------------------------------------------------------------------------------------------------------- */

static void arm_next_end(void)
{
    const struct task *first = TAILQ_FIRST(&running);
    int64_t wait_us = first ? first->due_us - clock_monotonic_us() : 0;
    if (first)
        loop_timer_arm(next_end, wait_us > 0 ? wait_us : 0);
}

/* Ends a task. The master may give its slots to another task as soon as it hears of the end. */
static void end_task(struct task *t, const struct wire_link_task_exit *how)
{
    if (!t->waits)
        return;
    t->waits = false;
    TAILQ_REMOVE(&running, t, in_running);
    for (size_t i = 0; i < t->device_n; i++)
        t->agent->on[t->device[i]] = NULL;
    send_state(t, WIRE_CONTAINER_STATE_TERMINATED, how);
}

/* Ends the tasks whose time is over. All run equally long, so the first to begin is the first to end. */
static void end_due(void *ctx)
{
    struct wire_link_task_exit well = {.kind = WIRE_LINK_EXIT_KIND_EXITED};
    struct task *t;
    (void)ctx;
    while ((t = TAILQ_FIRST(&running)) && t->due_us <= clock_monotonic_us())
        end_task(t, &well);
    arm_next_end();
}

static struct task *find_task(const char *container_id)
{
    struct task *t;
    HASH_FIND_STR(tasks, container_id, t);
    return t;
}

static void take_slots(struct task *t, const struct wire_link_start_task *order)
{
    for (size_t i = 0; i < order->device_ids_n; i++) {
        int32_t slot = order->device_ids[i];
        if (slot < 0 || slot >= slot_n)
            fail("%s is to run on slot %d of %s, which has %d", order->allocation_id, slot, t->agent->id, slot_n);
        if (t->agent->on[slot])
            fail("%s is to run on slot %d of %s, where %s still runs", order->allocation_id, slot, t->agent->id,
                 t->agent->on[slot]->allocation_id);
        t->agent->on[slot] = t;
        t->device[t->device_n++] = slot;
    }
}

static void start_task(struct agent *a, const struct wire_link_start_task *order)
{
    struct task *known, *t = calloc(1, sizeof(*t));
    if (!t)
        abort();
    HASH_FIND(by_allocation, allocations, order->allocation_id, strlen(order->allocation_id), known);
    if (known)
        fail("%s was placed twice: %s on %s, %s on %s", order->allocation_id, known->container_id, known->agent->id,
             order->container_id, a->id);
    t->agent = a;
    snprintf(t->container_id, sizeof(t->container_id), "%s", order->container_id);
    snprintf(t->allocation_id, sizeof(t->allocation_id), "%s", order->allocation_id);
    take_slots(t, order);
    HASH_ADD_STR(tasks, container_id, t);
    HASH_ADD(by_allocation, allocations, allocation_id, strlen(t->allocation_id), t);
    placed_n++;
    placed_us = clock_monotonic_us();
    busiest_n = placed_n - ended_n > busiest_n ? placed_n - ended_n : busiest_n;
    t->due_us = placed_us + run_us;
    t->waits = true;
    TAILQ_INSERT_TAIL(&running, t, in_running);
    send_state(t, WIRE_CONTAINER_STATE_STARTING, NULL);
    send_state(t, WIRE_CONTAINER_STATE_RUNNING, NULL);
    if (TAILQ_FIRST(&running) == t)
        arm_next_end();
}

static void signal_task(const struct wire_link_signal_task *order)
{
    struct wire_link_task_exit killed = {.kind = WIRE_LINK_EXIT_KIND_SIGNALED, .signal = order->signal};
    struct task *t = find_task(order->container_id);
    if (t)
        end_task(t, &killed);
}

static void print_number(const char *what, double number, const char *unit)
{
    printf("%-40s %12.3f %s\n", what, number, unit);
}

static void maybe_finish(void)
{
    if (joined_n < agent_n || ended_n < task_n)
        return;
    print_number("agents joined after", (double)(joined_us - begin_us) / 1e6, "s");
    print_number("tasks placed after", (double)(placed_us - begin_us) / 1e6, "s");
    print_number("tasks ended after", (double)(clock_monotonic_us() - begin_us) / 1e6, "s");
    print_number("tasks placed", (double)placed_n, "tasks");
    print_number("tasks at the same time", (double)busiest_n, "tasks");
    done = true;
    loop_stop(loop);
}

/* The master has stored the end of a task: forget the task. */
static void forget_task(const struct wire_link_state_ack *ack)
{
    struct task *t = find_task(ack->container_id);
    if (!t || t->waits || ack->state != WIRE_CONTAINER_STATE_TERMINATED)
        return;
    HASH_DEL(tasks, t);
    ended_n++;
    maybe_finish();
}

/* ---- connections ------------------------------------------------------------------------------------------------- */

static void join_next(void);

static void on_welcome(struct agent *a, const struct wire_link_master_message *m)
{
    if (a->welcome)
        fail("%s was welcomed twice", a->id);
    if (m->hello->expected_n > 0)
        fail("%s should have tasks from an earlier life", a->id);
    a->welcome = true;
    a->epoch = m->epoch;
    if (++joined_n == agent_n)
        joined_us = clock_monotonic_us();
    join_next();
    maybe_finish();
}

static void on_message(struct ws *w, const void *data, size_t n, bool is_text, void *ctx)
{
    struct agent *a = ctx;
    cleanup_arena struct arena arena = ARENA_INIT;
    cleanup_error struct error err = ERROR_INIT;
    struct wire_link_master_message m = {0};
    if (codec_decode(&wire_msg_link_master_message, data, n, &arena, &m, &err) < 0)
        fail("%s cannot read its master's message: %s", a->id, error_msg(&err));
    if (m.refused)
        fail("%s was turned away: %s", a->id, m.refused->reason);
    if (m.hello)
        on_welcome(a, &m);
    else if (m.start)
        start_task(a, m.start);
    else if (m.signal)
        signal_task(m.signal);
    else if (m.state_ack)
        forget_task(m.state_ack);
}

static void on_open(struct ws *w, void *ctx)
{
    send_hello(ctx);
}

static void on_close(struct ws *w, int code, const char *why, void *ctx)
{
    const struct agent *a = ctx;
    if (!done)
        fail("%s lost its master: %d %s", a->id, code, why ? why : "");
}

static void join_next(void)
{
    if (asked_n == agent_n)
        return;
    struct agent *a = &agent[asked_n];
    char place[256];
    const char *header[] = {bearer, NULL};
    snprintf(a->id, sizeof(a->id), "load-%05d", asked_n++);
    snprintf(place, sizeof(place), "%s?id=%s&version=%s&resource_pool=%s", url, a->id, DET_VERSION, pool);
    struct ws_client_options o = {.url = place, .header = header, .connect_timeout_s = 60};
    struct ws_handler h = {.on_open = on_open,
                           .on_message = on_message,
                           .on_close = on_close,
                           .ctx = a,
                           .message_max = MESSAGE_MAX,
                           .ping_s = 15,
                           .dead_s = 60};
    cleanup_error struct error err = ERROR_INIT;
    if (ws_connect(loop, &o, &h, &a->ws, &err) < 0)
        fail("%s", error_msg(&err));
}

static long number_of(const char *text, long most)
{
    char *end;
    long n = strtol(text, &end, 10);
    if (n < 1 || n > most || *end)
        fail("%s: must be a number from 1 to %ld", text, most);
    return n;
}

static void read_arguments(int argc, char **argv)
{
    cleanup_strbuf struct strbuf token = STRBUF_INIT;
    cleanup_error struct error err = ERROR_INIT;
    if (argc < 7 || argc > 8)
        fail("usage: agents_load PORT TOKEN_FILE AGENTS SLOTS TASKS RUN_MS [POOL]");
    snprintf(url, sizeof(url), "ws://127.0.0.1:%ld/agents", number_of(argv[1], 65535));
    if (file_read(argv[2], 256, &token, &err) < 0)
        fail("%s", error_msg(&err));
    snprintf(bearer, sizeof(bearer), "Authorization: Bearer %.*s", (int)strcspn(strbuf_str(&token), "\n"),
             strbuf_str(&token));
    agent_n = (int)number_of(argv[3], 10000);
    slot_n = (int)number_of(argv[4], SLOTS_MAX);
    task_n = number_of(argv[5], 10000000);
    run_us = 1000 * number_of(argv[6], 3600000);
    if (argc == 8)
        pool = argv[7];
}

int main(int argc, char **argv)
{
    cleanup_error struct error err = ERROR_INIT;
    read_arguments(argc, argv);
    if (loop_new(&loop, &err) < 0)
        fail("%s", error_msg(&err));
    agent = calloc((size_t)agent_n, sizeof(*agent));
    if (!agent)
        abort();
    next_end = loop_timer_new(loop, end_due, NULL);
    begin_us = clock_monotonic_us();
    for (int i = 0; i < JOINING_MAX && i < agent_n; i++)
        join_next();
    if (loop_run(loop, &err) < 0)
        fail("%s", error_msg(&err));
    return done ? 0 : 1; /* the kernel releases the rest */
}
