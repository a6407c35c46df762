#include "common/config/schedule.h"

#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "common/config/schema.h"

enum { ANY_DAY = 1, ANY_WEEKDAY = 2, MINUTE_US = 60 * 1000000, YEARS_AHEAD = 9 /* to the next 29 February, at most */ };

struct field {
    const char *name;
    int min, max;
};
static const struct field fields[] = {
    {"minute", 0, 59}, {"hour", 0, 23}, {"day of the month", 1, 31}, {"month", 1, 12}, {"day of the week", 0, 7}};

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static bool take_number(const char **s, int *ret)
{
    int n = 0, digits = 0;
    for (; **s >= '0' && **s <= '9' && digits < 3; (*s)++, digits++)
        n = n * 10 + (**s - '0');
    *ret = n;
    return digits > 0;
}

/* Parses "*", "5" or "1-5", each optionally followed by a step such as "/2". */
static bool take_range(const char **s, const struct field *f, uint64_t *set)
{
    int from = f->min, to = f->max, step = 1;
    if (**s == '*') {
        (*s)++;
    } else {
        if (!take_number(s, &from))
            return false;
        to = from;
        if (**s == '-' && ((*s)++, !take_number(s, &to)))
            return false;
        if (**s == '/' && to == from)
            to = f->max;
    }
    if (**s == '/' && ((*s)++, !take_number(s, &step)))
        return false;
    if (from < f->min || to > f->max || from > to || step < 1)
        return false;
    for (int i = from; i <= to; i += step)
        *set |= 1ull << (i - f->min);
    return true;
}

static bool take_field(const char **s, const struct field *f, uint64_t *ret)
{
    *ret = 0;
    do {
        if (!take_range(s, f, ret))
            return false;
    } while (**s == ',' && (*s)++);
    return **s == ' ' || **s == '\0';
}

static int parse_cron(const char *text, struct schedule *ret, struct error *err)
{
    uint64_t set[5];
    *ret = (struct schedule){0};
    const char *s = text;
    for (int i = 0; i < 5; i++) {
        s += strspn(s, " ");
        bool any = *s == '*';
        if (!take_field(&s, &fields[i], &set[i]))
            return error_set(err, ERR_INVALID,
                             "\"%s\" is neither an interval such as 24h nor five fields of cron: its %s must"
                             " be %d to %d, a list, a range or *",
                             text, fields[i].name, fields[i].min, fields[i].max);
        ret->any_day |= any && i == 2 ? ANY_DAY : any && i == 4 ? ANY_WEEKDAY : 0;
    }
    if (s[strspn(s, " ")])
        return error_set(err, ERR_INVALID, "\"%s\" has more than the five fields of cron", text);
    ret->minute = set[0];
    ret->hour = (uint32_t)set[1];
    ret->day = (uint32_t)set[2];
    ret->month = (uint32_t)set[3];
    ret->weekday = (uint32_t)((set[4] | set[4] >> 7) & 0x7f); /* 7 is Sunday as well */
    return 0;
}

int schedule_parse(const char *text, struct schedule *ret, struct error *err)
{
    int64_t ns;
    if (duration_parse(text, &ns) < 0)
        return parse_cron(text, ret, err);
    if (ns < 1000)
        return error_set(err, ERR_INVALID, "an interval must be longer than 0, found \"%s\"", text);
    *ret = (struct schedule){.interval_us = ns / 1000};
    return 0;
}

/* ---- the next time ----------------------------------------------------------------------------------------------- */

static bool day_fits(const struct schedule *s, const struct tm *t)
{
    bool day = s->day >> (t->tm_mday - 1) & 1, weekday = s->weekday >> t->tm_wday & 1;
    return s->any_day ? day && weekday : day || weekday;
}

int64_t schedule_next_us(const struct schedule *s, int64_t now_us)
{
    if (s->interval_us)
        return now_us + s->interval_us;
    time_t at = (time_t)(now_us / MINUTE_US + 1) * 60;
    struct tm t;
    gmtime_r(&at, &t);
    for (int last_year = t.tm_year + YEARS_AHEAD; t.tm_year <= last_year;) {
        if (!(s->month >> t.tm_mon & 1))
            t.tm_mon++, t.tm_mday = 1, t.tm_hour = t.tm_min = 0;
        else if (!day_fits(s, &t))
            t.tm_mday++, t.tm_hour = t.tm_min = 0;
        else if (!(s->hour >> t.tm_hour & 1))
            t.tm_hour++, t.tm_min = 0;
        else if (!(s->minute >> t.tm_min & 1))
            t.tm_min++;
        else
            return (int64_t)timegm(&t) * 1000000;
        at = timegm(&t); /* turns the 32nd of a month and the like into a valid date */
        gmtime_r(&at, &t);
    }
    return INT64_MAX;
}
