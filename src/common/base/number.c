#include "common/base/number.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "common/base/must.h"

static size_t put_digits(uint64_t v, char *out)
{
    char reversed[NUMBER_TEXT_MAX];
    size_t n = 0;
    do
        reversed[n++] = (char)('0' + v % 10);
    while ((v /= 10) != 0);
    for (size_t i = 0; i < n; i++)
        out[i] = reversed[n - 1 - i];
    out[n] = '\0';
    return n;
}

size_t number_put_uint64(uint64_t v, char out[NUMBER_TEXT_MAX])
{
    return put_digits(v, out);
}

size_t number_put_int64(int64_t v, char out[NUMBER_TEXT_MAX])
{
    if (v >= 0)
        return put_digits((uint64_t)v, out);
    out[0] = '-';
    return 1 + put_digits(-(uint64_t)v, out + 1);
}

/* A positive decimal number: 0.DDDD · 10^point, no zeros at either end. */
struct decimal {
    char digit[NUMBER_TEXT_MAX];
    int n, point;
};

static void strip_zeros(struct decimal *d)
{
    while (d->n > 1 && d->digit[d->n - 1] == '0')
        d->n--;
}

/* Tries to write v with few decimals, as most reported numbers have. If v · 10^k is a whole number below 10^15, the
 * rounding error of the product is below a quarter, so the nearest integer is the intended one, and dividing it by 10^k
 * (exact up to 10^22) proves it. The first k that works gives the fewest digits. */
static bool few_decimals(double v, struct decimal *ret)
{
    double power = 1;
    for (int k = 0; k <= 16 && v * power < 1e15; k++, power *= 10) {
        double whole = nearbyint(v * power);
        if (whole == 0 || whole / power != v)
            continue;
        ret->n = (int)put_digits((uint64_t)whole, ret->digit);
        ret->point = ret->n - k;
        strip_zeros(ret);
        return true;
    }
    return false;
}

static bool reads_back(const char *text, double v, bool is_float)
{
    return is_float ? strtof(text, NULL) == (float)v : strtod(text, NULL) == v;
}

/* Finds the shortest digits by rounding to more and more digits until the text reads back as v. `least` digits always
 * survive the way to binary and back, so fewer digits cannot do better than those with their zeros stripped. Subnormal
 * numbers have less precision, and start at one digit. */
static void shortest_decimal(double v, bool is_float, struct decimal *ret)
{
    int least = is_float ? 6 : 15, most = is_float ? 9 : 17;
    if (v < (is_float ? 1.17549435e-38 : 2.2250738585072014e-308))
        least = 1;
    char text[NUMBER_TEXT_MAX];
    for (int digits = least; digits <= most; digits++) {
        snprintf(text, sizeof(text), "%.*e", digits - 1, v);
        if (digits == most || reads_back(text, v, is_float))
            break;
    }
    char *exponent = strchr(text, 'e');
    ret->point = (int)strtol(exponent + 1, NULL, 10) + 1;
    ret->digit[0] = text[0];
    ret->n = 1;
    for (char *p = text + 2; p < exponent; p++)
        ret->digit[ret->n++] = *p;
    strip_zeros(ret);
}

static char *put_text(char *p, const char *s, int n)
{
    memcpy(p, s, (size_t)n);
    return p + n;
}

static char *put_zeros(char *p, int n)
{
    memset(p, '0', (size_t)n);
    return p + n;
}

/* Writes the plain form: 0.00DDDD, DD.DD or DDDD00. */
static char *put_plain(const struct decimal *d, char *p)
{
    if (d->point <= 0) {
        p = put_zeros(put_text(p, "0.", 2), -d->point);
        return put_text(p, d->digit, d->n);
    }
    if (d->point >= d->n)
        return put_zeros(put_text(p, d->digit, d->n), d->point - d->n);
    p = put_text(put_text(p, d->digit, d->point), ".", 1);
    return put_text(p, d->digit + d->point, d->n - d->point);
}

/* Writes the form with an exponent: D.DDDe-7, D.DDDe+21. */
static char *put_scientific(const struct decimal *d, char *p)
{
    int exponent = d->point - 1;
    *p++ = d->digit[0];
    if (d->n > 1)
        p = put_text(put_text(p, ".", 1), d->digit + 1, d->n - 1);
    *p++ = 'e';
    *p++ = exponent < 0 ? '-' : '+';
    return p + put_digits((uint64_t)abs(exponent), p);
}

