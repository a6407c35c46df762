/* A growing string, always NUL-terminated at s[n]. Depends on nothing above libc.
 *
 * Running out of memory aborts the program: a string of a few KiB that cannot be had means the machine is gone.
 * Whatever a user can make grow without bound is limited where it enters (HTTP bodies, lines, lists), not here. */
#ifndef DET_COMMON_BASE_STRBUF_H
#define DET_COMMON_BASE_STRBUF_H

#include <stdarg.h>
#include <stddef.h>

struct strbuf {
    char *s; /* NULL if nothing was added yet */
    size_t n, cap;
};

#define STRBUF_INIT {0}

void strbuf_release(struct strbuf *b); /* frees the memory; b is usable again */
void strbuf_reset(struct strbuf *b);   /* keeps the memory */
void strbuf_reserve(struct strbuf *b, size_t extra);
void strbuf_add(struct strbuf *b, const void *data, size_t n);
void strbuf_adds(struct strbuf *b, const char *s);
void strbuf_addc(struct strbuf *b, char c);
void strbuf_addf(struct strbuf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void strbuf_vaddf(struct strbuf *b, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));
/* Adds a quoted and escaped JSON string. < > & U+2028 U+2029 are escaped, too (docs/spec/wire.md#replies); malformed
 * UTF-8 becomes U+FFFD. */
void strbuf_add_json(struct strbuf *b, const char *s, size_t n);
/* as strbuf_add_json(); UTF8_NUL (common/base/utf8.h) is written as \u0000 */
void strbuf_add_json_with_nul(struct strbuf *b, const char *s, size_t n);
void strbuf_truncate(struct strbuf *b, size_t n);
void strbuf_consume(struct strbuf *b, size_t n); /* drops the first n bytes */
char *strbuf_detach(struct strbuf *b);           /* caller frees; never NULL; b is empty afterwards */
const char *strbuf_str(const struct strbuf *b);  /* never NULL */

#define cleanup_strbuf __attribute__((cleanup(strbuf_release)))

#endif
