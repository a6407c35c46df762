/* Compares a secret that somebody gives with the one that is expected. How long that takes says nothing about where the
 * two differ. */
#ifndef DET_API_RIGHTS_SECRET_H
#define DET_API_RIGHTS_SECRET_H

#include <stdbool.h>
#include <stddef.h>

/* `given` has n bytes. An expected secret that is NULL or empty is matched by nothing. */
bool secret_matches(const char *given, size_t n, const char *expected);

#endif
