/* Lists of experiments say of those that are ACTIVE how far they are: QUEUED, PULLING, STARTING or RUNNING, as the single
 * experiment does. */
#ifndef DET_API_EXPERIMENT_LIVE_H
#define DET_API_EXPERIMENT_LIVE_H

#include "api/pipeline/handler.h"

/* The last step of a list's handler, on any thread but the loop: asks the core on the loop, a part at a time, and has the reply
 * encoded by a worker. The experiments are those of the reply, which are still to be changed. */
int experiments_show_live(struct req *r, struct wire_experiment **experiment, size_t n);

#endif
