/* The grammar of JSON, strictly: the only place that knows it. The decoder of messages (codec_decode.c), json_parse()
 * (json.c) and the members of a stored metric (store/metrics/metric_value.c) read through it.
 *
 * A reader stands somewhere in a text that need not end in NUL. Each function takes one piece and moves on, or says
 * what is wrong, where, and at which JSON path. Nesting is bounded, so the recursion is, too. */
#ifndef DET_COMMON_JSON_JSON_READER_H
#define DET_COMMON_JSON_JSON_READER_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/arena.h"
#include "common/base/error.h"
#include "common/base/strbuf.h"

enum { READER_DEPTH_MAX = 100 };

/* One step of the JSON path at which the reader is, for errors. The steps form a chain through the callers' frames. */
struct reader_step {
    const struct reader_step *parent;
    const char *name; /* NULL for an index */
    size_t name_n, index;
};

struct reader {
    const char *start, *p, *end;
    struct arena *a; /* for texts that have escapes, and what callers put there */
    struct error *err;
    const char *syntax; /* begins the message about a text that is no JSON; NULL: nothing does */
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

/* The next byte that is not blank; 0 at the end (a NUL byte is invalid in every place, too). */
char reader_peek(struct reader *r);
bool reader_word(struct reader *r, const char *word); /* moves past the word if it is there */
/* Reads a string; the reader stands at its opening quote. The result is checked, but not yet unescaped. */
int reader_string(struct reader *r, struct reader_slice *ret);
/* The text of a string, unescaped and ending in a NUL byte, in the arena; *in becomes that text. */
const char *reader_text(struct reader *r, struct reader_slice *in);
const char *reader_text_with_nul(struct reader *r,
                                 struct reader_slice *in); /* U+0000 becomes UTF8_NUL instead of U+FFFD */
int reader_number(struct reader *r, struct reader_slice *ret);

/* Checks that only blanks are left. */
int reader_end(struct reader *r);

/* One value after the other: reader_enter() at the opening brace or bracket, then reader_next() before each value,
 * which the caller takes. 1: the reader stands at a value, and *key is its name, unescaped (of a list key is NULL); 0:
 * that was all. */
int reader_enter(struct reader *r);
int reader_next(struct reader *r, char close, bool first, struct reader_slice *key);

/* Reads an object or a list; the reader stands at its opening brace or bracket. fn reads each value. `key` is
 * unescaped, and NULL in a list. */
typedef int reader_member_fn(struct reader *r, const struct reader_slice *key, void *ctx);
int reader_object(struct reader *r, reader_member_fn *fn, void *ctx);
int reader_list(struct reader *r, reader_member_fn *fn, void *ctx);
int reader_skip(struct reader *r); /* moves past a value of any kind, and checks it */

#endif
