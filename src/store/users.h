/* Users, the account on the agents that their tasks run as, and the settings of their web pages. */
#ifndef DET_STORE_USERS_H
#define DET_STORE_USERS_H

#include "store/page.h"
#include "store/functions.h"

int store_user_patch(struct store *st, int32_t id, const struct store_user_patch *p, int64_t now_us,
                     struct error *err); /* ERR_CONFLICT: name taken */

/* Sorting is by the numbers of api.v1.GetUsersRequest.SortBy; unspecified is by id. */
struct store_user_filter {
    const char *name; /* substring of user name or display name, without regard to case; NULL: any */
    bool has_active, active, has_admin, admin;
    int32_t sort_by;
    bool descending;
    struct page page;
};
struct store_user_list { struct store_user *user; size_t user_n; struct page_window window; };
int store_user_list(struct store *st, const struct store_user_filter *f, struct arena *a, struct store_user_list *ret,
                    struct error *err);

int store_user_setting_set(struct store *st, int32_t user_id, const struct store_user_setting *s, struct error *err);

#endif
