/* A relay: one request of the HTTP server that a program behind a byte stream answers.
 *
 *   relay_open()   opens the stream, and sends the request's head ahead
 *   ready()        the program's port has accepted (why is NULL), or cannot be reached (502) or does not answer (504);
 *                  the relay is gone then
 *   relay_take()   from ready(): the relay takes the request over, sends its body, and answers it
 *
 * The program's answer is passed on as it comes, interim answers (1xx) included; `headers` chooses its headers. If the
 * program sends no answer that can be understood, `failed` has to answer the request. If it breaks off later, the
 * client's connection is closed, so that the client notices. Everything happens on the loop's thread, and callbacks
 * come from the loop only. */
#ifndef DET_NET_RELAY_RELAY_H
#define DET_NET_RELAY_RELAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/http/http.h"
#include "net/http/http1.h"
#include "net/loop/loop.h"
#include "net/streams/byte_stream.h"

struct relay;
struct relays;

struct relays *relays_new(struct loop *l);
/* Ends the relays that are left. Call it after http_server_free() and before byte_streams_free(). NULL is accepted. */
void relays_free(struct relays *all);
size_t relays_count(const struct relays *all);
struct relays_stats {
    uint64_t taken;                 /* requests that a program has accepted, so far */
    uint64_t broken;                /* of them, those whose answer was broken, late, or not complete */
    uint64_t to_program, to_client; /* bytes of bodies, and of connections that have switched protocols */
};
struct relays_stats relays_stats(const struct relays *all);

struct relay_options {
    /* Opens the stream with this handler. */
    int (*open)(void *ctx, const struct byte_stream_handler *h, struct byte_stream **ret, struct error *err);
    const char *head; /* the request's head for the program, its empty line included; borrowed for the call */
    size_t head_n;
    bool upgrade;       /* the head asks for another protocol, so the program may answer 101 */
    size_t head_max;    /* bytes that the head of the program's answer may have */
    int idle_timeout_s; /* the relay ends when no byte has passed for so long; 0: never */

    void (*ready)(void *ctx, int status, const char *why);
    /* Adds those headers of the answer to the request (http_add_header()) that the client may have. Those that belong
     * to the connection, such as Transfer-Encoding and Upgrade, are the relay's own. */
    void (*headers)(struct http_request *http, const struct http1_answer *answer, void *ctx);
    /* The program's answer cannot be used (502), or does not come (504); why is the end of a sentence about the
     * program. Answer the request. */
    void (*failed)(struct http_request *http, int status, const char *why, void *ctx);
    void (*used)(void *ctx); /* bytes have passed; called at most once a second; may be NULL */
    /* The relay is gone. It is called once for each relay that relay_open() has made, as the last of these. */
    void (*done)(void *ctx);
    void *ctx;
};

int relay_open(struct relays *all, const struct relay_options *o, struct relay **ret, struct error *err);
/* Call it from ready(). The relay takes over the request with its ctx. */
void relay_take(struct relay *x, struct http_request *http);
void relay_drop(struct relay *x); /* ends a relay that has no request yet; done() is called */

#endif
