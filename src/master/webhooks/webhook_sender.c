#include "master/webhooks/webhook_sender.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "api/webhooks/webhook_events.h"
#include "api/webhooks/webhook_payload.h"
#include "api/webhooks/webhook_signature.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/must.h"
#include "common/config/public_address.h"
#include "common/system/log.h"
#include "common/system/random.h"
#include "master/commands/data_dir.h"
#include "master/master.h"
#include "net/client/outbound.h"
#include "store/functions.h"

enum { THREADS = 8, DUE_MAX = 64, TRIES_MAX = 10, TIMEOUT_S = 10, QUEUE_MAX = 64, KEY_MAX = 256 };
#define LOOK_AGAIN_US 1000000ll /* after a failure to read or to write the queue */

struct webhook_sender {
    struct master *m;
    struct pool *threads;
    struct loop_timer *timer;
    bool looking, again;
    atomic_bool stopping;
    int32_t in_flight[THREADS]; /* the webhooks to which a message is on its way; 0: a free place */
    /* The messages whose outcome was recorded while a reader looks for what is due: it may have seen them as due still.
     * None is sent anew while it looks, so that there are THREADS at most. */
    int64_t finished[THREADS];
    int finished_n;
    struct webhook_stats stats;
    char key[KEY_MAX];
    struct address_range *allowed;
    size_t allowed_n;
};

/* A message on its way. */
struct sending {
    struct webhook_sender *of;
    struct store_webhook_delivery row; /* texts belong to this struct; id 0: the test button's */
    bool is_signed;
    bool delivered, again;
    int64_t next_us;
    struct error failed;
    void (*done)(void *ctx, const struct error *err); /* of the test button */
    void *ctx;
};

static void look(struct webhook_sender *s);

/* ---- on a thread that may wait for the network ------------------------------------------------------------------- */

static bool may_connect(const struct address *a, void *ctx)
{
    const struct webhook_sender *s = ctx;
    for (size_t i = 0; i < s->allowed_n; i++)
        if (address_range_holds(&s->allowed[i], a))
            return true;
    return address_is_public(a);
}

int64_t webhook_pause_us(int32_t tries, uint32_t random)
{
    static const int64_t longest_s = 600;
    int64_t pause_s = 1;
    for (int32_t i = 0; i < tries && pause_s < longest_s; i++)
        pause_s *= 4;
    pause_s = pause_s < longest_s ? pause_s : longest_s;
    return pause_s * 500000 + (int64_t)(random % 1000) * pause_s * 1000; /* half of it to one and a half of it */
}

static bool may_pass(int status) /* whether another attempt may succeed */
{
    return status >= 500 || status == 408 || status == 429;
}

static int post(const struct sending *x, int *ret_status, struct error *err)
{
    int64_t now_s = clock_now_us() / 1000000;
    char signature[WEBHOOK_SIGNATURE_MAX], sent_at[80], sent_signature[160];
    webhook_sign(x->of->key, now_s, x->row.body, signature);
    snprintf(sent_at, sizeof(sent_at), "X-Determined-AI-Signature-Timestamp: %lld", (long long)now_s);
    snprintf(sent_signature, sizeof(sent_signature), "X-Determined-AI-Signature: %s", signature);
    const char *const header[] = {"Content-Type: application/json; charset=UTF-8",
                                  "Expect:", x->is_signed ? sent_at : NULL, sent_signature, NULL};
    const struct outbound_post p = {.url = x->row.url,
                                    .header = header,
                                    .body = x->row.body,
                                    .body_n = strlen(x->row.body),
                                    .timeout_s = TIMEOUT_S,
                                    .may_connect = may_connect,
                                    .ctx = x->of,
                                    .abandoned = &x->of->stopping};
    return outbound_post(&p, ret_status, err);
}

static void send_one(void *worker, void *job)
{
    struct sending *x = job;
    int status;
    if (post(x, &status, &x->failed) < 0) {
        x->again = x->failed.kind != ERR_FORBIDDEN;
        return;
    }
    x->delivered = status < 400;
    x->again = may_pass(status);
    if (!x->delivered)
        error_set(&x->failed, ERR_INVALID, "the receiver answered with HTTP status %d", status);
}

/* ---- the outcome ------------------------------------------------------------------------------------------------- */

static void sending_free(struct sending *x)
{
    error_release(&x->failed);
    free((char *)x->row.url);
    free((char *)x->row.body);
    free(x);
}

static int record(struct store *db, void *job, struct error *err)
{
    const struct sending *x = job;
    return x->next_us ? store_webhook_delivery_later(db, x->row.id, x->next_us, err)
                      : store_webhook_delivery_done(db, x->row.id, err);
}

