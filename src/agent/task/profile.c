#include "agent/task/profile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/queue.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "agent/machine/slots.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/must.h"
#include "common/base/strbuf.h"
#include "common/json/json.h"
#include "common/system/beneath.h"
#include "common/system/log.h"

enum {
    INTERVAL_MIN_MS = 100,
    INTERVAL_MAX_MS = 3600 * 1000,
    SAMPLES_MAX = 3600,
    REQUEST_MAX = 64, /* bytes */
    GPUS_MAX = 64,
    HELD_MAX = 360, /* reports of one group each: twelve minutes of the usual interval */
};

struct gpu_sums {
    bool of_task;
    double busy_percent, memory_free;
    int n;
};

/* The samples of the report that is being made. While a sample is under way, only the worker touches them. */
struct period {
    struct host_counters first, last;
    double memory_free;
    double root_use, shared_use; /* used percentage of the file systems; negative if unknown */
    struct gpu_sums gpu[GPUS_MAX];
    int n;
};

struct request {
    int64_t interval_us; /* 0: nothing is requested */
    int samples;
};

struct held_report {
    STAILQ_ENTRY(held_report) next;
    const char *group;
    int64_t time_us;
    struct strbuf metrics;
};

struct profile {
    struct loop *loop;
    struct pool *pool;
    struct profile_task task;
    profile_send_fn *send;
    void *ctx;
    int dir, inotify;
    struct loop_watch *watch;
    struct loop_timer *timer;
    struct request wanted, now; /* the requested values and those in use; they may differ while a sample is under way */
    int64_t next_us;
    pid_t supervisor;
    struct period period;
    bool begins; /* the sample under way begins a period: it only sets the first values */
    bool busy, freed;
    STAILQ_HEAD(, held_report) held;
    size_t held_n;
};

/* ---- one sample, on a worker ------------------------------------------------------------------------------------- */

static void sample_gpus(struct profile *p)
{
    for (size_t i = 0; i < p->task.gpu_n && i < GPUS_MAX; i++) {
        struct gpu_sums *s = &p->period.gpu[i];
        struct gpu_usage u;
        cleanup_error struct error err = ERROR_INIT; /* lost GPUs are logged by gpu_watch */
        if (!s->of_task || p->task.maker->usage(&p->task.gpu[i], &u, &err) < 0)
            continue;
        s->busy_percent += u.busy_percent;
        s->memory_free += (double)p->task.gpu[i].memory_bytes - (double)u.memory_bytes;
        s->n++;
    }
}

static double file_system_use(const char *path)
{
    struct statvfs v;
    if (!*path || statvfs(path, &v) < 0 || v.f_blocks == 0)
        return -1;
    double used = (double)(v.f_blocks - v.f_bfree), all = used + (double)v.f_bavail;
    return all > 0 ? 100 * used / all : 0;
}

/* Takes one sample. The task's processes and the file systems are read only at the end of a period, because that costs
 * more than the rest. */
static void sample_work(void *worker, void *ctx)
{
    struct profile *p = ctx;
    bool ends = p->begins || p->period.n + 1 >= p->now.samples;
    host_counters_read(&p->task.roots, ends ? p->supervisor : 0, &p->period.last);
    if (p->begins)
        return;
    p->period.n++;
    p->period.memory_free += (double)p->period.last.memory_free;
    sample_gpus(p);
    if (ends) {
        p->period.root_use = file_system_use("/");
        p->period.shared_use = file_system_use(p->task.shared_fs);
    }
}

/* ---- a report ---------------------------------------------------------------------------------------------------- */

static void add_number(struct json_object *o, const char *name, double value)
{
    json_object_object_add(o, name, json_new_double(value));
}

static double counter_growth(uint64_t first, uint64_t last)
{
    return last >= first ? (double)(last - first) : 0; /* a counter that was reset counts as unchanged */
}

static void add_percent(struct json_object *o, const char *name, double part, double whole)
{
    add_number(o, name, whole > 0 ? 100 * part / whole : 0);
}

static void add_rate(struct json_object *o, const char *name, uint64_t first, uint64_t last, double seconds)
{
    add_number(o, name, seconds > 0 ? counter_growth(first, last) / seconds : 0);
}

static struct json_object *cpu_of(const struct profile *p, double seconds)
{
    const struct host_counters *a = &p->period.first, *b = &p->period.last;
    struct json_object *o = json_object_new_object();
    double total = counter_growth(a->cpu_total, b->cpu_total);
    add_percent(o, "cpu_util_simple", counter_growth(a->cpu_busy, b->cpu_busy), total);
    if (p->supervisor)
        add_percent(o, "task_cpu_util", counter_growth(a->task_ticks, b->task_ticks), total);
    return o;
}

static struct json_object *memory_of(const struct profile *p, double seconds)
{
    struct json_object *o = json_object_new_object();
    add_number(o, "memory_free", p->period.memory_free / p->period.n);
    if (p->supervisor)
        add_number(o, "task_memory", (double)p->period.last.task_memory);
    return o;
}

