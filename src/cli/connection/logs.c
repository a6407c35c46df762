#include "cli/connection/logs.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/connection/api.h"
#include "cli/terminal/output.h"
#include "cli/terminal/terminal.h"
#include "common/base/clock.h"
#include "common/base/must.h"

/* Prints the lines of a query, over one connection or several. */
struct follower {
    struct cli *cli;
    const struct log_query *q;
    const struct codec_message *message;
    char *last_id;             /* id of the last printed line, after which a new connection continues */
    int64_t last_us;           /* time of that line, from which a new connection asks */
    bool skipping;             /* set after a new connection until the line last_id has passed */
    struct json_object **kept; /* for --tail, because the last line comes first */
    size_t kept_n, kept_cap;
};

static void print_record(struct follower *f, struct json_object *record)
{
    struct json_object *message;
    if (f->q->json) {
        output_fill_absent(f->message, record);
        output_json(f->cli, record);
    } else if (json_object_object_get_ex(record, "message", &message) && message) {
        const char *text = json_object_get_string(message);
        size_t n = (size_t)json_object_get_string_len(message);
        fwrite(text, 1, n, f->cli->out);
        /* the last line of a task may have no newline; the next line must begin on its own */
        if (n == 0 || text[n - 1] != '\n')
            fputc('\n', f->cli->out);
    }
}

static void remember_line(struct follower *f, struct json_object *record)
{
    struct json_object *id, *time;
    if (json_object_object_get_ex(record, "id", &id) && id) {
        free(f->last_id);
        f->last_id = must_strdup(json_object_get_string(id));
    }
    if (json_object_object_get_ex(record, "timestamp", &time) && time)
        clock_parse(json_object_get_string(time), (size_t)json_object_get_string_len(time), &f->last_us);
}

static bool is_last_id(const struct follower *f, struct json_object *record)
{
    struct json_object *id;
    return f->last_id && json_object_object_get_ex(record, "id", &id) && id &&
           strcmp(json_object_get_string(id), f->last_id) == 0;
}

static int on_record(struct json_object *record, void *ctx, struct error *err)
{
    struct follower *f = ctx;
    if (f->q->has_tail) {
        if (f->kept_n == f->kept_cap) {
            f->kept_cap = f->kept_cap ? f->kept_cap * 2 : 64;
            f->kept = must_realloc(f->kept, f->kept_cap * sizeof(*f->kept));
        }
        f->kept[f->kept_n++] = json_object_get(record);
        return 0;
    }
    if (f->skipping) {
        f->skipping = !is_last_id(f, record);
        return 0;
    }
    print_record(f, record);
    if (f->q->follow) {
        remember_line(f, record);
        fflush(f->cli->out);
    }
    return 0;
}

static int parse_time(const char *text, const char *option, int64_t *ret_us, bool *ret_has, struct error *err)
{
    if (!text)
        return 0;
    if (clock_parse(text, strlen(text), ret_us) < 0)
        return error_set(err, ERR_USAGE, "argument %s: '%s' is not a time such as 2026-10-26T23:17:12Z", option, text);
    *ret_has = true;
    return 0;
}

static enum wire_log_level *levels_from(struct cli *cli, const char *name, size_t *ret_n)
{
    int32_t from = 0;
    *ret_n = 0;
    if (!name || codec_enum_number(&wire_enum_log_level, arena_printf(&cli->arena, "LOG_LEVEL_%s", name), &from) < 0)
        return NULL;
    enum wire_log_level *level = arena_array(&cli->arena, enum wire_log_level, wire_enum_log_level.value_n);
    for (size_t i = 0; i < wire_enum_log_level.value_n; i++)
        if (wire_enum_log_level.value[i].number >= from)
            level[(*ret_n)++] = (enum wire_log_level)wire_enum_log_level.value[i].number;
    return level;
}

static int32_t *rank_ids(struct cli *cli, const struct log_query *q)
{
    int32_t *rank = arena_array(&cli->arena, int32_t, q->rank_id_n + 1);
    for (size_t i = 0; i < q->rank_id_n; i++)
        rank[i] = (int32_t)strtol(q->rank_id[i], NULL, 10); /* was checked when the command line was parsed */
    return rank;
}

/* Builds the request of the task's route. The request of the trial's route has the same fields except those for
 * allocations. */
static int build_request(struct cli *cli, const struct log_query *q, struct wire_task_logs_request *r,
                         struct error *err)
{
    *r = (struct wire_task_logs_request){.task_id = q->task_id, .follow = q->follow};
    r->limit = (int32_t)(q->has_tail ? q->tail : q->has_head ? q->head : 0);
    r->order_by = q->has_tail ? WIRE_ORDER_BY_DESC : WIRE_ORDER_BY_UNSPECIFIED;
    r->allocation_ids = q->allocation_id;
    r->allocation_ids_n = q->allocation_id_n;
    r->agent_ids = q->agent_id;
    r->agent_ids_n = q->agent_id_n;
    r->container_ids = q->container_id;
    r->container_ids_n = q->container_id_n;
    r->rank_ids = rank_ids(cli, q);
    r->rank_ids_n = q->rank_id_n;
    r->sources = q->source;
    r->sources_n = q->source_n;
    r->stdtypes = q->stdtype;
    r->stdtypes_n = q->stdtype_n;
    r->levels = levels_from(cli, q->level, &r->levels_n);
    r->search_text = q->search;
    r->enable_regex = q->regex;
    if (parse_time(q->timestamp_before, "--timestamp-before", &r->timestamp_before, &r->has_timestamp_before, err) < 0)
        return -1;
    return parse_time(q->timestamp_after, "--timestamp-after", &r->timestamp_after, &r->has_timestamp_after, err);
}

