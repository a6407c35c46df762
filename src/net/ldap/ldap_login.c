#include "net/ldap/ldap_login.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "net/ldap/ldap_calls.h"
#include "net/ldap/ldap_text.h"

enum {
    MESSAGE_MAX = 1024 * 1024, /* bytes of one message of a server */
    MESSAGES_MAX = 4 * LDAP_GROUPS_MAX,
    VALUE_MAX = 4096, /* bytes of one value that is read */
};

/* One connection to one server. */
struct talk {
    const struct ldap_settings *s;
    const char *url;
    struct arena *a;
    LDAP *ld;
    int64_t until_us;     /* on the monotonic clock */
    enum error_kind slow; /* what it means that this time is over */
};

int ldap_login_load(struct error *err)
{
    return ldap_calls_load(err);
}

static const char *authorities(const struct ldap_settings *s)
{
    static const char *const files[] = {"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt"};
    if (*s->ca_file)
        return s->ca_file;
    return access(files[0], R_OK) == 0 ? files[0] : files[1];
}

/* ---- time and failures ------------------------------------------------------------------------------------------- */

static bool time_left(const struct talk *t, struct timeval *ret)
{
    int64_t left_us = t->until_us - clock_monotonic_us();
    if (left_us <= 0)
        return false;
    *ret = (struct timeval){.tv_sec = left_us / 1000000, .tv_usec = left_us % 1000000};
    return true;
}

static int too_slow(const struct talk *t, const char *what, struct error *err)
{
    return error_set(err, t->slow, "%s does not %s within %d s (ldap.timeout)", t->url, what, t->s->timeout_s);
}

/* What libldap says went wrong. Of a certificate that is not accepted it says no more than of a server that is away. */
static int failed(const struct talk *t, const char *what, int code, struct error *err)
{
    if (code == LDAP_TIMEOUT)
        return too_slow(t, what, err);
    bool unconnected = code == LDAP_SERVER_DOWN || code == LDAP_CONNECT_ERROR;
    return error_set(err, ERR_UNAVAILABLE, "%s does not %s: %s%s%s", t->url, what, ldap_err2string(code),
                     unconnected
                         ? "; if it runs, check that its certificate is for this host and signed by an authority "
                           "of "
                         : "",
                     unconnected ? authorities(t->s) : "");
}

static int last_failure(const struct talk *t, const char *what, struct error *err)
{
    int code = LDAP_SERVER_DOWN;
    ldap_get_option(t->ld, LDAP_OPT_RESULT_CODE, &code);
    return failed(t, what, code, err);
}

/* ---- the connection ---------------------------------------------------------------------------------------------- */

/* Everything that ldap.conf and variables of the environment could say otherwise is set here. */
static int set_options(const struct talk *t, struct error *err)
{
    const int version = LDAP_VERSION3, never = LDAP_DEREF_NEVER, check = LDAP_OPT_X_TLS_HARD,
              tls = LDAP_OPT_X_TLS_PROTOCOL_TLS1_2, for_client = 0;
    const struct timeval tv = {.tv_sec = t->s->timeout_s};
    ber_len_t most = MESSAGE_MAX;
    Sockbuf *buffer = NULL;
    const struct {
        int name;
        const void *value;
    } all[] = {{LDAP_OPT_PROTOCOL_VERSION, &version},
               {LDAP_OPT_DEREF, &never},
               {LDAP_OPT_REFERRALS, LDAP_OPT_OFF},
               {LDAP_OPT_RESTART, &version}, /* any pointer means on */
               {LDAP_OPT_NETWORK_TIMEOUT, &tv},
               {LDAP_OPT_TIMEOUT, &tv},
               {LDAP_OPT_X_TLS_REQUIRE_CERT, &check},
               {LDAP_OPT_X_TLS_CACERTFILE, authorities(t->s)},
               {LDAP_OPT_X_TLS_PROTOCOL_MIN, &tls},
               {LDAP_OPT_X_TLS_NEWCTX, &for_client}}; /* the last one, since it takes what the others have set */
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
        int code = ldap_set_option(t->ld, all[i].name, all[i].value);
        if (code != LDAP_OPT_SUCCESS)
            return error_set(err, ERR_UNAVAILABLE,
                             "libldap cannot be prepared (option 0x%x): is %s a file with certificates?",
                             (unsigned)all[i].name, authorities(t->s));
    }
    if (ldap_get_option(t->ld, LDAP_OPT_SOCKBUF, &buffer) != LDAP_OPT_SUCCESS ||
        ber_sockbuf_ctrl(buffer, LBER_SB_OPT_SET_MAX_INCOMING, &most) < 0)
        return error_set(err, ERR_UNAVAILABLE, "libldap cannot be told how long messages may be");
    return 0;
}

