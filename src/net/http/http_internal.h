/* Inside the HTTP server, file by file:
 *   http.c          listens, accepts, sweeps for time-outs
 *   http_conn.c     leads a connection from phase to phase, writes to it, ends it
 *   http_read.c     reads heads and bodies within the limits (the text of a head: http1.c)
 *   http_request.c  what a handler asks of a request
 *   http_receive.c  gives out bodies in pieces, and the bytes of connections that have switched protocols
 *   http_reply.c    answers: whole ones and streams
 *   http_upgrade.c  turns a connection into a WebSocket, or into bytes of another protocol */
#ifndef DET_NET_HTTP_HTTP_INTERNAL_H
#define DET_NET_HTTP_HTTP_INTERNAL_H

#include <netinet/in.h>
#include <sys/queue.h>
#include <sys/uio.h>
#include <time.h>

#include "net/http/http.h"
#include "net/http/http1.h"

struct bufferevent;
struct evconnlistener;

/* Where a connection stands. One request at a time: what a client sends ahead stays in the kernel and the input buffer.
 *
 *   HEAD ──> BODY ──> ANSWER ──> HEAD                 keep-alive
 *     │        │        ├──────> FLUSH ──> HEAD       much output is still queued: the next request waits
 *     │        │        │          ├─────> LINGER ──> GONE
 *     └────────┴─fault──┼──────────┘                  a fault closes, after discarding what comes in
 *                       └──────> UPGRADED ──> GONE    the WebSocket owns the socket; the connection still counts */
enum phase { PHASE_HEAD, PHASE_BODY, PHASE_ANSWER, PHASE_FLUSH, PHASE_LINGER, PHASE_UPGRADED, PHASE_GONE };

/* What is to be done for a connection in the loop's next turn, outside of any call by the server's user. */
enum soon {
    SOON_PROCESS = 1 << 0, /* input may hold the next request */
    SOON_DRAINED = 1 << 1, /* call on_drained of the stream */
    SOON_FLUSHED = 1 << 2,
    SOON_LOST = 1 << 3, /* writing failed */
    SOON_DESTROY = 1 << 4,
    SOON_RECEIVE = 1 << 5, /* give out what the client has sent */
};

struct conn;

struct http_request {
    struct conn *conn;
    struct http1_head head;
    char *body;
    size_t body_n, body_cap;
    size_t body_max; /* 0: options.body_max() was not asked yet */
    size_t charged;  /* bytes reserved in the server's count of bodies */
    bool anonymous;  /* counted among the bodies without credentials, too */
    bool streaming, stream_head_sent, chunked;
    bool early;                           /* handed over before its body */
    bool body_coming;                     /* handed over early, and the end of the body was not given out yet */
    bool switched;                        /* http_switch_protocols() */
    bool held;                            /* http_receive_hold() */
    uint64_t body_left;                   /* of a body with a length: bytes that were not given out yet */
    const struct http_receiver *receiver; /* NULL: what comes in waits */
    struct http1_chunks chunks;
    struct strbuf extra;       /* header lines from http_add_header() */
    struct strbuf stream_head; /* until the first write */
    struct strbuf cookies;     /* "name\0value\0" …, filled when the first cookie is asked for */
    void *ctx;
    void (*on_close)(struct http_request *r, void *ctx);
    void (*on_drained)(struct http_request *r, void *ctx);
};

struct conn {
    struct http_server *server;
    struct bufferevent *bev;
    struct event *readable; /* reads bodies (http_receive.c); NULL: not needed so far */
    int fd;
    enum phase phase;
    bool processing;  /* conn_process() is running, so an answer need not start it */
    bool close_after; /* this answer is the connection's last */
    bool linger;      /* the client may still be sending */
    bool saw_eof;
    bool end_waits; /* the end has come behind the bytes that were read, and the bufferevent is to find it */
    unsigned soon;
    int64_t deadline_us; /* 0: none */
    int64_t body_start_us;
    size_t searched;  /* bytes of the input that were searched and hold no end of a head */
    size_t unread;    /* bytes of the input that are counted in the server's `unread` */
    size_t unflushed; /* bytes of output at the last sweep, to see whether the client reads */
    char *head_text;  /* of the current request; http1_head points into it */
    size_t head_cap;
    struct ws *ws;
    char peer[INET6_ADDRSTRLEN];
    struct http_request request;
    LIST_ENTRY(conn) of_server;
    TAILQ_ENTRY(conn) of_soon;
};

