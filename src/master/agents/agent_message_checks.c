#include "master/agents/agent_message_checks.h"

#include <string.h>

#include "common/base/utf8.h"
#include "common/system/login_name.h"
#include "core/records/rows.h"
#include "master/agents/agent_keys.h"

enum {
    TEXT_MAX = 255, /* bytes of a name that people read: a version, a host name or a brand */
    ID_MAX = 64,    /* bytes of a container's id */
    EXIT_TEXT_MAX = 64 * 1024,
    CODE_MAX = 255, /* the highest exit code; the engine reports its own failures as -1 */
    SIGNAL_MAX = 64,
    DEVICE_ID_MAX = 1 << 20,
    TASKS_MAX = 10000, /* tasks of one agent, including those that have ended and whose end is not acknowledged yet */
    LINES_MAX = 100000,
    LINE_MAX = 8 * 1024 * 1024, /* bytes of a log line; a supervisor's lines are far shorter */
    RANK_MAX = 1 << 20,
};
#define SEQ_MAX (INT64_C(1) << 53)
#define TIME_US_MAX (INT64_C(1) << 56)
#define IDLE_MS_MAX (INT64_C(1) << 43)

/* ---- kinds of text ----------------------------------------------------------------------------------------------- */

/* True: the text has neither spaces nor control characters, so it can be written into log lines as it is. */
static bool is_plain(const char *s)
{
    for (; *s; s++)
        if ((unsigned char)*s <= ' ' || *s == 0x7f)
            return false;
    return true;
}

static int check_text(const char *what, const char *s, size_t max, struct error *err)
{
    if (s && strlen(s) > max)
        return error_set(err, ERR_INVALID, "%s has %zu bytes, allowed are %zu", what, strlen(s), max);
    if (s && text_find_control(s))
        return error_set(err, ERR_INVALID, "%s holds a control character", what);
    return 0;
}

/* Checks a text without spaces. NULL and "" are accepted. */
static int check_word(const char *what, const char *s, size_t max, struct error *err)
{
    if (check_text(what, s, max, err) < 0)
        return -1;
    return s && !is_plain(s) ? error_set(err, ERR_INVALID, "%s holds a space", what) : 0;
}

/* People give this name to ssh, as a part of a word of its command line. */
static int check_login_name(const char *s, struct error *err)
{
    if (!s || !*s || login_name_is_plain(s))
        return 0;
    return error_set(err, ERR_INVALID, "account '%.80s' is no login name of letters, digits, '_', '.' and '-'", s);
}

static int check_container(const char *id, struct error *err)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
    if (!id || !*id || strlen(id) > ID_MAX || strspn(id, letters) != strlen(id))
        return error_set(err, ERR_INVALID, "containerId '%.80s' must have 1 to %d letters, digits, '-' and '_'",
                         id ? id : "", ID_MAX);
    return 0;
}

