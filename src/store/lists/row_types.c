#include "store/lists/row_types.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/strbuf.h"
#include "common/json/json.h"

static const char *ints_write(const int32_t *value, int n, struct arena *a)
{
    cleanup_strbuf struct strbuf out = STRBUF_INIT;
    strbuf_addc(&out, '[');
    for (int i = 0; i < n; i++)
        strbuf_addf(&out, i ? ",%d" : "%d", value[i]);
    strbuf_addc(&out, ']');
    return arena_strndup(a, out.s, out.n);
}

static int32_t ints_read(const char *text, int32_t *value, int max)
{
    int32_t n = 0;
    for (const char *p = text; n < max && (p = strpbrk(p, "-0123456789"));) {
        char *end;
        value[n++] = (int32_t)strtol(p, &end, 10);
        p = *end ? end + 1 : end;
    }
    return n;
}

void allocation_ports_read(const char *text, struct allocation_row *x)
{
    ints_read(text, x->port, CORE_PORTS);
}

const char *allocation_ports_write(const struct allocation_row *x, struct arena *a)
{
    return ints_write(x->port, CORE_PORTS, a);
}

void container_devices_read(const char *text, struct container_row *x)
{
    x->device_n = ints_read(text, x->device_id, CORE_DEVICES_MAX);
}

const char *container_devices_write(const struct container_row *x, struct arena *a)
{
    return ints_write(x->device_id, x->device_n, a);
}

/* Numbers of the text are a device's id and a flag, by turns. */
void disabled_slots_read(const char *text, struct agent_row *x)
{
    for (const char *p = text; (p = strpbrk(p, "-0123456789")) && x->disabled_slot_n < CORE_DEVICES_MAX;) {
        char *end;
        x->disabled_slot[x->disabled_slot_n] = (int32_t)strtol(p, &end, 10);
        x->slot_draining[x->disabled_slot_n] = strtol(*end ? end + 1 : end, &end, 10) != 0;
        x->disabled_slot_n++;
        p = end;
    }
}

const char *disabled_slots_write(const struct agent_row *x, struct arena *a)
{
    cleanup_strbuf struct strbuf out = STRBUF_INIT;
    strbuf_addc(&out, '[');
    for (int i = 0; i < x->disabled_slot_n; i++)
        strbuf_addf(&out, "%s[%d,%d]", i ? "," : "", x->disabled_slot[i], x->slot_draining[i]);
    strbuf_addc(&out, ']');
    return arena_strndup(a, out.s, out.n);
}

/* The text is a list of [device id, reason]. */
void slot_troubles_read(const char *text, struct agent_row *x)
{
    cleanup_json struct json_object *list = NULL;
    if (json_parse(text, strlen(text), &list, NULL) < 0 || !json_object_is_type(list, json_type_array))
        return;
    for (size_t i = 0; i < json_object_array_length(list) && x->trouble_n < CORE_TROUBLES_MAX; i++) {
        struct json_object *one = json_object_array_get_idx(list, i);
        if (!json_object_is_type(one, json_type_array) || json_object_array_length(one) != 2)
            continue;
        struct slot_trouble *t = &x->trouble[x->trouble_n++];
        t->device_id = json_object_get_int(json_object_array_get_idx(one, 0));
        snprintf(t->reason, sizeof(t->reason), "%s", json_object_get_string(json_object_array_get_idx(one, 1)));
    }
}

const char *slot_troubles_write(const struct agent_row *x, struct arena *a)
{
    cleanup_strbuf struct strbuf out = STRBUF_INIT;
    strbuf_addc(&out, '[');
    for (int i = 0; i < x->trouble_n; i++) {
        strbuf_addf(&out, "%s[%d,", i ? "," : "", x->trouble[i].device_id);
        strbuf_add_json(&out, x->trouble[i].reason, strlen(x->trouble[i].reason));
        strbuf_addc(&out, ']');
    }
    strbuf_addc(&out, ']');
    return arena_strndup(a, out.s, out.n);
}

void host_faults_read(const char *text, struct agent_row *x)
{
    cleanup_json struct json_object *list = NULL;
    if (json_parse(text, strlen(text), &list, NULL) < 0 || !json_object_is_type(list, json_type_array))
        return;
    for (size_t i = 0; i < json_object_array_length(list) && x->fault_n < CORE_HOST_FAULTS_MAX; i++) {
        struct json_object *one = json_object_array_get_idx(list, i);
        if (!json_object_is_type(one, json_type_array) || json_object_array_length(one) != 2)
            continue;
        struct host_fault *f = &x->fault[x->fault_n++];
        f->at_us = json_object_get_int64(json_object_array_get_idx(one, 0));
        snprintf(f->task_id, sizeof(f->task_id), "%s", json_object_get_string(json_object_array_get_idx(one, 1)));
    }
}

const char *host_faults_write(const struct agent_row *x, struct arena *a)
{
    cleanup_strbuf struct strbuf out = STRBUF_INIT;
    strbuf_addc(&out, '[');
    for (int i = 0; i < x->fault_n; i++) {
        strbuf_addf(&out, "%s[%lld,", i ? "," : "", (long long)x->fault[i].at_us);
        strbuf_add_json(&out, x->fault[i].task_id, strlen(x->fault[i].task_id));
        strbuf_addc(&out, ']');
    }
    strbuf_addc(&out, ']');
    return arena_strndup(a, out.s, out.n);
}

/* ---- the action of a log policy ---------------------------------------------------------------------------------- */

static const char *const actions[LOG_POLICY_ACTION_NR] = {[LOG_POLICY_NONE] = "",
                                                          [LOG_POLICY_CANCEL_RETRIES] = "cancel_retries",
                                                          [LOG_POLICY_EXCLUDE_NODE] = "exclude_node"};

void log_match_action_read(const char *text, struct store_log_match *x)
{
    for (int i = 0; i < LOG_POLICY_ACTION_NR; i++)
        if (strcmp(text, actions[i]) == 0)
            x->action = (enum log_policy_action)i;
}

const char *log_match_action_write(const struct store_log_match *x, struct arena *a)
{
    return actions[x->action];
}
