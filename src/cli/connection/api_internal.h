/* Implements cli/connection/api.h in these files:
 *    api.c           calls and streams
 *    api_greet.c     the first contact with the master: who answers, and of which version
 *    api_url.c       makes path, query and body of a request's struct
 *    api_exchange.c  one HTTP exchange with the master, and its errors for people
 *    api_login.c     which user det acts as, and the token for that user */
#ifndef DET_CLI_CONNECTION_API_INTERNAL_H
#define DET_CLI_CONNECTION_API_INTERNAL_H

#include "cli/connection/api.h"
#include "cli/connection/trust.h"
#include "common/base/strbuf.h"
#include "net/client/http_client.h"

struct session {
    struct http_client *http;
    struct trust trust;
    const char *user, *token; /* NULL until det is logged in */
    bool plain_passwords;     /* the master has said that it wants passwords as they are */
};

/* makes the session when it is first asked for */
int cli_session(struct cli *cli, struct session **ret, struct error *err);

struct exchange {
    const char *method, *url;
    const void *body;
    size_t body_n;
    bool with_token, no_retry;
    uint64_t from;                  /* number of bytes that were received already: only the rest is requested */
    const struct http_fetch *extra; /* callbacks for streams and progress */
};

/* One exchange. Masters that restart, and proxies in front of them, answer 502 to 504 for a while: requests that
 * change nothing are repeated then. A reply with any status counts as success. */
int api_fetch(struct cli *cli, const struct exchange *x, struct http_fetch_reply *reply, struct error *err);
/* Sets the error for a reply with this status. Always returns -1. */
int api_status_error(struct cli *cli, int status, const struct strbuf *body, struct error *err);

/* Whether a reply is a page for browsers. The master never sends one: api_status_error() says so, even if the status is
 * one of success. */
bool api_is_page(const struct strbuf *body);

/* What the body of a reply says about its status; in the arena. */
const char *api_error_text(struct cli *cli, const struct strbuf *body, int status);

/* request NULL: all fields are unset. */
void api_build_url(struct cli *cli, const struct route *r, const void *request, struct strbuf *url);
void api_build_body(const struct route *r, const void *request, struct strbuf *body);

/* Unless the session has a token, uses the stored one, the one of the task that det runs in, or asks the master for
 * a new one. */
int api_log_in(struct cli *cli, struct session *s, struct error *err);

#endif