static int open_talk(struct talk *t, struct error *err)
{
    int code = ldap_initialize(&t->ld, t->url);
    if (code != LDAP_SUCCESS)
        return error_set(err, ERR_UNAVAILABLE, "%s is no address of a directory: %s", t->url, ldap_err2string(code));
    if (set_options(t, err) < 0)
        return -1;
    if (t->s->start_tls) {
        code = ldap_start_tls_s(t->ld, NULL, NULL);
        if (code != LDAP_SUCCESS)
            return failed(t, "begin TLS", code, err);
    }
    return 0;
}

static void close_talk(struct talk *t)
{
    if (t->ld)
        ldap_unbind_ext_s(t->ld, NULL, NULL);
    t->ld = NULL;
}

/* The next message of an operation. Returns its type, or -1. The caller frees *ret. */
static int next_message(const struct talk *t, int id, const char *what, LDAPMessage **ret, struct error *err)
{
    struct timeval tv;
    *ret = NULL;
    if (!time_left(t, &tv))
        return too_slow(t, what, err);
    int type = ldap_result(t->ld, id, LDAP_MSG_ONE, &tv, ret);
    if (type > 0)
        return type;
    return type == 0 ? too_slow(t, what, err) : last_failure(t, what, err);
}

/* ---- binding: a name and a password ------------------------------------------------------------------------------ */

struct bound {
    int code;
    const char *said;               /* by the server */
    LDAPPasswordPolicyError policy; /* PP_noError: nothing is said */
};

static int read_bound(const struct talk *t, LDAPMessage *message, struct bound *ret, struct error *err)
{
    char *said = NULL;
    LDAPControl **controls = NULL;
    int code = ldap_parse_result(t->ld, message, &ret->code, NULL, &said, NULL, &controls, 0);
    if (code != LDAP_SUCCESS)
        return failed(t, "answer a login as it should", code, err);
    ret->said = arena_strndup(t->a, said ? said : "", said ? strnlen(said, VALUE_MAX) : 0);
    ret->policy = PP_noError;
    for (size_t i = 0; controls && controls[i]; i++)
        if (strcmp(controls[i]->ldctl_oid, LDAP_CONTROL_PASSWORDPOLICYRESPONSE) == 0)
            ldap_parse_passwordpolicy_control(t->ld, controls[i], NULL, NULL, &ret->policy);
    ldap_controls_free(controls);
    ldap_memfree(said);
    return 0;
}

/* Nothing may wait but ldap_result(), which knows the time: a read that waits would wait for ever within a record of
 * TLS that the server never ends. libldap 2.5 leaves the connection so after TLS, and does not promise to. */
static int stop_waiting_reads(const struct talk *t, struct error *err)
{
    int on = 1;
    Sockbuf *buffer = NULL;
    if (ldap_get_option(t->ld, LDAP_OPT_SOCKBUF, &buffer) == LDAP_OPT_SUCCESS &&
        ber_sockbuf_ctrl(buffer, LBER_SB_OPT_SET_NONBLOCK, &on) > 0)
        return 0;
    return error_set(err, ERR_UNAVAILABLE, "the connection to %s cannot be given a time-out", t->url);
}

/* An empty name or password would be taken for "anonymous", which many servers let in (RFC 4513, 5.1.2). */
static int bind_as(const struct talk *t, const char *dn, const char *password, struct bound *ret, struct error *err)
{
    struct berval secret = {.bv_val = (char *)password, .bv_len = strlen(password)};
    LDAPControl *policy = NULL, *controls[2] = {NULL, NULL};
    LDAPMessage *message = NULL;
    int id = 0;
    if (!*dn || !*password)
        return error_set(err, ERR_UNAUTHENTICATED, "a login needs a name and a password");
    if (ldap_create_passwordpolicy_control(t->ld, &policy) == LDAP_SUCCESS)
        controls[0] = policy;
    int code = ldap_sasl_bind(t->ld, dn, LDAP_SASL_SIMPLE, &secret, controls, NULL, &id);
    if (policy)
        ldap_control_free(policy);
    if (code != LDAP_SUCCESS)
        return failed(t, "accept a connection", code, err);
    if (stop_waiting_reads(t, err) < 0)
        return -1;
    int type = next_message(t, id, "answer a login", &message, err);
    if (type < 0)
        return -1;
    int rc = type == LDAP_RES_BIND
                 ? read_bound(t, message, ret, err)
                 : error_set(err, ERR_UNAVAILABLE, "%s answers a login with a message of another kind (0x%x)", t->url,
                             (unsigned)type);
    ldap_msgfree(message);
    return rc;
}

