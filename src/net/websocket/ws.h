/* WebSocket connections (RFC 6455), server and client, over wslay. Messages are whole: fragments are joined up to
 * `message_max`. A ping goes out every `ping_s`; a peer that is silent for `dead_s` is closed. Callbacks on the loop's
 * thread; on_close is called exactly once, after which the ws is gone. ws_send copies; ws_pending tells what has not
 * left yet, so that a sender can hold back.
 *
 * What a peer can make us queue is bounded: pings are answered as long as it takes the answers, then nothing more is
 * read from it; a thousand control frames in one second, or a message of 16,384 fragments, ends it (1008). */
#ifndef DET_NET_WEBSOCKET_WS_H
#define DET_NET_WEBSOCKET_WS_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/error.h"
#include "net/loop/loop.h"

struct ws;

struct ws_handler {
    void (*on_open)(struct ws *w, void *ctx); /* a client's handshake is done; not called for servers */
    void (*on_message)(struct ws *w, const void *data, size_t n, bool is_text, void *ctx);
    /* something has waited, and now everything has gone to the kernel; may be NULL */
    void (*on_drained)(struct ws *w, void *ctx);
    void (*on_close)(struct ws *w, int code, const char *why, void *ctx);
    void *ctx;
    size_t message_max; /* bytes */
    /* bytes that may wait for the peer; a peer that lets more wait is cut off with code 1006; 0: no limit */
    size_t pending_max;
    int ping_s, dead_s; /* agents: docs/spec/agents.md#an-agent-is-lost */
};

struct ws_client_options {
    const char *url;           /* ws:// or wss:// */
    const char *const *header; /* "Name: value" …, NULL-terminated; NULL for none */
    const char *ca_file;       /* wss: NULL for the system's */
    const char *tls_name;      /* wss: name to verify instead of the host; NULL for the host */
    bool tls_skip_verify;
    /* wss: SHA-256 of certificates as hexadecimal digits, 64 each, without a gap. The server must have one of them, and
     * neither who has signed it, nor its name, nor its time counts. NULL: the certificate is checked as usual. */
    const char *pin;
    /* wss with pin: the certificate that the server has shown, as PEM; a name for which it is valid, or ""; and its
     * SHA-256. Called before on_open, with the handler's ctx. */
    void (*on_certificate)(void *ctx, const char *pem, const char *name, const char *fingerprint);
    const char *client_cert, *client_key; /* wss: PEM files of the certificate to show; NULL for none */
    int connect_timeout_s;
    /* "http://[USER:PASSWORD@]HOST[:PORT]" of a proxy that is asked to CONNECT, for ws and wss; NULL for none */
    const char *proxy;
};

/* Starts connecting. A failure is reported by on_close: with code 1006 if there is no connection, or with the HTTP
 * status if the upgrade was refused, where `why` has the status and the first line of the body. Every address of the
 * host is tried in turn. Returns -1 only for options that cannot work. */
int ws_connect(struct loop *l, const struct ws_client_options *o, const struct ws_handler *h, struct ws **ret,
               struct error *err);
void ws_send(struct ws *w, const void *data, size_t n, bool is_text);
/* Sends a binary message that consists of two parts, of which the second one may be empty. */
void ws_send_parts(struct ws *w, const void *head, size_t head_n, const void *body, size_t body_n);
size_t ws_pending(const struct ws *w); /* bytes queued */
/* Stops reading (on) or goes on, so that the peer has to wait. While nothing is read, a silent peer is not taken for
 * dead. */
void ws_hold(struct ws *w, bool on);
/* Keeps little in the kernel beyond what the network takes, so that a message does not wait long behind others: for a
 * connection that carries bulk beside what is urgent. */
void ws_keep_queue_short(struct ws *w);
/* Replaces ping_s and dead_s of the handler, both above 0. */
void ws_set_patience(struct ws *w, int ping_s, int dead_s);
/* Sends a close frame; on_close follows, within 5 s even if the peer is silent. */
void ws_close(struct ws *w, int code, const char *why);
/* Ends the connection at once: on_close (1001) is called within this call. For shutting down; not from one of its own
 * callbacks. */
void ws_drop(struct ws *w);

#endif
