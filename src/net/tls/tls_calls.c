#include "net/tls/tls_calls.h"

static struct tls_calls table;
static const struct lazy_library library[] = {LAZY_LIBRARY("libcrypto.so.3", "libssl3", TLS_CRYPTO_FUNCTIONS,
                                                           table.crypto),
                                              LAZY_LIBRARY("libssl.so.3", "libssl3", TLS_SSL_FUNCTIONS, table.ssl),
                                              LAZY_LIBRARY("libevent_openssl-2.1.so.7", "libevent-openssl-2.1-7",
                                                           TLS_EVENT_FUNCTIONS, table.event)};
static struct lazy_libraries libraries = LAZY_LIBRARIES(library);

int tls_calls_load(struct error *err)
{
    return lazy_libraries_load(&libraries, err);
}

const struct tls_calls *tls_calls(void)
{
    lazy_libraries_need(&libraries);
    return &table;
}
