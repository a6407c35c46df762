#include "common/base/must.h"
#include "net/loop/loop_internal.h"

#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <event2/dns.h>
#include <event2/event.h>

#include "common/base/clock.h"
#include "common/base/histogram.h"

struct post {
    loop_fn *fn;
    void *ctx;
};

struct post_queue {
    struct post *item;
    size_t n, cap;
};

struct hook { /* a function called at the end of each turn, or on a signal */
    loop_fn *fn;
    void *ctx;
    struct event *event; /* the event of a signal */
    struct hook *next;
};

struct loop {
    void *shared_memory; /* NULL: not needed so far */
    struct event_base *base;
    struct evdns_base *dns;
    bool stopping;
    struct hook *turn_end, *signals;
    int64_t max_delay_us;
    struct histogram delays;
    int64_t max_turn_us;
    struct histogram turns;
    void *fetcher;
    void (*fetcher_release)(void *fetcher);

    int wake_fd; /* eventfd: readable when `posted` went from empty to not empty */
    struct event *wake;
    pthread_mutex_t mutex; /* protects only `posted` */
    struct post_queue posted;
    struct post_queue running; /* swapped with `posted`, so that a post made by a post runs in the next turn */
    size_t running_at;
};

struct loop_timer {
    struct loop *loop;
    struct event *event;
    loop_fn *fn;
    void *ctx;
    int64_t due_us;
};

struct loop_watch {
    struct event *event;
    loop_fd_fn *fn;
    void *ctx;
};

/* ---- posts from other threads ------------------------------------------------------------------------------------ */

static void post_queue_add(struct post_queue *q, struct post p)
{
    if (q->n == q->cap) {
        q->cap = q->cap ? 2 * q->cap : 64;
        q->item = must_realloc(q->item, q->cap * sizeof(*q->item));
    }
    q->item[q->n++] = p;
}

static void post_queue_forget(struct post_queue *q, size_t from, loop_fn *fn, void *ctx)
{
    for (size_t i = from; i < q->n; i++)
        if (q->item[i].fn == fn && q->item[i].ctx == ctx)
            q->item[i].fn = NULL;
}

void loop_post(struct loop *l, loop_fn *fn, void *ctx)
{
    pthread_mutex_lock(&l->mutex);
    bool first = l->posted.n == 0;
    post_queue_add(&l->posted, (struct post){fn, ctx});
    pthread_mutex_unlock(&l->mutex);
    if (first) {
        ssize_t written = write(l->wake_fd, &(uint64_t){1}, sizeof(uint64_t));
        (void)written; /* EAGAIN means that the counter is full, so the loop wakes up anyway */
    }
}

void loop_unpost(struct loop *l, loop_fn *fn, void *ctx)
{
    pthread_mutex_lock(&l->mutex);
    post_queue_forget(&l->posted, 0, fn, ctx);
    pthread_mutex_unlock(&l->mutex);
    post_queue_forget(&l->running, l->running_at, fn, ctx);
}

static void run_posts(evutil_socket_t fd, short what, void *ctx)
{
    struct loop *l = ctx;
    uint64_t count;
    ssize_t got = read(fd, &count, sizeof(count));
    (void)got; /* EAGAIN means that an earlier turn has taken the posts already */

    pthread_mutex_lock(&l->mutex);
    struct post_queue empty = l->running;
    l->running = l->posted;
    l->posted = empty;
    pthread_mutex_unlock(&l->mutex);

    for (l->running_at = 0; l->running_at < l->running.n;) {
        struct post p = l->running.item[l->running_at++];
        if (p.fn)
            p.fn(p.ctx);
    }
    l->running.n = l->running_at = 0;
}

/* ---- the loop ---------------------------------------------------------------------------------------------------- */

static void raise_open_files(void)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < files.rlim_max) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
}

/* Makes libevent's base. It has no locks, because only loop_post() is called from other threads. It uses precise
 * timers: the coarse clock fires up to 4 ms early, and a timer that finds its time not yet reached arms itself
 * again. */
