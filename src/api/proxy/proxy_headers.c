#include "api/proxy/proxy_headers.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

/* ---- names ------------------------------------------------------------------------------------------------------- */

/* A name that ends in '*' stands for all names that begin so. '_' counts as '-', since many programs cannot tell them
 * apart (CGI, WSGI). */
static bool name_matches(const char *name, const char *pattern)
{
    for (; *pattern && *pattern != '*'; name++, pattern++) {
        char c = *name == '_' ? '-' : (char)tolower((unsigned char)*name);
        if (c != tolower((unsigned char)*pattern))
            return false;
    }
    return *pattern == '*' || *name == '\0';
}

static bool is_among(const char *name, const char *const *patterns)
{
    for (; *patterns; patterns++)
        if (name_matches(name, *patterns))
            return true;
    return false;
}

/* What belongs to one connection and not to the message (RFC 9110 7.6.1). */
static const char *const of_the_connection[] = {
    "Connection",
    "Keep-Alive",
    "Proxy-Connection",
    "Proxy-Authenticate",
    "Proxy-Authorization",
    "TE",
    "Trailer",
    "Transfer-Encoding",
    "Upgrade",
    NULL,
};

/* Whether a Connection header declares this one to belong to the connection. Host and Content-Length cannot be thrown
 * out in that way. */
static bool is_declared(const struct http1_header *header, size_t n, const char *name)
{
    if (strcasecmp(name, "Host") == 0 || strcasecmp(name, "Content-Length") == 0)
        return false;
    for (size_t i = 0; i < n; i++)
        if (strcasecmp(header[i].name, "Connection") == 0 && http1_list_has(header[i].value, name))
            return true;
    return false;
}

/* ---- to the task ------------------------------------------------------------------------------------------------- */

/* The master writes these itself, or they are the platform's. */
static const char *const not_for_tasks[] = {
    "Content-Length",
    "Cookie",
    "Authorization",
    "Grpc-Metadata-*",
    "X-Forwarded-For",
    "X-Forwarded-Proto",
    "X-Forwarded-Ssl",
    "Forwarded",
    "X-Real-IP",
    "X-Scheme",
    NULL,
};

static void add_line(struct strbuf *out, const char *name, const char *value)
{
    strbuf_adds(out, name);
    strbuf_adds(out, ": ");
    strbuf_adds(out, value);
    strbuf_adds(out, "\r\n");
}

static bool is_platform_cookie(const char *name, size_t n)
{
    static const char *const names[] = {"auth", PROXY_TOKEN_COOKIE};
    while (n > 0 && (name[n - 1] == ' ' || name[n - 1] == '\t' || name[n - 1] == '"'))
        n--;
    for (; n > 0 && (*name == ' ' || *name == '\t' || *name == '"'); name++)
        n--;
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (n == strlen(names[i]) && strncasecmp(name, names[i], n) == 0)
            return true;
    return false;
}

/* Adds the cookies of one header without those of the platform. Some programs also split at commas, so a cookie of the
 * platform is looked for behind commas, too. */
static bool hides_platform_cookie(const char *s, size_t n)
{
    for (size_t at = 0; at < n;) {
        const char *comma = memchr(s + at, ',', n - at);
        size_t end = comma ? (size_t)(comma - s) : n;
        const char *equals = memchr(s + at, '=', end - at);
        if (is_platform_cookie(s + at, equals ? (size_t)(equals - s) - at : end - at))
            return true;
        at = end + 1;
    }
    return false;
}

static void add_cookies(struct strbuf *out, const char *list, bool *first)
{
    while (*list) {
        list += strspn(list, " \t;");
        size_t n = strcspn(list, ";");
        if (n > 0 && !hides_platform_cookie(list, n)) {
            strbuf_adds(out, *first ? "Cookie: " : "; ");
            strbuf_add(out, list, n);
            *first = false;
        }
        list += n;
    }
}

static void add_cookie_line(struct strbuf *out, const struct proxy_visit *v)
{
    bool first = true;
    for (size_t i = 0; i < v->header_n; i++)
        if (strcasecmp(v->header[i].name, "Cookie") == 0)
            add_cookies(out, v->header[i].value, &first);
    if (!first)
        strbuf_adds(out, "\r\n");
}

static void add_framing(struct strbuf *out, const struct proxy_visit *v)
{
    bool has_body_by_nature = strcmp(v->method, "POST") == 0 || strcmp(v->method, "PUT") == 0 ||
                              strcmp(v->method, "PATCH") == 0;
    if (v->framing == HTTP_CHUNKED)
        add_line(out, "Transfer-Encoding", "chunked");
    else if (v->framing == HTTP_SIZED || has_body_by_nature)
        strbuf_addf(out, "Content-Length: %llu\r\n", v->framing == HTTP_SIZED ? (unsigned long long)v->length : 0ull);
}

void proxy_request_head(const struct proxy_visit *v, struct strbuf *out)
{
    bool has_host = false;
    strbuf_addf(out, "%s %s%s%s HTTP/1.1\r\n", v->method, v->path, *v->query ? "?" : "", v->query);
    for (size_t i = 0; i < v->header_n; i++) {
        const struct http1_header *h = &v->header[i];
        has_host |= strcasecmp(h->name, "Host") == 0;
        bool passes = !is_among(h->name, of_the_connection) && !is_among(h->name, not_for_tasks) &&
                      !is_declared(v->header, v->header_n, h->name);
        if (passes || (v->keeps_authorization && strcasecmp(h->name, "Authorization") == 0))
            add_line(out, h->name, h->value);
    }
    if (!has_host)
        add_line(out, "Host", "task");
    add_cookie_line(out, v);
    add_line(out, "X-Real-IP", v->client);
    add_line(out, "X-Forwarded-For", v->client);
    add_line(out, "X-Forwarded-Proto", v->https ? "https" : "http");
    add_framing(out, v);
    strbuf_adds(out, v->upgrade ? "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n" : "Connection: close\r\n\r\n");
}

