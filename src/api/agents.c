/* Agents and their slots: live views of the core, and switching them on and off. */
#include <stdlib.h>
#include <string.h>

#include "api/convert.h"
#include "api/internal.h"
#include "core/core.h"
#include "gen/handlers.h"

enum { ENCODED_ON_LOOP_MAX = 50 /* agents */ };

/* ---- views ---- */

static const struct wire_device *device_to_wire(const struct core_device *d, struct arena *a)
{
    struct wire_device *w = arena_new(a, struct wire_device);
    *w = (struct wire_device){.id = d->id, .brand = arena_strdup(a, d->brand), .uuid = arena_strdup(a, d->uuid),
                              .type = (enum wire_device_type)d->type};
    return w;
}

static enum wire_container_state container_state_to_wire(enum container_state state)
{
    return (enum wire_container_state)state_number(&wire_enum_container_state, container_state_name(state));
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

static void slot_to_wire(const struct core_slot_view *s, struct arena *a, struct wire_agent_slot *ret)
{
    *ret = (struct wire_agent_slot){.id = arena_printf(a, "%d", s->device->id), .device = device_to_wire(s->device, a),
                                    .enabled = s->enabled, .draining = s->draining};
    if (s->container) {
        struct wire_container *w = arena_new(a, struct wire_container);
        container_to_wire(s->container, a, w);
        ret->container = w;
    }
}

/* Keys of maps must be sorted on the wire; the codec does that. */
static void slots_to_wire(const struct core_agent_view *v, const struct core_slot_view *s, size_t n, struct arena *a,
                          struct wire_agent *ret)
{
    ret->slots = arena_array(a, struct wire_map_agent_slot, n + 1);
    for (size_t i = 0; i < n; i++) {
        struct wire_map_agent_slot *e = &ret->slots[ret->slots_n++];
        e->key = arena_printf(a, "/agents/%s/slots/%d", v->id, s[i].device->id);
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

/* The state of a slot is that of the container on it; of a free one, STATE_UNSPECIFIED. */
static const char *slot_state(const struct core_slot_view *s)
{
    return codec_enum_name(&wire_enum_container_state, s->container ? (int32_t)container_state_to_wire(s->container->state) : 0);
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

/* Required by the clients; slots by device type and by brand. */
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

static void agent_to_wire(const struct core *core, const struct core_agent_view *v, bool slots, bool containers,
                          struct arena *a, struct wire_agent *ret)
{
    struct core_slot_view slot[CORE_DEVICES_MAX];
    size_t n = core_slots(core, v->id, slot);
    *ret = (struct wire_agent){
        .id = arena_strdup(a, v->id), .registered_time = v->connected_us, .has_registered_time = v->connected_us != 0,
        .addresses = arena_array(a, const char *, 1), .enabled = v->enabled, .draining = v->draining,
        .version = arena_strdup(a, v->version), .resource_pools = arena_array(a, const char *, 1), .resource_pools_n = 1,
        .slot_stats = slot_stats(slot, n, a)};
    ret->resource_pools[0] = arena_strdup(a, v->pool);
    if (v->hostname && *v->hostname) {
        ret->addresses[0] = arena_strdup(a, v->hostname);
        ret->addresses_n = 1;
    }
    if (slots)
        slots_to_wire(v, slot, n, a, ret);
    if (containers)
        containers_to_wire(core, v, a, ret);
}

/* The reply is complete: what is left is to make text of it. */
static int encode_elsewhere(struct req *r, struct error *err)
{
    return 0;
}

int api_get_agents(struct req *r, const struct wire_get_agents_request *in, struct wire_get_agents_response *ret,
                   struct error *err)
{
    const struct core *core = api_core(r->api);
    size_t total = core_agent_n(core), n = 0;
    struct page_window w;
    struct page page = page_of(in->offset, in->limit);
    if (page_of_memory_list(page, (int64_t)total, &w, err) < 0)
        return -1;
    struct core_agent_view *v = arena_array(&r->arena, struct core_agent_view, total + 1);
    for (const struct agent *at = NULL; core_agent_next(core, &at, &v[n]);)
        n++;
    ret->agents = arena_array(&r->arena, struct wire_agent, (size_t)(w.end - w.start) + 1);
    for (int32_t i = w.start; i < w.end; i++)
        agent_to_wire(core, &v[in->order_by == WIRE_ORDER_BY_DESC ? n - 1 - (size_t)i : (size_t)i], !in->exclude_slots,
                      !in->exclude_containers, &r->arena, &ret->agents[ret->agents_n++]);
    ret->pagination = pagination(page, w, &r->arena);
    return ret->agents_n > ENCODED_ON_LOOP_MAX ? req_then(r, REQ_WORK, encode_elsewhere) : 0;
}

static int find_agent(struct req *r, const char *id, struct core_agent_view *ret, struct error *err)
{
    if (core_agent_by_id(api_core(r->api), id ? id : "", ret))
        return 0;
    return error_set(err, ERR_NOT_FOUND, "agent '%.80s' not found", id ? id : "");
}

static int one_agent(struct req *r, const char *id, const struct wire_agent **ret, struct error *err)
{
    struct core_agent_view v;
    if (find_agent(r, id, &v, err) < 0)
        return -1;
    struct wire_agent *w = arena_new(&r->arena, struct wire_agent);
    agent_to_wire(api_core(r->api), &v, true, true, &r->arena, w);
    *ret = w;
    return 0;
}

int api_get_agent(struct req *r, const struct wire_get_agent_request *in, struct wire_get_agent_response *ret,
                  struct error *err)
{
    return one_agent(r, in->agent_id, &ret->agent, err);
}

int api_get_slots(struct req *r, const struct wire_get_slots_request *in, struct wire_get_slots_response *ret,
                  struct error *err)
{
    struct core_agent_view v;
    if (find_agent(r, in->agent_id, &v, err) < 0)
        return -1;
    ret->slots = arena_array(&r->arena, struct wire_agent_slot, v.slot_n + 1);
    for (size_t i = 0; i < v.slot_n; i++) {
        struct core_slot_view s;
        if (core_slot(api_core(r->api), v.id, i, &s))
            slot_to_wire(&s, &r->arena, &ret->slots[ret->slots_n++]);
    }
    return 0;
}

/* Slot ids are device numbers as text. */
static int one_slot(struct req *r, const char *agent_id, const char *slot_id, const struct wire_agent_slot **ret,
                    int32_t *ret_device, struct error *err)
{
    struct core_agent_view v;
    if (find_agent(r, agent_id, &v, err) < 0)
        return -1;
    char *end;
    long device = strtol(slot_id ? slot_id : "", &end, 10);
    for (size_t i = 0; i < v.slot_n && slot_id && *slot_id && !*end; i++) {
        struct core_slot_view s;
        if (!core_slot(api_core(r->api), v.id, i, &s) || s.device->id != device)
            continue;
        struct wire_agent_slot *w = arena_new(&r->arena, struct wire_agent_slot);
        slot_to_wire(&s, &r->arena, w);
        *ret = w;
        *ret_device = s.device->id;
        return 0;
    }
    return error_set(err, ERR_NOT_FOUND, "slot '%.40s' of agent '%.80s' not found", slot_id ? slot_id : "", agent_id);
}

int api_get_slot(struct req *r, const struct wire_get_slot_request *in, struct wire_get_slot_response *ret,
                 struct error *err)
{
    int32_t device;
    return one_slot(r, in->agent_id, in->slot_id, &ret->slot, &device, err);
}

/* ---- on and off ---- */

static int switch_agent(struct req *r, const char *agent_id, bool enable, bool drain, const struct wire_agent **ret,
                        struct error *err)
{
    struct core_event ev = {.type = CORE_AGENT_ENABLE, .now_us = r->now_us,
                            .enable = {.agent_id = agent_id ? agent_id : "", .enable = enable, .drain = drain}};
    if (req_need_admin(r, "enable or disable agents", err) < 0 || api_core_step(r->api, &ev, NULL, err) < 0)
        return -1;
    return one_agent(r, agent_id, ret, err);
}

static int switch_slot(struct req *r, const char *agent_id, const char *slot_id, bool enable, bool drain,
                       const struct wire_agent_slot **ret, struct error *err)
{
    int32_t device;
    if (req_need_admin(r, "enable or disable slots", err) < 0 || one_slot(r, agent_id, slot_id, ret, &device, err) < 0)
        return -1;
    struct core_event ev = {.type = CORE_SLOT_ENABLE, .now_us = r->now_us,
                            .enable = {.agent_id = agent_id, .slot = device, .enable = enable, .drain = drain}};
    if (api_core_step(r->api, &ev, NULL, err) < 0)
        return -1;
    return one_slot(r, agent_id, slot_id, ret, &device, err);
}

int api_enable_agent(struct req *r, const struct wire_enable_agent_request *in, struct wire_enable_agent_response *ret,
                     struct error *err)
{
    return switch_agent(r, in->agent_id, true, false, &ret->agent, err);
}

int api_disable_agent(struct req *r, const struct wire_disable_agent_request *in,
                      struct wire_disable_agent_response *ret, struct error *err)
{
    return switch_agent(r, in->agent_id, false, in->drain, &ret->agent, err);
}

int api_enable_slot(struct req *r, const struct wire_enable_slot_request *in, struct wire_enable_slot_response *ret,
                    struct error *err)
{
    return switch_slot(r, in->agent_id, in->slot_id, true, false, &ret->slot, err);
}

int api_disable_slot(struct req *r, const struct wire_disable_slot_request *in, struct wire_disable_slot_response *ret,
                     struct error *err)
{
    return switch_slot(r, in->agent_id, in->slot_id, false, in->drain, &ret->slot, err);
}
