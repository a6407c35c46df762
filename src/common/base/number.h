/* Numbers as JSON writes them. LC_NUMERIC must stay "C", as it is in a program that never calls setlocale(). */
#ifndef DET_COMMON_BASE_NUMBER_H
#define DET_COMMON_BASE_NUMBER_H

#include <stddef.h>
#include <stdint.h>

#define NUMBER_TEXT_MAX 40

/* Each function writes a text that ends in a NUL byte, and returns its length. Floating-point numbers are written as
 * the shortest text that reads back as the same number: in plain form from 1e-6 up to 1e21, else with an exponent; NaN,
 * Infinity and -Infinity without quotes. */
size_t number_put_int64(int64_t v, char out[NUMBER_TEXT_MAX]);
size_t number_put_uint64(uint64_t v, char out[NUMBER_TEXT_MAX]);
size_t number_put_double(double v, char out[NUMBER_TEXT_MAX]);
size_t number_put_float(float v, char out[NUMBER_TEXT_MAX]);
/* As Python's repr(): plain from 1e-4 up to 1e16, and always with a point or an exponent. */
size_t number_put_repr(double v, char out[NUMBER_TEXT_MAX]);

/* Length of the JSON number that s[0 … n) starts with; 0 if it starts with none. */
size_t number_scan(const char *s, size_t n);
/* Converts s[0 … n), which number_scan() has found. An integer may be written as 1.0 or 1e2. Returns -1 if it is not
 * integral or out of range. */
int number_to_int64(const char *s, size_t n, int64_t *ret);
int number_to_uint64(const char *s, size_t n, uint64_t *ret);
int number_to_double(const char *s, size_t n, double *ret); /* correctly rounded; -1 if it overflows */
int number_to_float(const char *s, size_t n, float *ret);
/* Parses an integer of a command line or a query: decimal, 0x…, 0o… or 0…, 0b…, with a sign. Returns -1 if it is
 * malformed or out of range. */
int number_parse_any_base(const char *s, int64_t min, uint64_t max, int64_t *ret);

#endif
