#include "core/sched/levels.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/must.h"

#define COMPARE(x, y) \
    do { \
        if ((x) != (y)) \
            return (x) < (y) ? -1 : 1; \
    } while (0)

int sched_job_compare(const struct sched_job *a, const struct sched_job *b)
{
    if (!a->by_age) {
        COMPARE(a->priority, b->priority);
        COMPARE(a->queue_position, b->queue_position);
    }
    COMPARE(a->submitted_us, b->submitted_us);
    return strcmp(a->job_id, b->job_id);
}

int sched_request_compare(const struct sched_request *a, const struct sched_request *b)
{
    COMPARE(a->priority, b->priority);
    if (a->priority != 0) /* with fair share the priority is 0, and the queue has no order of its own */
        COMPARE(a->job->queue_position, b->job->queue_position);
    COMPARE(a->job->submitted_us, b->job->submitted_us);
    COMPARE(a->request_us, b->request_us);
    return strcmp(a->allocation_id, b->allocation_id);
}

RB_GENERATE(sched_requests, sched_request, turn, sched_request_compare)

/* ---- levels ------------------------------------------------------------------------------------------------------ */

void level_init(struct sched_level *l, const struct sched_opts *opts)
{
    *l = (struct sched_level){.opts = opts, .running = RB_INITIALIZER(&l->running)};
}

void level_free(struct sched_level *l)
{
    HASH_CLEAR(hh, l->by_key);
    while (l->first) {
        struct sched_shape *shape = l->first;
        l->first = shape->next;
        free(shape);
    }
}

static struct sched_shape *shape_of(struct sched_level *l, const struct sched_request *r)
{
    struct shape_key key;
    struct sched_shape *shape = NULL;
    memset(&key, 0, sizeof(key)); /* the hash includes the padding, so it has to be zero */
    key.fit.slots = r->slots;
    key.fit.single_agent = r->single_agent;
    key.quotas = r->slots > 0 ? r->job->quotas : NULL;
    if (l->opts->allow_heterogeneous_fits && r->slots > 1 && !r->single_agent)
        key.fit.own = r;
    else if (r->blocked_n > 0)
        key.fit.own = r->blocked_agent;
    HASH_FIND(hh, l->by_key, &key, sizeof(key), shape);
    if (shape)
        return shape;
    shape = must_calloc(1, sizeof(*shape));
    shape->key = key;
    RB_INIT(&shape->pending);
    HASH_ADD(hh, l->by_key, key, sizeof(shape->key), shape);
    shape->next = l->first;
    l->first = shape;
    l->shape_n++;
    return shape;
}

/* Frees a shape that has no requests any more. This must not wait, because its key may be the address of its last
 * request, and another request may get that address later. */
static void drop_if_empty(struct sched_level *l, struct sched_shape *shape)
{
    if (shape->n > 0)
        return;
    struct sched_shape **at = &l->first;
    while (*at != shape)
        at = &(*at)->next;
    *at = shape->next;
    HASH_DELETE(hh, l->by_key, shape);
    l->shape_n--;
    free(shape);
}

static bool is_victim(const struct sched_request *r)
{
    return r->state == SCHED_ALLOCATED && r->preemptible;
}

void level_add(struct sched_level *l, struct sched_request *r)
{
    if (is_victim(r))
        RB_INSERT(sched_requests, &l->running, r);
    if (r->state != SCHED_PENDING)
        return;
    r->shape = shape_of(l, r);
    r->shape->n++;
    l->pending_n++;
    RB_INSERT(sched_requests, &r->shape->pending, r);
}

void level_remove(struct sched_level *l, struct sched_request *r)
{
    if (is_victim(r))
        RB_REMOVE(sched_requests, &l->running, r);
    if (r->state != SCHED_PENDING)
        return;
    RB_REMOVE(sched_requests, &r->shape->pending, r);
    r->shape->n--;
    l->pending_n--;
    drop_if_empty(l, r->shape);
    r->shape = NULL;
}

/* ---- walks ------------------------------------------------------------------------------------------------------- */

static bool cursor_is_before(const struct cursor *a, const struct cursor *b)
{
    return sched_request_compare(a->next, b->next) < 0;
}

static void swap_cursors(struct cursor *a, struct cursor *b)
{
    struct cursor c = *a;
    *a = *b;
    *b = c;
}

void walk_init(struct walk *w, size_t shape_n, struct arena *a)
{
    *w = (struct walk){.heap = arena_array(a, struct cursor, shape_n + 1)};
}

void walk_start(struct walk *w, struct sched_level *l, struct arena *a)
{
    walk_init(w, l->shape_n, a);
    for (struct sched_shape *shape = l->first; shape; shape = shape->next)
        walk_push(w, (struct cursor){shape, RB_MIN(sched_requests, &shape->pending)});
}

void walk_push(struct walk *w, struct cursor c)
{
    if (!c.next)
        return;
    size_t i = w->n++;
    w->heap[i] = c;
    for (; i > 0 && cursor_is_before(&w->heap[i], &w->heap[(i - 1) / 2]); i = (i - 1) / 2)
        swap_cursors(&w->heap[i], &w->heap[(i - 1) / 2]);
}

bool walk_pop(struct walk *w, struct cursor *ret)
{
    if (w->n == 0)
        return false;
    *ret = w->heap[0];
    w->heap[0] = w->heap[--w->n];
    for (size_t i = 0, child; (child = 2 * i + 1) < w->n; i = child) {
        if (child + 1 < w->n && cursor_is_before(&w->heap[child + 1], &w->heap[child]))
            child++;
        if (!cursor_is_before(&w->heap[child], &w->heap[i]))
            break;
        swap_cursors(&w->heap[i], &w->heap[child]);
    }
    return true;
}

struct cursor cursor_after(const struct cursor *c)
{
    return (struct cursor){c->shape, RB_NEXT(sched_requests, &c->shape->pending, c->next)};
}

struct cursor cursor_behind(struct sched_shape *shape, struct sched_request *r)
{
    struct sched_request *next = RB_NFIND(sched_requests, &shape->pending, r);
    if (next == r)
        next = RB_NEXT(sched_requests, &shape->pending, next);
    return (struct cursor){shape, next};
}
