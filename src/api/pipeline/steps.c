/* Runs the steps of a request and ends it. Each step runs on its thread (handler.h). When the last step has
 * finished, the reply is encoded: at once if that step ran on a worker's thread. It is sent from the loop, after the
 * commit of what the request wrote. */
#include "api/pipeline/request_run.h"

#include <stdlib.h>
#include <string.h>

#include "api/pipeline/access.h"
#include "api/pipeline/author.h"
#include "api/pipeline/internal.h"
#include "api/pipeline/topics.h"
#include "api/rights/permissions.h"
#include "common/base/clock.h"
#include "common/system/log.h"
#include "net/http/http.h"
#include "net/loop/loop.h"
#include "net/loop/pool.h"
#include "store/changes/changes.h"

/* ---- ending a request -------------------------------------------------------------------------------------------- */

void req_drop(struct req *r)
{
    if (r->on_end)
        r->on_end(r);
    permission_set_unref(r->may);
    free(r->run->body);
    error_release(&r->run->err);
    free(r->run);
    strbuf_release(&r->reply.body);
    arena_release(&r->arena);
    free(r);
}

void req_error_body(const struct error *err, enum req_error_form form, struct strbuf *out)
{
    static const char *const opening[] = {[REQ_ERROR_RPC] = ",\"error\":", [REQ_ERROR_STREAM] = ",\"message\":"};
    if (form == REQ_ERROR_RPC)
        strbuf_addf(out, "{\"error\":{\"code\":%d,\"reason\":\"%s\"", error_rpc_code(err->kind),
                    error_rpc_name(err->kind));
    else if (form == REQ_ERROR_STREAM)
        strbuf_addf(out, "{\"error\":{\"grpcCode\":%d,\"httpCode\":%d", error_rpc_code(err->kind),
                    error_http_status(err->kind));
    strbuf_adds(out, form == REQ_ERROR_RAW ? "{\"message\":" : opening[form]);
    strbuf_add_json(out, error_msg(err), strlen(error_msg(err)));
    if (form == REQ_ERROR_STREAM)
        strbuf_addf(out, ",\"httpStatus\":\"%s\",\"details\":[]", error_http_text(err->kind));
    strbuf_adds(out, form == REQ_ERROR_RAW ? "}\n" : "}}\n");
}

static enum req_error_form error_form(const struct req *r)
{
    if (r->route)
        return r->route->stream ? REQ_ERROR_STREAM : REQ_ERROR_RPC;
    return r->run->match.is_rpc_path ? REQ_ERROR_RPC : REQ_ERROR_RAW;
}

/* FNV-1a, 64 bits, eight bytes at a time: a tag tells whether a reply has changed, and protects nothing. */
static uint64_t hash_of(const char *s, size_t n)
{
    uint64_t hash = 0xcbf29ce484222325, word;
    for (; n >= sizeof(word); s += sizeof(word), n -= sizeof(word)) {
        memcpy(&word, s, sizeof(word));
        hash = (hash ^ word) * 0x100000001b3;
        hash ^= hash >> 32;
    }
    for (; n > 0; s++, n--)
        hash = (hash ^ (unsigned char)*s) * 0x100000001b3;
    return hash;
}

/* A client that polls shows the tag of the last reply; if the reply is still the same, it gets 304 without a body.
 * Other clients get no tag, and cost nothing. */
static void tag_reply(struct req *r)
{
    const char *known = r->run->known_tag;
    if (!known || r->run->rc < 0 || (r->reply.status && r->reply.status != 200))
        return;
    const char *tag = arena_printf(&r->arena, "\"%016llx-%zx\"",
                                   (unsigned long long)hash_of(strbuf_str(&r->reply.body), r->reply.body.n),
                                   r->reply.body.n);
    req_add_header(r, "ETag", tag);
    req_add_header(r, "Cache-Control", "private, no-cache");
    if (!http_tag_matches(known, tag))
        return;
    r->reply.status = 304;
    strbuf_reset(&r->reply.body);
}

/* With roles, an object that may not be seen is answered like one that does not exist. */
static void mention_permissions(struct req *r)
{
    cleanup_error struct error longer = ERROR_INIT;
    const char *said = error_msg(&r->run->err), *end = " not found";
    if (!r->api->by_roles || r->run->err.kind != ERR_NOT_FOUND || r->who.kind == PRINCIPAL_NONE ||
        strlen(said) < strlen(end) || strcmp(said + strlen(said) - strlen(end), end) != 0)
        return;
    error_set(&longer, ERR_NOT_FOUND, "%s, please check your permissions.", said);
    error_move(&r->run->err, &longer);
}

