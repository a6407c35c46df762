/* The store of logins, auth.json: one token for each user of each master, and who is active there.
 *
 * The file is shared with the released Python client, so its form is that client's to the letter (version 2; older
 * versions are read and raised at the next write). Every change is read-modify-write under the same lock file; the new
 * file is complete before it takes the old one's place. A file that is not a store is deleted, with an error that says
 * so. */
#ifndef DET_CLI_LOGINS_H
#define DET_CLI_LOGINS_H

#include "common/base/arena.h"
#include "common/base/error.h"

/* Directory of all that det keeps: $DET_DEBUG_CONFIG_PATH, $XDG_CONFIG_HOME/determined or ~/.config/determined. */
int config_directory(struct arena *a, const char **ret, struct error *err);

struct logins {
    const char *directory, *master;
    const char *active_user; /* NULL if there is none */
    const char **user, **token;
    size_t n;
};

/* Everything lives in the arena. Read again after each change. */
int logins_load(struct logins *l, const char *directory, const char *master, struct arena *a, struct error *err);
const char *logins_token(const struct logins *l, const char *user); /* NULL if there is none */

int logins_set_token(const struct logins *l, const char *user, const char *token, struct error *err);
int logins_set_active(const struct logins *l, const char *user /* NULL: none */, struct error *err);
int logins_drop(const struct logins *l, const char *user, struct error *err);

#endif
