#include "master/removal/deletions.h"

#include <stdlib.h>
#include <sys/queue.h>

#include "api/pipeline/author.h"
#include "api/pipeline/wait.h"
#include "common/base/clock.h"
#include "common/base/hash.h"
#include "common/base/must.h"
#include "common/system/log.h"
#include "core/core.h"
#include "master/master.h"
#include "master/removal/collector.h"
#include "store/accounts/workspace_deletion.h"
#include "store/experiments/experiments.h"
#include "store/experiments/removals.h"

enum { ROWS_PER_JOB = 1000 };

struct deletion {
    struct deletions *of;
    int32_t experiment_id, trial_id; /* trial_id 0: the whole experiment */
    bool more;
    bool pending; /* files still have to be removed, and their removal has not failed */
    bool goes_on; /* the experiment was continued after its deletion had been requested, so nothing of it is deleted */
    struct error failed; /* why the experiment could not be deleted */
    STAILQ_ENTRY(deletion) next;
};

/* Notes which experiments, or trials of them, have been deleted since the master started, or are being deleted. */
struct deletion_note {
    int32_t experiment_id;
    enum deletion_of of;
    UT_hash_handle hh;
};

struct deletions {
    struct master *m;
    struct deletion_note *deletion_note;
    STAILQ_HEAD(, deletion) waiting; /* the deletions in order; the first one is being carried out */
    STAILQ_HEAD(, deletion) aside;   /* the deletions that wait for tasks which remove files */
};

static void begin_deletion(struct deletion *x);

static void begin_next(struct deletions *d)
{
    if (!STAILQ_EMPTY(&d->waiting) && !d->m->draining)
        begin_deletion(STAILQ_FIRST(&d->waiting));
}

static void finish_deletion(struct deletion *x)
{
    struct deletions *d = x->of;
    STAILQ_REMOVE_HEAD(&d->waiting, next);
    error_release(&x->failed);
    free(x);
    api_wake(d->m->api, CHANGES_TOPIC); /* a project or a workspace may have gone with it */
    begin_next(d);
}

/* ---- when it fails ----------------------------------------------------------------------------------------------- */

static int mark_failed(struct store *db, void *job, struct error *err)
{
    const struct deletion *x = job;
    cleanup_arena struct arena a = ARENA_INIT;
    if (x->trial_id && x->goes_on)
        return store_run_deletion_forget(db, x->trial_id, err);
    if (x->trial_id)
        return store_run_deletion_failed(db, x->trial_id, error_msg(&x->failed), err);
    if (!x->goes_on && store_experiment_set_state(db, x->experiment_id, run_state_name(RUN_DELETE_FAILED), 0, err) < 0)
        return -1;
    const char *reason = arena_printf(&a, "experiment %d could not be deleted: %s", x->experiment_id,
                                      error_msg(&x->failed));
    return store_workspace_deletions_fail(db, x->experiment_id, reason, err);
}

static void marked_failed(void *job, const struct error *err)
{
    struct deletion *x = job;
    if (err)
        log_warning("experiment.delete_mark_failed", "exp=%d reason=%s", x->experiment_id, log_quote(error_msg(err)));
    finish_deletion(x);
}

