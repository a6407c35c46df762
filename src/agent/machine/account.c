#include "agent/machine/account.h"

#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/base/strbuf.h"
#include "common/system/files.h"
#include "common/system/login_name.h"

#define PASSWD_BUF 16384
#define PASSWD_MAX (1024 * 1024)
#define GROUPS_MAX 256

/* The entry of a uid in the user database; NULL if there is none. */
static const struct passwd *lookup_uid(uid_t uid, struct passwd *entry, char buf[PASSWD_BUF])
{
    struct passwd *found = NULL;
    getpwuid_r(uid, entry, buf, PASSWD_BUF, &found);
    return found;
}

static void fill_from(struct account *x, const struct passwd *entry, struct arena *a)
{
    x->name = arena_strdup(a, entry->pw_name);
    x->home = arena_strdup(a, entry->pw_dir);
    x->shell = arena_strdup(a, entry->pw_shell && *entry->pw_shell ? entry->pw_shell : "/bin/sh");
}

/* Fills in the supplementary groups. Root's group is left out, since it would give a task what is meant for
 * administrators. */
static void fill_groups(struct account *x, bool allow_root, struct arena *a)
{
    gid_t list[GROUPS_MAX];
    int n = GROUPS_MAX;
    if (getgrouplist(x->name, x->gid, list, &n) < 0)
        n = 0;
    x->group = arena_array(a, gid_t, (size_t)n + 1);
    for (int i = 0; i < n; i++)
        if (list[i] != 0 || allow_root)
            x->group[x->group_n++] = list[i];
}

/* ---- a uid of the owner's own ------------------------------------------------------------------------------------ */

static bool in_range(const struct account_range *r, uint32_t id)
{
    return id >= r->first && id - r->first < r->count;
}

static bool has_entry(const char *passwd, const char *name)
{
    size_t n = strlen(name);
    for (const char *line = passwd; *line; line += strcspn(line, "\n"), line += *line == '\n')
        if (strncmp(line, name, n) == 0 && line[n] == ':')
            return true;
    return false;
}

/* Names the account: by the owner's name in the platform, unless that could be taken for an account of this machine. */
static void name_own_uid(struct account *x, const struct account_order *o, struct arena *a)
{
    cleanup_strbuf struct strbuf passwd = STRBUF_INIT;
    /* if it cannot be read, the copy holds only the task's name */
    file_read(account_files.passwd, PASSWD_MAX, &passwd, NULL);
    const char *text = strbuf_str(&passwd);
    x->name = login_name_is_plain(o->owner) && !has_entry(text, o->owner) ? arena_strdup(a, o->owner)
                                                                          : arena_printf(a, "det-%d", (int)o->owner_id);
    /* The entry's home directory is `/`, which every machine has; the task's variable HOME names its working
     * directory. */
    x->passwd = arena_printf(a, "%s:x:%u:%u::/:/bin/sh\n%s", x->name, (unsigned)x->uid, (unsigned)x->gid, text);
}

static int use_own_uid(struct account *x, const struct account_order *o, const struct account_rules *r, struct arena *a,
                       struct error *err)
{
    if (o->owner_id <= 0)
        return error_set(err, ERR_INVALID,
                         "the order does not say which user the task belongs to; use programs of one version");
    if ((uint32_t)o->owner_id >= r->own.count)
        return error_set(
            err, ERR_PRECONDITION,
            "user number %d has no uid of their own on this agent: task_uids.count is %u; raise it, or link the user to an "
            "account (det user link-with-agent-user)",
            (int)o->owner_id, (unsigned)r->own.count);
    x->uid = r->own.first + (uint32_t)o->owner_id;
    x->gid = o->gid ? (gid_t)o->gid : x->uid;
    name_own_uid(x, o, a);
    x->group = arena_array(a, gid_t, 1);
    x->group[x->group_n++] = x->gid;
    return 0;
}

/* ---- a linked account -------------------------------------------------------------------------------------------- */

static int use_linked_account(struct account *x, const struct account_order *o, const struct account_rules *r,
                              struct arena *a, struct error *err)
{
    char buf[PASSWD_BUF];
    struct passwd entry;
    if (o->gid == 0 && !r->allow_root)
        return error_set(err, ERR_PRECONDITION,
                         "the task's owner is linked to group 0, with which no task may run on this agent "
                         "(allow_root_tasks is false); link the owner to another group");
    if (in_range(&r->own, (uint32_t)o->uid))
        return error_set(
            err, ERR_PRECONDITION,
            "the task's owner is linked to uid %d, which is one of those that users without a linked account have on this agent "
            "(task_uids: %u to %u); link the owner to another uid",
            (int)o->uid, (unsigned)r->own.first, (unsigned)(r->own.first + r->own.count - 1));
    x->uid = (uid_t)o->uid;
    x->gid = (gid_t)o->gid;
    x->name = o->user && *o->user ? arena_strdup(a, o->user) : "user";
    const struct passwd *found = lookup_uid(x->uid, &entry, buf);
    if (found)
        fill_from(x, found, a);
    fill_groups(x, r->allow_root, a);
    return 0;
}

/* The account of a task that runs as the agent's own user. */
static void use_agents_account(struct account *x, const struct account_order *o, struct arena *a)
{
    char buf[PASSWD_BUF];
    struct passwd entry;
    x->uid = geteuid();
    x->gid = getegid();
    x->name = o->user && *o->user ? arena_strdup(a, o->user) : "user";
    const struct passwd *found = lookup_uid(x->uid, &entry, buf);
    if (found)
        fill_from(x, found, a);
}

