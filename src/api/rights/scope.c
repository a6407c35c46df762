#include "api/rights/scope.h"

#include <string.h>

static const struct {
    const char *name, *word;
    enum wire_user_token_scope wire;
} scopes[] = {
    [ACCESS_SCOPE_NONE] = {"", "", WIRE_USER_TOKEN_SCOPE_UNSPECIFIED},
    [ACCESS_SCOPE_READ] = {"READ", "read", WIRE_USER_TOKEN_SCOPE_READ},
    [ACCESS_SCOPE_SUBMIT] = {"SUBMIT", "submit", WIRE_USER_TOKEN_SCOPE_SUBMIT},
    [ACCESS_SCOPE_ALL] = {"ALL", "all", WIRE_USER_TOKEN_SCOPE_ALL},
    [ACCESS_SCOPE_LOGIN] = {"ALL", "all", WIRE_USER_TOKEN_SCOPE_ALL},
};

const char *access_scope_name(enum access_scope scope)
{
    return scopes[scope].name;
}

const char *access_scope_word(enum access_scope scope)
{
    return scopes[scope].word;
}

enum wire_user_token_scope access_scope_to_wire(enum access_scope scope)
{
    return scopes[scope].wire;
}

enum access_scope access_scope_of_name(const char *name)
{
    for (enum access_scope s = ACCESS_SCOPE_READ; s <= ACCESS_SCOPE_ALL; s++)
        if (strcmp(scopes[s].name, name) == 0)
            return s;
    return ACCESS_SCOPE_NONE;
}

int access_scope_of_wire(enum wire_user_token_scope scope, enum access_scope *ret, struct error *err)
{
    if (scope == WIRE_USER_TOKEN_SCOPE_UNSPECIFIED) {
        *ret = ACCESS_SCOPE_ALL;
        return 0;
    }
    for (enum access_scope s = ACCESS_SCOPE_READ; s <= ACCESS_SCOPE_ALL; s++)
        if (scopes[s].wire == scope) {
            *ret = s;
            return 0;
        }
    return error_set(err, ERR_INVALID,
                     "scope is %d: allowed are TOKEN_SCOPE_READ, TOKEN_SCOPE_SUBMIT and TOKEN_SCOPE_ALL", (int)scope);
}
