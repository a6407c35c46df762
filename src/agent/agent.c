#include "agent/agent.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/machine/cores.h"
#include "agent/machine/host_facts.h"
#include "agent/machine/powers.h"
#include "agent/python/environment_job.h"
#include "agent/streams.h"
#include "agent/task/runtime_container.h"
#include "agent/task/task.h"
#include "agent/task/taskenv.h"
#include "common/base/cleanup.h"
#include "common/base/must.h"
#include "common/system/files.h"
#include "common/system/log.h"
#include "net/loop/service.h"

#define WORKERS 4
#define QUEUE_MAX 4096
#define GPU_WATCH_US 10000000
#define LOCK_TRIES 100 /* two seconds */
#define LOCK_PAUSE_US 20000

/* ---- the link's side --------------------------------------------------------------------------------------------- */

/* The failures of devices that this agent remembers. */
static struct wire_link_device_trouble *list_troubles(const struct agent *a, struct arena *arena, size_t *ret_n)
{
    struct wire_link_device_trouble *ret = arena_array(arena, struct wire_link_device_trouble, a->slots.n + 1);
    size_t n = 0;
    for (size_t i = 0; i < a->slots.n && a->gpu_watch; i++) {
        int64_t since_us;
        const char *reason = gpu_watch_trouble(a->gpu_watch, slots_gpu(&a->slots, i), &since_us);
        if (reason)
            ret[n++] = (struct wire_link_device_trouble){.id = a->slots.device[i].id,
                                                         .reason = arena_strdup(arena, reason),
                                                         .since_us = since_us};
    }
    *ret_n = n;
    return ret;
}

static void make_hello(void *ctx, struct arena *arena, struct wire_link_agent_hello *ret)
{
    struct agent *a = ctx;
    ret->container_runtime = a->config->container_runtime;
    ret->devices = a->slots.device;
    ret->devices_n = a->slots.n;
    ret->tasks = arena_array(arena, struct wire_link_task_state, task_count(a) + 1);
    for (struct task *t = a->tasks; t; t = task_next(t))
        task_describe(t, &ret->tasks[ret->tasks_n++]);
    ret->troubles = list_troubles(a, arena, &ret->troubles_n);
    a->gpus_untold = false;
    ret->boot_id = a->boot_id;
    ret->isolated = !*a->isolation_gap;
    ret->isolation_gap = a->isolation_gap;
    ret->cpus = a->offered_cpus;
    ret->memory_bytes = a->offered_memory_bytes;
    ret->tells_use = true;
}

static void on_use(void *ctx, const struct use_watch_report *report, size_t n)
{
    struct agent *a = ctx;
    cleanup_arena struct arena arena = ARENA_INIT;
    struct wire_link_task_use *task = arena_array(&arena, struct wire_link_task_use, n);
    for (size_t i = 0; i < n; i++)
        task[i] = (struct wire_link_task_use){.container_id = report[i].container_id,
                                              .idle_ms = report[i].idle_us / 1000,
                                              .problem = report[i].problem};
    struct wire_link_slots_use use = {.tasks = task, .tasks_n = n};
    link_send(a->link, &(struct wire_link_agent_message){.use = &use});
}

static const struct wire_link_expected_task *expectation_of_task(const struct wire_link_master_hello *h,
                                                                 const char *container_id)
{
    for (size_t i = 0; i < h->expected_n; i++)
        if (strcmp(h->expected[i].container_id, container_id) == 0)
            return &h->expected[i];
    return NULL;
}

static void reap_hook(struct agent *a)
{
    if (a->hook && waitpid(a->hook, NULL, WNOHANG) != 0)
        a->hook = 0;
}

/* Tells the master which GPUs are lost or have failed. Each hello says it, too. A GPU that changes after the hello was
 * sent, and before the link is up, is told by on_up(). */
