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
    COMPARE(a->priority, b->priority); /* with fair share it is 0, and the queue has no order of its own */
    COMPARE(a->position, b->position);
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

static int by_first_turn(const struct sched_shape *a, const struct sched_shape *b)
{
    return sched_request_compare(a->first, b->first);
}

RB_GENERATE_STATIC(sched_shapes, sched_shape, in_turn, by_first_turn)

void level_free(struct sched_level *l)
{
    struct sched_shape *shape, *next_shape;
    struct sched_group *group, *next_group;
    HASH_ITER(hh, l->by_key, shape, next_shape) {
        HASH_DEL(l->by_key, shape);
        free(shape);
    }
    HASH_ITER(hh, l->by_fit, group, next_group) {
        HASH_DEL(l->by_fit, group);
        free(group);
    }
}

/* ---- groups and shapes ------------------------------------------------------------------------------------------- */

static struct sched_group *group_of(struct sched_level *l, const struct shape_fit *fit)
{
    struct sched_group *group = NULL;
    HASH_FIND(hh, l->by_fit, fit, sizeof(*fit), group);
    if (group)
        return group;
    group = must_calloc(1, sizeof(*group));
    memcpy(&group->fit, fit, sizeof(*fit)); /* with its padding, which the hash includes */
    HASH_ADD(hh, l->by_fit, fit, sizeof(group->fit), group);
    LIST_INSERT_HEAD(&l->groups, group, in_level);
    l->group_n++;
    return group;
}

/* By what was left of its quotas when they were last settled. */
static enum sched_allowed what_is_allowed(const struct sched_shape *shape)
{
    const struct sched_quotas *q = shape->key.quotas;
    enum sched_allowed allowed = ALLOWED_AS_OWN;
    for (size_t i = 0; q && i < q->n; i++) {
        if (shape->key.fit.slots > q->quota[i]->limit_left)
            return NOT_ALLOWED;
        if (shape->key.fit.slots > q->quota[i]->own_left)
            allowed = ALLOWED_TO_BORROW;
    }
    return allowed;
}

static void enter_order(struct sched_shape *shape)
{
    RB_INSERT(sched_shapes, &shape->group->allowed[shape->allowed], shape);
    shape->group->moves++;
}

static void leave_order(struct sched_shape *shape)
{
    RB_REMOVE(sched_shapes, &shape->group->allowed[shape->allowed], shape);
    shape->group->moves++;
}

void shape_settle(struct sched_shape *shape, const struct sched_moment *now)
{
    enum sched_allowed allowed = what_is_allowed(shape);
    if (allowed == shape->allowed)
        return;
    if (shape->allowed == ALLOWED_AS_OWN)
        shape->lost = *now;
    leave_order(shape);
    shape->allowed = allowed;
    enter_order(shape);
}

static struct sched_shape *shape_of(struct sched_level *l, const struct sched_request *r)
{
    struct shape_key key;
    struct sched_shape *shape = NULL;
    memset(&key, 0, sizeof(key)); /* the hash includes the padding, so it has to be zero */
    key.fit.slots = r->slots;
    key.fit.single_agent = r->single_agent;
    key.fit.needs = r->needs;
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
    shape->group = group_of(l, &key.fit);
    LIST_INSERT_HEAD(&shape->group->shapes, shape, in_group);
    quotas_watch(key.quotas, shape);
    shape->allowed = what_is_allowed(shape);
    return shape;
}

/* Frees a shape that has no requests any more. This must not wait, because its key may be the address of its last
 * request, and another request may get that address later. */
static void drop_if_empty(struct sched_level *l, struct sched_shape *shape)
{
    struct sched_group *group = shape->group;
    if (shape->n > 0)
        return;
    quotas_unwatch(shape->key.quotas, shape);
    HASH_DELETE(hh, l->by_key, shape);
    LIST_REMOVE(shape, in_group);
    free(shape);
    if (!LIST_EMPTY(&group->shapes))
        return;
    HASH_DELETE(hh, l->by_fit, group);
    LIST_REMOVE(group, in_level);
    l->group_n--;
    free(group);
}