static const char *special_text(double v)
{
    if (isnan(v))
        return "NaN";
    if (isinf(v))
        return v > 0 ? "Infinity" : "-Infinity";
    return v != 0 ? NULL : signbit(v) ? "-0" : "0";
}

static size_t put_real(double v, bool is_float, char *out)
{
    const char *special = special_text(v);
    if (special) {
        memcpy(out, special, strlen(special) + 1);
        return strlen(special);
    }
    char *p = out;
    if (v < 0)
        *p++ = '-';
    v = fabs(v);
    struct decimal d;
    if (is_float || !few_decimals(v, &d))
        shortest_decimal(v, is_float, &d);
    p = d.point > -6 && d.point <= 21 ? put_plain(&d, p) : put_scientific(&d, p);
    *p = '\0';
    return (size_t)(p - out);
}

size_t number_put_repr(double v, char out[NUMBER_TEXT_MAX])
{
    if (!isfinite(v))
        return put_real(v, false, out);
    char *p = out;
    struct decimal d = {.digit = "0", .n = 1, .point = 1};
    if (signbit(v))
        *p++ = '-';
    v = fabs(v);
    if (v != 0 && !few_decimals(v, &d))
        shortest_decimal(v, false, &d);
    int exponent = d.point - 1;
    if (exponent >= -4 && exponent < 16) {
        p = put_plain(&d, p);
        if (d.point >= d.n)
            p = put_text(p, ".0", 2);
    } else {
        p = put_scientific(&d, p);
        if (abs(exponent) < 10) { /* Python writes at least two digits of an exponent */
            p[0] = p[-1];
            p[-1] = '0';
            p++;
        }
    }
    *p = '\0';
    return (size_t)(p - out);
}

size_t number_put_double(double v, char out[NUMBER_TEXT_MAX])
{
    return put_real(v, false, out);
}

size_t number_put_float(float v, char out[NUMBER_TEXT_MAX])
{
    return put_real(v, true, out);
}

static size_t scan_digits(const char *s, size_t i, size_t n)
{
    while (i < n && s[i] >= '0' && s[i] <= '9')
        i++;
    return i;
}

size_t number_scan(const char *s, size_t n)
{
    size_t from = n > 0 && s[0] == '-', i = scan_digits(s, from, n), end;
    if (i == from || (s[from] == '0' && i > from + 1))
        return 0;
    if (i < n && s[i] == '.') {
        end = scan_digits(s, i + 1, n);
        if (end == i + 1)
            return 0;
        i = end;
    }
    if (i < n && (s[i] | 0x20) == 'e') {
        size_t digits = i + 1 < n && (s[i + 1] == '+' || s[i + 1] == '-') ? i + 2 : i + 1;
        end = scan_digits(s, digits, n);
        if (end == digits)
            return 0;
        i = end;
    }
    return i;
}

/* The number is mantissa · 10^exponent; `exact` unless it has more digits than fit. */
struct parts {
    bool negative, exact;
    uint64_t mantissa;
    int exponent;
};

static int clamp_exponent(const char *s, size_t n)
{
    bool negative = n > 0 && s[0] == '-';
    int value = 0;
    for (size_t i = n > 0 && (s[0] == '-' || s[0] == '+'); i < n && value < 100000; i++)
        value = value * 10 + (s[i] - '0');
    return negative ? -value : value;
}

/* Splits a number into its parts. Digits that do not fit into 64 bits only count as places, which is exact as long as
 * they are zeros. */
static struct parts take_apart(const char *s, size_t n)
{
    struct parts r = {.negative = s[0] == '-', .exact = true};
    bool fraction = false;
    size_t i = r.negative;
    for (; i < n && (s[i] | 0x20) != 'e'; i++) {
        if (s[i] == '.') {
            fraction = true;
            continue;
        }
        uint64_t digit = (uint64_t)(s[i] - '0');
        r.exponent -= fraction;
        if (r.mantissa <= (UINT64_MAX - digit) / 10) {
            r.mantissa = r.mantissa * 10 + digit;
        } else {
            r.exponent++;
            r.exact = r.exact && digit == 0;
        }
    }
    if (i < n)
        r.exponent += clamp_exponent(s + i + 1, n - i - 1);
    return r;
}

