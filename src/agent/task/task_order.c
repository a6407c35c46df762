/* Two files beside the supervisor's order, with which an agent that is started again goes on:
 *
 * supervisor/order  what this agent itself needs of StartTask while the task runs, as a StartTask with only these
 * fields. It holds no secrets. supervisor/start  the whole StartTask, only while the task waits for its Python. Making
 * an environment takes minutes, so the next agent begins anew with it. As the supervisor's order does, it holds the
 * task's tokens.
 *
 * They are not synced, because a task does not survive its machine either. */
#include "agent/task/task_internal.h"

#include <fcntl.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/codec/codec.h"
#include "common/system/files.h"
#include "common/system/log.h"

enum { ORDER_MAX = 256 * 1024 * 1024 };

static const char order_file[] = "order", start_file[] = "start";

static int keep(const struct runtime_task *rt, const char *name, const struct wire_link_start_task *s,
                struct error *err)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    cleanup_free char *path = path_join(rt->dir.supervisor, name);
    codec_encode(&wire_msg_link_start_task, s, &text);
    cleanup_close int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    return fd < 0 || fd_write_all(fd, text.s, text.n) < 0 ? error_errno(err, "cannot write %s", path) : 0;
}

/* Returns NULL if there is no such file, or if it cannot be read, which is logged. */
static const struct wire_link_start_task *read_kept(struct runtime_task *rt, const char *name, const char *consequence)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    cleanup_free char *path = path_join(rt->dir.supervisor, name);
    cleanup_error struct error err = ERROR_INIT;
    struct wire_link_start_task *kept = arena_new(&rt->arena, struct wire_link_start_task);
    if (file_read(path, ORDER_MAX, &text, &err) < 0)
        return NULL;
    if (codec_decode(&wire_msg_link_start_task, strbuf_str(&text), text.n, &rt->arena, kept, &err) == 0)
        return kept;
    log_warning("task.order_unreadable", "container=%s file=%s reason=%s consequence=%s", rt->container_id, name,
                log_quote(error_msg(&err)), log_quote(consequence));
    return NULL;
}

int task_order_keep(const struct runtime_task *rt, struct error *err)
{
    const struct wire_link_start_task *s = rt->start;
    struct wire_link_start_task kept = {.container_id = s->container_id,
                                        .allocation_id = s->allocation_id,
                                        .task_id = s->task_id,
                                        .task_type = s->task_type,
                                        .proxy_ports = s->proxy_ports,
                                        .proxy_ports_n = s->proxy_ports_n,
                                        .ready_pattern = s->ready_pattern,
                                        .waiting_pattern = s->waiting_pattern,
                                        .watch_use = s->watch_use};
    return keep(rt, order_file, &kept, err);
}

void task_order_read(struct runtime_task *rt)
{
    rt->kept = read_kept(rt, order_file, "its ports cannot be reached");
}

int task_start_keep(const struct runtime_task *rt, struct error *err)
{
    return keep(rt, start_file, rt->start, err);
}

const struct wire_link_start_task *task_start_read(struct runtime_task *rt)
{
    return read_kept(rt, start_file, "the task counts as lost");
}

void task_start_forget(const struct runtime_task *rt)
{
    cleanup_free char *path = path_join(rt->dir.supervisor, start_file);
    unlink(path);
}
