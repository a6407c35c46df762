/* Scheduling by priority.
 *
 * Level by level, the most important first, requests are served in the order of their turns. One that does not fit lets
 * others of its priority pass, and makes everything below wait; with preemption, what can be stopped again may fill the
 * gaps (backfilling). With preemption, a request that does not fit may have less important ones stopped, the least
 * important and latest first, but only as many as make it fit, and none if it would not fit even so. It is placed in a
 * later pass, when the room is there; until then nothing else gets it. */
#include "core/sched/internal.h"

/* ---- requests that fit ------------------------------------------------------------------------------------------- */

static bool may_place(const struct pass *p, const struct sched_request *r)
{
    return !p->releasing && (!p->backfilling || r->preemptible);
}

/* Would it fit once everything is gone that is on its way out? */
static size_t fit_after_leaving(struct sched *s, const struct sched_request *r)
{
    struct sched_request *leaving;
    TAILQ_FOREACH(leaving, &s->releasing, in_releasing)
        if ((leaving->slots > 0) == (r->slots > 0))
            places_give(&s->places, leaving->share, leaving->share_n);
    return places_fit(&s->places, r, s->share);
}

/* What leaves may be what a gang needs: then others of its priority must not take it piece by piece, least of all those that
 * had to leave for it. Places may be owed afterwards: their agents have less than nothing. */
static size_t fit_into_what_leaves(struct pass *p, const struct sched_request *r)
{
    struct sched *s = p->s;
    size_t mark = places_mark(&s->places);
    if (!s->opts.preemption || p->releasing || r->slots <= 1 || s->releasing_n[1] == 0 || s->releasing_n[1] > SCHED_LEAVING_MAX)
        return 0;
    if (p->kept_n >= SCHED_KEPT_MAX || pass_is_too_large(p, r->shape))
        return 0;
    size_t n = fit_after_leaving(s, r);
    places_undo(&s->places, mark);
    if (n == 0)
        shape_set_add(&p->too_large, r->shape);
    p->kept_n += n > 0;
    return n;
}

/* Serves the level's requests in turn. What fits is placed, or has its place kept; of each shape that does not fit, its
 * first such request is in ret_failed. */
static void place_in_turn(struct pass *p, struct sched_level *l, struct walk *ret_failed)
{
    struct sched *s = p->s;
    struct walk walk;
    struct cursor c;
    walk_init(ret_failed, l->shape_n, p->arena);
    walk_start(&walk, l, p->arena);
    while (walk_pop(&walk, &c)) {
        size_t now = shape_set_has(&p->unfit, c.shape) ? 0 : places_fit(&s->places, c.next, s->share);
        size_t n = now > 0 ? now : fit_into_what_leaves(p, c.next);
        if (now == 0)
            shape_set_add(&p->unfit, c.shape);
        if (n == 0) {
            walk_push(ret_failed, c);
            continue;
        }
        places_take(&s->places, s->share, n);
        if (now > 0 && may_place(p, c.next))
            pass_allocate(p, c.next, s->share, n);
        walk_push(&walk, cursor_after(&c));
    }
}

/* ---- and those that do not --------------------------------------------------------------------------------------- */

struct victims {
    struct sched_request **item;
    size_t n, cap;
};

static void add_victim(struct victims *v, struct sched_request *r, struct arena *a)
{
    if (v->n == v->cap) {
        size_t cap = v->cap == 0 ? 16 : 2 * v->cap;
        struct sched_request **item = arena_array(a, struct sched_request *, cap);
        for (size_t i = 0; i < v->n; i++)
            item[i] = v->item[i];
        v->item = item;
        v->cap = cap;
    }
    v->item[v->n++] = r;
}

/* Takes from one level, the latest first, until it fits. Of its own priority only what stands behind it in the queue. */
static size_t fit_after_stopping(struct pass *p, const struct sched_request *r, int priority, struct victims *v)
{
    struct sched *s = p->s;
    struct sched_request *victim;
    RB_FOREACH_REVERSE(victim, sched_requests, &sched_level_of(s, r, priority)->running) {
        if (priority == r->priority && victim->group->queue_position <= r->group->queue_position)
            break;
        if (victim->released_in == s->pass)
            continue;
        add_victim(v, victim, p->arena);
        places_give(&s->places, victim->share, victim->share_n);
        size_t n = places_fit(&s->places, r, s->share);
        if (n > 0)
            return n;
    }
    return 0;
}

/* Keeps room for a request that does not fit now, by counting on what leaves, or will have to. 0: nothing helps, and
 * nothing has changed. */
static size_t make_room(struct pass *p, const struct sched_request *r)
{
    struct sched *s = p->s;
    struct victims victims = {0};
    size_t mark = places_mark(&s->places);
    if (!places_could_fit(&s->places, r) || pass_is_hopeless(p, r->shape))
        return 0;
    size_t n = TAILQ_EMPTY(&s->releasing) || p->releasing ? 0 : fit_after_leaving(s, r);
    for (int priority = SCHED_PRIORITY_MAX; n == 0 && priority >= r->priority; priority--)
        n = fit_after_stopping(p, r, priority, &victims);
    if (n == 0) {
        places_undo(&s->places, mark);
        pass_note_hopeless(p, r->shape);
        return 0;
    }
    pass_forget_hopeless(p); /* there is more room than there was */
    for (size_t i = 0; i < victims.n; i++)
        pass_release(p, victims.item[i]);
    p->releasing = true;
    return n;
}

/* Stopping something may leave more room than it was stopped for: then the shapes that failed before are looked at again,
 * from the request after this one on. */
static void preempt_in_turn(struct pass *p, struct sched_level *l, struct walk *failed)
{
    struct sched *s = p->s;
    struct sched_shape **given_up = arena_array(p->arena, struct sched_shape *, l->shape_n);
    size_t given_up_n = 0;
    struct cursor c;
    while (walk_pop(failed, &c)) {
        size_t n = places_fit(&s->places, c.next, s->share);
        bool fits = n > 0;
        if (!fits)
            n = make_room(p, c.next);
        if (n == 0) {
            given_up[given_up_n++] = c.shape;
            continue;
        }
        places_take(&s->places, s->share, n);
        while (!fits && given_up_n > 0)
            walk_push(failed, cursor_behind(given_up[--given_up_n], c.next));
        walk_push(failed, cursor_after(&c));
    }
}

/* ---- the pass ---------------------------------------------------------------------------------------------------- */

/* Requests with and without slots never stand in each other's way. */
static void serve(struct pass *p, struct sched_level *level)
{
    p->backfilling = p->releasing = false;
    p->too_large.n = p->unfit.n = 0;
    p->saw_what_leaves = false;
    p->kept_n = 0;
    pass_forget_hopeless(p);
    for (int priority = SCHED_PRIORITY_MIN; priority <= SCHED_PRIORITY_MAX; priority++) {
        struct walk failed;
        if (level[priority].pending_n == 0)
            continue;
        place_in_turn(p, &level[priority], &failed);
        if (failed.n == 0)
            continue;
        p->backfilling = true;
        if (!p->s->opts.preemption)
            break;
        preempt_in_turn(p, &level[priority], &failed);
    }
    places_undo(&p->s->places, 0);
}

void sched_by_priority(struct pass *p)
{
    serve(p, p->s->with_slots);
    serve(p, p->s->without);
}