/* Why the directory keeps a person out whose password may be right. The texts of Active Directory carry a number:
 * "80090308: LdapErr: DSID-0C09042A, comment: AcceptSecurityContext error, data 533, v3839". */
static const char *why_closed(const struct bound *b)
{
    static const struct {
        const char *data, *why;
    } numbers[] = {
        {" data 530,", "the directory does not let you log in at this time"},
        {" data 531,", "the directory does not let you log in from here"},
        {" data 532,", "your password in the directory has expired: change it there"},
        {" data 533,", "the directory has disabled your account"},
        {" data 701,", "your account in the directory has expired"},
        {" data 773,", "the directory wants you to change your password first: change it there"},
        {" data 775,", "the directory has locked your account"},
    };
    switch (b->policy) {
    case PP_passwordExpired:
        return "your password in the directory has expired: change it there";
    case PP_accountLocked:
        return "the directory has locked your account";
    case PP_changeAfterReset:
        return "the directory wants you to change your password first: change it there";
    default:
        break;
    }
    for (size_t i = 0; b->code == LDAP_INVALID_CREDENTIALS && i < sizeof(numbers) / sizeof(*numbers); i++)
        if (strstr(b->said, numbers[i].data))
            return numbers[i].why;
    return b->code == LDAP_UNWILLING_TO_PERFORM || b->code == LDAP_CONSTRAINT_VIOLATION
               ? "the directory does not let you log in: its administrators know why"
               : NULL;
}

static int bind_person(const struct talk *t, const char *dn, const char *password, struct error *err)
{
    struct bound b = {0};
    if (bind_as(t, dn, password, &b, err) < 0)
        return -1;
    const char *why = why_closed(&b);
    if (why)
        return error_set(err, ERR_FORBIDDEN, "%s", why);
    switch (b.code) {
    case LDAP_SUCCESS:
        return 0;
    case LDAP_INVALID_CREDENTIALS:
    case LDAP_NO_SUCH_OBJECT:
    case LDAP_INVALID_DN_SYNTAX:
    case LDAP_INAPPROPRIATE_AUTH: /* the entry has no password */
        return error_set(err, ERR_UNAUTHENTICATED, "invalid credentials");
    case LDAP_BUSY:
    case LDAP_UNAVAILABLE:
        return error_set(err, ERR_UNAVAILABLE, "%s answers a login with \"%s\"", t->url, ldap_err2string(b.code));
    default:
        return error_set(err, ERR_BAD_GATEWAY, "%s answers a login of %s with \"%s\" (%.200s)", t->url, dn,
                         ldap_err2string(b.code), b.said);
    }
}

static int bind_service(const struct talk *t, struct error *err)
{
    struct bound b = {0};
    if (bind_as(t, t->s->bind_dn, t->s->bind_password, &b, err) < 0)
        return -1;
    if (b.code == LDAP_SUCCESS)
        return 0;
    return error_set(err, ERR_BAD_GATEWAY, "%s does not accept the service account %s (ldap.bind_dn): %s", t->url,
                     t->s->bind_dn, ldap_err2string(b.code));
}

/* ---- searching --------------------------------------------------------------------------------------------------- */

/* What one search finds: each entry is given to `take`, which returns -1 to end the search. */
struct search {
    const char *base, *filter;
    int scope, most;
    const char *const *attributes;
    int (*take)(const struct talk *t, LDAPMessage *entry, void *ctx, struct error *err);
    void *ctx;
};

