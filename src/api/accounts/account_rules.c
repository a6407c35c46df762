#include "api/accounts/account_rules.h"
#include "common/base/utf8.h"

#include <ctype.h>
#include <string.h>

/* Whether the byte is printable ASCII, 0x20 to 0x7e, whatever the locale is. */
static bool is_printable(unsigned char c)
{
    return c >= 0x20 && c < 0x7f;
}

static int trimmed_text(const char *given, const char *what, struct arena *a, char **ret, struct error *err)
{
    while (*given == ' ')
        given++;
    size_t n = strlen(given);
    while (n > 0 && given[n - 1] == ' ')
        n--;
    if (n > ACCOUNT_NAME_MAX)
        return error_set(err, ERR_INVALID, "a %s has at most %d bytes, this one has %zu", what, ACCOUNT_NAME_MAX, n);
    for (size_t i = 0; i < n; i++)
        if (!is_printable((unsigned char)given[i]))
            return error_set(err, ERR_INVALID,
                             "a %s consists of letters, digits, blanks and punctuation of ASCII; byte %zu "
                             "(0x%02x) is something else",
                             what, i + 1, (unsigned char)given[i]);
    *ret = arena_strndup(a, given, n);
    return 0;
}

int account_username(const char *given, struct arena *a, const char **ret, struct error *err)
{
    char *name;
    if (trimmed_text(given ? given : "", "username", a, &name, err) < 0)
        return -1;
    if (!*name)
        return error_set(err, ERR_INVALID, "a username has 1 to %d bytes, this one is empty", ACCOUNT_NAME_MAX);
    if (strchr(name, '/') || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return error_set(err, ERR_INVALID,
                         "the username \"%s\" is not possible: it has no slash, and is neither . nor .., because "
                         "addresses such as /api/v1/users/NAME/by-username have it in them",
                         name);
    for (char *p = name; *p; p++)
        *p = (char)tolower((unsigned char)*p);
    *ret = name;
    return 0;
}

int account_display_name(const char *given, struct arena *a, const char **ret, struct error *err)
{
    char *name;
    if (trimmed_text(given, "display name", a, &name, err) < 0)
        return -1;
    *ret = name;
    return 0;
}

static int check_number(const char *what, int32_t id, bool allow_root, struct error *err)
{
    if (id > 0 || (id == 0 && allow_root))
        return 0;
    if (id == 0)
        return error_set(err, ERR_INVALID,
                         "%s is 0, which is root: allowed are 1 to 2147483647, and 0 where the master's "
                         "configuration says security.allow_root_links: true",
                         what);
    return error_set(err, ERR_INVALID, "%s is %d: allowed are 1 to 2147483647", what, id);
}

/* The colon separates the fields of passwd and group, which agents read and write; a slash would make the name a path.
 */
static int check_agent_name(const char *what, const char *name, struct error *err)
{
    size_t n = name ? strlen(name) : 0;
    if (n > ACCOUNT_AGENT_NAME_MAX)
        return error_set(err, ERR_INVALID, "%s has %zu bytes, at most %d are allowed", what, n, ACCOUNT_AGENT_NAME_MAX);
    const char *bad = n ? text_find_control(name) : NULL;
    if (n && !bad)
        bad = strpbrk(name, ":/");
    return bad ? error_set(err, ERR_INVALID,
                           "%s is not the name of an account: byte %zu is 0x%02x, and a name has no control "
                           "characters, colons or slashes",
                           what, (size_t)(bad - name) + 1, (unsigned char)*bad)
               : 0;
}

int account_check_link(const struct wire_user_agent_user_group *g, bool allow_root, struct error *err)
{
    if (check_agent_name("agentUser", g->agent_user, err) < 0 ||
        check_agent_name("agentGroup", g->agent_group, err) < 0)
        return -1;
    if (g->has_agent_uid && check_number("agentUid", g->agent_uid, allow_root, err) < 0)
        return -1;
    return g->has_agent_gid ? check_number("agentGid", g->agent_gid, allow_root, err) : 0;
}

int account_check_link_is_whole(const struct wire_user_agent_user_group *g, struct error *err)
{
    const char *missing = !g->has_agent_uid                     ? "agentUid"
                          : !g->has_agent_gid                   ? "agentGid"
                          : !g->agent_user || !*g->agent_user   ? "agentUser"
                          : !g->agent_group || !*g->agent_group ? "agentGroup"
                                                                : NULL;
    if (!missing)
        return 0;
    return error_set(err, ERR_INVALID,
                     "agentUserGroup lacks %s: a user is linked to an account of the agents by agentUid, "
                     "agentUser, agentGid and agentGroup, all four",
                     missing);
}
