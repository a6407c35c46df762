/* Agents and their slots: lists, details, and switching them on and off. */
#include <stdlib.h>
#include <string.h>

#include "api/cluster/agent_hiding.h"
#include "api/cluster/agent_texts.h"
#include "api/cluster/agent_views.h"
#include "api/cluster/joining.h"
#include "api/pipeline/convert.h"
#include "api/pipeline/internal.h"
#include "common/base/utf8.h"
#include "core/core.h"
#include "gen/handlers.h"
#include "store/functions.h"

enum { ENCODED_ON_LOOP_MAX = 50 /* agents; a longer list is encoded by a worker */ };

static int64_t certificate_us_of(const struct req *r, const char *agent_id)
{
    const struct api_services *s = &r->api->services;
    return s->agent_certificate_us(s->ctx, agent_id);
}

static void set_certificate(struct wire_agent *w, int64_t until_us)
{
    w->certificate_expiry = until_us;
    w->has_certificate_expiry = until_us != 0;
}

/* ---- the list ---------------------------------------------------------------------------------------------------- */

struct agent_list {
    struct agent_text_key *key;
    struct agent_text **text; /* NULL: the text must still be made from `agent` */
    struct wire_agent *agent; /* what the text is made from */
    size_t n;
};

static void let_go(struct req *r)
{
    const struct agent_list *l = r->state;
    for (size_t i = 0; i < l->n; i++)
        agent_text_unref(l->text[i]);
}

static void list_agent(struct req *r, struct core *core, const struct wire_get_agents_request *in,
                       const struct agent *agent)
{
    struct agent_list *l = r->state;
    size_t i = l->n++;
    l->key[i] = (struct agent_text_key){.revision = core_agent_revision(agent),
                                        .certificate_us = certificate_us_of(r, core_agent_id(agent)),
                                        .without_slots = in->exclude_slots,
                                        .without_containers = in->exclude_containers};
    l->text[i] = agent_hides(r) ? NULL : agent_texts_get(r->api->agent_texts, l->key[i]);
    if (l->text[i])
        return;
    struct core_agent_view v;
    core_agent_view(agent, &v);
    agent_to_wire(core, &v, !in->exclude_slots, !in->exclude_containers, &r->arena, &l->agent[i]);
    set_certificate(&l->agent[i], l->key[i].certificate_us);
    agent_hide(r, core, &l->agent[i]);
}

static int keep_texts(struct req *r, struct core *core, struct error *err)
{
    const struct agent_list *l = r->state;
    for (size_t i = 0; i < l->n; i++)
        if (l->agent[i].id && !agent_hides(r))
            agent_texts_keep(r->api->agent_texts, l->text[i]);
    agent_texts_listed(r->api->agent_texts, core_agent_n(core));
    return 0;
}

/* Encodes the list. It holds nothing of the core any more, so that this may run on any thread. */
static int encode_list(struct req *r, struct error *err)
{
    const struct agent_list *l = r->state;
    struct codec_text *element = arena_array(&r->arena, struct codec_text, l->n + 1);
    for (size_t i = 0; i < l->n; i++) {
        if (!l->text[i])
            l->text[i] = agent_text_make(l->key[i], &l->agent[i]);
        element[i] = agent_text_str(l->text[i]);
    }
    codec_encode_listing(r->route->response, r->ret, "agents", element, l->n, &r->reply.body);
    req_encoded(r);
    return req_then_loop(r, keep_texts);
}

int api_get_agents(struct req *r, struct core *core, const struct wire_get_agents_request *in,
                   struct wire_get_agents_response *ret, struct error *err)
{
    size_t total = core_agent_n(core), n = 0;
    struct page_window w;
    struct page page = page_of(in->offset, in->limit);
    if (page_of_memory_list(page, (int64_t)total, &w, err) < 0)
        return -1;
    size_t wanted = (size_t)(w.end - w.start);
    const struct agent **all = arena_array(&r->arena, const struct agent *, total + 1);
    for (const struct agent *at = NULL; core_agent_next(core, &at, NULL);)
        all[n++] = at;
    struct agent_list *l = r->state = arena_new(&r->arena, struct agent_list);
    l->key = arena_array(&r->arena, struct agent_text_key, wanted + 1);
    l->text = arena_array(&r->arena, struct agent_text *, wanted + 1);
    l->agent = arena_array(&r->arena, struct wire_agent, wanted + 1);
    r->on_end = let_go;
    for (int32_t i = w.start; i < w.end; i++)
        list_agent(r, core, in, all[in->order_by == WIRE_ORDER_BY_DESC ? n - 1 - (size_t)i : (size_t)i]);
    ret->pagination = pagination(page, w, &r->arena);
    return wanted > ENCODED_ON_LOOP_MAX ? req_then_work(r, encode_list) : encode_list(r, err);
}

static int find_agent(struct req *r, struct core *core, const char *id, struct core_agent_view *ret, struct error *err)
{
    if (core_agent_by_id(core, id ? id : "", ret))
        return 0;
    return error_set(err, ERR_NOT_FOUND, "agent '%.80s' not found", id ? id : "");
}

