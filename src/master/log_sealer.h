/* When the heads of a task's log are sealed (store/log_seal.h): as soon as there are enough of them, and what is left of them
 * when the task is over, or when nothing has come for ten minutes.
 *
 * When more than 8 MiB wait, blocks are compressed less (a fourteenth of the text instead of a sixteenth, at a sixth of the
 * time), until it has caught up. */
#ifndef DET_MASTER_LOG_SEALER_H
#define DET_MASTER_LOG_SEALER_H

#include "master/sealer.h"

extern const struct sealer_type log_sealer; /* its subjects are tasks, its rows heads, its bytes their text */

#endif
