/* The job queue as people change it: a batch of changes, all of them or none. */
#ifndef DET_CORE_QUEUE_QUEUE_CHANGE_H
#define DET_CORE_QUEUE_QUEUE_CHANGE_H

#include "core/state/objects.h"

enum { QUEUE_BATCH_MAX = 1000 };

/* Carries out a batch of changes. The whole batch is checked before anything is changed. */
int queue_change(struct core *c, const struct core_event *ev, struct error *err);

#endif
