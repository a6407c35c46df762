#include "api/rights/origin.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/base/must.h"
#include "common/config/config.h"
#include "common/json/json.h"
#include "net/http/http.h"

struct proxies {
    bool own_tls; /* the master itself speaks https */
    size_t n;
    struct address_range range[];
};

struct proxies *proxies_new(const struct config *c)
{
    struct json_object *list = config_get(c, "security.trusted_proxies");
    size_t n = list ? json_object_array_length(list) : 0;
    struct proxies *p = must_calloc(1, sizeof(*p) + n * sizeof(p->range[0]));
    const char *cert = config_str(c, "security.tls.cert");
    if (p)
        p->own_tls = cert && *cert;
    for (size_t i = 0; p && i < n; i++) /* the addresses are valid: common/config/schema_checks.c has checked them */
        if (address_range_parse(json_object_get_string(json_object_array_get_idx(list, i)), &p->range[p->n], NULL) == 0)
            p->n++;
    return p;
}

void proxies_free(struct proxies *p)
{
    free(p);
}

static bool is_proxy(const struct proxies *p, const struct address *a)
{
    for (size_t i = 0; i < p->n; i++)
        if (address_range_holds(&p->range[i], a))
            return true;
    return false;
}

static void peer_of(const struct http_request *http, struct address *ret)
{
    const char *peer = http_request_peer(http);
    if (address_parse(peer, strlen(peer), ret) < 0)
        *ret = (struct address){0};
}

static bool is_proxied(const struct proxies *p, const struct http_request *http)
{
    struct address peer;
    peer_of(http, &peer);
    return is_proxy(p, &peer);
}

/* Each proxy appends the address of its client to X-Forwarded-For. Entries before that of the last trusted proxy
 * come from the client itself and prove nothing. */
void origin_client(const struct proxies *p, const struct http_request *http, struct address *ret)
{
    peer_of(http, ret);
    const char *list = is_proxy(p, ret) ? http_request_last_header(http, "X-Forwarded-For") : NULL;
    for (size_t n = list ? strlen(list) : 0; n > 0 && is_proxy(p, ret);) {
        size_t begin = n;
        while (begin > 0 && list[begin - 1] != ',')
            begin--;
        size_t from = begin + strspn(list + begin, " \t"), to = n;
        while (to > from && (list[to - 1] == ' ' || list[to - 1] == '\t'))
            to--;
        if (address_parse(list + from, to - from, ret) < 0)
            return;
        n = begin > 0 ? begin - 1 : 0;
    }
}

bool origin_is_https(const struct proxies *p, const struct http_request *http)
{
    const char *proto = is_proxied(p, http) ? http_request_last_header(http, "X-Forwarded-Proto") : NULL;
    return proto ? strcasecmp(proto, "https") == 0 : p->own_tls;
}

/* ---- which page sent the request --------------------------------------------------------------------------------- */

static bool changes_something(const struct http_request *http)
{
    enum http_method m = http_request_method(http);
    return (m != HTTP_GET && m != HTTP_HEAD && m != HTTP_OPTIONS) || http_request_header(http, "Upgrade");
}

/* Splits "host:port": returns the host's length and sets *ret_port to the port's text, "" if there is none. */
static size_t split_host(const char *host, const char **ret_port)
{
    const char *end = *host == '[' ? strchr(host, ']') : NULL, *colon = strchr(end ? end : host, ':');
    *ret_port = colon ? colon + 1 : "";
    return colon ? (size_t)(colon - host) : strlen(host);
}

/* Whether both ports are the same. A port that is not named is that of the scheme. Where a proxy may speak https for
 * us, the scheme of the host is not known, and an unnamed port may be that of either scheme. */
static bool same_port(const char *origin_port, bool origin_https, const char *host_port, bool https)
{
    const char *named = *origin_port ? origin_port : origin_https ? "443" : "80";
    if (*host_port)
        return strcmp(named, host_port) == 0;
    return strcmp(named, "443") == 0 || (!https && strcmp(named, "80") == 0);
}

static bool names_host(const char *origin, const char *host, bool https)
{
    bool origin_https = strncasecmp(origin, "https://", 8) == 0;
    if (!origin_https && (https || strncasecmp(origin, "http://", 7) != 0))
        return false;
    origin += origin_https ? 8 : 7;
    const char *origin_port, *host_port;
    size_t n = split_host(origin, &origin_port), m = split_host(host, &host_port);
    return n > 0 && n == m && strncasecmp(origin, host, n) == 0 &&
           same_port(origin_port, origin_https, host_port, https);
}

enum provenance { FROM_PLATFORM, FROM_ELSEWHERE, FROM_UNKNOWN };

static enum provenance request_provenance(const struct proxies *p, const struct http_request *http)
{
    const char *site = http_request_header(http, "Sec-Fetch-Site"), *origin = http_request_header(http, "Origin");
    if (site) /* the browser has compared the origins itself; "none" means that its user typed the address */
        return strcasecmp(site, "same-origin") == 0 || strcasecmp(site, "none") == 0 ? FROM_PLATFORM : FROM_ELSEWHERE;
    if (!origin)
        return FROM_UNKNOWN;
    const char *host = is_proxied(p, http) ? http_request_last_header(http, "X-Forwarded-Host") : NULL;
    host = host ? host : http_request_header(http, "Host");
    return host && names_host(origin, host, origin_is_https(p, http)) ? FROM_PLATFORM : FROM_ELSEWHERE;
}

static bool is_json(const struct http_request *http)
{
    static const char json[] = "application/json";
    const char *type = http_request_header(http, "Content-Type");
    return type && strncasecmp(type, json, sizeof(json) - 1) == 0 && strchr(" \t;", type[sizeof(json) - 1]);
}

static int check_provenance(enum provenance from, const struct http_request *http, bool by_cookie, struct error *err)
{
    if (from == FROM_ELSEWHERE)
        return error_set(err, ERR_FORBIDDEN,
                         "this request comes from a page of another origin (%.200s), which may not act for who is "
                         "logged in here; programs send a token in the Authorization header",
                         http_request_header(http, "Origin") ? http_request_header(http, "Origin")
                                                             : "as Sec-Fetch-Site says");
    if (by_cookie && from == FROM_UNKNOWN)
        return error_set(err, ERR_FORBIDDEN,
                         "this request changes something, and its cookie is no proof of who made it: it has neither "
                         "Origin nor Sec-Fetch-Site; programs send the token in the Authorization header");
    return 0;
}

int origin_check_page(const struct proxies *p, struct http_request *http, struct error *err)
{
    return changes_something(http) ? check_provenance(request_provenance(p, http), http, /* by_cookie= */ true, err)
                                   : 0;
}

int origin_check(const struct proxies *p, struct http_request *http, bool by_cookie, struct error *err)
{
    if (!changes_something(http))
        return 0;
    if (check_provenance(request_provenance(p, http), http, by_cookie, err) < 0)
        return -1;
    if (!by_cookie)
        return 0;
    size_t n;
    http_request_body(http, &n);
    if (n > 0 && !is_json(http))
        return error_set(err, ERR_FORBIDDEN,
                         "a body that comes with a cookie must be declared as Content-Type: application/json; "
                         "programs send the token in the Authorization header");
    return 0;
}