static int check_range(const char *what, int64_t n, int64_t min, int64_t max, struct error *err)
{
    if (n >= min && n <= max)
        return 0;
    return error_set(err, ERR_INVALID, "%s is %lld, allowed are %lld to %lld", what, (long long)n, (long long)min,
                     (long long)max);
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

int agent_message_check_agent_id(const char *agent_id, struct error *err)
{
    if (!*agent_id || strlen(agent_id) >= CORE_AGENT_ID_MAX)
        return error_set(err, ERR_INVALID, "agent id '%.40s' must have 1 to %d bytes", agent_id, CORE_AGENT_ID_MAX - 1);
    if (!is_plain(agent_id) || strchr(agent_id, '/'))
        return error_set(err, ERR_INVALID,
                         "an agent id must hold no space, control character or '/'; set agent_id in agent.yaml");
    return 0;
}

static int check_exit(const struct wire_link_task_exit *x, struct error *err)
{
    if (check_range("exit.kind", x->kind, WIRE_LINK_EXIT_KIND_UNSPECIFIED, WIRE_LINK_EXIT_KIND_REFUSED, err) < 0 ||
        check_range("exit.code", x->code, -1, CODE_MAX, err) < 0 ||
        check_range("exit.signal", x->signal, 0, SIGNAL_MAX, err) < 0)
        return -1;
    if (x->text && strlen(x->text) > EXIT_TEXT_MAX)
        return error_set(err, ERR_INVALID, "exit.text has %zu bytes, allowed are %d", strlen(x->text), EXIT_TEXT_MAX);
    return 0;
}

static int check_state(const struct wire_link_task_state *t, struct error *err)
{
    if (check_container(t->container_id, err) < 0 ||
        check_word("allocationId", t->allocation_id, CORE_ALLOCATION_ID_MAX - 1, err) < 0 ||
        check_range("state", t->state, WIRE_CONTAINER_STATE_ASSIGNED, WIRE_CONTAINER_STATE_TERMINATED, err) < 0 ||
        check_word("address", t->address, CORE_ADDRESS_MAX - 1, err) < 0 ||
        check_word("runtimeId", t->runtime_id, CORE_RUNTIME_ID_MAX - 1, err) < 0 ||
        check_login_name(t->account, err) < 0)
        return -1;
    return t->exit ? check_exit(t->exit, err) : 0;
}

static int check_device(const struct wire_link_device *d, struct error *err)
{
    return check_range("a device's id", d->id, 0, DEVICE_ID_MAX, err) < 0 ||
                   check_range("a device's type", d->type, WIRE_DEVICE_TYPE_CPU, WIRE_DEVICE_TYPE_ROCM, err) < 0 ||
                   check_text("a device's brand", d->brand, TEXT_MAX, err) < 0 ||
                   check_text("a device's uuid", d->uuid, TEXT_MAX, err) < 0
               ? -1
               : 0;
}

static int check_troubles(const struct wire_link_device_trouble *t, size_t n, struct error *err)
{
    if (check_range("the number of devices in trouble", (int64_t)n, 0, CORE_DEVICES_MAX, err) < 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        if (check_range("the id of a device in trouble", t[i].id, 0, DEVICE_ID_MAX, err) < 0 ||
            check_text("the reason of a device's trouble", t[i].reason, CORE_SLOT_REASON_MAX - 1, err) < 0 ||
            check_range("the time of a device's trouble", t[i].since_us, 1, TIME_US_MAX, err) < 0)
            return -1;
    return 0;
}

/* NULL and "" are accepted: the agent offers none. */
static int check_key(const char *key, struct error *err)
{
    if (!key || !*key || (strlen(key) == AGENT_KEY_DIGITS && strspn(key, "0123456789abcdef") == AGENT_KEY_DIGITS))
        return 0;
    return error_set(err, ERR_INVALID, "key has %zu characters; it must have %d, all of them of 0123456789abcdef",
                     strlen(key), AGENT_KEY_DIGITS);
}

static int check_hello(const struct wire_link_agent_hello *h, struct error *err)
{
    if (check_word("version", h->version, TEXT_MAX, err) < 0 ||
        check_text("hostname", h->hostname, TEXT_MAX, err) < 0 ||
        check_text("resourcePool", h->resource_pool, TEXT_MAX, err) < 0 ||
        check_word("clusterId", h->cluster_id, TEXT_MAX, err) < 0 || check_key(h->key, err) < 0 ||
        check_range("the number of devices", (int64_t)h->devices_n, 0, CORE_DEVICES_MAX, err) < 0 ||
        check_range("the number of tasks", (int64_t)h->tasks_n, 0, TASKS_MAX, err) < 0)
        return -1;
    for (size_t i = 0; i < h->devices_n; i++)
        if (check_device(&h->devices[i], err) < 0)
            return -1;
    for (size_t i = 0; i < h->tasks_n; i++)
        if (check_state(&h->tasks[i], err) < 0)
            return -1;
    return check_troubles(h->troubles, h->troubles_n, err);
}

static int check_line(const struct wire_link_log_line *w, struct error *err)
{
    if (check_word("a line's stdtype", w->stdtype, ID_MAX, err) < 0 ||
        check_text("a line's source", w->source, TEXT_MAX, err) < 0 ||
        check_range("a line's level", w->level, WIRE_LOG_LEVEL_UNSPECIFIED, WIRE_LOG_LEVEL_CRITICAL, err) < 0 ||
        (w->has_rank_id && check_range("a line's rankId", w->rank_id, -1, RANK_MAX, err) < 0))
        return -1;
    size_t n = w->log ? strlen(w->log) : 0;
    return n > LINE_MAX ? error_set(err, ERR_INVALID, "a line has %zu bytes, allowed are %d", n, LINE_MAX) : 0;
}

static int check_logs(const struct wire_link_task_logs *logs, struct error *err)
{
    if (check_container(logs->container_id, err) < 0 ||
        check_word("taskId", logs->task_id, CORE_TASK_ID_MAX - 1, err) < 0 ||
        check_word("allocationId", logs->allocation_id, CORE_ALLOCATION_ID_MAX - 1, err) < 0 ||
        check_range("firstSeq", logs->first_seq, 1, SEQ_MAX, err) < 0 ||
        check_range("the number of lines", (int64_t)logs->lines_n, 0, LINES_MAX, err) < 0)
        return -1;
    for (size_t i = 0; i < logs->lines_n; i++)
        if (check_line(&logs->lines[i], err) < 0)
            return -1;
    return 0;
}

static int check_devices(const struct wire_link_devices_state *d, struct error *err)
{
    if (check_range("the number of lost devices", (int64_t)d->lost_ids_n, 0, CORE_DEVICES_MAX, err) < 0)
        return -1;
    for (size_t i = 0; i < d->lost_ids_n; i++)
        if (check_range("a lost device's id", d->lost_ids[i], 0, DEVICE_ID_MAX, err) < 0)
            return -1;
    return check_troubles(d->troubles, d->troubles_n, err);
}

static int check_use(const struct wire_link_slots_use *use, struct error *err)
{
    if (check_range("the number of tasks", (int64_t)use->tasks_n, 0, TASKS_MAX, err) < 0)
        return -1;
    for (size_t i = 0; i < use->tasks_n; i++)
        if (check_container(use->tasks[i].container_id, err) < 0 ||
            check_range("idleMs", use->tasks[i].idle_ms, 0, IDLE_MS_MAX, err) < 0 ||
            check_text("the problem of a task's use", use->tasks[i].problem, TEXT_MAX, err) < 0)
            return -1;
    return 0;
}

/* Checks a message, except metrics. Metrics are checked by agent_metrics.c, and by the code for metrics of trials. */
int agent_message_check(const struct wire_link_agent_message *m, struct error *err)
{
    if (m->hello)
        return check_hello(m->hello, err);
    if (m->state)
        return check_state(m->state, err);
    if (m->logs)
        return check_logs(m->logs, err);
    if (m->devices)
        return check_devices(m->devices, err);
    if (m->use)
        return check_use(m->use, err);
    if (m->ready)
        return check_container(m->ready->container_id, err);
    return m->metrics ? check_container(m->metrics->container_id, err) : 0;
}
