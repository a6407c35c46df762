#include "net/client/http_client.h"

#include <stdlib.h>
#include <sys/queue.h>

#include <event2/event.h>

#include "common/base/must.h"
#include "net/client/http_transfer.h"
#include "net/client/plain_http.h"
#include "net/loop/loop_internal.h"

void http_fetch_reply_release(struct http_fetch_reply *r)
{
    strbuf_release(&r->body);
}

/* ---- blocking ---------------------------------------------------------------------------------------------------- */

/* Two transports, of which each keeps its connections from one fetch to the next: plain sockets where they are enough,
 * and libcurl, which is loaded when it is first needed. */
struct http_client {
    struct plain_http plain;
    CURL *easy; /* NULL: libcurl was not needed yet */
};

int http_client_load(struct error *err)
{
    return curl_calls_load(err);
}

struct http_client *http_client_new(void)
{
    struct http_client *c = must_calloc(1, sizeof(*c));
    plain_http_init(&c->plain);
    return c;
}

void http_client_free(struct http_client *c)
{
    if (!c)
        return;
    plain_http_release(&c->plain);
    if (c->easy)
        curl_easy_cleanup(c->easy);
    free(c);
}

static int fetch_with_libcurl(struct http_client *c, const struct http_fetch *f, struct http_fetch_reply *ret,
                              struct error *err)
{
    if (!c->easy && curl_calls_load(err) < 0)
        return -1;
    if (!c->easy)
        c->easy = transfer_new_easy();
    struct transfer t = {.easy = c->easy};
    curl_easy_reset(c->easy);
    int rc = transfer_prepare(&t, f, /* copy_body= */ false, err);
    if (rc == 0)
        rc = transfer_finish(&t, curl_easy_perform(c->easy), err);
    if (rc == 0) {
        *ret = t.reply;
        t.reply.body = (struct strbuf)STRBUF_INIT;
    }
    curl_easy_reset(c->easy); /* the handle points into t, which ends here */
    transfer_release(&t);
    return rc;
}

int http_fetch(struct http_client *c, const struct http_fetch *f, struct http_fetch_reply *ret, struct error *err)
{
    struct plain_target to;
    bool redirected = false;
    if (plain_http_serves(f, &to)) {
        int rc = plain_http_fetch(&c->plain, &to, f, ret, &redirected, err);
        if (!redirected)
            return rc;
    }
    return fetch_with_libcurl(c, f, ret, err);
}

/* ---- on a loop --------------------------------------------------------------------------------------------------- */

struct http_fetch_handle {
    struct transfer transfer;
    struct fetcher *fetcher;
    http_fetch_done_fn *done;
    void *ctx;
    struct error bad_options; /* an error of the options; reported through `done`, as every other failure */
    bool added;               /* to the multi handle */
    bool canceled;            /* canceled while libcurl was calling a callback; it ends once libcurl has returned */
    LIST_ENTRY(http_fetch_handle) all;
};

struct fetcher { /* one per loop */
    struct loop *loop;
    CURLM *multi;
    struct loop_timer *timer; /* the timer that libcurl asks for */
    struct loop_timer *kick;  /* fires in the next turn, when handles are to be added or ended */
    int in_curl;              /* depth of calls into libcurl; libcurl must not be called again within them */
    LIST_HEAD(, http_fetch_handle) handles;
};

static void handle_free(struct http_fetch_handle *h)
{
    if (h->added)
        curl_multi_remove_handle(h->fetcher->multi, h->transfer.easy);
    LIST_REMOVE(h, all);
    curl_easy_cleanup(h->transfer.easy);
    transfer_release(&h->transfer);
    error_release(&h->bad_options);
    free(h);
}

static void handle_end(struct http_fetch_handle *h, int rc, const struct error *err)
{
    if (!h->canceled)
        h->done(h->ctx, rc == 0 ? &h->transfer.reply : NULL, err);
    handle_free(h);
}

static void take_finished(struct fetcher *f)
{
    CURLMsg *m;
    int left;
    while ((m = curl_multi_info_read(f->multi, &left))) {
        if (m->msg != CURLMSG_DONE)
            continue;
        struct transfer *t;
        cleanup_error struct error err = ERROR_INIT;
        CURLcode code = m->data.result;
        curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, (char **)&t);
        struct http_fetch_handle *h = (struct http_fetch_handle *)t; /* the transfer is its first member */
        int rc = transfer_finish(t, code, &err);
        curl_multi_remove_handle(f->multi, t->easy);
        h->added = false;
        handle_end(h, rc, &err);
    }
}

