#include "core/sched/policy.h"

#include <string.h>

#define X(id, name) extern const struct sched_policy_type sched_policy_##name;
SCHED_POLICIES(X)
#undef X

static const struct sched_policy_type *const policy_types[SCHED_POLICY_NR] = {
#define X(id, name) [SCHED_BY_##id] = &sched_policy_##name,
    SCHED_POLICIES(X)
#undef X
};

const struct sched_policy_type *sched_policy_type(enum sched_policy policy)
{
    return policy_types[policy];
}

int sched_policy_find(const char *name, enum sched_policy *ret)
{
    for (int i = 0; i < SCHED_POLICY_NR; i++) {
        if (strcmp(policy_types[i]->name, name) == 0) {
            *ret = (enum sched_policy)i;
            return 0;
        }
    }
    return -1;
}