static void forget(struct webhook_sender *s, const struct store_webhook_delivery *row)
{
    for (int i = 0; i < THREADS; i++)
        if (s->in_flight[i] == row->webhook_id)
            s->in_flight[i] = 0;
    if (s->looking && s->finished_n < THREADS)
        s->finished[s->finished_n++] = row->id;
}

static bool has_finished(const struct webhook_sender *s, int64_t id)
{
    for (int i = 0; i < s->finished_n; i++)
        if (s->finished[i] == id)
            return true;
    return false;
}

static void recorded(void *job, const struct error *err)
{
    struct sending *x = job;
    struct webhook_sender *s = x->of;
    forget(s, &x->row);
    if (err) {
        log_warning("webhook.not_recorded", "webhook=%d reason=%s action=sent_again", x->row.webhook_id,
                    log_quote(error_msg(err)));
        loop_timer_arm(s->timer, LOOK_AGAIN_US);
    } else {
        look(s);
    }
    sending_free(x);
}

/* Decides what becomes of the message, and says it. The address is not in the log, since it may be a secret. */
static void judge(struct sending *x)
{
    struct webhook_sender *s = x->of;
    int32_t tries = x->row.tries + 1;
    uint32_t random = 0;
    if (x->delivered) {
        s->stats.delivered++;
        log_debug("webhook.delivered", "webhook=%d tries=%d", x->row.webhook_id, tries);
        return;
    }
    if (!x->again || tries >= TRIES_MAX) {
        s->stats.given_up++;
        log_warning("webhook.given_up", "webhook=%d tries=%d reason=%s", x->row.webhook_id, tries,
                    log_quote(error_msg(&x->failed)));
        return;
    }
    random_bytes(&random, sizeof(random), NULL); /* without them the pause is the shortest one */
    int64_t pause_us = webhook_pause_us(x->row.tries, random);
    s->stats.failed++;
    x->next_us = clock_now_us() + pause_us;
    log_info("webhook.failed", "webhook=%d tries=%d/%d again_in_ms=%lld reason=%s", x->row.webhook_id, tries, TRIES_MAX,
             (long long)(pause_us / 1000), log_quote(error_msg(&x->failed)));
}

static void sent(void *job)
{
    struct sending *x = job;
    struct webhook_sender *s = x->of;
    if (atomic_load(&s->stopping) && !x->delivered) { /* the message was not given its time; the next master sends it */
        sending_free(x);
        return;
    }
    judge(x);
    struct writer_job write = {record, recorded, x};
    writer_submit(s->m->writer, &write, 1);
}

/* ---- what is due ------------------------------------------------------------------------------------------------- */

struct due {
    struct webhook_sender *of;
    struct arena arena;
    struct store_webhook_delivery *row;
    size_t n;
    int64_t next_us;
    struct error failed;
};

static void read_due(void *worker, void *job)
{
    struct due *d = job;
    int64_t now_us = clock_now_us();
    if (store_webhook_deliveries_due(worker, now_us, DUE_MAX, &d->arena, &d->row, &d->n, &d->failed) == 0)
        store_webhook_deliveries_next(worker, now_us, &d->next_us, &d->failed);
}

/* The place for a message to this webhook; NULL if one is on its way already, or if all threads are busy. */
static int32_t *place_for(struct webhook_sender *s, int32_t webhook_id)
{
    int32_t *free_place = NULL;
    for (int i = 0; i < THREADS; i++) {
        if (s->in_flight[i] == webhook_id)
            return NULL;
        if (s->in_flight[i] == 0)
            free_place = &s->in_flight[i];
    }
    return free_place;
}

static void start_sending(struct webhook_sender *s, const struct store_webhook_delivery *row)
{
    cleanup_error struct error err = ERROR_INIT;
    int32_t *place = place_for(s, row->webhook_id);
    if (!place)
        return;
    struct sending *x = must_calloc(1, sizeof(*x));
    *x = (struct sending){.of = s, .row = *row, .is_signed = true, .failed = ERROR_INIT};
    x->row.url = must_strdup(row->url);
    x->row.body = must_strdup(row->body);
    if (pool_submit(s->threads, send_one, sent, x, &err) < 0) {
        loop_timer_arm(s->timer, LOOK_AGAIN_US);
        sending_free(x);
        return;
    }
    *place = row->webhook_id;
}