struct http_server {
    struct loop *loop;
    struct http_server_options options;
    struct evconnlistener *listener;
    struct loop_timer *sweep; /* time-outs, once a second while there are connections */
    struct loop_timer *soon_timer;
    struct loop_timer *accept_again;
    TAILQ_HEAD(soon_list, conn) soon;
    LIST_HEAD(, conn) conns;
    int port, connections;
    bool stopped;                    /* no further connections are accepted */
    size_t bodies, anonymous_bodies; /* bytes in flight */
    size_t unread;     /* bytes in input buffers: incomplete heads, and requests that clients send ahead */
    struct strbuf out; /* reused for each answer */
    time_t date_s;
    char date[48]; /* the Date header's line of that second */
};

#define HEAD_MAX (64 * 1024)
#define INPUT_MAX (HEAD_MAX + 4096) /* bytes that one connection reads ahead */
#define WRITE_MAX (1024 * 1024)     /* bytes written in one turn of the loop, as far as the kernel accepts them */

/* ---- http_conn.c ------------------------------------------------------------------------------------------------- */

/* Makes a connection that waits for its first request. Takes over the bufferevent, unless it returns NULL (no
 * memory). */
struct conn *conn_new(struct http_server *s, struct bufferevent *bev, int fd);
/* Ends a connection: on_close of an unanswered request is called, and the connection is freed in the loop's next turn.
 * Call it only from the loop, never from within a call by the server's user. */
void conn_end(struct conn *c);
void conn_free(struct conn *c);
void conn_timed_out(struct conn *c); /* called when deadline_us has passed */
void conn_soon(struct conn *c, unsigned what);
void conns_run_soon(void *server); /* carries out what conn_soon() has noted, in the loop's next turn */

/* Writes at once if nothing is queued. If the connection breaks here, that is handled in the loop's next turn. */
void conn_send(struct conn *c, const struct iovec *part, int parts);
/* As conn_send(). The last part is, or lies in, `memory`, which malloc(3) has made and which is freed once it is
 * written. */
void conn_send_take(struct conn *c, const struct iovec *part, int parts, void *memory);
size_t conn_unsent(const struct conn *c);
/* Sends an error reply of the server itself and closes the connection after it. Releases e. */
void conn_fault(struct conn *c, int status, struct error *e);

/* Handles what has come in. */
void conn_go_on(struct conn *c);
/* Called when the answer is written: goes on with the next request, or ends the connection. */
void request_finish(struct http_request *r);

/* Tells the request's user that it is gone; the user must not touch it again. */
void request_gone(struct http_request *r);

/* ---- http_request.c ---------------------------------------------------------------------------------------------- */

/* Releases what belongs to one request; memory for the texts of the next one is kept. */
void request_reset(struct http_request *r);

/* ---- http_read.c ------------------------------------------------------------------------------------------------- */

/* Read what has come in of the head, or of the body. They return true if processing can go on with what follows. */
bool conn_read_head(struct conn *c);
bool conn_read_body(struct conn *c);
/* As conn_fault(), for a request whose head cannot be used. */
void conn_refuse(struct conn *c, int status, enum error_kind kind, const char *why);

/* ---- http_receive.c ---------------------------------------------------------------------------------------------- */

/* Gives out what has come in, as far as the request's user takes it. Returns true if the request is answered, and the
 * next one can be read. */
bool conn_receive(struct conn *c);
/* Chooses who reads the socket: an event of its own while somebody takes a body, otherwise the bufferevent. */
void conn_choose_reader(struct conn *c);
/* The client sends no more: gives out the rest to the user of a connection that has switched protocols. */
void conn_receive_rest(struct conn *c);

#endif