static void on_gpus_changed(void *ctx)
{
    struct agent *a = ctx;
    cleanup_arena struct arena arena = ARENA_INIT;
    struct wire_link_devices_state devices = {.lost_ids = arena_array(&arena, int32_t, a->slots.n)};
    for (size_t i = 0; i < a->slots.n; i++) {
        a->slots.device[i].lost = gpu_watch_is_lost(a->gpu_watch, slots_gpu(&a->slots, i));
        if (a->slots.device[i].lost)
            devices.lost_ids[devices.lost_ids_n++] = a->slots.device[i].id;
    }
    devices.troubles = list_troubles(a, &arena, &devices.troubles_n);
    a->gpus_untold = !link_is_up(a->link);
    link_send(a->link, &(struct wire_link_agent_message){.devices = &devices});
}

/* The link is up. The agent knows which processes exist, the master which of them shall exist: tasks that the master
 * expects go on, others are killed, and expected ones that are missing are reported. */
static void on_up(void *ctx, const struct wire_link_master_hello *hello)
{
    struct agent *a = ctx;
    reap_hook(a);
    agent_streams_up(a->streams);
    service_status(a->service, "Connected to %s:%d, %zu slots", a->config->master_host, a->config->master_port,
                   a->slots.n);
    for (struct task *t = a->tasks, *next; t; t = next) {
        next = task_next(t);
        const struct wire_link_expected_task *e = expectation_of_task(hello, task_container_id(t));
        if (e)
            task_resume(t, e->logs_seq > 0 ? (uint64_t)e->logs_seq : 0);
        else
            task_discard(t);
    }
    for (size_t i = 0; i < hello->expected_n; i++)
        if (!task_find(a, hello->expected[i].container_id))
            task_report_gone(a, hello->expected[i].container_id, "container is gone on reattachment");
    if (a->gpus_untold)
        on_gpus_changed(a);
}

static void on_down(void *ctx)
{
    struct agent *a = ctx;
    agent_streams_down(a->streams);
    service_status(a->service, "Waiting for the master at %s:%d; tasks go on", a->config->master_host,
                   a->config->master_port);
    for (struct task *t = a->tasks; t; t = task_next(t))
        task_pause(t);
}

static int on_frame(void *ctx, const void *data, size_t n, struct error *err)
{
    const struct agent *a = ctx;
    return agent_streams_receive(a->streams, data, n, err);
}

static void on_drained(void *ctx)
{
    const struct agent *a = ctx;
    agent_streams_drained(a->streams);
}

static void on_signal_task(struct agent *a, const struct wire_link_signal_task *s)
{
    struct task *t = task_find(a, s->container_id);
    log_info("task.signal", "container=%s signal=%d", s->container_id, s->signal);
    if (t)
        task_signal(t, s->signal);
    else
        task_report_gone(a, s->container_id, "unknown container");
}

static void on_message(void *ctx, const struct wire_link_master_message *m)
{
    struct agent *a = ctx;
    struct task *t;
    if (m->start)
        task_start(a, m->start);
    else if (m->signal)
        on_signal_task(a, m->signal);
    else if (m->logs_ack && (t = task_find(a, m->logs_ack->container_id)) && m->logs_ack->seq > 0)
        task_logs_acked(t, (uint64_t)m->logs_ack->seq);
    else if (m->state_ack && m->state_ack->state == WIRE_CONTAINER_STATE_TERMINATED &&
             (t = task_find(a, m->state_ack->container_id)))
        task_end_acked(t);
}

/* Runs hooks.on_connection_lost. The predecessor's agent ended here; this one runs the hook and goes on trying. */
static void on_lost(void *ctx, int attempts)
{
    struct agent *a = ctx;
    char **argv = a->config->on_connection_lost;
    log_error("link.lost", "attempts=%d hook=%s", attempts, argv ? log_quote(argv[0]) : "none");
    reap_hook(a);
    int r = argv && !a->hook ? posix_spawnp(&a->hook, argv[0], NULL, NULL, argv, environ) : 0;
    if (r != 0)
        log_error("agent.hook_failed", "program=%s error=%s", log_quote(argv[0]), log_quote(strerror(r)));
}

