/* The checks of the configuration of the directory (LDAP) that need several keys. */
#ifndef DET_MASTER_COMMANDS_LDAP_SETTINGS_H
#define DET_MASTER_COMMANDS_LDAP_SETTINGS_H

struct config;

/* Notes problems, and takes ldap.bind_password from ldap.bind_password_file. */
void ldap_settings_check(struct config *c);

#endif
