#include "agent/machine/user_namespaces.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/base/strbuf.h"
#include "common/system/files.h"

/* The C library would tell other threads of the change of ids, and here there are none: this process is a copy of one
 * thread. */
static void __attribute__((noreturn)) try_in_child(bool change, uid_t uid, gid_t gid)
{
    if (change && (syscall(SYS_setresgid, gid, gid, gid) < 0 || syscall(SYS_setresuid, uid, uid, uid) < 0))
        _exit(errno & 0xff);
    _exit(unshare(CLONE_NEWUSER) < 0 ? errno & 0xff : 0);
}

static bool is_set_to(const char *path, long value)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    return file_read(path, 64, &text, NULL) == 0 && text.n && strtol(text.s, NULL, 10) == value;
}

static const char *reason_of(int error_number)
{
    if (error_number == ENOSPC || error_number == EUSERS)
        return "their limit is reached (raise it: sysctl -w user.max_user_namespaces=15000)";
    if (is_set_to("/proc/sys/kernel/unprivileged_userns_clone", 0))
        return "only root may make them (permit them: sysctl -w kernel.unprivileged_userns_clone=1)";
    if (is_set_to("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", 1))
        return "AppArmor permits them to few programs (permit them: sysctl -w "
               "kernel.apparmor_restrict_unprivileged_userns=0)";
    return strerror(error_number);
}

int user_namespaces_try(bool change, uid_t uid, gid_t gid, struct error *err)
{
    int status = 0;
    pid_t pid = fork();
    if (pid == 0)
        try_in_child(change, uid, gid);
    if (pid < 0)
        return error_errno(err, "cannot fork");
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    return error_set(err, ERR_PRECONDITION, "this machine refuses user namespaces to uid %u: %s",
                     (unsigned)(change ? uid : geteuid()), reason_of(WIFEXITED(status) ? WEXITSTATUS(status) : EPERM));
}