static void on_fatal(void *ctx, const char *reason)
{
    struct agent *a = ctx;
    a->failed = true;
    log_error("agent.refused", "reason=%s", log_quote(reason));
    agent_stop(a);
}

static void on_closed(void *ctx)
{
    loop_stop(((struct agent *)ctx)->loop);
}

/* ---- the beginning and the end ----------------------------------------------------------------------------------- */

static int take_lock(struct agent *a, struct error *err)
{
    /* Other users may pass through this directory to their own ones; each private directory below it has a mode of its
     * own. */
    if (dir_make(a->config->run_root, 0711, err) < 0)
        return -1;
    cleanup_free char *path = path_join(a->config->run_root, "lock");
    a->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (a->lock_fd < 0)
        return error_errno(err, "cannot open %s", path);
    /* An agent that was killed may have left a child that still holds the lock, because it was about to become a
     * supervisor. */
    for (int i = 0; i < LOCK_TRIES && flock(a->lock_fd, LOCK_EX | LOCK_NB) < 0; i++)
        usleep(LOCK_PAUSE_US);
    if (flock(a->lock_fd, LOCK_EX | LOCK_NB) < 0)
        return error_set(err, ERR_CONFLICT, "another agent uses %s; stop it, or give this one another run_root",
                         a->config->run_root);
    return 0;
}

static int find_tasks(struct agent *a, struct error *err)
{
    DIR *d = opendir(a->config->run_root);
    if (!d)
        return error_errno(err, "cannot list %s", a->config->run_root);
    for (struct dirent *e; (e = readdir(d));) {
        cleanup_free char *path = path_join(a->config->run_root, e->d_name);
        struct stat st;
        if (e->d_name[0] != '.' && lstat(path, &st) == 0 && S_ISDIR(st.st_mode))
            task_adopt(a, e->d_name);
    }
    closedir(d);
    return 0;
}

/* Checks at the start that tasks can reach their directories and the library. Otherwise each task would find that out
 * for itself, and its message would be less clear. */
static int check_reach(const struct agent *a, struct error *err)
{
    cleanup_arena struct arena arena = ARENA_INIT;
    struct account who;
    if (account_resolve(&(struct account_order){.owner_id = 1}, &a->config->accounts, &arena, &who, err) < 0)
        return -1;
    if (!account_reaches(&who, a->config->run_root, X_OK))
        return error_set(
            err, ERR_PRECONDITION,
            "tasks run as users of their own (uid %u and following), who cannot reach %s; set run_root to a directory that "
            "others may pass through",
            (unsigned)who.uid, a->config->run_root);
    if (*a->config->python_path && !account_reaches(&who, a->config->python_path, R_OK | X_OK))
        log_warning("agent.library_unreachable", "path=%s uid=%u action=\"make it readable, or install the platform\"",
                    log_quote(a->config->python_path), (unsigned)who.uid);
    return 0;
}

static const char *boot_id(struct arena *a)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    file_read("/proc/sys/kernel/random/boot_id", 64, &text, NULL);
    return arena_strndup(a, strbuf_str(&text), strcspn(strbuf_str(&text), "\n"));
}

struct isolation_gap {
    const char *reason; /* why isolation is incomplete; "" if it is complete */
    const char *consequence, *action;
};

/* Finds out why tasks of different users are not kept apart. They are where each user of the platform has a uid of
 * their own and each task a view of its own. */
static struct isolation_gap find_isolation_gap(const struct agent_config *c)
{
    static const char everything[] = "a task can read, stop and change the tasks of other users, and their tokens";
    if (geteuid() != 0)
        return (struct isolation_gap){"the agent is not root: every task runs as the agent's own user", everything,
                                      "run the agent as root, or let it serve one user"};
    if (c->accounts.allow_root)
        return (struct isolation_gap){"allow_root_tasks is set: tasks of users without a linked account run as root",
                                      everything, "set allow_root_tasks: false"};
    if (!c->mount_namespaces)
        return (struct isolation_gap){"mount_namespaces is false: no task has a view of its own",
                                      "tasks share /tmp, and see the command lines of other users' processes",
                                      "set mount_namespaces: true"};
    return (struct isolation_gap){.reason = ""};
}

