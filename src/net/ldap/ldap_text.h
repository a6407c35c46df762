/* Names within DNs and filters of LDAP. Somebody who types `*)(uid=*` as a user name must not change what is asked for:
 * every byte but ASCII's letters and digits and "._-@" is written as \XX, which is that byte itself in a DN (RFC 4514,
 * 2.4) and in a filter (RFC 4515, 3), and syntax in neither. Pure functions. */
#ifndef DET_NET_LDAP_LDAP_TEXT_H
#define DET_NET_LDAP_LDAP_TEXT_H

#include "common/base/strbuf.h"

#define LDAP_NAME_PLACE "{}" /* where a template has the user's name */
#define LDAP_DN_PLACE "{dn}" /* where a filter for groups has the user's DN */

void ldap_add_escaped(struct strbuf *out, const char *text);
/* Appends the template with the escaped texts at their places. `dn` NULL: the template has no place for it. */
void ldap_add_template(struct strbuf *out, const char *template, const char *name, const char *dn);

#endif
