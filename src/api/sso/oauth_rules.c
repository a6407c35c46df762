#include "api/sso/oauth_rules.h"

#include <openssl/crypto.h>
#include <string.h>
#include <strings.h>

#include "api/sso/pkce.h"
#include "common/base/percent.h"
#include "common/base/strbuf.h"

#define LETTERS_AND_DIGITS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
enum { VERIFIER_MIN = 43, VERIFIER_MAX = 128 /* RFC 7636, 4.1 */ };

/* ---- addresses --------------------------------------------------------------------------------------------------- */

static size_t scheme_length(const char *uri)
{
    return strncasecmp(uri, "https://", 8) == 0 ? 8 : strncasecmp(uri, "http://", 7) == 0 ? 7 : 0;
}

static size_t host_length(const char *uri)
{
    size_t scheme = scheme_length(uri);
    return scheme ? strcspn(uri + scheme, "/?#") : 0;
}

static bool is_own_machine(const char *host, size_t n)
{
    static const char *const names[] = {"localhost", "127.0.0.1"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        size_t k = strlen(names[i]);
        if (n >= k && strncasecmp(host, names[i], k) == 0 && (n == k || host[k] == ':'))
            return true;
    }
    return false;
}

int oauth_check_redirect(const char *uri, struct error *err)
{
    size_t n = uri ? strlen(uri) : 0, scheme = n ? scheme_length(uri) : 0, host = n ? host_length(uri) : 0;
    if (n == 0 || n > OAUTH_URI_MAX)
        return error_set(err, ERR_INVALID,
                         "domain is the address to which browsers are sent back, as the directory service shows it, "
                         "with 1 to %d bytes; this one has %zu",
                         OAUTH_URI_MAX, n);
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)uri[i] <= ' ' || (unsigned char)uri[i] >= 0x7f)
            return error_set(err, ERR_INVALID,
                             "domain has printable characters of ASCII only; byte %zu is 0x%02x: write it as %%%02X",
                             i + 1, (unsigned char)uri[i], (unsigned char)uri[i]);
    if (host == 0)
        return error_set(err, ERR_INVALID,
                         "domain is \"%.200s\": write the whole address, such as "
                         "https://system-admin.okta.com/admin/app/cpc/NAME/oauth/callback",
                         uri);
    /* no brackets: the page that asks for consent names the host in form-action, whose grammar has none */
    if (strspn(uri + scheme, LETTERS_AND_DIGITS "-._:") < host)
        return error_set(err, ERR_INVALID,
                         "domain names the host \"%.*s\": letters, digits and -._: are allowed; a host with an address "
                         "of IPv6 needs a name",
                         host > 200 ? 200 : (int)host, uri + scheme);
    if (strchr(uri, '#'))
        return error_set(err, ERR_INVALID, "domain has a part behind #, which browsers do not send back: leave it out");
    if (scheme == 7 && !is_own_machine(uri + scheme, host))
        return error_set(err, ERR_INVALID,
                         "domain begins with http://, and everybody on the way could read the code: write https:// "
                         "(http:// is for localhost and 127.0.0.1)");
    return 0;
}

const char *oauth_origin(const char *uri, struct arena *a)
{
    return arena_strndup(a, uri, scheme_length(uri) + host_length(uri));
}

int oauth_check_address(const struct oauth_request *q, const char *registered, struct error *err)
{
    if (!q->redirect_uri || strcmp(q->redirect_uri, registered) == 0)
        return 0;
    return error_set(err, ERR_INVALID,
                     "The program wants the browser sent to %.300s, and is registered with %.300s. The two must be the "
                     "same to the letter: see det oauth client list",
                     q->redirect_uri, registered);
}

/* ---- what is asked for ------------------------------------------------------------------------------------------- */

static bool is_challenge(const char *text)
{
    size_t n = strlen(text);
    return n >= VERIFIER_MIN && n <= VERIFIER_MAX && strspn(text, LETTERS_AND_DIGITS "-_") == n;
}

const char *oauth_fault(const struct oauth_request *q)
{
    if (!q->response_type || (q->state && strlen(q->state) > OAUTH_STATE_MAX))
        return "invalid_request";
    if (strcmp(q->response_type, "code") != 0)
        return "unsupported_response_type";
    if (!q->challenge)
        return q->challenge_method ? "invalid_request" : NULL;
    bool s256 = q->challenge_method && strcmp(q->challenge_method, "S256") == 0; /* "plain" protects nothing */
    return s256 && is_challenge(q->challenge) ? NULL : "invalid_request";
}

static void add_parameter(struct strbuf *out, char before, const char *name, const char *value)
{
    strbuf_addf(out, "%c%s=", before, name);
    strbuf_add_percent(out, value, PERCENT_UNRESERVED);
}

const char *oauth_answer(const char *redirect_uri, const char *name, const char *value, const char *state,
                         struct arena *a)
{
    struct strbuf url = STRBUF_INIT;
    strbuf_adds(&url, redirect_uri);
    add_parameter(&url, strchr(redirect_uri, '?') ? '&' : '?', name, value);
    if (state)
        add_parameter(&url, '&', "state", state);
    const char *text = arena_strdup(a, strbuf_str(&url));
    strbuf_release(&url);
    return text;
}

bool oauth_verifier_fits(const char *verifier, const char *challenge)
{
    cleanup_strbuf struct strbuf made = STRBUF_INIT;
    if (!verifier || !*challenge) /* whoever sends a verifier of a code without a challenge has another code in mind */
        return !verifier && !*challenge;
    size_t n = strlen(verifier);
    if (n < VERIFIER_MIN || n > VERIFIER_MAX || !pkce_challenge(verifier, &made))
        return false;
    return made.n == strlen(challenge) && CRYPTO_memcmp(strbuf_str(&made), challenge, made.n) == 0;
}
