/* Which permissions each user has, held in memory by the loop: made of the roles that are given to the user and to the
 * groups that the user is in. It is loaded from the store at the start, and follows each committed change. A request
 * holds the set of the user who asks until it ends. Loop's thread only, but for permission_set_in() and
 * permission_set_has(), which any thread may call for a set that the request holds.
 *
 * The set of a user is made when it is first asked for, and forgotten when a role or a group of the user changes, so
 * that a check is a look-up and a test of a bit. */
#ifndef DET_API_RIGHTS_PERMISSIONS_H
#define DET_API_RIGHTS_PERMISSIONS_H

#include <stddef.h>

#include "common/base/arena.h"
#include "gen/permissions.h"

struct permissions_at {
    int32_t workspace_id;
    uint64_t bits;
};

struct permission_set {
    int refs;                  /* how many hold it; loop's thread only */
    uint64_t cluster;          /* in the whole cluster, and so in each workspace */
    struct permissions_at *at; /* besides, in single workspaces; in the order of their ids */
    size_t at_n;
};

/* All permissions in this workspace; 0: those for the whole cluster. */
uint64_t permission_set_in(const struct permission_set *s, int32_t workspace_id);
static inline bool permission_set_has(const struct permission_set *s, enum permission p, int32_t workspace_id)
{
    return permission_set_in(s, workspace_id) & PERMISSION_BIT(p);
}
/* The set stays as it is, and is there, until permission_set_unref(), even if the user's roles change meanwhile: other
 * threads may read it. Both calls are for the loop's thread. NULL is allowed. */
const struct permission_set *permission_set_ref(const struct permission_set *s);
void permission_set_unref(const struct permission_set *s);
extern const struct permission_set *const permission_set_all; /* everything, in the whole cluster */

const struct role_row *role_by_id(int32_t id); /* NULL: there is no such role */

/* One role of a user or of a group; the other of the two ids is 0. */
struct role_given {
    int32_t user_id, group_id, role_id;
    int32_t workspace_id; /* 0: the whole cluster */
};

struct permissions;
struct permissions *permissions_new(void);
void permissions_free(struct permissions *p);

void permissions_give(struct permissions *p, const struct role_given *g);
void permissions_take(struct permissions *p, const struct role_given *g);
void permissions_join(struct permissions *p, int32_t group_id, int32_t user_id);
void permissions_leave(struct permissions *p, int32_t group_id, int32_t user_id);
void permissions_drop_group(struct permissions *p, int32_t group_id);
/* The workspace is gone, and its number may be given to another one. */
void permissions_drop_workspace(struct permissions *p, int32_t workspace_id);

/* The set stays valid until the next of the calls above. */
const struct permission_set *permissions_of(struct permissions *p, int32_t user_id);

#endif
