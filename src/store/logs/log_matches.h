/* What log policies have found in the logs of trials (core/config/log_policies.h). */
#ifndef DET_STORE_LOGS_LOG_MATCHES_H
#define DET_STORE_LOGS_LOG_MATCHES_H

#include "core/records/states.h"
#include "store/functions.h"

/* Stores a match, once for each task, node and pattern. *ret_new says whether it was stored for the first time. The
 * policy's name becomes the trial's log_policy_matched. */
int store_log_match_add(struct store *st, const struct store_log_match *m, int64_t now_us, bool *ret_new,
                        struct error *err);

#endif