static void shape_set_first(struct sched_shape *shape, struct sched_request *first)
{
    if (shape->first)
        leave_order(shape);
    shape->first = first;
    if (first)
        enter_order(shape);
}

static void shape_add(struct sched_shape *shape, struct sched_request *r)
{
    shape->n++;
    RB_INSERT(sched_requests, &shape->pending, r);
    if (!shape->first || sched_request_compare(r, shape->first) < 0)
        shape_set_first(shape, r);
}

static void shape_remove(struct sched_shape *shape, struct sched_request *r)
{
    if (shape->first == r)
        shape_set_first(shape, RB_NEXT(sched_requests, &shape->pending, r));
    RB_REMOVE(sched_requests, &shape->pending, r);
    shape->n--;
}

struct sched_request *group_first(struct sched_group *group)
{
    struct sched_shape *own = RB_MIN(sched_shapes, &group->allowed[ALLOWED_AS_OWN]),
                       *borrows = RB_MIN(sched_shapes, &group->allowed[ALLOWED_TO_BORROW]);
    if (!own || (borrows && by_first_turn(borrows, own) < 0))
        own = borrows;
    return own ? own->first : NULL;
}

/* ---- requests ---------------------------------------------------------------------------------------------------- */

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
    l->pending_n++;
    shape_add(r->shape, r);
}

void level_remove(struct sched_level *l, struct sched_request *r)
{
    if (is_victim(r))
        RB_REMOVE(sched_requests, &l->running, r);
    if (r->state != SCHED_PENDING)
        return;
    shape_remove(r->shape, r);
    l->pending_n--;
    drop_if_empty(l, r->shape);
    r->shape = NULL;
}

/* ---- a heap ------------------------------------------------------------------------------------------------------ */

static bool item_is_before(const struct heap_item *a, const struct heap_item *b)
{
    return sched_request_compare(a->next, b->next) < 0;
}

static void swap_items(struct heap_item *a, struct heap_item *b)
{
    struct heap_item item = *a;
    *a = *b;
    *b = item;
}

static void heap_push(struct heap *h, struct sched_request *next, void *in, struct arena *a)
{
    if (h->n == h->cap) {
        size_t cap = h->cap == 0 ? 4 : 2 * h->cap;
        struct heap_item *more = arena_array(a, struct heap_item, cap);
        for (size_t i = 0; i < h->n; i++)
            more[i] = h->item[i];
        h->item = more;
        h->cap = cap;
    }
    size_t i = h->n++;
    h->item[i] = (struct heap_item){next, in};
    for (; i > 0 && item_is_before(&h->item[i], &h->item[(i - 1) / 2]); i = (i - 1) / 2)
        swap_items(&h->item[i], &h->item[(i - 1) / 2]);
}

/* Puts the first item where it belongs after its request has become another, or takes it out if that is NULL. */
static void heap_set_first(struct heap *h, struct sched_request *next)
{
    h->item[0].next = next;
    if (!next)
        h->item[0] = h->item[--h->n];
    for (size_t i = 0, child; (child = 2 * i + 1) < h->n; i = child) {
        if (child + 1 < h->n && item_is_before(&h->item[child + 1], &h->item[child]))
            child++;
        if (!item_is_before(&h->item[child], &h->item[i]))
            break;
        swap_items(&h->item[i], &h->item[child]);
    }
}

/* ---- lines ------------------------------------------------------------------------------------------------------- */

static struct sched_shape *find_next_shape(struct line *line)
{
    struct sched_shapes *shapes = &line->group->allowed[line->allowed];
    if (!line->last)
        return RB_MIN(sched_shapes, shapes);
    struct sched_shape key = {.first = (struct sched_request *)line->last};
    struct sched_shape *next = RB_NFIND(sched_shapes, shapes, &key);
    return next && next->first == line->last ? RB_NEXT(sched_shapes, shapes, next) : next;
}

