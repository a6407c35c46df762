/* Within the store: a text within a text without regard to the case of ASCII letters, at the speed of memory. */
#ifndef DET_STORE_LOG_FIND_H
#define DET_STORE_LOG_FIND_H

#include <stdbool.h>
#include <stddef.h>

bool log_find(const char *text, size_t n, const char *what, size_t what_n);

#endif
