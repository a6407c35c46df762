/* The stored logins, auth.json: one token for each user of each master, and the active user of each master.
 *
 * The released Python client uses the same file, so its form is exactly that client's (version 2; older versions are
 * read and converted at the next write). Every change reads, changes and writes the file under the same lock file.
 * The new file is written completely before it replaces the old one. A file that is not of this form is deleted,
 * with an error that says so. */
#ifndef DET_CLI_CONNECTION_LOGINS_H
#define DET_CLI_CONNECTION_LOGINS_H

#include "common/base/arena.h"
#include "common/base/error.h"

/* The directory of everything that det stores: $DET_DEBUG_CONFIG_PATH, $XDG_CONFIG_HOME/determined or
 * ~/.config/determined. */
int config_directory(struct arena *a, const char **ret, struct error *err);

struct logins {
    const char *directory, *master;
    const char *active_user; /* NULL if no user is active */
    const char **user, **token;
    size_t n;
};

/* Reads the file. Everything is in the arena. Call it again after each change. */
int logins_load(struct logins *l, const char *directory, const char *master, struct arena *a, struct error *err);
const char *logins_token(const struct logins *l, const char *user); /* NULL if the user has no token */

int logins_set_token(const struct logins *l, const char *user, const char *token, struct error *err);
int logins_set_active(const struct logins *l, const char *user /* NULL: none */, struct error *err);
int logins_drop(const struct logins *l, const char *user, struct error *err);

#endif
