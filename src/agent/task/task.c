#include "agent/task/task_internal.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "agent/streams.h"
#include "agent/task/ready_watch.h"
#include "common/base/cleanup.h"
#include "common/base/must.h"
#include "common/system/files.h"
#include "common/system/log.h"
#include "common/task/taskspec.h"

#define SPEC_MAX (16 * 1024 * 1024)

static const struct sm_state task_states[TASK_STATE_NR] = {
    [TASK_PREPARING] = {"PREPARING", SM_TO(TASK_RENDEZVOUS) | SM_TO(TASK_STARTING) | SM_TO(TASK_ENDED), SM_INITIAL},
    [TASK_RENDEZVOUS] = {"RENDEZVOUS", SM_TO(TASK_STARTING) | SM_TO(TASK_ENDED), 0},
    [TASK_STARTING] = {"STARTING", SM_TO(TASK_STATE_RUNNING) | SM_TO(TASK_ENDED), 0},
    [TASK_STATE_RUNNING] = {"RUNNING", SM_TO(TASK_ENDED), 0},
    [TASK_ENDED] = {"ENDED", SM_TO(TASK_REMOVING), 0},
    [TASK_REMOVING] = {"REMOVING", 0, SM_FINAL},
};
const struct sm_type task_sm_type = {.name = "task", .state = task_states, .state_n = TASK_STATE_NR};

/* ---- the table --------------------------------------------------------------------------------------------------- */

struct task *task_find(struct agent *a, const char *container_id)
{
    struct task *t;
    HASH_FIND_STR(a->tasks, container_id, t);
    return t;
}

size_t task_count(const struct agent *a)
{
    return HASH_COUNT(a->tasks);
}

struct task *task_next(struct task *t)
{
    return t->hh.next;
}

const char *task_container_id(const struct task *t)
{
    return t->container_id;
}

bool task_runs(const struct task *t)
{
    return t->sm.state == TASK_STATE_RUNNING && !t->discard;
}

bool task_uid(const struct task *t, uid_t *ret)
{
    *ret = t->rt->account.uid;
    return t->rt->account.change;
}

bool task_has_proxy_port(const struct task *t, int port)
{
    const struct wire_link_start_task *kept = t->rt->kept;
    for (size_t i = 0; kept && i < kept->proxy_ports_n; i++)
        if (kept->proxy_ports[i] == port)
            return true;
    return false;
}

static void runtime_task_free(struct runtime_task *rt)
{
    struct arena a = rt->arena; /* a copy, because this arena holds rt itself */
    python_probe_process_end(&rt->python_process);
    arena_release(&a);
}

struct runtime_task *runtime_task_new(struct agent *a, const char *container_id)
{
    struct arena arena = ARENA_INIT;
    struct runtime_task *rt = arena_new(&arena, struct runtime_task);
    rt->arena = arena;
    rt->config = a->config;
    rt->slots = &a->slots;
    rt->cgroups = &a->cgroups;
    rt->runtime = &runtime_process;
    rt->engines = &a->engines;
    rt->agent_stops = &a->stopping;
    rt->boot_id = a->boot_id;
    rt->python_process.fd = -1;
    rt->container_id = arena_strdup(&rt->arena, container_id);
    rt->master_id = arena_strdup(&rt->arena, link_master_id(a->link));
    rt->cluster_id = arena_strdup(&rt->arena, link_cluster_id(a->link));
    taskdir_init(&rt->dir, a->config->run_root, container_id, &rt->arena);
    return rt;
}

static void on_timer(void *ctx)
{
    struct task *t = ctx;
    if (t->sm.state == TASK_RENDEZVOUS)
        task_ask_rendezvous(t);
    else if (t->sm.state == TASK_STARTING)
        task_kill_starting(t);
    else if (link_is_up(t->agent->link))
        task_attach(t);
}

struct task *task_new(struct agent *a, struct runtime_task *rt)
{
    struct task *t = must_calloc(1, sizeof(*t));
    t->agent = a;
    t->rt = rt;
    t->container_id = rt->container_id;
    t->allocation_id = t->task_id = "";
    t->timer = loop_timer_new(a->loop, on_timer, t);
    sm_init(&t->sm, &task_sm_type, 0);
    HASH_ADD_KEYPTR(hh, a->tasks, t->container_id, strlen(t->container_id), t);
    return t;
}

void task_forget(struct task *t)
{
    HASH_DEL(t->agent->tasks, t);
    agent_streams_task_over(t->agent->streams, t->container_id);
    supervisor_free(t->supervisor);
    profile_free(t->profile);
    use_watch_remove(t->agent->use_watch, t->container_id);
    ready_watch_free(t->ready_watch);
    python_probe_free(t->python_probe);
    task_release_python(t);
    runtime_ask_cancel(t->ask);
    engine_greeting_cancel(t->greeting);
    task_close_log(t);
    if (t->fetch)
        http_fetch_cancel(t->fetch);
    loop_timer_free(t->timer);
    runtime_task_free(t->rt);
    free(t->exit_text);
    free(t);
}

void task_move_to(struct task *t, enum task_state to)
{
    cleanup_error struct error err = ERROR_INIT;
    const char *from = sm_name(&t->sm);
    if (sm_move(&t->sm, to, &err) < 0)
        log_error("task.move", "container=%s error=%s", t->container_id, log_quote(error_msg(&err)));
    else
        log_info("task.state", "container=%s allocation=%s from=%s to=%s", t->container_id, t->allocation_id, from,
                 sm_name(&t->sm));
}