/* ---- cookies of the task ----------------------------------------------------------------------------------------- */

static void trim(const char **s, size_t *n)
{
    for (; *n > 0 && (**s == ' ' || **s == '\t'); (*s)++)
        (*n)--;
    while (*n > 0 && ((*s)[*n - 1] == ' ' || (*s)[*n - 1] == '\t'))
        (*n)--;
}

/* Whether the attribute is called so. *ret_value is its value, "" if it has none. */
static bool is_attribute(const char *s, size_t n, const char *name, const char **ret_value, size_t *ret_n)
{
    const char *equals = memchr(s, '=', n);
    size_t name_n = equals ? (size_t)(equals - s) : n;
    *ret_value = equals ? equals + 1 : s + n;
    *ret_n = equals ? n - name_n - 1 : 0;
    trim(ret_value, ret_n);
    trim(&s, &name_n);
    return name_n == strlen(name) && strncasecmp(s, name, name_n) == 0;
}

bool proxy_set_cookie(const char *value, const char *path, struct strbuf *out)
{
    size_t n = strcspn(value, ";"), path_n = strlen(path), given_n;
    const char *equals = memchr(value, '=', n), *given, *own_path = path;
    size_t own_path_n = path_n, name_n = equals ? (size_t)(equals - value) : 0;
    const char *name = value;
    trim(&name, &name_n);
    /* browsers send a cookie without a name as its bare value, which could read "auth=…" */
    if (name_n == 0 || is_platform_cookie(name, name_n) || hides_platform_cookie(value, n))
        return false;
    strbuf_reset(out);
    strbuf_add(out, value, n);
    for (const char *p = value + n; *p;) {
        p += strspn(p, "; \t");
        size_t part_n = strcspn(p, ";");
        const char *part = p;
        p += part_n;
        trim(&part, &part_n);
        if (part_n == 0 || is_attribute(part, part_n, "Domain", &given, &given_n))
            continue;
        if (is_attribute(part, part_n, "Path", &given, &given_n)) {
            bool is_own = given_n >= path_n && memcmp(given, path, path_n) == 0;
            own_path = is_own ? given : path;
            own_path_n = is_own ? given_n : path_n;
            continue;
        }
        strbuf_adds(out, "; ");
        strbuf_add(out, part, part_n);
    }
    strbuf_adds(out, "; Path=");
    strbuf_add(out, own_path, own_path_n);
    return true;
}

/* ---- to the visitor ---------------------------------------------------------------------------------------------- */

/* Headers that speak for the whole origin, or that the master writes itself. */
static const char *const not_for_visitors[] = {
    "Content-Length",
    "Set-Cookie*",
    "Strict-Transport-Security",
    "Public-Key-Pins*",
    "Expect-CT",
    "Service-Worker-Allowed",
    "Clear-Site-Data",
    "Alt-Svc",
    "NEL",
    "Report-To",
    "Reporting-Endpoints",
    "Accept-CH*",
    "Critical-CH",
    "Origin-Agent-Cluster",
    "Origin-Trial",
    "Speculation-Rules",
    "Set-Login",
    "X-Accel-*", /* orders to an nginx or Apache in front of the master: "send this file" */
    "X-Sendfile",
    "X-Lighttpd-Send-File",
    "X-XSS-Protection",
    "X-Content-Type-Options",
    "X-Frame-Options",
    NULL,
};

/* Where the platform itself asks who the visitor is, a task must not ask for a password in its place, nor let pages of
 * other origins in. */
static const char *const only_from_open_ports[] = {"Access-Control-*", "WWW-Authenticate", NULL};

/* Without allow-same-origin the page has an origin of its own: its scripts reach neither the platform's API with the
 * visitor's cookie nor other pages of the platform. Pages that it opens are held in the same way. */
static const char sandbox[] = "sandbox allow-scripts allow-forms allow-popups allow-modals allow-downloads";

static bool passes_to_visitor(const struct http1_header *header, size_t n, const char *name,
                              const struct proxy_answer *to)
{
    if (is_among(name, of_the_connection) || is_among(name, not_for_visitors) || is_declared(header, n, name))
        return false;
    return to->open || !is_among(name, only_from_open_ports);
}

void proxy_answer_headers(const struct http1_header *header, size_t n, const struct proxy_answer *to,
                          proxy_header_fn *fn, void *ctx)
{
    cleanup_strbuf struct strbuf cookie = STRBUF_INIT;
    bool allows_origin = false;
    for (size_t i = 0; i < n; i++) {
        const char *name = header[i].name, *value = header[i].value;
        if (strcasecmp(name, "Set-Cookie") == 0 && proxy_set_cookie(value, to->path, &cookie))
            fn(ctx, "Set-Cookie", cookie.s);
        else if (passes_to_visitor(header, n, name, to))
            fn(ctx, name, value);
        allows_origin |= strcasecmp(name, "Access-Control-Allow-Origin") == 0;
    }
    if (!to->sandbox)
        return;
    fn(ctx, "Content-Security-Policy", sandbox);
    /* The service's own pages may read its answers, although their origin is another one now. */
    if (to->open && to->is_opaque && !allows_origin)
        fn(ctx, "Access-Control-Allow-Origin", "null");
}