static struct event_base *new_base(void)
{
    struct event_config *config = event_config_new();
    if (!config)
        return NULL;
    event_config_set_flag(config, EVENT_BASE_FLAG_NOLOCK | EVENT_BASE_FLAG_PRECISE_TIMER);
    struct event_base *base = event_base_new_with_config(config);
    event_config_free(config);
    return base;
}

int loop_new(struct loop **ret, struct error *err)
{
    raise_open_files();
    signal(SIGPIPE, SIG_IGN);

    struct loop *l = must_calloc(1, sizeof(*l));
    pthread_mutex_init(&l->mutex, NULL);
    l->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (l->wake_fd < 0) {
        error_errno(err, "making the event loop's eventfd");
        goto fail;
    }
    l->base = new_base();
    if (l->base)
        l->wake = event_new(l->base, l->wake_fd, EV_READ | EV_PERSIST, run_posts, l);
    if (!l->wake || event_add(l->wake, NULL) < 0) {
        error_errno(err, "making the event loop");
        goto fail;
    }
    *ret = l;
    return 0;
fail:
    loop_free(l);
    return -1;
}

static void hooks_free(struct hook *h)
{
    while (h) {
        struct hook *next = h->next;
        if (h->event)
            event_free(h->event);
        free(h);
        h = next;
    }
}

void *loop_shared_memory(struct loop *l, size_t n)
{
    if (!l->shared_memory)
        l->shared_memory = must_malloc(n);
    return l->shared_memory;
}

void loop_free(struct loop *l)
{
    if (!l)
        return;
    if (l->fetcher)
        l->fetcher_release(l->fetcher);
    if (l->dns)
        evdns_base_free(l->dns, /* fail_requests= */ 1);
    hooks_free(l->turn_end);
    hooks_free(l->signals);
    if (l->wake)
        event_free(l->wake);
    if (l->base) {
        /* frees objects that libevent frees in a later turn (bufferevents, answers of evdns) */
        event_base_loop(l->base, EVLOOP_NONBLOCK);
        event_base_free(l->base);
    }
    if (l->wake_fd >= 0)
        close(l->wake_fd);
    pthread_mutex_destroy(&l->mutex);
    free(l->posted.item);
    free(l->running.item);
    free(l->shared_memory);
    free(l);
}

static void count_turn(struct loop *l, int64_t turn_us)
{
    if (turn_us > l->max_turn_us)
        l->max_turn_us = turn_us;
    histogram_add(&l->turns, turn_us);
}

/* How many loops run in the program, and how many in this thread. */
static atomic_int running_n;
static _Thread_local int running_here_n;

static void count_running(int by)
{
    running_n += by;
    running_here_n += by;
}

void loop_assert(void)
{
    assert(running_here_n > 0 || atomic_load_explicit(&running_n, memory_order_relaxed) == 0);
}

static int run_turns(struct loop *l, struct error *err)
{
    int64_t before_us = clock_thread_cpu_us();
    l->stopping = false;
    while (!l->stopping) {
        if (event_base_loop(l->base, EVLOOP_ONCE) < 0)
            return error_errno(err, "waiting for events");
        for (struct hook *h = l->turn_end; h; h = h->next)
            h->fn(h->ctx);
        int64_t now_us = clock_thread_cpu_us();
        count_turn(l, now_us - before_us);
        before_us = now_us;
    }
    return 0;
}

int loop_run(struct loop *l, struct error *err)
{
    count_running(1);
    int rc = run_turns(l, err);
    count_running(-1);
    return rc;
}

void loop_stop(struct loop *l)
{
    l->stopping = true;
}

struct event_base *loop_base(struct loop *l)
{
    return l->base;
}

static struct hook *hook_append(struct hook **list, loop_fn *fn, void *ctx)
{
    struct hook *h = must_calloc(1, sizeof(*h));
    h->fn = fn;
    h->ctx = ctx;
    while (*list)
        list = &(*list)->next;
    *list = h;
    return h;
}

void loop_on_turn_end(struct loop *l, loop_fn *fn, void *ctx)
{
    hook_append(&l->turn_end, fn, ctx);
}

static void on_signal(evutil_socket_t signo, short what, void *ctx)
{
    struct hook *h = ctx;
    h->fn(h->ctx);
}