/* ---- the agent's restart, and the link's coming and going -------------------------------------------------------- */

bool task_read_spec(struct task *t, struct taskspec *ret)
{
    cleanup_free char *path = path_join(t->rt->dir.supervisor, "spec");
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    return file_read(path, SPEC_MAX, &text, NULL) == 0 &&
           taskspec_decode(text.s, text.n, &t->rt->arena, ret, NULL) == 0;
}

/* Whether a supervisor runs: it holds the lock of its directory from its start to its end. */
static bool is_supervised(const struct task *t)
{
    cleanup_close int dir = open(t->rt->dir.supervisor, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return dir >= 0 && flock(dir, LOCK_EX | LOCK_NB) < 0;
}

/* Begins anew with a task that waited for its Python when the agent ended. Returns false if it did not. */
static bool begin_again(struct task *t)
{
    t->rt->start = task_start_read(t->rt);
    if (!t->rt->start)
        return false;
    t->rt->kept = t->rt->start;
    t->allocation_id = t->rt->start->allocation_id;
    t->task_id = t->rt->start->task_id;
    t->ready_watch = ready_watch_new(t->rt->start->ready_pattern, t->rt->start->waiting_pattern);
    t->reported = WIRE_CONTAINER_STATE_PULLING;
    log_info("task.found", "container=%s allocation=%s supervised=no action=begin_again", t->container_id,
             t->allocation_id);
    task_find_python(t, /* again= */ true);
    return true;
}

/* Adopts a task. If its supervisor is dead, what is left of the task is killed at once, even while the master cannot be
 * reached, because nobody watches it. */
void task_adopt(struct agent *a, const char *container_id)
{
    struct task *t = task_new(a, runtime_task_new(a, container_id));
    struct taskspec spec;
    task_order_read(t->rt);
    bool started = task_read_spec(t, &spec), supervised = is_supervised(t);
    if (!started && !supervised && begin_again(t))
        return;
    if (started && *spec.image)
        task_set_engine(t, spec.engine);
    if (started) {
        t->allocation_id = taskspec_env(&spec, "DET_ALLOCATION_ID");
        t->task_id = taskspec_env(&spec, "DET_TASK_ID");
        t->rt->account.change = spec.change_user;
        t->rt->account.uid = spec.uid;
    }
    t->has_supervisor = started || supervised;
    t->reported = WIRE_CONTAINER_STATE_RUNNING;
    sm_restore(&t->sm, &task_sm_type, 0, TASK_STATE_RUNNING);
    if (supervised) {
        task_watch_profile(t);
        task_watch_use(t);
    }
    if (supervised && t->rt->kept)
        t->ready_watch = ready_watch_new(t->rt->kept->ready_pattern, t->rt->kept->waiting_pattern);
    log_info("task.found", "container=%s allocation=%s supervised=%s", container_id, t->allocation_id,
             supervised ? "yes" : "no");
    if (!t->has_supervisor)
        task_end_here(t, TASK_EXIT_LOST, 0, 0, "the agent ended before it had started the task");
    else if (!supervised)
        task_adopt_left(t);
}

void task_resume(struct task *t, uint64_t seq)
{
    t->acked = seq;
    task_send_log(t, seq);
    if (t->sm.state == TASK_ENDED && !t->has_supervisor)
        task_send_end(t);
    else if (t->sm.state == TASK_STATE_RUNNING || t->sm.state == TASK_ENDED)
        task_attach(t);
}

void task_discard(struct task *t)
{
    if (t->sm.state == TASK_REMOVING)
        return;
    log_warning("task.unexpected", "container=%s allocation=%s action=kill", t->container_id, t->allocation_id);
    t->discard = true;
    if (t->sm.state == TASK_ENDED && !t->has_supervisor)
        task_remove(t);
    else
        task_signal(t, SIGKILL);
    if (t->sm.state == TASK_STATE_RUNNING || t->sm.state == TASK_ENDED)
        task_attach(t);
}

void task_pause(struct task *t)
{
    supervisor_free(t->supervisor);
    t->supervisor = NULL;
    if (t->sm.state != TASK_RENDEZVOUS && t->sm.state != TASK_STARTING)
        loop_timer_disarm(t->timer);
}

void task_signal(struct task *t, int signo)
{
    if (signo == SIGKILL)
        t->kill_wanted = true;
    if (t->supervisor) {
        supervisor_signal(t->supervisor, signo);
    } else if (t->sm.state == TASK_RENDEZVOUS && signo == SIGKILL) {
        if (t->fetch)
            http_fetch_cancel(t->fetch);
        t->fetch = NULL;
        loop_timer_disarm(t->timer);
        task_end_killed(t);
    } else if (t->ask && t->sm.state == TASK_PREPARING && signo == SIGKILL) {
        runtime_ask_cancel(t->ask);
        t->ask = NULL;
        task_end_killed(t);
    } else if (t->python_waits && signo == SIGKILL) {
        task_start_forget(t->rt);
        task_release_python(t);
        task_end_killed(t);
    } else if (t->ask && t->sm.state == TASK_STARTING && signo == SIGKILL) {
        task_kill_starting(t);
    } else if (signo != SIGKILL) {
        t->pending_signal = signo;
    }
}

void task_logs_acked(struct task *t, uint64_t seq)
{
    if (seq > t->acked)
        t->acked = seq;
    if (t->supervisor)
        supervisor_ack_logs(t->supervisor, seq);
}
