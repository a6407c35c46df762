/* Records where a task runs. Nothing waits for these requests, and nothing depends on them. */
#include "agent/task/task_internal.h"

#include "common/base/cleanup.h"
#include "common/codec/codec.h"
#include "common/system/log.h"

static void on_record_reply(void *ctx, struct http_fetch_reply *reply, const struct error *err)
{
    if (!reply || reply->status >= 400)
        log_debug("task.record_not_told", "what=%s status=%d", (const char *)ctx, reply ? reply->status : 0);
}

static void send_record(struct task *t, const char *method, const char *what, const struct codec_message *m,
                        const void *request)
{
    cleanup_strbuf struct strbuf body = STRBUF_INIT;
    codec_encode(m, request, &body);
    task_fetch(t, method, what, &body, on_record_reply, (void *)what);
}

static void record_accelerators(struct task *t)
{
    struct runtime_task *rt = t->rt;
    size_t n = rt->start->device_ids_n;
    struct slots_share *share;
    size_t gpu_n = slots_shares(rt->slots, rt->start->device_ids, n, &rt->arena, &share);
    const char **uuid = arena_array(&rt->arena, const char *, gpu_n + 1);
    for (size_t i = 0; i < gpu_n; i++)
        uuid[i] = share[i].gpu->uuid;
    struct wire_accelerator_data data = {.container_id = t->container_id,
                                         .allocation_id = t->allocation_id,
                                         .task_id = t->task_id,
                                         .node_name = t->agent->config->hostname,
                                         .accelerator_type = gpu_n ? share[gpu_n - 1].gpu->model : "cpu",
                                         .accelerator_uuids = uuid,
                                         .accelerator_uuids_n = gpu_n,
                                         .resource_pool = t->agent->config->resource_pool};
    struct wire_post_allocation_accelerator_data_request q = {.allocation_id = t->allocation_id,
                                                              .accelerator_data = &data};
    send_record(t, "POST", "acceleratorData", &wire_msg_post_allocation_accelerator_data_request, &q);
}

static const struct wire_python_environment *python_of(const struct python_found *found, struct arena *a)
{
    struct wire_python_environment *w = arena_new(a, struct wire_python_environment);
    if (!found)
        return NULL;
    *w = (struct wire_python_environment){.executable = found->executable,
                                          .version = found->version,
                                          .seen_by_agent = true,
                                          .packages = arena_array(a, struct wire_map_string, found->package_n + 1)};
    for (size_t i = 0; i < found->package_n; i++)
        w->packages[w->packages_n++] = (struct wire_map_string){found->package[i].name, found->package[i].version};
    return w;
}

static void record_environment(struct task *t, const struct python_found *found)
{
    struct runtime_task *rt = t->rt;
    struct wire_host_environment host = t->agent->host;
    host.driver = rt->slots->driver;
    host.devices = arena_array(&rt->arena, struct wire_device, rt->start->device_ids_n + 1);
    for (size_t i = 0; i < rt->start->device_ids_n; i++) {
        const struct wire_link_device *d = slots_device(rt->slots, rt->start->device_ids[i]);
        if (d)
            host.devices[host.devices_n++] =
                (struct wire_device){.id = d->id, .brand = d->brand, .uuid = d->uuid, .type = d->type};
    }
    struct wire_put_allocation_environment_request q = {.allocation_id = t->allocation_id,
                                                        .container_id = t->container_id,
                                                        .host = &host,
                                                        .python = python_of(found, &rt->arena)};
    send_record(t, "PUT", "environment", &wire_msg_put_allocation_environment_request, &q);
}

static void on_python(void *ctx, const struct python_found *found)
{
    struct task *t = ctx;
    python_probe_free(t->python_probe);
    t->python_probe = NULL;
    if (!t->busy && !t->discard)
        record_environment(t, found);
    if (t->sm.state == TASK_ENDED && !t->discard)
        task_send_end(t); /* task_set_exit() has left the end to this function */
}

void task_tell_record(struct task *t)
{
    record_accelerators(t);
    if (t->rt->python_process.pid)
        t->python_probe = python_probe_new(t->agent->loop, &t->rt->python_process, on_python, t);
    else
        record_environment(t, NULL);
}