static void curl_act(struct fetcher *f, int fd, int what)
{
    int running;
    f->in_curl++;
    curl_multi_socket_action(f->multi, fd, what, &running);
    f->in_curl--;
    take_finished(f);
}

static void on_curl_timer(void *ctx)
{
    curl_act(ctx, CURL_SOCKET_TIMEOUT, 0);
}

static void on_curl_socket(evutil_socket_t fd, short what, void *ctx)
{
    curl_act(ctx, fd, (what & EV_READ ? CURL_CSELECT_IN : 0) | (what & EV_WRITE ? CURL_CSELECT_OUT : 0));
}

static int set_timer(CURLM *multi, long delay_ms, void *ctx)
{
    struct fetcher *f = ctx;
    if (delay_ms < 0)
        loop_timer_disarm(f->timer);
    else
        loop_timer_arm(f->timer, delay_ms * 1000);
    return 0;
}

static int set_socket(CURL *easy, curl_socket_t fd, int what, void *ctx, void *socket_ctx)
{
    struct fetcher *f = ctx;
    struct event *event = socket_ctx;
    if (event)
        event_free(event);
    event = NULL;
    if (what != CURL_POLL_REMOVE) {
        short wanted = (short)((what & CURL_POLL_IN ? EV_READ : 0) | (what & CURL_POLL_OUT ? EV_WRITE : 0));
        event = event_new(loop_base(f->loop), fd, wanted | EV_PERSIST, on_curl_socket, f);
        if (!event || event_add(event, NULL) < 0)
            abort();
    }
    curl_multi_assign(f->multi, fd, event);
    return 0;
}

/* Adds one fetch that was started, or ends one that was canceled. Returns whether there was one; the caller starts
 * over, because a `done` callback may change the list. */
static bool kick_one(struct fetcher *f)
{
    struct http_fetch_handle *h;
    LIST_FOREACH(h, &f->handles, all) {
        if (h->canceled || h->bad_options.kind != ERR_NONE) {
            handle_end(h, -1, &h->bad_options);
            return true;
        }
        if (!h->added) {
            h->added = true;
            f->in_curl++;
            curl_multi_add_handle(f->multi, h->transfer.easy);
            f->in_curl--;
            return true;
        }
    }
    return false;
}

static void on_kick(void *ctx)
{
    while (kick_one(ctx)) {
    }
}

static void fetcher_free(void *ctx)
{
    struct fetcher *f = ctx;
    while (!LIST_EMPTY(&f->handles))
        handle_free(LIST_FIRST(&f->handles));
    curl_multi_cleanup(f->multi);
    loop_timer_free(f->timer);
    loop_timer_free(f->kick);
    free(f);
}

static struct fetcher *fetcher_of(struct loop *l)
{
    struct fetcher *f = loop_fetcher(l);
    if (f)
        return f;
    f = must_calloc(1, sizeof(*f));
    f->loop = l;
    f->timer = loop_timer_new(l, on_curl_timer, f);
    f->kick = loop_timer_new(l, on_kick, f);
    LIST_INIT(&f->handles);
    f->multi = must(curl_multi_init());
    curl_multi_setopt(f->multi, CURLMOPT_TIMERFUNCTION, set_timer);
    curl_multi_setopt(f->multi, CURLMOPT_TIMERDATA, f);
    curl_multi_setopt(f->multi, CURLMOPT_SOCKETFUNCTION, set_socket);
    curl_multi_setopt(f->multi, CURLMOPT_SOCKETDATA, f);
    loop_set_fetcher(l, f, fetcher_free);
    return f;
}

struct http_fetch_handle *http_fetch_start(struct loop *l, const struct http_fetch *f, http_fetch_done_fn *done,
                                           void *ctx)
{
    struct http_fetch_handle *h = must_calloc(1, sizeof(*h));
    h->transfer.easy = transfer_new_easy();
    h->fetcher = fetcher_of(l);
    h->done = done;
    h->ctx = ctx;
    transfer_prepare(&h->transfer, f, /* copy_body= */ true, &h->bad_options);
    LIST_INSERT_HEAD(&h->fetcher->handles, h, all);
    loop_timer_arm(h->fetcher->kick, 0);
    return h;
}

void http_fetch_cancel(struct http_fetch_handle *h)
{
    if (!h->fetcher->in_curl) {
        handle_free(h);
        return;
    }
    h->canceled = true;
    h->transfer.stopped = true;
    loop_timer_arm(h->fetcher->kick, 0);
}
