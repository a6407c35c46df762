#include "api/cluster/agent_views.h"

#include <string.h>

#include "common/base/number.h"

static const struct wire_device *device_to_wire(const struct core_device *d, struct arena *a)
{
    struct wire_device *w = arena_new(a, struct wire_device);
    *w = (struct wire_device){.id = d->id,
                              .brand = arena_strdup(a, d->brand),
                              .uuid = arena_strdup(a, d->uuid),
                              .type = (enum wire_device_type)d->type};
    return w;
}

enum wire_container_state container_state_to_wire(enum container_state state)
{
    static const enum wire_container_state wire[CONTAINER_STATE_NR] = {
        [CONTAINER_ASSIGNED] = WIRE_CONTAINER_STATE_ASSIGNED,
        [CONTAINER_PULLING] = WIRE_CONTAINER_STATE_PULLING,
        [CONTAINER_STARTING] = WIRE_CONTAINER_STATE_STARTING,
        [CONTAINER_RUNNING] = WIRE_CONTAINER_STATE_RUNNING,
        [CONTAINER_TERMINATED] = WIRE_CONTAINER_STATE_TERMINATED};
    return wire[state];
}

static void container_to_wire(const struct container_row *c, struct arena *a, struct wire_container *ret)
{
    *ret = (struct wire_container){.parent = arena_strdup(a, c->allocation_id),
                                   .id = arena_strdup(a, c->id),
                                   .state = container_state_to_wire(c->state),
                                   .devices = arena_array(a, struct wire_device, (size_t)c->device_n + 1),
                                   .devices_n = (size_t)c->device_n};
    for (int32_t i = 0; i < c->device_n; i++)
        ret->devices[i].id = c->device_id[i];
}

/* Joins text and number without printf, which would take as long as everything else when there are thousands of
 * slots. */
static const char *text_and_number(struct arena *a, const char *text, size_t n, int32_t number)
{
    char digits[NUMBER_TEXT_MAX];
    size_t digit_n = number_put_int64(number, digits);
    char *all = arena_alloc(a, n + digit_n + 1);
    memcpy(all, text, n);
    memcpy(all + n, digits, digit_n);
    return all;
}

void slot_to_wire(const struct core_slot_view *s, struct arena *a, struct wire_agent_slot *ret)
{
    *ret = (struct wire_agent_slot){.id = text_and_number(a, "", 0, s->device->id),
                                    .device = device_to_wire(s->device, a),
                                    .enabled = s->enabled,
                                    .draining = s->draining,
                                    .disabled_reason = *s->reason ? arena_strdup(a, s->reason) : NULL};
    if (s->container) {
        struct wire_container *w = arena_new(a, struct wire_container);
        container_to_wire(s->container, a, w);
        ret->container = w;
    }
}

/* The codec sorts the keys of maps, as the wire format requires. */
static void slots_to_wire(const struct core_agent_view *v, const struct core_slot_view *s, size_t n, struct arena *a,
                          struct wire_agent *ret)
{
    const char *path = arena_printf(a, "/agents/%s/slots/", v->id);
    size_t path_n = strlen(path);
    ret->slots = arena_array(a, struct wire_map_agent_slot, n + 1);
    for (size_t i = 0; i < n; i++) {
        struct wire_map_agent_slot *e = &ret->slots[ret->slots_n++];
        e->key = text_and_number(a, path, path_n, s[i].device->id);
        slot_to_wire(&s[i], a, &e->value);
    }
}

static void containers_to_wire(const struct core *core, const struct core_agent_view *v, struct arena *a,
                               struct wire_agent *ret)
{
    ret->containers = arena_array(a, struct wire_map_container, v->container_n + 1);
    for (size_t i = 0; i < v->container_n; i++) {
        const struct container_row *c = core_agent_container(core, v->id, i);
        if (!c)
            break;
        struct wire_map_container *e = &ret->containers[ret->containers_n++];
        e->key = arena_strdup(a, c->id);
        container_to_wire(c, a, &e->value);
    }
}

