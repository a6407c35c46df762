/* The quotas of workspaces and users (docs/spec/scheduling.md#quotas), and which of them a job has to keep to. */
#ifndef DET_CORE_RESOURCES_QUOTAS_H
#define DET_CORE_RESOURCES_QUOTAS_H

#include "core/state/objects.h"

/* Sets a quota, or removes it. All pools look at their queues anew in this step. */
int quota_set(struct core *c, const struct core_quota_change *change, struct error *err);
/* Learns in which workspaces experiments are, and how quotas are called. What is not known here is left out. */
void quota_follow(struct core *c, const struct core_event *ev);
void quotas_restore(struct core *c, const struct core_rows *rows);
void quotas_free(struct core *c); /* the schedulers have been freed before */

/* The quotas of what a user has started in a workspace; NULL: there are none. */
struct sched_quotas *quotas_of(struct core *c, int32_t workspace_id, int32_t user_id);
/* If slots were given back that count in quotas, all pools have changed: something may wait for them there. */
void quotas_wake_pools(struct core *c);

#endif
