/* The provider of OpenID Connect at which people log in, as the master knows it: its configuration, what it has said of
 * itself lately, and which tickets have been used. Loop's thread only, but for sso_settings(). */
#ifndef DET_API_SSO_SSO_H
#define DET_API_SSO_SSO_H

#include <stdbool.h>
#include <stdint.h>

#include "api/sso/oidc_ticket.h"
#include "api/sso/remote_person.h"

struct config;

/* How people log in at the provider; the texts live as long as struct sso. */
struct sso_settings {
    bool enabled;
    const char *name, *issuer, *client_id, *client_secret;
    const char *base; /* the master's own address, as the provider and browsers know it */
    bool ask_for_groups;
    struct claim_names names;
    bool provision; /* accounts are made at the first login, and follow the provider */
};

struct sso;
struct sso *sso_new(const struct config *c);
void sso_free(struct sso *s);
const struct sso_settings *sso_settings(const struct sso *s);
const uint8_t *sso_ticket_key(const struct sso *s);

/* The provider's documents, kept for an hour. NULL: there is none, or it is too old. */
enum sso_document { SSO_DISCOVERY, SSO_KEYS, SSO_DOCUMENTS };
const char *sso_document(const struct sso *s, enum sso_document which, int64_t now_us);
void sso_keep_document(struct sso *s, enum sso_document which, const char *text, int64_t now_us);

/* Counts the questions to the provider that are under way. ERR_UNAVAILABLE: there are too many. */
int sso_ask(struct sso *s, struct error *err);
void sso_answered(struct sso *s);

/* A ticket opens one session only. ERR_INVALID: this one has opened one. */
int sso_check_unused(const struct sso *s, const char *state, struct error *err);
void sso_note_used(struct sso *s, const char *state, int64_t now_us);

#endif