/* Logs the gap once, at the start; afterwards `det agent list` shows it. */
static int check_isolation(struct agent *a, struct error *err)
{
    struct isolation_gap gap = find_isolation_gap(a->config);
    a->isolation_gap = gap.reason;
    if (*gap.reason)
        log_warning("agent.not_isolated", "reason=%s consequence=%s action=%s", log_quote(gap.reason),
                    log_quote(gap.consequence), log_quote(gap.action));
    return geteuid() == 0 && !a->config->accounts.allow_root
               ? account_check_range(&a->config->accounts.own, &account_files, err)
               : 0;
}

static void find_cgroups(struct agent *a)
{
    cleanup_strbuf struct strbuf membership = STRBUF_INIT;
    cleanup_error struct error err = ERROR_INIT;
    file_read("/proc/self/cgroup", 64 * 1024, &membership, NULL);
    if (cgroup_find_home(CGROUP_ROOT, strbuf_str(&membership), &a->arena, &a->cgroups, &err) < 0)
        log_warning("agent.cgroup", "error=%s action=\"limits of tasks are made at the root\"",
                    log_quote(error_msg(&err)));
    else if (a->cgroups.own)
        log_info("agent.cgroup", "home=%s", log_quote(a->cgroups.base[0]));
}

/* Says once, one line each, what this machine lets the agent do for its tasks, and why it refuses the rest. */
static void tell_powers(struct agent *a)
{
    struct power power[POWER_NR];
    struct powers_request q = {.cgroups = &a->cgroups,
                               .root = geteuid() == 0,
                               .mount_namespaces = a->config->mount_namespaces,
                               .pid_namespaces = a->config->pid_namespaces};
    powers_try(&q, &a->arena, power);
    for (enum power_name p = 0; p < POWER_NR; p++)
        if (power[p].had)
            log_info("agent.has", "what=%s gives=%s", power[p].name, log_quote(power[p].gives));
        else
            log_warning("agent.lacks", "what=%s gives=%s cause=%s", power[p].name, log_quote(power[p].gives),
                        log_quote(power[p].cause));
}

/* Finds what the machine has for tasks that ask for cores or memory: the cores that the agent may use, and the
 * machine's memory, less what is kept back. */
static int find_offer(struct agent *a, struct error *err)
{
    const struct agent_config *c = a->config;
    struct cores cores;
    if (cores_read(&a->arena, &cores, err) < 0)
        return -1;
    double left = (double)cores.n - c->reserved_cpus;
    a->offered_cpus = left > 0 ? left : 0;
    a->offered_memory_bytes = a->host.memory_bytes > c->reserved_memory_bytes
                                  ? a->host.memory_bytes - c->reserved_memory_bytes
                                  : 0;
    log_info("agent.offers", "cpus=%g of=%zu memory_mib=%" PRId64 " of_mib=%" PRId64, a->offered_cpus, cores.n,
             a->offered_memory_bytes >> 20, a->host.memory_bytes >> 20);
    return 0;
}

/* Makes the directory where each task's own files are mounted. If it is missing, every task needs a copy of /run that
 * has it, which takes a third of the task's start. */
static void make_mount_point(void)
{
    if (geteuid() == 0 && mkdir(TASKENV_RUN_DIR, 0755) < 0 && errno != EEXIST)
        log_info("agent.mount_point", "path=" TASKENV_RUN_DIR " error=%s", log_quote(strerror(errno)));
}

