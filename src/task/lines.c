#include "task/lines.h"

#include <string.h>

#include "common/base/utf8.h"

void line_framer_init(struct line_framer *f, enum task_stdtype stdtype, line_fn *fn, void *ctx)
{
    f->stdtype = stdtype;
    f->fn = fn;
    f->ctx = ctx;
    f->n = 0;
    f->after_cr = false;
    f->text = (struct strbuf)STRBUF_INIT;
    f->secret_n = 0;
}

void line_framer_hide(struct line_framer *f, const char *secret)
{
    if (f->secret_n < LINE_SECRETS_MAX && strlen(secret) >= LINE_SECRET_MIN)
        f->secret[f->secret_n++] = secret;
}

void line_framer_release(struct line_framer *f)
{
    strbuf_release(&f->text);
}

static const char *skip_blank(const char *p, const char *end)
{
    return p < end && *p == ' ' ? p + 1 : p;
}

static const char *skip_word(const char *p, const char *end, const char *word)
{
    size_t n = strlen(word);
    return (size_t)(end - p) >= n && memcmp(p, word, n) == 0 ? p + n : NULL;
}

/* Parses ` ?[rank=N] ?` at the beginning. Returns what follows it, or `text` if there is no such prefix. */
static const char *parse_rank(const char *text, const char *end, struct task_line *l)
{
    const char *p = skip_word(skip_blank(text, end), end, "[rank=");
    const char *digits = p;
    int64_t rank = 0;
    for (; p && p < end && *p >= '0' && *p <= '9' && rank <= INT32_MAX; p++)
        rank = rank * 10 + (*p - '0');
    if (!p || p == digits || p == end || *p != ']' || rank > INT32_MAX)
        return text;
    l->has_rank = true;
    l->rank = (int32_t)rank;
    return skip_blank(p + 1, end);
}

/* Parses ` ?LEVEL: ?` at the beginning. Returns what follows it, or `text` if there is no such prefix. */
static const char *parse_level(const char *text, const char *end, struct task_line *l)
{
    static const struct {
        const char *word;
        enum task_level level;
    } row[] = {
        {"DEBUG:", TASK_LEVEL_DEBUG}, {"INFO:", TASK_LEVEL_INFO},         {"WARNING:", TASK_LEVEL_WARNING},
        {"ERROR:", TASK_LEVEL_ERROR}, {"CRITICAL:", TASK_LEVEL_CRITICAL},
    };
    const char *start = skip_blank(text, end);
    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        const char *p = skip_word(start, end, row[i].word);
        if (p) {
            l->level = row[i].level;
            return skip_blank(p, end);
        }
    }
    return text;
}

static void add_clean(struct strbuf *out, const char *p, const char *end)
{
    while (p < end) {
        size_t n = utf8_check(p, (size_t)(end - p));
        const char *nul = memchr(p, 0, n);
        if (nul)
            n = (size_t)(nul - p);
        strbuf_add(out, p, n);
        p += n;
        if (p < end)
            strbuf_adds(out, *p++ ? UTF8_REPLACEMENT : UTF8_NUL);
    }
}

static void hide_secret(struct strbuf *text, const char *secret)
{
    enum { SHOWN = 8 };
    size_t n = strlen(secret);
    for (char *at = text->s; (at = memmem(at, text->n - (size_t)(at - text->s), secret, n)); at += SHOWN) {
        memset(at, '*', SHOWN);
        memmove(at + SHOWN, at + n, text->n - (size_t)(at - text->s) - n + 1);
        text->n -= n - SHOWN;
    }
}

static void emit_line(struct line_framer *f, size_t n, bool ended, int64_t now_us)
{
    struct task_line l = {.time_us = now_us, .stdtype = f->stdtype};
    const char *end = f->buf + n;
    const char *text = parse_level(parse_rank(f->buf, end, &l), end, &l);
    strbuf_reset(&f->text);
    add_clean(&f->text, text, end);
    for (int i = 0; i < f->secret_n && f->text.n > 0; i++)
        hide_secret(&f->text, f->secret[i]);
    if (ended)
        strbuf_addc(&f->text, '\n');
    l.text = strbuf_str(&f->text);
    l.text_n = f->text.n;
    f->fn(f->ctx, &l);
}

/* How many of the n bytes can be cut off without splitting a character. */
static size_t cut_point(const char *buf, size_t n)
{
    for (size_t back = 1; back <= 3 && back < n; back++) {
        unsigned char c = (unsigned char)buf[n - back];
        if (c >= 0xc0) {
            size_t want = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;
            return want > back ? n - back : n;
        }
        if (c < 0x80)
            break;
    }
    return n;
}

static void cut_long_line(struct line_framer *f, int64_t now_us)
{
    size_t n = cut_point(f->buf, f->n);
    emit_line(f, n, /* ended= */ false, now_us);
    f->n -= n;
    memmove(f->buf, f->buf + n, f->n);
}

static size_t until_line_end(const char *p, size_t n)
{
    size_t i = 0;
    while (i < n && p[i] != '\n' && p[i] != '\r')
        i++;
    return i;
}

void line_framer_feed(struct line_framer *f, const char *data, size_t n, int64_t now_us)
{
    const char *end = data + n;
    while (data < end) {
        if (f->after_cr && *data == '\n') {
            data++;
            f->after_cr = false;
            continue;
        }
        f->after_cr = false;
        size_t room = sizeof(f->buf) - f->n;
        size_t left = (size_t)(end - data);
        size_t take = until_line_end(data, left < room ? left : room);
        memcpy(f->buf + f->n, data, take);
        f->n += take;
        data += take;
        if (f->n == sizeof(f->buf)) {
            cut_long_line(f, now_us);
        } else if (data < end) {
            f->after_cr = *data++ == '\r';
            emit_line(f, f->n, /* ended= */ true, now_us);
            f->n = 0;
        }
    }
}

void line_framer_end(struct line_framer *f, int64_t now_us)
{
    if (f->n)
        emit_line(f, f->n, /* ended= */ false, now_us);
    f->n = 0;
    f->after_cr = false;
}
