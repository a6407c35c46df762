#include "net/tls/tls_calls.h"

#include <pthread.h>

static struct tls_calls table;
static bool loaded;

#define LOAD(file, package, functions, member) \
    ({ \
        static const char *const _name[] = {functions(LAZY_NAME)}; \
        _Static_assert(sizeof(table.member) == sizeof(_name), "one pointer for each name"); \
        lazy_library_load(file, package, _name, sizeof(_name) / sizeof(_name[0]), &table.member, err); \
    })

static int load_all(struct error *err)
{
    if (LOAD("libcrypto.so.3", "libssl3", TLS_CRYPTO_FUNCTIONS, crypto) < 0 ||
        LOAD("libssl.so.3", "libssl3", TLS_SSL_FUNCTIONS, ssl) < 0)
        return -1;
    return LOAD("libevent_openssl-2.1.so.7", "libevent-openssl-2.1-7", TLS_EVENT_FUNCTIONS, event);
}

/* Fills the table; threads may come at the same time. */
int tls_calls_load(struct error *err)
{
    static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&one_at_a_time);
    int r = loaded ? 0 : load_all(err);
    __atomic_store_n(&loaded, r == 0, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&one_at_a_time);
    return r;
}

const struct tls_calls *tls_calls(void)
{
    struct error err = ERROR_INIT;
    if (!__atomic_load_n(&loaded, __ATOMIC_ACQUIRE) && tls_calls_load(&err) < 0)
        lazy_library_give_up(&err);
    return &table;
}
