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
    const char *name; /* NULL: it has none */
    const char *pattern;
    enum log_policy_action action;
    bool matched; /* set by log_policies_scan(), cleared by the caller */
    bool gave_up; /* too expensive: it is not looked for */
};

struct log_policies;

/* ERR_INVALID with the place in the pattern. */
int log_policy_check_pattern(const char *pattern, struct error *err);
/* The `log_policies` of an effective configuration; those without a pattern are switched off. What does not compile is
 * left out: it was refused when it was given. */
struct log_policies *log_policies_new(const struct exp_log_policy *list, size_t n);
void log_policies_free(struct log_policies *p); /* NULL is fine */

size_t log_policies_n(const struct log_policies *p);
struct log_policy *log_policies_get(struct log_policies *p, size_t i);
/* Marks the policies that match the line. True if there is a new mark. */
bool log_policies_scan(struct log_policies *p, const char *text, size_t n);

#endif
