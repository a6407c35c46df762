/* Reads profiles in the older form (profiler.h) from the reports of all releases. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/metrics/profiler.h"
#include "api/pipeline/internal.h"
#include "api/pipeline/repeated.h"
#include "common/base/hash.h"
#include "common/base/must.h"
#include "common/json/json.h"
#include "core/records/states.h"
#include "gen/handlers.h"
#include "store/experiments/trials.h"
#include "store/metrics/metrics.h"

enum { SERIES_MAX = 10000, ROWS_PER_FETCH = 1000, PERIOD_S = 5 };

static const char *const groups[] = {"cpu", "memory", "disk", "network", "gpu", PROFILER_TIMINGS};
enum { GROUPS_NR = sizeof(groups) / sizeof(*groups) };

static const char *or_empty(const char *s)
{
    return s ? s : "";
}

/* ---- walking through the reports of a group ---------------------------------------------------------------------- */

struct reading {
    const char *group;
    struct store_metric_cursor cursor;
};

/* The trial that a stream follows: has it ended, and how often was it restarted? */
struct watched {
    int32_t run_id, from_run;
    bool over;
};

/* Reads whether the trial has ended. Call it before the reports are read: a trial that had ended by then gets no
 * further reports. *ret_again: a new run of the trial began, whose batches start at the beginning. */
static int watch_trial(struct req *r, struct store *db, int32_t trial_id, struct watched *w, bool *ret_again,
                       struct error *err)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct store_trial t;
    if (store_trial_get(db, trial_id, /* full= */ false, &a, &t, err) < 0)
        return -1;
    *ret_again = w->run_id && t.row.run_id != w->run_id;
    if (*ret_again)
        w->from_run = t.row.run_id;
    w->run_id = t.row.run_id;
    w->over = run_state_is_over(t.row.state);
    return 0;
}

/* Called for each number that a report holds. */
typedef void found_fn(void *ctx, const struct store_metric_row *row, const char *agent_id, const char *gpu,
                      const char *name, double value);

static bool number_of(struct json_object *v, double *ret)
{
    static const struct {
        const char *name;
        double value;
    } names[] = {{"NaN", NAN}, {"Infinity", INFINITY}, {"-Infinity", -INFINITY}};
    if (json_object_is_type(v, json_type_int) || json_object_is_type(v, json_type_double)) {
        *ret = json_object_get_double(v);
        return true;
    }
    for (size_t i = 0; json_object_is_type(v, json_type_string) && i < 3; i++) {
        *ret = names[i].value;
        if (strcmp(json_object_get_string(v), names[i].name) == 0)
            return true;
    }
    return false;
}

static void numbers_of(struct json_object *of, const struct store_metric_row *row, const char *agent_id,
                       const char *gpu, found_fn *found, void *ctx)
{
    double value;
    json_object_object_foreach(of, name, v) if (number_of(v, &value)) found(ctx, row, agent_id, gpu, name, value);
}

static void walk_numbers(const struct store_metric_row *row, found_fn *found, void *ctx)
{
    cleanup_json struct json_object *tree = NULL;
    cleanup_error struct error ignored = ERROR_INIT; /* what is not JSON has no numbers */
    struct json_object *all;
    if (json_parse(row->metrics, strlen(row->metrics), &tree, &ignored) < 0 ||
        !json_object_object_get_ex(tree, "avg_metrics", &all) || !json_object_is_type(all, json_type_object))
        return;
    if (strcmp(row->group, PROFILER_TIMINGS) == 0) {
        numbers_of(all, row, "", "", found, ctx);
        return;
    }
    json_object_object_foreach(all, agent, of_agent)
    {
        if (!json_object_is_type(of_agent, json_type_object))
            continue;
        if (!profiler_is_of_gpu(row->group)) {
            numbers_of(of_agent, row, agent, "", found, ctx);
            continue;
        }
        json_object_object_foreach(of_agent, gpu, of_gpu) if (json_object_is_type(of_gpu, json_type_object))
            numbers_of(of_gpu, row, agent, gpu, found, ctx);
    }
}

/* Reads a page of reports. *ret_n: the number of reports in it. */
static int walk_page(struct req *r, struct store *db, int32_t trial_id, const struct watched *w, struct reading *from,
                     found_fn *found, void *ctx, size_t *ret_n, struct error *err)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct store_metric_row *row;
    if (store_metrics_next(db, trial_id, from->group, &from->cursor, ROWS_PER_FETCH, &a, &row, ret_n, err) < 0)
        return -1;
    for (size_t i = 0; i < *ret_n; i++)
        if (row[i].run_id >= w->from_run)
            walk_numbers(&row[i], found, ctx);
    return 0;
}

/* ---- a series in the older form ---------------------------------------------------------------------------------- */

struct series {
    char *key; /* agent, GPU and name, one per line */
    struct wire_trial_profiler_metric_labels labels;
    struct wire_trial_profiler_metrics_batch batch;
    size_t cap;
    UT_hash_handle hh;
};

