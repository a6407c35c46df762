/* Lists the agents, containers, ranks and so on that occur in a log, for the filters of a page: of one task, or of
 * all tasks of a trial. The stream ends when the (last) task has ended; a line is sent whenever there is something
 * new. */
#include <string.h>

#include "api/pipeline/internal.h"
#include "api/pipeline/stream.h"
#include "api/pipeline/wait.h"
#include "gen/handlers.h"
#include "store/cluster/tasks.h"
#include "store/experiments/trials.h"
#include "store/logs/task_logs.h"

struct fields_stream {
    const char **task_id;
    size_t task_n;
    bool follow, of_trial;
    struct strbuf told; /* the last line that was sent; a growing log seldom has new fields */
};

static void end_fields(struct req *r)
{
    struct fields_stream *s = r->state;
    strbuf_release(&s->told);
}

static void send_fields(struct req *r, const void *response)
{
    struct fields_stream *s = r->state;
    struct strbuf text = STRBUF_INIT;
    codec_encode(r->route->response, response, &text);
    if (strcmp(strbuf_str(&text), strbuf_str(&s->told)) != 0)
        stream_add(r, response);
    strbuf_release(&s->told);
    s->told = text;
}

static void tell_of_task(struct req *r, const struct store_log_fields *f)
{
    send_fields(r, &(struct wire_task_logs_fields_response){.allocation_ids = f->allocation_id,
                                                            .allocation_ids_n = f->allocation_id_n,
                                                            .agent_ids = f->agent_id,
                                                            .agent_ids_n = f->agent_id_n,
                                                            .container_ids = f->container_id,
                                                            .container_ids_n = f->container_id_n,
                                                            .rank_ids = f->rank,
                                                            .rank_ids_n = f->rank_n,
                                                            .stdtypes = f->stdtype,
                                                            .stdtypes_n = f->stdtype_n,
                                                            .sources = f->source,
                                                            .sources_n = f->source_n});
}

static void tell_of_trial(struct req *r, const struct store_log_fields *f)
{
    send_fields(r, &(struct wire_trial_logs_fields_response){.agent_ids = f->agent_id,
                                                             .agent_ids_n = f->agent_id_n,
                                                             .container_ids = f->container_id,
                                                             .container_ids_n = f->container_id_n,
                                                             .rank_ids = f->rank,
                                                             .rank_ids_n = f->rank_n,
                                                             .stdtypes = f->stdtype,
                                                             .stdtypes_n = f->stdtype_n,
                                                             .sources = f->source,
                                                             .sources_n = f->source_n});
}

static int fetch_fields(struct req *r, struct store *db, enum stream_next *next, struct error *err)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct fields_stream *s = r->state;
    struct store_log_fields f;
    struct store_task task;
    bool follow = s->follow && s->task_n;
    /* whether the task has ended is read before the fields, so that fields that appear in between are not missed */
    if (follow) {
        if (store_task_get(db, s->task_id[s->task_n - 1], &a, &task, err) < 0)
            return -1;
        follow = task.end_us == 0;
    }
    if (store_task_log_fields(db, (struct store_texts){s->task_id, s->task_n}, &a, &f, err) < 0)
        return -1;
    if (s->of_trial)
        tell_of_trial(r, &f);
    else
        tell_of_task(r, &f);
    *next = follow ? STREAM_WAIT : STREAM_END;
    return 0;
}

static int begin_fields(struct req *r, struct core *core, struct error *err)
{
    char topic[WAIT_TOPIC_MAX];
    const struct fields_stream *s = r->state;
    wait_topic(topic, "log", s->task_n ? s->task_id[s->task_n - 1] : "");
    r->on_end = end_fields;
    return req_stream(r, topic, fetch_fields);
}

int api_task_logs_fields(struct req *r, struct core *core, const struct wire_task_logs_fields_request *in,
                         struct error *err)
{
    struct fields_stream *s = arena_new(&r->arena, struct fields_stream);
    *s = (struct fields_stream){.task_id = arena_array(&r->arena, const char *, 1), .task_n = 1, .follow = in->follow};
    s->task_id[0] = in->task_id;
    r->state = s;
    return begin_fields(r, core, err);
}

static int find_tasks(struct req *r, struct store *db, struct error *err)
{
    const struct wire_trial_logs_fields_request *in = r->in;
    struct fields_stream *s = r->state;
    struct store_trial t;
    if (store_trial_get(db, in->trial_id, /* full= */ false, &r->arena, &t, err) < 0)
        return -1;
    s->task_id = t.task_ids;
    s->task_n = t.task_ids_n;
    return req_then_loop(r, begin_fields);
}

int api_trial_logs_fields(struct req *r, struct core *core, const struct wire_trial_logs_fields_request *in,
                          struct error *err)
{
    struct fields_stream *s = arena_new(&r->arena, struct fields_stream);
    *s = (struct fields_stream){.follow = in->follow, .of_trial = true};
    r->state = s;
    return req_then_read(r, find_tasks);
}
