#include "net/client/curl_calls.h"

#include <pthread.h>

static struct curl_calls table;
static const char *const name[] = {CURL_FUNCTIONS(LAZY_NAME)};
static bool loaded;

/* Fills the table; threads may come at the same time. */
int curl_calls_load(struct error *err)
{
    static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
    _Static_assert(sizeof(table) == sizeof(name), "one pointer for each name");
    pthread_mutex_lock(&one_at_a_time);
    int r = loaded ? 0
                   : lazy_library_load("libcurl.so.4", "libcurl4", name, sizeof(name) / sizeof(name[0]), &table, err);
    __atomic_store_n(&loaded, r == 0, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&one_at_a_time);
    return r;
}

const struct curl_calls *curl_calls(void)
{
    struct error err = ERROR_INIT;
    if (!__atomic_load_n(&loaded, __ATOMIC_ACQUIRE) && curl_calls_load(&err) < 0)
        lazy_library_give_up(&err);
    return &table;
}