static void add_file_system(struct json_object *o, const char *name, double percent)
{
    if (percent < 0)
        return;
    struct json_object *use = json_object_new_object();
    add_number(use, "disk_util", percent);
    json_object_object_add(o, name, use);
}

static struct json_object *disk_of(const struct profile *p, double seconds)
{
    const struct host_counters *a = &p->period.first, *b = &p->period.last;
    struct json_object *o = json_object_new_object();
    add_rate(o, "disk_iops", a->disk_operations, b->disk_operations, seconds);
    add_rate(o, "disk_throughput_read", a->disk_read, b->disk_read, seconds);
    add_rate(o, "disk_throughput_write", a->disk_written, b->disk_written, seconds);
    add_file_system(o, "/", p->period.root_use);
    add_file_system(o, "/determined_shared_fs", p->period.shared_use);
    return o;
}

static struct json_object *network_of(const struct profile *p, double seconds)
{
    const struct host_counters *a = &p->period.first, *b = &p->period.last;
    struct json_object *o = json_object_new_object();
    add_rate(o, "net_throughput_sent", a->net_sent, b->net_sent, seconds);
    add_rate(o, "net_throughput_recv", a->net_received, b->net_received, seconds);
    return o;
}

static struct json_object *gpu_of(const struct profile *p, double seconds)
{
    struct json_object *all = NULL;
    for (size_t i = 0; i < p->task.gpu_n && i < GPUS_MAX; i++) {
        const struct gpu_sums *s = &p->period.gpu[i];
        if (!s->n)
            continue;
        struct json_object *o = json_object_new_object();
        add_number(o, "gpu_util", s->busy_percent / s->n);
        add_number(o, "gpu_free_memory", s->memory_free / s->n);
        if (!all)
            all = json_object_new_object();
        json_object_object_add(all, p->task.gpu[i].uuid, o);
    }
    return all;
}

static const struct {
    const char *name;
    struct json_object *(*of)(const struct profile *p, double seconds); /* returns NULL if there is nothing to report */
} groups[] = {{"cpu", cpu_of}, {"memory", memory_of}, {"disk", disk_of}, {"network", network_of}, {"gpu", gpu_of}};

static void drop_oldest(struct profile *p)
{
    struct held_report *h = STAILQ_FIRST(&p->held);
    STAILQ_REMOVE_HEAD(&p->held, next);
    p->held_n--;
    strbuf_release(&h->metrics);
    free(h);
}

static void hold_report(struct profile *p, struct held_report *h)
{
    if (p->held_n == HELD_MAX)
        drop_oldest(p);
    STAILQ_INSERT_TAIL(&p->held, h, next);
    p->held_n++;
}

void profile_flush(struct profile *p)
{
    struct held_report *h;
    while ((h = STAILQ_FIRST(&p->held))) {
        struct wire_link_task_metrics m = {.container_id = p->task.container_id,
                                           .allocation_id = p->task.allocation_id,
                                           .group = h->group,
                                           .time = h->time_us,
                                           .has_time = true,
                                           .metrics = strbuf_str(&h->metrics)};
        if (!p->send(p->ctx, &m))
            return;
        drop_oldest(p);
    }
}

static void send_report(struct profile *p)
{
    double seconds = (double)(p->period.last.at_us - p->period.first.at_us) / 1e6;
    for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
        cleanup_json struct json_object *o = json_object_new_object();
        struct json_object *body = groups[i].of(p, seconds);
        struct held_report *h = body ? must_calloc(1, sizeof(*h)) : NULL;
        if (!h)
            continue;
        json_object_object_add(o, p->task.agent_id, body);
        h->group = groups[i].name;
        h->time_us = clock_now_us();
        json_print(o, &h->metrics);
        hold_report(p, h);
    }
    profile_flush(p);
}

/* ---- when -------------------------------------------------------------------------------------------------------- */

/* Begins a period at the sample that ended the last one. */
static void begin_period(struct profile *p)
{
    struct period *d = &p->period;
    d->first = d->last;
    d->memory_free = 0;
    d->n = 0;
    for (size_t i = 0; i < GPUS_MAX; i++)
        d->gpu[i] = (struct gpu_sums){.of_task = d->gpu[i].of_task};
}

static void arm_timer(struct profile *p)
{
    int64_t now = clock_monotonic_us();
    if (p->next_us < now) /* the machine was suspended, or is too slow for this interval */
        p->next_us = now;
    loop_timer_arm(p->timer, p->next_us - now);
}

/* Starts sampling with the values that were requested last. Called while no sample is under way. */
static void apply_wanted_request(struct profile *p)
{
    p->now = p->wanted;
    p->begins = true;
    p->next_us = clock_monotonic_us();
    loop_timer_disarm(p->timer);
    if (p->now.interval_us)
        arm_timer(p);
}

static bool is_as_wanted(const struct profile *p)
{
    return p->now.interval_us == p->wanted.interval_us && p->now.samples == p->wanted.samples;
}