int account_resolve(const struct account_order *o, const struct account_rules *r, struct arena *a, struct account *ret,
                    struct error *err)
{
    struct account x = {.home = "", .shell = "/bin/sh", .change = geteuid() == 0};
    bool own = o->uid == 0 && !r->allow_root;
    if (o->uid < 0 || o->gid < 0)
        return error_set(
            err, ERR_INVALID,
            "the task's owner is linked to uid %d and gid %d: an id is a number from 0 to 2147483647; link the owner to an "
            "account that exists (det user link-with-agent-user)",
            (int)o->uid, (int)o->gid);
    if (x.change && o->gid != 0 && in_range(&r->own, (uint32_t)o->gid))
        return error_set(
            err, ERR_PRECONDITION,
            "the task's gid %d is one of those that users without a linked account have on this agent (task_uids); choose "
            "another",
            (int)o->gid);
    if (!x.change)
        use_agents_account(&x, o, a);
    else if ((own ? use_own_uid(&x, o, r, a, err) : use_linked_account(&x, o, r, a, err)) < 0)
        return -1;
    *ret = x;
    return 0;
}

gid_t account_terminal_gid(const struct account *who)
{
    char buf[PASSWD_BUF];
    struct group entry, *found = NULL;
    if (who->change)
        getgrnam_r("tty", &entry, buf, sizeof(buf), &found);
    return found ? entry.gr_gid : who->gid;
}

bool account_shell_works(const char *shell)
{
    const char *name = strrchr(shell, '/');
    name = name ? name + 1 : shell;
    return strcmp(name, "nologin") != 0 && strcmp(name, "false") != 0 && access(shell, X_OK) == 0;
}

/* ---- the range, at the agent's start ----------------------------------------------------------------------------- */

const struct account_files account_files = {.passwd = "/etc/passwd",
                                            .group = "/etc/group",
                                            .subuid = "/etc/subuid",
                                            .subgid = "/etc/subgid",
                                            .uid_map = "/proc/self/uid_map"};

static int refuse_range(const struct account_range *r, const char *file, const char *line, struct error *err)
{
    return error_set(
        err, ERR_CONFLICT,
        "task_uids: the ids %u to %u, which must belong to the platform alone, overlap with the line \"%.*s\" of %s; set "
        "task_uids.first to a number above it",
        (unsigned)r->first, (unsigned)(r->first + r->count - 1), (int)strcspn(line, "\n"), line, file);
}

/* Checks one file against the range. A line is `NAME:…:` with an id in the given field; with `counted`, the next field
 * says how many ids there are. */
static int check_file(const struct account_range *r, const char *file, int field, bool counted, struct error *err)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    if (file_read(file, PASSWD_MAX, &text, NULL) < 0)
        return 0; /* a machine without this file has assigned no ids in it */
    for (const char *line = strbuf_str(&text); *line; line += strcspn(line, "\n"), line += *line == '\n') {
        const char *at = line;
        for (int i = 0; i < field && at; i++)
            at = memchr(at, ':', strcspn(at, "\n")) ? strchr(at, ':') + 1 : NULL;
        char *end;
        uint64_t id = at ? strtoull(at, &end, 10) : 0,
                 n = at && counted && *end == ':' ? strtoull(end + 1, NULL, 10) : 1;
        if (at && end != at && id < (uint64_t)r->first + r->count && id + n > r->first)
            return refuse_range(r, file, line, err);
    }
    return 0;
}

/* Checks that the ids exist: in a user namespace only some do. Each line has three numbers: the first id inside, the
 * first id outside, how many. */
static int check_map(const struct account_range *r, const char *file, struct error *err)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    if (file_read(file, PASSWD_MAX, &text, NULL) < 0)
        return 0;
    unsigned long long inside, outside, n;
    for (const char *line = strbuf_str(&text); *line; line += strcspn(line, "\n"), line += *line == '\n')
        if (sscanf(line, "%llu %llu %llu", &inside, &outside, &n) == 3 && r->first >= inside &&
            (uint64_t)r->first + r->count <= inside + n)
            return 0;
    return error_set(
        err, ERR_PRECONDITION,
        "task_uids: this agent runs in a user namespace in which the ids %u to %u do not all exist (%s); set task_uids.first "
        "and task_uids.count to ids that do",
        (unsigned)r->first, (unsigned)(r->first + r->count - 1), file);
}

int account_check_range(const struct account_range *range, const struct account_files *f, struct error *err)
{
    if (check_map(range, f->uid_map, err) < 0 || check_file(range, f->passwd, 2, false, err) < 0 ||
        check_file(range, f->passwd, 3, false, err) < 0 || check_file(range, f->group, 2, false, err) < 0 ||
        check_file(range, f->subuid, 1, true, err) < 0)
        return -1;
    return check_file(range, f->subgid, 1, true, err);
}

/* ---- what an account reaches ------------------------------------------------------------------------------------- */

static bool mode_permits(const struct account *who, const struct stat *st, int want)
{
    if (who->uid == 0)
        return true;
    int shift = st->st_uid == who->uid ? 6 : st->st_gid == who->gid ? 3 : 0;
    for (size_t i = 0; shift == 0 && i < who->group_n; i++)
        if (who->group[i] == st->st_gid)
            shift = 3;
    return ((int)(st->st_mode >> shift) & want) == want;
}

bool account_reaches(const struct account *who, const char *path, int want)
{
    struct stat st;
    cleanup_free char *real = realpath(path, NULL);
    if (!real || stat(real, &st) < 0 || !mode_permits(who, &st, want))
        return false;
    for (char *slash = real; (slash = strchr(slash + 1, '/'));) {
        *slash = 0;
        if (stat(real, &st) < 0 || !mode_permits(who, &st, X_OK))
            return false;
        *slash = '/';
    }
    return true;
}
