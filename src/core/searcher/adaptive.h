/* adaptive_asha: brackets of successive halving side by side, with different numbers of rungs, so that a metric that
 * says little early on does not decide alone.
 *
 * L. Li, K. Jamieson, G. DeSalvo, A. Rostamizadeh, A. Talwalkar: "Hyperband: A Novel Bandit-Based Approach to
 * Hyperparameter Optimization", JMLR 18 (2018); brackets of asha.h instead of its own, as the ASHA paper proposes. */
#ifndef DET_CORE_SEARCHER_ADAPTIVE_H
#define DET_CORE_SEARCHER_ADAPTIVE_H

#include "core/searcher/asha.h"

enum { ADAPTIVE_BRACKETS_MAX = 1000 };

struct adaptive_bracket {
    int rungs;
    int64_t max_trials, max_concurrent;
};

/* Makes the brackets of a configuration; the one with the most rungs comes first. The caller frees *ret. */
int adaptive_brackets(const struct exp_searcher *config, struct adaptive_bracket **ret, size_t *ret_n,
                      struct error *err);
/* Shares max_trials among the brackets in proportion to divisor^(rungs-1)/rungs. Each bracket gets at least one trial,
 * and the first bracket gets those that are left over. */
void adaptive_share_trials(struct adaptive_bracket *b, size_t n, int64_t max_trials, double divisor);
/* Shares max_concurrent among the brackets, whose max_trials are set. */
void adaptive_share_concurrency(struct adaptive_bracket *b, size_t n, int64_t max_concurrent, double divisor);

#endif
