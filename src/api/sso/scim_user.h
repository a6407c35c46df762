/* Users of SCIM 2.0 (RFC 7643, 7644) as JSON: reading what a directory service sends, changing it by its operations,
 * and finding out for whom it asks. Pure functions. */
#ifndef DET_API_SSO_SCIM_USER_H
#define DET_API_SSO_SCIM_USER_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/arena.h"
#include "common/base/error.h"
#include "common/json/json.h"

struct scim_user {
    const char *username;
    const char *display_name; /* NULL: none that can be kept */
    bool active;
    const char *external_id; /* "": none */
    const char *attributes;  /* JSON: what the directory reads back */
};

/* ERR_INVALID: the document is no user. */
int scim_user_read(struct json_object *doc, struct arena *a, struct scim_user *ret, struct error *err);
/* Changes the document of a user by the operations of a PATCH (RFC 7644, 3.5.2): add, replace and remove. */
int scim_user_patch(struct json_object *doc, struct json_object *patch, struct arena *a, struct error *err);

/* userName eq "x" or externalId eq "x"; an empty or missing filter asks for all. */
struct scim_filter {
    const char *username, *external_id; /* "": any */
};
int scim_filter_read(const char *text, struct arena *a, struct scim_filter *ret, struct error *err);

#endif
