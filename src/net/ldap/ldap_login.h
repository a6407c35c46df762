/* One login at a directory: whether it knows somebody by this name and password, and what it says of them.
 *
 * Each login has a connection of its own, with TLS from its first byte (ldaps://) or by StartTLS, whose certificate is
 * checked. Servers are tried in order. What a server sends is bounded by size, by number and by the time of one
 * server for the login; the resolver, each address of the server and the TLS handshake may take as long each. Referrals
 * to other servers are not followed: the password would go there, too. Blocks: call it on a thread that may wait for
 * networks. */
#ifndef DET_NET_LDAP_LDAP_LOGIN_H
#define DET_NET_LDAP_LDAP_LOGIN_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/arena.h"
#include "common/base/error.h"

/* Texts that are not set are "". */
struct ldap_settings {
    const char *const *url;
    size_t url_n;
    bool start_tls;      /* the URLs are ldap:// */
    const char *ca_file; /* "": the authorities of this machine */
    int timeout_s;       /* of one server */
    /* The person's DN by this template; or, if it is "", by a search with the service account. */
    const char *user_dn;
    const char *bind_dn, *bind_password, *search_base, *search_filter;
    /* The attribute with the user's name here; "": the name as it was typed. */
    const char *username_attribute;
    const char *display_name_attribute;
    /* The account on the agents' machines that the person's tasks run as. */
    const char *agent_uid_attribute, *agent_gid_attribute, *agent_user_attribute, *agent_group_attribute;
    /* Groups: the person's attribute that lists them, and the search for those that list the person. */
    const char *groups_attribute;
    const char *group_search_base, *group_search_filter, *group_name_attribute;
};

enum { LDAP_GROUPS_MAX = 1000 };

/* All of it is in the arena. */
struct ldap_person {
    const char *dn;
    const char *username;              /* as the directory writes it, or as it was typed */
    const char *display_name;          /* NULL: the directory does not say; the same for the four below */
    const char *agent_uid, *agent_gid; /* "": it says several, or what is no text that can be used */
    const char *agent_user, *agent_group;
    const char **group; /* names: of a DN, the value at its beginning */
    size_t group_n;
    const char **group_dn; /* of those that have one, in libldap's normal form */
    size_t group_dn_n;
};

/* Loads libldap: a master wants to know at its start whether it can. */
int ldap_login_load(struct error *err);

/* ERR_UNAUTHENTICATED: wrong name or password. ERR_FORBIDDEN: the directory keeps this person out, and the sentence is
 * for that person. ERR_UNAVAILABLE: no server can be asked; ERR_BAD_GATEWAY: what it answers cannot be used; these
 * sentences are for an administrator. */
int ldap_login(const struct ldap_settings *s, const char *name, const char *password, struct arena *a,
               struct ldap_person *ret, struct error *err);

/* Whether the person is in this group: a DN is compared as a whole, any other text with the names. */
bool ldap_person_is_in(const struct ldap_person *p, const char *group, struct arena *a);

#endif