static void fail_deletion(struct deletion *x, const struct error *err)
{
    log_warning("experiment.delete_failed", "exp=%d trial=%d reason=%s", x->experiment_id, x->trial_id,
                log_quote(error_msg(err)));
    error_copy(&x->failed, err);
    struct writer_job job = {mark_failed, marked_failed, x};
    writer_submit(x->of->m->writer, &job, 1);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static int delete_part(struct store *db, void *job, struct error *err)
{
    struct deletion *x = job;
    return store_experiment_delete_part(db, x->experiment_id, x->trial_id, ROWS_PER_JOB, &x->more, err);
}

static void part_deleted(void *job, const struct error *err);

static void delete_rows(struct deletion *x)
{
    struct writer_job job = {delete_part, part_deleted, x};
    writer_submit(x->of->m->writer, &job, 1);
}

static void part_deleted(void *job, const struct error *err)
{
    struct deletion *x = job;
    if (err) {
        fail_deletion(x, err);
    } else if (x->more && !x->of->m->draining) {
        delete_rows(x);
    } else {
        if (!x->more)
            log_info("experiment.deleted", "exp=%d trial=%d", x->experiment_id, x->trial_id);
        finish_deletion(x);
    }
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

/* Fails if the experiment was continued after its deletion had been requested. */
static int check_state(struct store *db, struct deletion *x, struct error *err)
{
    struct store_experiment_brief now;
    if (store_experiment_brief(db, x->experiment_id, &now, err) < 0)
        return -1;
    x->goes_on = x->trial_id ? !run_state_is_over(now.state) : now.state != RUN_DELETING;
    return x->goes_on ? error_set(err, ERR_PRECONDITION, "experiment %d goes on", x->experiment_id) : 0;
}

static int mark_files(struct store *db, void *job, struct error *err)
{
    struct deletion *x = job;
    int64_t now_us = clock_now_us();
    if (x->pending) /* the files have been marked already */
        return 0;
    if (check_state(db, x, err) < 0)
        return -1;
    if (store_removal_add_all(db, x->experiment_id, x->trial_id, now_us, err) < 0)
        return -1;
    return x->trial_id ? 0 : store_tensorboard_removal_add(db, x->experiment_id, now_us, err);
}

/* Checks whether all files have been removed. Only the rows tell which files there are, so the rows stay as long as
 * there are files. */
static int check_files(struct store *db, void *job, struct error *err)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct deletion *x = job;
    const char *reason;
    int64_t n, pending;
    if (store_removals_pending(db, x->experiment_id, x->trial_id, clock_now_us(), &pending, err) < 0 ||
        store_experiment_checkpoint_count(db, x->experiment_id, x->trial_id, &n, err) < 0 ||
        store_removal_reason(db, x->experiment_id, x->trial_id, &a, &reason, err) < 0)
        return -1;
    x->pending = pending > 0;
    if (x->pending || (n == 0 && !reason))
        return 0;
    if (n == 0)
        return error_set(err, ERR_PRECONDITION, "the TensorBoard files of experiment %d could not be removed: %s",
                         x->experiment_id, reason);
    return error_set(err, ERR_PRECONDITION, "%s %d has %lld checkpoints whose files could not be removed: %s",
                     x->trial_id ? "run" : "experiment", x->trial_id ? x->trial_id : x->experiment_id, (long long)n,
                     reason ? reason : "a trial of another experiment starts from one");
}

static void step_aside(struct deletion *x)
{
    struct deletions *d = x->of;
    STAILQ_REMOVE_HEAD(&d->waiting, next);
    STAILQ_INSERT_TAIL(&d->aside, x, next);
    begin_next(d);
}

static void files_checked(void *job, const struct error *err)
{
    struct deletion *x = job;
    if (err)
        fail_deletion(x, err);
    else if (x->pending)
        step_aside(x);
    else
        delete_rows(x);
}

static void files_tried(void *ctx)
{
    struct deletion *x = ctx;
    struct writer_job job = {check_files, files_checked, x};
    writer_submit(x->of->m->writer, &job, 1);
}

static void files_marked(void *job, const struct error *err)
{
    struct deletion *x = job;
    if (err)
        fail_deletion(x, err);
    else
        collector_wake_then(x->of->m->collector, files_tried, x);
}

static void begin_deletion(struct deletion *x)
{
    struct writer_job job = {mark_files, files_marked, x};
    writer_submit(x->of->m->writer, &job, 1);
}

/* ------------------------------------------------------------------------------------------------------------------ */

struct deletions *deletions_new(struct master *m)
{
    struct deletions *d = must_calloc(1, sizeof(*d));
    d->m = m;
    STAILQ_INIT(&d->waiting);
    STAILQ_INIT(&d->aside);
    return d;
}

void deletions_free(struct deletions *d)
{
    if (!d)
        return;
    STAILQ_CONCAT(&d->waiting, &d->aside);
    while (!STAILQ_EMPTY(&d->waiting)) {
        struct deletion *x = STAILQ_FIRST(&d->waiting);
        STAILQ_REMOVE_HEAD(&d->waiting, next);
        error_release(&x->failed);
        free(x);
    }
    struct deletion_note *t, *next;
    HASH_ITER(hh, d->deletion_note, t, next) {
        HASH_DEL(d->deletion_note, t);
        free(t);
    }
    free(d);
}

static struct deletion_note *find_deletion_note(const struct deletions *d, int32_t experiment_id)
{
    struct deletion_note *t;
    HASH_FIND(hh, d->deletion_note, &experiment_id, sizeof(experiment_id), t);
    return t;
}

enum deletion_of deletions_of(const struct deletions *d, int32_t experiment_id)
{
    const struct deletion_note *t = find_deletion_note(d, experiment_id);
    return t ? t->of : DELETION_OF_NOTHING;
}

static void note_deletion(struct deletions *d, int32_t experiment_id, enum deletion_of of)
{
    struct deletion_note *t = find_deletion_note(d, experiment_id);
    if (!t) {
        t = must_calloc(1, sizeof(*t));
        t->experiment_id = experiment_id;
        HASH_ADD(hh, d->deletion_note, experiment_id, sizeof(t->experiment_id), t);
    }
    if (of > t->of)
        t->of = of;
}

void deletions_look_again(struct deletions *d)
{
    if (!d || STAILQ_EMPTY(&d->aside))
        return;
    bool idle = STAILQ_EMPTY(&d->waiting);
    STAILQ_CONCAT(&d->waiting, &d->aside);
    if (idle)
        begin_next(d);
}

static struct deletion *new_deletion(struct deletions *d, int32_t experiment_id, int32_t trial_id)
{
    struct deletion *x = must_calloc(1, sizeof(*x));
    *x = (struct deletion){.of = d, .experiment_id = experiment_id, .trial_id = trial_id};
    return x;
}

static void refusal_stored(void *job, const struct error *err)
{
    struct deletion *x = job;
    error_release(&x->failed);
    free(x);
}

/* Refuses the deletion of an experiment that was continued. If a project or a workspace is being deleted with it, or if
 * only a trial was deleted, the reason is stored there. The experiment's state stays as the continuation has written
 * it. */
static int refuse_deletion(struct deletions *d, int32_t experiment_id, int32_t trial_id, struct error *err)
{
    struct deletion *x = new_deletion(d, experiment_id, trial_id);
    x->goes_on = true;
    error_set(&x->failed, ERR_PRECONDITION,
              "experiment %d was continued at the same moment: it goes on, and nothing of it is "
              "deleted",
              experiment_id);
    error_copy(err, &x->failed);
    log_warning("experiment.delete_refused", "exp=%d trial=%d reason=goes_on", experiment_id, trial_id);
    struct writer_job job = {mark_failed, refusal_stored, x};
    writer_submit(d->m->writer, &job, 1);
    return -1;
}

int deletions_add(struct deletions *d, int32_t experiment_id, int32_t trial_id, struct error *err)
{
    struct core_experiment_view view;
    if (core_experiment(d->m->core, experiment_id, &view))
        return refuse_deletion(d, experiment_id, trial_id, err);
    struct deletion *x = new_deletion(d, experiment_id, trial_id);
    note_deletion(d, experiment_id, trial_id ? DELETION_OF_TRIALS : DELETION_OF_ALL);
    bool idle = STAILQ_EMPTY(&d->waiting);
    STAILQ_INSERT_TAIL(&d->waiting, x, next);
    if (idle)
        begin_deletion(x);
    return 0;
}
