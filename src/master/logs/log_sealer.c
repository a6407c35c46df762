#include "master/logs/log_sealer.h"

#include "store/logs/log_seal.h"

enum {
    QUICK_FROM_BYTES = 8 * 1024 * 1024,
    QUIET_US = 600000000,
    PERIOD_US = 60000000,
};

static int look_for_heads(struct store *reader, const struct sealer_look *l, void **ret_seal, struct error *err)
{
    enum log_seal_pace pace = l->waiting_bytes > QUICK_FROM_BYTES ? LOG_SEAL_QUICK : LOG_SEAL_DENSE;
    struct log_seal *seal = NULL;
    int rc = store_log_seal_make(reader, l->subject, pace, l->rest, &seal, err);
    *ret_seal = seal;
    return rc;
}

static int put_block(struct store *db, const void *seal, struct sealer_size *ret_gone, struct error *err)
{
    struct log_seal_size taken = log_seal_taken(seal);
    if (store_log_seal_put(db, seal, err) < 0)
        return -1;
    *ret_gone = (struct sealer_size){taken.heads, taken.text_bytes};
    return 0;
}

static void free_seal(void *seal)
{
    log_seal_free(seal);
}

/* Lists all tasks that have heads at once, because these are few. The tasks may still run, so heads that are too few
 * for a block are left. */
static int list_left_tasks(struct store *reader, const char *after, struct arena *a, struct sealer_left **ret,
                           size_t *ret_n, struct error *err)
{
    struct store_log_waiting *task;
    size_t n;
    *ret_n = 0;
    if (*after)
        return 0;
    if (store_log_waiting(reader, a, &task, &n, err) < 0)
        return -1;
    *ret = arena_array(a, struct sealer_left, n);
    for (size_t i = 0; i < n; i++)
        (*ret)[i] = (struct sealer_left){.subject = task[i].task_id,
                                         .size = {task[i].size.heads, task[i].size.text_bytes}};
    *ret_n = n;
    return 0;
}

const struct sealer_type log_sealer = {
    .subject = "task",
    .failed = "log.seal_failed",
    .enough = {LOG_SEAL_HEADS, LOG_SEAL_BYTES},
    .quiet_us = QUIET_US,
    .period_us = PERIOD_US,
    .look = look_for_heads,
    .put = put_block,
    .free = free_seal,
    .left = list_left_tasks,
};
