#include "cli/connection/api_internal.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/cleanup.h"
#include "common/json/json.h"

/* Makes libcurl use HTTP_PROXY. On its own it reads only http_proxy, because of CGI programs; the released client
 * reads both. */
static void take_upper_case_proxy(void)
{
    const char *upper = getenv("HTTP_PROXY");
    if (upper && !getenv("http_proxy"))
        setenv("http_proxy", upper, 1);
}

int cli_session(struct cli *cli, struct session **ret, struct error *err)
{
    if (!cli->session) {
        struct session *s = arena_new(&cli->arena, struct session);
        if (trust_load(cli, &s->trust, err) < 0)
            return -1;
        take_upper_case_proxy();
        s->http = http_client_new();
        cli->session = s;
    }
    *ret = cli->session;
    return 0;
}

void session_free(struct session *s)
{
    if (s)
        http_client_free(s->http);
}

/* ---- errors for people ------------------------------------------------------------------------------------------- */

static enum error_kind kind_of_status(int status)
{
    switch (status) {
    case 400:
        return ERR_INVALID;
    case 401:
        return ERR_UNAUTHENTICATED;
    case 403:
        return ERR_FORBIDDEN;
    case 404:
        return ERR_NOT_FOUND;
    case 409:
        return ERR_CONFLICT;
    case 413:
        return ERR_TOO_LARGE;
    case 501:
        return ERR_UNIMPLEMENTED;
    case 502:
    case 503:
    case 504:
        return ERR_UNAVAILABLE;
    default:
        return ERR_INTERNAL;
    }
}

/* The page's title, after a blank and in quotes; "" if it is missing, too long, or has control characters. */
static const char *page_title(const char *page, struct arena *a)
{
    enum { TITLE_MAX = 80 };
    const char *title = strcasestr(page, "<title>");
    if (!title)
        return "";
    title += strlen("<title>");
    title += strspn(title, " \t\r\n");
    size_t n = 0;
    while (title[n] && title[n] != '<' &&
           !iscntrl((unsigned char)title[n])) /* a terminal would execute control characters */
        n++;
    return n == 0 || n > TITLE_MAX || title[n] != '<' ? "" : arena_printf(a, " \"%s\"", arena_strndup(a, title, n));
}

bool api_is_page(const struct strbuf *body)
{
    const char *text = strbuf_str(body);
    return text[strspn(text, " \t\r\n")] == '<';
}

/* The error for a page for browsers, which comes from a proxy in front of the master or from another server. NULL: the
 * body is not such a page. */
static const char *page_text(struct cli *cli, const struct strbuf *body, int status)
{
    if (!api_is_page(body))
        return NULL;
    const char *title = page_title(strbuf_str(body), &cli->arena);
    if (kind_of_status(status) == ERR_UNAVAILABLE)
        return arena_printf(
            &cli->arena,
            "a server in front of the master answers with status %d and a page for browsers%s; see whether the "
            "master is running, and try again",
            status, title);
    return arena_printf(
        &cli->arena,
        "%s answers with status %d and a page for browsers%s, as no master does; look at the address, and at "
        "the proxy in front of the master if there is one",
        cli->master, status, title);
}

/* The text of an error's body: {"error":{"error":text}}, {"message":text}, or the body of a proxy in front of the
 * master. */
const char *api_error_text(struct cli *cli, const struct strbuf *body, int status)
{
    cleanup_json struct json_object *v = NULL;
    struct json_object *inner, *text = NULL;
    if (json_parse(strbuf_str(body), body->n, &v, NULL) == 0 && json_object_is_type(v, json_type_object)) {
        if (json_object_object_get_ex(v, "error", &inner)) {
            if (!json_object_object_get_ex(inner, "error", &text))
                json_object_object_get_ex(inner, "message", &text);
        } else {
            json_object_object_get_ex(v, "message", &text);
        }
    }
    if (text)
        return arena_strdup(&cli->arena, json_object_get_string(text));
    const char *page = page_text(cli, body, status);
    if (page)
        return page;
    return body->n ? arena_strndup(&cli->arena, body->s, body->n) : arena_printf(&cli->arena, "HTTP status %d", status);
}

int api_status_error(struct cli *cli, int status, const struct strbuf *body, struct error *err)
{
    const char *text = api_error_text(cli, body, status);
    enum error_kind kind = kind_of_status(status);
    bool of_master = !api_is_page(body);
    if (kind == ERR_UNAUTHENTICATED && of_master)
        text = "Unauthenticated: please log in with 'det user login <username>'";
    else if (kind == ERR_FORBIDDEN && of_master)
        text = arena_printf(&cli->arena, "Forbidden(%s)%s", text,
                            strcmp(text, "invalid credentials") == 0 || strcmp(text, "user not found") == 0
                                ? ""
                                : ": Please contact your administrator in order to access this resource.");
    return error_set(err, kind, "Failed to %s: %s", cli->command ? cli->command->help : "reach the master", text);
}

/* ---- exchanges --------------------------------------------------------------------------------------------------- */

static int fetch_once(struct cli *cli, struct session *s, const struct exchange *x, struct http_fetch_reply *reply,
                      struct error *err)
{
    const char *header[4] = {NULL};
    size_t n = 0;
    if (x->with_token)
        header[n++] = arena_printf(&cli->arena, "Authorization: Bearer %s", s->token);
    if (x->body)
        header[n++] = "Content-Type: application/json";
    if (x->from)
        header[n++] = arena_printf(&cli->arena, "Range: bytes=%llu-", (unsigned long long)x->from);
    struct http_fetch f = {.method = x->method, .url = x->url, .header = header, .body = x->body, .body_n = x->body_n};
    f.ca_file = s->trust.ca_file;
    f.tls_name = s->trust.name;
    f.tls_skip_verify = s->trust.skip_verify;
    if (x->extra) {
        f.on_data = x->extra->on_data;
        f.on_upload = x->extra->on_upload;
        f.ctx = x->extra->ctx;
    }
    return http_fetch(s->http, &f, reply, err);
}

int api_fetch(struct cli *cli, const struct exchange *x, struct http_fetch_reply *reply, struct error *err)
{
    enum { TRIES = 5 };
    struct session *s;
    if (cli_session(cli, &s, err) < 0)
        return -1;
    int tries = x->no_retry || strcmp(x->method, "GET") != 0 ? 1 : TRIES;
    for (int try = 1;; try++) {
        if (fetch_once(cli, s, x, reply, err) < 0)
            return -1;
        if (kind_of_status(reply->status) != ERR_UNAVAILABLE || try >= tries)
            return 0;
        http_fetch_reply_release(reply);
        struct timespec pause = {.tv_sec = 1 << try >> 2, .tv_nsec = try == 1 ? 500000000 : 0}; /* 0.5, 1, 2, 4 s */
        nanosleep(&pause, NULL);
    }
}