static void due_read(void *job)
{
    struct due *d = job;
    struct webhook_sender *s = d->of;
    bool stopping = atomic_load(&s->stopping);
    s->looking = false;
    if (d->failed.kind)
        log_warning("webhook.queue_unknown", "reason=%s action=look_again", log_quote(error_msg(&d->failed)));
    for (size_t i = 0; i < d->n && !stopping; i++)
        if (!has_finished(s, d->row[i].id))
            start_sending(s, &d->row[i]);
    if (!stopping && (d->failed.kind || d->next_us)) {
        int64_t wait_us = d->failed.kind ? LOOK_AGAIN_US : d->next_us - clock_now_us();
        loop_timer_arm(s->timer, wait_us > 0 ? wait_us : 0);
    }
    if (!stopping && s->again)
        look(s);
    error_release(&d->failed);
    arena_release(&d->arena);
    free(d);
}

static void look(struct webhook_sender *s)
{
    cleanup_error struct error err = ERROR_INIT;
    if (atomic_load(&s->stopping))
        return;
    if (s->looking) {
        s->again = true;
        return;
    }
    struct due *d = must_calloc(1, sizeof(*d));
    *d = (struct due){.of = s, .arena = ARENA_INIT, .failed = ERROR_INIT};
    s->again = false;
    s->finished_n = 0;
    s->looking = pool_submit(s->m->readers, read_due, due_read, d, &err) == 0;
    if (s->looking)
        return;
    loop_timer_arm(s->timer, LOOK_AGAIN_US); /* the readers have too much to do */
    free(d);
}

static void on_time(void *ctx)
{
    look(ctx);
}

void webhook_sender_wake(struct webhook_sender *s)
{
    if (s)
        look(s);
}

/* ---- the test button --------------------------------------------------------------------------------------------- */

static void test_sent(void *job)
{
    struct sending *x = job;
    cleanup_error struct error err = ERROR_INIT;
    if (!x->delivered) /* whatever the reason is, it is in what the request names */
        error_set(&err, ERR_INVALID, "webhook test failed: %s", error_msg(&x->failed));
    x->done(x->ctx, x->delivered ? NULL : &err);
    sending_free(x);
}

int webhook_sender_test(struct webhook_sender *s, const char *url, bool slack,
                        void (*done)(void *ctx, const struct error *err), void *ctx, struct error *err)
{
    cleanup_strbuf struct strbuf body = STRBUF_INIT;
    char event_id[UUID_TEXT_MAX];
    if (random_uuid(event_id, err) < 0)
        return -1;
    webhook_payload_test(slack, event_id, clock_now_us(), &body);
    struct sending *x = must_calloc(1, sizeof(*x));
    *x = (struct sending){.of = s, .is_signed = !slack, .failed = ERROR_INIT, .done = done, .ctx = ctx};
    x->row.url = must_strdup(url);
    x->row.body = must_strdup(strbuf_str(&body));
    if (pool_submit(s->threads, send_one, test_sent, x, err) == 0)
        return 0;
    sending_free(x);
    return -1;
}

/* ---- beginning and end ------------------------------------------------------------------------------------------- */

static void read_allowed(struct webhook_sender *s, const struct config *c)
{
    struct json_object *list = config_get(c, "webhooks.allowed_addresses");
    size_t n = list ? json_object_array_length(list) : 0;
    s->allowed = must_calloc(n + 1, sizeof(*s->allowed));
    for (size_t i = 0; i < n; i++) /* the configuration was checked when it was read */
        if (address_range_parse(json_object_get_string(json_object_array_get_idx(list, i)), &s->allowed[s->allowed_n],
                                NULL) == 0)
            s->allowed_n++;
}

int webhook_sender_new(struct master *m, struct webhook_sender **ret, struct error *err)
{
    const struct pool_options threads = {.name = "det-webhook", .threads = THREADS, .queue_max = QUEUE_MAX};
    struct webhook_sender *s = must_calloc(1, sizeof(*s));
    s->m = m;
    if (data_dir_secret(m->config, "webhooks.signing_key", DATA_DIR_WEBHOOKS_KEY, s->key, KEY_MAX, err) < 0 ||
        pool_new(m->loop, &threads, &s->threads, err) < 0) {
        free(s);
        return -1;
    }
    read_allowed(s, m->config);
    s->timer = loop_timer_new(m->loop, on_time, s);
    *ret = s;
    look(s);
    return 0;
}

void webhook_sender_stop(struct webhook_sender *s)
{
    if (!s)
        return;
    atomic_store(&s->stopping, true);
    loop_timer_disarm(s->timer);
}

bool webhook_sender_is_idle(const struct webhook_sender *s)
{
    return !s || (!s->looking && pool_is_idle(s->threads));
}

void webhook_sender_free(struct webhook_sender *s)
{
    if (!s)
        return;
    pool_free(s->threads);
    loop_timer_free(s->timer);
    free(s->allowed);
    free(s);
}

struct webhook_stats webhook_stats(const struct webhook_sender *s)
{
    return s ? s->stats : (struct webhook_stats){0};
}
