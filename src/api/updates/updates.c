#include "api/updates/updates.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "api/pipeline/access.h"
#include "api/pipeline/author.h"
#include "api/pipeline/identity.h"
#include "api/pipeline/internal.h"
#include "api/pipeline/raw.h"
#include "api/pipeline/raw_handlers.h"
#include "api/pipeline/topics.h"
#include "api/rights/permissions.h"
#include "api/updates/update_read.h"
#include "common/base/clock.h"
#include "common/base/must.h"
#include "common/config/config.h"
#include "common/system/log.h"
#include "net/http/http.h"
#include "net/loop/pool.h"

enum {
    CHANGES_AT_ONCE = 200,
    MESSAGE_MAX = 1 << 20,  /* bytes of a message of a client */
    PENDING_MAX = 1 << 20,  /* bytes that may wait for a client, beside what it was sent when it subscribed */
    CATCH_UP_MAX = 1 << 28, /* bytes that may wait for it altogether */
    CHECK_US = 10000000,    /* how often sessions are looked at */
    PING_S = 30,
    DEAD_S = 120,
};
enum { CLOSE_POLICY = 1008, CLOSE_AGAIN = 1013 };

struct subscriber {
    LIST_ENTRY(subscriber) link;
    STAILQ_ENTRY(subscriber) turn;
    struct updates *of;
    struct ws *ws;
    char token[TOKEN_TEXT_MAX];
    uint8_t token_hash[TOKEN_HASH_BYTES];
    int32_t user_id;
    uint64_t serial;
    char *wanted; /* the client's last message, if it has not been answered yet */
    size_t wanted_n;
    bool waits;                    /* the subscriber is among those that wait for an answer to their message */
    struct arena arena;            /* of the request in force */
    struct update_request request; /* what it has subscribed to */
    bool is_live;                  /* everything up to from_seq has been sent */
    int64_t from_seq;
    size_t pending_max;
};

struct updates {
    struct api *api;
    struct topic_member changes; /* woken when a change is committed */
    LIST_HEAD(, subscriber) all;
    STAILQ_HEAD(, subscriber) waiting;
    struct subscriber *next; /* the one that is sent the changes next */
    struct read *batch;      /* changes that are being sent; NULL: none are */
    struct loop_timer *check;
    uint64_t last_serial;
    size_t n, max;
    int64_t seq;  /* the last change that everybody was told of */
    bool reading; /* a read is under way, or its changes are being sent */
    bool changed; /* there may be changes after seq */
};

/* A read of the store. */
struct read {
    struct updates *of;
    uint64_t serial;                  /* the subscriber that is brought up to date; 0: changes are read for all */
    const struct permission_set *may; /* what the subscriber's user may see; NULL: everything */
    char *wanted;
    size_t wanted_n;
    struct arena arena;
    struct update_request request;
    struct strbuf text;
    int64_t seq;
    struct update *update;
    size_t n;
    bool more;
    int rc;
    struct error err;
};

static void pump(struct updates *u);

/* ---- subscribers ------------------------------------------------------------------------------------------------- */

static struct subscriber *subscriber_of(struct updates *u, uint64_t serial)
{
    struct subscriber *s;
    LIST_FOREACH(s, &u->all, link)
        if (s->serial == serial)
            return s;
    return NULL;
}

static void on_close(struct ws *w, int code, const char *why, void *ctx)
{
    struct subscriber *s = ctx;
    struct updates *u = s->of;
    if (u->next == s)
        u->next = LIST_NEXT(s, link);
    if (s->waits)
        STAILQ_REMOVE(&u->waiting, s, subscriber, turn);
    LIST_REMOVE(s, link);
    u->n--;
    arena_release(&s->arena);
    free(s->wanted);
    free(s);
}

static void on_message(struct ws *w, const void *data, size_t n, bool is_text, void *ctx)
{
    struct subscriber *s = ctx;
    if (!is_text) {
        ws_close(w, CLOSE_POLICY, "a message must be text");
        return;
    }
    free(s->wanted);
    s->wanted = must_strndup(data, n);
    s->wanted_n = n;
    s->is_live = false; /* what it had subscribed to before no longer counts */
    if (!s->waits)
        STAILQ_INSERT_TAIL(&s->of->waiting, s, turn);
    s->waits = true;
    pump(s->of);
}

static void on_drained(struct ws *w, void *ctx)
{
    struct subscriber *s = ctx;
    s->pending_max = PENDING_MAX;
}

static void end_stream(struct subscriber *s)
{
    s->is_live = false;
    ws_close(s->ws, CLOSE_POLICY, "your session has ended: log in and connect again");
}

/* A session that ends, ends its streams. */
static void session_ended(void *ctx, const uint8_t hash[TOKEN_HASH_BYTES])
{
    struct updates *u = ctx;
    for (struct subscriber *s = LIST_FIRST(&u->all), *next; s; s = next) {
        next = LIST_NEXT(s, link);
        if (memcmp(s->token_hash, hash, TOKEN_HASH_BYTES) == 0)
            end_stream(s);
    }
}

