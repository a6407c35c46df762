/* Two people who change one object at the same time: a request may carry the time of the object's last change, as its
 * sender has read it. If the object has been changed since, the request is refused. */
#ifndef DET_API_PIPELINE_UNCHANGED_H
#define DET_API_PIPELINE_UNCHANGED_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/error.h"

/* ERR_ABORTED if the object has been changed since. `what` names it. */
int need_unchanged(bool has_expected, int64_t expected_us, int64_t modified_us, const char *what, struct error *err);
/* The time of a change that is made now, which is later than that of the change before. */
int64_t modified_after(int64_t before_us, int64_t now_us);

#endif