static int to_magnitude(const char *s, size_t n, bool *ret_negative, uint64_t *ret)
{
    struct parts r = take_apart(s, n);
    for (; r.exponent < 0 && r.mantissa % 10 == 0 && r.mantissa != 0; r.exponent++)
        r.mantissa /= 10;
    for (; r.exponent > 0 && r.mantissa != 0 && r.mantissa <= UINT64_MAX / 10; r.exponent--)
        r.mantissa *= 10;
    if (!r.exact || (r.mantissa != 0 && r.exponent != 0))
        return -1;
    *ret_negative = r.negative && r.mantissa != 0;
    *ret = r.mantissa;
    return 0;
}

static int in_range(bool negative, uint64_t magnitude, int64_t min, uint64_t max, int64_t *ret)
{
    if (negative ? magnitude > -(uint64_t)min : magnitude > max)
        return -1;
    *ret = (int64_t)(negative ? -magnitude : magnitude);
    return 0;
}

int number_to_int64(const char *s, size_t n, int64_t *ret)
{
    bool negative;
    uint64_t magnitude;
    if (to_magnitude(s, n, &negative, &magnitude) < 0)
        return -1;
    return in_range(negative, magnitude, INT64_MIN, INT64_MAX, ret);
}

int number_to_uint64(const char *s, size_t n, uint64_t *ret)
{
    bool negative;
    uint64_t magnitude;
    if (to_magnitude(s, n, &negative, &magnitude) < 0 || negative)
        return -1;
    *ret = magnitude;
    return 0;
}

/* Calls strtod() on a text that does not end in a NUL byte. */
static double slow_real(const char *s, size_t n, bool is_float)
{
    char buf[128];
    cleanup_free char *heap = NULL;
    char *text = n < sizeof(buf) ? buf : (heap = must_malloc(n + 1));
    memcpy(text, s, n);
    text[n] = '\0';
    return is_float ? strtof(text, NULL) : strtod(text, NULL);
}

/* Converts exactly representable parts by one operation. Both operands are exact, so the result is correctly rounded
 * (Clinger 1990). */
static bool fast_double(const struct parts *r, double *ret)
{
    static const double power[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                   1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    if (!r->exact || r->mantissa > UINT64_C(1) << 53 || abs(r->exponent) > 22)
        return false;
    double v = (double)r->mantissa;
    v = r->exponent < 0 ? v / power[-r->exponent] : v * power[r->exponent];
    *ret = r->negative ? -v : v;
    return true;
}

int number_to_double(const char *s, size_t n, double *ret)
{
    struct parts r = take_apart(s, n);
    double v;
    if (!fast_double(&r, &v))
        v = slow_real(s, n, false);
    if (isinf(v))
        return -1;
    *ret = v;
    return 0;
}

int number_to_float(const char *s, size_t n, float *ret)
{
    float v = (float)slow_real(s, n, true);
    if (isinf(v))
        return -1;
    *ret = v;
    return 0;
}

static int base_of(const char **s)
{
    const char *p = *s;
    if (p[0] != '0' || p[1] == '\0')
        return 10;
    int base = strchr("xX", p[1]) ? 16 : strchr("oO", p[1]) ? 8 : strchr("bB", p[1]) ? 2 : 0;
    *s += base != 0 ? 2 : 1;
    return base != 0 ? base : 8;
}

int number_parse_any_base(const char *s, int64_t min, uint64_t max, int64_t *ret)
{
    bool negative = *s == '-';
    s += *s == '-' || *s == '+';
    int base = base_of(&s);
    /* Checks first what strtoull() would accept, too: blanks, a second sign, and 0x after a base of 16. */
    bool again = base == 16 && s[0] == '0' && (s[1] | 0x20) == 'x';
    if (!strchr("0123456789abcdefABCDEF", *s) || *s == '\0' || again)
        return -1;
    char *end;
    errno = 0;
    uint64_t magnitude = strtoull(s, &end, base);
    if (*end != '\0' || errno != 0)
        return -1;
    return in_range(negative, magnitude, min, max, ret);
}
