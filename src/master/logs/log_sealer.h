/* The sealer for logs of tasks (store/logs/log_seal.h): the heads of a log are packed into blocks as soon as there are
 * enough, and all that are left when the task is over or nothing has come for ten minutes.
 *
 * When more than 8 MiB wait, blocks are compressed less, which takes a sixth of the time (to a fourteenth of the text
 * instead of a sixteenth), until the sealer has caught up. */
#ifndef DET_MASTER_LOGS_LOG_SEALER_H
#define DET_MASTER_LOGS_LOG_SEALER_H

#include "master/writer/sealer.h"

/* The subjects of this sealer are tasks, its rows are heads, and its bytes are those of the heads' text. */
extern const struct sealer_type log_sealer;

#endif
