#include "agent/engine/container.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/base/must.h"
#include "common/base/percent.h"
#include "common/task/taskspec.h"

enum {
    CREATE_TIMEOUT_S = 120,
    START_TIMEOUT_S = 120,
    REMOVE_TIMEOUT_S = 120,
    LIST_TIMEOUT_S = 60,
    LOOK_EVERY_US = 500000,
    CONTAINER_ID_MAX = 64 + 1, /* SHA-256 as hexadecimal digits */
};

/* ---- the description --------------------------------------------------------------------------------------------- */

static struct json_object *text(const char *s)
{
    return json_object_new_string(s);
}

static struct json_object *texts(const char *const *list, size_t n)
{
    struct json_object *o = json_object_new_array();
    for (size_t i = 0; i < n; i++)
        json_object_array_add(o, text(list[i]));
    return o;
}

static struct json_object *describe_mounts(const struct container_order *o)
{
    struct json_object *list = json_object_new_array();
    for (size_t i = 0; i < o->mount_n; i++) {
        const struct container_mount *m = &o->mount[i];
        struct json_object *v = json_object_new_object(), *bind = json_object_new_object();
        json_object_object_add(v, "Type", text("bind"));
        json_object_object_add(v, "Source", text(m->source));
        json_object_object_add(v, "Target", text(m->target));
        json_object_object_add(v, "ReadOnly", json_object_new_boolean(m->read_only));
        json_object_object_add(bind, "Propagation",
                               text(m->propagation && *m->propagation ? m->propagation : "rprivate"));
        json_object_object_add(v, "BindOptions", bind);
        json_object_array_add(list, v);
    }
    return list;
}

static void add_device(struct json_object *list, const char *from, const char *to, const char *mode)
{
    struct json_object *v = json_object_new_object();
    json_object_object_add(v, "PathOnHost", text(from));
    json_object_object_add(v, "PathInContainer", text(to));
    json_object_object_add(v, "CgroupPermissions", text(mode));
    json_object_array_add(list, v);
}

/* NVIDIA's GPUs are asked for by uuid, and the engine's NVIDIA runtime brings devices and driver. AMD's are devices
 * that all GPUs of the machine share; ROCR_VISIBLE_DEVICES in the task's environment says which of them are the task's.
 */
static void describe_gpus(const struct container_order *o, struct json_object *host, struct json_object *devices,
                          struct json_object *security)
{
    static const char *const abilities[] = {"gpu", "compute", "utility"}, *const video[] = {"video"};
    if (o->gpu_n && o->gpu_type == WIRE_DEVICE_TYPE_CUDA) {
        struct json_object *q = json_object_new_object(), *any = json_object_new_array();
        json_object_object_add(q, "Driver", text("nvidia"));
        json_object_object_add(q, "DeviceIDs", texts(o->gpu, o->gpu_n));
        json_object_array_add(any, texts(abilities, 3));
        json_object_object_add(q, "Capabilities", any);
        struct json_object *list = json_object_new_array();
        json_object_array_add(list, q);
        json_object_object_add(host, "DeviceRequests", list);
    } else if (o->gpu_n && o->gpu_type == WIRE_DEVICE_TYPE_ROCM) {
        add_device(devices, "/dev/kfd", "/dev/kfd", "rwm");
        add_device(devices, "/dev/dri", "/dev/dri", "rwm");
        json_object_object_add(host, "GroupAdd", texts(video, 1));
        json_object_array_add(security, text("seccomp=unconfined"));
    }
}

static void describe_limits(const struct engine *e, const struct container_order *o, struct json_object *host)
{
    if (o->memory_bytes > 0 && e->limits_memory)
        json_object_object_add(host, "Memory", json_object_new_int64(o->memory_bytes));
    if (o->processes > 0 && e->limits_processes)
        json_object_object_add(host, "PidsLimit", json_object_new_int64(o->processes));
    if (o->cpus > 0)
        json_object_object_add(host, "NanoCpus", json_object_new_int64((int64_t)(o->cpus * 1e9)));
    if (o->cpuset)
        json_object_object_add(host, "CpusetCpus", text(o->cpuset));
    if (o->shm_bytes > 0)
        json_object_object_add(host, "ShmSize", json_object_new_int64(o->shm_bytes));
}

static void describe_ports(const struct container_order *o, struct json_object *body, struct json_object *host)
{
    if (!o->port_n || strcmp(o->network_mode, "host") == 0 || strcmp(o->network_mode, "none") == 0)
        return;
    struct json_object *exposed = json_object_new_object(), *bound = json_object_new_object();
    for (size_t i = 0; i < o->port_n; i++) {
        char number[16], name[32];
        snprintf(number, sizeof(number), "%d", o->port[i]);
        snprintf(name, sizeof(name), "%d/tcp", o->port[i]);
        struct json_object *place = json_object_new_object(), *places = json_object_new_array();
        json_object_object_add(place, "HostPort", text(number));
        json_object_array_add(places, place);
        json_object_object_add(exposed, name, json_object_new_object());
        json_object_object_add(bound, name, places);
    }
    json_object_object_add(body, "ExposedPorts", exposed);
    json_object_object_add(host, "PortBindings", bound);
}