/* Makes the reply's bytes from the response struct. Runs on the thread of the last step. */
static void encode_reply(struct req *r)
{
    struct req_run *run = r->run;
    if (run->encoded)
        return;
    run->encoded = true;
    if (run->rc == 0 && access_check_asked(r, &run->err) < 0)
        run->rc = -1;
    if (run->rc < 0) {
        mention_permissions(r);
        strbuf_reset(&r->reply.body);
        r->reply.status = error_http_status(run->err.kind);
        r->reply.content_type = NULL;
        if (r->error_page)
            r->error_page(r, &run->err);
        else
            req_error_body(&run->err, error_form(r), &r->reply.body);
    } else if (r->route) {
        codec_encode(r->route->response, r->ret, &r->reply.body);
        tag_reply(r);
    }
}

void req_encoded(struct req *r)
{
    r->run->encoded = true;
    tag_reply(r);
}

static void send_reply(void *arg)
{
    struct req *r = arg;
    struct http_request *http = r->http;
    if (r->run->author)
        topics_wake(r->api->topics, CHANGES_TOPIC);
    if (http) {
        r->http = NULL;
        http_request_set_ctx(http, NULL, NULL);
        if (r->run->err.kind == ERR_UNAVAILABLE || r->run->err.kind == ERR_NO_MEMORY)
            http_add_header(http, "Retry-After", "1");
        for (size_t i = 0; i < REPLY_HEADERS_MAX && r->reply.header[i][0]; i++)
            http_add_header(http, r->reply.header[i][0], r->reply.header[i][1]);
        size_t n = r->reply.body.n;
        http_reply_take(http, r->reply.status ? r->reply.status : 200,
                        r->reply.content_type ? r->reply.content_type : "application/json",
                        strbuf_detach(&r->reply.body), n);
    }
    req_drop(r);
}

static void end_request(struct req *r)
{
    encode_reply(r);
    if (r->run->rc == 0)
        access_log_change(r);
    if (r->run->rc < 0 && r->run->err.kind == ERR_INTERNAL)
        log_error("api.internal", "route=%s reason=%s", r->route ? r->route->rpc : "raw",
                  log_quote(error_msg(&r->run->err)));
    if (r->run->ticket)
        r->api->services.when_committed(r->api->services.ctx, r->run->ticket, send_reply, r);
    else
        send_reply(r);
}

void req_fail(struct req *r, struct error *err)
{
    r->run->rc = -1;
    error_move(&r->run->err, err);
    end_request(r);
}

/* ---- running a step ---------------------------------------------------------------------------------------------- */

static struct req_step take_step(struct req *r)
{
    struct req_step step = r->run->next;
    r->run->next = (struct req_step){.place = REQ_NOWHERE};
    return step;
}

/* Runs on the step's own thread: encodes the reply if that was the last step. */
static void after_step_off_loop(struct req *r)
{
    if (r->run->rc <= 0)
        encode_reply(r);
}

static void after_step(struct req *r)
{
    if (r->run->rc <= 0)
        end_request(r);
    else if (r->run->next.place)
        req_run_step(r);
    /* otherwise the request waits or streams, and somebody will finish it */
}

static void read_work(void *worker, void *job)
{
    struct req *r = job;
    r->run->rc = take_step(r).store(r, worker, &r->run->err);
    after_step_off_loop(r);
}

static void work_work(void *worker, void *job)
{
    struct req *r = job;
    r->run->rc = take_step(r).work(r, &r->run->err);
    after_step_off_loop(r);
}

static void pool_done(void *job)
{
    after_step(job);
}

static int write_work(struct store *db, void *job, struct error *err)
{
    struct req *r = job;
    take_step(r);
    r->state = r->run->write_state;
    r->run->rc = store_act_as(db, r->run->author, err);
    if (r->run->rc == 0)
        r->run->rc = r->run->write_step(r, db, err);
    if (store_act_as(db, NULL, r->run->rc < 0 ? NULL : err) < 0)
        r->run->rc = -1;
    return r->run->rc < 0 ? -1 : 0;
}

static void write_done(void *job, const struct error *err)
{
    struct req *r = job;
    if (err) {
        r->run->rc = -1;
        error_copy(&r->run->err, err);
    }
    after_step(r);
}

