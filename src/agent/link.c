#include "agent/link.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "agent/credentials.h"
#include "agent/own_certificate.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/must.h"
#include "common/base/percent.h"
#include "common/base/strbuf.h"
#include "common/codec/codec.h"
#include "common/system/files.h"
#include "common/system/log.h"
#include "net/http/http.h"
#include "net/websocket/ws.h"

#define LINK_PROTOCOL 1
#define MESSAGE_MAX (64 * 1024 * 1024)
#define BACKOFF_FIRST_US 100000
#define PINGS 4 /* within the time after which a silent master's connection counts as broken */
#define UNAUTHENTICATED 401
#define FORBIDDEN 403
#define CONFLICT 409
#define SILENCE_S 60 /* that time, until a master has said how long it is */
#define SILENCE_MAX_S 3600
/* after a request for a certificate that came to nothing, and the longest time without a look at the certificate */
#define CERTIFICATE_AGAIN_US (INT64_C(600) * 1000000)

struct link {
    struct loop *loop;
    const struct agent_config *config;
    struct link_handler handler;
    struct ws *ws; /* NULL while down */
    bool up, opened;
    struct loop_timer *retry;
    int silence_s; /* after so long without a word the connection counts as broken; the master's setting */
    int64_t backoff_us;
    int failures;  /* in a row */
    int64_t epoch; /* highest epoch of this cluster that was seen */
    char cluster_id[80], master_id[80];
    struct strbuf out; /* reused for each message */
    struct credentials credentials;
    struct own_certificate certificate;
    struct loop_timer *renewal; /* armed while the master gives certificates */
    char other_version[64];     /* of the master that the log has named; "" as long as it is this agent's */
    bool waits;                 /* the last answer was that an admin has yet to accept this agent */
};

/* ---- the epoch file: "<cluster id> <epoch>" ---------------------------------------------------------------------- */

static void load_epoch(struct link *k)
{
    cleanup_free char *path = path_join(k->config->run_root, "epoch");
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    if (file_read(path, 256, &text, NULL) == 0 &&
        sscanf(strbuf_str(&text), "%79s %" SCNd64, k->cluster_id, &k->epoch) != 2)
        k->cluster_id[0] = 0;
}

static void save_epoch(struct link *k)
{
    char text[128];
    cleanup_free char *path = path_join(k->config->run_root, "epoch");
    cleanup_error struct error err = ERROR_INIT;
    int n = snprintf(text, sizeof(text), "%s %" PRId64 "\n", k->cluster_id, k->epoch);
    if (file_write(path, text, (size_t)n, 0600, &err) < 0)
        log_warning("agent.epoch_not_saved", "error=%s", log_quote(error_msg(&err)));
}

/* ---- connecting -------------------------------------------------------------------------------------------------- */

static void on_open(struct ws *w, void *ctx);
static void on_message(struct ws *w, const void *data, size_t n, bool is_text, void *ctx);
static void on_drained(struct ws *w, void *ctx);
static void on_close(struct ws *w, int code, const char *why, void *ctx);

static bool asks(const struct link *k)
{
    return k->credentials.kind == CREDENTIAL_REQUEST;
}

static char *link_url(const struct link *k)
{
    const struct agent_config *c = k->config;
    struct strbuf b = STRBUF_INIT;
    const char *const pair[][2] = {{"id", c->agent_id},
                                   {"version", DET_VERSION},
                                   {"resource_pool", c->resource_pool},
                                   {"hostname", c->hostname}};
    strbuf_addf(&b, "%s://%s:%d/agents", c->tls ? "wss" : "ws", c->master_host, c->master_port);
    for (size_t i = 0; i < sizeof(pair) / sizeof(pair[0]); i++) {
        strbuf_addf(&b, "%c%s=", i ? '&' : '?', pair[i][0]);
        strbuf_add_percent(&b, pair[i][1], PERCENT_UNRESERVED);
    }
    if (asks(k))
        strbuf_adds(&b, "&join=ask");
    return strbuf_detach(&b);
}

static void on_certificate(void *ctx, const char *pem, const char *name, const char *fingerprint)
{
    struct link *k = ctx;
    credentials_take_certificate(&k->credentials, pem, name, fingerprint);
}