static int one_agent(struct req *r, struct core *core, const char *id, const struct wire_agent **ret, struct error *err)
{
    struct core_agent_view v;
    if (find_agent(r, core, id, &v, err) < 0)
        return -1;
    struct wire_agent *w = arena_new(&r->arena, struct wire_agent);
    agent_to_wire(core, &v, true, true, &r->arena, w);
    set_certificate(w, certificate_us_of(r, v.id));
    agent_hide(r, core, w);
    *ret = w;
    return 0;
}

int api_get_agent(struct req *r, struct core *core, const struct wire_get_agent_request *in,
                  struct wire_get_agent_response *ret, struct error *err)
{
    return one_agent(r, core, in->agent_id, &ret->agent, err);
}

int api_get_slots(struct req *r, struct core *core, const struct wire_get_slots_request *in,
                  struct wire_get_slots_response *ret, struct error *err)
{
    struct core_agent_view v;
    if (find_agent(r, core, in->agent_id, &v, err) < 0)
        return -1;
    ret->slots = arena_array(&r->arena, struct wire_agent_slot, v.slot_n + 1);
    for (size_t i = 0; i < v.slot_n; i++) {
        struct core_slot_view s;
        if (!core_slot(core, v.id, i, &s))
            continue;
        slot_to_wire(&s, &r->arena, &ret->slots[ret->slots_n]);
        agent_hide_slot(r, core, &ret->slots[ret->slots_n++]);
    }
    return 0;
}

/* Finds a slot. Slot ids are device numbers as text. */
static int one_slot(struct req *r, struct core *core, const char *agent_id, const char *slot_id,
                    const struct wire_agent_slot **ret, int32_t *ret_device, struct error *err)
{
    struct core_agent_view v;
    if (find_agent(r, core, agent_id, &v, err) < 0)
        return -1;
    char *end;
    long device = strtol(slot_id ? slot_id : "", &end, 10);
    for (size_t i = 0; i < v.slot_n && slot_id && *slot_id && !*end; i++) {
        struct core_slot_view s;
        if (!core_slot(core, v.id, i, &s) || s.device->id != device)
            continue;
        struct wire_agent_slot *w = arena_new(&r->arena, struct wire_agent_slot);
        slot_to_wire(&s, &r->arena, w);
        agent_hide_slot(r, core, w);
        *ret = w;
        *ret_device = s.device->id;
        return 0;
    }
    return error_set(err, ERR_NOT_FOUND, "slot '%.40s' of agent '%.80s' not found", slot_id ? slot_id : "", agent_id);
}

int api_get_slot(struct req *r, struct core *core, const struct wire_get_slot_request *in,
                 struct wire_get_slot_response *ret, struct error *err)
{
    int32_t device;
    return one_slot(r, core, in->agent_id, in->slot_id, &ret->slot, &device, err);
}

/* ---- switching on and off ---------------------------------------------------------------------------------------- */

static int switch_agent(struct req *r, struct core *core, const char *agent_id, bool enable, bool drain,
                        const char *reason, const struct wire_agent **ret, struct error *err)
{
    struct core_event ev = {
        .type = CORE_AGENT_ENABLE,
        .now_us = r->now_us,
        .enable = {.agent_id = agent_id ? agent_id : "", .enable = enable, .drain = drain, .reason = reason}};
    if (req_core_step(r, core, &ev, NULL, err) < 0)
        return -1;
    return one_agent(r, core, agent_id, ret, err);
}

static int switch_slot(struct req *r, struct core *core, const char *agent_id, const char *slot_id, bool enable,
                       bool drain, const struct wire_agent_slot **ret, struct error *err)
{
    int32_t device;
    if (one_slot(r, core, agent_id, slot_id, ret, &device, err) < 0)
        return -1;
    struct core_event ev = {.type = CORE_SLOT_ENABLE,
                            .now_us = r->now_us,
                            .enable = {.agent_id = agent_id, .slot = device, .enable = enable, .drain = drain}};
    if (req_core_step(r, core, &ev, NULL, err) < 0)
        return -1;
    return one_slot(r, core, agent_id, slot_id, ret, &device, err);
}

int api_enable_agent(struct req *r, struct core *core, const struct wire_enable_agent_request *in,
                     struct wire_enable_agent_response *ret, struct error *err)
{
    return switch_agent(r, core, in->agent_id, true, false, /* reason= */ NULL, &ret->agent, err);
}

/* Checks the reason, which is shown in a table cell and in sentences that say why jobs wait. */
static int check_reason(const char *reason, struct error *err)
{
    if (strlen(reason) >= CORE_DISABLED_REASON_MAX)
        return error_set(err, ERR_INVALID, "reason: at most %d bytes, found %zu", CORE_DISABLED_REASON_MAX - 1,
                         strlen(reason));
    if (text_find_control(reason))
        return error_set(err, ERR_INVALID, "reason: must be one line of text without control characters");
    return 0;
}

