#include "api/sso/oidc_provider.h"

#include <string.h>

#include "common/json/json.h"

/* The length without a slash at the end, which people write or leave out. */
static size_t without_slash(const char *url)
{
    size_t n = strlen(url);
    return n > 0 && url[n - 1] == '/' ? n - 1 : n;
}

const char *oidc_discovery_url(const char *issuer, struct arena *a)
{
    return arena_printf(a, "%.*s/.well-known/openid-configuration", (int)without_slash(issuer), issuer);
}

/* An endpoint of a provider that is reached by https must be so, too: secrets go there. */
static int read_endpoint(struct json_object *doc, const char *name, bool required, const char *issuer, struct arena *a,
                         const char **ret, struct error *err)
{
    const char *url = json_get_text(doc, name, a);
    bool tls = strncmp(url, "https://", 8) == 0, plain = strncmp(url, "http://", 7) == 0;
    if (!*url && required)
        return error_set(err, ERR_BAD_GATEWAY, "the document of %s lacks %s", oidc_discovery_url(issuer, a), name);
    if (*url && !tls && !(plain && strncmp(issuer, "http://", 7) == 0))
        return error_set(err, ERR_BAD_GATEWAY, "%s in %s must be an address of https, it is \"%.200s\"", name,
                         oidc_discovery_url(issuer, a), url);
    *ret = url;
    return 0;
}

static bool sends_secret_in_body(struct json_object *doc, struct arena *a)
{
    size_t n;
    bool body = false;
    const char **methods = json_get_texts(doc, "token_endpoint_auth_methods_supported", a, &n);
    for (size_t i = 0; i < n; i++) {
        if (strcmp(methods[i], "client_secret_basic") == 0)
            return false;
        body = body || strcmp(methods[i], "client_secret_post") == 0;
    }
    return body;
}

int oidc_provider_read(const char *text, size_t n, const char *issuer, struct arena *a, struct oidc_provider *ret,
                       struct error *err)
{
    cleanup_json struct json_object *doc = NULL;
    struct oidc_provider p;
    if (json_parse(text, n, &doc, NULL) < 0 || !json_object_is_type(doc, json_type_object))
        return error_set(err, ERR_BAD_GATEWAY, "%s is no JSON object; is oidc.idp_sso_url the provider's issuer?",
                         oidc_discovery_url(issuer, a));
    p.issuer = json_get_text(doc, "issuer", a);
    if (without_slash(p.issuer) != without_slash(issuer) || strncmp(p.issuer, issuer, without_slash(issuer)) != 0)
        return error_set(err, ERR_BAD_GATEWAY,
                         "%s is of another issuer, \"%.200s\"; oidc.idp_sso_url is \"%s\", and must be the same",
                         oidc_discovery_url(issuer, a), p.issuer, issuer);
    if (read_endpoint(doc, "authorization_endpoint", true, issuer, a, &p.authorization, err) < 0 ||
        read_endpoint(doc, "token_endpoint", true, issuer, a, &p.token, err) < 0 ||
        read_endpoint(doc, "jwks_uri", true, issuer, a, &p.keys, err) < 0 ||
        read_endpoint(doc, "userinfo_endpoint", false, issuer, a, &p.userinfo, err) < 0)
        return -1;
    p.secret_in_body = sends_secret_in_body(doc, a);
    *ret = p;
    return 0;
}
