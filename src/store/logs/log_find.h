/* Within the store: finds texts within a text, without regard to the case of ASCII letters, about as fast as memory
 * can be read. */
#ifndef DET_STORE_LOGS_LOG_FIND_H
#define DET_STORE_LOGS_LOG_FIND_H

#include <stdbool.h>
#include <stddef.h>

#include "store/logs/task_logs.h"

bool log_find(const char *text, size_t n, const char *what, size_t what_n);
/* whether the text contains one of them, or what.n is 0 */
bool log_find_any(const char *text, size_t n, struct store_texts what);

#endif
