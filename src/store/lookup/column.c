#include "store/lookup/column.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/must.h"
#include "common/base/number.h"

static void empty(struct column *c, size_t from, size_t to)
{
    for (size_t i = from; c->number && i < to; i++)
        c->number[i] = NAN;
    if (c->text)
        memset(c->text + from, 0, (to - from) * sizeof(*c->text));
}

static void reserve_cells(struct column *c, size_t n)
{
    if (n <= c->cap)
        return;
    c->cap = n > c->cap + c->cap / 2 ? n + 16 : c->cap + c->cap / 2;
    if (c->number)
        c->number = must_reallocarray(c->number, c->cap, sizeof(*c->number));
    if (c->text)
        c->text = must_reallocarray(c->text, c->cap, sizeof(*c->text));
}

/* Returns the index of the row in the column's arrays, and grows the arrays if they do not reach it. */
static size_t room_for(struct column *c, size_t row)
{
    if (c->n == 0)
        c->first = row;
    if (row < c->first) {
        size_t more = c->first - row;
        reserve_cells(c, c->n + more);
        if (c->number)
            memmove(c->number + more, c->number, c->n * sizeof(*c->number));
        if (c->text)
            memmove(c->text + more, c->text, c->n * sizeof(*c->text));
        c->first = row;
        c->n += more;
        empty(c, 0, more);
    }
    size_t at = row - c->first;
    if (at >= c->n) {
        reserve_cells(c, at + 1);
        empty(c, c->n, at + 1);
        c->n = at + 1;
    }
    return at;
}

static void set_text(struct column *c, size_t at, const char *text, size_t n)
{
    if (!c->text) {
        c->text = must_calloc(c->cap, sizeof(*c->text));
    }
    c->text[at] = texts_add(&c->texts, text, n);
}

static void spell(struct column *c, size_t at)
{
    char text[NUMBER_TEXT_MAX];
    set_text(c, at, text, number_put_double(c->number[at], text));
}

void column_set_number(struct column *c, size_t row, double v)
{
    size_t at = room_for(c, row);
    if (!c->number) {
        c->number = must_reallocarray(NULL, c->cap, sizeof(*c->number));
        for (size_t i = 0; i < c->n; i++)
            c->number[i] = NAN;
    }
    c->number[at] = v;
    if (c->spelled)
        spell(c, at);
    else if (c->text)
        c->text[at] = 0;
}

void column_set_text(struct column *c, size_t row, const char *text, size_t n)
{
    size_t at = room_for(c, row);
    if (c->number)
        c->number[at] = NAN;
    set_text(c, at, text, n);
    c->worded = true;
}

void column_clear(struct column *c, size_t row)
{
    if (row < c->first || row - c->first >= c->n)
        return;
    if (c->number)
        c->number[row - c->first] = NAN;
    if (c->text)
        c->text[row - c->first] = 0;
}

void column_spell(struct column *c)
{
    for (size_t i = 0; c->number && i < c->n && !c->spelled; i++)
        if (!isnan(c->number[i]))
            spell(c, i);
    c->spelled = true;
}

void column_numbers(const struct column *c, size_t n, double *ret)
{
    size_t first = c->first < n ? c->first : n, held = !c->number ? 0 : c->n < n - first ? c->n : n - first;
    for (size_t i = 0; i < first; i++)
        ret[i] = NAN;
    if (held)
        memcpy(ret + first, c->number, held * sizeof(*ret));
    for (size_t i = first + held; i < n; i++)
        ret[i] = NAN;
}

void column_texts(const struct column *c, size_t n, uint32_t *ret)
{
    memset(ret, 0, n * sizeof(*ret));
    if (c->text && c->first < n)
        memcpy(ret + c->first, c->text, (c->n < n - c->first ? c->n : n - c->first) * sizeof(*ret));
}

size_t column_bytes(const struct column *c)
{
    return c->cap * ((c->number ? sizeof(*c->number) : 0) + (c->text ? sizeof(*c->text) : 0)) + texts_bytes(&c->texts);
}

void column_release(struct column *c)
{
    free(c->number);
    free(c->text);
    texts_release(&c->texts);
    *c = (struct column){0};
}