static void connect_now(void *ctx)
{
    struct link *k = ctx;
    const struct agent_config *c = k->config;
    cleanup_strbuf struct strbuf bearer = STRBUF_INIT;
    struct credentials *own = &k->credentials;
    credentials_choose(own);
    /* A certificate belongs to a key: an agent that joins anew gets another one. */
    if (own->kind != CREDENTIAL_KEY && own->kind != CREDENTIAL_OFFERED)
        own_certificate_forget(&k->certificate);
    const char *certificate = own_certificate_file(&k->certificate);
    cleanup_free char *url = link_url(k);
    strbuf_addf(&bearer, "Authorization: Bearer %s", own->shown);
    const char *header[] = {bearer.s, NULL};
    struct ws_client_options o = {.url = url,
                                  .header = own->kind != CREDENTIAL_NONE ? header : NULL,
                                  .pin = *own->pins ? own->pins : NULL,
                                  .on_certificate = on_certificate,
                                  .connect_timeout_s = 10,
                                  .proxy = agent_config_master_proxy(c),
                                  .tls_skip_verify = c->tls_skip_verify,
                                  .client_cert = *c->tls_client_cert ? c->tls_client_cert : certificate,
                                  .client_key = *c->tls_client_cert ? c->tls_client_key : certificate,
                                  .ca_file = *c->tls_cert ? c->tls_cert : NULL,
                                  .tls_name = *c->tls_cert_name ? c->tls_cert_name : NULL};
    struct ws_handler h = {.on_open = on_open,
                           .on_message = on_message,
                           .on_drained = on_drained,
                           .on_close = on_close,
                           .ctx = k,
                           .message_max = MESSAGE_MAX,
                           .ping_s = k->silence_s / PINGS,
                           .dead_s = k->silence_s};
    cleanup_error struct error err = ERROR_INIT;
    if (ws_connect(k->loop, &o, &h, &k->ws, &err) == 0)
        return;
    if (certificate) {
        log_warning("link.certificate_unusable", "reason=%s action=\"connecting without it\"",
                    log_quote(error_msg(&err)));
        own_certificate_forget(&k->certificate);
        loop_timer_arm(k->retry, 0);
        return;
    }
    /* there is no WebSocket whose close has to be waited for */
    k->handler.on_fatal(k->handler.ctx, error_msg(&err));
}

/* Arms the timer of the next attempt with a random time between half of the current wait and all of it, so that the
 * agents of a cluster do not come back in one wave. */
static void retry_later(struct link *k)
{
    uint32_t r = 0;
    if (getrandom(&r, sizeof(r), 0) < 0)
        r = (uint32_t)k->failures;
    int64_t wait = k->backoff_us / 2 + (int64_t)(r % (uint32_t)(k->backoff_us / 2 + 1));
    int64_t max = (int64_t)k->config->reconnect_backoff_s * 1000000;
    k->backoff_us = 2 * k->backoff_us < max ? 2 * k->backoff_us : max;
    if (k->backoff_us < BACKOFF_FIRST_US)
        k->backoff_us = BACKOFF_FIRST_US;
    loop_timer_arm(k->retry, wait);
}

/* Shows the fingerprint once when the agent begins to wait for an admin, who compares it. */
static void note_waiting(struct link *k, int code)
{
    bool waits = code == FORBIDDEN && asks(k);
    char fingerprint[FINGERPRINT_TEXT];
    if (waits && !k->waits) {
        credentials_fingerprint(&k->credentials, fingerprint);
        log_warning("link.waits",
                    "fingerprint=%s action=\"let this agent in: det agent accept %s, if the fingerprint is "
                    "the same there; or give it a token (det agent join-token create)\"",
                    fingerprint, k->config->agent_id);
    }
    k->waits = waits;
}

/* The certificate belongs to a key. One that is left of an earlier key must not keep out an agent that joins anew. */
static void forget_earlier_certificate(struct link *k, int code)
{
    enum credential_kind kind = k->credentials.kind;
    if ((kind == CREDENTIAL_KEY && code == UNAUTHENTICATED) || (kind == CREDENTIAL_OFFERED && code == FORBIDDEN))
        own_certificate_forget(&k->certificate);
}

