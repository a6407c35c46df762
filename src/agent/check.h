/* `determined-agent check`: finds out what keeps this machine from being a good agent, and says what to do about it. It
 * changes nothing, and may be run beside an agent. */
#ifndef DET_AGENT_CHECK_H
#define DET_AGENT_CHECK_H

#include <stdio.h>

#include "agent/config.h"

/* Prints a line for each thing that was looked at, and below it the cause and the remedy of what is not well. Returns
 * the number of failures; warnings do not count. */
int check_host(const struct agent_config *c, FILE *out);

/* By how many seconds the local clock is ahead of the one that has written the header Date; false: it is no date. */
bool check_clock_skew(const char *date, int64_t now_s, int64_t *ret_s);

#endif
