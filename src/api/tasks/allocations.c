/* Serves the programs in an allocation: ready, preemption, rendezvous, all-gather, accelerators. All of this is live
 * state of the core; the long polls wait for the core's wake effects. */
#include <string.h>

#include "api/pipeline/convert.h"
#include "api/pipeline/internal.h"
#include "api/pipeline/wait.h"
#include "core/core.h"
#include "gen/handlers.h"
#include "store/cluster/tasks.h"

enum { PREEMPTION_TIMEOUT_MAX_S = 600, GATHER_TIMEOUT_S = 600, PROBE_REPORT_MAX = 4096 };

/* Finds the allocation. An id must end with a dot and a number; anything else is an error of the caller. */
static int need_allocation(struct req *r, struct core *core, const char *id, const struct allocation_row **ret,
                           struct error *err)
{
    if (!id || !strchr(id, '.'))
        return error_set(err, ERR_INVALID, "allocation id '%.80s' is malformed; it is TASK_ID.N", id ? id : "");
    const struct allocation_row *row = core_allocation(core, id);
    if (!row)
        return error_set(err, ERR_NOT_FOUND, "allocation '%.80s' not found among those that run", id);
    if (ret)
        *ret = row;
    return 0;
}

static int tell_core(struct req *r, struct core *core, enum core_event_type type, const char *allocation_id,
                     const char *container_id, struct error *err)
{
    struct core_event ev = {.type = type,
                            .now_us = r->now_us,
                            .allocation = {.allocation_id = allocation_id, .container_id = container_id}};
    if (need_allocation(r, core, allocation_id, NULL, err) < 0)
        return -1;
    return req_core_step(r, core, &ev, NULL, err);
}

int api_allocation_ready(struct req *r, struct core *core, const struct wire_allocation_ready_request *in,
                         struct wire_allocation_ready_response *ret, struct error *err)
{
    return tell_core(r, core, CORE_ALLOCATION_READY, in->allocation_id, NULL, err);
}

int api_allocation_waiting(struct req *r, struct core *core, const struct wire_allocation_waiting_request *in,
                           struct wire_allocation_waiting_response *ret, struct error *err)
{
    return tell_core(r, core, CORE_ALLOCATION_WAITING, in->allocation_id, NULL, err);
}

int api_ack_allocation_preemption_signal(struct req *r, struct core *core,
                                         const struct wire_ack_allocation_preemption_signal_request *in,
                                         struct wire_ack_allocation_preemption_signal_response *ret, struct error *err)
{
    return tell_core(r, core, CORE_PREEMPTION_ACKED, in->allocation_id, NULL, err);
}

int api_allocation_pending_preemption_signal(struct req *r, struct core *core,
                                             const struct wire_allocation_pending_preemption_signal_request *in,
                                             struct wire_allocation_pending_preemption_signal_response *ret,
                                             struct error *err)
{
    return tell_core(r, core, CORE_PREEMPTION_PENDING, in->allocation_id, NULL, err);
}

int api_mark_allocation_resources_daemon(struct req *r, struct core *core,
                                         const struct wire_mark_allocation_resources_daemon_request *in,
                                         struct wire_mark_allocation_resources_daemon_response *ret, struct error *err)
{
    return tell_core(r, core, CORE_CONTAINER_DAEMON, in->allocation_id, in->resources_id, err);
}

/* ---- preemption: the reply is false when the time is up ---------------------------------------------------------- */

static int preemption_look(struct req *r, struct core *core, struct error *err)
{
    const struct wire_allocation_preemption_signal_request *in = r->in;
    struct wire_allocation_preemption_signal_response *ret = r->ret;
    enum core_answer answer = core_preemption(core, in->allocation_id);
    ret->preempt = answer == CORE_ANSWER_YES;
    if (answer != CORE_ANSWER_WAIT || r->timed_out || in->timeout_seconds <= 0)
        return 0;
    int32_t timeout_s = in->timeout_seconds < PREEMPTION_TIMEOUT_MAX_S ? in->timeout_seconds : PREEMPTION_TIMEOUT_MAX_S;
    char topic[WAIT_TOPIC_MAX];
    wait_topic(topic, "preemption", in->allocation_id);
    return req_wait_topic(r, topic, timeout_s * 1000000LL, preemption_look);
}

int api_allocation_preemption_signal(struct req *r, struct core *core,
                                     const struct wire_allocation_preemption_signal_request *in,
                                     struct wire_allocation_preemption_signal_response *ret, struct error *err)
{
    if (need_allocation(r, core, in->allocation_id, NULL, err) < 0)
        return -1;
    return preemption_look(r, core, err);
}

/* ---- rendezvous: the other containers of the allocation and their addresses -------------------------------------- */

