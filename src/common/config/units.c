/* Durations as Go writes them, sizes with binary units. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/config/schema.h"

#define NS_MICRO 1000.0
#define NS_MILLI 1e6
#define NS_SECOND 1e9

static double duration_unit(const char **s)
{
    static const struct {
        const char *name;
        double ns;
    } units[] = {{"ns", 1},        {"us", NS_MICRO}, {"\xc2\xb5s", NS_MICRO}, {"\xce\xbcs", NS_MICRO},
                 {"ms", NS_MILLI}, {"s", NS_SECOND}, {"m", 60 * NS_SECOND},   {"h", 3600 * NS_SECOND}};
    for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
        size_t n = strlen(units[i].name);
        char next = strncmp(*s, units[i].name, n) == 0 ? (*s)[n] : 'x';
        if (next == '\0' || next == '.' || isdigit((unsigned char)next)) {
            *s += n;
            return units[i].ns;
        }
    }
    return 0;
}

/* Reads digits with at most one dot. strtod alone would also accept signs, exponents, hexadecimal numbers and "nan". */
static bool plain_number(const char **s, double *ret)
{
    size_t n = strspn(*s, "0123456789"), fraction = (*s)[n] == '.' ? strspn(*s + n + 1, "0123456789") : 0;
    char digits[64];
    size_t all = n + ((*s)[n] == '.') + fraction;
    if (n + fraction == 0 || all >= sizeof(digits))
        return false;
    memcpy(digits, *s, all);
    digits[all] = '\0';
    *ret = strtod(digits, NULL);
    *s += all;
    return true;
}

int duration_parse(const char *s, int64_t *ret_ns)
{
    bool negative = *s == '-';
    s += *s == '-' || *s == '+';
    double total = 0, value;
    if (strcmp(s, "0") == 0) {
        *ret_ns = 0;
        return 0;
    }
    if (!*s)
        return -1;
    while (*s) {
        if (!plain_number(&s, &value))
            return -1;
        double unit = duration_unit(&s);
        if (unit == 0)
            return -1;
        total += value * unit;
    }
    if (total >= 9.2e18)
        return -1;
    *ret_ns = (int64_t)(negative ? -round(total) : round(total));
    return 0;
}

void duration_format(int64_t ns, struct strbuf *out)
{
    uint64_t u = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
    if (ns < 0)
        strbuf_addc(out, '-');
    uint64_t hours = u / 3600000000000, minutes = u / 60000000000 % 60;
    if (hours)
        strbuf_addf(out, "%lluh", (unsigned long long)hours);
    if (hours || minutes)
        strbuf_addf(out, "%llum", (unsigned long long)minutes);
    double seconds = (double)(u % 60000000000) / 1e9;
    char number[32];
    snprintf(number, sizeof(number), "%.9f", seconds);
    size_t n = strlen(number);
    while (number[n - 1] == '0')
        n--;
    n -= number[n - 1] == '.';
    strbuf_addf(out, "%.*ss", (int)n, number);
}

int size_parse(const char *s, int64_t *ret_bytes)
{
    static const char letters[] = "kmgtp";
    double value;
    if (!plain_number(&s, &value))
        return -1;
    s += strspn(s, " ");
    char letter = (char)tolower((unsigned char)*s);
    const char *power = letter ? strchr(letters, letter) : NULL;
    if (power) {
        value = ldexp(value, 10 * (int)(power - letters + 1));
        s++;
        s += tolower((unsigned char)*s) == 'i' && tolower((unsigned char)s[1]) == 'b';
    }
    s += tolower((unsigned char)*s) == 'b';
    if (*s || value >= 9.2e18)
        return -1;
    *ret_bytes = (int64_t)value;
    return 0;
}
