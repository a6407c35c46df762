#include "cli/connection/address.h"
#include "common/base/percent.h"
#include "common/config/address_range.h"
#include "net/client/proxy_choice.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static int port_parse(const char *text, size_t n, int *ret)
{
    int port = 0;
    if (n == 0 || n > 5)
        return -1;
    for (size_t i = 0; i < n; i++) {
        if (!isdigit((unsigned char)text[i]))
            return -1;
        port = port * 10 + (text[i] - '0');
    }
    if (port > 65535)
        return -1;
    *ret = port;
    return 0;
}

/* Takes the scheme off an address. *ret_port is the port that goes with it; without a scheme it is http at 8080. */
static int take_scheme(const char *text, const char **ret_scheme, const char **ret_rest, int *ret_port,
                       struct error *err)
{
    static const struct {
        const char *name, *mark;
        int port;
    } schemes[] = {{"http", "http://", 80}, {"https", "https://", 443}};
    for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++) {
        size_t n = strlen(schemes[i].mark);
        if (strncasecmp(text, schemes[i].mark, n) != 0)
            continue;
        *ret_scheme = schemes[i].name;
        *ret_rest = text + n;
        *ret_port = schemes[i].port;
        return 0;
    }
    const char *mark = strstr(text, "://");
    if (mark)
        return error_set(err, ERR_USAGE, "master address '%s': a master speaks http:// or https://, not %.*s://", text,
                         (int)(mark - text), text);
    *ret_scheme = "http";
    *ret_rest = text;
    *ret_port = 8080;
    return 0;
}

/* Takes the port off host[0 … n), if there is one, and returns the length of the name before it. */
static int take_port(const char *text, const char *host, size_t n, size_t *ret_n, int *ret_port, struct error *err)
{
    /* an IPv6 host is in brackets; the colons in it do not separate the port */
    const char *bracket = host[0] == '[' ? memchr(host, ']', n) : NULL;
    const char *from = bracket ? bracket : host;
    const char *colon = memchr(from, ':', n - (size_t)(from - host));
    if (colon && port_parse(colon + 1, n - (size_t)(colon + 1 - host), ret_port) < 0)
        return error_set(err, ERR_USAGE, "master address '%s': the port must be a number from 0 to 65535", text);
    *ret_n = colon ? (size_t)(colon - host) : n;
    if (*ret_n == 0)
        return error_set(err, ERR_USAGE, "master address '%s' has no host name", text);
    return 0;
}

int address_canonical(const char *text, struct arena *a, const char **ret, struct error *err)
{
    const char *scheme = NULL, *rest = NULL;
    int port = 0;
    size_t name_n = 0;
    if (take_scheme(text, &scheme, &rest, &port, err) < 0)
        return -1;
    size_t host_n = strcspn(rest, "/?#");
    const char *path = rest + host_n;
    if (memchr(rest, '@', host_n))
        return error_set(err, ERR_USAGE, "master address '%s' must not contain a user or password", text);
    if (strpbrk(path, "?#"))
        return error_set(err, ERR_USAGE, "master address '%s' must not contain a query or fragment", text);
    if (take_port(text, rest, host_n, &name_n, &port, err) < 0)
        return -1;
    char *host = arena_strndup(a, rest, name_n);
    for (char *c = host; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    size_t path_n = strlen(path);
    while (path_n > 0 && path[path_n - 1] == '/')
        path_n--;
    *ret = arena_printf(a, "%s://%s:%d%.*s", scheme, host, port, (int)path_n, path);
    return 0;
}

const char *address_choose(const char *option, const char **ret_source)
{
    const char *choice[] = {option, getenv("DET_MASTER"), getenv("DET_MASTER_ADDR")};
    static const char *const source[] = {"-m", "DET_MASTER", "DET_MASTER_ADDR"};
    for (size_t i = 0; i < sizeof(choice) / sizeof(choice[0]); i++) {
        if (choice[i] && *choice[i]) {
            *ret_source = source[i];
            return choice[i];
        }
    }
    *ret_source = "the default";
    return "localhost:8080";
}

bool address_is_tls(const char *canonical)
{
    return strncmp(canonical, "https:", 6) == 0;
}

const char *address_host(const char *canonical, struct arena *a, long *ret_port)
{
    const char *from = strstr(canonical, "://") + 3;
    char *host = arena_strndup(a, from, strcspn(from, "/")), *colon = strrchr(host, ':');
    *ret_port = strtol(colon + 1, NULL, 10);
    *colon = '\0';
    if (*host == '[') { /* [::1] */
        host++;
        host[strcspn(host, "]")] = '\0';
    }
    return host;
}

bool address_is_private(const char *canonical, struct arena *a)
{
    long port;
    const char *host = address_host(canonical, a, &port);
    struct address address;
    if (address_is_tls(canonical))
        return true;
    if (strcmp(host, "localhost") != 0 &&
        (address_parse(host, strlen(host), &address) < 0 || !address_is_loopback(&address)))
        return false;
    return !proxy_is_needed(/* tls= */ false, host, port);
}

const char *address_escape(const char *text, struct arena *a)
{
    cleanup_strbuf struct strbuf out = STRBUF_INIT;
    strbuf_add_percent(&out, text, PERCENT_UNRESERVED);
    return arena_strdup(a, strbuf_str(&out));
}
