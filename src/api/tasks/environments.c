/* Keeps and shows the environments of allocations: agents report the machine, tasks report Python and its packages,
 * and both are shown with the trial. Agents report with the task's own rights and nobody else can report, so that a
 * record can be trusted. */
#include <string.h>

#include "api/pipeline/internal.h"
#include "gen/handlers.h"
#include "store/experiments/environments.h"
#include "store/experiments/trials.h"

/* bytes of one document. A thousand packages need about 40 KiB. */
enum { DOCUMENT_MAX = 256 * 1024 };

/* Makes JSON of a part. *ret stays NULL if there is no such part. */
static int document_of(const struct codec_message *m, const void *part, const char *what, struct arena *a,
                       const char **ret, struct error *err)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    if (!part)
        return 0;
    codec_encode(m, part, &text);
    if (text.n > DOCUMENT_MAX)
        return error_set(err, ERR_TOO_LARGE, "%s has %zu bytes, allowed are %d", what, text.n, DOCUMENT_MAX);
    *ret = arena_strndup(a, text.s, text.n);
    return 0;
}

int api_put_allocation_environment(struct req *r, struct store *db,
                                   const struct wire_put_allocation_environment_request *in,
                                   struct wire_put_allocation_environment_response *ret, struct error *err)
{
    struct store_environment e = {.allocation_id = in->allocation_id,
                                  .container_id = in->container_id,
                                  .python_seen = in->python && in->python->seen_by_agent};
    if (!in->container_id || !*in->container_id)
        return error_set(err, ERR_INVALID, "containerId is missing");
    if (!in->host && !in->python)
        return error_set(err, ERR_INVALID, "host and python are missing; send at least one of them");
    if (document_of(&wire_msg_host_environment, in->host, "host", &r->arena, &e.host, err) < 0 ||
        document_of(&wire_msg_python_environment, in->python, "python", &r->arena, &e.python, err) < 0)
        return -1;
    return store_environment_put(db, &e, err);
}

static int environment_to_wire(const struct store_environment *e, struct arena *a,
                               struct wire_allocation_environment *ret, struct error *err)
{
    struct wire_host_environment *host = e->host ? arena_new(a, struct wire_host_environment) : NULL;
    struct wire_python_environment *python = e->python ? arena_new(a, struct wire_python_environment) : NULL;
    if ((host && codec_decode(&wire_msg_host_environment, e->host, strlen(e->host), a, host, err) < 0) ||
        (python && codec_decode(&wire_msg_python_environment, e->python, strlen(e->python), a, python, err) < 0))
        return error_wrap(err, "the stored environment of allocation %s", e->allocation_id);
    *ret = (struct wire_allocation_environment){.allocation_id = e->allocation_id,
                                                .container_id = e->container_id,
                                                .agent_id = e->agent_id,
                                                .trial_run_id = e->run_id,
                                                .rank = e->rank,
                                                .host = host,
                                                .python = python};
    return 0;
}

int api_get_trial_environments(struct req *r, struct store *db, const struct wire_get_trial_environments_request *in,
                               struct wire_get_trial_environments_response *ret, struct error *err)
{
    struct store_trial t;
    struct store_environment *e;
    size_t n;
    if (store_trial_get(db, in->trial_id, /* full= */ false, &r->arena, &t, err) < 0 ||
        store_environments_of_trial(db, in->trial_id, &r->arena, &e, &n, err) < 0)
        return -1;
    ret->environments = arena_array(&r->arena, struct wire_allocation_environment, n + 1);
    ret->environments_n = n;
    for (size_t i = 0; i < n; i++)
        if (environment_to_wire(&e[i], &r->arena, &ret->environments[i], err) < 0)
            return -1;
    return 0;
}
