#include "core/state/timers.h"

#include <stdbool.h>
#include <stdlib.h>

#include "common/base/must.h"

static bool is_earlier(const struct timer *a, const struct timer *b)
{
    return a->due_us != b->due_us ? a->due_us < b->due_us : a->order < b->order;
}

static void put_at(struct timers *ts, size_t place, struct timer *t)
{
    ts->heap[place - 1] = t;
    t->place = place;
}

static void sift_up(struct timers *ts, struct timer *t)
{
    size_t place = t->place;
    for (; place > 1 && is_earlier(t, ts->heap[place / 2 - 1]); place /= 2)
        put_at(ts, place, ts->heap[place / 2 - 1]);
    put_at(ts, place, t);
}

static void sift_down(struct timers *ts, struct timer *t)
{
    size_t place = t->place;
    for (size_t child; (child = 2 * place) <= ts->n; place = child) {
        if (child < ts->n && is_earlier(ts->heap[child], ts->heap[child - 1]))
            child++;
        if (!is_earlier(ts->heap[child - 1], t))
            break;
        put_at(ts, place, ts->heap[child - 1]);
    }
    put_at(ts, place, t);
}

static void append_timer(struct timers *ts, struct timer *t)
{
    if (ts->n == ts->cap) {
        ts->cap = ts->cap ? 2 * ts->cap : 16;
        ts->heap = must_realloc(ts->heap, ts->cap * sizeof(struct timer *));
    }
    put_at(ts, ++ts->n, t);
}

void timer_set(struct timers *ts, struct timer *t, enum timer_kind kind, int64_t due_us)
{
    timer_clear(ts, t);
    t->kind = kind;
    t->due_us = due_us;
    t->order = ++ts->order;
    append_timer(ts, t);
    sift_up(ts, t);
}

void timer_clear(struct timers *ts, struct timer *t)
{
    if (t->place == 0)
        return;
    struct timer *last = ts->heap[--ts->n];
    if (last != t) {
        put_at(ts, t->place, last);
        sift_up(ts, last);
        sift_down(ts, last);
    }
    t->place = 0;
}

int64_t timers_next_us(const struct timers *ts)
{
    return ts->n > 0 ? ts->heap[0]->due_us : 0;
}

struct timer *timers_take_due(struct timers *ts, int64_t now_us)
{
    if (ts->n == 0 || ts->heap[0]->due_us > now_us)
        return NULL;
    struct timer *t = ts->heap[0];
    timer_clear(ts, t);
    return t;
}

void timers_shift(struct timers *ts, int64_t by_us)
{
    for (size_t i = 0; i < ts->n; i++)
        ts->heap[i]->due_us += by_us;
}

void timers_release(struct timers *ts)
{
    free(ts->heap);
    *ts = (struct timers){0};
}
