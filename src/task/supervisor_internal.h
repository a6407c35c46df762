/* Within the supervisor (supervisor.c, supervisor_talk.c): what it knows of its task, and of what the agent knows. */
#ifndef DET_TASK_SUPERVISOR_INTERNAL_H
#define DET_TASK_SUPERVISOR_INTERNAL_H

#include "common/base/arena.h"
#include "common/task/taskproto.h"
#include "common/task/taskspec.h"
#include "task/agentlink.h"
#include "task/limits.h"
#include "task/lines.h"
#include "task/missing_module.h"
#include "task/spool.h"
#include "task/supervisor.h"

#define LINGER_US 50000 /* lines wait this long for company while others are under way */
#define BATCHES_MAX 64

enum phase { RUNNING, DRAINING, EXITED };

struct output {
    int fd; /* -1: it ended */
    struct line_framer framer;
};

struct supervisor {
    struct arena arena;
    struct taskspec spec;
    char *path;
    int dir, signal_fd;
    struct spool *spool;
    struct agentlink link;
    struct output output[2];
    struct limits limits;
    struct missing_module missing; /* what it did not find, to be explained at the end; cleared when it was */
    const char *ended_for; /* what the task did to be ended; NULL: nothing */

    enum phase phase;
    pid_t pid; /* of the entrypoint, and its process group; 0: it was not executed, or not by this supervisor */
    bool adopted;
    bool has_children;
    int64_t drain_until_us;
    bool killing;
    int64_t kill_at_us, kill_wait_us;
    struct task_exit exit;

    bool greeted;       /* the connected agent has said HELLO */
    uint64_t sent;      /* newest line given to it */
    struct { uint64_t last; size_t bytes; } under_way[BATCHES_MAX]; /* sent, not acknowledged; oldest first */
    size_t under_way_n, under_way_bytes;
    size_t unsent_bytes; /* since when, and about how much, waits behind `sent` */
    int64_t unsent_since_us;
    struct spool_batch batch; /* scratch */
    bool exit_sent, exit_acked;
};

void supervisor_signal(struct supervisor *s, int signo); /* the task */

/* supervisor_talk.c */
void supervisor_hear(void *ctx, const struct task_frame *f);
void supervisor_talk(struct supervisor *s); /* all that the agent may be told in this turn */
bool supervisor_all_told(const struct supervisor *s); /* every line, if not acknowledged */

#endif