/* `entries` have come. A server that ends a search at its own limit has left out entries that were asked for. */
static int read_end(const struct talk *t, const struct search *x, LDAPMessage *message, int entries, struct error *err)
{
    int result = LDAP_OTHER, code = ldap_parse_result(t->ld, message, &result, NULL, NULL, NULL, NULL, 0);
    if (code != LDAP_SUCCESS)
        return failed(t, "answer a search as it should", code, err);
    if (result == LDAP_SUCCESS || (result == LDAP_SIZELIMIT_EXCEEDED && entries >= x->most))
        return 0;
    if (result == LDAP_SIZELIMIT_EXCEEDED)
        return error_set(err, ERR_BAD_GATEWAY,
                         "%s shows only the first %d entries below \"%s\": raise its limit of entries for the account "
                         "that searches",
                         t->url, entries, x->base);
    return error_set(err, ERR_BAD_GATEWAY, "%s does not search below \"%s\" for %s: %s", t->url, x->base, x->filter,
                     ldap_err2string(result));
}

static int run_search(const struct talk *t, const struct search *x, struct error *err)
{
    int id = 0, code = ldap_search_ext(t->ld, x->base, x->scope, x->filter, (char **)x->attributes, 0, NULL, NULL, NULL,
                                       x->most, &id);
    if (code == LDAP_FILTER_ERROR)
        return error_set(err, ERR_BAD_GATEWAY, "%s is no filter", x->filter);
    if (code != LDAP_SUCCESS)
        return failed(t, "take a search", code, err);
    for (int n = 0, entries = 0; n < MESSAGES_MAX; n++) {
        LDAPMessage *message = NULL;
        int type = next_message(t, id, "answer a search", &message, err);
        if (type < 0)
            return -1;
        int rc = 0;
        entries += type == LDAP_RES_SEARCH_ENTRY;
        if (type == LDAP_RES_SEARCH_ENTRY)
            rc = x->take(t, message, x->ctx, err);
        else if (type == LDAP_RES_SEARCH_RESULT)
            rc = read_end(t, x, message, entries, err);
        ldap_msgfree(message);
        if (rc < 0 || type == LDAP_RES_SEARCH_RESULT)
            return rc;
    }
    return error_set(err, ERR_BAD_GATEWAY, "%s answers a search for %s with more than %d messages", t->url, x->filter,
                     MESSAGES_MAX);
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

/* NULL: it is no text that can be used. */
static const char *text_of(struct arena *a, const struct berval *v)
{
    bool usable = v->bv_len > 0 && v->bv_len <= VALUE_MAX && !memchr(v->bv_val, 0, v->bv_len);
    return usable ? arena_strndup(a, v->bv_val, v->bv_len) : NULL;
}

/* The only value of an attribute, if there is one at all. NULL: there is none; "": there are several, or it is no text
 * that can be used. */
static const char *only_value(const struct talk *t, LDAPMessage *entry, const char *attribute)
{
    struct berval **values = *attribute ? ldap_get_values_len(t->ld, entry, attribute) : NULL;
    bool is_there = values && values[0];
    const char *text = is_there && !values[1] ? text_of(t->a, values[0]) : NULL;
    ldap_value_free_len(values);
    return is_there && !text ? "" : text;
}

/* The first value of an attribute, which may have several, as `cn` often does. */
static const char *first_value(const struct talk *t, LDAPMessage *entry, const char *attribute)
{
    struct berval **values = *attribute ? ldap_get_values_len(t->ld, entry, attribute) : NULL;
    const char *text = values && values[0] ? text_of(t->a, values[0]) : NULL;
    ldap_value_free_len(values);
    return text;
}

/* Of a DN such as cn=vision,ou=groups,dc=example,dc=com the value at its beginning; any other text is a name itself. */
static const char *group_name(struct arena *a, const char *text)
{
    LDAPDN dn = NULL;
    const char *name = NULL;
    if (!strchr(text, '=') || ldap_str2dn(text, &dn, LDAP_DN_FORMAT_LDAPV3) != LDAP_SUCCESS || !dn)
        return text;
    if (dn[0] && dn[0][0])
        name = text_of(a, &dn[0][0]->la_value);
    ldap_dnfree(dn);
    return name;
}

/* The one way of writing a DN in which DNs can be compared. NULL: the text is no DN. */
static const char *normal_dn(struct arena *a, const char *text)
{
    char *out = NULL;
    if (!strchr(text, '=') ||
        ldap_dn_normalize(text, LDAP_DN_FORMAT_LDAPV3, &out, LDAP_DN_FORMAT_LDAPV3) != LDAP_SUCCESS || !out)
        return NULL;
    const char *dn = arena_strdup(a, out);
    ldap_memfree(out);
    return dn;
}

static bool is_among(const char *const *list, size_t n, const char *text, int (*compare)(const char *, const char *))
{
    for (size_t i = 0; i < n; i++)
        if (compare(list[i], text) == 0)
            return true;
    return false;
}

bool ldap_person_is_in(const struct ldap_person *p, const char *group, struct arena *a)
{
    const char *dn = normal_dn(a, group);
    return dn ? is_among(p->group_dn, p->group_dn_n, dn, strcasecmp) : is_among(p->group, p->group_n, group, strcmp);
}

/* A group by its name and its DN; NULL: it has none. */
static int add_group(struct ldap_person *p, const char *name, const char *dn, struct error *err)
{
    bool add_name = name && !is_among(p->group, p->group_n, name, strcmp);
    bool add_dn = dn && !is_among(p->group_dn, p->group_dn_n, dn, strcasecmp);
    if ((add_name && p->group_n == LDAP_GROUPS_MAX) || (add_dn && p->group_dn_n == LDAP_GROUPS_MAX))
        return error_set(err, ERR_BAD_GATEWAY,
                         "%s is in more than %d groups: let ldap.group_search_filter find only those that this "
                         "cluster knows",
                         p->dn, LDAP_GROUPS_MAX);
    if (add_name)
        p->group[p->group_n++] = name;
    if (add_dn)
        p->group_dn[p->group_dn_n++] = dn;
    return 0;
}

/* ---- a person ---------------------------------------------------------------------------------------------------- */

struct found {
    struct ldap_person *p;
    int entries;
};

static int take_person(const struct talk *t, LDAPMessage *entry, void *ctx, struct error *err)
{
    struct found *f = ctx;
    struct ldap_person *p = f->p;
    if (f->entries++)
        return 0;
    char *dn = ldap_get_dn(t->ld, entry);
    p->dn = arena_strdup(t->a, dn ? dn : "");
    ldap_memfree(dn);
    if (*t->s->username_attribute) {
        p->username = only_value(t, entry, t->s->username_attribute);
        if (!p->username || !*p->username)
            return error_set(err, ERR_BAD_GATEWAY,
                             "%s has not exactly one value of %s, which names the account (ldap.username_attribute)",
                             p->dn, t->s->username_attribute);
    }
    p->display_name = first_value(t, entry, t->s->display_name_attribute);
    p->agent_uid = only_value(t, entry, t->s->agent_uid_attribute);
    p->agent_gid = only_value(t, entry, t->s->agent_gid_attribute);
    p->agent_user = first_value(t, entry, t->s->agent_user_attribute);
    p->agent_group = first_value(t, entry, t->s->agent_group_attribute);
    struct berval **groups = *t->s->groups_attribute ? ldap_get_values_len(t->ld, entry, t->s->groups_attribute) : NULL;
    int rc = 0;
    for (size_t i = 0; rc == 0 && groups && groups[i]; i++) {
        const char *text = text_of(t->a, groups[i]);
        rc = text ? add_group(p, group_name(t->a, text), normal_dn(t->a, text), err) : 0;
    }
    ldap_value_free_len(groups);
    return rc;
}

static int read_person(const struct talk *t, const char *base, int scope, const char *filter, struct found *f,
                       struct error *err)
{
    const char *const wanted[] = {t->s->username_attribute,   t->s->display_name_attribute, t->s->groups_attribute,
                                  t->s->agent_uid_attribute,  t->s->agent_gid_attribute,    t->s->agent_user_attribute,
                                  t->s->agent_group_attribute};
    const char *attributes[sizeof(wanted) / sizeof(*wanted) + 1] = {LDAP_NO_ATTRS, NULL};
    size_t n = 0;
    for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++)
        if (*wanted[i])
            attributes[n++] = wanted[i];
    const struct search x = {.base = base,
                             .filter = filter,
                             .scope = scope,
                             .most = 2,
                             .attributes = attributes,
                             .take = take_person,
                             .ctx = f};
    return run_search(t, &x, err);
}

