#include "net/ldap/ldap_calls.h"

#include <pthread.h>

static struct ldap_calls table;
static const char *const ldap_name[] = {LDAP_FUNCTIONS(LAZY_NAME)}, *const lber_name[] = {LBER_FUNCTIONS(LAZY_NAME)};
static bool loaded;

static int load_both(struct error *err)
{
    _Static_assert(sizeof(table.ldap) == sizeof(ldap_name), "one pointer for each name");
    _Static_assert(sizeof(table.lber) == sizeof(lber_name), "one pointer for each name");
    if (lazy_library_load("libldap-2.5.so.0", "libldap-2.5-0", ldap_name, sizeof(ldap_name) / sizeof(*ldap_name),
                          &table.ldap, err) < 0)
        return -1;
    return lazy_library_load("liblber-2.5.so.0", "libldap-2.5-0", lber_name, sizeof(lber_name) / sizeof(*lber_name),
                             &table.lber, err);
}

/* Fills the table; threads may come at the same time. */
int ldap_calls_load(struct error *err)
{
    static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&one_at_a_time);
    int rc = loaded ? 0 : load_both(err);
    __atomic_store_n(&loaded, rc == 0, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&one_at_a_time);
    return rc;
}

const struct ldap_calls *ldap_calls(void)
{
    struct error err = ERROR_INIT;
    if (!__atomic_load_n(&loaded, __ATOMIC_ACQUIRE) && ldap_calls_load(&err) < 0)
        lazy_library_give_up(&err);
    return &table;
}