static int rendezvous_look(struct req *r, struct core *core, struct error *err)
{
    const struct wire_allocation_rendezvous_info_request *in = r->in;
    struct wire_allocation_rendezvous_info_response *ret = r->ret;
    struct core_peer *peer;
    size_t n;
    enum core_answer answer = core_rendezvous(core, in->allocation_id, &r->arena, &peer, &n);
    if (answer == CORE_ANSWER_GONE)
        return error_set(err, ERR_NOT_FOUND, "allocation '%.80s' has ended", in->allocation_id);
    if (answer == CORE_ANSWER_WAIT) {
        char topic[WAIT_TOPIC_MAX];
        wait_topic(topic, "rendezvous", in->allocation_id);
        return req_wait_topic(r, topic, 0, rendezvous_look);
    }
    struct wire_trial_rendezvous_info *info = arena_new(&r->arena, struct wire_trial_rendezvous_info);
    *info = (struct wire_trial_rendezvous_info){.addresses = arena_array(&r->arena, const char *, n + 1),
                                                .addresses_n = n,
                                                .slots = arena_array(&r->arena, int32_t, n + 1),
                                                .slots_n = n,
                                                .rank = -1};
    for (size_t i = 0; i < n; i++) {
        info->addresses[i] = peer[i].address;
        info->slots[i] = peer[i].slots;
        if (strcmp(peer[i].container_id, in->resources_id) == 0)
            info->rank = peer[i].rank;
    }
    if (info->rank < 0)
        return error_set(err, ERR_NOT_FOUND, "resources '%.80s' do not belong to allocation '%.80s'", in->resources_id,
                         in->allocation_id);
    ret->rendezvous_info = info;
    return 0;
}

int api_allocation_rendezvous_info(struct req *r, struct core *core,
                                   const struct wire_allocation_rendezvous_info_request *in,
                                   struct wire_allocation_rendezvous_info_response *ret, struct error *err)
{
    if (need_allocation(r, core, in->allocation_id, NULL, err) < 0)
        return -1;
    return rendezvous_look(r, core, err);
}

/* ---- all-gather -------------------------------------------------------------------------------------------------- */

static int gather_look(struct req *r, struct core *core, struct error *err)
{
    const struct wire_allocation_all_gather_request *in = r->in;
    struct wire_allocation_all_gather_response *ret = r->ret;
    const char *const *data;
    size_t n;
    enum core_answer answer = core_all_gather(core, in->allocation_id, in->request_uuid, &r->arena, &data, &n);
    if (answer == CORE_ANSWER_GONE)
        return error_set(err, ERR_ABORTED, "the all-gather of allocation '%.80s' has ended without this request",
                         in->allocation_id);
    if (answer == CORE_ANSWER_WAIT && r->timed_out)
        return error_set(err, ERR_DEADLINE, "only some of %d peers joined the all-gather within %d s", in->num_peers,
                         GATHER_TIMEOUT_S);
    if (answer == CORE_ANSWER_WAIT) {
        char topic[WAIT_TOPIC_MAX];
        wait_topic(topic, "gather", in->allocation_id);
        return req_wait_topic(r, topic, GATHER_TIMEOUT_S * 1000000LL, gather_look);
    }
    ret->data = (const char **)data;
    ret->data_n = n;
    return 0;
}

int api_allocation_all_gather(struct req *r, struct core *core, const struct wire_allocation_all_gather_request *in,
                              struct wire_allocation_all_gather_response *ret, struct error *err)
{
    if (!in->request_uuid || !*in->request_uuid)
        return error_set(err, ERR_INVALID, "requestUuid is missing");
    if (need_allocation(r, core, in->allocation_id, NULL, err) < 0)
        return -1;
    struct core_event ev = {.type = CORE_ALL_GATHER,
                            .now_us = r->now_us,
                            .gather = {.allocation_id = in->allocation_id,
                                       .request_uuid = in->request_uuid,
                                       .num_peers = in->num_peers,
                                       .data = in->data ? in->data : "null"}};
    if (req_core_step(r, core, &ev, NULL, err) < 0)
        return -1;
    return gather_look(r, core, err);
}

/* ---- the probe of a gang ----------------------------------------------------------------------------------------- */

/* The report becomes a line of the task's log, and a reason that lists of agents show. */
static int check_report(const char *report, struct error *err)
{
    size_t n = report ? strlen(report) : 0;
    if (n == 0 || n > PROBE_REPORT_MAX)
        return error_set(err, ERR_INVALID, "report: must have 1 to %d bytes, found %zu", PROBE_REPORT_MAX, n);
    for (const char *s = report; *s; s++)
        if ((unsigned char)*s < 32 || *s == 127)
            return error_set(err, ERR_INVALID, "report: must be one line without control characters");
    return 0;
}

int api_report_gang_probe(struct req *r, struct core *core, const struct wire_report_gang_probe_request *in,
                          struct wire_report_gang_probe_response *ret, struct error *err)
{
    if (check_report(in->report, err) < 0 || need_allocation(r, core, in->allocation_id, NULL, err) < 0)
        return -1;
    struct core_event ev = {.type = CORE_GANG_PROBED,
                            .now_us = r->now_us,
                            .probe = {.allocation_id = in->allocation_id,
                                      .failed = in->failed,
                                      .bad = (const char *const *)in->bad_agents,
                                      .bad_n = in->bad_agents_n,
                                      .report = in->report}};
    return req_core_step(r, core, &ev, NULL, err);
}

