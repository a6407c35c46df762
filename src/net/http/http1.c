#include "net/http/http1.h"

#include <string.h>
#include <strings.h>

#include "common/base/hex.h"

#define STRING(x) STRING_OF(x)
#define STRING_OF(x) #x
#define CHUNK_IGNORED_MAX 16384 /* bytes of chunk extensions and trailers in one body */

static const char *const method_names[HTTP_METHOD_NR] = {
    [HTTP_GET] = "GET",     [HTTP_HEAD] = "HEAD",     [HTTP_POST] = "POST",       [HTTP_PUT] = "PUT",
    [HTTP_PATCH] = "PATCH", [HTTP_DELETE] = "DELETE", [HTTP_OPTIONS] = "OPTIONS",
};

const char *http_method_name(enum http_method m)
{
    return method_names[m];
}

/* The characters of methods and header names (RFC 9110 5.6.2). */
static const bool token_char[256] = {
    ['!'] = 1, ['#'] = 1, ['$'] = 1, ['%'] = 1,         ['&'] = 1,         ['\''] = 1,
    ['*'] = 1, ['+'] = 1, ['-'] = 1, ['.'] = 1,         ['^'] = 1,         ['_'] = 1,
    ['`'] = 1, ['|'] = 1, ['~'] = 1, ['0' ... '9'] = 1, ['A' ... 'Z'] = 1, ['a' ... 'z'] = 1,
};

/* Where a fault is reported. Of a request that is the status of its reply, and a sentence for its sender. Of an answer
 * (status NULL) it is the reason alone. */
struct fault {
    int *status;
    struct error *err;
};

static int set_fault(struct fault f, const char *why)
{
    if (!f.status)
        return error_set(f.err, ERR_BAD_GATEWAY, "%s", why);
    *f.status = 400;
    return error_set(f.err, ERR_INVALID, "malformed HTTP request: %s", why);
}

/* ---- the request line -------------------------------------------------------------------------------------------- */

static int parse_method(const char *s, size_t n, enum http_method *ret, struct fault f)
{
    for (int m = 0; m < HTTP_METHOD_NR; m++)
        if (strlen(method_names[m]) == n && memcmp(method_names[m], s, n) == 0) {
            *ret = m;
            return 0;
        }
    for (size_t i = 0; i < n; i++)
        if (!token_char[(unsigned char)s[i]])
            return set_fault(f, "the request line does not start with a method");
    *f.status = 501;
    return error_set(f.err, ERR_UNIMPLEMENTED, "the method %.*s is not supported", n < 20 ? (int)n : 20, s);
}

static int parse_version(const char *s, size_t n, int *ret_minor, struct fault f)
{
    if (n != 8 || memcmp(s, "HTTP/", 5) != 0)
        return set_fault(f, "the request line does not end in HTTP/1.1");
    if (s[5] != '1' || s[6] != '.' || s[7] < '0' || s[7] > '9') {
        *f.status = 505;
        return error_set(f.err, ERR_UNIMPLEMENTED, "%.8s is not supported, HTTP/1.1 is", s);
    }
    *ret_minor = s[7] == '0' ? 0 : 1;
    return 0;
}

/* Splits "/path?query"; also accepts the absolute form "http://host/path?query", which clients send to proxies. */
static int parse_target(char *s, size_t n, struct http1_head *h, struct fault f)
{
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)s[i] <= ' ' || s[i] == 0x7f)
            return set_fault(f, "a control character in the address");
    s[n] = '\0';
    if (strncasecmp(s, "http://", 7) == 0 || strncasecmp(s, "https://", 8) == 0) {
        s = strchr(strchr(s, ':') + 3, '/');
        if (!s)
            return set_fault(f, "the address has no path");
    }
    if (s[0] != '/' && strcmp(s, "*") != 0)
        return set_fault(f, "the address does not start with /");
    char *end = strpbrk(s, "?#");
    h->path = s;
    h->query = "";
    if (end && *end == '?') {
        h->query = end + 1;
        char *fragment = strchr(end, '#');
        if (fragment)
            *fragment = '\0';
    }
    if (end)
        *end = '\0';
    return 0;
}

