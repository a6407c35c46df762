/* The account of somebody whom a provider has logged in: found, made if it may be, and brought in line with what the
 * provider says. A provider's word opens only accounts that are remote, which have no password here: an account with a
 * password, such as that of an admin, cannot be taken over by whoever has its name at the provider. */
#ifndef DET_API_SSO_REMOTE_ACCOUNT_H
#define DET_API_SSO_REMOTE_ACCOUNT_H

#include "api/pipeline/handler.h"
#include "api/sso/remote_person.h"
#include "store/rows.h"

struct remote_rules {
    bool provision; /* make the account if there is none; let display name and account on agents follow the provider */
    bool sync_groups; /* the person is in those groups of this cluster that the provider names, and in no others */
};

struct remote_account {
    struct store_user user; /* as it is afterwards */
    bool is_new;
    int32_t *joined, *left; /* groups */
    size_t joined_n, left_n;
};

/* On the writer's thread. ERR_FORBIDDEN: the person may not log in, and the sentence says what an admin can do. */
int remote_account_store(struct req *r, struct store *db, const struct remote_person *p,
                         const struct remote_rules *rules, struct remote_account *ret, struct error *err);
/* The display name that a provider or a directory gives to the user `id` (0: a new one). NULL: there is none, or
 * another user is shown under it, of whom the provider knows nothing. */
int remote_display_name(struct store *db, const char *name, int32_t id, const char **ret, struct error *err);
/* On the loop, after the commit: what is held in memory follows the memberships. */
void remote_account_remember(struct req *r, const struct remote_account *x);

#endif
