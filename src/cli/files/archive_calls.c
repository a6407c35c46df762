#include "cli/files/archive_calls.h"

#include <pthread.h>

static struct archive_calls table;
static const char *const name[] = {ARCHIVE_FUNCTIONS(LAZY_NAME)};
static bool loaded;

/* Fills the table; threads may come at the same time. */
static int archive_calls_load(struct error *err)
{
    static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
    _Static_assert(sizeof(table) == sizeof(name), "one pointer for each name");
    pthread_mutex_lock(&one_at_a_time);
    int r = loaded ? 0
                   : lazy_library_load("libarchive.so.13", "libarchive13", name, sizeof(name) / sizeof(name[0]), &table,
                                       err);
    __atomic_store_n(&loaded, r == 0, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&one_at_a_time);
    return r;
}

const struct archive_calls *archive_calls(void)
{
    struct error err = ERROR_INIT;
    if (!__atomic_load_n(&loaded, __ATOMIC_ACQUIRE) && archive_calls_load(&err) < 0)
        lazy_library_give_up(&err);
    return &table;
}
