/* Log policies of an experiment: patterns for the lines of its trials, and the actions that follow from a match
 * (docs/spec/logs.md#log-policies). Patterns are PCRE2, and match anywhere in a line. The number of steps that a
 * pattern may take on one line is bounded; a pattern that needs more is not tried again (gave_up). The functions are
 * pure; only one thread at a time may use a set of policies. */
#ifndef DET_CORE_CONFIG_LOG_POLICIES_H
#define DET_CORE_CONFIG_LOG_POLICIES_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/error.h"
#include "core/records/states.h"
#include "gen/experiment_config.h"

struct log_policy {
    const char *name; /* NULL: the policy has no name */
    const char *pattern;
    enum log_policy_action action;
    bool matched; /* set by log_policies_scan(), cleared by the caller */
    bool gave_up; /* the pattern needs too many steps, and is not tried any more */
};

struct log_policies;

/* Fails with ERR_INVALID and the position in the pattern. */
int log_policy_check_pattern(const char *pattern, struct error *err);
/* Makes the set of policies of the `log_policies` of an effective configuration. A policy without a pattern is
 * switched off and left out. So is one whose pattern does not compile: it was refused when the configuration was
 * submitted. */
struct log_policies *log_policies_new(const struct exp_log_policy *list, size_t n);
void log_policies_free(struct log_policies *p); /* NULL is allowed */

size_t log_policies_n(const struct log_policies *p);
struct log_policy *log_policies_get(struct log_policies *p, size_t i);
/* Marks the policies that match the line. Returns true if there is a new mark. */
bool log_policies_scan(struct log_policies *p, const char *text, size_t n);

#endif
