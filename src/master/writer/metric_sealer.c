#include "master/writer/metric_sealer.h"

#include <stdio.h>
#include <stdlib.h>

#include "store/metrics/metric_seal.h"

enum {
    /* rows of one group that are enough while reports come; rows are counted for all groups together, so a look may
     * find too few of each group */
    ENOUGH = 1024,
    REST = 32, /* rows of one group that are enough when no reports come any more; fewer take less space as rows */
    PERIOD_US = 15000000,
    QUIET_US = 60000000,
    LEFT_MAX = 1000, /* trials that an earlier master has left, in one query */
};

void metric_sealer_reported(struct sealer *s, int32_t trial_id)
{
    char subject[16];
    snprintf(subject, sizeof(subject), "%d", trial_id);
    sealer_added(s, subject, 0);
}

static int32_t trial_of(const char *subject)
{
    return (int32_t)strtol(subject, NULL, 10);
}

static int look_for_reports(struct store *reader, const struct sealer_look *l, void **ret_seal, struct error *err)
{
    struct metric_seal *seal = NULL;
    int rc = store_seal_prepare(reader, trial_of(l->subject), l->rest ? REST : ENOUGH, &seal, err);
    *ret_seal = seal;
    return rc;
}

static int put_block(struct store *db, const void *seal, struct sealer_size *ret_gone, struct error *err)
{
    bool done;
    if (store_seal_commit(db, seal, &done, err) < 0)
        return -1;
    if (done)
        ret_gone->rows = (int64_t)store_seal_reports(seal);
    return 0;
}

static void free_seal(void *seal)
{
    store_seal_free(seal);
}

/* Lists trials whose reports an earlier master has left in rows. No more reports of them are expected, and each trial
 * counts as having one row. */
static int list_left_trials(struct store *reader, const char *after, struct arena *a, struct sealer_left **ret,
                            size_t *ret_n, struct error *err)
{
    int32_t *trial;
    size_t n;
    *ret_n = 0;
    if (store_seal_trials(reader, *after ? trial_of(after) + 1 : 0, REST, LEFT_MAX, a, &trial, &n, err) < 0)
        return -1;
    *ret = arena_array(a, struct sealer_left, n);
    for (size_t i = 0; i < n; i++)
        (*ret)[i] = (struct sealer_left){.subject = arena_printf(a, "%d", trial[i]), .size = {.rows = 1}, .rest = true};
    *ret_n = n;
    return 0;
}

const struct sealer_type metric_sealer = {
    .subject = "trial",
    .failed = "metrics.seal_failed",
    .enough = {ENOUGH, INT64_MAX},
    .quiet_us = QUIET_US,
    .period_us = PERIOD_US,
    .look = look_for_reports,
    .put = put_block,
    .free = free_seal,
    .left = list_left_trials,
};
