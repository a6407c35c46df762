#include "api/sso/remote_person.h"

#include <string.h>

#include "api/accounts/account_rules.h"
#include "common/json/json.h"

enum { GROUPS_MAX = 1000 };

static struct json_object *claim(struct json_object *claims, const char *name)
{
    return *name ? json_object_object_get(claims, name) : NULL;
}

bool claims_are_whole(struct json_object *claims, const struct claim_names *names)
{
    const char *const all[] = {names->account,   names->display_name, names->groups,     names->agent_uid,
                               names->agent_gid, names->agent_user,   names->agent_group};
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
        if (*all[i] && !json_object_object_get(claims, all[i]))
            return false;
    return true;
}

/* A text, or nothing. */
static int read_text(struct json_object *claims, const char *name, struct arena *a, const char **ret, struct error *err)
{
    struct json_object *v = claim(claims, name);
    *ret = NULL;
    if (!v)
        return 0;
    if (!json_object_is_type(v, json_type_string))
        return error_set(err, ERR_FORBIDDEN, "the provider's claim \"%s\" is no text", name);
    *ret = arena_strdup(a, json_object_get_string(v));
    return 0;
}

static int read_id(struct json_object *claims, const char *name, bool *ret_has, int32_t *ret, struct error *err)
{
    struct json_object *v = claim(claims, name);
    *ret_has = v != NULL;
    if (!v)
        return 0;
    double number = json_object_get_double(v);
    if ((!json_object_is_type(v, json_type_int) && !json_object_is_type(v, json_type_double)) || number < 0 ||
        number > INT32_MAX || number != (double)(int32_t)number)
        return error_set(err, ERR_FORBIDDEN,
                         "the provider's claim \"%s\" is no id of a user or group: it must be a number from 0 to %d",
                         name, INT32_MAX);
    *ret = (int32_t)number;
    return 0;
}

/* A provider that has verified nothing lets everybody be anybody. Many do not say; what is not said is taken as
 * verified, since the administrator has chosen the provider. */
static bool is_unverified(struct json_object *claims, const char *name)
{
    struct json_object *v = json_object_object_get(claims, "email_verified");
    if (strcmp(name, "email") != 0 || !v)
        return false;
    return json_object_is_type(v, json_type_string) ? strcmp(json_object_get_string(v), "true") != 0
                                                    : !json_object_get_boolean(v);
}

static int read_account(struct json_object *claims, const char *name, struct arena *a, const char **ret,
                        struct error *err)
{
    const char *text;
    if (read_text(claims, name, a, &text, err) < 0)
        return -1;
    if (!text || !*text)
        return error_set(err, ERR_FORBIDDEN,
                         "the provider does not send the claim \"%s\", which names the account "
                         "(oidc.authentication_claim): let the provider send it, or name another claim",
                         name);
    if (is_unverified(claims, name))
        return error_set(err, ERR_FORBIDDEN,
                         "the provider has not verified the address %.200s (email_verified is false)", text);
    cleanup_error struct error why = ERROR_INIT;
    if (account_username(text, a, ret, &why) < 0)
        return error_set(err, ERR_FORBIDDEN, "the provider's claim \"%s\" can be no user name here: %s", name,
                         error_msg(&why));
    return 0;
}

/* Providers that have too many groups for a token send a link in their place. Read as "no groups", it would take the
 * person out of all groups. */
static bool groups_are_elsewhere(struct json_object *claims, const char *name)
{
    struct json_object *names = json_object_object_get(claims, "_claim_names");
    return json_object_is_type(names, json_type_object) && json_object_object_get(names, name);
}

static int read_groups(struct json_object *claims, const char *name, struct arena *a, struct remote_person *p,
                       struct error *err)
{
    struct json_object *v = claim(claims, name);
    p->group = NULL;
    p->group_n = 0;
    if (!v && *name && groups_are_elsewhere(claims, name))
        return error_set(
            err, ERR_FORBIDDEN,
            "the provider sends a link in place of the groups (claim \"%s\"), because they are too many: let "
            "it send only the groups that this cluster knows",
            name);
    if (!v)
        return 0;
    if (!json_object_is_type(v, json_type_array))
        return error_set(err, ERR_FORBIDDEN, "the provider's claim \"%s\" is no list of groups", name);
    size_t n = json_object_array_length(v);
    if (n > GROUPS_MAX)
        return error_set(err, ERR_FORBIDDEN, "the provider's claim \"%s\" has %zu groups, at most %d are allowed", name,
                         n, GROUPS_MAX);
    p->group = arena_array(a, const char *, n + 1);
    for (; p->group_n < n; p->group_n++) {
        struct json_object *one = json_object_array_get_idx(v, p->group_n);
        if (!json_object_is_type(one, json_type_string))
            return error_set(err, ERR_FORBIDDEN, "the provider's claim \"%s\" has an item that is no text", name);
        p->group[p->group_n] = arena_strdup(a, json_object_get_string(one));
    }
    return 0;
}

int remote_person_read(struct json_object *claims, const struct claim_names *names, struct arena *a,
                       struct remote_person *ret, struct error *err)
{
    struct remote_person p = {0};
    const char *shown;
    if (read_account(claims, names->account, a, &p.username, err) < 0 ||
        read_text(claims, names->display_name, a, &shown, err) < 0 ||
        read_groups(claims, names->groups, a, &p, err) < 0 ||
        read_id(claims, names->agent_uid, &p.has_uid, &p.uid, err) < 0 ||
        read_id(claims, names->agent_gid, &p.has_gid, &p.gid, err) < 0 ||
        read_text(claims, names->agent_user, a, &p.agent_user, err) < 0 ||
        read_text(claims, names->agent_group, a, &p.agent_group, err) < 0)
        return -1;
    /* A display name that cannot be kept here, such as one with accents, is no reason to refuse the person. */
    if (shown && *shown && account_display_name(shown, a, &p.display_name, NULL) < 0)
        p.display_name = NULL;
    *ret = p;
    return 0;
}