static int set_up(struct agent *a, struct error *err)
{
    const struct agent_config *c = a->config;
    struct pool_options pool = {.name = "agent-worker", .threads = WORKERS, .queue_max = QUEUE_MAX};
    struct slots_request slots = {.slot_type = c->slot_type,
                                  .artificial = c->artificial_slots,
                                  .cpu_slots = c->cpu_slots,
                                  .per_device = c->slots_per_device,
                                  .visible_gpus = c->visible_gpus,
                                  .cpuinfo = "/proc/cpuinfo"};
    struct link_handler link = {.make_hello = make_hello,
                                .on_up = on_up,
                                .on_message = on_message,
                                .on_frame = on_frame,
                                .on_drained = on_drained,
                                .on_down = on_down,
                                .on_lost = on_lost,
                                .on_fatal = on_fatal,
                                .on_closed = on_closed,
                                .ctx = a};
    if (slots_find(&slots, &a->arena, &a->slots, err) < 0 || take_lock(a, err) < 0)
        return -1;
    runtime_list_engines(c, a->loop, &a->arena, &a->engines);
    find_cgroups(a);
    tell_powers(a);
    make_mount_point();
    host_facts_read(&(struct host_facts_places){.os_release = "/etc/os-release", .cpuinfo = "/proc/cpuinfo"},
                    c->hostname, &a->arena, &a->host);
    a->boot_id = boot_id(&a->arena);
    if (find_offer(a, err) < 0)
        return -1;
    struct pool_options cleaner = {.name = "agent-cleaner", .threads = 1, .queue_max = QUEUE_MAX};
    struct pool_options sampler = {.name = "agent-sampler", .threads = 1, .queue_max = QUEUE_MAX};
    if (check_isolation(a, err) < 0 || check_reach(a, err) < 0 || pool_new(a->loop, &pool, &a->pool, err) < 0 ||
        pool_new(a->loop, &cleaner, &a->cleaner, err) < 0 || pool_new(a->loop, &sampler, &a->sampler, err) < 0)
        return -1;
    if (a->slots.maker)
        a->gpu_watch = gpu_watch_new(a->loop, a->pool, a->slots.maker, a->slots.gpu, a->slots.gpu_n, GPU_WATCH_US,
                                     on_gpus_changed, a);
    a->use_watch = use_watch_new(a->loop, a->sampler, a->slots.maker, "/proc", on_use, a);
    a->streams = agent_streams_new(a);
    a->link = link_new(a->loop, c, &link);
    if (find_tasks(a, err) < 0)
        return -1;
    a->leftovers = container_leftovers_new(a);
    return 0;
}

int agent_new(struct loop *l, const struct agent_config *c, struct agent **ret, struct error *err)
{
    struct agent *a = must_calloc(1, sizeof(*a));
    a->loop = l;
    a->config = c;
    a->lock_fd = -1;
    a->service = service_new(l);
    if (set_up(a, err) < 0) {
        agent_free(a);
        return -1;
    }
    log_info("agent.start", "id=%s pool=%s runtime=%s slots=%zu run_root=%s", log_quote(c->agent_id),
             log_quote(c->resource_pool), c->container_runtime, a->slots.n, log_quote(c->run_root));
    service_ready(a->service);
    service_status(a->service, "Connecting to %s:%d", c->master_host, c->master_port);
    link_open(a->link);
    *ret = a;
    return 0;
}

void agent_stop(struct agent *a)
{
    if (a->stopping)
        return;
    a->stopping = true;
    service_stopping(a->service);
    log_info("agent.stop", "tasks=%zu", task_count(a));
    link_close(a->link);
}

bool agent_failed(const struct agent *a)
{
    return a->failed;
}

void agent_free(struct agent *a)
{
    if (!a)
        return;
    struct pool *pool[] = {a->pool, a->cleaner, a->sampler};
    for (size_t i = 0; i < sizeof(pool) / sizeof(pool[0]); i++)
        if (pool[i])
            pool_free(pool[i]);
    gpu_watch_free(a->gpu_watch);
    slots_release(&a->slots);
    container_leftovers_free(a->leftovers);
    while (a->tasks)
        task_forget(a->tasks);
    use_watch_free(a->use_watch);
    environment_jobs_release();
    agent_streams_free(a->streams);
    link_free(a->link);
    service_free(a->service);
    if (a->lock_fd >= 0)
        close(a->lock_fd);
    arena_release(&a->arena);
    free(a);
}