static void free_profile(struct profile *p)
{
    while (!STAILQ_EMPTY(&p->held))
        drop_oldest(p);
    free(p);
}

static void sample_done(void *ctx)
{
    struct profile *p = ctx;
    p->busy = false;
    if (p->freed) {
        free_profile(p);
        return;
    }
    if (!is_as_wanted(p)) {
        apply_wanted_request(p);
        return;
    }
    if (!p->begins && p->period.n >= p->now.samples)
        send_report(p);
    if (p->begins || p->period.n >= p->now.samples)
        begin_period(p);
    p->begins = false;
    p->next_us += p->now.interval_us;
    arm_timer(p);
}

static void on_timer(void *ctx)
{
    struct profile *p = ctx;
    p->busy = pool_submit(p->pool, sample_work, sample_done, p, NULL) == 0;
    if (!p->busy) {
        p->next_us += p->now.interval_us;
        arm_timer(p);
    }
}

/* ---- the request ------------------------------------------------------------------------------------------------- */

/* Reads the request file; zeros if there is none. Returns -1 if it is malformed. */
static int read_request(const struct profile *p, struct request *ret)
{
    char rest;
    long long ms;
    int samples;
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    cleanup_error struct error err = ERROR_INIT;
    *ret = (struct request){0};
    if (beneath_read(p->dir, "request", REQUEST_MAX - 1, &text, &err) < 0)
        return err.kind == ERR_NOT_FOUND ? 0 : -1;
    if (sscanf(strbuf_str(&text), "%lld %d %c", &ms, &samples, &rest) != 2 || ms < INTERVAL_MIN_MS ||
        ms > INTERVAL_MAX_MS || samples < 1 || samples > SAMPLES_MAX)
        return -1;
    *ret = (struct request){.interval_us = ms * 1000, .samples = samples};
    return 0;
}

static void take_request(struct profile *p)
{
    struct request r;
    if (read_request(p, &r) < 0) {
        log_warning("profile.bad_request", "container=%s allowed=\"INTERVAL_MS SAMPLES, 100 to 3600000 and 1 to 3600\"",
                    p->task.container_id);
        return;
    }
    p->wanted = r;
    if (is_as_wanted(p))
        return;
    log_info("profile.request", "container=%s interval_ms=%lld samples=%d", p->task.container_id,
             (long long)(r.interval_us / 1000), r.samples);
    if (!p->busy)
        apply_wanted_request(p);
}

static void on_change(int fd, void *ctx)
{
    char events[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
    while (read(fd, events, sizeof(events)) > 0)
        ;
    take_request(ctx);
}

/* ---- making ------------------------------------------------------------------------------------------------------ */

/* Opens the directory once. If the task replaces the directory later, the new one is ignored. */
static int open_dir(const struct profile_task *t, struct error *err)
{
    cleanup_close int run = open(t->run, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return run < 0 ? error_errno(err, "cannot open %s", t->run)
                   : beneath_open(run, t->dir, O_RDONLY | O_DIRECTORY, err);
}

static int watch_dir(int dir, struct error *err)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", dir);
    cleanup_close int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (fd < 0 || inotify_add_watch(fd, path, IN_CLOSE_WRITE | IN_MOVED_TO | IN_DELETE | IN_ONLYDIR) < 0)
        return error_errno(err, "cannot watch the directory for requests");
    return take_fd(fd);
}

struct profile *profile_new(struct loop *l, struct pool *pool, const struct profile_task *t, profile_send_fn *send,
                            void *ctx)
{
    cleanup_error struct error err = ERROR_INIT;
    cleanup_close int dir = open_dir(t, &err);
    int fd = dir < 0 ? -1 : watch_dir(dir, &err);
    if (fd < 0) {
        log_warning("profile.unavailable", "container=%s dir=%s error=%s", t->container_id, log_quote(t->dir),
                    log_quote(error_msg(&err)));
        return NULL;
    }
    struct profile *p = must_calloc(1, sizeof(*p));
    p->loop = l;
    p->pool = pool;
    p->task = *t;
    p->send = send;
    p->ctx = ctx;
    p->dir = take_fd(dir);
    p->inotify = fd;
    STAILQ_INIT(&p->held);
    for (size_t i = 0; i < t->gpu_n && i < GPUS_MAX; i++)
        p->period.gpu[i].of_task = slots_gpu_is_listed(t->gpu_uuids, &t->gpu[i]);
    p->timer = loop_timer_new(l, on_timer, p);
    p->watch = loop_watch_readable(l, fd, on_change, p);
    take_request(p);
    return p;
}

void profile_set_supervisor(struct profile *p, pid_t pid)
{
    p->supervisor = pid;
}

void profile_free(struct profile *p)
{
    if (!p)
        return;
    loop_watch_free(p->watch);
    loop_timer_free(p->timer);
    cleanup_close_p(&p->inotify);
    cleanup_close_p(&p->dir);
    p->freed = true;
    if (!p->busy)
        free_profile(p);
}