static struct json_object *describe_host(const struct engine *e, const struct container_order *o)
{
    struct json_object *host = json_object_new_object(), *devices = json_object_new_array(),
                       *security = json_object_new_array();
    json_object_array_add(security, text("no-new-privileges"));
    for (size_t i = 0; i < o->device_n; i++)
        add_device(devices, o->device[i].host_path, o->device[i].container_path, o->device[i].mode);
    describe_gpus(o, host, devices, security);
    describe_limits(e, o, host);
    json_object_object_add(host, "Mounts", describe_mounts(o));
    json_object_object_add(host, "Devices", devices);
    json_object_object_add(host, "SecurityOpt", security);
    json_object_object_add(host, "NetworkMode", text(o->network_mode));
    json_object_object_add(host, "Privileged", json_object_new_boolean(false));
    if (o->add_capability_n)
        json_object_object_add(host, "CapAdd", texts(o->add_capability, o->add_capability_n));
    if (e->remaps)
        json_object_object_add(host, "UsernsMode", text("host"));
    return host;
}

struct json_object *container_describe(const struct engine *e, const struct container_order *o)
{
    struct json_object *body = json_object_new_object(), *argv = json_object_new_array(),
                       *labels = json_object_new_object(), *host = describe_host(e, o);
    for (char *const *word = o->argv; *word; word++)
        json_object_array_add(argv, text(*word));
    for (size_t i = 0; i < o->label_n; i++)
        json_object_object_add(labels, o->label[i].name, text(o->label[i].value));
    json_object_object_add(body, "Image", text(o->image));
    json_object_object_add(body, "Entrypoint", argv);
    json_object_object_add(body, "Cmd", json_object_new_array());
    json_object_object_add(body, "User", text(o->user));
    json_object_object_add(body, "WorkingDir", text("/"));
    json_object_object_add(body, "Labels", labels);
    describe_ports(o, body, host);
    json_object_object_add(body, "HostConfig", host);
    return body;
}

/* ---- made and started -------------------------------------------------------------------------------------------- */

struct container_launch {
    struct engine *engine;
    char *name;
    char id[CONTAINER_ID_MAX]; /* the engine's; "": it has not said one */
    struct engine_call *call;
    int ready_fd;
    struct loop_watch *ready;
    bool started;            /* the engine has answered that it has started the container */
    char message[512];       /* what the first process has said; "" until then */
    struct loop_timer *look; /* whether the container still runs, while its first process has not said anything */
    container_started_fn *done;
    void *ctx;
};

static void launch_free(struct container_launch *l)
{
    loop_watch_free(l->ready);
    loop_timer_free(l->look);
    if (l->ready_fd >= 0)
        close(l->ready_fd);
    free(l->name);
    free(l);
}

static void launch_end(struct container_launch *l, bool executed, const struct error *err)
{
    container_started_fn *done = l->done;
    void *ctx = l->ctx;
    char id[CONTAINER_ID_MAX];
    memcpy(id, l->id, sizeof(id));
    engine_call_cancel(l->call);
    l->call = NULL;
    launch_free(l);
    done(ctx, id, executed, err);
}

/* Ends the launch if both have spoken. The first process is often faster than the engine, and a request that is
 * dropped might make the engine undo what it asked for. */
static void end_if_told(struct container_launch *l)
{
    cleanup_error struct error err = ERROR_INIT;
    if (!l->started || !l->message[0])
        return;
    if (l->message[0] == TASKSPEC_TOLD_FAILED)
        error_set(&err, ERR_PRECONDITION, "the task's supervisor could not start in its container: %s", l->message + 1);
    launch_end(l, l->message[0] == TASKSPEC_TOLD_READY, err.kind ? &err : NULL);
}

static void on_ready(int fd, void *ctx)
{
    struct container_launch *l = ctx;
    char message[sizeof(l->message)];
    ssize_t n = read(fd, message, sizeof(message) - 1);
    if (n <= 0 || l->message[0])
        return;
    message[n] = 0;
    memcpy(l->message, message, (size_t)n + 1);
    end_if_told(l);
}

static void on_looked(void *ctx, struct json_object *body, const struct error *err)
{
    struct container_launch *l = ctx;
    cleanup_error struct error e = ERROR_INIT;
    const char *status = engine_text(body, "State.Status"), *reason = engine_text(body, "State.Error");
    l->call = NULL;
    if (err && err->kind == ERR_NOT_FOUND) {
        error_set(&e, ERR_PRECONDITION, "the task's container was removed while it was started");
        launch_end(l, false, &e);
    } else if (!err && (strcmp(status, "exited") == 0 || strcmp(status, "dead") == 0)) {
        error_set(&e, ERR_PRECONDITION, "the task's container ended before its supervisor was there%s%s",
                  *reason ? ": " : "", reason);
        launch_end(l, false, &e);
    } else {
        loop_timer_arm(l->look, LOOK_EVERY_US);
    }
}

