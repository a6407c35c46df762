#include "api/pipeline/sign_in.h"

#include <string.h>

#include "common/config/config.h"

static size_t without(const char *text, size_t n, const char *end)
{
    size_t k = strlen(end);
    return n >= k && memcmp(text + n - k, end, k) == 0 ? n - k : n;
}

/* oidc.idp_recipient_url is the master's address. Guides of release 0.38.1 also write the path of its page for logins.
 */
static const char *base_of(const char *recipient, struct arena *a)
{
    size_t n = without(recipient, strlen(recipient), "/");
    n = without(recipient, n, "/oidc/sso");
    n = without(recipient, n, "/oidc/callback");
    return arena_strndup(a, recipient, without(recipient, n, "/"));
}

bool sign_in_provider_of(const struct config *c, struct arena *a, struct sign_in_provider *ret)
{
    if (!c || !config_bool(c, "oidc.enabled"))
        return false;
    const char *base = base_of(config_str(c, "oidc.idp_recipient_url"), a);
    *ret = (struct sign_in_provider){.name = arena_strdup(a, config_str(c, "oidc.provider")),
                                     .type = "OIDC",
                                     .base = base,
                                     .url = arena_printf(a, "%s/oidc/sso", base),
                                     .always_redirect = config_bool(c, "oidc.always_redirect")};
    return true;
}
