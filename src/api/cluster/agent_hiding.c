#include "api/cluster/agent_hiding.h"

#include "api/pipeline/access.h"
#include "core/core.h"

#define STARS "********"

bool agent_hides(const struct req *r)
{
    return !access_has(r, PERMISSION_VIEW_SENSITIVE_AGENT_INFO, 0);
}

static void hide_container(struct req *r, const struct core *core, struct wire_container *c)
{
    const struct allocation_row *row = core_allocation(core, c->parent);
    if (row && access_sees_allocation(r, core, row))
        return;
    c->id = c->parent = STARS;
    c->permission_denied = true;
    for (size_t i = 0; i < c->devices_n; i++)
        c->devices[i] = (struct wire_device){.id = -1, .brand = STARS, .uuid = STARS};
}

static void hide_device(struct req *r, struct wire_agent_slot *slot)
{
    struct wire_device *hidden = arena_new(&r->arena, struct wire_device);
    *hidden = *slot->device;
    hidden->uuid = STARS;
    slot->device = hidden;
}

void agent_hide_slot(struct req *r, const struct core *core, struct wire_agent_slot *slot)
{
    if (!agent_hides(r))
        return;
    if (slot->device)
        hide_device(r, slot);
    if (!slot->container)
        return;
    struct wire_container *c = arena_new(&r->arena, struct wire_container);
    *c = *slot->container;
    hide_container(r, core, c);
    slot->container = c;
}

void agent_hide(struct req *r, const struct core *core, struct wire_agent *agent)
{
    if (!agent_hides(r))
        return;
    for (size_t i = 0; i < agent->addresses_n; i++)
        agent->addresses[i] = STARS;
    for (size_t i = 0; i < agent->slots_n; i++)
        agent_hide_slot(r, core, &agent->slots[i].value);
    for (size_t i = 0; i < agent->containers_n; i++) {
        struct wire_map_container *c = &agent->containers[i];
        hide_container(r, core, &c->value);
        if (c->value.permission_denied) /* the keys of a map differ */
            c->key = arena_printf(&r->arena, STARS "-%zu", i);
    }
}
