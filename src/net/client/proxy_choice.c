#include "net/client/proxy_choice.h"

#include <stddef.h>
#include <stdlib.h>

#include "net/client/no_proxy.h"

const char *proxy_in_environment(bool tls)
{
    const char *name[] = {tls ? "https_proxy" : "http_proxy", tls ? "HTTPS_PROXY" : "all_proxy",
                          tls ? "all_proxy" : "ALL_PROXY", tls ? "ALL_PROXY" : ""};
    for (size_t i = 0; i < sizeof(name) / sizeof(*name); i++) {
        const char *v = *name[i] ? getenv(name[i]) : NULL;
        if (v && *v)
            return v;
    }
    return NULL;
}

const char *proxy_exceptions(void)
{
    const char *list = getenv("no_proxy");
    return list ? list : getenv("NO_PROXY");
}

bool proxy_is_needed(bool tls, const char *host, long port)
{
    const char *list = proxy_exceptions();
    return proxy_in_environment(tls) && !(list && no_proxy_excepts(list, host, port));
}
