#include "cli/api.h"

#include <ctype.h>
#include <inttypes.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/address.h"
#include "cli/logins.h"
#include "cli/output.h"
#include "cli/terminal.h"
#include "cli/trust.h"
#include "common/clock.h"
#include "common/cleanup.h"
#include "net/http_client.h"

#define DEFAULT_USER "determined"
#define SALT "GubPEmmotfiK9TMD6Zdw"

struct session {
    struct http_client *http;
    struct trust trust;
    const char *user, *token; /* NULL until logged in */
};

static int session_of(struct cli *cli, struct session **ret, struct error *err)
{
    if (!cli->session) {
        struct session *s = arena_new(&cli->arena, struct session);
        if (trust_load(cli, &s->trust, err) < 0)
            return -1;
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

/* From struct to URL */

static bool is_path_param(const struct route *r, const struct codec_field *f)
{
    for (size_t i = 0; i < r->segment_n; i++)
        if (r->segment[i].param && (strcmp(r->segment[i].param, f->json) == 0 || strcmp(r->segment[i].param, f->snake) == 0))
            return true;
    return false;
}

/* One value as a path or a query writes it; NULL if it is zero. */
static const char *scalar_text(struct arena *a, const struct codec_field *f, const void *at)
{
    char time[CLOCK_TEXT_MAX];
    switch (f->type) {
    case CODEC_STRING: return *(const char *const *)at && **(const char *const *)at ? *(const char *const *)at : NULL;
    case CODEC_BOOL: return *(const bool *)at ? "true" : NULL;
    case CODEC_INT32: return *(const int32_t *)at ? arena_printf(a, "%" PRId32, *(const int32_t *)at) : NULL;
    case CODEC_UINT32: return *(const uint32_t *)at ? arena_printf(a, "%" PRIu32, *(const uint32_t *)at) : NULL;
    case CODEC_INT64: return *(const int64_t *)at ? arena_printf(a, "%" PRId64, *(const int64_t *)at) : NULL;
    case CODEC_ENUM: return *(const int32_t *)at ? codec_enum_name(f->enumeration, *(const int32_t *)at) : NULL;
    case CODEC_TIME:
        clock_format(*(const int64_t *)at, time);
        return arena_strdup(a, time);
    default: return NULL; /* no route that det calls has another type in its query */
    }
}

static bool field_is_set(const struct codec_field *f, const char *request)
{
    return !f->has_offset || f->flags & (CODEC_REPEATED | CODEC_MAP) || *(const bool *)(request + f->has_offset);
}

static const char *zero_text(const struct codec_field *f)
{
    return f->type == CODEC_BOOL ? "false" : f->type == CODEC_STRING ? "" : "0";
}

static void add_query(struct strbuf *url, struct arena *a, const char *name, const char *value)
{
    strbuf_addf(url, "%c%s=%s", strchr(strbuf_str(url), '?') ? '&' : '?', name, address_escape(value, a));
}

static void add_query_field(struct strbuf *url, struct arena *a, const struct codec_field *f, const char *request)
{
    if (f->flags & CODEC_REPEATED) {
        size_t n = *(const size_t *)(request + f->has_offset);
        const char *item = *(const char *const *)(request + f->offset);
        for (size_t i = 0; i < n; i++, item += f->elem_size) {
            const char *value = scalar_text(a, f, item);
            add_query(url, a, f->json, value ? value : zero_text(f));
        }
    } else if (field_is_set(f, request)) {
        const char *value = scalar_text(a, f, request + f->offset);
        if (value || (f->has_offset && f->type != CODEC_TIME))
            add_query(url, a, f->json, value ? value : zero_text(f));
    }
}

static void add_path(struct strbuf *url, struct arena *a, const struct route *r, const char *request)
{
    for (size_t i = 0; i < r->segment_n; i++) {
        const struct route_segment *s = &r->segment[i];
        strbuf_addc(url, '/');
        if (s->literal) {
            strbuf_add(url, s->literal, s->literal_n);
            continue;
        }
        const char *dot = strchr(s->param, '.'), *base = request;
        const struct codec_field *f = codec_field_by_name(r->request, s->param, dot ? (size_t)(dot - s->param) : strlen(s->param));
        if (f && dot) {
            base = *(const char *const *)(request + f->offset);
            f = codec_field_by_name(f->message, dot + 1, strlen(dot + 1));
        }
        const char *value = f && base ? scalar_text(a, f, base + f->offset) : NULL;
        strbuf_adds(url, address_escape(value ? value : "0", a));
    }
}

static void build_url(struct cli *cli, const struct route *r, const void *request, struct strbuf *url)
{
    const char *zeros = arena_alloc(&cli->arena, r->request->size ? r->request->size : 1);
    const char *from = request ? request : zeros;
    strbuf_adds(url, cli->master);
    add_path(url, &cli->arena, r, from);
    if (r->body == ROUTE_BODY_STAR)
        return;
    for (size_t i = 0; i < r->request->field_n; i++) {
        const struct codec_field *f = &r->request->field[i];
        if (!is_path_param(r, f) && (int)i != r->body_field && f->type != CODEC_MESSAGE)
            add_query_field(url, &cli->arena, f, from);
    }
}

static void build_body(const struct route *r, const void *request, struct strbuf *body)
{
    if (!request || r->body == ROUTE_BODY_NONE)
        return;
    if (r->body == ROUTE_BODY_STAR) {
        codec_encode(r->request, request, body);
        return;
    }
    const struct codec_field *f = &r->request->field[r->body_field];
    const void *value = *(const void *const *)((const char *)request + f->offset);
    if (f->type == CODEC_MESSAGE)
        codec_encode(f->message, value, body);
    else if (f->type == CODEC_STRING)
        strbuf_add_json(body, value ? value : "", value ? strlen(value) : 0);
}

/* Errors for people */

static enum error_kind kind_of_status(int status)
{
    switch (status) {
    case 400: return ERR_INVALID;
    case 401: return ERR_UNAUTHENTICATED;
    case 403: return ERR_FORBIDDEN;
    case 404: return ERR_NOT_FOUND;
    case 409: return ERR_CONFLICT;
    case 413: return ERR_TOO_LARGE;
    case 501: return ERR_UNIMPLEMENTED;
    case 502:
    case 503:
    case 504: return ERR_UNAVAILABLE;
    default: return ERR_INTERNAL;
    }
}

/* {"error":{"error":text}}, {"message":text}, or whatever stands in front of the master. */
static const char *error_text(struct cli *cli, const struct strbuf *body, int status)
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
    return body->n ? arena_strndup(&cli->arena, body->s, body->n) : arena_printf(&cli->arena, "HTTP status %d", status);
}

static int status_error(struct cli *cli, int status, const struct strbuf *body, struct error *err)
{
    const char *text = error_text(cli, body, status);
    enum error_kind kind = kind_of_status(status);
    if (kind == ERR_UNAUTHENTICATED)
        text = "Unauthenticated: please log in with 'det user login <username>'";
    else if (kind == ERR_FORBIDDEN)
        text = arena_printf(&cli->arena, "Forbidden(%s)%s", text,
                            strcmp(text, "invalid credentials") == 0 || strcmp(text, "user not found") == 0
                                ? "" : ": Please contact your administrator in order to access this resource.");
    return error_set(err, kind, "Failed to %s: %s", cli->command ? cli->command->help : "reach the master", text);
}

/* Exchanges */

struct exchange {
    const char *method, *url;
    const void *body;
    size_t body_n;
    bool with_token, no_retry;
    const struct http_fetch *extra; /* stream and progress callbacks */
};

static int fetch_once(struct cli *cli, struct session *s, const struct exchange *x, struct http_fetch_reply *reply, struct error *err)
{
    const char *header[3] = {NULL};
    size_t n = 0;
    if (x->with_token)
        header[n++] = arena_printf(&cli->arena, "Authorization: Bearer %s", s->token);
    if (x->body)
        header[n++] = "Content-Type: application/json";
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

/* Masters that restart and proxies before them answer 502 … 504 for a while: what changes nothing is asked again. */
static int fetch(struct cli *cli, const struct exchange *x, struct http_fetch_reply *reply, struct error *err)
{
    enum { TRIES = 5 };
    struct session *s;
    if (session_of(cli, &s, err) < 0)
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

/* Logging in */

const char *password_hash(struct arena *a, const char *password)
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned n = 0;
    if (!*password)
        return "";
    char *salted = arena_printf(a, SALT "%s", password);
    EVP_Digest(salted, strlen(salted), digest, &n, EVP_sha512(), NULL);
    explicit_bzero(salted, strlen(salted));
    char *hex = arena_alloc(a, PASSWORD_HASH_CHARS + 1);
    for (unsigned i = 0; i < n && i * 2 < PASSWORD_HASH_CHARS; i++)
        snprintf(hex + i * 2, 3, "%02x", digest[i]);
    return hex;
}

int password_check(const char *password, struct error *err)
{
    bool upper = false, lower = false, digit = false;
    for (const char *c = password; *c; c++) {
        upper = upper || isupper((unsigned char)*c);
        lower = lower || islower((unsigned char)*c);
        digit = digit || isdigit((unsigned char)*c);
    }
    if (strlen(password) >= 8 && upper && lower && digit)
        return 0;
    return error_set(err, ERR_INVALID, "a password needs at least 8 characters, among them an upper-case letter, a lower-case "
                     "letter and a digit");
}

int api_login(struct cli *cli, const char *user, const char *password, const char **ret_token, struct error *err)
{
    struct wire_login_request in = {.username = user, .password = password_hash(&cli->arena, password), .is_hashed = true};
    struct wire_login_response out;
    cleanup_strbuf struct strbuf body = STRBUF_INIT;
    struct http_fetch_reply reply = {0};
    codec_encode(&wire_msg_login_request, &in, &body);
    struct exchange x = {.method = "POST", .body = body.s, .body_n = body.n};
    x.url = arena_printf(&cli->arena, "%s/api/v1/auth/login", cli->master);
    if (fetch(cli, &x, &reply, err) < 0)
        return -1;
    int rc;
    if (reply.status == 401)
        rc = error_set(err, ERR_UNAUTHENTICATED, "Failed to log in: wrong user name or password for '%s'", user);
    else if (reply.status >= 300)
        rc = status_error(cli, reply.status, &reply.body, err);
    else
        rc = codec_decode(&wire_msg_login_response, strbuf_str(&reply.body), reply.body.n, &cli->arena, &out, err);
    http_fetch_reply_release(&reply);
    if (rc == 0)
        *ret_token = out.token;
    return rc;
}

static int get_with_token(struct cli *cli, const char *token, const char *method, const char *path, int *ret_status, struct error *err)
{
    struct session *s;
    struct http_fetch_reply reply = {0};
    if (session_of(cli, &s, err) < 0)
        return -1;
    const char *before = s->token;
    s->token = token;
    struct exchange x = {.method = method, .url = arena_printf(&cli->arena, "%s%s", cli->master, path), .with_token = true};
    int rc = fetch(cli, &x, &reply, err);
    s->token = before;
    if (rc == 0)
        *ret_status = reply.status;
    http_fetch_reply_release(&reply);
    return rc;
}

int api_logout(struct cli *cli, const char *token, struct error *err)
{
    int status = 0;
    return get_with_token(cli, token, "POST", "/api/v1/auth/logout", &status, err);
}

bool api_token_works(struct cli *cli, const char *token)
{
    int status = 0;
    return token && get_with_token(cli, token, "GET", "/api/v1/me", &status, NULL) == 0 && status == 200;
}

void api_use_token(struct cli *cli, const char *user, const char *token)
{
    struct session *s;
    if (session_of(cli, &s, NULL) < 0)
        return;
    s->user = user;
    s->token = token;
}

/* Who to be, and the password if it is known without asking. */
struct candidate {
    const char *user, *password;
    bool fallback; /* nobody said anything: the default user, without a password */
};

static struct candidate choose_user(struct cli *cli, const struct logins *l)
{
    const char *user = getenv("DET_USER"), *password = getenv("DET_PASS");
    if (cli->user)
        return (struct candidate){.user = cli->user};
    if (user && password)
        return (struct candidate){.user = user, .password = password};
    if (l->active_user)
        return (struct candidate){.user = l->active_user};
    return (struct candidate){.user = DEFAULT_USER, .password = "", .fallback = true};
}

/* The token in the store, if the master still takes it. */
static int use_stored_token(struct cli *cli, struct session *s, const struct logins *l, const char *user, bool *ret_done, struct error *err)
{
    const char *token = logins_token(l, user);
    int status = 0;
    *ret_done = false;
    if (!token)
        return 0;
    if (get_with_token(cli, token, "GET", "/api/v1/me", &status, err) < 0)
        return -1;
    if (status != 200)
        return logins_drop(l, user, err);
    s->user = user;
    s->token = token;
    *ret_done = true;
    return 0;
}

static int ask_and_log_in(struct cli *cli, struct session *s, const struct logins *l, struct candidate who, struct error *err)
{
    cleanup_error struct error why = ERROR_INIT;
    if (!who.password &&
        terminal_ask_password(cli, arena_printf(&cli->arena, "Password for user '%s': ", who.user), &who.password, err) < 0)
        return -1;
    if (api_login(cli, who.user, who.password, &s->token, &why) < 0) {
        if (who.fallback && (why.kind == ERR_FORBIDDEN || why.kind == ERR_UNAUTHENTICATED))
            return error_set(err, ERR_UNAUTHENTICATED, "Failed to %s: Unauthenticated: please log in with 'det user login <username>'",
                             cli->command->help);
        error_move(err, &why);
        return -1;
    }
    s->user = who.user;
    return logins_set_token(l, who.user, s->token, err);
}

static int log_in(struct cli *cli, struct session *s, struct error *err)
{
    struct logins l;
    const char *directory, *user = getenv("DET_USER"), *token = getenv("DET_USER_TOKEN");
    bool done;
    if (s->token)
        return 0;
    if (config_directory(&cli->arena, &directory, err) < 0 || logins_load(&l, directory, cli->master, &cli->arena, err) < 0)
        return -1;
    struct candidate who = choose_user(cli, &l);
    if (use_stored_token(cli, s, &l, who.user, &done, err) < 0 || done)
        return done ? 0 : -1;
    if (user && token && (!cli->user || strcmp(cli->user, user) == 0)) { /* inside a task */
        s->user = user;
        s->token = token;
        return 0;
    }
    return ask_and_log_in(cli, s, &l, who, err);
}

int api_username(struct cli *cli, const char **ret, struct error *err)
{
    struct session *s;
    if (session_of(cli, &s, err) < 0 || log_in(cli, s, err) < 0)
        return -1;
    *ret = s->user;
    return 0;
}

int api_token(struct cli *cli, const char **ret, struct error *err)
{
    struct session *s;
    if (session_of(cli, &s, err) < 0 || log_in(cli, s, err) < 0)
        return -1;
    *ret = s->token;
    return 0;
}

/* Calls */

static int call(struct cli *cli, const struct route *r, const char *url, const void *body, size_t body_n, const struct http_fetch *extra,
                struct http_fetch_reply *reply, struct error *err)
{
    struct session *s;
    if (session_of(cli, &s, err) < 0 || (!r->unauth && log_in(cli, s, err) < 0))
        return -1;
    struct exchange x = {.method = r->method, .url = url, .body = body, .body_n = body_n, .with_token = s->token != NULL, .extra = extra};
    if (fetch(cli, &x, reply, err) < 0)
        return -1;
    return reply->status < 300 ? 0 : status_error(cli, reply->status, &reply->body, err);
}

static int call_with_request(struct cli *cli, enum route_id id, const void *request, const struct http_fetch *extra,
                             struct http_fetch_reply *reply, struct error *err)
{
    cleanup_strbuf struct strbuf url = STRBUF_INIT, body = STRBUF_INIT;
    build_url(cli, &routes[id], request, &url);
    build_body(&routes[id], request, &body);
    return call(cli, &routes[id], url.s, body.n ? body.s : NULL, body.n, extra, reply, err);
}

static int decode_reply(struct cli *cli, enum route_id id, const struct http_fetch_reply *reply, void *ret, struct error *err)
{
    if (!ret)
        return 0;
    if (codec_decode(routes[id].response, strbuf_str(&reply->body), reply->body.n, &cli->arena, ret, err) < 0)
        return error_wrap(err, "the master's reply to %s", routes[id].rpc);
    return 0;
}

int api_call(struct cli *cli, enum route_id id, const void *request, void *ret, struct error *err)
{
    struct http_fetch_reply reply = {0};
    int rc = call_with_request(cli, id, request, NULL, &reply, err);
    if (rc == 0)
        rc = decode_reply(cli, id, &reply, ret, err);
    http_fetch_reply_release(&reply);
    return rc;
}

int api_call_document(struct cli *cli, enum route_id id, const void *request, struct json_object **ret, struct error *err)
{
    struct http_fetch_reply reply = {0};
    int rc = call_with_request(cli, id, request, NULL, &reply, err);
    if (rc == 0 && (rc = json_parse(strbuf_str(&reply.body), reply.body.n, ret, err)) < 0)
        error_wrap(err, "the master's reply to %s", routes[id].rpc);
    if (rc == 0)
        output_fill_absent(routes[id].response, *ret);
    http_fetch_reply_release(&reply);
    return rc;
}

static void draw_upload(size_t sent, size_t total, void *ctx) { progress_draw(ctx, sent, total); }

int api_call_body(struct cli *cli, enum route_id id, const void *body, size_t body_n, void *ret, struct error *err)
{
    enum { WORTH_A_BAR = 1 << 20 };
    struct http_fetch_reply reply = {0};
    struct progress bar = {.cli = cli, .what = "Uploading"};
    struct http_fetch extra = {.ctx = &bar, .on_upload = body_n >= WORTH_A_BAR ? draw_upload : NULL};
    const char *url = arena_printf(&cli->arena, "%s%s", cli->master, routes[id].path);
    int rc = call(cli, &routes[id], url, body, body_n, &extra, &reply, err);
    progress_end(&bar);
    if (rc == 0)
        rc = decode_reply(cli, id, &reply, ret, err);
    http_fetch_reply_release(&reply);
    return rc;
}

/* Streams: chunks of bytes in, records out. */

struct stream {
    struct cli *cli;
    struct strbuf pending;
    api_record_fn *on_record;
    void *ctx;
    struct error err; /* of a record, or the error that the stream ended with */
};

static int stream_line(struct stream *s, const char *line, size_t n)
{
    cleanup_json struct json_object *v = NULL;
    struct json_object *record;
    if (n == 0)
        return 0;
    if (json_parse(line, n, &v, &s->err) < 0)
        return error_wrap(&s->err, "a record of the stream");
    if (json_object_object_get_ex(v, "result", &record))
        return s->on_record(record, s->ctx, &s->err);
    struct strbuf text = STRBUF_INIT;
    strbuf_add(&text, line, n);
    status_error(s->cli, 500, &text, &s->err);
    strbuf_release(&text);
    return -1;
}

static int stream_data(const void *data, size_t n, void *ctx)
{
    struct stream *s = ctx;
    size_t from = 0;
    strbuf_add(&s->pending, data, n);
    for (;;) {
        const char *start = s->pending.s + from, *end = memchr(start, '\n', s->pending.n - from);
        if (!end)
            break;
        if (stream_line(s, start, (size_t)(end - start)) < 0)
            return -1;
        from += (size_t)(end - start) + 1;
    }
    strbuf_consume(&s->pending, from);
    return 0;
}

int api_stream(struct cli *cli, enum route_id id, const void *request, api_record_fn *on_record, void *ctx, bool *ret_dropped,
               struct error *err)
{
    struct stream s = {.cli = cli, .on_record = on_record, .ctx = ctx};
    struct http_fetch extra = {.on_data = stream_data, .ctx = &s};
    struct http_fetch_reply reply = {0};
    cleanup_error struct error why = ERROR_INIT;
    int rc = call_with_request(cli, id, request, &extra, &reply, &why);
    *ret_dropped = false;
    if (rc == 0 && s.pending.n)
        rc = stream_line(&s, s.pending.s, s.pending.n);
    if (s.err.kind) {
        error_move(err, &s.err);
        rc = -1;
    } else if (rc < 0) {
        *ret_dropped = why.kind == ERR_UNAVAILABLE;
        error_move(err, &why);
    }
    strbuf_release(&s.pending);
    http_fetch_reply_release(&reply);
    return rc;
}

/* The master's greeting */

static int fetch_info(struct cli *cli, struct http_fetch_reply *reply, struct error *err)
{
    struct exchange x = {.method = "GET", .url = arena_printf(&cli->arena, "%s/info", cli->master), .no_retry = true};
    return fetch(cli, &x, reply, err);
}

struct json_object *api_info(struct cli *cli)
{
    static const char *const key[] = {"cluster_id", "master_id", "version"};
    struct json_object *v = NULL;
    struct http_fetch_reply reply = {0};
    if (fetch_info(cli, &reply, NULL) == 0 && reply.status == 200 && json_parse(strbuf_str(&reply.body), reply.body.n, &v, NULL) == 0 &&
        !json_object_is_type(v, json_type_object)) {
        json_object_put(v);
        v = NULL;
    }
    http_fetch_reply_release(&reply);
    if (v)
        return v;
    v = json_object_new_object();
    for (size_t i = 0; i < sizeof(key) / sizeof(key[0]); i++)
        json_object_object_add(v, key[i], json_object_new_string(""));
    return v;
}

static const char *master_version(struct cli *cli)
{
    cleanup_json struct json_object *info = api_info(cli);
    struct json_object *version;
    return json_object_object_get_ex(info, "version", &version) && version ? arena_strdup(&cli->arena, json_object_get_string(version)) : "";
}

static bool may_ask_trust(struct cli *cli)
{
    return address_is_tls(cli->master) && cli->session && !cli->session->trust.skip_verify && !getenv("DET_MASTER_CERT_FILE");
}

int api_greet(struct cli *cli, struct error *err)
{
    const char *version = master_version(cli);
    if (!*version && may_ask_trust(cli)) {
        cleanup_error struct error why = ERROR_INIT;
        if (trust_ask(cli, &why) == 0) {
            if (trust_load(cli, &cli->session->trust, err) < 0)
                return -1;
            version = master_version(cli);
        } else if (why.kind != ERR_UNAVAILABLE) {
            error_move(err, &why);
            return -1;
        }
    }
    if (!*version)
        cli_say(cli, CLI_YELLOW, "Master not found at %s. Hint: name its address by the environment variable DET_MASTER or by '-m'.",
                cli->master);
    else if (strcmp(version, DET_VERSION) != 0)
        cli_say(cli, CLI_YELLOW, "This is det %s, the master is %s: consider to bring both to the same version.", DET_VERSION, version);
    return 0;
}
