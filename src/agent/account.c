#include "agent/account.h"

#include <grp.h>
#include <pwd.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/log.h"

#define PASSWD_BUF 16384
#define GROUPS_MAX 256

/* By name if there is one, else by uid. NULL: no such entry. */
static const struct passwd *lookup(const char *name, uid_t uid, struct passwd *entry, char buf[PASSWD_BUF])
{
    struct passwd *found = NULL;
    if (name)
        getpwnam_r(name, entry, buf, PASSWD_BUF, &found);
    else
        getpwuid_r(uid, entry, buf, PASSWD_BUF, &found);
    return found;
}

static void fill_from(struct account *x, const struct passwd *entry, struct arena *a)
{
    x->name = arena_strdup(a, entry->pw_name);
    x->home = arena_strdup(a, entry->pw_dir);
    x->shell = arena_strdup(a, entry->pw_shell && *entry->pw_shell ? entry->pw_shell : "/bin/sh");
}

/* Root's group would open to a task what is meant for administrators. */
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

int account_resolve(const char *user, uid_t uid, gid_t gid, bool allow_root, struct arena *a, struct account *ret,
                    struct error *err)
{
    char buf[PASSWD_BUF];
    struct passwd entry;
    struct account x = {.uid = uid, .gid = gid, .name = user && *user ? arena_strdup(a, user) : "user", .home = "", .shell = "/bin/sh"};
    x.change = geteuid() == 0;
    const struct passwd *found;
    if (!x.change) {
        x.uid = geteuid();
        x.gid = getegid();
        found = lookup(NULL, x.uid, &entry, buf);
    } else if (uid == 0 && !allow_root) {
        found = lookup(ACCOUNT_DEFAULT, 0, &entry, buf);
        if (!found)
            return error_set(
                err, ERR_PRECONDITION,
                "tasks run as the system user \"%s\", which does not exist on this machine; make it "
                "(useradd --system --user-group --no-create-home --shell /usr/sbin/nologin %s), link the owner to an "
                "account (det user link-with-agent-user), or set allow_root_tasks",
                ACCOUNT_DEFAULT, ACCOUNT_DEFAULT);
        x.uid = found->pw_uid;
        x.gid = found->pw_gid;
    } else {
        found = lookup(NULL, uid, &entry, buf);
    }
    if (x.change && x.gid == 0 && !allow_root)
        return error_set(err, ERR_PRECONDITION,
                         "the task's owner is linked to group 0, with which no task may run on this agent "
                         "(allow_root_tasks is false); link the owner to another group");
    if (found)
        fill_from(&x, found, a);
    if (x.change)
        fill_groups(&x, allow_root, a);
    *ret = x;
    return 0;
}

int account_ensure_default(struct error *err)
{
    char buf[PASSWD_BUF];
    struct passwd entry;
    if (geteuid() != 0 || lookup(ACCOUNT_DEFAULT, 0, &entry, buf))
        return 0;
    char *argv[] = {"useradd", "--system", "--user-group", "--no-create-home", "--home-dir", "/nonexistent",
                    "--shell", "/usr/sbin/nologin", ACCOUNT_DEFAULT, NULL};
    pid_t pid;
    int status = 0;
    if (posix_spawnp(&pid, argv[0], NULL, NULL, argv, environ) != 0 || waitpid(pid, &status, 0) < 0 || status != 0)
        return error_set(err, ERR_PRECONDITION,
                         "cannot make the system user \"%s\", which tasks run as; make it by hand, or set "
                         "allow_root_tasks",
                         ACCOUNT_DEFAULT);
    log_info("agent.user_made", "name=%s", ACCOUNT_DEFAULT);
    return 0;
}

static bool permits(const struct account *who, const struct stat *st, int want)
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
    if (!real || stat(real, &st) < 0 || !permits(who, &st, want))
        return false;
    for (char *slash = real; (slash = strchr(slash + 1, '/'));) {
        *slash = 0;
        if (stat(real, &st) < 0 || !permits(who, &st, X_OK))
            return false;
        *slash = '/';
    }
    return true;
}
