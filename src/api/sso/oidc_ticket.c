#include "api/sso/oidc_ticket.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <string.h>

#include "api/rights/secret.h"
#include "api/sso/pkce.h"
#include "common/base/base64.h"
#include "common/system/random.h"

enum { RANDOM_BYTES = 24, HASH_BYTES = 32, COOKIE_MAX = 4096 };
#define SECOND_US INT64_C(1000000)

/* ---- where a login may lead -------------------------------------------------------------------------------------- */

bool oidc_relay_is_cli(const char *relay)
{
    return strcmp(relay, "cli") == 0 || strcmp(relay, "cli=true") == 0;
}

/* What a URL consists of once it is encoded. */
static bool is_encoded(const char *s)
{
    for (; *s; s++)
        if (*s <= ' ' || *s > '~')
            return false;
    return true;
}

int oidc_relay_check(const char *relay, struct error *err)
{
    if (!*relay || oidc_relay_is_cli(relay))
        return 0;
    if (strlen(relay) > OIDC_TICKET_RELAY_MAX)
        return error_set(err, ERR_INVALID, "relayState has %zu bytes, at most %d are allowed", strlen(relay),
                         OIDC_TICKET_RELAY_MAX);
    /* Browsers read "//host" and "/\host" as another host, and drop tabs and line ends before they look. */
    if (relay[0] != '/' || relay[1] == '/' || strchr(relay, '\\') || !is_encoded(relay))
        return error_set(
            err, ERR_INVALID,
            "relayState must be cli or a path of this master, such as /det/experiments: a login leads to no "
            "other host");
    return 0;
}

/* ---- texts of a ticket ------------------------------------------------------------------------------------------- */

static const char *encoded(const void *data, size_t n, struct arena *a)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    base64_url_encode(data, n, &text);
    return arena_strdup(a, strbuf_str(&text));
}

/* A text that only the owner of the key can compute of the cookie; `use` keeps the texts for different uses apart. */
static int derive(const uint8_t key[OIDC_TICKET_KEY], const char *use, const char *cookie, struct arena *a,
                  const char **ret, struct error *err)
{
    unsigned char hash[HASH_BYTES];
    unsigned int n = sizeof(hash);
    const char *text = arena_printf(a, "%s:%s", use, cookie);
    if (!HMAC(EVP_sha256(), key, OIDC_TICKET_KEY, (const unsigned char *)text, strlen(text), hash, &n))
        return error_set(err, ERR_INTERNAL, "OpenSSL computes no HMAC");
    *ret = encoded(hash, sizeof(hash), a);
    return 0;
}

static int fill(const uint8_t key[OIDC_TICKET_KEY], struct arena *a, struct oidc_ticket *t, struct error *err)
{
    cleanup_strbuf struct strbuf challenge = STRBUF_INIT;
    if (derive(key, "state", t->cookie, a, &t->state, err) < 0 ||
        derive(key, "nonce", t->cookie, a, &t->nonce, err) < 0 ||
        derive(key, "verifier", t->cookie, a, &t->verifier, err) < 0)
        return -1;
    if (!pkce_challenge(t->verifier, &challenge))
        return error_set(err, ERR_INTERNAL, "OpenSSL computes no SHA-256");
    t->challenge = arena_strdup(a, strbuf_str(&challenge));
    return 0;
}

int oidc_ticket_new(const uint8_t key[OIDC_TICKET_KEY], int64_t now_us, const char *relay, struct arena *a,
                    struct oidc_ticket *ret, struct error *err)
{
    unsigned char random[RANDOM_BYTES];
    struct oidc_ticket t = {.relay = arena_strdup(a, relay)};
    if (oidc_relay_check(relay, err) < 0)
        return -1;
    if (random_bytes(random, sizeof(random), err) < 0)
        return -1;
    t.cookie = arena_printf(a, "%s.%lld.%s", encoded(random, sizeof(random), a), (long long)(now_us / SECOND_US),
                            encoded(relay, strlen(relay), a));
    if (fill(key, a, &t, err) < 0)
        return -1;
    *ret = t;
    return 0;
}

/* Reads time and relay state of a cookie whose state has shown that this process has made it. */
static int read_cookie(const char *cookie, struct arena *a, int64_t *ret_made_s, const char **ret_relay)
{
    const char *at = strchr(cookie, '.'), *relay = at ? strchr(at + 1, '.') : NULL;
    size_t n = relay ? strlen(relay + 1) : 0;
    if (!relay)
        return -1;
    char *text = arena_alloc(a, base64_decoded_max(n) + 1);
    if (base64_decode(relay + 1, n, (uint8_t *)text, &n) < 0)
        return -1;
    text[n] = '\0';
    *ret_relay = text;
    *ret_made_s = 0;
    for (const char *p = at + 1; p < relay; p++)
        *ret_made_s = *ret_made_s * 10 + (*p - '0');
    return 0;
}

int oidc_ticket_open(const uint8_t key[OIDC_TICKET_KEY], int64_t now_us, const char *cookie, const char *state,
                     struct arena *a, struct oidc_ticket *ret, struct error *err)
{
    struct oidc_ticket t = {.cookie = cookie};
    int64_t made_s;
    if (!state || !*state)
        return error_set(err, ERR_INVALID, "the provider's answer has no state: begin the login again");
    if (!cookie || !*cookie || strlen(cookie) > COOKIE_MAX)
        return error_set(err, ERR_INVALID,
                         "this browser has not begun a login here, or does not keep cookies: begin the login again");
    if (fill(key, a, &t, err) < 0)
        return -1;
    if (!secret_matches(state, strlen(state), t.state) || read_cookie(cookie, a, &made_s, &t.relay) < 0)
        return error_set(err, ERR_INVALID,
                         "the provider's answer belongs to another login, or the master was restarted meanwhile: begin "
                         "the login again");
    if (now_us / SECOND_US - made_s > OIDC_TICKET_LIFE_S)
        return error_set(err, ERR_DEADLINE, "the login took longer than %d minutes: begin it again",
                         OIDC_TICKET_LIFE_S / 60);
    *ret = t;
    return 0;
}