static int parse_request_line(char *line, size_t n, struct http1_head *h, struct fault f)
{
    char *method_end = memchr(line, ' ', n);
    char *version = memrchr(line, ' ', n);
    if (!method_end || method_end == version || method_end == line)
        return set_fault(f, "the request line is not \"METHOD /path HTTP/1.1\"");
    char *target = method_end + 1;
    if (parse_method(line, (size_t)(method_end - line), &h->method, f) < 0)
        return -1;
    if (parse_version(version + 1, (size_t)(line + n - version - 1), &h->minor_version, f) < 0)
        return -1;
    return parse_target(target, (size_t)(version - target), h, f);
}

/* ---- header lines ------------------------------------------------------------------------------------------------ */

static int too_many_headers(struct fault f)
{
    if (!f.status)
        return set_fault(f, "more than " STRING(HTTP1_HEADERS_MAX) " headers");
    *f.status = 431;
    return error_set(f.err, ERR_TOO_LARGE, "the request has more than %d headers", HTTP1_HEADERS_MAX);
}

static int parse_header_line(char *line, size_t n, struct http1_header *header, size_t *header_n, struct fault f)
{
    size_t name_n = 0;
    while (name_n < n && token_char[(unsigned char)line[name_n]])
        name_n++;
    if (name_n == 0 || name_n == n || line[name_n] != ':')
        return set_fault(f, "a header line is not \"Name: value\"");
    char *value = line + name_n + 1, *end = line + n;
    while (value < end && (*value == ' ' || *value == '\t'))
        value++;
    while (end > value && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    for (char *p = value; p < end; p++)
        if (((unsigned char)*p < ' ' && *p != '\t') || *p == 0x7f)
            return set_fault(f, "a control character in a header");
    if (*header_n == HTTP1_HEADERS_MAX)
        return too_many_headers(f);
    line[name_n] = '\0';
    *end = '\0';
    header[(*header_n)++] = (struct http1_header){line, value};
    return 0;
}

const char *http1_find(const struct http1_head *h, const char *name)
{
    for (size_t i = 0; i < h->header_n; i++)
        if (strcasecmp(h->header[i].name, name) == 0)
            return h->header[i].value;
    return NULL;
}

bool http1_list_has(const char *list, const char *token)
{
    size_t token_n = strlen(token);
    for (const char *p = list; *p;) {
        p += strspn(p, " \t,");
        size_t n = strcspn(p, " \t,");
        if (n == token_n && strncasecmp(p, token, n) == 0)
            return true;
        p += n;
    }
    return false;
}

bool http1_has_token(const struct http1_head *h, const char *name, const char *token)
{
    for (size_t i = 0; i < h->header_n; i++)
        if (strcasecmp(h->header[i].name, name) == 0 && http1_list_has(h->header[i].value, token))
            return true;
    return false;
}

static int parse_length(const char *s, uint64_t *ret, struct fault f)
{
    size_t n = strspn(s, "0123456789");
    if (n == 0 || n > 18 || s[n] != '\0')
        return set_fault(f, "Content-Length is not a number");
    uint64_t length = 0;
    for (size_t i = 0; i < n; i++)
        length = 10 * length + (uint64_t)(s[i] - '0');
    *ret = length;
    return 0;
}

struct framing { /* headers that decide where the request ends, and whether the connection is kept */
    int lengths, encodings, hosts;
};

static int apply_framing_header(const struct http1_header *x, struct http1_head *h, struct framing *seen,
                                struct fault f)
{
    if (strcasecmp(x->name, "Content-Length") == 0) {
        seen->lengths++;
        return parse_length(x->value, &h->length, f);
    }
    if (strcasecmp(x->name, "Transfer-Encoding") == 0) {
        seen->encodings++;
        h->chunked = true;
        if (strcasecmp(x->value, "chunked") == 0)
            return 0;
        *f.status = 501;
        return error_set(f.err, ERR_UNIMPLEMENTED, "Transfer-Encoding \"%.40s\" is not supported, chunked is",
                         x->value);
    }
    if (strcasecmp(x->name, "Connection") == 0) {
        if (http1_list_has(x->value, "close"))
            h->keep_alive = false;
        else if (http1_list_has(x->value, "keep-alive"))
            h->keep_alive = true;
    } else if (strcasecmp(x->name, "Host") == 0) {
        seen->hosts++;
    } else if (strcasecmp(x->name, "Expect") == 0) {
        h->expects_continue = strcasecmp(x->value, "100-continue") == 0;
        if (!h->expects_continue) {
            *f.status = 417;
            return error_set(f.err, ERR_INVALID, "Expect: %.40s is not supported, 100-continue is", x->value);
        }
    }
    return 0;
}

static int apply_framing(struct http1_head *h, struct fault f)
{
    struct framing seen = {0};
    h->keep_alive = h->minor_version == 1;
    for (size_t i = 0; i < h->header_n; i++)
        if (apply_framing_header(&h->header[i], h, &seen, f) < 0)
            return -1;
    if (seen.lengths > 1)
        return set_fault(f, "more than one Content-Length");
    if (seen.encodings > 1 || (seen.encodings && (seen.lengths || h->minor_version == 0)))
        return set_fault(f, "Transfer-Encoding where it is not allowed");
    if (seen.hosts > 1 || (seen.hosts == 0 && h->minor_version == 1))
        return set_fault(f, "there must be exactly one Host header");
    return 0;
}

/* ---- whole heads ------------------------------------------------------------------------------------------------- */

struct lines {
    char *next, *end;
};

/* Takes the next line, without its CR LF. */
static int next_line(struct lines *all, char **ret, size_t *ret_n, struct fault f)
{
    char *line = all->next, *lf = memchr(line, '\n', (size_t)(all->end - line));
    if (!lf || lf == line || lf[-1] != '\r')
        return set_fault(f, "a line does not end in CR LF");
    *ret = line;
    *ret_n = (size_t)(lf - 1 - line);
    all->next = lf + 1;
    if (memchr(line, '\r', *ret_n) || memchr(line, '\0', *ret_n))
        return set_fault(f, "a control character in a line");
    return 0;
}

static int parse_header_lines(struct lines *all, struct http1_header *header, size_t *header_n, struct fault f)
{
    char *line;
    size_t n;
    *header_n = 0;
    for (;;) {
        if (next_line(all, &line, &n, f) < 0)
            return -1;
        if (n == 0)
            return 0;
        if (parse_header_line(line, n, header, header_n, f) < 0)
            return -1;
    }
}

int http1_parse_head(char *text, size_t n, struct http1_head *ret, int *ret_status, struct error *err)
{
    struct fault f = {ret_status, err};
    struct lines all = {text, text + n};
    char *line;
    ret->chunked = ret->expects_continue = false;
    ret->length = 0;
    if (next_line(&all, &line, &n, f) < 0 || parse_request_line(line, n, ret, f) < 0 ||
        parse_header_lines(&all, ret->header, &ret->header_n, f) < 0)
        return -1;
    return apply_framing(ret, f);
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* "HTTP/1.1 200 OK". The reason may be missing, and with it the blank before it. */
static int parse_status_line(const char *s, size_t n, struct http1_answer *a, struct fault f)
{
    if (n < 12 || memcmp(s, "HTTP/1.", 7) != 0 || !is_digit(s[7]) || s[8] != ' ' || !is_digit(s[9]) ||
        !is_digit(s[10]) || !is_digit(s[11]) || (n > 12 && s[12] != ' '))
        return set_fault(f, "the first line is not \"HTTP/1.1 STATUS REASON\"");
    a->minor_version = s[7] == '0' ? 0 : 1;
    a->status = (s[9] - '0') * 100 + (s[10] - '0') * 10 + s[11] - '0';
    return a->status >= 100 && a->status < 600 ? 0 : set_fault(f, "the status is not one of 100 to 599");
}

static int apply_answer_framing(struct http1_answer *a, struct fault f)
{
    int lengths = 0, encodings = 0;
    for (size_t i = 0; i < a->header_n; i++) {
        const char *name = a->header[i].name, *value = a->header[i].value;
        if (strcasecmp(name, "Content-Length") == 0) {
            lengths++;
            if (parse_length(value, &a->length, f) < 0)
                return -1;
        } else if (strcasecmp(name, "Transfer-Encoding") == 0) {
            encodings++;
            if (strcasecmp(value, "chunked") != 0)
                return set_fault(f, "a Transfer-Encoding other than chunked");
        }
    }
    if (lengths > 1)
        return set_fault(f, "more than one Content-Length");
    if (encodings > 1 || (encodings && (lengths || a->minor_version == 0)))
        return set_fault(f, "Transfer-Encoding where it is not allowed");
    a->has_length = lengths == 1;
    a->chunked = encodings == 1;
    return 0;
}

int http1_parse_answer(char *text, size_t n, struct http1_answer *ret, struct error *err)
{
    struct fault f = {NULL, err};
    struct lines all = {text, text + n};
    char *line;
    ret->length = 0;
    if (next_line(&all, &line, &n, f) < 0 || parse_status_line(line, n, ret, f) < 0 ||
        parse_header_lines(&all, ret->header, &ret->header_n, f) < 0)
        return -1;
    return apply_answer_framing(ret, f);
}

/* ---- chunked bodies ---------------------------------------------------------------------------------------------- */

static int size_char(struct http1_chunks *c, char ch)
{
    int digit = hex_digit(ch);
    if (digit >= 0) {
        c->left = c->left << 4 | (uint64_t)digit;
        return ++c->digits <= 12 ? 0 : -1;
    }
    if (c->digits == 0)
        return -1;
    if (ch == '\r')
        c->state = CHUNK_SIZE_LF;
    else if (ch == ';' || ch == ' ' || ch == '\t')
        c->state = CHUNK_EXTENSION;
    else
        return -1;
    return 0;
}

static int expect_char(struct http1_chunks *c, char ch, char wanted, enum http1_chunk_state next)
{
    c->state = next;
    return ch == wanted ? 0 : -1;
}

static int ignored_char(struct http1_chunks *c, char ch, enum http1_chunk_state at_end)
{
    if (ch == '\r')
        c->state = at_end;
    return ch != '\n' && ++c->ignored <= CHUNK_IGNORED_MAX ? 0 : -1;
}

static int framing_char(struct http1_chunks *c, char ch)
{
    switch (c->state) {
    case CHUNK_SIZE:
        return size_char(c, ch);
    case CHUNK_EXTENSION:
        return ignored_char(c, ch, CHUNK_SIZE_LF);
    case CHUNK_SIZE_LF:
        c->digits = 0;
        return expect_char(c, ch, '\n', c->left ? CHUNK_DATA : CHUNK_TRAILER_START);
    case CHUNK_DATA_CR:
        return expect_char(c, ch, '\r', CHUNK_DATA_LF);
    case CHUNK_DATA_LF:
        return expect_char(c, ch, '\n', CHUNK_SIZE);
    case CHUNK_TRAILER_START:
        c->state = ch == '\r' ? CHUNK_LAST_LF : CHUNK_TRAILER;
        return ch == '\n' ? -1 : 0;
    case CHUNK_TRAILER:
        return ignored_char(c, ch, CHUNK_TRAILER_LF);
    case CHUNK_TRAILER_LF:
        return expect_char(c, ch, '\n', CHUNK_TRAILER_START);
    case CHUNK_LAST_LF:
        return expect_char(c, ch, '\n', CHUNK_END);
    case CHUNK_DATA:
    case CHUNK_END:
        break;
    }
    return -1;
}

int http1_chunks_next(struct http1_chunks *c, const char *in, size_t n, size_t *ret_used, const char **ret_data,
                      size_t *ret_n)
{
    size_t used = 0;
    *ret_n = 0;
    while (used < n && c->state != CHUNK_END && c->state != CHUNK_DATA)
        if (framing_char(c, in[used++]) < 0)
            return -1;
    if (c->state == CHUNK_DATA && used < n) {
        *ret_data = in + used;
        *ret_n = n - used < c->left ? n - used : (size_t)c->left;
        c->left -= *ret_n;
        used += *ret_n;
        if (c->left == 0)
            c->state = CHUNK_DATA_CR;
    }
    *ret_used = used;
    return 0;
}
