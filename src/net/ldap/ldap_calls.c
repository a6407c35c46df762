#include "net/ldap/ldap_calls.h"

static struct ldap_calls table;
static const struct lazy_library library[] = {LAZY_LIBRARY("libldap-2.5.so.0", "libldap-2.5-0", LDAP_FUNCTIONS,
                                                           table.ldap),
                                              LAZY_LIBRARY("liblber-2.5.so.0", "libldap-2.5-0", LBER_FUNCTIONS,
                                                           table.lber)};
static struct lazy_libraries libraries = LAZY_LIBRARIES(library);

int ldap_calls_load(struct error *err)
{
    return lazy_libraries_load(&libraries, err);
}

const struct ldap_calls *ldap_calls(void)
{
    lazy_libraries_need(&libraries);
    return &table;
}
