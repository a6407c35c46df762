#include "master/commands/ldap_settings.h"

#include <string.h>

#include "common/base/cleanup.h"
#include "common/config/config.h"
#include "common/system/files.h"

static bool is_set(const struct config *c, const char *path)
{
    const char *s = config_str(c, path);
    return s && *s;
}

/* A password must not go over the network unencrypted, so each server is spoken to with TLS. */
static void check_urls(struct config *c)
{
    struct json_object *urls = config_get(c, "ldap.urls");
    bool start_tls = config_bool(c, "ldap.start_tls");
    const char *scheme = start_tls ? "ldap://" : "ldaps://";
    size_t n = urls ? json_object_array_length(urls) : 0;
    if (n == 0)
        config_problem(c, "ldap.urls", "must name a server while ldap.enabled is true");
    for (size_t i = 0; i < n; i++) {
        const char *url = json_object_get_string(json_object_array_get_idx(urls, i));
        size_t scheme_n = strlen(scheme);
        if (strncmp(url, scheme, scheme_n) != 0 || !url[scheme_n] || strpbrk(url + scheme_n, "/ ?#"))
            config_problem(c, "ldap.urls", "each must be %sHOST or %sHOST:PORT, found \"%s\"; %s", scheme, scheme, url,
                           start_tls ? "with ldap.start_tls, TLS begins within a connection to ldap://"
                                     : "for ldap:// set ldap.start_tls, too, since passwords are sent with TLS only");
    }
}

static void need_place(struct config *c, const char *path, const char *place, const char *or_place)
{
    const char *text = config_str(c, path);
    if (strstr(text, place) || (or_place && strstr(text, or_place)))
        return;
    config_problem(c, path, "must have %s%s%s in it, found \"%s\"", place, or_place ? " or " : "",
                   or_place ? or_place : "", text);
}

/* Takes the password from the file that the configuration names. */
static void read_bind_password(struct config *c)
{
    const char *path = config_str(c, "ldap.bind_password_file");
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    cleanup_error struct error err = ERROR_INIT;
    if (!path || !*path)
        return;
    if (is_set(c, "ldap.bind_password")) {
        config_problem(c, "ldap.bind_password_file", "ldap.bind_password is set, too: use either");
    } else if (file_read(path, 4096, &text, &err) < 0) {
        config_problem(c, "ldap.bind_password_file", "%s", error_msg(&err));
    } else {
        size_t n = strcspn(strbuf_str(&text), "\r\n");
        config_derive(c, "ldap.bind_password", json_object_new_string_len(strbuf_str(&text), (int)n));
    }
}

/* With two names, somebody whose account is deactivated would come back by the other one. */
static void check_one_account(struct config *c)
{
    const char *first = strstr(config_str(c, "ldap.search_filter"), "{}");
    if (first && strstr(first + 2, "{}") && !is_set(c, "ldap.username_attribute"))
        config_problem(c, "ldap.username_attribute",
                       "must be set while ldap.search_filter finds people by several names, else one person gets "
                       "several accounts");
}

/* Whoever searches without a name and a password is anonymous: what that finds depends on the server. */
static void check_search(struct config *c)
{
    if (!is_set(c, "ldap.search_base"))
        config_problem(c, "ldap.user_dn", "must be set while ldap.enabled is true, or ldap.search_base in its place");
    need_place(c, "ldap.search_filter", "{}", NULL);
    check_one_account(c);
    if (!is_set(c, "ldap.bind_dn"))
        config_problem(c, "ldap.bind_dn", "must be set with ldap.search_base: it is the account that searches");
    if (!is_set(c, "ldap.bind_password"))
        config_problem(c, "ldap.bind_password",
                       "must be set with ldap.search_base, here, by ldap.bind_password_file or as "
                       "DET_LDAP_BIND_PASSWORD in the environment");
}

static void check_template(struct config *c)
{
    need_place(c, "ldap.user_dn", "{}", NULL);
    if (is_set(c, "ldap.search_base"))
        config_problem(c, "ldap.search_base", "and ldap.user_dn are two ways of finding a person: set one of them");
}

/* A uid of the directory with a gid from elsewhere would be an account that nobody has meant. */
static void check_agent_account(struct config *c)
{
    bool uid = is_set(c, "ldap.agent_uid_attribute"), gid = is_set(c, "ldap.agent_gid_attribute");
    static const char *const names[] = {"ldap.agent_user_name_attribute", "ldap.agent_group_name_attribute"};
    if (uid != gid)
        config_problem(c, uid ? "ldap.agent_gid_attribute" : "ldap.agent_uid_attribute",
                       "must be set together with ldap.agent_%s_attribute", uid ? "uid" : "gid");
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (is_set(c, names[i]) && !uid && !gid)
            config_problem(c, names[i], "needs ldap.agent_uid_attribute and ldap.agent_gid_attribute");
}

void ldap_settings_check(struct config *c)
{
    if (!config_bool(c, "ldap.enabled"))
        return;
    check_urls(c);
    config_check_file(c, "ldap.ca_file");
    read_bind_password(c);
    if (is_set(c, "ldap.user_dn"))
        check_template(c);
    else
        check_search(c);
    check_agent_account(c);
    need_place(c, "ldap.group_search_filter", "{dn}", "{}");
    if (is_set(c, "ldap.admin_group") && !is_set(c, "ldap.groups_attribute") && !is_set(c, "ldap.group_search_base"))
        config_problem(c, "ldap.admin_group",
                       "needs ldap.groups_attribute or ldap.group_search_base, by which groups are read");
}
