/* A file beside the supervisor's order, `supervisor/order`: what this agent itself needs of StartTask while the task
 * runs, as a StartTask with only these fields. An agent that is started again finds it there. It holds no secrets. */
#include "agent/task/task_internal.h"

#include <fcntl.h>

#include "common/base/cleanup.h"
#include "common/codec/codec.h"
#include "common/system/files.h"
#include "common/system/log.h"

enum { ORDER_MAX = 1024 * 1024 };

static char *order_path(const struct runtime_task *rt)
{
    return path_join(rt->dir.supervisor, "order");
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
                                        .waiting_pattern = s->waiting_pattern};
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    cleanup_free char *path = order_path(rt);
    codec_encode(&wire_msg_link_start_task, &kept, &text);
    /* It is not synced, because a task does not survive its machine either. */
    cleanup_close int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    return fd < 0 || fd_write_all(fd, text.s, text.n) < 0 ? error_errno(err, "cannot write %s", path) : 0;
}

void task_order_read(struct runtime_task *rt)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    cleanup_free char *path = order_path(rt);
    cleanup_error struct error err = ERROR_INIT;
    struct wire_link_start_task *kept = arena_new(&rt->arena, struct wire_link_start_task);
    if (file_read(path, ORDER_MAX, &text, &err) < 0)
        return;
    if (codec_decode(&wire_msg_link_start_task, strbuf_str(&text), text.n, &rt->arena, kept, &err) == 0)
        rt->kept = kept;
    else
        log_warning("task.order_unreadable", "container=%s reason=%s consequence=\"its ports cannot be reached\"",
                    rt->container_id, log_quote(error_msg(&err)));
}