static void on_close(struct ws *w, int code, const char *why, void *ctx)
{
    struct link *k = ctx;
    bool was_up = k->up;
    k->ws = NULL;
    k->up = false;
    k->failures++;
    loop_timer_disarm(k->renewal);
    note_waiting(k, code);
    /* Logs the first failure, and every sixtieth one after it: an agent may wait for its master for days. */
    if (was_up || k->failures == 1 || k->failures % 60 == 0)
        log_warning("link.down", "master=%s:%d code=%d reason=%s attempts=%d", k->config->master_host,
                    k->config->master_port, code, log_quote(why ? why : ""), k->failures);
    forget_earlier_certificate(k, code);
    if (code == UNAUTHENTICATED || code == CONFLICT)
        credentials_refused(&k->credentials, code == UNAUTHENTICATED, why ? why : "");
    if (was_up)
        k->handler.on_down(k->handler.ctx);
    if (k->opened && k->failures == k->config->reconnect_attempts && !k->waits)
        k->handler.on_lost(k->handler.ctx, k->failures);
    if (k->opened)
        retry_later(k);
    else
        k->handler.on_closed(k->handler.ctx);
}

/* ---- talking ----------------------------------------------------------------------------------------------------- */

static void send_message(struct link *k, struct wire_link_agent_message m)
{
    m.epoch = k->epoch;
    strbuf_reset(&k->out);
    codec_encode(&wire_msg_link_agent_message, &m, &k->out);
    ws_send(k->ws, k->out.s, k->out.n, /* is_text= */ true);
}

static void on_open(struct ws *w, void *ctx)
{
    struct link *k = ctx;
    cleanup_arena struct arena a = ARENA_INIT;
    struct wire_link_agent_hello hello = {.protocol = LINK_PROTOCOL,
                                          .agent_id = k->config->agent_id,
                                          .version = DET_VERSION,
                                          .resource_pool = k->config->resource_pool,
                                          .hostname = k->config->hostname,
                                          .wants_key = credentials_are_token(&k->credentials),
                                          .key = credentials_offer(&k->credentials),
                                          .cluster_id = k->cluster_id,
                                          .streams = true,
                                          .takes_certificate = own_certificate_is_wanted(&k->certificate)};
    k->handler.make_hello(k->handler.ctx, &a, &hello);
    send_message(k, (struct wire_link_agent_message){.hello = &hello});
}

/* ---- the certificate --------------------------------------------------------------------------------------------- */

static void ask_for_certificate(struct link *k)
{
    cleanup_free char *request = NULL;
    cleanup_error struct error err = ERROR_INIT;
    loop_timer_arm(k->renewal, CERTIFICATE_AGAIN_US); /* until the answer has come */
    if (own_certificate_request(&k->certificate, &request, &err) < 0) {
        log_error("link.certificate_not_requested", "error=%s", log_quote(error_msg(&err)));
        return;
    }
    struct wire_link_certificate_request body = {.request = request};
    send_message(k, (struct wire_link_agent_message){.certificate_request = &body});
}

/* Asks if it is time to, or looks again later. The wait is limited because the machine may sleep. */
static void look_after_certificate(void *ctx)
{
    struct link *k = ctx;
    int64_t in_us = own_certificate_renewal_in_us(&k->certificate);
    if (in_us == 0)
        ask_for_certificate(k);
    else
        loop_timer_arm(k->renewal, in_us < CERTIFICATE_AGAIN_US ? in_us : CERTIFICATE_AGAIN_US);
}

static void on_certificates(struct link *k, const struct wire_link_master_hello *hello)
{
    const char *problem = hello->certificate_problem;
    if (!hello->gives_certificates || !own_certificate_is_wanted(&k->certificate))
        return;
    own_certificate_set_clock(&k->certificate, hello->time_us);
    if (problem && *problem) {
        log_warning("link.certificate_passed_over", "reason=%s action=\"asking the master for another one\"",
                    log_quote(problem));
        ask_for_certificate(k);
    } else {
        look_after_certificate(k);
    }
}

