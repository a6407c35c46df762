#include "api/accounts/directory.h"

#include <stdlib.h>
#include <string.h>

#include "api/accounts/account_rules.h"
#include "common/base/must.h"
#include "common/config/config.h"
#include "common/json/json.h"

#define AWAY_US (3 * INT64_C(1000000))

struct directory {
    struct directory_settings settings;
    struct arena texts;
    int64_t away_until_us;
};

static const char *text_of(struct directory *d, const struct config *c, const char *path)
{
    const char *text = config_str(c, path);
    return arena_strdup(&d->texts, text ? text : "");
}

static void read_servers(struct directory *d, const struct config *c)
{
    struct json_object *urls = config_get(c, "ldap.urls");
    size_t n = urls ? json_object_array_length(urls) : 0;
    const char **url = arena_array(&d->texts, const char *, n + 1);
    for (size_t i = 0; i < n; i++)
        url[i] = arena_strdup(&d->texts, json_object_get_string(json_object_array_get_idx(urls, i)));
    d->settings.ldap.url = url;
    d->settings.ldap.url_n = n;
}

static void read_settings(struct directory *d, const struct config *c)
{
    d->settings =
        (struct directory_settings){.enabled = true,
                                    .provision = config_bool(c, "ldap.auto_provision_users"),
                                    .allow_http = config_bool(c, "ldap.allow_plain_http"),
                                    .admin_group = text_of(d, c, "ldap.admin_group"),
                                    .ldap = {.start_tls = config_bool(c, "ldap.start_tls"),
                                             .ca_file = text_of(d, c, "ldap.ca_file"),
                                             .timeout_s = (int)config_int(c, "ldap.timeout"),
                                             .user_dn = text_of(d, c, "ldap.user_dn"),
                                             .bind_dn = text_of(d, c, "ldap.bind_dn"),
                                             .bind_password = text_of(d, c, "ldap.bind_password"),
                                             .search_base = text_of(d, c, "ldap.search_base"),
                                             .search_filter = text_of(d, c, "ldap.search_filter"),
                                             .username_attribute = text_of(d, c, "ldap.username_attribute"),
                                             .display_name_attribute = text_of(d, c, "ldap.display_name_attribute"),
                                             .agent_uid_attribute = text_of(d, c, "ldap.agent_uid_attribute"),
                                             .agent_gid_attribute = text_of(d, c, "ldap.agent_gid_attribute"),
                                             .agent_user_attribute = text_of(d, c, "ldap.agent_user_name_attribute"),
                                             .agent_group_attribute = text_of(d, c, "ldap.agent_group_name_attribute"),
                                             .groups_attribute = text_of(d, c, "ldap.groups_attribute"),
                                             .group_search_base = text_of(d, c, "ldap.group_search_base"),
                                             .group_search_filter = text_of(d, c, "ldap.group_search_filter"),
                                             .group_name_attribute = text_of(d, c, "ldap.group_name_attribute")}};
    d->settings.sync_groups = *d->settings.ldap.groups_attribute || *d->settings.ldap.group_search_base;
    read_servers(d, c);
}

struct directory *directory_new(const struct config *c)
{
    struct directory *d = must_calloc(1, sizeof(*d));
    if (c && config_bool(c, "ldap.enabled"))
        read_settings(d, c);
    return d;
}

void directory_free(struct directory *d)
{
    if (!d)
        return;
    arena_release(&d->texts);
    free(d);
}

const struct directory_settings *directory_settings(const struct directory *d)
{
    return &d->settings;
}

int directory_is_away(struct error *err)
{
    return error_set(err, ERR_UNAVAILABLE,
                     "the directory that checks this cluster's passwords cannot be asked now: try again in a minute. "
                     "Accounts with a password of this cluster can log in meanwhile; the master's log says what is "
                     "wrong");
}

int directory_check_up(const struct directory *d, int64_t now_us, struct error *err)
{
    return now_us < d->away_until_us ? directory_is_away(err) : 0;
}

void directory_note(struct directory *d, bool answers, int64_t now_us)
{
    d->away_until_us = answers ? 0 : now_us + AWAY_US;
}

static int read_id(const char *attribute, const char *text, int32_t *ret, struct error *err)
{
    size_t n = strlen(text);
    long long id = n > 0 && n <= 10 && strspn(text, "0123456789") == n ? strtoll(text, NULL, 10) : -1;
    if (id < 0 || id > INT32_MAX)
        return error_set(err, ERR_FORBIDDEN,
                         "the directory has %s \"%.50s\" for you: it must be a number from 0 to %d; its administrators "
                         "can change it",
                         attribute, text, INT32_MAX);
    *ret = (int32_t)id;
    return 0;
}

/* The account on agents. The directory's ids go together, so that no uid of the directory is used with another gid. A
 * name that it does not say is that of the person, and the group is called as the user. */
static int read_agent_account(const struct ldap_settings *s, const struct ldap_person *found, struct remote_person *p,
                              struct error *err)
{
    if (!found->agent_uid && !found->agent_gid)
        return 0;
    bool has_uid = found->agent_uid && *found->agent_uid, has_gid = found->agent_gid && *found->agent_gid;
    if (!has_uid && !has_gid)
        return error_set(err, ERR_FORBIDDEN, "the directory has not exactly one value each of %s and %s for you",
                         s->agent_uid_attribute, s->agent_gid_attribute);
    if (!has_uid || !has_gid)
        return error_set(err, ERR_FORBIDDEN, "the directory has %s for you, and not exactly one value of %s",
                         has_uid ? s->agent_uid_attribute : s->agent_gid_attribute,
                         has_uid ? s->agent_gid_attribute : s->agent_uid_attribute);
    if (read_id(s->agent_uid_attribute, found->agent_uid, &p->uid, err) < 0 ||
        read_id(s->agent_gid_attribute, found->agent_gid, &p->gid, err) < 0)
        return -1;
    p->has_uid = p->has_gid = true;
    p->agent_user = found->agent_user ? found->agent_user : p->username;
    p->agent_group = found->agent_group ? found->agent_group : p->agent_user;
    return 0;
}

int directory_person(const struct directory_settings *s, const struct ldap_person *found, struct arena *a,
                     struct remote_person *ret, struct error *err)
{
    struct remote_person p = {.group = found->group,
                              .group_n = found->group_n,
                              .admin = *s->admin_group && ldap_person_is_in(found, s->admin_group, a)};
    cleanup_error struct error why = ERROR_INIT;
    if (account_username(found->username, a, &p.username, &why) < 0)
        return error_set(err, ERR_FORBIDDEN, "what the directory says can be no user name here: %s", error_msg(&why));
    /* A display name that cannot be kept here, such as one with accents, is no reason to refuse the person. */
    if (found->display_name && account_display_name(found->display_name, a, &p.display_name, NULL) < 0)
        p.display_name = NULL;
    if (read_agent_account(&s->ldap, found, &p, err) < 0)
        return -1;
    *ret = p;
    return 0;
}
