/* Takes what machines and training loops of older releases report (profiler.h). */
#include "api/metrics/profiler.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/pipeline/access.h"
#include "api/pipeline/internal.h"
#include "common/base/number.h"
#include "gen/handlers.h"
#include "store/metrics/metrics.h"

enum { SAMPLES_MAX = 10000 /* of one request */ };

static const struct profiler_measure measures[] = {
    {"gpu_util", "gpu", "gpu_util", 1},
    {"gpu_free_memory", "gpu", "gpu_free_memory", 1},
    {"cpu_util_simple", "cpu", "cpu_util_simple", 1},
    {"free_memory", "memory", "memory_free", 1e9 /* GB */},
    {"disk_iops", "disk", "disk_iops", 1},
    {"disk_throughput_read", "disk", "disk_throughput_read", 1},
    {"disk_throughput_write", "disk", "disk_throughput_write", 1},
    {"net_throughput_sent", "network", "net_throughput_sent", 1e9 / 8 /* Gbit/s */},
    {"net_throughput_recv", "network", "net_throughput_recv", 1e9 / 8},
};
enum { MEASURES_NR = sizeof(measures) / sizeof(*measures) };

const struct profiler_measure *profiler_measure_named(const char *name)
{
    for (size_t i = 0; i < MEASURES_NR; i++)
        if (strcmp(measures[i].name, name) == 0)
            return &measures[i];
    return NULL;
}

const struct profiler_measure *profiler_measure_kept(const char *group, const char *kept)
{
    for (size_t i = 0; i < MEASURES_NR; i++)
        if (strcmp(measures[i].group, group) == 0 && strcmp(measures[i].kept, kept) == 0)
            return &measures[i];
    return NULL;
}

bool profiler_is_of_gpu(const char *group)
{
    return strcmp(group, "gpu") == 0;
}

static const char *or_empty(const char *s)
{
    return s ? s : "";
}

struct sample {
    int32_t trial_id, batch;
    int64_t time_us;
    /* agent_id "": the training loop reports; gpu "": the value is not of a GPU */
    const char *group, *agent_id, *gpu, *name;
    double value;
    bool single; /* the value is a float, as it came */
};

struct posting {
    struct sample *sample;
    size_t n;
    struct store_report *report;
    size_t report_n;
};

static int check_system(const struct wire_trial_profiler_metric_labels *l, struct error *err)
{
    const struct profiler_measure *m = profiler_measure_named(l->name);
    if (!m)
        return error_set(err, ERR_INVALID,
                         "labels.name \"%.100s\" is no system metric; allowed are gpu_util, "
                         "gpu_free_memory, cpu_util_simple, free_memory, disk_iops, disk_throughput_read, "
                         "disk_throughput_write, net_throughput_sent and net_throughput_recv",
                         l->name);
    if (!*or_empty(l->agent_id))
        return error_set(err, ERR_INVALID, "labels.agentId is missing; name the agent on which %s was measured",
                         l->name);
    if (profiler_is_of_gpu(m->group) && !*or_empty(l->gpu_uuid))
        return error_set(err, ERR_INVALID, "labels.gpuUuid is missing; name the GPU on which %s was measured", l->name);
    return 0;
}

static int check_labels(const struct wire_trial_profiler_metric_labels *l, struct error *err)
{
    if (!l || !*or_empty(l->name))
        return error_set(err, ERR_INVALID, "labels.name is missing; name what was measured");
    switch (l->metric_type) {
    case PROFILER_TYPE(SYSTEM):
        return check_system(l, err);
    case PROFILER_TYPE(TIMING):
        return 0;
    case PROFILER_TYPE(MISC):
        if (strcmp(l->name, PROFILER_SPEED) == 0)
            return 0;
        return error_set(err, ERR_INVALID,
                         "labels.name \"%.100s\": the only metric of PROFILER_METRIC_TYPE_MISC is " PROFILER_SPEED,
                         l->name);
    default:
        return error_set(err, ERR_INVALID,
                         "labels.metricType of \"%.100s\" is missing: PROFILER_METRIC_TYPE_SYSTEM, "
                         "PROFILER_METRIC_TYPE_TIMING or PROFILER_METRIC_TYPE_MISC",
                         l->name);
    }
}

static int take_batch(const struct wire_trial_profiler_metrics_batch *b, struct posting *p, struct error *err)
{
    const struct wire_trial_profiler_metric_labels *l = b->labels;
    if (check_labels(l, err) < 0)
        return -1;
    if (b->values_n != b->batches_n || b->values_n != b->timestamps_n)
        return error_set(err, ERR_INVALID,
                         "%s of trial %d has %zu values, %zu batches and %zu timestamps: each value "
                         "needs one of either",
                         l->name, l->trial_id, b->values_n, b->batches_n, b->timestamps_n);
    const struct profiler_measure *m = l->metric_type == PROFILER_TYPE(SYSTEM) ? profiler_measure_named(l->name) : NULL;
    for (size_t i = 0; i < b->values_n; i++) {
        if (b->batches[i] < 0)
            return error_set(err, ERR_INVALID, "%s of trial %d: batches[%zu] is %d, it must not be negative", l->name,
                             l->trial_id, i, b->batches[i]);
        p->sample[p->n++] = (struct sample){.trial_id = l->trial_id,
                                            .batch = b->batches[i],
                                            .time_us = b->timestamps[i],
                                            .group = m ? m->group : PROFILER_TIMINGS,
                                            .agent_id = m ? l->agent_id : "",
                                            .gpu = m && profiler_is_of_gpu(m->group) ? l->gpu_uuid : "",
                                            .name = m ? m->kept : l->name,
                                            .value = (double)b->values[i] * (m ? m->unit : 1),
                                            .single = !m || m->unit == 1};
    }
    return 0;
}