static struct wire_trial_logs_request trial_request(const struct log_query *q, const struct wire_task_logs_request *r)
{
    return (struct wire_trial_logs_request){
        .trial_id = q->trial_id,
        .limit = r->limit,
        .follow = r->follow,
        .order_by = r->order_by,
        .agent_ids = r->agent_ids,
        .agent_ids_n = r->agent_ids_n,
        .container_ids = r->container_ids,
        .container_ids_n = r->container_ids_n,
        .rank_ids = r->rank_ids,
        .rank_ids_n = r->rank_ids_n,
        .levels = r->levels,
        .levels_n = r->levels_n,
        .stdtypes = r->stdtypes,
        .stdtypes_n = r->stdtypes_n,
        .sources = r->sources,
        .sources_n = r->sources_n,
        .search_text = r->search_text,
        .enable_regex = r->enable_regex,
        .timestamp_before = r->timestamp_before,
        .has_timestamp_before = r->has_timestamp_before,
        .timestamp_after = r->timestamp_after,
        .has_timestamp_after = r->has_timestamp_after,
    };
}

static int stream_once(struct follower *f, const struct wire_task_logs_request *r, bool *ret_dropped, struct error *err)
{
    if (f->q->task_id)
        return api_stream(f->cli, ROUTE_ID_TASK_LOGS, r, on_record, f, ret_dropped, err);
    struct wire_trial_logs_request t = trial_request(f->q, r);
    return api_stream(f->cli, ROUTE_ID_TRIAL_LOGS, &t, on_record, f, ret_dropped, err);
}

/* Prints the stream. If a followed stream breaks (the master restarts, a proxy gives up), a new connection continues
 * after the last printed line. */
static int stream_lines(struct follower *f, struct wire_task_logs_request *r, struct error *err)
{
    enum { TRIES = 20 };
    for (int try = 0;; try++) {
        cleanup_error struct error why = ERROR_INIT;
        bool dropped;
        const char *before = f->last_id ? arena_strdup(&f->cli->arena, f->last_id) : "";
        if (stream_once(f, r, &dropped, &why) == 0)
            return 0;
        if (f->last_id && strcmp(before, f->last_id) != 0)
            try = 0; /* lines had arrived, so that the next failure counts as the first */
        if (!dropped || !f->q->follow || try >= TRIES) {
            error_move(err, &why);
            return -1;
        }
        if (try == 0)
            cli_say(f->cli, CLI_YELLOW, "The log stream broke off (%s); connecting again.", error_msg(&why));
        struct timespec pause = {.tv_sec = try > 2 ? 2 : 0, .tv_nsec = try > 2 ? 0 : 250000000};
        nanosleep(&pause, NULL);
        if (f->last_id &&
            f->last_us) { /* ask for lines from just before the last line's time, then skip up to that line */
            r->timestamp_after = f->last_us - 1;
            r->has_timestamp_after = true;
            f->skipping = true;
        }
    }
}

static void say_ended(struct cli *cli, const struct log_query *q)
{
    if (q->json || q->lines_only) /* with --json only records are printed */
        return;
    if (q->task_id)
        cli_print(cli, CLI_GREEN, "Task log stream ended. To reopen log stream, run: det task logs -f %s", q->task_id);
    else
        cli_print(cli, CLI_GREEN, "Trial log stream ended. To reopen log stream, run: det trial logs -f %d",
                  q->trial_id);
}

static const char *reopen_hint(struct cli *cli, const struct log_query *q)
{
    const char *stop = q->experiment_id
                           ? arena_printf(&cli->arena, "; to end it: det experiment kill %d", q->experiment_id)
                       : q->stop ? arena_printf(&cli->arena, "; to end it: %s", q->stop)
                                 : "";
    if (q->task_id)
        return arena_printf(&cli->arena, "The task goes on. To reopen the log stream, run: det task logs -f %s%s\n",
                            q->task_id, stop);
    return arena_printf(&cli->arena, "The %s goes on. To reopen the log stream, run: det trial logs -f %d%s\n",
                        q->experiment_id ? "experiment" : "trial", q->trial_id, stop);
}

int logs_print(struct cli *cli, const struct log_query *q, struct error *err)
{
    struct wire_task_logs_request r;
    struct follower f = {.cli = cli, .q = q};
    f.message = q->task_id ? &wire_msg_task_logs_response : &wire_msg_trial_logs_response;
    if ((int)q->has_head + (int)q->has_tail + (int)q->follow > 1)
        return error_set(err, ERR_INVALID, "give at most one of --head, --tail and --follow");
    if (q->regex && !q->search)
        return error_set(err, ERR_USAGE, "--regex says how --search is read; give --search, too");
    if (build_request(cli, q, &r, err) < 0)
        return -1;
    if (q->follow)
        interrupt_hint(reopen_hint(cli, q));
    int rc = stream_lines(&f, &r, err);
    if (q->follow)
        interrupt_hint(NULL);
    for (size_t i = f.kept_n; i-- > 0;) {
        print_record(&f, f.kept[i]);
        json_object_put(f.kept[i]);
    }
    free(f.kept);
    free(f.last_id);
    say_ended(cli, q);
    return rc;
}
