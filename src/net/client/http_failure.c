#include "net/client/http_failure.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

void http_failure_add_lower(struct strbuf *b, const char *s)
{
    bool acronym = s[0] && isupper((unsigned char)s[1]);
    strbuf_addc(b, acronym ? s[0] : (char)tolower((unsigned char)s[0]));
    strbuf_adds(b, s[0] ? s + 1 : "");
}

void http_failure_unreachable(int os_error, bool of_master, struct strbuf *why)
{
    http_failure_add_lower(why, strerror(os_error));
    if (os_error == ECONNREFUSED && of_master)
        strbuf_adds(why, "; is the master running there?");
}

void http_failure_timeout(const struct http_fetch *f, bool connected, struct strbuf *why)
{
    if (connected && f->timeout_s > 0)
        strbuf_addf(why, "no complete answer within %d s", f->timeout_s);
    else
        strbuf_addf(why, "no connection within %d s",
                    f->connect_timeout_s > 0 ? f->connect_timeout_s : HTTP_CONNECT_TIMEOUT_S);
}

int http_failure_reach(const char *place, const char *why, struct error *err)
{
    return error_set(err, ERR_UNAVAILABLE, "can't reach %s: %s", place, why);
}

int http_failure_stopped(const char *place, struct error *err)
{
    return error_set(err, ERR_CANCELED, "stopped reading from %s", place);
}

int http_failure_too_big(const char *place, size_t max, struct error *err)
{
    return error_set(err, ERR_TOO_LARGE, "the answer of %s is over %zu bytes", place, max);
}
