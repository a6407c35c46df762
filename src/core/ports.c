#include "core/ports.h"

#include <string.h>

static const int32_t bases[CORE_PORTS] = {12350, 12360, 12365, 29400};

static void mark(struct ports *p, int32_t port, bool used)
{
    if (port <= 0 || port > 65535)
        return;
    uint64_t bit = UINT64_C(1) << (port % 64);
    if (used)
        p->used[port / 64] |= bit;
    else
        p->used[port / 64] &= ~bit;
}

void ports_init(struct ports *p, const int32_t *reserved, size_t n)
{
    memset(p, 0, sizeof *p);
    for (size_t i = 0; i < n; i++)
        mark(p, reserved[i], true);
}

/* 64 at a time: with many trials the first free one is far away. */
static int32_t take_from(struct ports *p, int32_t base)
{
    uint64_t below = (UINT64_C(1) << (base % 64)) - 1;
    for (int32_t i = base / 64; i <= 65535 / 64; i++, below = 0) {
        uint64_t free_ones = ~(p->used[i] | below);
        if (free_ones == 0)
            continue;
        int32_t port = i * 64 + __builtin_ctzll(free_ones);
        mark(p, port, true);
        return port;
    }
    return 0;
}

void ports_take(struct ports *p, int32_t ret[CORE_PORTS])
{
    for (int i = 0; i < CORE_PORTS; i++)
        ret[i] = take_from(p, bases[i]);
}

void ports_restore(struct ports *p, const int32_t port[CORE_PORTS])
{
    for (int i = 0; i < CORE_PORTS; i++)
        mark(p, port[i], true);
}

void ports_give_back(struct ports *p, const int32_t port[CORE_PORTS])
{
    for (int i = 0; i < CORE_PORTS; i++)
        mark(p, port[i], false);
}
