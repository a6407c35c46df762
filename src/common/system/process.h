/* Processes of this machine, also such that are not our children: what /proc tells of them. */
#ifndef DET_COMMON_PROCESS_H
#define DET_COMMON_PROCESS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct process {
    pid_t pid;
    unsigned long long start; /* clock ticks since boot; a number is given to others later, with another start */
    const char *args;         /* each ends with a NUL; while it is being looked at */
    size_t args_n;            /* bytes */
};

/* false: there is none, or it has ended and is only waited for. Without its arguments. */
bool process_find(pid_t pid, struct process *ret);
bool process_alive(pid_t pid);
int64_t process_start_us(const struct process *p); /* by the wall clock as it is set now */

/* The argument behind p, or the first one; NULL: no more. */
const char *process_next_arg(const struct process *p, const char *arg);

/* The argument behind the first one that reads `name`; NULL: there is none. */
const char *process_option(const struct process *p, const char *name);

typedef void process_fn(const struct process *p, void *ctx);
void process_each(process_fn *fn, void *ctx); /* all that have arguments: neither kernel threads nor zombies */

typedef bool process_is_fn(const struct process *p, void *ctx);
/* Sends all of a kind a signal (0: none), and returns how many there are. */
int process_signal(process_is_fn *is, void *ctx, int signo);
/* SIGTERM, and SIGKILL for what is left after a while; back when all are gone, or when *hurry is set (may be NULL).
 * false: some are left. */
bool process_end(process_is_fn *is, void *ctx, int patience_ms, const atomic_bool *hurry);
/* Where a task's files lie is the last argument of its supervisor. */
bool process_supervises_below(const struct process *p, const char *directory);

void sleep_ms(int ms);

#endif