/* The name and the password decide together; a name that nobody has says no more than a wrong password. */
static int search_person(const struct talk *t, const char *name, struct ldap_person *p, struct error *err)
{
    struct found f = {.p = p};
    struct strbuf filter = STRBUF_INIT;
    ldap_add_template(&filter, t->s->search_filter, name, NULL);
    int rc = read_person(t, t->s->search_base, LDAP_SCOPE_SUBTREE, strbuf_str(&filter), &f, err);
    if (rc == 0 && f.entries == 0)
        rc = error_set(err, ERR_UNAUTHENTICATED, "invalid credentials");
    if (rc == 0 && f.entries > 1)
        rc = error_set(err, ERR_BAD_GATEWAY,
                       "%s finds several people below \"%s\": ldap.search_filter must find one, and no more",
                       strbuf_str(&filter), t->s->search_base);
    strbuf_release(&filter);
    return rc;
}

static int take_group(const struct talk *t, LDAPMessage *entry, void *ctx, struct error *err)
{
    char *dn = ldap_get_dn(t->ld, entry);
    int rc = add_group(ctx, first_value(t, entry, t->s->group_name_attribute), dn ? normal_dn(t->a, dn) : NULL, err);
    ldap_memfree(dn);
    return rc;
}

/* A search for groups that takes too long is no sign that the directory is away: other filters and people go on. */
static int search_groups(const struct talk *t, struct ldap_person *p, struct error *err)
{
    struct talk slow = *t;
    const char *const attributes[] = {t->s->group_name_attribute, NULL};
    struct strbuf filter = STRBUF_INIT;
    if (!*t->s->group_search_base)
        return 0;
    slow.slow = ERR_BAD_GATEWAY;
    ldap_add_template(&filter, t->s->group_search_filter, p->username, p->dn);
    const struct search x = {.base = t->s->group_search_base,
                             .filter = strbuf_str(&filter),
                             .scope = LDAP_SCOPE_SUBTREE,
                             .most = LDAP_GROUPS_MAX + 1,
                             .attributes = attributes,
                             .take = take_group,
                             .ctx = p};
    int rc = run_search(&slow, &x, err);
    strbuf_release(&filter);
    return rc;
}

