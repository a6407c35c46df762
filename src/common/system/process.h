/* Processes of this machine, whether they are our children or not: what /proc tells of them. */
#ifndef DET_COMMON_SYSTEM_PROCESS_H
#define DET_COMMON_SYSTEM_PROCESS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct process {
    pid_t pid;
    /* start in clock ticks since boot: process ids are used again later, with another start */
    unsigned long long start;
    const char *args; /* the process's arguments, each ends with a NUL byte; valid only during a callback */
    size_t args_n;    /* bytes */
};

/* Finds a process; returns false if there is none, or if it has ended and was not waited for yet. Without its
 * arguments. */
bool process_find(pid_t pid, struct process *ret);
bool process_alive(pid_t pid);
int64_t process_start_us(const struct process *p); /* by the present setting of the wall clock */

/* The argument after `arg`, or the first one if `arg` is NULL; NULL if there are no more. */
const char *process_next_arg(const struct process *p, const char *arg);

/* The argument that follows the first one equal to `name`; NULL if there is none. */
const char *process_option(const struct process *p, const char *name);

typedef void process_fn(const struct process *p, void *ctx);
/* calls fn for each process that has arguments, so neither for kernel threads nor for zombies */
void process_each(process_fn *fn, void *ctx);

typedef bool process_is_fn(const struct process *p, void *ctx);
/* Sends a signal (0: none) to all processes for which `is` returns true, and returns their number. */
int process_signal(process_is_fn *is, void *ctx, int signo);
/* Ends all processes for which `is` returns true: by SIGTERM, and after patience_ms by SIGKILL. Returns when all are
 * gone, or when *hurry is set (it may be NULL); false if some are left. */
bool process_end(process_is_fn *is, void *ctx, int patience_ms, const atomic_bool *hurry);
/* Whether p is the supervisor of a task whose directory lies below `directory`: the task's directory is the last
 * argument of a supervisor. */
bool process_supervises_below(const struct process *p, const char *directory);

void sleep_ms(int ms);

#endif
