#include "core/rm.h"

#include <stdlib.h>
#include <string.h>

struct pool *pool_find(const struct core *c, const char *name)
{
    if (name == NULL || name[0] == '\0')
        return &c->pool[0];
    for (size_t i = 0; i < c->pool_n; i++)
        if (strcmp(c->pool[i].name, name) == 0)
            return &c->pool[i];
    return NULL;
}

void pools_init(struct core *c, const struct core_opts *opts)
{
    c->pool_n = opts->pool_n;
    c->pool = calloc(opts->pool_n, sizeof *c->pool);
    if (c->pool == NULL)
        abort();
    for (size_t i = 0; i < c->pool_n; i++) {
        struct pool *p = &c->pool[i];
        p->opts = opts->pool[i];
        p->opts.name = p->name = strdup(opts->pool[i].name);
        if (p->name == NULL)
            abort();
        p->rm = &rm_agents;
        TAILQ_INIT(&p->allocations);
    }
}

void pools_turn(struct core *c)
{
    for (size_t i = 0; i < c->pool_n; i++) {
        struct pool *p = &c->pool[i];
        if (!p->changed)
            continue;
        p->changed = false;
        p->rm->turn(c, p);
    }
}

void pools_free(struct core *c)
{
    for (size_t i = 0; i < c->pool_n; i++)
        free(c->pool[i].name);
    free(c->pool);
}

static void count_waiting(struct pool *p, const struct allocation *a, int by)
{
    if (a->sm.state != ALLOCATION_PENDING)
        return;
    if (a->row.slots > 0)
        p->waiting_slots_n += by;
    else
        p->waiting_aux_n += by;
}

void pool_placed(struct pool *p, const struct allocation *a)
{
    count_waiting(p, a, -1);
}

void pool_add(struct pool *p, struct allocation *a)
{
    count_waiting(p, a, 1);
    TAILQ_INSERT_TAIL(&p->allocations, a, in_pool);
    a->trial->experiment->open_n++;
    p->changed = true;
}

void pool_remove(struct pool *p, struct allocation *a)
{
    count_waiting(p, a, -1);
    TAILQ_REMOVE(&p->allocations, a, in_pool);
    a->trial->experiment->open_n--;
    p->changed = true;
}
