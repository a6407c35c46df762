#include "api/accounts/password_lane.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "api/pipeline/internal.h"
#include "api/pipeline/request_run.h"
#include "common/base/must.h"
#include "net/loop/loop.h"

struct password_job {
    TAILQ_ENTRY(password_job) of_list; /* of those that wait, or of those that have a thread */
    struct password_lane *lane;
    struct req *r;
    bool has_thread;
    struct password_turn turn;
    uint64_t round;   /* which turn of its key this is; turns are counted from the one that is being served */
    uint64_t number;  /* the order of arrival */
    struct error err; /* error of the work */
    int rc;
};

struct password_lane {
    TAILQ_HEAD(password_jobs, password_job) waiting, running; /* in the order of their arrival */
    int n, running_n, threads;
    uint64_t round, number;
    bool open;
};

struct password_lane *password_lane_new(int threads)
{
    struct password_lane *lane = must_calloc(1, sizeof(*lane));
    TAILQ_INIT(&lane->waiting);
    TAILQ_INIT(&lane->running);
    lane->threads = threads;
    return lane;
}

void password_lane_free(struct password_lane *lane)
{
    free(lane);
}

int password_lane_waiting(const struct password_lane *lane)
{
    return lane->n;
}

static struct password_lane *lane_of(const struct req *r)
{
    return r->run->password->lane;
}

/* ---- the order of the queue -------------------------------------------------------------------------------------- */

/* Requests of equal rank are served in the order of their arrival. When more than half of the queue is taken, the
 * newest is served first: otherwise a crowd that has filled the queue would delay everybody who comes after it. The
 * members of the crowd lose their rank once they have tried a few times. */
static bool comes_before(const struct password_lane *lane, const struct password_job *a, const struct password_job *b)
{
    if (a->turn.standing != b->turn.standing)
        return a->turn.standing < b->turn.standing;
    if (a->round != b->round)
        return a->round < b->round;
    return lane->n > PASSWORD_WAITING_MAX / 2 ? a->number > b->number : a->number < b->number;
}

static struct password_job *first_of(const struct password_lane *lane)
{
    struct password_job *best = TAILQ_FIRST(&lane->waiting), *j;
    TAILQ_FOREACH(j, &lane->waiting, of_list)
        if (comes_before(lane, j, best))
            best = j;
    return best;
}

static struct password_job *last_of(const struct password_lane *lane)
{
    struct password_job *worst = TAILQ_FIRST(&lane->waiting), *j;
    TAILQ_FOREACH(j, &lane->waiting, of_list)
        if (comes_before(lane, worst, j))
            worst = j;
    return worst;
}

static uint64_t round_for(const struct password_lane *lane, const uint8_t key[16])
{
    uint64_t round = lane->round;
    const struct password_job *j;
    TAILQ_FOREACH(j, &lane->waiting, of_list)
        if (memcmp(j->turn.key, key, sizeof(j->turn.key)) == 0 && j->round >= round)
            round = j->round + 1;
    TAILQ_FOREACH(j, &lane->running, of_list)
        if (memcmp(j->turn.key, key, sizeof(j->turn.key)) == 0 && round == lane->round)
            round++;
    return round;
}

/* ---- a request's stages ------------------------------------------------------------------------------------------ */

static void leave_queue(struct password_lane *lane, struct password_job *j)
{
    TAILQ_REMOVE(&lane->waiting, j, of_list);
    lane->n--;
}

static int on_thread(struct req *r, struct store *db, struct error *err);
static int on_asking_thread(struct req *r, struct error *err);

static struct req_step take_thread(struct password_lane *lane, struct password_job *j)
{
    TAILQ_INSERT_TAIL(&lane->running, j, of_list);
    lane->running_n++;
    j->has_thread = true;
    return j->turn.ask ? (struct req_step){REQ_DIRECTORY, .work = on_asking_thread}
                       : (struct req_step){REQ_PASSWORD, .store = on_thread};
}