static void on_look(void *ctx)
{
    struct container_launch *l = ctx;
    cleanup_strbuf struct strbuf path = STRBUF_INIT;
    strbuf_addf(&path, "/containers/%s/json", l->name);
    struct engine_request q = {.method = "GET", .path = path.s, .timeout_s = START_TIMEOUT_S};
    l->call = engine_ask(l->engine, &q, on_looked, l);
}

/* Whether an engine says that what it was to mount has no place in the image: where a directory should be is a file.
 * The sources of all mounts were checked before. The words are those of runc and of crun; engines have no code for
 * it. runc says "to rootfs at" of a mount that the machine forbids as well. */
static bool is_fault_of_image(const struct error *err)
{
    const char *text = error_msg(err);
    return (strstr(text, "to rootfs at") || strstr(text, "OCI")) && strcasestr(text, "not a directory");
}

static void on_started(void *ctx, struct json_object *body, const struct error *err)
{
    struct container_launch *l = ctx;
    cleanup_error struct error e = ERROR_INIT;
    (void)body;
    l->call = NULL;
    if (!err || l->message[0] == TASKSPEC_TOLD_READY) {
        l->started = true;
        loop_timer_arm(l->look, LOOK_EVERY_US);
        end_if_told(l);
        return;
    }
    error_set(&e, err->kind == ERR_INVALID || is_fault_of_image(err) ? ERR_INVALID : ERR_PRECONDITION,
              "the task's container could not be started: %s", error_msg(err));
    launch_end(l, false, &e);
}

static void on_created(void *ctx, struct json_object *body, const struct error *err)
{
    struct container_launch *l = ctx;
    cleanup_error struct error e = ERROR_INIT;
    cleanup_strbuf struct strbuf path = STRBUF_INIT;
    l->call = NULL;
    if (err) {
        error_set(&e, err->kind == ERR_INVALID ? ERR_INVALID : ERR_PRECONDITION,
                  "the task's container could not be made: %s", error_msg(err));
        launch_end(l, false, &e);
        return;
    }
    const char *id = engine_text(body, "Id");
    if (strlen(id) < sizeof(l->id) && id[strspn(id, "0123456789abcdefABCDEF")] == '\0')
        memcpy(l->id, id, strlen(id) + 1);
    strbuf_addf(&path, "/containers/%s/start", l->name);
    struct engine_request q = {.method = "POST", .path = path.s, .timeout_s = START_TIMEOUT_S};
    l->call = engine_ask(l->engine, &q, on_started, l);
}

struct container_launch *container_launch_start(struct engine *e, const struct container_order *o, const char *ready,
                                                container_started_fn *done, void *ctx)
{
    struct container_launch *l = must_calloc(1, sizeof(*l));
    cleanup_json struct json_object *body = container_describe(e, o);
    cleanup_strbuf struct strbuf path = STRBUF_INIT;
    *l = (struct container_launch){.engine = e, .name = must_strdup(o->name), .done = done, .ctx = ctx};
    /* The pipe is opened for writing as well: then the first process finds a reader, and its end is no end of file. */
    l->ready_fd = open(ready, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    l->look = loop_timer_new(e->loop, on_look, l);
    if (l->ready_fd >= 0)
        l->ready = loop_watch_readable(e->loop, l->ready_fd, on_ready, l);
    strbuf_addf(&path, "/containers/create?name=%s", o->name);
    struct engine_request q = {.method = "POST", .path = path.s, .body = body, .timeout_s = CREATE_TIMEOUT_S};
    l->call = engine_ask(e, &q, on_created, l);
    return l;
}

void container_launch_cancel(struct container_launch *l)
{
    if (!l)
        return;
    engine_call_cancel(l->call);
    launch_free(l);
}

/* ---- removed, listed --------------------------------------------------------------------------------------------- */

struct engine_call *container_remove(struct engine *e, const char *name, engine_reply_fn *done, void *ctx)
{
    cleanup_strbuf struct strbuf path = STRBUF_INIT;
    strbuf_addf(&path, "/containers/%s?force=true&v=true", name);
    struct engine_request q = {.method = "DELETE", .path = path.s, .timeout_s = REMOVE_TIMEOUT_S};
    return engine_ask(e, &q, done, ctx);
}

struct engine_call *container_list(struct engine *e, const struct container_label *label, size_t label_n,
                                   engine_reply_fn *done, void *ctx)
{
    cleanup_json struct json_object *filters = json_object_new_object();
    cleanup_strbuf struct strbuf path = STRBUF_INIT, json = STRBUF_INIT;
    struct json_object *list = json_object_new_array();
    json_object_object_add(filters, "label", list);
    for (size_t i = 0; i < label_n; i++) {
        cleanup_free char *pair = must_asprintf("%s=%s", label[i].name, label[i].value);
        json_object_array_add(list, json_object_new_string(pair));
    }
    json_print(filters, &json);
    strbuf_adds(&path, "/containers/json?all=true&filters=");
    strbuf_add_percent(&path, json.s, PERCENT_UNRESERVED);
    struct engine_request q = {.method = "GET", .path = path.s, .timeout_s = LIST_TIMEOUT_S};
    return engine_ask(e, &q, done, ctx);
}