static void on_agent_certificate(struct link *k, const struct wire_link_agent_certificate *answer)
{
    const char *problem = answer->problem;
    char until[CLOCK_TEXT_MAX];
    cleanup_error struct error err = ERROR_INIT;
    if (!k->up)
        return;
    if (!problem || !*problem)
        problem = own_certificate_take(&k->certificate, answer->certificate ? answer->certificate : "", &err) < 0
                      ? error_msg(&err)
                      : NULL;
    if (problem) {
        log_error("link.certificate_refused", "reason=%s action=\"asking again in %d minutes\"", log_quote(problem),
                  (int)(CERTIFICATE_AGAIN_US / 60000000));
        return;
    }
    clock_format(k->certificate.until_us, until);
    struct wire_link_certificate_request taken = {.taken = true};
    send_message(k, (struct wire_link_agent_message){.certificate_request = &taken});
    log_info("link.certificate", "file=%s until=%s", log_quote(k->certificate.file), until);
    look_after_certificate(k);
}

/* Checks the epoch of a message. Returns false if it comes from an earlier start of the master. */
static bool accept_epoch(struct link *k, int64_t epoch, const struct wire_link_master_hello *hello)
{
    bool other = hello && strcmp(hello->cluster_id ? hello->cluster_id : "", k->cluster_id) != 0;
    if (epoch < k->epoch && !other)
        return false;
    if (hello && (other || epoch > k->epoch)) {
        snprintf(k->cluster_id, sizeof(k->cluster_id), "%s", hello->cluster_id ? hello->cluster_id : "");
        k->epoch = epoch;
        save_epoch(k);
    }
    return true;
}

/* Takes over the master's setting. A master of an earlier version sends none. */
static void take_silence(struct link *k, int32_t silence_s)
{
    if (silence_s < PINGS || silence_s > SILENCE_MAX_S)
        return;
    k->silence_s = silence_s;
    ws_set_patience(k->ws, silence_s / PINGS, silence_s);
}

static void on_master_hello(struct link *k, const struct wire_link_master_hello *hello)
{
    if (hello->protocol != LINK_PROTOCOL) {
        log_error("link.protocol", "master=%d agent=%d action=\"install the same version on both\"", hello->protocol,
                  LINK_PROTOCOL);
        ws_close(k->ws, 1002, "protocol");
        return;
    }
    if (hello->version && strcmp(hello->version, DET_VERSION) != 0 && strcmp(hello->version, k->other_version) != 0) {
        snprintf(k->other_version, sizeof(k->other_version), "%s", hello->version);
        log_warning("link.version",
                    "master=%s agent=" DET_VERSION " meaning=\"both speak protocol %d of the link and go on\" "
                    "action=\"install the same version on both\"",
                    log_quote(hello->version), LINK_PROTOCOL);
    }
    snprintf(k->master_id, sizeof(k->master_id), "%s", hello->master_id ? hello->master_id : "");
    k->up = true;
    k->failures = 0;
    k->backoff_us = BACKOFF_FIRST_US;
    if (asks(k) || k->credentials.kind == CREDENTIAL_OFFERED)
        own_certificate_drop_leftover(&k->certificate);
    credentials_accepted(&k->credentials);
    log_info("link.up", "master=%s:%d epoch=%" PRId64 " cluster=%s expected=%zu", k->config->master_host,
             k->config->master_port, k->epoch, log_quote(k->cluster_id), hello->expected_n);
    take_silence(k, hello->silence_s);
    ws_keep_queue_short(k->ws); /* streams share the link with log lines */
    on_certificates(k, hello);
    k->handler.on_up(k->handler.ctx, hello);
}

static void on_refused(struct link *k, const struct wire_link_refused *r)
{
    const char *reason = r->reason ? r->reason : "";
    log_error("link.refused", "reason=%s fatal=%d", log_quote(reason), r->fatal);
    if (r->fatal)
        k->handler.on_fatal(k->handler.ctx, reason);
    else
        ws_close(k->ws, 1000, "refused");
}

