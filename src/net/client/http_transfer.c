#include "net/client/http_transfer.h"

#include <ctype.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/must.h"
#include "net/client/http_failure.h"
#include "net/client/no_proxy.h"
#include "net/client/proxy_choice.h"

#define REDIRECTS_MAX 10l

static void curl_init(void)
{
    curl_global_init(CURL_GLOBAL_DEFAULT);
}

CURL *transfer_new_easy(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, curl_init);
    CURL *easy = must(curl_easy_init());
    return easy;
}

/* ---- libcurl's callbacks ----------------------------------------------------------------------------------------- */

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
            t->stopped = true; /* http_fetch_cancel() called by on_data sets this, too */
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
    if (up_total > 0 && t->options.on_upload)
        t->options.on_upload((size_t)up, (size_t)up_total, t->options.ctx);
    if (down_total > 0 && t->options.on_download)
        t->options.on_download((size_t)down, (size_t)down_total, t->options.ctx);
    t->stopped |= t->options.abandoned && atomic_load(t->options.abandoned);
    return t->stopped; /* not 0: libcurl ends the exchange */
}

/* ---- preparing --------------------------------------------------------------------------------------------------- */

static void add_line(struct curl_slist **list, const char *line)
{
    struct curl_slist *longer = must(curl_slist_append(*list, line));
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
        /* sends no Content-Type instead of libcurl's default, which is that of a form */
        add_line(&t->header, "Content-Type:");
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
                     (long)(f->connect_timeout_s > 0 ? f->connect_timeout_s : HTTP_CONNECT_TIMEOUT_S));
    curl_easy_setopt(easy, CURLOPT_TIMEOUT, (long)f->timeout_s);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1l);
    curl_easy_setopt(easy, CURLOPT_TCP_NODELAY, 1l);
    curl_easy_setopt(easy, CURLOPT_USERAGENT, HTTP_USER_AGENT);
}

