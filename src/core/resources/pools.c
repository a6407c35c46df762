#include "core/resources/pools.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/must.h"
#include "core/resources/elastic.h"
#include "core/resources/quotas.h"

void pools_init(struct core *c, const struct core_opts *opts, const struct rm_type *rm)
{
    c->pool_n = opts->pool_n;
    c->pool = must_calloc(opts->pool_n, sizeof(*c->pool));
    for (size_t i = 0; i < c->pool_n; i++) {
        struct pool *p = &c->pool[i];
        p->opts = opts->pool[i];
        p->opts.name = p->name = must_strdup(opts->pool[i].name);
        p->rm = rm;
        p->ledger = &c->ledger;
        TAILQ_INIT(&p->allocations);
        TAILQ_INIT(&p->new);
        p->rm->open(p);
        if (p->opts.elastic)
            p->elastic = elastic_new(&p->opts.scale);
    }
}

void pools_turn(struct core *c)
{
    quotas_wake_pools(c);
    for (size_t i = 0; i < c->pool_n; i++)
        if (c->pool[i].changed)
            c->pool[i].rm->take_stock(&c->pool[i]);
    for (size_t i = 0; i < c->pool_n; i++) {
        struct pool *p = &c->pool[i];
        bool changed = p->changed;
        p->changed = false;
        if (changed)
            p->rm->turn(c, p);
        if (p->elastic)
            elastic_turn(c, p, changed);
        if (p->changed) /* machines that were chosen to end do not count for waiting jobs any more */
            p->rm->take_stock(p);
    }
}

void pools_free(struct core *c)
{
    for (size_t i = 0; i < c->pool_n; i++) {
        struct pool *p = &c->pool[i];
        timer_clear(&c->timers, &p->pass);
        elastic_free(c, p->elastic);
        p->rm->close(p);
        free(p->name);
    }
    free(c->pool);
}

void pool_timer(struct timer *t)
{
    container_of(t, struct pool, pass)->changed = true;
}