/* Ends the streams of sessions that have ended without session_ended(): by time, for example. */
static void check_sessions(void *ctx)
{
    struct updates *u = ctx;
    int64_t now_us = clock_now_us();
    for (struct subscriber *s = LIST_FIRST(&u->all), *next; s; s = next) {
        cleanup_error struct error err = ERROR_INIT;
        struct principal who;
        next = LIST_NEXT(s, link);
        if (identities_authenticate(u->api->identities, s->token, now_us, &who, &err) < 0)
            end_stream(s);
    }
    if (u->n > 0)
        loop_timer_arm(u->check, CHECK_US);
}

/* ---- sending ----------------------------------------------------------------------------------------------------- */

static void read_free(struct read *r)
{
    permission_set_unref(r->may);
    arena_release(&r->arena);
    strbuf_release(&r->text);
    error_release(&r->err);
    free(r->wanted);
    free(r);
}

/* A user who could not see an object is not told that it is gone. If it is not known any more in which workspace the
 * object was, everybody who follows such objects is told its number. */
static const char *message_for(const struct subscriber *s, const struct permission_set *may, const struct update *u)
{
    const struct update_spec *spec = &s->request.kind[u->kind];
    int32_t now = u->now.id[UPDATE_BY_WORKSPACE], old = u->old.id[UPDATE_BY_WORKSPACE];
    if (u->seq <= s->from_seq)
        return NULL;
    if (!u->gone && update_spec_wants(spec, &u->now) && update_is_visible(may, u->kind, now))
        return u->text;
    return update_spec_wants(spec, &u->old) && (!old || update_is_visible(may, u->kind, old)) ? u->leaves : NULL;
}

static void send_changes(struct subscriber *s, const struct read *batch)
{
    const struct permission_set *may = access_permissions_of(s->of->api, s->user_id);
    for (size_t i = 0; i < batch->n; i++) {
        const char *text = message_for(s, may, &batch->update[i]);
        if (text)
            ws_send(s->ws, text, strlen(text), true);
    }
    if (ws_pending(s->ws) <= s->pending_max)
        return;
    s->is_live = false;
    log_info("stream.slow", "pending=%zu action=close", ws_pending(s->ws));
    ws_close(s->ws, CLOSE_AGAIN, "you read too slowly: connect again with what you know");
}

/* Sends changes to as many subscribers as there is time for in this turn of the loop. */
static void send_batch(void *ctx)
{
    struct updates *u = ctx;
    int64_t began_us = clock_monotonic_us();
    while (u->next && !req_turn_is_over(began_us)) {
        struct subscriber *s = u->next;
        u->next = LIST_NEXT(s, link);
        if (s->is_live)
            send_changes(s, u->batch);
    }
    if (u->next) {
        loop_post(u->api->loop, send_batch, u);
        return;
    }
    read_free(u->batch);
    u->batch = NULL;
    u->reading = false;
    pump(u);
}

