/* Rules for accounts: for names of users, and for the accounts on agents that their tasks run as. Pure functions. */
#ifndef DET_API_ACCOUNTS_ACCOUNT_RULES_H
#define DET_API_ACCOUNTS_ACCOUNT_RULES_H

#include "common/base/arena.h"
#include "common/base/error.h"
#include "gen/wire.h"

enum { ACCOUNT_NAME_MAX = 127, ACCOUNT_AGENT_NAME_MAX = 63 }; /* bytes */

/* User names and display names hold printable ASCII only, as in release 0.38.1. So no name looks like another that
 * has other bytes (letters of other alphabets, composed and decomposed accents, invisible characters). Blanks at
 * both ends are removed. A user name is made lower case and must not be empty; a display name may be empty.
 *
 * A new user name has no slash and is neither . nor .., because it is part of the paths of requests. Release 0.38.1
 * takes such names, and its own commands could not find the user. An existing user with such a name still logs in, and
 * can be renamed by the number. */
int account_username(const char *given, struct arena *a, const char **ret, struct error *err);
int account_display_name(const char *given, struct arena *a, const char **ret, struct error *err);

/* Checks the ids and names of an account on agents. A number that is missing (has_… is false) is not checked. Negative
 * numbers are refused, because they mean "unchanged" to the kernel. 0 is root, and is refused unless
 * security.allow_root_links allows it. */
int account_check_link(const struct wire_user_agent_user_group *g, bool allow_root, struct error *err);
/* Checks that all four are given: uid, gid and their names. */
int account_check_link_is_whole(const struct wire_user_agent_user_group *g, struct error *err);

#endif
