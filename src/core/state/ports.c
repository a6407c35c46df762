#include "core/state/ports.h"

#include <string.h>

static const int32_t bases[CORE_PORTS] = {12350, 12360, 12365, 29400};

/* The ports of services, the last one included: docs/spec/task-environment.md#ports. */
static const struct {
    int32_t first, last;
} services[TASK_KIND_NR] = {
    [TASK_KIND_TENSORBOARD] = {2600, 2899},
    [TASK_KIND_NOTEBOOK] = {2900, 3199},
    [TASK_KIND_SHELL] = {3200, 3599},
};

static bool is_port(int32_t port)
{
    return port > 0 && port <= 65535;
}

static void mark_port(struct port_set *s, int32_t port, bool in)
{
    uint64_t bit = UINT64_C(1) << (port % 64);
    if (in)
        s->bits[port / 64] |= bit;
    else
        s->bits[port / 64] &= ~bit;
}

static bool has_port(const struct port_set *s, int32_t port)
{
    return s->bits[port / 64] >> (port % 64) & 1;
}

void port_set_add(struct port_set *s, const int32_t port[CORE_PORTS])
{
    for (int i = 0; i < CORE_PORTS; i++)
        if (is_port(port[i]))
            mark_port(s, port[i], true);
}

void ports_init(struct ports *p, const int32_t *reserved, size_t n)
{
    memset(p, 0, sizeof(*p));
    for (size_t i = 0; i < n; i++)
        if (is_port(reserved[i]))
            mark_port(&p->reserved, reserved[i], true);
    p->used = p->reserved;
}

/* The lowest port from `base` on that is in neither set; 0 if there is none below `end`. It looks at 64 ports at a
 * time, because with many trials the first free port is far away. */
static int32_t lowest_free(const struct port_set *s, const struct port_set *t, int32_t base, int32_t end)
{
    uint64_t below = (UINT64_C(1) << (base % 64)) - 1;
    for (int32_t i = base / 64; i * 64 < end; i++, below = 0) {
        uint64_t free_ones = ~(s->bits[i] | t->bits[i] | below);
        if (free_ones != 0)
            return i * 64 + __builtin_ctzll(free_ones);
    }
    return 0;
}

static void take_port(struct ports *p, int32_t port)
{
    if (!is_port(port))
        return;
    p->users[port]++;
    mark_port(&p->used, port, true);
}

void ports_restore(struct ports *p, const int32_t port[CORE_PORTS])
{
    for (int i = 0; i < CORE_PORTS; i++)
        take_port(p, port[i]);
}

void ports_give_back(struct ports *p, const int32_t port[CORE_PORTS])
{
    for (int i = 0; i < CORE_PORTS; i++)
        if (is_port(port[i]) && p->users[port[i]] > 0 && --p->users[port[i]] == 0)
            mark_port(&p->used, port[i], has_port(&p->reserved, port[i]));
}

bool ports_take(struct ports *p, int32_t end, int32_t ret[CORE_PORTS])
{
    int32_t port[CORE_PORTS] = {0};
    for (int i = 0; i < CORE_PORTS; i++) {
        port[i] = lowest_free(&p->used, &p->reserved, bases[i], end);
        take_port(p, port[i]);
        if (port[i] == 0) {
            ports_give_back(p, port);
            return false;
        }
    }
    memcpy(ret, port, sizeof(port));
    return true;
}

void ports_take_here(struct ports *p, const struct port_set *here, int32_t ret[CORE_PORTS])
{
    struct port_set taken = *here;
    for (int i = 0; i < CORE_PORTS; i++) {
        ret[i] = lowest_free(&taken, &p->reserved, bases[i], PORTS_END);
        take_port(p, ret[i]);
        if (ret[i] != 0)
            mark_port(&taken, ret[i], true);
    }
}

bool ports_has_service(enum task_kind kind)
{
    return services[kind].first > 0;
}

/* The first port from the random place on, around the range, that is in neither set; 0 if there is none. */
static int32_t draw_free(enum task_kind kind, uint32_t random, const struct port_set *s, const struct port_set *t)
{
    uint32_t n = (uint32_t)(services[kind].last - services[kind].first + 1);
    for (uint32_t i = 0; i < n; i++) {
        int32_t port = services[kind].first + (int32_t)((random + i) % n);
        if (!has_port(s, port) && !has_port(t, port))
            return port;
    }
    return 0;
}

int32_t ports_draw(struct ports *p, enum task_kind kind, uint32_t random, const struct port_set *here)
{
    if (!ports_has_service(kind))
        return 0;
    random %= (uint32_t)(services[kind].last - services[kind].first + 1); /* so that adding to it cannot overflow */
    int32_t port = draw_free(kind, random, &p->used, &p->reserved);
    if (port == 0)
        port = draw_free(kind, random, here, &p->reserved);
    take_port(p, port);
    return port;
}