static void set_callbacks(struct transfer *t)
{
    curl_easy_setopt(t->easy, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(t->easy, CURLOPT_WRITEDATA, t);
    curl_easy_setopt(t->easy, CURLOPT_ERRORBUFFER, t->detail);
    curl_easy_setopt(t->easy, CURLOPT_PRIVATE, t);
    if (t->options.on_upload || t->options.on_download || t->options.abandoned) {
        curl_easy_setopt(t->easy, CURLOPT_XFERINFOFUNCTION, on_progress);
        curl_easy_setopt(t->easy, CURLOPT_XFERINFODATA, t);
        curl_easy_setopt(t->easy, CURLOPT_NOPROGRESS, 0l);
    }
}

/* Makes libcurl verify another name than the URL's host. libcurl verifies the certificate against the host, so the name
 * becomes the host, and the connection is redirected to where it would have gone. */
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

/* ---- proxies ----------------------------------------------------------------------------------------------------- */

/* Excepts the host from the proxy where NO_PROXY does. libcurl knows no ports in NO_PROXY, and its releases differ in
 * ranges and names. So the host is added to the list that libcurl reads, in libcurl's spelling. For the target of a
 * redirect the rest of the list decides. */
static void except_from_proxy(struct transfer *t, const char *list, const char *host)
{
    cleanup_strbuf struct strbuf longer = STRBUF_INIT;
    if (strcmp(list, "*") == 0) /* libcurl knows "*" only if it is the whole list */
        strbuf_adds(&longer, list);
    else
        strbuf_addf(&longer, "%s,%s", list, t->options.tls_name ? t->options.tls_name : host);
    curl_easy_setopt(t->easy, CURLOPT_NOPROXY, longer.s);
    t->proxy = NULL;
}

/* Chooses the proxy. u: the URL of the request. */
static void set_proxy(struct transfer *t, CURLU *u)
{
    const char *list = proxy_exceptions();
    char *host = NULL, *port = NULL;
    t->proxy = proxy_in_environment(strncmp(t->place, "https:", 6) == 0);
    if (!t->proxy || !list)
        return;
    curl_url_get(u, CURLUPART_HOST, &host, 0);
    curl_url_get(u, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT);
    char *bare = host + (host[0] == '['); /* [::1] */
    bare[strcspn(bare, "]")] = '\0';
    if (no_proxy_excepts(list, bare, strtol(port, NULL, 10)))
        except_from_proxy(t, list, bare);
    curl_free(host);
    curl_free(port);
}

int transfer_prepare(struct transfer *t, const struct http_fetch *f, bool copy_body, struct error *err)
{
    t->options = *f;
    if (t->options.reply_max == 0)
        t->options.reply_max = HTTP_REPLY_MAX;
    CURLU *u = curl_url();
    if (!u || curl_url_set(u, CURLUPART_URL, f->url, 0) != CURLUE_OK ||
        (strncasecmp(f->url, "http://", 7) != 0 && strncasecmp(f->url, "https://", 8) != 0)) {
        curl_url_cleanup(u);
        return error_set(err, ERR_INVALID, "%s is not an address of the form http://host:port/path or https://…",
                         f->url);
    }
    t->unix_socket = f->unix_socket != NULL;
    t->place = f->unix_socket ? must_strdup(f->unix_socket) : place_of(u);
    if (f->unix_socket) {
        curl_easy_setopt(t->easy, CURLOPT_UNIX_SOCKET_PATH, f->unix_socket);
        curl_easy_setopt(t->easy, CURLOPT_NOPROXY, "*");
    } else {
        set_proxy(t, u);
    }
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

void transfer_release(struct transfer *t)
{
    curl_slist_free_all(t->header);
    curl_slist_free_all(t->connect_to);
    http_fetch_reply_release(&t->reply);
    free(t->place);
}

/* ---- how it ended ------------------------------------------------------------------------------------------------ */

static void describe_unreachable(const struct transfer *t, bool proxy, struct strbuf *why)
{
    long os_error = 0;
    curl_easy_getinfo(t->easy, CURLINFO_OS_ERRNO, &os_error);
    if (os_error)
        http_failure_unreachable((int)os_error, !proxy && !t->unix_socket, why);
    else
        http_failure_add_lower(why, *t->detail ? t->detail : "no connection");
}

static void describe_timeout(const struct transfer *t, struct strbuf *why)
{
    double connected_s = 0;
    curl_easy_getinfo(t->easy, CURLINFO_CONNECT_TIME, &connected_s);
    http_failure_timeout(&t->options, connected_s > 0, why);
}

/* The hint for a wrong protocol, or NULL. A server that speaks the other protocol (HTTP or TLS) closes the connection,
 * or sends what the client cannot parse. */
static const char *other_protocol(const struct transfer *t, CURLcode code)
{
    if (t->unix_socket)
        return NULL;
    bool tls = strncmp(t->place, "https:", 6) == 0;
    bool not_tls = strstr(t->detail, "wrong version number") || strstr(t->detail, "packet length too long") ||
                   strstr(t->detail, "record layer failure");
    if (tls && code == CURLE_SSL_CONNECT_ERROR && not_tls)
        return HTTP_NO_HTTPS;
    if (!tls &&
        (code == CURLE_GOT_NOTHING || code == CURLE_UNSUPPORTED_PROTOCOL || code == CURLE_WEIRD_SERVER_REPLY ||
         code == CURLE_RECV_ERROR) &&
        t->reply.body.n == 0)
        return HTTP_NO_HTTP;
    return NULL;
}

/* The proxy's host and port, without a password, if the proxy has failed; NULL otherwise. libcurl's error names what it
 * connects to. */
static const char *failed_proxy(const struct transfer *t, CURLcode code)
{
    const char *proxy = t->proxy, *scheme = proxy ? strstr(proxy, "://") : NULL;
    const char *host = scheme ? scheme + 3 : proxy, *at = host ? strrchr(host, '@') : NULL;
    cleanup_strbuf struct strbuf name = STRBUF_INIT;
    if (!proxy)
        return NULL;
    host = at ? at + 1 : host;
    if (code == CURLE_COULDNT_RESOLVE_PROXY)
        return host;
    strbuf_add(&name, host, strcspn(host, ":/"));
    bool tried = (code == CURLE_COULDNT_CONNECT || code == CURLE_OPERATION_TIMEDOUT) &&
                 strstr(t->detail, strbuf_str(&name));
    const char *place = strstr(t->place, "://") + 3;
    return tried && strncmp(place, host, strcspn(host, "/")) != 0 ? host : NULL;
}

static void describe_distrust(const struct transfer *t, CURLcode code, struct strbuf *why)
{
    const char *wanted = strstr(t->detail, "target host"); /* … name 'host', or hostname 'host' */
    wanted = wanted ? strchr(wanted, '\'') : NULL;
    if (wanted) {
        strbuf_addf(
            why,
            "its certificate is not for the name %s; use an address that the certificate holds, or say which name to look for "
            "in it (DET_MASTER_CERT_NAME; of an agent, master_cert_name)",
            wanted);
        return;
    }
    strbuf_adds(why, "its certificate is not trusted: ");
    http_failure_add_lower(why, *t->detail ? t->detail : curl_easy_strerror(code));
}

static int transfer_failed(const struct transfer *t, CURLcode code, struct error *err)
{
    cleanup_strbuf struct strbuf why = STRBUF_INIT;
    if (t->stopped)
        return http_failure_stopped(t->place, err);
    if (t->too_big)
        return http_failure_too_big(t->place, t->options.reply_max, err);
    const char *other = other_protocol(t, code), *proxy = failed_proxy(t, code);
    if (other)
        return http_failure_reach(t->place, other, err);
    switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
        strbuf_adds(&why, HTTP_UNRESOLVED);
        break;
    case CURLE_COULDNT_CONNECT:
        describe_unreachable(t, proxy != NULL, &why);
        break;
    case CURLE_OPERATION_TIMEDOUT:
        describe_timeout(t, &why);
        break;
    case CURLE_PEER_FAILED_VERIFICATION:
        describe_distrust(t, code, &why);
        break;
    case CURLE_GOT_NOTHING:
    case CURLE_PARTIAL_FILE:
        strbuf_adds(&why, HTTP_BROKE_OFF);
        break;
    default:
        http_failure_add_lower(&why, *t->detail ? t->detail : curl_easy_strerror(code));
    }
    if (proxy)
        return error_set(err, ERR_UNAVAILABLE,
                         "can't reach %s through the proxy %.*s, which the environment names: %s; "
                         "NO_PROXY lists the addresses that need none",
                         t->place, (int)strcspn(proxy, "/"), proxy, why.s);
    return http_failure_reach(t->place, strbuf_str(&why), err);
}

int transfer_finish(struct transfer *t, CURLcode code, struct error *err)
{
    int status = status_of(t);
    /* A server that refuses an upload may answer and close before it has read the whole body; its answer counts. */
    bool refused_early = (code == CURLE_SEND_ERROR || code == CURLE_RECV_ERROR) && status >= 400;
    if (code != CURLE_OK && !refused_early)
        return transfer_failed(t, code, err);
    const char *type = NULL;
    curl_easy_getinfo(t->easy, CURLINFO_CONTENT_TYPE, &type);
    t->reply.status = status;
    snprintf(t->reply.content_type, sizeof(t->reply.content_type), "%s", type ? type : "");
    struct curl_header *date;
    if (curl_easy_header(t->easy, "Date", 0, CURLH_HEADER, -1, &date) == CURLHE_OK)
        snprintf(t->reply.date, sizeof(t->reply.date), "%s", date->value);
    return 0;
}