/* Returns whether the request of a shape that would have to borrow was refused in its turn as its quotas' own: its
 * quotas still allowed it then, but it did not fit. Such a request is not tried again as one that borrows. */
static bool was_refused_as_own(const struct sched_shape *shape, const struct sched_request *r,
                               const struct sched_moment *now)
{
    if (shape->lost.pass != now->pass || shape->lost.rank != r->priority)
        return shape->lost.pass == now->pass && shape->lost.rank > r->priority;
    return shape->lost.after_all || sched_request_compare(shape->lost.turn, r) > 0;
}

static void open_shape(struct line *line, struct sched_shape *shape)
{
    struct sched_request *r = shape->at_in == line->now->pass ? shape->at : shape->first;
    line->last = shape->first;
    line->next_shape = RB_NEXT(sched_shapes, &line->group->allowed[line->allowed], shape);
    if (r && !(line->allowed == ALLOWED_TO_BORROW && was_refused_as_own(shape, r, line->now)))
        heap_push(&line->opened, r, shape, line->arena);
}

static struct sched_request *first_behind(struct sched_shape *shape, struct sched_request *r)
{
    struct sched_request *next = RB_NFIND(sched_requests, &shape->pending, r);
    return next == r ? RB_NEXT(sched_requests, &shape->pending, next) : next;
}

struct sched_request *line_next(struct line *line)
{
    struct heap *h = &line->opened;
    for (;;) {
        struct sched_shape *shape = h->n > 0 ? h->item[0].in : NULL;
        if (shape && shape->allowed != line->allowed) {
            heap_set_first(h, NULL); /* what the pass has planned since has used up its quotas */
            continue;
        }
        if (shape && line->behind && sched_request_compare(h->item[0].next, line->behind) <= 0) {
            heap_set_first(h, first_behind(shape, line->behind));
            continue;
        }
        if (line->moves != line->group->moves)
            line->next_shape = find_next_shape(line);
        line->moves = line->group->moves;
        if (!line->next_shape || (shape && sched_request_compare(h->item[0].next, line->next_shape->first) < 0))
            return shape ? h->item[0].next : NULL;
        open_shape(line, line->next_shape);
    }
}

void line_advance(struct line *line)
{
    struct sched_request *r = line_next(line);
    struct sched_shape *shape = line->opened.item[0].in;
    shape->at = RB_NEXT(sched_requests, &shape->pending, r);
    shape->at_in = line->now->pass;
    heap_set_first(&line->opened, shape->at);
}

void line_skip_to_behind(struct line *line, struct sched_request *r)
{
    line->behind = r;
}

/* ---- walks ------------------------------------------------------------------------------------------------------- */

void walk_init(struct walk *w, struct arena *a)
{
    *w = (struct walk){.arena = a};
}

void walk_start(struct walk *w, struct sched_level *l, enum sched_allowed allowed, const struct sched_moment *now,
                struct arena *a)
{
    struct sched_group *group;
    walk_init(w, a);
    LIST_FOREACH(group, &l->groups, in_level) {
        if (RB_EMPTY(&group->allowed[allowed]))
            continue;
        struct line *line = arena_new(a, struct line);
        *line = (struct line){.group = group, .allowed = allowed, .now = now, .arena = a, .moves = group->moves};
        line->next_shape = RB_MIN(sched_shapes, &group->allowed[allowed]);
        walk_push(w, line);
    }
}

void walk_push(struct walk *w, struct line *line)
{
    struct sched_request *next = line_next(line);
    if (next)
        heap_push(&w->lines, next, line, w->arena);
}

struct line *walk_pop(struct walk *w)
{
    while (w->lines.n > 0) {
        struct heap_item first = w->lines.item[0];
        struct sched_request *next = line_next(first.in);
        heap_set_first(&w->lines, next == first.next ? NULL : next);
        if (next == first.next)
            return first.in;
    }
    return NULL;
}
