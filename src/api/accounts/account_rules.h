/* What accounts may be: their names, and the accounts of the agents that their tasks run as. Pure. */
#ifndef DET_API_ACCOUNT_RULES_H
#define DET_API_ACCOUNT_RULES_H

#include "common/base/arena.h"
#include "common/base/error.h"
#include "gen/wire.h"

enum { ACCOUNT_NAME_MAX = 127 }; /* bytes */

/* User names and display names hold printable ASCII only, as in release 0.38.1: so no name looks like another one that has
 * other bytes (letters of other alphabets, composed and decomposed accents, characters nobody sees). Blanks at the ends are
 * taken away. A user name is kept in lower case and not empty; a display name may be empty. */
int account_username(const char *given, struct arena *a, const char **ret, struct error *err);
int account_display_name(const char *given, struct arena *a, const char **ret, struct error *err);

/* An account of the agents by its numbers. Numbers that are not there (has_… false) are not looked at; those below 1 are
 * refused, 0 unless security.allow_root_links says otherwise: it is root, and negative ones mean "as it is" to the kernel. */
int account_check_link(const struct wire_user_agent_user_group *g, bool allow_root, struct error *err);
/* A user is linked by all four: uid, gid and their names. */
int account_check_link_is_whole(const struct wire_user_agent_user_group *g, struct error *err);

#endif
