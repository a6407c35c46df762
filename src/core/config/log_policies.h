/* Log policies of an experiment: patterns for the lines of its trials, and what follows from a match
 * (docs/spec/logs.md#log-policies). Patterns are PCRE2, and match anywhere in a line. The steps that a pattern may take
 * on one line are bounded; a pattern that needs more is not tried again (gave_up). Pure; one thread at a time may use
 * one set. */
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
    bool matched; /* set by log_policies_scan(); the caller resets it */
    bool gave_up; /* matching was too expensive, so the pattern is not looked for any more */
};

struct log_policies;

/* ERR_INVALID if the pattern is wrong, with the place of the mistake. */
int log_policy_check_pattern(const char *pattern, struct error *err);
/* Compiles the `log_policies` of an effective configuration. Policies without a pattern are switched off. A pattern
 * that does not compile is left out; it was refused when it was submitted. */
struct log_policies *log_policies_new(const struct exp_log_policy *list, size_t n);
void log_policies_free(struct log_policies *p); /* p may be NULL */

size_t log_policies_n(const struct log_policies *p);
struct log_policy *log_policies_get(struct log_policies *p, size_t i);
/* Marks the policies that match the line. Returns true if at least one policy was not marked before. */
bool log_policies_scan(struct log_policies *p, const char *text, size_t n);

#endif
