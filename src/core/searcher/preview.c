#include "core/searcher/preview.h"

#include <stdlib.h>
#include <string.h>

void search_plan_release(struct search_plan *p)
{
    free(p->row);
    *p = (struct search_plan){0};
}

static struct search_plan_row *insert(struct search_plan *p, size_t at)
{
    p->row = realloc(p->row, (p->n + 1) * sizeof *p->row);
    if (p->row == NULL)
        abort();
    memmove(p->row + at + 1, p->row + at, (p->n - at) * sizeof *p->row);
    p->n++;
    return &p->row[at];
}

void search_plan_add(struct search_plan *p, int64_t trials, int64_t units)
{
    size_t i = 0;
    while (i < p->n && p->row[i].units < units)
        i++;
    if (i < p->n && p->row[i].units == units)
        p->row[i].trials += trials;
    else
        *insert(p, i) = (struct search_plan_row){.trials = trials, .units = units};
}

void search_plan_set_whole(struct search_plan *p, int64_t trials)
{
    *insert(p, 0) = (struct search_plan_row){.trials = trials, .whole = true};
}
