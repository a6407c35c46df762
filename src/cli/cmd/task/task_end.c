#include "cli/cmd/task/task_end.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/connection/logs.h"

int task_follow(struct cli *cli, const char *task_id, const char *stop, struct error *err)
{
    return logs_print(cli, &(struct log_query){.task_id = task_id, .follow = true, .stop = stop}, err);
}

/* Whether nothing of the task runs or waits any more. A paused task has not ended, but nothing of it runs. */
static bool is_over(const struct wire_task *t)
{
    return t->has_end_time || (t->has_task_state && t->task_state == WIRE_TASK_GENERIC_TASK_STATE_PAUSED);
}

int task_fetch_ended(struct cli *cli, const char *task_id, const struct wire_task **ret, struct error *err)
{
    enum { LOOKS = 50, PAUSE_MS = 100 };
    struct wire_get_task_request in = {.task_id = task_id};
    struct wire_get_task_response out;
    for (int i = 0; i < LOOKS; i++) {
        if (api_call(cli, ROUTE_ID_GET_TASK, &in, &out, err) < 0)
            return -1;
        if (is_over(out.task))
            break;
        nanosleep(&(struct timespec){.tv_nsec = PAUSE_MS * 1000000l}, NULL);
    }
    *ret = out.task;
    return 0;
}

/* Ids of allocations are TASKID.N. */
static long number_of(const struct wire_task_allocation *a)
{
    const char *dot = strrchr(a->allocation_id, '.');
    return dot ? strtol(dot + 1, NULL, 10) : 0;
}

const struct wire_task_allocation *task_last_allocation(const struct wire_task *t)
{
    const struct wire_task_allocation *last = NULL;
    for (size_t i = 0; i < t->allocations_n; i++)
        if (!last || number_of(&t->allocations[i]) > number_of(last))
            last = &t->allocations[i];
    return last;
}