/* By the template: the person reads the person's own entry, and the groups. */
static int login_by_template(const struct talk *t, const char *name, const char *password, struct ldap_person *p,
                             struct error *err)
{
    struct found f = {.p = p};
    struct strbuf dn = STRBUF_INIT;
    ldap_add_template(&dn, t->s->user_dn, name, NULL);
    p->dn = arena_strdup(t->a, strbuf_str(&dn));
    strbuf_release(&dn);
    if (bind_person(t, p->dn, password, err) < 0 ||
        read_person(t, p->dn, LDAP_SCOPE_BASE, "(objectClass=*)", &f, err) < 0)
        return -1;
    if (f.entries != 1)
        return error_set(err, ERR_BAD_GATEWAY, "%s does not let %s read its own entry", t->url, p->dn);
    return search_groups(t, p, err);
}

/* By a search: the service account finds the person, whose password is tried, and then reads the groups. A search for
 * groups may be slow, so it is not for everybody who types a name. */
static int login_by_search(const struct talk *t, const char *name, const char *password, struct ldap_person *p,
                           struct error *err)
{
    if (bind_service(t, err) < 0 || search_person(t, name, p, err) < 0 || bind_person(t, p->dn, password, err) < 0)
        return -1;
    if (!*t->s->group_search_base)
        return 0;
    return bind_service(t, err) < 0 ? -1 : search_groups(t, p, err);
}

static int login_at(const struct ldap_settings *s, const char *url, const char *name, const char *password,
                    struct arena *a, struct ldap_person *ret, struct error *err)
{
    struct talk t = {.s = s,
                     .url = url,
                     .a = a,
                     .until_us = clock_monotonic_us() + (int64_t)s->timeout_s * 1000000,
                     .slow = ERR_UNAVAILABLE};
    struct ldap_person p = {.username = name,
                            .group = arena_array(a, const char *, LDAP_GROUPS_MAX),
                            .group_dn = arena_array(a, const char *, LDAP_GROUPS_MAX)};
    int rc = open_talk(&t, err);
    if (rc == 0)
        rc = *s->user_dn ? login_by_template(&t, name, password, &p, err)
                         : login_by_search(&t, name, password, &p, err);
    close_talk(&t);
    if (rc == 0)
        *ret = p;
    return rc;
}

int ldap_login(const struct ldap_settings *s, const char *name, const char *password, struct arena *a,
               struct ldap_person *ret, struct error *err)
{
    for (size_t i = 0; i < s->url_n; i++) {
        cleanup_error struct error why = ERROR_INIT;
        if (login_at(s, s->url[i], name, password, a, ret, &why) == 0)
            return 0;
        if (why.kind != ERR_UNAVAILABLE || i + 1 == s->url_n) {
            error_move(err, &why);
            return -1;
        }
    }
    return error_set(err, ERR_UNAVAILABLE, "ldap.urls names no server");
}