static void serve_next(struct password_lane *lane)
{
    while (lane->open && lane->running_n < lane->threads && lane->n > 0) {
        struct password_job *j = first_of(lane);
        struct req *r = j->r;
        cleanup_error struct error err = ERROR_INIT;
        leave_queue(lane, j);
        if (j->turn.before && j->turn.before(r, &err) < 0) {
            req_finish(r, &err);
            continue;
        }
        if (j->round > lane->round)
            lane->round = j->round;
        req_resume(r, take_thread(lane, j));
    }
}

static void release_thread(struct password_job *j)
{
    TAILQ_REMOVE(&j->lane->running, j, of_list);
    j->lane->running_n--;
    j->has_thread = false;
    serve_next(j->lane);
}

/* The request is over. Usually the thread has been given to the next request long before; it has not if this request
 * never reached the thread. */
static void on_end(struct req *r)
{
    struct password_job *j = r->run->password;
    error_release(&j->err);
    if (j->has_thread)
        release_thread(j);
}

/* Runs on the loop after the work. The next request gets its turn only after the outcome of this one is known: the
 * outcome may be a reason to refuse the next. */
static int off_thread(struct req *r, struct core *core, struct error *err)
{
    struct password_job *j = r->run->password;
    int rc = j->rc;
    if (rc < 0)
        error_move(err, &j->err);
    else
        rc = j->turn.after(r, core, err);
    release_thread(j);
    return rc;
}

/* Runs the work. It returns success in any case, because the loop must continue with the next request; the error is
 * kept in the job. */
static int on_thread(struct req *r, struct store *db, struct error *err)
{
    struct password_job *j = r->run->password;
    j->rc = j->turn.work(r, db, &j->err);
    return req_then_loop(r, off_thread);
}

static int on_asking_thread(struct req *r, struct error *err)
{
    struct password_job *j = r->run->password;
    j->rc = j->turn.ask(r, &j->err);
    return req_then_loop(r, off_thread);
}

static void on_gone(struct req *r)
{
    leave_queue(lane_of(r), r->run->password);
}

static int too_many(struct error *err)
{
    return error_set(err, ERR_UNAVAILABLE, "too many logins wait to be checked; try again in a moment");
}

/* If the queue is full, refuses the request in it that would be served last, if that would be served after j. An
 * error: there is no room for j. */
static int make_room(struct password_lane *lane, const struct password_job *j, struct error *err)
{
    if (lane->n < PASSWORD_WAITING_MAX)
        return 0;
    struct password_job *worst = last_of(lane);
    if (!comes_before(lane, j, worst))
        return too_many(err);
    cleanup_error struct error refused = ERROR_INIT;
    too_many(&refused);
    leave_queue(lane, worst);
    req_finish(worst->r, &refused);
    return 0;
}

int password_lane_enter(struct password_lane *lane, struct req *r, const struct password_turn *turn, struct error *err)
{
    loop_assert();
    struct password_job *j = arena_new(&r->arena, struct password_job);
    *j = (struct password_job){
        .lane = lane, .r = r, .turn = *turn, .round = round_for(lane, turn->key), .number = ++lane->number};
    if (make_room(lane, j, err) < 0)
        return -1;
    r->run->password = j;
    r->on_end = on_end;
    if (lane->open && lane->running_n < lane->threads && lane->n == 0)
        return req_go(r, take_thread(lane, j));
    TAILQ_INSERT_TAIL(&lane->waiting, j, of_list);
    lane->n++;
    return req_wait(r, on_gone);
}

int password_lane_run(struct req *r, req_store_fn *work, req_loop_fn *after, struct error *err)
{
    struct password_turn turn = {.standing = LOGIN_KNOWN, .work = work, .after = after};
    /* a user id does not clash with networks, which are hashes */
    memcpy(turn.key, &r->who.user_id, sizeof(r->who.user_id));
    return password_lane_enter(r->api->password_lane, r, &turn, err);
}

void password_lane_open(struct password_lane *lane)
{
    lane->open = true;
    serve_next(lane);
}
