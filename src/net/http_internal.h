/* Inside the HTTP server: http.c accepts, reads and ends connections, http_reply.c answers. */
#ifndef DET_NET_HTTP_INTERNAL_H
#define DET_NET_HTTP_INTERNAL_H

#include <netinet/in.h>
#include <sys/queue.h>
#include <sys/uio.h>
#include <time.h>

#include "net/http.h"
#include "net/http1.h"

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
    struct strbuf out; /* scratch of the answer being written */
    time_t date_s;
    char date[48]; /* the Date header's line of that second */
};

/* Writes, at once if nothing is queued. The connection may break here: that is noticed in the loop's next turn. */
void conn_send(struct conn *c, const struct iovec *part, int parts);
size_t conn_unsent(const struct conn *c);
void conn_soon(struct conn *c, unsigned what);
/* The answer was written: on to the next request, or to the end. */
void request_finish(struct http_request *r);
/* The fixed headers every answer has, into s->out: status line, Date, Connection, the handler's own. */
void reply_begin_head(struct http_request *r, int status, const char *content_type);

#endif
