#include "net/ldap/ldap_text.h"

#include <stdbool.h>
#include <string.h>

static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-@";

void ldap_add_escaped(struct strbuf *out, const char *text)
{
    for (const char *c = text; *c; c++) {
        if (strchr(plain, *c))
            strbuf_addc(out, *c);
        else
            strbuf_addf(out, "\\%02x", (unsigned char)*c);
    }
}

static bool begins_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

void ldap_add_template(struct strbuf *out, const char *template, const char *name, const char *dn)
{
    const char *c = template;
    while (*c) {
        if (begins_with(c, LDAP_NAME_PLACE)) {
            ldap_add_escaped(out, name);
            c += strlen(LDAP_NAME_PLACE);
        } else if (dn && begins_with(c, LDAP_DN_PLACE)) {
            ldap_add_escaped(out, dn);
            c += strlen(LDAP_DN_PLACE);
        } else {
            strbuf_addc(out, *c++);
        }
    }
}
