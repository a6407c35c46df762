#include "net/http_client.h"

#include <ctype.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include <curl/curl.h>
#include <event2/event.h>

#include "net/loop_internal.h"

#define CONNECT_TIMEOUT_S 10
#define REPLY_MAX (256u << 20)
#define REDIRECTS_MAX 10l

/* One exchange, blocking or not. */
struct transfer {
    CURL *easy;
    struct http_fetch options; /* of its pointers only on_data, on_upload and ctx are used after transfer_prepare() */
    struct curl_slist *header, *connect_to;
    char *place; /* "http://host:port", for sentences: without path and secrets */
    char detail[CURL_ERROR_SIZE];
    struct http_fetch_reply reply;
    bool stopped; /* by on_data */
    bool too_big;
};

static void curl_init(void)
{
    curl_global_init(CURL_GLOBAL_DEFAULT);
}

static CURL *new_easy(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, curl_init);
    CURL *easy = curl_easy_init();
    if (!easy)
        abort();
    return easy;
}

/* ---- libcurl's callbacks ---- */

static int status_of(const struct transfer *t)
{
    long status = 0;
    curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
    return (int)status;
}

static size_t on_body(char *data, size_t size, size_t n, void *ctx)
{
    struct transfer *t = ctx;
    n *= size;
    if (t->options.on_data && status_of(t) < 300) {
        if (t->options.on_data(data, n, t->options.ctx) < 0)
            t->stopped = true; /* http_fetch_cancel() from within it sets this, too */
        return t->stopped ? CURL_WRITEFUNC_ERROR : n;
    }
    t->too_big = n > t->options.reply_max - t->reply.body.n;
    if (t->too_big)
        return CURL_WRITEFUNC_ERROR;
    strbuf_add(&t->reply.body, data, n);
    return n;
}

static int on_progress(void *ctx, curl_off_t down_total, curl_off_t down, curl_off_t up_total, curl_off_t up)
{
    struct transfer *t = ctx;
    if (up_total > 0)
        t->options.on_upload((size_t)up, (size_t)up_total, t->options.ctx);
    return 0;
}

/* ---- preparing ---- */

static void add_line(struct curl_slist **list, const char *line)
{
    struct curl_slist *longer = curl_slist_append(*list, line);
    if (!longer)
        abort();
    *list = longer;
}

static bool names_header(const char *line, const char *name)
{
    size_t n = strlen(name);
    return strncasecmp(line, name, n) == 0 && line[n] == ':';
}

static void set_header(struct transfer *t, const char *const *header)
{
    bool has_type = false;
    for (; header && *header; header++) {
        add_line(&t->header, *header);
        has_type |= names_header(*header, "Content-Type");
    }
    if (!has_type)
        add_line(&t->header, "Content-Type:"); /* none, rather than libcurl's form-urlencoded */
    curl_easy_setopt(t->easy, CURLOPT_HTTPHEADER, t->header);
}

static void set_method_and_body(CURL *easy, const struct http_fetch *f, bool copy_body)
{
    bool is_get = strcmp(f->method, "GET") == 0;
    if (f->body || (!is_get && strcmp(f->method, "HEAD") != 0)) {
        curl_easy_setopt(easy, CURLOPT_POST, 1l);
        curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)(f->body ? f->body_n : 0));
        curl_easy_setopt(easy, copy_body ? CURLOPT_COPYPOSTFIELDS : CURLOPT_POSTFIELDS, f->body ? f->body : "");
    } else if (!is_get) {
        curl_easy_setopt(easy, CURLOPT_NOBODY, 1l);
    }
    curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, f->method);
    curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, is_get ? 1l : 0l);
    curl_easy_setopt(easy, CURLOPT_MAXREDIRS, REDIRECTS_MAX);
}

static void set_limits(CURL *easy, const struct http_fetch *f)
{
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1l);
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT,
                     (long)(f->connect_timeout_s > 0 ? f->connect_timeout_s : CONNECT_TIMEOUT_S));
    curl_easy_setopt(easy, CURLOPT_TIMEOUT, (long)f->timeout_s);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1l);
    curl_easy_setopt(easy, CURLOPT_TCP_NODELAY, 1l);
    curl_easy_setopt(easy, CURLOPT_USERAGENT, "determined-c/" DET_VERSION);
}

