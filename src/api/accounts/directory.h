/* The directory (LDAP) that checks the passwords of remote accounts, as the master's configuration describes it
 * (docs/ldap.md). Loop's thread only, but for directory_settings() and directory_person(). */
#ifndef DET_API_ACCOUNTS_DIRECTORY_H
#define DET_API_ACCOUNTS_DIRECTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "api/accounts/remote_account.h"
#include "net/ldap/ldap_login.h"

struct config;
struct directory;

/* The texts live as long as struct directory. */
struct directory_settings {
    bool enabled;
    struct ldap_settings ldap;
    bool provision, sync_groups;
    const char *admin_group; /* "": the directory makes nobody an admin */
    bool allow_http;         /* passwords that came over plain http from other machines are taken, too */
};

struct directory *directory_new(const struct config *c);
void directory_free(struct directory *d);
const struct directory_settings *directory_settings(const struct directory *d);

/* While a directory does not answer, each login would wait for its whole time-out. So for a few seconds after one has
 * waited in vain, the others are refused at once. ERR_UNAVAILABLE. */
int directory_check_up(const struct directory *d, int64_t now_us, struct error *err);
void directory_note(struct directory *d, bool answers, int64_t now_us);
/* The sentence for people while the directory cannot be used; what is wrong is in the log. */
int directory_is_away(struct error *err);

/* What the directory says, as an account of this cluster. ERR_FORBIDDEN: its name can be no user name here, or
 * its ids are none; the sentence is for the person. */
int directory_person(const struct directory_settings *s, const struct ldap_person *found, struct arena *a,
                     struct remote_person *ret, struct error *err);

#endif