static void count_state(struct wire_agent_device_stats *d, const char *state, struct arena *a)
{
    if (!d->states)
        d->states = arena_array(a, struct wire_map_int32, CONTAINER_STATE_NR + 1);
    size_t i = 0;
    while (i < d->states_n && strcmp(d->states[i].key, state) != 0)
        i++;
    if (i == d->states_n)
        d->states[d->states_n++].key = state;
    d->states[i].value++;
}

/* The state of a slot is that of the container on it; a free slot is STATE_UNSPECIFIED. */
static const char *slot_state(const struct core_slot_view *s)
{
    return codec_enum_name(&wire_enum_container_state,
                           s->container ? (int32_t)container_state_to_wire(s->container->state) : 0);
}

static void count_device(struct wire_map_agent_device_stats *stats, size_t *n, const char *key,
                         const struct core_slot_view *s, const char *state, struct arena *a)
{
    size_t i = 0;
    while (i < *n && strcmp(stats[i].key, key) != 0)
        i++;
    if (i == *n)
        stats[(*n)++].key = arena_strdup(a, key);
    struct wire_agent_device_stats *d = &stats[i].value;
    d->total++;
    d->disabled += !s->enabled;
    d->draining += s->draining;
    count_state(d, state, a);
}

/* Statistics of slots by device type and by brand; clients require them. */
static const struct wire_agent_slot_stats *slot_stats(const struct core_slot_view *s, size_t n, struct arena *a)
{
    struct wire_agent_slot_stats *w = arena_new(a, struct wire_agent_slot_stats);
    w->type_stats = arena_array(a, struct wire_map_agent_device_stats, n + 1);
    w->brand_stats = arena_array(a, struct wire_map_agent_device_stats, n + 1);
    for (size_t i = 0; i < n; i++) {
        const char *type = codec_enum_name(&wire_enum_device_type, s[i].device->type), *state = slot_state(&s[i]);
        count_device(w->type_stats, &w->type_stats_n, type ? type : "TYPE_UNSPECIFIED", &s[i], state, a);
        count_device(w->brand_stats, &w->brand_stats_n, s[i].device->brand, &s[i], state, a);
    }
    return w;
}

void agent_to_wire(const struct core *core, const struct core_agent_view *v, bool slots, bool containers,
                   struct arena *a, struct wire_agent *ret)
{
    struct core_slot_view slot[CORE_DEVICES_MAX];
    size_t n = core_slots(core, v->id, slot);
    *ret = (struct wire_agent){.id = arena_strdup(a, v->id),
                               .registered_time = v->connected_us,
                               .has_registered_time = v->connected_us != 0,
                               .addresses = arena_array(a, const char *, 1),
                               .has_cpus = needs_any(&v->has),
                               .cpus = (double)v->has.millicores / 1000,
                               .has_cpus_used = needs_any(&v->has),
                               .cpus_used = (double)v->held.millicores / 1000,
                               .has_memory_bytes = needs_any(&v->has),
                               .memory_bytes = v->has.memory_bytes,
                               .has_memory_used_bytes = needs_any(&v->has),
                               .memory_used_bytes = v->held.memory_bytes,
                               .enabled = v->enabled,
                               .draining = v->draining,
                               .version = arena_strdup(a, v->version),
                               .resource_pools = arena_array(a, const char *, 1),
                               .resource_pools_n = 1,
                               .slot_stats = slot_stats(slot, n, a),
                               .has_lost_time = v->lost_us != 0,
                               .lost_time = v->lost_us};
    ret->has_isolated = v->isolation_gap != NULL; /* an agent that is away has not said whether it isolates */
    ret->isolated = v->isolation_gap && !*v->isolation_gap;
    ret->isolation_gap = v->isolation_gap && *v->isolation_gap ? arena_strdup(a, v->isolation_gap) : NULL;
    ret->resource_pools[0] = arena_strdup(a, v->pool);
    ret->disabled_reason = *v->disabled_reason ? arena_strdup(a, v->disabled_reason) : NULL;
    ret->label = *v->label ? arena_strdup(a, v->label) : NULL;
    if (v->hostname && *v->hostname) {
        ret->addresses[0] = arena_strdup(a, v->hostname);
        ret->addresses_n = 1;
    }
    if (slots)
        slots_to_wire(v, slot, n, a, ret);
    if (containers)
        containers_to_wire(core, v, a, ret);
}
