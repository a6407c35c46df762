/* The account of somebody whom another service has logged in, a provider of OpenID Connect (api/sso) or a directory
 * (directory.h): found, made if it may be, and brought in line with what the service says. Its word opens only accounts
 * that are remote, which have no password here: an account with a password, such as that of an admin, cannot be taken
 * over by whoever has its name there. */
#ifndef DET_API_ACCOUNTS_REMOTE_ACCOUNT_H
#define DET_API_ACCOUNTS_REMOTE_ACCOUNT_H

#include "api/pipeline/handler.h"
#include "store/rows.h"

struct remote_person {
    const char *username;
    const char *display_name; /* NULL: the service does not say */
    const char **group;
    size_t group_n;
    bool has_uid, has_gid;
    int32_t uid, gid;
    const char *agent_user, *agent_group; /* NULL: the service does not say */
    bool admin;                           /* counts with remote_rules.sync_admin */
};

struct remote_rules {
    const char *by;   /* "provider" or "directory": for sentences */
    bool provision;   /* make the account if there is none; let its display name follow the service */
    bool sync_agent;  /* let the account on agents follow the service, whatever an admin has set */
    bool sync_groups; /* the person is in those groups of this cluster that the service names, and in no others */
    bool sync_admin;  /* the service says whether the person is an admin */
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
/* The display name that a service gives to the user `id` (0: a new one). NULL: there is none, or
 * another user is shown under it, of whom the service knows nothing. */
int remote_display_name(struct store *db, const char *name, int32_t id, const char **ret, struct error *err);
/* On the loop, after the commit: what is held in memory follows the memberships. */
void remote_account_remember(struct req *r, const struct remote_account *x);

#endif
