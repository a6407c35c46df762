/* Whom a provider has logged in, as the configured claims say it. Pure functions. */
#ifndef DET_API_SSO_REMOTE_PERSON_H
#define DET_API_SSO_REMOTE_PERSON_H

#include "api/accounts/remote_account.h"

struct json_object;

/* The names of the claims; "": the claim is not asked for. */
struct claim_names {
    const char *account, *display_name, *groups, *agent_uid, *agent_gid, *agent_user, *agent_group;
};

/* Whether all claims are there that are asked for; if not, the provider's other source may have them. */
bool claims_are_whole(struct json_object *claims, const struct claim_names *names);
/* ERR_FORBIDDEN: this person cannot log in, and the sentence says which claim is wrong. */
int remote_person_read(struct json_object *claims, const struct claim_names *names, struct arena *a,
                       struct remote_person *ret, struct error *err);

#endif