static void set_callbacks(struct transfer *t)
{
    curl_easy_setopt(t->easy, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(t->easy, CURLOPT_WRITEDATA, t);
    curl_easy_setopt(t->easy, CURLOPT_ERRORBUFFER, t->detail);
    curl_easy_setopt(t->easy, CURLOPT_PRIVATE, t);
    if (t->options.on_upload) {
        curl_easy_setopt(t->easy, CURLOPT_XFERINFOFUNCTION, on_progress);
        curl_easy_setopt(t->easy, CURLOPT_XFERINFODATA, t);
        curl_easy_setopt(t->easy, CURLOPT_NOPROGRESS, 0l);
    }
}

/* libcurl verifies the certificate against the URL's host. To verify another name, that name becomes the host, and the
 * connection is redirected to where it would have gone. */
static void set_tls_name(struct transfer *t, CURLU *u, const char *tls_name)
{
    cleanup_strbuf struct strbuf line = STRBUF_INIT;
    char *host = NULL, *port = NULL;
    curl_url_get(u, CURLUPART_HOST, &host, 0);
    curl_url_get(u, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT);
    strbuf_addf(&line, "%s:%s:%s:%s", tls_name, port, host, port);
    add_line(&t->connect_to, line.s);
    curl_easy_setopt(t->easy, CURLOPT_CONNECT_TO, t->connect_to);
    strbuf_reset(&line);
    strbuf_addf(&line, "Host: %s:%s", host, port);
    add_line(&t->header, line.s);
    curl_url_set(u, CURLUPART_HOST, tls_name, 0);
    curl_free(host);
    curl_free(port);
}

static void set_tls(struct transfer *t, CURLU *u, const struct http_fetch *f)
{
    if (f->ca_file)
        curl_easy_setopt(t->easy, CURLOPT_CAINFO, f->ca_file);
    if (f->tls_name)
        set_tls_name(t, u, f->tls_name);
    if (f->tls_skip_verify) {
        curl_easy_setopt(t->easy, CURLOPT_SSL_VERIFYPEER, 0l);
        curl_easy_setopt(t->easy, CURLOPT_SSL_VERIFYHOST, 0l);
    }
}

static char *place_of(CURLU *u)
{
    cleanup_strbuf struct strbuf place = STRBUF_INIT;
    char *scheme = NULL, *host = NULL, *port = NULL;
    curl_url_get(u, CURLUPART_SCHEME, &scheme, 0);
    curl_url_get(u, CURLUPART_HOST, &host, 0);
    curl_url_get(u, CURLUPART_PORT, &port, 0);
    strbuf_addf(&place, "%s://%s%s%s", scheme, host, port ? ":" : "", port ? port : "");
    curl_free(scheme);
    curl_free(host);
    curl_free(port);
    return strbuf_detach(&place);
}

static int transfer_prepare(struct transfer *t, const struct http_fetch *f, bool copy_body, struct error *err)
{
    t->options = *f;
    if (t->options.reply_max == 0)
        t->options.reply_max = REPLY_MAX;
    CURLU *u = curl_url();
    if (!u || curl_url_set(u, CURLUPART_URL, f->url, 0) != CURLUE_OK ||
        (strncasecmp(f->url, "http://", 7) != 0 && strncasecmp(f->url, "https://", 8) != 0)) {
        curl_url_cleanup(u);
        return error_set(err, ERR_INVALID, "%s is not an address of the form http://host:port/path or https://…",
                         f->url);
    }
    t->place = place_of(u);
    set_tls(t, u, f);
    char *url = NULL;
    curl_url_get(u, CURLUPART_URL, &url, 0);
    curl_easy_setopt(t->easy, CURLOPT_URL, url);
    curl_free(url);
    curl_url_cleanup(u);
    set_header(t, f->header);
    set_method_and_body(t->easy, f, copy_body);
    set_limits(t->easy, f);
    set_callbacks(t);
    return 0;
}

static void transfer_release(struct transfer *t)
{
    curl_slist_free_all(t->header);
    curl_slist_free_all(t->connect_to);
    http_fetch_reply_release(&t->reply);
    free(t->place);
}

/* ---- how it ended ---- */

/* strerror() begins with a capital and libcurl's texts, too; ours go on after a colon. */
static void add_lower(struct strbuf *b, const char *s)
{
    bool acronym = s[0] && isupper((unsigned char)s[1]);
    strbuf_addc(b, acronym ? s[0] : (char)tolower((unsigned char)s[0]));
    strbuf_adds(b, s[0] ? s + 1 : "");
}

static void describe_unreachable(const struct transfer *t, struct strbuf *why)
{
    long os_error = 0;
    curl_easy_getinfo(t->easy, CURLINFO_OS_ERRNO, &os_error);
    if (os_error)
        add_lower(why, strerror((int)os_error));
    else
        add_lower(why, *t->detail ? t->detail : "no connection");
    if (os_error == ECONNREFUSED)
        strbuf_adds(why, "; is the master running there?");
}

static void describe_timeout(const struct transfer *t, struct strbuf *why)
{
    double connected_s = 0;
    curl_easy_getinfo(t->easy, CURLINFO_CONNECT_TIME, &connected_s);
    if (connected_s > 0 && t->options.timeout_s > 0)
        strbuf_addf(why, "no complete answer within %d s", t->options.timeout_s);
    else
        strbuf_addf(why, "no connection within %d s",
                    t->options.connect_timeout_s > 0 ? t->options.connect_timeout_s : CONNECT_TIMEOUT_S);
}

static int transfer_failed(const struct transfer *t, CURLcode code, struct error *err)
{
    cleanup_strbuf struct strbuf why = STRBUF_INIT;
    if (t->stopped)
        return error_set(err, ERR_CANCELED, "stopped reading from %s", t->place);
    if (t->too_big)
        return error_set(err, ERR_TOO_LARGE, "the answer of %s is over %zu bytes", t->place, t->options.reply_max);
    switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
        strbuf_adds(&why, "its name can't be resolved to an address");
        break;
    case CURLE_COULDNT_CONNECT:
        describe_unreachable(t, &why);
        break;
    case CURLE_OPERATION_TIMEDOUT:
        describe_timeout(t, &why);
        break;
    case CURLE_PEER_FAILED_VERIFICATION:
        strbuf_adds(&why, "its certificate is not trusted: ");
        add_lower(&why, *t->detail ? t->detail : curl_easy_strerror(code));
        break;
    case CURLE_GOT_NOTHING:
    case CURLE_PARTIAL_FILE:
        strbuf_adds(&why, "the connection broke off before the answer was complete");
        break;
    default:
        add_lower(&why, *t->detail ? t->detail : curl_easy_strerror(code));
    }
    return error_set(err, ERR_UNAVAILABLE, "can't reach %s: %s", t->place, why.s);
}

