/* Time: microseconds since the epoch, UTC, everywhere (names end in "_us"). Only programs read the clock; the core gets
 * `now_us` with its events. */
#ifndef DET_COMMON_BASE_CLOCK_H
#define DET_COMMON_BASE_CLOCK_H

#include <stddef.h>
#include <stdint.h>

int64_t clock_now_us(void);        /* wall clock */
int64_t clock_monotonic_us(void);  /* for intervals */
int64_t clock_thread_cpu_us(void); /* processor time of the calling thread, which stands still while the thread waits */

/* Writes RFC 3339 with Z and 0, 3 or 6 fractional digits, whichever is the shortest exact form. */
#define CLOCK_TEXT_MAX 40
size_t clock_format(int64_t us, char buf[CLOCK_TEXT_MAX]);
/* The same with exactly six fractional digits, for columns of text. */
size_t clock_format_micros(int64_t us, char buf[CLOCK_TEXT_MAX]);
/* Reads RFC 3339 with any offset and any number of fractional digits, which are cut to microseconds. Returns -1 if the
 * text is malformed or outside the years 0001 … 9999. */
int clock_parse(const char *s, size_t n, int64_t *ret_us);

#endif