static void answer(struct subscriber *s, struct read *r)
{
    if (r->rc < 0) {
        ws_close(s->ws, r->err.kind == ERR_INVALID ? CLOSE_POLICY : CLOSE_AGAIN, error_msg(&r->err));
        return;
    }
    arena_release(&s->arena);
    s->arena = r->arena;
    r->arena = (struct arena)ARENA_INIT;
    s->request = r->request;
    s->from_seq = r->seq;
    s->is_live = true;
    for (const char *p = strbuf_str(&r->text), *end; (end = strchr(p, '\n')); p = end + 1)
        ws_send(s->ws, p, (size_t)(end - p), true);
    s->pending_max = ws_pending(s->ws) + PENDING_MAX;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static void read_work(void *worker, void *job)
{
    struct read *r = job;
    if (r->serial == 0) {
        r->rc = updates_read(worker, &r->arena, &r->seq, CHANGES_AT_ONCE, &r->update, &r->n, &r->more, &r->err);
        return;
    }
    r->rc = update_request_read(r->wanted, r->wanted_n, &r->arena, &r->request, &r->err);
    if (r->rc == 0)
        r->rc = updates_catch_up(worker, &r->arena, &r->request, r->may, &r->text, &r->seq, &r->err);
}

static void changes_read(struct updates *u, struct read *r)
{
    if (r->rc < 0) {
        log_warning("stream.read_failed", "reason=%s action=close_all", log_quote(error_msg(&r->err)));
        for (struct subscriber *s = LIST_FIRST(&u->all), *next; s; s = next) {
            next = LIST_NEXT(s, link);
            ws_close(s->ws, CLOSE_AGAIN, "the store cannot be read now: connect again");
        }
        u->reading = false;
        read_free(r);
        return;
    }
    u->seq = r->seq;
    u->changed |= r->more;
    u->batch = r;
    u->next = LIST_FIRST(&u->all);
    send_batch(u);
}

static void read_done(void *job)
{
    struct read *r = job;
    struct updates *u = r->of;
    if (r->serial == 0) {
        changes_read(u, r);
        return;
    }
    struct subscriber *s = subscriber_of(u, r->serial);
    if (r->rc == 0 && u->seq < 0)
        u->seq = r->seq; /* the first subscriber: nobody wants to know of what was before */
    /* The client may have sent another message meanwhile; then that one is answered instead. */
    if (s && !s->wanted)
        answer(s, r);
    read_free(r);
    u->reading = false;
    pump(u);
}

static struct read *next_read(struct updates *u)
{
    struct subscriber *s = STAILQ_FIRST(&u->waiting);
    struct read *r = must_calloc(1, sizeof(*r));
    *r = (struct read){.of = u, .seq = u->seq};
    if (u->changed && u->seq >= 0) {
        u->changed = false;
        return r;
    }
    STAILQ_REMOVE_HEAD(&u->waiting, turn);
    s->waits = false;
    r->serial = s->serial;
    r->may = permission_set_ref(access_permissions_of(u->api, s->user_id));
    r->wanted = s->wanted;
    r->wanted_n = s->wanted_n;
    s->wanted = NULL;
    return r;
}

/* Begins the next read, if there is something to read and no read is under way. */
static void pump(struct updates *u)
{
    cleanup_error struct error err = ERROR_INIT;
    if (u->n == 0) {
        u->seq = -1;
        return;
    }
    if (u->reading || (STAILQ_EMPTY(&u->waiting) && !(u->changed && u->seq >= 0)))
        return;
    struct read *r = next_read(u);
    u->reading = true;
    if (pool_submit(u->api->services.readers, read_work, read_done, r, &err) == 0)
        return;
    r->rc = -1;
    error_move(&r->err, &err);
    read_done(r);
}

static void on_change(struct topic_member *m)
{
    struct updates *u = (struct updates *)((char *)m - offsetof(struct updates, changes));
    u->changed = true;
    pump(u);
}

/* ---- the route --------------------------------------------------------------------------------------------------- */

/* The token with which the request was authenticated: its header, or a browser's cookie. */
static const char *token_of(struct req *r)
{
    const char *token = req_bearer(r);
    return token ? token : http_request_cookie(r->http, "auth");
}

int raw_stream(struct req *r, struct core *core, struct error *err)
{
    struct updates *u = r->api->updates;
    const char *token = token_of(r);
    if (u->n >= u->max)
        return error_set(err, ERR_UNAVAILABLE,
                         "there are %zu subscribers to updates already, which is the limit (the master's "
                         "limits.stream_subscribers)",
                         u->max);
    struct subscriber *s = must_calloc(1, sizeof(*s));
    struct ws_handler handler = {.on_message = on_message,
                                 .on_drained = on_drained,
                                 .on_close = on_close,
                                 .ctx = s,
                                 .message_max = MESSAGE_MAX,
                                 .pending_max = CATCH_UP_MAX,
                                 .ping_s = PING_S,
                                 .dead_s = DEAD_S};
    *s =
        (struct subscriber){.of = u, .serial = ++u->last_serial, .user_id = r->who.user_id, .pending_max = PENDING_MAX};
    snprintf(s->token, sizeof(s->token), "%s", token ? token : "");
    token_hash(s->token, s->token_hash);
    struct http_request *http = r->http;
    r->http = NULL;
    http_request_set_ctx(http, NULL, NULL);
    if (http_upgrade_ws(http, &handler, &s->ws, err) < 0) {
        r->http = http; /* the request has yet to be answered */
        free(s);
        return -1;
    }
    LIST_INSERT_HEAD(&u->all, s, link);
    if (u->n++ == 0)
        loop_timer_arm(u->check, CHECK_US);
    return 0; /* the connection is a WebSocket now; no HTTP reply is sent */
}

struct updates *updates_new(struct api *a)
{
    struct updates *u = must_calloc(1, sizeof(*u));
    *u = (struct updates){.api = a,
                          .seq = -1,
                          .max = a->info.config ? (size_t)config_int(a->info.config, "limits.stream_subscribers") : 0};
    STAILQ_INIT(&u->waiting);
    u->changes.wake = on_change;
    topic_join(a->topics, CHANGES_TOPIC, &u->changes);
    u->check = loop_timer_new(a->loop, check_sessions, u);
    identities_on_end(a->identities, session_ended, u);
    return u;
}

void updates_free(struct updates *u)
{
    if (!u)
        return;
    identities_on_end(u->api->identities, NULL, NULL);
    topic_leave(u->api->topics, &u->changes);
    loop_timer_free(u->check);
    if (u->batch)
        read_free(u->batch);
    free(u);
}
