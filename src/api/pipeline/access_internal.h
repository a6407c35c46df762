/* What access.c (credentials, owners) and access_roles.c (roles) share. */
#ifndef DET_API_PIPELINE_ACCESS_INTERNAL_H
#define DET_API_PIPELINE_ACCESS_INTERNAL_H

#include "api/pipeline/access.h"
#include "common/codec/codec.h"
#include "store/accounts/owners.h"

/* The kinds of objects, by enum access_object. */
struct access_kind {
    const char *name;
    bool by_text;
    enum store_owned stored;
    enum permission view; /* without it the object is not there for a user; PERMISSIONS_N: everybody sees it */
};
extern const struct access_kind access_kinds[];

enum { ACCESS_ID_TEXT_MAX = 96 };
const char *access_id_text(struct access_id id, char buffer[ACCESS_ID_TEXT_MAX]);
int access_not_found(struct access_id id, struct error *err);

const struct access_row *access_row_of(const struct req *r);
const struct access_rule *access_rule_of(const struct req *r);

/* Whether the object belongs to the allocation whose session asks. */
bool access_is_own(const struct req *r, struct access_id id);
bool access_is_own_checkpoint(const struct req *r, const struct store_owner *o);

/* The field of the decoded request that `at` names; NULL if the message around it is missing. The generator has
 * checked that the names exist. */
const void *access_find_field(const struct req *r, const char *at, const struct codec_field **ret);

/* Returns 1, 0 if there is no such object, or -1. */
int access_owner_of(struct req *r, struct store *db, struct access_id id, struct store_owner *ret, struct error *err);

/* ---- access_roles.c ---- */

/* Whether roles, and not owners, decide on this request. */
bool access_by_roles(const struct req *r);
/* Whether roles give the one who asks all permissions of the row; for routes that are for admins without roles. */
bool access_roles_give_rights(const struct req *r);
/* As access_check_object() and access_check_stored(). */
int access_check_roles(const struct req *r, struct error *err);
int access_check_roles_stored(struct req *r, struct store *db, struct error *err);
/* Judges an object by the permission of the row that the handler asks for. */
int access_judge_asked(const struct req *r, struct access_id id, const struct store_owner *o, struct error *err);
int access_judge_stored(struct req *r, struct store *db, struct access_id id, struct error *err);

#endif