static int transfer_finish(struct transfer *t, CURLcode code, struct error *err)
{
    int status = status_of(t);
    /* A server that refuses an upload answers and closes before it has read everything. */
    bool refused_early = (code == CURLE_SEND_ERROR || code == CURLE_RECV_ERROR) && status >= 400;
    if (code != CURLE_OK && !refused_early)
        return transfer_failed(t, code, err);
    const char *type = NULL;
    curl_easy_getinfo(t->easy, CURLINFO_CONTENT_TYPE, &type);
    t->reply.status = status;
    snprintf(t->reply.content_type, sizeof t->reply.content_type, "%s", type ? type : "");
    return 0;
}

void http_fetch_reply_release(struct http_fetch_reply *r)
{
    strbuf_release(&r->body);
}

/* ---- blocking ---- */

struct http_client {
    CURL *easy; /* keeps its connections from one fetch to the next */
};

struct http_client *http_client_new(void)
{
    struct http_client *c = calloc(1, sizeof *c);
    if (!c)
        abort();
    c->easy = new_easy();
    return c;
}

void http_client_free(struct http_client *c)
{
    if (!c)
        return;
    curl_easy_cleanup(c->easy);
    free(c);
}

int http_fetch(struct http_client *c, const struct http_fetch *f, struct http_fetch_reply *ret, struct error *err)
{
    struct transfer t = {.easy = c->easy};
    curl_easy_reset(c->easy);
    int rc = transfer_prepare(&t, f, /* copy_body= */ false, err);
    if (rc == 0)
        rc = transfer_finish(&t, curl_easy_perform(c->easy), err);
    if (rc == 0) {
        *ret = t.reply;
        t.reply.body = (struct strbuf)STRBUF_INIT;
    }
    curl_easy_reset(c->easy); /* it points into t */
    transfer_release(&t);
    return rc;
}

/* ---- on a loop ---- */

struct http_fetch_handle {
    struct transfer transfer;
    struct fetcher *fetcher;
    http_fetch_done_fn *done;
    void *ctx;
    struct error bad_options; /* reported through done, like every other failure */
    bool added;     /* to the multi handle */
    bool canceled;  /* while libcurl was calling us: ends as soon as it has returned */
    LIST_ENTRY(http_fetch_handle) all;
};

struct fetcher { /* one per loop */
    struct loop *loop;
    CURLM *multi;
    struct loop_timer *timer; /* libcurl's */
    struct loop_timer *kick;  /* handles to be added or ended in the next turn */
    int in_curl;              /* depth of calls into libcurl, in which it must not be called again */
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
        struct http_fetch_handle *h = (struct http_fetch_handle *)t; /* its first member */
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

/* Adds what was started and ends what was canceled since. Starts over after each done callback, which may change the
 * list. */
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
    f = calloc(1, sizeof *f);
    if (!f)
        abort();
    f->loop = l;
    f->timer = loop_timer_new(l, on_curl_timer, f);
    f->kick = loop_timer_new(l, on_kick, f);
    LIST_INIT(&f->handles);
    f->multi = curl_multi_init();
    if (!f->multi)
        abort();
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
    struct http_fetch_handle *h = calloc(1, sizeof *h);
    if (!h)
        abort();
    h->transfer.easy = new_easy();
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