/* Everything is in the arena except the hash table. */
struct series_table {
    struct arena *a;
    struct series *first;
    size_t n;
};

static void series_table_clear(struct series_table *t)
{
    HASH_CLEAR(hh, t->first);
}

/* Finds the series, or makes it; *ret_new says whether it was made. */
static struct series *series_of(struct series_table *t, const struct wire_trial_profiler_metric_labels *l,
                                bool *ret_new)
{
    cleanup_arena struct arena scratch = ARENA_INIT;
    const char *key = arena_printf(&scratch, "%s\n%s\n%s", l->agent_id, l->gpu_uuid, l->name);
    struct series *s;
    HASH_FIND_STR(t->first, key, s);
    *ret_new = !s;
    if (s)
        return s;
    s = arena_new(t->a, struct series);
    s->key = arena_strdup(t->a, key);
    s->labels = *l;
    s->labels.agent_id = arena_strdup(t->a, l->agent_id);
    s->labels.gpu_uuid = arena_strdup(t->a, l->gpu_uuid);
    s->labels.name = arena_strdup(t->a, l->name);
    s->batch.labels = &s->labels;
    HASH_ADD_KEYPTR(hh, t->first, s->key, strlen(s->key), s);
    t->n++;
    return s;
}

static void grow_series(struct series *s, struct arena *a)
{
    struct wire_trial_profiler_metrics_batch *b = &s->batch;
    size_t n = b->values_n;
    s->cap = s->cap ? s->cap * 2 : 64;
    float *values = arena_array(a, float, s->cap);
    int32_t *batches = arena_array(a, int32_t, s->cap);
    int64_t *timestamps = arena_array(a, int64_t, s->cap);
    for (size_t i = 0; i < n; i++) {
        values[i] = b->values[i];
        batches[i] = b->batches[i];
        timestamps[i] = b->timestamps[i];
    }
    b->values = values;
    b->batches = batches;
    b->timestamps = timestamps;
}

static void add_point(struct series *s, const struct store_metric_row *row, double value, struct arena *a)
{
    struct wire_trial_profiler_metrics_batch *b = &s->batch;
    if (b->values_n == s->cap)
        grow_series(s, a);
    b->values[b->values_n++] = (float)value;
    b->batches[b->batches_n++] = row->total_batches;
    b->timestamps[b->timestamps_n++] = row->end_us;
}

static bool fill_labels(const struct store_metric_row *row, const char *agent_id, const char *gpu, const char *name,
                        struct wire_trial_profiler_metric_labels *ret, double *ret_unit)
{
    const struct profiler_measure *m = profiler_measure_kept(row->group, name);
    bool timing = strcmp(row->group, PROFILER_TIMINGS) == 0;
    *ret = (struct wire_trial_profiler_metric_labels){.trial_id = row->trial_id,
                                                      .name = m ? m->name : name,
                                                      .agent_id = agent_id,
                                                      .gpu_uuid = gpu,
                                                      .metric_type = m ? PROFILER_TYPE(SYSTEM)
                                                                     : strcmp(name, PROFILER_SPEED) == 0
                                                                         ? PROFILER_TYPE(MISC)
                                                                         : PROFILER_TYPE(TIMING)};
    *ret_unit = m ? m->unit : 1;
    return m || timing;
}

/* ---- GET …/profiler/metrics -------------------------------------------------------------------------------------- */

struct metrics_stream {
    struct watched watched;
    struct reading reading;
};

struct collecting {
    const struct wire_trial_profiler_metric_labels *wanted;
    struct series_table table;
};

static bool is_wanted(const struct wire_trial_profiler_metric_labels *wanted,
                      const struct wire_trial_profiler_metric_labels *l)
{
    return strcmp(l->name, wanted->name) == 0 &&
           (wanted->metric_type == PROFILER_TYPE(UNSPECIFIED) || wanted->metric_type == l->metric_type) &&
           (!*or_empty(wanted->agent_id) || strcmp(wanted->agent_id, l->agent_id) == 0) &&
           (!*or_empty(wanted->gpu_uuid) || strcmp(wanted->gpu_uuid, l->gpu_uuid) == 0);
}

static void collect_sample(void *ctx, const struct store_metric_row *row, const char *agent_id, const char *gpu,
                           const char *name, double value)
{
    struct collecting *c = ctx;
    struct wire_trial_profiler_metric_labels l;
    double unit;
    bool fresh;
    if (fill_labels(row, agent_id, gpu, name, &l, &unit) && is_wanted(c->wanted, &l))
        add_point(series_of(&c->table, &l, &fresh), row, value / unit, c->table.a);
}

