#include "api/sso/sso.h"

#include <openssl/crypto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/pipeline/sign_in.h"
#include "common/base/must.h"
#include "common/config/config.h"
#include "common/system/log.h"
#include "common/system/random.h"

enum {
    ASKING_MAX = 64, /* questions to the provider at a time: people who are not logged in can cause them */
    STATE_MAX = 44,
};
#define SECOND_US INT64_C(1000000)
#define DOCUMENT_LIFE_US (3600 * SECOND_US)

struct used_ticket {
    char state[STATE_MAX];
    int64_t until_us;
};

struct sso {
    struct sso_settings settings;
    struct arena texts;
    uint8_t key[OIDC_TICKET_KEY];
    struct {
        char *text;
        int64_t at_us;
    } document[SSO_DOCUMENTS];
    int asking;
    struct used_ticket *used; /* oldest first: as many as there were logins within the life of a ticket */
    size_t used_n, used_cap;
};

static const char *text_of(struct sso *s, const struct config *c, const char *path)
{
    const char *text = config_str(c, path);
    return arena_strdup(&s->texts, text ? text : "");
}

static void warn_of_plain_http(const struct sso_settings *x)
{
    if (strncmp(x->issuer, "http://", 7) == 0 || strncmp(x->base, "http://", 7) == 0)
        log_warning(
            "sso.plain_http",
            "provider=%s master=%s: without https whoever is on the way can log in as anybody; use it for trials "
            "only",
            log_quote(x->issuer), log_quote(x->base));
}

/* The secret should come from the environment, as DET_OIDC_CLIENT_SECRET, which is the name in release 0.38.1, too.
 * With SCIM on, the directory makes the accounts, and its word on groups counts. */
static void read_settings(struct sso *s, const struct config *c)
{
    struct sign_in_provider p;
    if (!sign_in_provider_of(c, &s->texts, &p))
        return;
    bool scim = config_bool(c, "scim.enabled");
    s->settings = (struct sso_settings){.enabled = true,
                                        .name = p.name,
                                        .base = p.base,
                                        .issuer = text_of(s, c, "oidc.idp_sso_url"),
                                        .client_id = text_of(s, c, "oidc.client_id"),
                                        .client_secret = text_of(s, c, "oidc.client_secret"),
                                        .ask_for_groups = !config_bool(c, "oidc.exclude_groups_scope"),
                                        .provision = !scim && config_bool(c, "oidc.auto_provision_users"),
                                        .names = {.account = text_of(s, c, "oidc.authentication_claim"),
                                                  .display_name = text_of(s, c, "oidc.display_name_attribute_name"),
                                                  .groups = scim ? "" : text_of(s, c, "oidc.groups_attribute_name"),
                                                  .agent_uid = text_of(s, c, "oidc.agent_uid_attribute_name"),
                                                  .agent_gid = text_of(s, c, "oidc.agent_gid_attribute_name"),
                                                  .agent_user = text_of(s, c, "oidc.agent_user_name_attribute_name"),
                                                  .agent_group = text_of(s, c,
                                                                         "oidc.agent_group_name_attribute_name")}};
    warn_of_plain_http(&s->settings);
}

struct sso *sso_new(const struct config *c)
{
    struct sso *s = must_calloc(1, sizeof(*s));
    if (random_bytes(s->key, sizeof(s->key), NULL) < 0)
        abort(); /* a system without random bytes can make no token either */
    read_settings(s, c);
    return s;
}

void sso_free(struct sso *s)
{
    if (!s)
        return;
    for (int i = 0; i < SSO_DOCUMENTS; i++)
        free(s->document[i].text);
    OPENSSL_cleanse(s->key, sizeof(s->key));
    free(s->used);
    arena_release(&s->texts);
    free(s);
}

const struct sso_settings *sso_settings(const struct sso *s)
{
    return &s->settings;
}

const uint8_t *sso_ticket_key(const struct sso *s)
{
    return s->key;
}

const char *sso_document(const struct sso *s, enum sso_document which, int64_t now_us)
{
    int64_t age_us = now_us - s->document[which].at_us;
    return s->document[which].text && age_us >= 0 && age_us < DOCUMENT_LIFE_US ? s->document[which].text : NULL;
}

void sso_keep_document(struct sso *s, enum sso_document which, const char *text, int64_t now_us)
{
    free(s->document[which].text);
    s->document[which].text = must_strdup(text);
    s->document[which].at_us = now_us;
}

int sso_ask(struct sso *s, struct error *err)
{
    if (s->asking >= ASKING_MAX)
        return error_set(err, ERR_UNAVAILABLE, "%d logins wait for %s already: try again in a minute", s->asking,
                         s->settings.name);
    s->asking++;
    return 0;
}

void sso_answered(struct sso *s)
{
    s->asking--;
}

int sso_check_unused(const struct sso *s, const char *state, struct error *err)
{
    for (size_t i = 0; i < s->used_n; i++)
        if (strcmp(s->used[i].state, state) == 0)
            return error_set(err, ERR_INVALID, "this login has been completed already: begin a new one");
    return 0;
}

static void forget_expired(struct sso *s, int64_t now_us)
{
    size_t n = 0;
    while (n < s->used_n && s->used[n].until_us <= now_us)
        n++;
    s->used_n -= n;
    if (n)
        memmove(s->used, s->used + n, s->used_n * sizeof(*s->used));
}

void sso_note_used(struct sso *s, const char *state, int64_t now_us)
{
    forget_expired(s, now_us);
    if (s->used_n == s->used_cap) {
        s->used_cap = s->used_cap ? 2 * s->used_cap : 64;
        s->used = must_realloc(s->used, s->used_cap * sizeof(*s->used));
    }
    struct used_ticket *u = &s->used[s->used_n++];
    snprintf(u->state, sizeof(u->state), "%s", state);
    u->until_us = now_us + 2 * OIDC_TICKET_LIFE_S * SECOND_US;
}
