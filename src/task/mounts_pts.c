/* The task's own terminals: a devpts of its own at /dev/pts.
 *
 * sshd, which a shell task runs with the task's rights, gives each terminal that it opens to the group `tty`. Whoever
 * is not root may not do that. So sshd ends the session, unless the terminals already belong to that group, which is
 * what the option `gid` of devpts is for. systemd and Docker mount /dev/pts with it, other machines do not; and in a
 * user namespace the machine's group `tty` does not exist at all. A devpts of the task's own has the group that the
 * task needs, however the machine's is mounted. It also keeps terminals of other users out of sight, and the terminals
 * of one task cannot use up those of the machine.
 *
 * /dev/ptmx leads to the devpts that is mounted at `pts` beside it, so it needs no change. Where it is a link to
 * pts/ptmx, that file must be open to everybody, as /dev/ptmx is. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mount.h>

#include "common/base/cleanup.h"
#include "task/mounts_internal.h"

#define PTS "/dev/pts"
#define TERMINALS_MAX \
    "512" /* the machine has 4,096, and keeps 1,024 of them for itself (kernel.pty.max, kernel.pty.reserve) */

int mount_terminals(const struct view *v, struct error *err)
{
    char gid[16];
    const struct mount_option option[] = {
        {"gid", gid}, {"mode", "620"}, {"ptmxmode", "666"}, {"max", TERMINALS_MAX}, {NULL, NULL}};
    if (!v->spec->own_terminals)
        return 0;
    cleanup_close int place = open(PTS, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (place < 0)
        return errno == ENOENT ? 0 : error_errno(err, "%s", PTS);
    snprintf(gid, sizeof(gid), "%u", v->spec->terminal_gid);
    cleanup_close int pts = mount_new("devpts", option, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC);
    return pts < 0 || mount_at(pts, place) < 0 ? error_errno(err, "cannot mount %s", PTS) : 0;
}
