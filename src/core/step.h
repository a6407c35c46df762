/* Collecting the effects of a step. Texts are copied into the caller's arena, so that effects outlive the core's
 * objects. */
#ifndef DET_CORE_STEP_H
#define DET_CORE_STEP_H

#include "core/objects.h"

struct core_effect *effect_add(struct core *c, enum core_effect_type type);
/* The row will be PUT at the end of this step. */
void record_init(struct record *r, enum record_kind kind, const void *row, bool stored);
void record_touch(struct core *c, struct record *r);
void effects_put_touched(struct core *c); /* rows first, then the effects added so far */

void task_log(struct core *c, const struct allocation *a, bool error, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
void trial_log(struct core *c, const struct trial *t, bool error, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
void wake(struct core *c, const struct allocation *a, enum core_wake what);
void signal_container(struct core *c, const struct container *k, int signal);

#endif
