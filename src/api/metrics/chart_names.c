/* Streams what can be drawn: the names of experiments' metrics, and the numbers of batches at which an experiment
 * has a value. The streams repeat while the experiments run. */
#include <stdlib.h>
#include <string.h>

#include "api/metrics/chart.h"
#include "api/pipeline/repeated.h"
#include "common/base/must.h"
#include "gen/handlers.h"
#include "store/experiments/experiments.h"

enum { BATCHES_PER_LINE = 10000 };

/* ---- names ------------------------------------------------------------------------------------------------------- */

struct seen_name {
    const char *group, *name;
};
struct seen_names {
    struct seen_name *list;
    size_t n, cap;
};

static bool note_name(struct seen_names *s, const struct store_metric_name *m, struct arena *a)
{
    for (size_t i = 0; i < s->n; i++)
        if (strcmp(s->list[i].group, m->group) == 0 && strcmp(s->list[i].name, m->name) == 0)
            return false;
    if (s->n == s->cap) {
        struct seen_name *more = arena_array(a, struct seen_name, s->cap = s->cap ? s->cap * 2 : 64);
        if (s->n)
            memcpy(more, s->list, s->n * sizeof(*more));
        s->list = more;
    }
    s->list[s->n++] = (struct seen_name){arena_strdup(a, m->group), arena_strdup(a, m->name)};
    return true;
}

static int searcher_metrics(struct req *r, struct store *db, const struct wire_exp_metric_names_request *in,
                            struct arena *a, struct wire_exp_metric_names_response *ret, struct error *err)
{
    ret->searcher_metrics = arena_array(a, const char *, in->ids_n + 1);
    for (size_t i = 0; i < in->ids_n; i++) {
        struct store_experiment x;
        bool again = false;
        if (store_experiment_get(db, in->ids[i], /* with_config= */ false, a, &x, err) < 0)
            return -1;
        for (size_t k = 0; k < ret->searcher_metrics_n && !again; k++)
            again = strcmp(ret->searcher_metrics[k], x.searcher_metric) == 0;
        if (!again)
            ret->searcher_metrics[ret->searcher_metrics_n++] = x.searcher_metric;
    }
    return 0;
}

/* Sends the names that were not sent yet. */
static int fetch_names(struct req *r, struct store *db, enum stream_next *next, struct error *err)
{
    cleanup_arena struct arena a = ARENA_INIT;
    const struct wire_exp_metric_names_request *in = r->in;
    struct repeated *p = r->state;
    struct wire_exp_metric_names_response out = {0};
    struct store_metric_name *name;
    size_t n;
    bool over;
    if (chart_is_over(r, db, in->ids, in->ids_n, &over, err) < 0 ||
        store_metric_names(db, (struct store_ints){in->ids, in->ids_n}, &a, &name, &n, err) < 0 ||
        (!p->sent && searcher_metrics(r, db, in, &a, &out, err) < 0))
        return -1;
    out.metric_names = arena_array(&a, struct wire_metric_identifier, n + 1);
    out.training_metrics = arena_array(&a, const char *, n + 1);
    out.validation_metrics = arena_array(&a, const char *, n + 1);
    for (size_t i = 0; i < n; i++) {
        if (!note_name(p->seen, &name[i], &r->arena))
            continue;
        out.metric_names[out.metric_names_n++] = (struct wire_metric_identifier){name[i].group, name[i].name};
        if (strcmp(name[i].group, "training") == 0)
            out.training_metrics[out.training_metrics_n++] = name[i].name;
        else if (strcmp(name[i].group, "validation") == 0)
            out.validation_metrics[out.validation_metrics_n++] = name[i].name;
    }
    repeated_send(r, out.metric_names_n > 0, &out);
    *next = over ? STREAM_END : STREAM_WAIT;
    return 0;
}

int api_exp_metric_names(struct req *r, struct core *core, const struct wire_exp_metric_names_request *in,
                         struct error *err)
{
    if (in->ids_n == 0)
        return error_set(err, ERR_INVALID, "ids is missing; name at least one experiment");
    return repeated_stream(r, in->period_seconds, arena_new(&r->arena, struct seen_names), fetch_names, err);
}

/* ---- batches ----------------------------------------------------------------------------------------------------- */

struct seen_batches {
    int32_t *list; /* ascending; on the heap, because it is replaced each time */
    size_t n;
};

static void batches_end(struct req *r)
{
    struct repeated *p = r->state;
    struct seen_batches *s = p ? p->seen : NULL;
    repeated_end(r);
    if (s)
        free(s->list);
}

/* Finds the batches that are in `now` but not in `seen`. */
static size_t new_batches(const struct seen_batches *seen, const int32_t *now, size_t n, int32_t *ret)
{
    size_t found = 0;
    for (size_t i = 0, k = 0; i < n; i++) {
        while (k < seen->n && seen->list[k] < now[i])
            k++;
        if (k == seen->n || seen->list[k] != now[i])
            ret[found++] = now[i];
    }
    return found;
}

static void keep_batches(struct seen_batches *seen, const int32_t *now, size_t n)
{
    free(seen->list);
    seen->list = must_calloc(n + 1, sizeof(*now));
    if (n)
        memcpy(seen->list, now, n * sizeof(*now));
    seen->n = n;
}

static int fetch_batches(struct req *r, struct store *db, enum stream_next *next, struct error *err)
{
    cleanup_arena struct arena a = ARENA_INIT;
    const struct wire_metric_batches_request *in = r->in;
    struct repeated *p = r->state;
    int32_t *steps;
    size_t n;
    bool over;
    if (chart_is_over(r, db, &in->experiment_id, 1, &over, err) < 0 ||
        store_metric_batches(db, in->experiment_id, chart_group(in->group, in->metric_type), in->metric_name, -1, &a,
                             &steps, &n, err) < 0)
        return -1;
    int32_t *fresh = arena_array(&a, int32_t, n + 1);
    size_t fresh_n = new_batches(p->seen, steps, n, fresh);
    keep_batches(p->seen, steps, n);
    for (size_t i = 0; i < fresh_n; i += BATCHES_PER_LINE)
        repeated_send(r, true,
                      &(struct wire_metric_batches_response){.batches = fresh + i,
                                                             .batches_n = fresh_n - i < BATCHES_PER_LINE
                                                                              ? fresh_n - i
                                                                              : BATCHES_PER_LINE});
    repeated_send(r, false, &(struct wire_metric_batches_response){0});
    *next = over ? STREAM_END : STREAM_WAIT;
    return 0;
}

int api_metric_batches(struct req *r, struct core *core, const struct wire_metric_batches_request *in,
                       struct error *err)
{
    if (chart_check_metric(in->metric_name, chart_group(in->group, in->metric_type), err) < 0)
        return -1;
    int rc = repeated_stream(r, in->period_seconds, arena_new(&r->arena, struct seen_batches), fetch_batches, err);
    if (rc == REQ_CONTINUES)
        r->on_end = batches_end;
    return rc;
}