/* ---- accelerators ------------------------------------------------------------------------------------------------ */

int api_post_allocation_accelerator_data(struct req *r, struct store *db,
                                         const struct wire_post_allocation_accelerator_data_request *in,
                                         struct wire_post_allocation_accelerator_data_response *ret, struct error *err)
{
    const struct wire_accelerator_data *d = in->accelerator_data;
    if (!d || !d->container_id || !*d->container_id)
        return error_set(err, ERR_INVALID, "acceleratorData.containerId is missing");
    struct store_accelerator x = {.container_id = d->container_id,
                                  .allocation_id = in->allocation_id,
                                  .node_name = d->node_name ? d->node_name : "",
                                  .accelerator_type = d->accelerator_type ? d->accelerator_type : "",
                                  .uuids = json_of_string_list(d->accelerator_uuids, d->accelerator_uuids_n,
                                                               &r->arena)};
    return store_accelerator_set(db, &x, err);
}

int api_get_task_accelerator_data(struct req *r, struct store *db,
                                  const struct wire_get_task_accelerator_data_request *in,
                                  struct wire_get_task_accelerator_data_response *ret, struct error *err)
{
    struct store_accelerator *x;
    size_t n;
    if (store_accelerators_of_task(db, in->task_id, &r->arena, &x, &n, err) < 0)
        return -1;
    ret->accelerator_data = arena_array(&r->arena, struct wire_accelerator_data, n + 1);
    ret->accelerator_data_n = n;
    for (size_t i = 0; i < n; i++) {
        struct wire_accelerator_data *d = &ret->accelerator_data[i];
        *d = (struct wire_accelerator_data){.container_id = x[i].container_id,
                                            .allocation_id = x[i].allocation_id,
                                            .node_name = x[i].node_name,
                                            .task_id = x[i].task_id,
                                            .accelerator_type = x[i].accelerator_type,
                                            .resource_pool = x[i].resource_pool};
        if (string_list_of_json(x[i].uuids, &r->arena, &d->accelerator_uuids, &d->accelerator_uuids_n, err) < 0)
            return -1;
    }
    return 0;
}

/* ---- the stored allocation --------------------------------------------------------------------------------------- */

int api_get_allocation(struct req *r, struct store *db, const struct wire_get_allocation_request *in,
                       struct wire_get_allocation_response *ret, struct error *err)
{
    struct allocation_row row;
    if (store_allocation_get(db, in->allocation_id, &r->arena, &row, err) < 0)
        return -1;
    struct wire_task_allocation *w = arena_new(&r->arena, struct wire_task_allocation);
    allocation_to_wire(&row, &r->arena, w);
    if (store_allocation_proxy_address(db, in->allocation_id, &r->arena, &w->proxy_address, err) < 0)
        return -1;
    w->proxy_address = *w->proxy_address ? w->proxy_address : NULL;
    ret->allocation = w;
    return 0;
}

/* ---- what tasks of other resource managers tell ------------------------------------------------------------------ */

static int check_proxy_address(const char *address, struct error *err)
{
    enum { ADDRESS_MAX = 253 }; /* as long as a name of a host may be */
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-:";
    size_t n = address ? strlen(address) : 0;
    if (n > 0 && n <= ADDRESS_MAX && strspn(address, allowed) == n)
        return 0;
    return error_set(err, ERR_INVALID,
                     "proxyAddress '%.80s' is no address: an IP address or the name of a host of at most %d characters "
                     "is allowed",
                     address ? address : "", ADDRESS_MAX);
}

/* The address is kept and shown with the allocation. The proxy does not use it: it reaches the ports of a task through
 * the connection of the task's agent, and a task that could choose where the master connects to would see more of the
 * network than it should. */
int api_post_allocation_proxy_address(struct req *r, struct store *db,
                                      const struct wire_post_allocation_proxy_address_request *in,
                                      struct wire_post_allocation_proxy_address_response *ret, struct error *err)
{
    int64_t written;
    if (check_proxy_address(in->proxy_address, err) < 0 ||
        store_allocation_set_proxy_address(db, in->allocation_id, in->proxy_address, &written, err) < 0)
        return -1;
    return written
               ? 0
               : error_set(err, ERR_NOT_FOUND, "allocation '%.80s' not found among those that run", in->allocation_id);
}

/* Release 0.38.1 refuses this, too, unless it manages Slurm or PBS. */
int api_notify_container_running(struct req *r, struct core *core,
                                 const struct wire_notify_container_running_request *in,
                                 struct wire_notify_container_running_response *ret, struct error *err)
{
    if (need_allocation(r, core, in->allocation_id, NULL, err) < 0)
        return -1;
    return error_set(err, ERR_PRECONDITION,
                     "containers of allocation '%.80s' are not announced by this request, which is for Slurm and PBS: "
                     "the agent tells the master when a container runs. Leave the request out",
                     in->allocation_id);
}
