/* What a token may be used for. An access token has a scope, and each route needs one (`scope` in contract/served.json,
 * explained in contract/README.md). A token may use the routes that need its scope or a lesser one. Pure functions. */
#ifndef DET_API_RIGHTS_SCOPE_H
#define DET_API_RIGHTS_SCOPE_H

#include "common/base/error.h"
#include "gen/wire.h"

/* Least first. */
enum access_scope {
    ACCESS_SCOPE_NONE,
    ACCESS_SCOPE_READ,
    ACCESS_SCOPE_SUBMIT, /* starts experiments and tasks, steers them, reports their results */
    ACCESS_SCOPE_ALL,
    ACCESS_SCOPE_LOGIN, /* no token has it: what needs it is for somebody who has logged in */
};

/* The name that the store keeps: "READ", "SUBMIT" or "ALL"; of a login "ALL". */
const char *access_scope_name(enum access_scope scope);
enum access_scope access_scope_of_name(const char *name); /* ACCESS_SCOPE_NONE: there is no such scope */
/* The word for people: "read", "submit" or "all". */
const char *access_scope_word(enum access_scope scope);
enum wire_user_token_scope access_scope_to_wire(enum access_scope scope);
/* The scope that a request asks for; unspecified is ACCESS_SCOPE_ALL, as in release 0.38.1, which has no scopes. */
int access_scope_of_wire(enum wire_user_token_scope scope, enum access_scope *ret, struct error *err);

#endif
