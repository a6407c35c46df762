/* Behind cli/connection/api.h, file by file:
 *   api.c           a route's call, its stream, the greeting
 *   api_url.c       from the request's struct to path, query and body
 *   api_exchange.c  one HTTP exchange with the master; its errors for people
 *   api_login.c     who to be, and the token for it */
#ifndef DET_CLI_API_INTERNAL_H
#define DET_CLI_API_INTERNAL_H

#include "cli/connection/api.h"
#include "cli/connection/trust.h"
#include "common/base/strbuf.h"
#include "net/client/http_client.h"

struct session {
    struct http_client *http;
    struct trust trust;
    const char *user, *token; /* NULL until logged in */
};

int cli_session(struct cli *cli, struct session **ret, struct error *err); /* made when first asked for */

struct exchange {
    const char *method, *url;
    const void *body;
    size_t body_n;
    bool with_token, no_retry;
    uint64_t from; /* bytes that are there already: only the rest is asked for */
    const struct http_fetch *extra; /* stream and progress callbacks */
};

/* Masters that restart and proxies before them answer 502 … 504 for a while: what changes nothing is asked again. Any
 * status is a success here. */
int api_fetch(struct cli *cli, const struct exchange *x, struct http_fetch_reply *reply, struct error *err);
/* Always -1: the sentence for a reply with such a status. */
int api_status_error(struct cli *cli, int status, const struct strbuf *body, struct error *err);

/* Whether an answer is a page for browsers, as the master gives none: api_status_error() tells so, of a status of success, too. */
bool api_is_page(const struct strbuf *body);

/* `request` NULL: all fields unset. */
void api_build_url(struct cli *cli, const struct route *r, const void *request, struct strbuf *url);
void api_build_body(const struct route *r, const void *request, struct strbuf *body);

/* Unless the session has a token: the stored one, the one of the task around us, or a new one. */
int api_log_in(struct cli *cli, struct session *s, struct error *err);

#endif