static int fetch_metrics(struct req *r, struct store *db, enum stream_next *next, struct error *err)
{
    cleanup_arena struct arena a = ARENA_INIT;
    const struct wire_get_trial_profiler_metrics_request *in = r->in;
    struct metrics_stream *s = ((struct repeated *)r->state)->seen;
    struct collecting c = {.wanted = in->labels, .table.a = &a};
    bool again;
    size_t n;
    if (watch_trial(r, db, in->labels->trial_id, &s->watched, &again, err) < 0)
        return -1;
    if (again)
        s->reading.cursor = (struct store_metric_cursor){0};
    int rc = walk_page(r, db, in->labels->trial_id, &s->watched, &s->reading, collect_sample, &c, &n, err);
    for (const struct series *one = c.table.first; rc == 0 && one; one = one->hh.next)
        stream_add(r, &(struct wire_get_trial_profiler_metrics_response){.batch = &one->batch});
    series_table_clear(&c.table);
    *next = n ? STREAM_MORE : in->follow && !s->watched.over ? STREAM_WAIT : STREAM_END;
    return rc;
}

int api_get_trial_profiler_metrics(struct req *r, struct core *core,
                                   const struct wire_get_trial_profiler_metrics_request *in, struct error *err)
{
    if (!in->labels || !*or_empty(in->labels->name))
        return error_set(err, ERR_INVALID,
                         "labels.name is missing: GET /api/v1/trials/{id}/profiler/available_series "
                         "lists the names");
    const struct profiler_measure *m = profiler_measure_named(in->labels->name);
    struct metrics_stream *s = arena_new(&r->arena, struct metrics_stream);
    bool system = in->labels->metric_type == PROFILER_TYPE(SYSTEM) ||
                  in->labels->metric_type == PROFILER_TYPE(UNSPECIFIED);
    s->reading.group = m && system ? m->group : PROFILER_TIMINGS;
    return repeated_stream(r, PERIOD_S, s, fetch_metrics, err);
}

/* ---- GET …/profiler/available_series ----------------------------------------------------------------------------- */

struct series_stream {
    struct watched watched;
    struct reading reading[GROUPS_NR];
    size_t at; /* index of the group that is being read */
    struct series_table table;
    bool more; /* there are series that were not sent yet */
};

static void note_series(void *ctx, const struct store_metric_row *row, const char *agent_id, const char *gpu,
                        const char *name, double value)
{
    struct series_stream *s = ctx;
    struct wire_trial_profiler_metric_labels l;
    double unit;
    bool fresh;
    if (s->table.n > SERIES_MAX || !fill_labels(row, agent_id, gpu, name, &l, &unit))
        return;
    series_of(&s->table, &l, &fresh);
    s->more |= fresh;
}

/* Sends all known series again, whenever there are new ones. */
static void send_series(struct req *r, struct series_stream *s)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct wire_get_trial_profiler_available_series_response out = {
        .labels = arena_array(&a, struct wire_trial_profiler_metric_labels, s->table.n + 1)};
    for (const struct series *one = s->table.first; one; one = one->hh.next)
        out.labels[out.labels_n++] = one->labels;
    repeated_send(r, s->more, &out);
    s->more = false;
}

static int fetch_series(struct req *r, struct store *db, enum stream_next *next, struct error *err)
{
    const struct wire_get_trial_profiler_available_series_request *in = r->in;
    struct series_stream *s = ((struct repeated *)r->state)->seen;
    bool again = false;
    size_t n;
    if (s->at == 0 && watch_trial(r, db, in->trial_id, &s->watched, &again, err) < 0)
        return -1;
    for (size_t i = 0; again && i < GROUPS_NR; i++)
        s->reading[i].cursor = (struct store_metric_cursor){0};
    if (walk_page(r, db, in->trial_id, &s->watched, &s->reading[s->at], note_series, s, &n, err) < 0)
        return -1;
    if (s->table.n > SERIES_MAX)
        return error_set(err, ERR_TOO_LARGE,
                         "trial %d has more than %d series of samples; read its metrics by "
                         "GET /api/v1/trials/metrics/trial_metrics",
                         in->trial_id, SERIES_MAX);
    *next = STREAM_MORE;
    if (n || ++s->at < GROUPS_NR)
        return 0;
    s->at = 0;
    send_series(r, s);
    *next = in->follow && !s->watched.over ? STREAM_WAIT : STREAM_END;
    return 0;
}

static void series_end(struct req *r)
{
    struct repeated *p = r->state;
    if (!p)
        return;
    series_table_clear(&((struct series_stream *)p->seen)->table);
    repeated_end(r);
}

int api_get_trial_profiler_available_series(struct req *r, struct core *core,
                                            const struct wire_get_trial_profiler_available_series_request *in,
                                            struct error *err)
{
    struct series_stream *s = arena_new(&r->arena, struct series_stream);
    s->table.a = &r->arena;
    for (size_t i = 0; i < GROUPS_NR; i++)
        s->reading[i].group = groups[i];
    int rc = repeated_stream(r, PERIOD_S, s, fetch_series, err);
    if (rc == REQ_CONTINUES)
        r->on_end = series_end;
    return rc;
}
