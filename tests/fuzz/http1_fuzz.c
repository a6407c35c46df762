/* Any bytes as a request: head, then chunked body. What is found must lie inside the input, and cutting the body
 * elsewhere must not change what is read. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "net/http/http1.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* The chunked body in `in`, fed in pieces of `step` bytes, into *out. -1 if the framing is broken. */
static int read_chunks(const char *in, size_t n, size_t step, struct strbuf *out)
{
    struct http1_chunks c = {0};
    size_t at = 0;
    while (at < n && c.state != CHUNK_END) {
        const char *span;
        size_t used, span_n, piece = n - at < step ? n - at : step;
        if (http1_chunks_next(&c, in + at, piece, &used, &span, &span_n) < 0)
            return -1;
        if (used == 0 || used > piece || (span_n && (span < in + at || span + span_n > in + at + piece)))
            abort();
        strbuf_add(out, span_n ? span : "", span_n);
        at += used;
    }
    return 0;
}

static void check_head(const struct http1_head *h, const char *text, size_t n)
{
    if (h->path < text || h->path >= text + n || h->header_n > HTTP1_HEADERS_MAX || (h->chunked && h->length))
        abort();
    for (size_t i = 0; i < h->header_n; i++)
        if (strpbrk(h->header[i].name, " \t\r\n:") || strpbrk(h->header[i].value, "\r\n"))
            abort();
    http1_has_token(h, "Connection", "upgrade");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct strbuf text cleanup_strbuf = STRBUF_INIT;
    struct strbuf whole cleanup_strbuf = STRBUF_INIT;
    struct strbuf cut cleanup_strbuf = STRBUF_INIT;
    struct error err cleanup_error = ERROR_INIT;
    static struct http1_head head;
    int status = 0;

    strbuf_add(&text, data, n);
    const char *end = n ? memmem(text.s, n, "\r\n\r\n", 4) : NULL;
    size_t head_n = end ? (size_t)(end + 4 - text.s) : 0;
    if (head_n && http1_parse_head(text.s, head_n, &head, &status, &err) == 0)
        check_head(&head, text.s, head_n);
    else if (head_n && (status < 400 || err.kind == ERR_NONE))
        abort();

    int whole_rc = read_chunks(strbuf_str(&text) + head_n, n - head_n, SIZE_MAX, &whole);
    int cut_rc = read_chunks(strbuf_str(&text) + head_n, n - head_n, 1, &cut);
    if (whole_rc != cut_rc ||
        (whole_rc == 0 && (whole.n != cut.n || (whole.n && memcmp(whole.s, cut.s, whole.n) != 0))))
        abort();
    return 0;
}
