/* When something is done repeatedly: an interval ("24h", counted from the start of the program), or five fields of cron
 * ("30 3 * * 1-5": minute, hour, day of the month, month, day of the week; numbers, lists, ranges, steps), in UTC. As
 * in cron, if both days are given, either is enough. These functions do not read the clock; the time is an argument. */
#ifndef DET_COMMON_CONFIG_SCHEDULE_H
#define DET_COMMON_CONFIG_SCHEDULE_H

#include <stdint.h>

#include "common/base/error.h"

struct schedule {
    int64_t interval_us; /* 0: cron */
    uint64_t minute;     /* sets of bits; bit 0 is the smallest number */
    uint32_t hour, day, month, weekday;
    unsigned any_day; /* which of the two fields for days was * */
};

int schedule_parse(const char *text, struct schedule *ret, struct error *err);
/* The first time after now_us; INT64_MAX for a day that never comes (30 February). */
int64_t schedule_next_us(const struct schedule *s, int64_t now_us);

#endif
