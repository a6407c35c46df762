#include "agent/task/context.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "agent/task/untar.h"
#include "common/base/base64.h"
#include "common/base/cleanup.h"
#include "common/base/must.h"
#include "common/codec/codec.h"
#include "common/system/beneath.h"
#include "net/client/http_client.h"

#define ATTEMPTS 7 /* between attempts it waits 0.5 s … 32 s, together about 64 s */
#define REPLY_MAX (192 * 1024 * 1024)
#define LOOK_US 50000 /* how often a thread that waits looks whether the agent is to end */

/* An agent that is to end waits for its worker threads, so none of them sleeps through it. */
static bool agent_stops_within(const struct runtime_task *t, int64_t us)
{
    for (; us > 0 && !atomic_load(t->agent_stops); us -= LOOK_US)
        usleep(LOOK_US);
    return atomic_load(t->agent_stops);
}

static int get_context(const struct runtime_task *t, struct http_fetch_reply *ret, struct error *err)
{
    struct arena *a = (struct arena *)&t->arena;
    const char *token = taskenv_get(&t->env, "DET_SESSION_TOKEN");
    const char *header[] = {arena_printf(a, "Authorization: Bearer %s", token ? token : ""), NULL};
    const struct agent_config *c = t->config;
    struct http_fetch f = {.method = "GET",
                           .header = header,
                           .timeout_s = 600,
                           .reply_max = REPLY_MAX,
                           .abandoned = t->agent_stops,
                           .url = arena_printf(a, "%s/api/v1/tasks/%s/context_directory", agent_config_master_url(c, a),
                                               t->start->task_id),
                           .ca_file = *c->tls_cert ? c->tls_cert : NULL,
                           .tls_name = *c->tls_cert_name ? c->tls_cert_name : NULL,
                           .tls_skip_verify = c->tls_skip_verify};
    struct http_client *client = http_client_new();
    int r = -1;
    for (int i = 0; i < ATTEMPTS && r < 0; i++) {
        if (i > 0 && agent_stops_within(t, (int64_t)250000 << i))
            break;
        error_release(err);
        r = http_fetch(client, &f, ret, err);
        if (r == 0 && ret->status >= 500 && i + 1 < ATTEMPTS) {
            http_fetch_reply_release(ret);
            r = -1;
        }
    }
    http_client_free(client);
    return r;
}

static int unpack_into(const struct runtime_task *t, int run, const char *name, const void *tgz, size_t n,
                       struct error *err)
{
    cleanup_close int dir = beneath_open(run, name, O_RDONLY | O_DIRECTORY, err);
    if (dir < 0)
        return error_wrap(err, "%s", t->dir.run);
    return untar(tgz, n, dir, &t->account, err);
}

/* Unpacks the context into directories of the task only. A work_dir elsewhere on this machine is used as it is, because
 * an agent that is root must not write files of a user where that user could not. */
static int unpack_context(const struct runtime_task *t, const void *tgz, size_t n, struct error *err)
{
    cleanup_close int run = taskdir_open_run(&t->dir, err);
    if (run < 0 || unpack_into(t, run, "workdir", tgz, n, err) < 0)
        return -1;
    return t->start->task_type == WIRE_TASK_TYPE_TRIAL ? unpack_into(t, run, "train/model", tgz, n, err) : 0;
}

static int decode_and_unpack(const struct runtime_task *t, const struct strbuf *body, struct error *err)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct wire_get_task_context_directory_response reply = {0};
    if (codec_decode(&wire_msg_get_task_context_directory_response, body->s, body->n, &a, &reply, err) < 0)
        return -1;
    size_t n = reply.b64_tgz ? strlen(reply.b64_tgz) : 0;
    if (n == 0)
        return 0;
    cleanup_free uint8_t *tgz = must_malloc(base64_decoded_max(n));
    if (base64_decode(reply.b64_tgz, n, tgz, &n) < 0)
        return error_set(err, ERR_INVALID, "the master's answer holds no valid base64");
    return unpack_context(t, tgz, n, err);
}

int context_fetch(const struct runtime_task *t, struct error *err)
{
    struct http_fetch_reply reply = {0};
    if (get_context(t, &reply, err) < 0)
        return error_wrap(err, "fetching the context directory");
    int r = reply.status == 200 ? decode_and_unpack(t, &reply.body, err)
                                : error_set(err, ERR_UNAVAILABLE, "the master answered %d: %.200s", reply.status,
                                            strbuf_str(&reply.body));
    http_fetch_reply_release(&reply);
    return r < 0 ? error_wrap(err, "fetching the context directory") : 0;
}
