/* HTTP/1.1 as text (RFC 9112): heads of requests and of answers, and chunked bodies. No I/O, so that it can be tested
 * and fuzzed on its own.
 *
 * Strict where leniency lets two parsers disagree about where a request ends (request smuggling): lines end in CRLF, no
 * bare CR or LF, no blank before a colon, no folded lines, Content-Length at most once and never beside
 * Transfer-Encoding, one Host. */
#ifndef DET_NET_HTTP_HTTP1_H
#define DET_NET_HTTP_HTTP1_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"
#include "net/http/http.h"

#define HTTP1_HEADERS_MAX 100

struct http1_header {
    const char *name, *value;
};

struct http1_head {
    enum http_method method;
    int minor_version;        /* HTTP/1.x */
    const char *path, *query; /* as they were sent; the query is "" if there is none */
    struct http1_header header[HTTP1_HEADERS_MAX];
    size_t header_n;
    bool keep_alive, expects_continue;
    bool chunked;
    uint64_t length; /* of the body; 0 when chunked */
};

/* Parses a head of n bytes, its empty line included, in place: *ret points into `text`. On failure *ret_status is the
 * HTTP status of the reply (400, 417, 431, 501, 505). */
int http1_parse_head(char *text, size_t n, struct http1_head *ret, int *ret_status, struct error *err);
const char *http1_find(const struct http1_head *h, const char *name); /* NULL if absent */
/* Whether `token` is in the comma-separated list of header `name`, in any case. */
bool http1_has_token(const struct http1_head *h, const char *name, const char *token);

/* The head of an answer. How its body ends also depends on the request and the status: an answer to HEAD, and one with
 * a status of 1xx, 204 or 304, has none. */
struct http1_answer {
    int minor_version; /* HTTP/1.x */
    int status;        /* 100 to 599 */
    struct http1_header header[HTTP1_HEADERS_MAX];
    size_t header_n;
    bool chunked, has_length; /* neither: the body ends with the connection */
    uint64_t length;
};

/* Parses the head of an answer, as http1_parse_head() does that of a request. It is as strict: an answer whose end two
 * readers could see at different places is refused. *err says what is wrong, without naming who sent it. */
int http1_parse_answer(char *text, size_t n, struct http1_answer *ret, struct error *err);
bool http1_list_has(const char *list,
                    const char *token); /* whether a comma-separated list has the token, in any case */

struct http1_chunks {
    enum http1_chunk_state {
        CHUNK_SIZE,
        CHUNK_EXTENSION,
        CHUNK_SIZE_LF,
        CHUNK_DATA,
        CHUNK_DATA_CR,
        CHUNK_DATA_LF,
        CHUNK_TRAILER_START,
        CHUNK_TRAILER,
        CHUNK_TRAILER_LF,
        CHUNK_LAST_LF,
        CHUNK_END,
    } state;
    uint64_t left;    /* bytes of the current chunk still to come */
    unsigned digits;  /* digits of the chunk size read so far */
    unsigned ignored; /* bytes of extensions and trailers so far, bounded */
};

/* Reads from `in` until a span of data is found (*ret_data, *ret_n), the input is used up, or the body has ended
 * (c->state == CHUNK_END). Returns -1 if the framing is malformed. Start with a zeroed struct. */
int http1_chunks_next(struct http1_chunks *c, const char *in, size_t n, size_t *ret_used, const char **ret_data,
                      size_t *ret_n);

#endif