static void run_on_loop(struct req *r)
{
    const struct api_services *s = &r->api->services;
    struct req_step step = take_step(r);
    uint64_t before = s->ticket(s->ctx);
    struct req *running =
        r->api->running; /* a step may wake a request that has waited, whose step then runs within it */
    r->api->running = r;
    r->run->rc = step.loop(r, r->api->live->core, &r->run->err);
    r->api->running = running;
    uint64_t after = s->ticket(s->ctx);
    if (after != before)
        r->run->ticket = after;
    after_step(r);
}

static void run_later(void *ctx)
{
    struct req *r = ctx;
    r->api->next_turn_n--;
    run_on_loop(r);
}

bool api_is_idle(const struct api *a)
{
    return a->next_turn_n == 0;
}

void req_run_step(struct req *r)
{
    cleanup_error struct error err = ERROR_INIT;
    const struct api_services *s = &r->api->services;
    enum req_place place = r->run->next.place;
    switch (place) {
    case REQ_NOWHERE:
        return;
    case REQ_LOOP:
        run_on_loop(r);
        return;
    case REQ_NEXT_TURN:
        r->api->next_turn_n++;
        loop_post(r->api->loop, run_later, r);
        return;
    case REQ_WRITE:
        r->run->write_step = r->run->next.store;
        r->run->write_state = r->state;
        req_author(r);
        s->submit_write(s->ctx, write_work, write_done, r);
        return;
    case REQ_READ:
    case REQ_LOOKUP:
        if (pool_submit(place == REQ_READ ? s->readers : s->lookups, read_work, pool_done, r, &err) < 0)
            req_fail(r, &err);
        return;
    case REQ_PASSWORD:
        if (pool_submit(s->passwords, read_work, pool_done, r, &err) < 0)
            req_fail(r, &err);
        return;
    case REQ_DIRECTORY:
        if (pool_submit(s->directory, work_work, pool_done, r, &err) < 0)
            req_fail(r, &err);
        return;
    case REQ_WORK:
    case REQ_TRANSFER:
        if (pool_submit(place == REQ_WORK ? s->workers : s->transfers, work_work, pool_done, r, &err) < 0)
            req_fail(r, &err);
        return;
    }
}

int req_go(struct req *r, struct req_step step)
{
    r->run->next = step;
    return REQ_CONTINUES;
}

int req_then_loop(struct req *r, req_loop_fn *step)
{
    return req_go(r, (struct req_step){REQ_LOOP, .loop = step});
}
int req_then_next_turn(struct req *r, req_loop_fn *step)
{
    return req_go(r, (struct req_step){REQ_NEXT_TURN, .loop = step});
}
int req_then_read(struct req *r, req_store_fn *step)
{
    return req_go(r, (struct req_step){REQ_READ, .store = step});
}
int req_then_lookup(struct req *r, req_store_fn *step)
{
    return req_go(r, (struct req_step){REQ_LOOKUP, .store = step});
}
int req_then_write(struct req *r, req_store_fn *step)
{
    return req_go(r, (struct req_step){REQ_WRITE, .store = step});
}
int req_then_work(struct req *r, req_work_fn *step)
{
    return req_go(r, (struct req_step){REQ_WORK, .work = step});
}
int req_then_transfer(struct req *r, req_work_fn *step)
{
    return req_go(r, (struct req_step){REQ_TRANSFER, .work = step});
}

bool req_turn_is_over(int64_t began_us)
{
    enum { TURN_US = 2000 };
    return clock_monotonic_us() - began_us >= TURN_US;
}

int req_wait(struct req *r, void (*on_gone)(struct req *r))
{
    loop_assert();
    r->run->waiting = true;
    r->run->on_gone = on_gone;
    return REQ_CONTINUES;
}

void req_finish(struct req *r, struct error *err)
{
    loop_assert();
    r->run->waiting = false;
    r->run->rc = err && err->kind ? -1 : 0;
    if (r->run->rc < 0)
        error_move(&r->run->err, err);
    end_request(r);
}

void req_resume(struct req *r, struct req_step step)
{
    loop_assert();
    r->run->waiting = false;
    req_go(r, step);
    req_run_step(r);
}

void req_resume_loop(struct req *r, req_loop_fn *step)
{
    req_resume(r, (struct req_step){REQ_LOOP, .loop = step});
}
void req_resume_read(struct req *r, req_store_fn *step)
{
    req_resume(r, (struct req_step){REQ_READ, .store = step});
}
void req_resume_write(struct req *r, req_store_fn *step)
{
    req_resume(r, (struct req_step){REQ_WRITE, .store = step});
}
