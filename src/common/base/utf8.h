/* UTF-8 as RFC 3629 has it: no overlong forms, no surrogates, nothing above U+10FFFF. */
#ifndef DET_COMMON_BASE_UTF8_H
#define DET_COMMON_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Stands for U+0000 within texts that end in a zero byte: its overlong form, which no well-formed text has. Texts of
 * logs may hold it. Where a text leaves the program (JSON, regular expressions) it becomes U+0000 again. */
#define UTF8_NUL "\xc0\x80"
#define UTF8_REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

/* Length of the well-formed sequence that s[0 … n) starts with: 1 … 4, or 0 if it starts with none. */
size_t utf8_sequence(const char *s, size_t n);
/* Offset of the first byte that is not part of well-formed UTF-8; n if there is none. */
size_t utf8_check(const char *s, size_t n);
/* Whether the byte goes on with a character. In UTF-8, each character has exactly one byte that does not. */
static inline bool utf8_is_tail(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}
/* The number of characters of a well-formed text. */
size_t utf8_count(const char *s);
/* How many bytes of the well-formed text s[0 … n) fit into `max` bytes: the text is cut between two characters. */
size_t utf8_cut(const char *s, size_t n, size_t max);
/* Returns the first control character of ASCII (below the space, or DEL), or NULL. */
const char *text_find_control(const char *s);
/* Writes up to 4 bytes, returns how many; surrogates and numbers beyond Unicode become U+FFFD. */
size_t utf8_put(uint32_t code, char out[4]);
/* Returns a copy of the text with a zero byte for each UTF8_NUL; returns NULL if the text has none. */
char *utf8_with_zeros(const char *s, size_t n, size_t *ret_n);

#endif
