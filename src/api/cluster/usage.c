#include "api/cluster/usage.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "api/pipeline/raw.h"
#include "common/base/clock.h"

#define DAY_US (86400 * INT64_C(1000000))

/* ---- times ------------------------------------------------------------------------------------------------------- */

static int read_time(struct req *r, const char *name, int64_t *ret, struct error *err)
{
    const char *text;
    if (req_query_param(r, name, &text, err) < 0)
        return -1;
    if (!text || clock_parse(text, strlen(text), ret) < 0)
        return error_set(err, ERR_INVALID, "%s is '%s', expected a time such as 2026-11-01T00:00:00Z", name,
                         text ? text : "");
    return 0;
}

int usage_span_check(const struct usage_span *s, struct error *err)
{
    return s->from_us <= s->to_us
               ? 0
               : error_set(err, ERR_INVALID,
                           "timestamp_after is later than timestamp_before; give the earlier time as "
                           "timestamp_after");
}

int usage_span_of_query(struct req *r, struct usage_span *ret, struct error *err)
{
    if (read_time(r, "timestamp_after", &ret->from_us, err) < 0 ||
        read_time(r, "timestamp_before", &ret->to_us, err) < 0)
        return -1;
    return usage_span_check(ret, err);
}

/* ---- days and months --------------------------------------------------------------------------------------------- */

static struct tm date_of(int64_t us)
{
    time_t s = us / 1000000 - (us % 1000000 < 0);
    struct tm t;
    gmtime_r(&s, &t);
    return t;
}

static int64_t start_of_month(int64_t us, int months_later)
{
    struct tm t = date_of(us), first = {.tm_year = t.tm_year, .tm_mon = t.tm_mon + months_later, .tm_mday = 1};
    return (int64_t)timegm(&first) * 1000000;
}

static int64_t period_after(const struct usage_periods *p, int64_t begin_us)
{
    return p->monthly ? start_of_month(begin_us, 1) : begin_us + DAY_US;
}

/* Reads a day as the time at which it, or its month, begins. */
static int read_date(const char *name, const char *text, bool monthly, int64_t *ret, struct error *err)
{
    char full[32];
    bool month_only = monthly && strlen(text) == strlen("2026-11");
    int n = snprintf(full, sizeof(full), "%.16s%sT00:00:00Z", text, month_only ? "-01" : "");
    if (strlen(text) > strlen("2026-11-01") || clock_parse(full, (size_t)n, ret) < 0)
        return error_set(err, ERR_INVALID, "%s is '%.40s', expected a %s", name, text,
                         monthly ? "month such as 2026-11" : "day such as 2026-11-01");
    if (monthly)
        *ret = start_of_month(*ret, 0);
    return 0;
}

int usage_periods_read(const char *start, const char *end, bool monthly, int64_t now_us, struct usage_periods *ret,
                       struct error *err)
{
    struct usage_periods p = {.monthly = monthly};
    int64_t last;
    if (read_date("start_date", start, monthly, &p.all.from_us, err) < 0 ||
        read_date("end_date", end, monthly, &last, err) < 0)
        return -1;
    if (last < p.all.from_us)
        return error_set(err, ERR_INVALID,
                         "start_date %s is later than end_date %s; give the earlier one as start_date", start, end);
    p.all.to_us = period_after(&p, last) < now_us ? period_after(&p, last) : now_us;
    p.next_us = p.all.from_us;
    *ret = p;
    return 0;
}

void usage_periods_skip(struct usage_periods *p, int64_t first_us)
{
    if (first_us <= p->next_us)
        return;
    int64_t day = first_us - ((first_us % DAY_US) + DAY_US) % DAY_US;
    p->next_us = p->monthly ? start_of_month(first_us, 0) : day;
}

bool usage_periods_next(struct usage_periods *p, struct usage_span *ret, char name[USAGE_PERIOD_NAME_MAX])
{
    if (p->next_us >= p->all.to_us)
        return false;
    struct tm t = date_of(p->next_us);
    int64_t end = period_after(p, p->next_us);
    *ret = (struct usage_span){p->next_us, end < p->all.to_us ? end : p->all.to_us};
    size_t n = (size_t)snprintf(name, USAGE_PERIOD_NAME_MAX, "%04d-%02d", t.tm_year + 1900, t.tm_mon + 1);
    if (!p->monthly)
        snprintf(name + n, USAGE_PERIOD_NAME_MAX - n, "-%02d", t.tm_mday);
    p->next_us = end;
    return true;
}

/* ---- CSV --------------------------------------------------------------------------------------------------------- */

void usage_add_field(struct strbuf *out, const char *text)
{
    if (!strpbrk(text, ",\"\r\n") && *text != ' ' && *text != '\t') {
        strbuf_adds(out, text);
        return;
    }
    strbuf_addc(out, '"');
    for (; *text; text++) {
        if (*text == '"')
            strbuf_addc(out, '"');
        strbuf_addc(out, *text);
    }
    strbuf_addc(out, '"');
}

void usage_add_line(struct strbuf *out, const char *const *field, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (i)
            strbuf_addc(out, ',');
        usage_add_field(out, field[i]);
    }
    strbuf_addc(out, '\n');
}

int usage_stream(struct req *r, stream_fetch_fn *fetch)
{
    return req_stream_text(r, &(struct stream_head){.status = 200, .content_type = "text/csv"}, fetch);
}