static void on_frame(struct link *k, const void *data, size_t n)
{
    cleanup_error struct error err = ERROR_INIT;
    if (!k->up || k->handler.on_frame(k->handler.ctx, data, n, &err) == 0)
        return;
    log_error("link.bad_frame", "error=%s", log_quote(error_msg(&err)));
    ws_close(k->ws, 1002, error_msg(&err));
}

static void on_drained(struct ws *w, void *ctx)
{
    struct link *k = ctx;
    if (k->up)
        k->handler.on_drained(k->handler.ctx);
}

static void on_message(struct ws *w, const void *data, size_t n, bool is_text, void *ctx)
{
    struct link *k = ctx;
    if (!is_text) {
        on_frame(k, data, n);
        return;
    }
    cleanup_arena struct arena a = ARENA_INIT;
    cleanup_error struct error err = ERROR_INIT;
    struct wire_link_master_message m = {0};
    if (codec_decode(&wire_msg_link_master_message, data, n, &a, &m, &err) < 0) {
        log_error("link.bad_message", "error=%s", log_quote(error_msg(&err)));
        ws_close(w, 1007, "malformed message");
    } else if (m.refused) {
        on_refused(k, m.refused);
    } else if (!accept_epoch(k, m.epoch, m.hello)) {
        log_error("link.old_epoch", "epoch=%" PRId64 " seen=%" PRId64, m.epoch, k->epoch);
        ws_close(w, 1008, "epoch is lower than one that this agent has seen");
    } else if (m.hello) {
        on_master_hello(k, m.hello);
    } else if (m.agent_key) {
        own_certificate_drop_leftover(&k->certificate);
        credentials_take_key(&k->credentials, m.agent_key->key);
    } else if (m.agent_certificate) {
        on_agent_certificate(k, m.agent_certificate);
    } else if (m.certificate) {
        credentials_add_pin(&k->credentials, m.certificate->sha256);
    } else if (k->up) {
        k->handler.on_message(k->handler.ctx, &m);
    }
}

struct link *link_new(struct loop *l, const struct agent_config *c, const struct link_handler *h)
{
    struct link *k = must_calloc(1, sizeof(*k));
    k->loop = l;
    k->config = c;
    k->handler = *h;
    k->backoff_us = BACKOFF_FIRST_US;
    k->silence_s = SILENCE_S;
    k->retry = loop_timer_new(l, connect_now, k);
    k->renewal = loop_timer_new(l, look_after_certificate, k);
    load_epoch(k);
    credentials_load(&k->credentials, c);
    cleanup_error struct error err = ERROR_INIT;
    if (own_certificate_load(&k->certificate, c, &err) < 0 && err.kind != ERR_NOT_FOUND)
        log_warning("link.certificate_unusable", "reason=%s action=\"asking the master for another one\"",
                    log_quote(error_msg(&err)));
    return k;
}

void link_open(struct link *k)
{
    k->opened = true;
    loop_timer_arm(k->retry, 0); /* connects from the loop, because a failure may have to stop the loop */
}

void link_close(struct link *k)
{
    k->opened = false;
    loop_timer_disarm(k->retry);
    if (k->ws)
        ws_close(k->ws, 1001, "the agent stops");
    else
        k->handler.on_closed(k->handler.ctx);
}

void link_free(struct link *k)
{
    if (!k)
        return;
    loop_timer_free(k->retry);
    loop_timer_free(k->renewal);
    own_certificate_release(&k->certificate);
    strbuf_release(&k->out);
    free(k);
}

bool link_is_up(const struct link *k)
{
    return k->up;
}

void link_send(struct link *k, const struct wire_link_agent_message *m)
{
    if (k->up)
        send_message(k, *m);
}

void link_send_frame(struct link *k, const void *head, size_t head_n, const void *body, size_t body_n)
{
    if (k->up)
        ws_send_parts(k->ws, head, head_n, body, body_n);
}

size_t link_pending(const struct link *k)
{
    return k->up ? ws_pending(k->ws) : 0;
}

const char *link_master_id(const struct link *k)
{
    return k->master_id;
}

const char *link_cluster_id(const struct link *k)
{
    return k->cluster_id;
}
