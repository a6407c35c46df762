/* Inside the HTTP server, file by file:
 *   http.c          listens, accepts, sweeps for time-outs
 *   http_conn.c     leads a connection from phase to phase, writes to it, ends it
 *   http_read.c     reads heads and bodies within the limits (the text of a head: http1.c)
 *   http_request.c  what a handler asks of a request
 *   http_reply.c    answers: whole ones and streams
 *   http_upgrade.c  turns a connection into a WebSocket */
#ifndef DET_NET_HTTP_INTERNAL_H
#define DET_NET_HTTP_INTERNAL_H

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

/* What is to be done for a connection in the loop's next turn, outside of any call from the server's user. */
enum soon {
    SOON_PROCESS = 1 << 0, /* input may hold the next request */
    SOON_DRAINED = 1 << 1, /* tell the stream */
    SOON_FLUSHED = 1 << 2,
    SOON_LOST = 1 << 3,    /* writing failed */
    SOON_DESTROY = 1 << 4,
};

struct conn;

struct http_request {
    struct conn *conn;
    struct http1_head head;
    char *body;
    size_t body_n, body_cap;
    size_t body_max; /* 0: not asked yet */
    size_t charged;  /* bytes reserved in the server's account */
    bool anonymous;  /* in the account of requests without credentials, too */
    bool streaming, stream_head_sent, chunked;
    struct http1_chunks chunks;
    struct strbuf extra;       /* header lines from http_add_header() */
    struct strbuf stream_head; /* until the first write */
    struct strbuf cookies;     /* "name\0value\0" …, once asked for */
    void *ctx;
    void (*on_close)(struct http_request *r, void *ctx);
    void (*on_drained)(struct http_request *r, void *ctx);
};

struct conn {
    struct http_server *server;
    struct bufferevent *bev;
    int fd;
    enum phase phase;
    bool processing;  /* in the loop that parses requests: answers need not wake it */
    bool close_after; /* this answer is the connection's last */
    bool linger;      /* the client may still be sending */
    bool saw_eof;
    unsigned soon;
    int64_t deadline_us; /* 0: none */
    int64_t body_start_us;
    size_t searched;   /* bytes of the input known to hold no end of a head */
    size_t unread;     /* bytes of the input, as counted in the server's account */
    size_t unflushed;  /* output at the last sweep, to see progress */
    char *head_text;   /* of the current request; http1_head points into it */
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
    struct loop_timer *sweep;      /* time-outs, once a second while there are connections */
    struct loop_timer *soon_timer;
    struct loop_timer *accept_again;
    TAILQ_HEAD(soon_list, conn) soon;
    LIST_HEAD(, conn) conns;
    int port, connections;
    bool stopped; /* accepts no more */
    size_t bodies, anonymous_bodies; /* bytes in flight */
    size_t unread; /* bytes in input buffers: heads that are not complete, and what clients send ahead */
    struct strbuf out; /* scratch of the answer being written */
    time_t date_s;
    char date[48]; /* the Date header's line of that second */
};

#define HEAD_MAX (64 * 1024)
#define INPUT_MAX (HEAD_MAX + 4096) /* read ahead of one connection */
#define WRITE_MAX (1024 * 1024)     /* in one turn of the loop, as far as the kernel takes it */

/* ---- http_conn.c ---- */

/* Takes the bufferevent when it succeeds; waits for the first request. NULL: no memory. */
struct conn *conn_new(struct http_server *s, struct bufferevent *bev, int fd);
/* Ends it: on_close of an unanswered request runs, the connection is freed in the loop's next turn. Only from the loop,
 * never from within a call by the server's user. */
void conn_end(struct conn *c);
void conn_free(struct conn *c);
void conn_timed_out(struct conn *c); /* deadline_us is over */
void conn_soon(struct conn *c, unsigned what);
void conns_run_soon(void *server); /* the loop's next turn has come */

/* Writes, at once if nothing is queued. The connection may break here: that is noticed in the loop's next turn. */
void conn_send(struct conn *c, const struct iovec *part, int parts);
/* As above; the last part is, or lies in, `memory` of malloc(3), which is freed once it has been written. */
void conn_send_take(struct conn *c, const struct iovec *part, int parts, void *memory);
size_t conn_unsent(const struct conn *c);
/* Answers a fault below the handler and closes after it. Releases e. */
void conn_fault(struct conn *c, int status, struct error *e);

/* The answer was written: on to the next request, or to the end. */
void request_finish(struct http_request *r);

/* ---- http_request.c ---- */

/* Gives back what belongs to one request; the memory for the next one's texts stays. */
void request_reset(struct http_request *r);

/* ---- http_read.c ---- */

/* Take what has come in of the head, of the body. true: go on, there may be more. */
bool conn_read_head(struct conn *c);
bool conn_read_body(struct conn *c);
/* conn_fault() for a request of which not even the head can be used. */
void conn_refuse(struct conn *c, int status, enum error_kind kind, const char *why);

#endif