void loop_on_signal(struct loop *l, int signo, loop_fn *fn, void *ctx)
{
    struct hook *h = hook_append(&l->signals, fn, ctx);
    h->event = must(evsignal_new(l->base, signo, on_signal, h));
    event_add(h->event, NULL);
}

/* ---- timers ------------------------------------------------------------------------------------------------------ */

static void on_timer(evutil_socket_t fd, short what, void *ctx)
{
    struct loop_timer *t = ctx;
    int64_t delay_us = clock_monotonic_us() - t->due_us;
    if (delay_us > t->loop->max_delay_us)
        t->loop->max_delay_us = delay_us;
    histogram_add(&t->loop->delays, delay_us);
    t->fn(t->ctx); /* the callback may free t */
}

struct loop_timer *loop_timer_new(struct loop *l, loop_fn *fn, void *ctx)
{
    struct loop_timer *t = must_calloc(1, sizeof(*t));
    t->loop = l;
    t->fn = fn;
    t->ctx = ctx;
    t->event = must(evtimer_new(l->base, on_timer, t));
    return t;
}

void loop_timer_arm(struct loop_timer *t, int64_t delay_us)
{
    if (delay_us < 0)
        delay_us = 0;
    t->due_us = clock_monotonic_us() + delay_us;
    event_add(t->event, &(struct timeval){.tv_sec = delay_us / 1000000, .tv_usec = delay_us % 1000000});
}

void loop_timer_disarm(struct loop_timer *t)
{
    event_del(t->event);
}

void loop_timer_free(struct loop_timer *t)
{
    if (!t)
        return;
    event_free(t->event);
    free(t);
}

int64_t loop_take_max_delay_us(struct loop *l)
{
    int64_t delay_us = l->max_delay_us;
    l->max_delay_us = 0;
    return delay_us;
}

const struct histogram *loop_delays(const struct loop *l)
{
    return &l->delays;
}

int64_t loop_take_max_turn_us(struct loop *l)
{
    int64_t turn_us = l->max_turn_us;
    l->max_turn_us = 0;
    return turn_us;
}

const struct histogram *loop_turns(const struct loop *l)
{
    return &l->turns;
}

/* ---- file descriptors -------------------------------------------------------------------------------------------- */

static void on_fd(evutil_socket_t fd, short what, void *ctx)
{
    struct loop_watch *w = ctx;
    w->fn(fd, w->ctx);
}

static struct loop_watch *watch_new(struct loop *l, int fd, short what, loop_fd_fn *fn, void *ctx)
{
    struct loop_watch *w = must_calloc(1, sizeof(*w));
    w->fn = fn;
    w->ctx = ctx;
    w->event = must(event_new(l->base, fd, what | EV_PERSIST, on_fd, w));
    event_add(w->event, NULL);
    return w;
}

struct loop_watch *loop_watch_readable(struct loop *l, int fd, loop_fd_fn *fn, void *ctx)
{
    return watch_new(l, fd, EV_READ, fn, ctx);
}

struct loop_watch *loop_watch_writable(struct loop *l, int fd, loop_fd_fn *fn, void *ctx)
{
    return watch_new(l, fd, EV_WRITE, fn, ctx);
}

void loop_watch_free(struct loop_watch *w)
{
    if (!w)
        return;
    event_free(w->event);
    free(w);
}

/* ---- for the other files of src/net ------------------------------------------------------------------------------ */

struct evdns_base *loop_dns(struct loop *l)
{
    if (!l->dns)
        l->dns = evdns_base_new(l->base, EVDNS_BASE_INITIALIZE_NAMESERVERS | EVDNS_BASE_DISABLE_WHEN_INACTIVE);
    if (!l->dns) { /* without a usable /etc/resolv.conf, /etc/hosts and numeric addresses still work */
        l->dns = evdns_base_new(l->base, EVDNS_BASE_DISABLE_WHEN_INACTIVE);
        if (l->dns)
            evdns_base_load_hosts(l->dns, "/etc/hosts");
    }
    return l->dns;
}

void *loop_fetcher(const struct loop *l)
{
    return l->fetcher;
}

void loop_set_fetcher(struct loop *l, void *fetcher, void (*release)(void *fetcher))
{
    l->fetcher = fetcher;
    l->fetcher_release = release;
}