int api_disable_agent(struct req *r, struct core *core, const struct wire_disable_agent_request *in,
                      struct wire_disable_agent_response *ret, struct error *err)
{
    const char *reason = in->reason && *in->reason ? in->reason : NULL;
    if (reason && check_reason(reason, err) < 0)
        return -1;
    return switch_agent(r, core, in->agent_id, false, in->drain, reason, &ret->agent, err);
}

static int check_label(const char *label, struct error *err)
{
    if (strlen(label) >= CORE_LABEL_MAX)
        return error_set(err, ERR_INVALID, "label: at most %d bytes, found %zu", CORE_LABEL_MAX - 1, strlen(label));
    if (text_find_control(label))
        return error_set(err, ERR_INVALID, "label: must be one line of text without control characters");
    return 0;
}

int api_label_agent(struct req *r, struct core *core, const struct wire_label_agent_request *in,
                    struct wire_label_agent_response *ret, struct error *err)
{
    const char *label = in->label ? in->label : "";
    struct core_event ev = {.type = CORE_AGENT_LABEL,
                            .now_us = r->now_us,
                            .label = {.agent_id = in->agent_id ? in->agent_id : "", .text = label}};
    if (check_label(label, err) < 0 || req_core_step(r, core, &ev, NULL, err) < 0)
        return -1;
    return one_agent(r, core, in->agent_id, &ret->agent, err);
}

static int forget_key(struct req *r, struct core *core, struct error *err)
{
    const struct api_services *s = &r->api->services;
    s->agent_key_revoked(s->ctx, r->state, r->now_us);
    return 0;
}

/* On the writer's thread: deletes the agent's key, and notes that its certificates are revoked. missing_ok: there need
 * not be a key. */
static int store_revoked(struct store *db, const char *id, int64_t now_us, bool missing_ok, struct error *err)
{
    struct store_agent_revocation row = {.revoked_us = now_us};
    snprintf(row.agent_id, sizeof(row.agent_id), "%s", id);
    if (store_agent_key_delete(db, id, err) < 0) {
        if (!missing_ok || err->kind != ERR_NOT_FOUND)
            return -1;
        error_release(err);
    }
    return store_agent_revocations_forget(db, now_us - JOINING_CERTIFICATE_MAX_US, err) < 0
               ? -1
               : store_agent_revocation_put(db, &row, err);
}

int api_revoke_agent_key(struct req *r, struct store *db, const struct wire_revoke_agent_key_request *in,
                         struct wire_revoke_agent_key_response *ret, struct error *err)
{
    const char *id = in->agent_id ? in->agent_id : "";
    if (req_need_admin(r, "revoke the keys of agents", err) < 0 ||
        store_revoked(db, id, r->now_us, /* missing_ok= */ false, err) < 0)
        return -1;
    r->state = (void *)id;
    return req_then_loop(r, forget_key);
}

static int store_removed(struct store *db, void *ctx, struct error *err)
{
    const struct req *r = ctx;
    /* another request may have revoked the key since this one was looked at */
    return store_revoked(db, r->state, r->now_us, /* missing_ok= */ true, err);
}

static void removed_stored(void *ctx, const struct error *err)
{
    struct req *r = ctx;
    const struct api_services *s = &r->api->services;
    struct error copy = ERROR_INIT;
    if (err)
        error_set(&copy, err->kind, "the agent is removed, but its key is still good: det agent revoke-key %s (%s)",
                  (const char *)r->state, error_msg(err));
    else
        s->agent_key_revoked(s->ctx, r->state, r->now_us);
    req_finish(r, &copy);
}

/* An agent with a certificate has to join again, should it come back. */
int api_remove_agent(struct req *r, struct core *core, const struct wire_remove_agent_request *in,
                     struct wire_remove_agent_response *ret, struct error *err)
{
    struct core_event ev = {.type = CORE_AGENT_REMOVE,
                            .now_us = r->now_us,
                            .remove_agent = in->agent_id ? in->agent_id : ""};
    const struct api_services *s = &r->api->services;
    struct companion companion = {.store = store_removed, .done = removed_stored, .ctx = r};
    if (req_need_admin(r, "remove agents", err) < 0)
        return -1;
    if (!s->agent_certificate_us(s->ctx, ev.remove_agent))
        return req_core_step(r, core, &ev, NULL, err);
    r->state = (void *)ev.remove_agent;
    return req_core_step(r, core, &ev, &companion, err) < 0 ? -1 : req_wait(r, NULL);
}

int api_enable_slot(struct req *r, struct core *core, const struct wire_enable_slot_request *in,
                    struct wire_enable_slot_response *ret, struct error *err)
{
    return switch_slot(r, core, in->agent_id, in->slot_id, true, false, &ret->slot, err);
}

int api_disable_slot(struct req *r, struct core *core, const struct wire_disable_slot_request *in,
                     struct wire_disable_slot_response *ret, struct error *err)
{
    return switch_slot(r, core, in->agent_id, in->slot_id, false, in->drain, &ret->slot, err);
}
