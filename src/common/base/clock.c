#include "common/base/clock.h"

#include <stdbool.h>
#include <time.h>

#define SECOND_US INT64_C(1000000)
#define DAY_S INT64_C(86400)
#define MIN_S INT64_C(-62135596800) /* 0001-01-01T00:00:00Z */
#define MAX_S INT64_C(253402300799) /* 9999-12-31T23:59:59Z */

static int64_t read_clock(clockid_t id)
{
    struct timespec ts;
    clock_gettime(id, &ts);
    return ts.tv_sec * SECOND_US + ts.tv_nsec / 1000;
}

int64_t clock_now_us(void)
{
    return read_clock(CLOCK_REALTIME);
}

int64_t clock_monotonic_us(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

int64_t clock_thread_cpu_us(void)
{
    return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

/* Days since 1970-01-01. Counts in eras of 400 years, whose years begin on 1 March so that the leap day comes last. */
static int64_t days_from_civil(int year, int month, int day)
{
    int y = year - (month <= 2);
    int era = y / 400; /* years are 0 … 9999, never negative */
    int year_of_era = y - era * 400;
    int day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    int day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    return (int64_t)era * 146097 + day_of_era - 719468;
}

static void civil_from_days(int64_t days, int *year, int *month, int *day)
{
    days += 719468;
    int era = (int)(days / 146097);
    int day_of_era = (int)(days - (int64_t)era * 146097);
    int year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    int day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int mp = (5 * day_of_year + 2) / 153;
    *day = day_of_year - (153 * mp + 2) / 5 + 1;
    *month = mp < 10 ? mp + 3 : mp - 9;
    *year = year_of_era + era * 400 + (*month <= 2);
}

static char *put_digits(char *p, int value, int width)
{
    for (int i = width - 1; i >= 0; i--, value /= 10)
        p[i] = (char)('0' + value % 10);
    return p + width;
}

static char *put_separated(char *p, int value, char separator)
{
    p = put_digits(p, value, 2);
    *p++ = separator;
    return p;
}

size_t clock_format(int64_t us, char buf[CLOCK_TEXT_MAX])
{
    if (us < MIN_S * SECOND_US)
        us = MIN_S * SECOND_US;
    if (us > MAX_S * SECOND_US + SECOND_US - 1)
        us = MAX_S * SECOND_US + SECOND_US - 1;
    int64_t s = us / SECOND_US - (us % SECOND_US < 0);
    int fraction = (int)(us - s * SECOND_US);
    int64_t days = s / DAY_S - (s % DAY_S < 0);
    int rest = (int)(s - days * DAY_S);
    int year, month, day;
    civil_from_days(days, &year, &month, &day);

    char *p = put_digits(buf, year, 4);
    *p++ = '-';
    p = put_separated(p, month, '-');
    p = put_separated(p, day, 'T');
    p = put_separated(p, rest / 3600, ':');
    p = put_separated(p, rest / 60 % 60, ':');
    p = put_digits(p, rest % 60, 2);
    if (fraction != 0) {
        *p++ = '.';
        p = fraction % 1000 == 0 ? put_digits(p, fraction / 1000, 3) : put_digits(p, fraction, 6);
    }
    *p++ = 'Z';
    *p = '\0';
    return (size_t)(p - buf);
}

size_t clock_format_micros(int64_t us, char buf[CLOCK_TEXT_MAX])
{
    static const size_t whole = sizeof("2026-11-21T07:12:01Z") - 1, micros = sizeof("2026-11-21T07:12:01.123456Z") - 1;
    size_t n = clock_format(us, buf) - 1; /* length without the Z */
    if (n + 1 == whole)
        buf[n++] = '.';
    while (n + 1 < micros)
        buf[n++] = '0';
    buf[n++] = 'Z';
    buf[n] = 0;
    return n;
}

struct cursor {
    const char *p, *end;
};

static bool take_char(struct cursor *c, char wanted)
{
    if (c->p == c->end || (*c->p != wanted && *c->p != (wanted | 0x20)))
        return false;
    c->p++;
    return true;
}

static bool take_digits(struct cursor *c, int width, int min, int max, int *ret)
{
    if (c->end - c->p < width)
        return false;
    int value = 0;
    for (int i = 0; i < width; i++) {
        char d = c->p[i];
        if (d < '0' || d > '9')
            return false;
        value = value * 10 + (d - '0');
    }
    c->p += width;
    *ret = value;
    return value >= min && value <= max;
}

static int days_in_month(int year, int month)
{
    static const signed char days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return month == 2 && leap ? 29 : days[month - 1];
}

static bool take_date(struct cursor *c, int64_t *ret_days)
{
    int year, month, day;
    if (!take_digits(c, 4, 1, 9999, &year) || !take_char(c, '-') || !take_digits(c, 2, 1, 12, &month) ||
        !take_char(c, '-') || !take_digits(c, 2, 1, days_in_month(year, month), &day))
        return false;
    *ret_days = days_from_civil(year, month, day);
    return true;
}

static bool take_time(struct cursor *c, int *ret_s)
{
    int hour, minute, second;
    if (!take_digits(c, 2, 0, 23, &hour) || !take_char(c, ':') || !take_digits(c, 2, 0, 59, &minute) ||
        !take_char(c, ':') || !take_digits(c, 2, 0, 59, &second))
        return false;
    *ret_s = hour * 3600 + minute * 60 + second;
    return true;
}

static bool take_fraction(struct cursor *c, int *ret_us)
{
    *ret_us = 0;
    if (c->p == c->end || *c->p != '.')
        return true;
    const char *from = ++c->p;
    int weight = 100000;
    for (; c->p < c->end && *c->p >= '0' && *c->p <= '9'; c->p++, weight /= 10)
        *ret_us += (*c->p - '0') * weight;
    return c->p > from;
}

static bool take_offset(struct cursor *c, int *ret_s)
{
    *ret_s = 0;
    if (take_char(c, 'Z'))
        return true;
    if (c->p == c->end || (*c->p != '+' && *c->p != '-'))
        return false;
    int sign = *c->p++ == '-' ? -1 : 1, hour, minute;
    if (!take_digits(c, 2, 0, 23, &hour) || !take_char(c, ':') || !take_digits(c, 2, 0, 59, &minute))
        return false;
    *ret_s = sign * (hour * 3600 + minute * 60);
    return true;
}

int clock_parse(const char *s, size_t n, int64_t *ret_us)
{
    struct cursor c = {s, s + n};
    int64_t days;
    int time_s, fraction_us, offset_s;
    if (!take_date(&c, &days) || !take_char(&c, 'T') || !take_time(&c, &time_s) || !take_fraction(&c, &fraction_us) ||
        !take_offset(&c, &offset_s) || c.p != c.end)
        return -1;
    int64_t total_s = days * DAY_S + time_s - offset_s;
    if (total_s < MIN_S || total_s > MAX_S)
        return -1;
    *ret_us = total_s * SECOND_US + fraction_us;
    return 0;
}
