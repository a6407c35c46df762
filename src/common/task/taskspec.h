/* The order that an agent leaves for determined-task: what to run, as which user, where, and what happens to its
 * output.
 *
 * It is the file `spec` in the supervisor's directory, in binary form (common/base/bytes.h), and is complete before
 * the supervisor starts.
 *
 *
 * <directory>/          0700, belongs to the agent: the task can touch nothing in here
 *     spec                this order
 *     socket              the supervisor listens here from its start to its end
 *     spool/              lines that are not yet acknowledged
 *     exit                the exit report, once there is one
 *     supervisor.log      the supervisor's own log */
#ifndef DET_COMMON_TASK_TASKSPEC_H
#define DET_COMMON_TASK_TASKSPEC_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/arena.h"
#include "common/base/error.h"
#include "common/base/strbuf.h"

struct taskspec_mount {
    const char *source, *target;
    bool read_only;
    bool make_source; /* a directory that is not there yet is made, with the task's own rights */
};

/* A mount of a container, as the agent saw its source. The engine opens sources by name, as root: what it mounted must
 * be what the agent had looked at with the task's rights. */
struct taskspec_place {
    const char *target; /* within the container */
    uint64_t dev, ino;
};

/* The supervisor of a container says once, through this named pipe in its directory, how its start went: one byte, and
 * with TASKSPEC_TOLD_FAILED a sentence. */
#define TASKSPEC_PIPE "ready"
enum { TASKSPEC_TOLD_READY = 'R', TASKSPEC_TOLD_NOT_EXECUTED = 'N', TASKSPEC_TOLD_FAILED = 'E' };

/* In the value of a variable: here stands the value that the image gives the variable. Only somebody within the
 * container knows it (task/inside.h). */
#define TASKSPEC_OF_IMAGE "${determined:image}"

/* PATH of a task in a container of an image that sets none. */
#define TASKSPEC_DEFAULT_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

/* Exit status of determined-task when the supervisor serves, but the task could not be executed: its exit says why. */
#define TASKSPEC_NOT_EXECUTED 3

/* Limits of what the task may take of the machine; 0: no limit. */
struct taskspec_limits {
    uint64_t memory_bytes, processes;
    bool memory_asked;   /* memory_bytes is what the task has asked for (resources.memory) */
    uint64_t disk_bytes; /* in its own directory */
};

struct taskspec {
    char **argv, **env; /* NULL-terminated; argv[0] is looked up in env's PATH */
    const char *cwd;
    /* false: the task runs as the supervisor's user, and uid, gid and groups mean nothing. No value of uid or gid can
     * say that, so whoever chooses them from afar cannot choose it. */
    bool change_user;
    /* The task must not run without a view of the file system that keeps it apart from the tasks of others (hidden,
     * tmp, /proc). */
    bool isolated;
    uint32_t uid, gid;
    uint32_t *group; /* supplementary groups */
    size_t group_n;
    char **cgroup_procs;  /* files that take the task's process id before it becomes the task's user: `tasks` of v1,
                             `cgroup.procs` of v2 */
    const char *oom_file; /* "" or a cgroup file with a line `oom_kill N` */
    /* "" or a directory in which stdout.log and stderr.log become links to the task's own output */
    const char *log_links;
    /* What the task sees at other places, in a mount namespace of its own; none: no such namespace. The first is the
     * task's own directory at /run/determined, which the others may lie in. */
    struct taskspec_mount *mount;
    size_t mount_n;
    /* Files and directories of the agent that the task must not see, absolute, for the task's mount namespace to cover.
     * The task's own directory, which may lie below one of them, stays visible where it is. */
    char **hidden;
    /* With mounts: the task has terminals of its own (a /dev/pts that no other task sees), which belong to this group.
     */
    bool own_terminals;
    /* The task has process ids of its own, and sees no others, where the machine permits that. */
    bool own_processes;
    uint32_t terminal_gid;
    struct taskspec_limits limit;
    const char *pids_file; /* "" or a cgroup file with a line `max N`: how often a process was refused */
    const char *boot_id;   /* of the machine when the order was written; "" if unknown */
    /* "" or a directory that is the task's alone, which it sees as /tmp; without mounts, TMPDIR names it. */
    const char *tmp;
    uint64_t drop_capabilities; /* one bit for each capability, by the kernel's numbers */
    /* Files that the supervisor keeps locked, shared, until the task has ended: Python environments that the task uses
     * are not removed meanwhile. NULL-terminated. */
    char **lock;
    /* "" for a task that is a process of the machine. Otherwise the task runs in a container of this image, whose first
     * process is determined-task: without a `command` as the supervisor itself, and whatever is a mount of the task was
     * mounted by the container's engine; with one see there. */
    const char *image;
    const char *engine; /* name of that engine */
    /* The words of a command that makes the container and executes `determined-task --inside` there; none: a service
     * has made the container. The supervisor stays outside, and runs the command as the task's user, with command_env,
     * in what `mount`, `own_terminals`, `own_processes` and `shm_bytes` say. */
    char **command, **command_env;
    char **probe; /* the same command for an image with nothing in it; none: there is no such image */
    /* The command is started without no_new_privs, because it has to get rights by a program that is setuid. What it
     * starts has no_new_privs all the same. */
    bool command_may_gain;
    struct taskspec_place *place;
    size_t place_n;
    const char
        *passwd_line; /* "" or the line of the task's account, added to a container's /etc/passwd that lacks it */
    /* With mounts: size of the task's own /dev/shm; 0: it sees the machine's. */
    uint64_t shm_bytes;
    uint64_t spool_max; /* bytes of unacknowledged lines after which the task's output is no longer read */
};

void taskspec_encode(const struct taskspec *s, struct strbuf *out);
/* Strings and arrays live in the arena. */
int taskspec_decode(const void *data, size_t n, struct arena *a, struct taskspec *ret, struct error *err);
/* Whether the supervisor itself runs in the task's container. */
bool taskspec_is_in_container(const struct taskspec *s);
bool taskspec_has_command(const struct taskspec *s);
/* The value of a variable of the task; "" if unset. */
const char *taskspec_env(const struct taskspec *s, const char *name);

#endif
