/* Strict JSON text, read piece by piece: the grammar half of the decoder (codec_decode.c is the half that knows
 * tables).
 *
 * A reader stands somewhere in a text that need not end in NUL. Each function takes one piece and moves on, or says
 * what is wrong, where, and at which JSON path. Nesting is bounded, so the recursion is, too. Included by codec*.c
 * only. */
#ifndef DET_COMMON_CODEC_READER_H
#define DET_COMMON_CODEC_READER_H

#include <stdbool.h>
#include <stddef.h>

#include "common/arena.h"
#include "common/error.h"
#include "common/strbuf.h"

/* Where the reader is, for errors: a chain through the callers' frames. */
struct reader_step {
    const struct reader_step *parent;
    const char *name; /* NULL for an index */
    size_t name_n, index;
};

struct reader {
    const char *start, *p, *end;
    struct arena *a;
    struct error *err;
    const struct reader_step *step;
    int depth;
    size_t blanks;      /* seen so far, outside strings */
    size_t arena_limit; /* how far the decoder may fill the arena */
};

/* A part of the text: a number, or what stands between two quotes. */
struct reader_slice {
    const char *s;
    size_t n;
    bool escaped;
};

int reader_fail(struct reader *r, enum error_kind kind, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
int reader_fail_syntax(struct reader *r, const char *expected); /* with line and column of r->p */
int reader_fail_type(struct reader *r, const char *expected, const char *at);
/* The value at p, or its beginning, as the sender wrote it; in buf, or a constant. */
enum { READER_FOUND_MAX = 48 };
const char *reader_found(const char *p, const char *end, char buf[READER_FOUND_MAX]);

/* The next byte that counts; 0 at the end (a NUL byte fits no grammar either). */
char reader_peek(struct reader *r);
bool reader_word(struct reader *r, const char *word); /* takes it if it is there */
/* At a quote. Checked, not yet unescaped. */
int reader_string(struct reader *r, struct reader_slice *ret);
/* Unescaped and terminated, in the arena; *in then is that text. */
const char *reader_text(struct reader *r, struct reader_slice *in);
const char *reader_text_with_nul(struct reader *r, struct reader_slice *in); /* U+0000 becomes UTF8_NUL instead of U+FFFD */
int reader_number(struct reader *r, struct reader_slice *ret);

/* At the opening brace or bracket; fn takes each value. `key` is unescaped, and NULL in a list. */
typedef int reader_member_fn(struct reader *r, const struct reader_slice *key, void *ctx);
int reader_object(struct reader *r, reader_member_fn *fn, void *ctx);
int reader_list(struct reader *r, reader_member_fn *fn, void *ctx);
int reader_skip(struct reader *r); /* a value of any kind, checked */

#endif