#define COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

/* Sorts samples so that those of one report are consecutive, in the order of batches and times. */
static int by_report(const void *a, const void *b)
{
    const struct sample *x = a, *y = b;
    int c = COMPARE(x->trial_id, y->trial_id);
    c = c ? c : COMPARE(x->batch, y->batch);
    c = c ? c : COMPARE(x->time_us, y->time_us);
    c = c ? c : strcmp(x->group, y->group);
    c = c ? c : strcmp(x->agent_id, y->agent_id);
    return c ? c : strcmp(x->gpu, y->gpu);
}

static bool has_name(const struct sample *s, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(s[i].name, name) == 0)
            return true;
    return false;
}

static void add_value(const struct sample *s, struct strbuf *out)
{
    char text[NUMBER_TEXT_MAX];
    if (isfinite(s->value))
        strbuf_add(out, text, s->single ? number_put_float((float)s->value, text) : number_put_double(s->value, text));
    else
        strbuf_adds(out, isnan(s->value) ? "\"NaN\"" : s->value > 0 ? "\"Infinity\"" : "\"-Infinity\"");
}

static void open_member(struct strbuf *out, const char *name)
{
    strbuf_add_json(out, name, strlen(name));
    strbuf_addc(out, ':');
}

static void print_report(const struct sample *s, size_t n, struct strbuf *out)
{
    const char *const outer[] = {s->agent_id, s->gpu};
    size_t depth = 1;
    strbuf_addc(out, '{');
    for (size_t i = 0; i < 2 && *outer[i]; i++, depth++) {
        open_member(out, outer[i]);
        strbuf_addc(out, '{');
    }
    for (size_t i = 0; i < n; i++) {
        strbuf_adds(out, i ? "," : "");
        open_member(out, s[i].name);
        add_value(&s[i], out);
    }
    while (depth--)
        strbuf_addc(out, '}');
}

static int make_reports(struct posting *p, struct arena *a, struct error *err)
{
    p->report = arena_array(a, struct store_report, p->n + 1);
    qsort(p->sample, p->n, sizeof(*p->sample), by_report);
    for (size_t i = 0, n; i < p->n; i += n) {
        const struct sample *s = &p->sample[i];
        cleanup_strbuf struct strbuf text = STRBUF_INIT;
        for (n = 1; i + n < p->n && by_report(s, &s[n]) == 0 && !has_name(s, n, s[n].name);)
            n++;
        print_report(s, n, &text);
        struct store_report *r = &p->report[p->report_n++];
        *r = (struct store_report){.trial_id = s->trial_id,
                                   .of_current_run = true,
                                   .group = s->group,
                                   .batch = s->batch,
                                   .report_us = s->time_us,
                                   .avg_metrics = arena_strndup(a, text.s, text.n)};
        if (store_report_valid(r, err) < 0)
            return -1;
    }
    return 0;
}

static int posted_step(struct req *r, struct core *core, struct error *err)
{
    const struct posting *p = r->state;
    for (size_t i = 0; i < p->report_n; i++) /* after the commit: informs the sealer */
        r->api->services.metrics_stored(r->api->services.ctx, p->report[i].trial_id);
    return 0;
}

static int store_step(struct req *r, struct store *db, struct error *err)
{
    const struct posting *p = r->state;
    struct store_report_result result;
    for (size_t i = 0; i < p->report_n; i++) /* the reports of a trial are consecutive */
        if ((i == 0 || p->report[i].trial_id != p->report[i - 1].trial_id) &&
            access_may_change(r, db, ACCESS_TRIAL(p->report[i].trial_id), err) < 0)
            return -1;
    for (size_t i = 0; i < p->report_n; i++)
        if (store_report_add(db, &p->report[i], &result, err) < 0)
            return -1;
    return req_then_loop(r, posted_step);
}

int api_post_trial_profiler_metrics_batch(struct req *r,
                                          const struct wire_post_trial_profiler_metrics_batch_request *in,
                                          struct wire_post_trial_profiler_metrics_batch_response *ret,
                                          struct error *err)
{
    struct posting *p = arena_new(&r->arena, struct posting);
    size_t n = 0;
    for (size_t i = 0; i < in->batches_n; i++)
        n += in->batches[i].values_n;
    if (n > SAMPLES_MAX)
        return error_set(err, ERR_TOO_LARGE, "%zu samples in one request, at most %d are allowed", n, SAMPLES_MAX);
    p->sample = arena_array(&r->arena, struct sample, n + 1);
    for (size_t i = 0; i < in->batches_n; i++)
        if (take_batch(&in->batches[i], p, err) < 0)
            return -1;
    if (make_reports(p, &r->arena, err) < 0)
        return -1;
    r->state = p;
    return req_then_write(r, store_step);
}
