/* Prints three tables about experiments: the experiments, their trials, and what the trials have reported. The last
 * has a row for each number of batches, with the training metrics, the checkpoint and the validation at that number. */
#include <stdlib.h>
#include <string.h>

#include "cli/cmd/experiment.h"
#include "cli/cmd/show.h"
#include "cli/terminal/output.h"
#include "common/base/cleanup.h"
#include "common/base/compare.h"
#include "common/system/files.h"

/* Names of metrics, sorted and without duplicates. */
struct names {
    const char **name;
    size_t n;
};

struct described_trial {
    const struct wire_trial *trial;
    struct wire_workload_container *workload;
    size_t workload_n;
};

struct described {
    const struct wire_experiment *experiment;
    struct described_trial *trial;
    size_t trial_n;
};

/* ---- fetching ---------------------------------------------------------------------------------------------------- */

static int fetch_workloads(struct cli *cli, struct described_trial *t, struct error *err)
{
    struct wire_get_trial_workloads_request in = {.trial_id = t->trial->id, .limit = 500};
    for (;;) {
        struct wire_get_trial_workloads_response out;
        if (api_call(cli, ROUTE_ID_GET_TRIAL_WORKLOADS, &in, &out, err) < 0)
            return -1;
        struct wire_workload_container *all = arena_array(&cli->arena, struct wire_workload_container,
                                                          t->workload_n + out.workloads_n + 1);
        if (t->workload_n)
            memcpy(all, t->workload, t->workload_n * sizeof(*all));
        if (out.workloads_n)
            memcpy(all + t->workload_n, out.workloads, out.workloads_n * sizeof(*all));
        t->workload = all;
        t->workload_n += out.workloads_n;
        if (is_last_page(out.pagination, "all") || out.workloads_n == 0)
            return 0;
        in.offset = out.pagination->end_index;
    }
}

static int fetch_trials(struct cli *cli, struct described *d, struct error *err)
{
    struct wire_get_experiment_trials_request in = {.experiment_id = d->experiment->id};
    for (;;) {
        struct wire_get_experiment_trials_response out;
        if (api_call(cli, ROUTE_ID_GET_EXPERIMENT_TRIALS, &in, &out, err) < 0)
            return -1;
        struct described_trial *all = arena_array(&cli->arena, struct described_trial, d->trial_n + out.trials_n + 1);
        if (d->trial_n)
            memcpy(all, d->trial, d->trial_n * sizeof(*all));
        for (size_t i = 0; i < out.trials_n; i++)
            all[d->trial_n + i].trial = &out.trials[i];
        d->trial = all;
        d->trial_n += out.trials_n;
        if (is_last_page(out.pagination, "all") || out.trials_n == 0)
            break;
        in.offset = out.pagination->end_index;
    }
    for (size_t i = 0; i < d->trial_n; i++)
        if (fetch_workloads(cli, &d->trial[i], err) < 0)
            return -1;
    return 0;
}

static int parse_ids(const char *text, int32_t *id, size_t *n, struct error *err)
{
    const char *at = text;
    for (;;) {
        char *end;
        long one = strtol(at, &end, 10);
        if (end == at || (*end && *end != ',') || one < 1 || one > INT32_MAX)
            return error_set(err, ERR_USAGE, "argument experiment_ids: '%s' is not a list of experiments such as 3,4",
                             text);
        id[(*n)++] = (int32_t)one;
        if (!*end)
            return 0;
        at = end + 1;
    }
}

/* Reads ids that are given as several words, or in one word separated by commas. */
static int read_ids(struct cli *cli, const struct args_experiment_describe *args, int32_t **ret, size_t *ret_n,
                    struct error *err)
{
    size_t letters = 0;
    for (size_t i = 0; i < args->experiment_ids_n; i++)
        letters += strlen(args->experiment_ids[i]) + 1;
    *ret = arena_array(&cli->arena, int32_t, letters + 1);
    *ret_n = 0;
    for (size_t i = 0; i < args->experiment_ids_n; i++)
        if (parse_ids(args->experiment_ids[i], *ret, ret_n, err) < 0)
            return -1;
    return 0;
}

/* ---- the tables -------------------------------------------------------------------------------------------------- */

static const char *labels_of(struct arena *a, const struct wire_experiment *e)
{
    const char **label = arena_array(a, const char *, e->labels_n + 1);
    struct strbuf all = STRBUF_INIT;
    if (e->labels_n)
        memcpy(label, e->labels, e->labels_n * sizeof(*label));
    qsort(label, e->labels_n, sizeof(*label), compare_texts);
    for (size_t i = 0; i < e->labels_n; i++)
        strbuf_addf(&all, "%s%s", i ? ", " : "", label[i]);
    const char *ret = arena_strdup(a, strbuf_str(&all));
    strbuf_release(&all);
    return ret;
}

static void fill_experiments(struct table *t, const struct described *d, size_t n, bool failure)
{
    table_columns(t,
                  (const char *const[]){"Experiment ID", "State", "Progress", "Started", "Ended", "Name", "Description",
                                        "Archived", "Resource Pool", "Labels", failure ? "Reason" : NULL, NULL});
    for (size_t i = 0; i < n; i++) {
        const struct wire_experiment *e = d[i].experiment;
        table_int(t, e->id);
        table_text(t, state_text(&wire_enum_experiment_state, (int32_t)e->state));
        table_percent(t, e->has_progress, e->progress);
        table_time(t, e->has_start_time, e->start_time);
        table_time(t, e->has_end_time, e->end_time);
        table_text(t, e->name);
        table_text(t, e->description);
        table_bool(t, e->archived);
        table_text(t, e->resource_pool);
        table_text(t, labels_of(&t->arena, e));
        if (failure)
            table_text(t, e->failure);
    }
}

static void fill_trials(struct table *t, const struct described *d, size_t n)
{
    table_columns(t, (const char *const[]){"Trial ID", "Experiment ID", "State", "Started", "Ended", "H-Params", NULL});
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < d[i].trial_n; k++) {
            const struct wire_trial *trial = d[i].trial[k].trial;
            table_int(t, trial->id);
            table_int(t, d[i].experiment->id);
            table_text(t, state_text(&wire_enum_trial_state, (int32_t)trial->state));
            table_time(t, trial->has_start_time, trial->start_time);
            table_time(t, trial->has_end_time, trial->end_time);
            table_object(t, trial->hparams);
        }
    }
}

static struct json_object *average_metrics(const struct wire_trial_metrics_workload *w)
{
    struct json_object *v = NULL;
    const char *text = w && w->metrics ? w->metrics->avg_metrics : NULL;
    if (text)
        json_parse(text, strlen(text), &v, NULL);
    return v;
}

static void add_names(struct arena *a, struct names *names, struct json_object *metrics)
{
    if (!json_object_is_type(metrics, json_type_object))
        return;
    const char **all = arena_array(a, const char *, names->n + (size_t)json_object_object_length(metrics) + 1);
    if (names->n)
        memcpy(all, names->name, names->n * sizeof(*all));
    json_object_object_foreach(metrics, key, value)
    {
        (void)value;
        bool known = false;
        for (size_t i = 0; i < names->n && !known; i++)
            known = strcmp(all[i], key) == 0;
        if (!known)
            all[names->n++] = arena_strdup(a, key);
    }
    names->name = all;
    qsort(all, names->n, sizeof(*all), compare_texts);
}

/* The names of an experiment's metrics, taken from the first report of its first trial. */
static struct names metric_names(struct arena *a, const struct described *d, size_t n, bool validation)
{
    struct names names = {0};
    for (size_t i = 0; i < n; i++) {
        const struct described_trial *t = d[i].trial_n ? &d[i].trial[0] : NULL;
        for (size_t k = 0; t && k < t->workload_n; k++) {
            const struct wire_trial_metrics_workload *w = validation ? t->workload[k].validation
                                                                     : t->workload[k].training;
            if (!w || !w->metrics)
                continue;
            cleanup_json struct json_object *metrics = average_metrics(w);
            add_names(a, &names, metrics);
            break;
        }
    }
    return names;
}

/* A row of the third table while it is put together from workloads. */
struct step {
    int32_t trial_id, batches;
    const char *state;
    int64_t time_us, checkpoint_us, validation_us; /* 0: there is none */
    const char *checkpoint_state, *validation_state;
    const char **training, **validation; /* indexed like the names; NULL: the report has no such metric */
};

static const char **metric_texts(struct arena *a, const struct wire_trial_metrics_workload *w,
                                 const struct names *names)
{
    const char **text = arena_array(a, const char *, names->n + 1);
    cleanup_json struct json_object *metrics = average_metrics(w);
    for (size_t i = 0; i < names->n; i++) {
        struct json_object *v;
        if (json_object_is_type(metrics, json_type_object) && json_object_object_get_ex(metrics, names->name[i], &v) &&
            v)
            text[i] = arena_strdup(a, json_object_is_type(v, json_type_string) ? json_object_get_string(v)
                                                                               : output_dumps(a, v));
    }
    return text;
}

static struct step step_of(struct arena *a, int32_t trial_id, const struct wire_workload_container *w,
                           const struct names *training, const struct names *validation)
{
    struct step s = {.trial_id = trial_id, .checkpoint_state = "", .validation_state = "", .state = ""};
    const struct wire_trial_metrics_workload *m = w->validation ? w->validation : w->training;
    if (w->checkpoint) {
        s.checkpoint_state = s.state = state_text(&wire_enum_checkpoint_state, (int32_t)w->checkpoint->state);
        s.checkpoint_us = s.time_us = w->checkpoint->has_end_time ? w->checkpoint->end_time : 0;
        s.batches = w->checkpoint->total_batches;
    }
    if (m) {
        s.time_us = m->has_end_time ? m->end_time : 0;
        s.batches = m->total_batches;
    }
    if (w->validation) {
        s.validation_state = "COMPLETED";
        s.state = *s.state ? s.state : s.validation_state;
        s.validation_us = s.time_us;
    }
    s.training = metric_texts(a, w->training, training);
    s.validation = metric_texts(a, w->validation, validation);
    return s;
}

static void step_merge(struct step *into, const struct step *s, const struct names *training,
                       const struct names *validation)
{
    if (s->time_us > into->time_us)
        into->time_us = s->time_us;
    for (size_t i = 0; i < training->n; i++)
        into->training[i] = into->training[i] ? into->training[i] : s->training[i];
    for (size_t i = 0; i < validation->n; i++)
        into->validation[i] = into->validation[i] ? into->validation[i] : s->validation[i];
    if (*s->checkpoint_state) {
        into->checkpoint_state = s->checkpoint_state;
        into->checkpoint_us = s->checkpoint_us;
    }
    if (*s->validation_state) {
        into->validation_state = s->validation_state;
        into->validation_us = s->validation_us;
    }
}

static int by_batches(const void *a, const void *b)
{
    int32_t x = ((const struct step *)a)->batches, y = ((const struct step *)b)->batches;
    return (x > y) - (x < y);
}

static void step_row(struct table *t, const struct step *s, const struct names *training,
                     const struct names *validation)
{
    table_int(t, s->trial_id);
    table_int(t, s->batches);
    table_text(t, s->state);
    table_time(t, s->time_us > 0, s->time_us);
    for (size_t i = 0; i < training->n; i++)
        table_text(t, s->training[i]);
    table_text(t, s->checkpoint_state);
    /* a terminal shows one time for the whole row */
    table_brief(t, format_time(&t->arena, s->checkpoint_us > 0, s->checkpoint_us), "");
    table_text(t, s->validation_state);
    table_brief(t, format_time(&t->arena, s->validation_us > 0, s->validation_us), "");
    for (size_t i = 0; i < validation->n; i++)
        table_text(t, s->validation[i]);
}

static void fill_trial_steps(struct table *t, const struct described_trial *d, const struct names *training,
                             const struct names *validation)
{
    struct step *step = arena_array(&t->arena, struct step, d->workload_n + 1);
    size_t n = 0;
    for (size_t i = 0; i < d->workload_n; i++) {
        const struct wire_workload_container *w = &d->workload[i];
        if (!w->training && !w->validation && !w->checkpoint)
            continue;
        struct step s = step_of(&t->arena, d->trial->id, w, training, validation);
        size_t k = 0;
        while (k < n && step[k].batches != s.batches)
            k++;
        if (k < n)
            step_merge(&step[k], &s, training, validation);
        else
            step[n++] = s;
    }
    qsort(step, n, sizeof(*step), by_batches);
    for (size_t i = 0; i < n; i++)
        step_row(t, &step[i], training, validation);
}

static void fill_workloads(struct table *t, const struct described *d, size_t n, bool metrics)
{
    struct names training = {0}, validation = {0};
    if (metrics) {
        training = metric_names(&t->arena, d, n, false);
        validation = metric_names(&t->arena, d, n, true);
    }
    table_columns(t, (const char *const[]){"Trial ID", "# of Batches", "State", "Report Time", NULL});
    for (size_t i = 0; i < training.n; i++)
        table_column(t, arena_printf(&t->arena, "Training Metric: %s", training.name[i]));
    table_columns(t, (const char *const[]){"Checkpoint State", "Checkpoint Report Time", "Validation State",
                                           "Validation Report Time", NULL});
    for (size_t i = 0; i < validation.n; i++)
        table_column(t, arena_printf(&t->arena, "Validation Metric: %s", validation.name[i]));
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < d[i].trial_n; k++)
            fill_trial_steps(t, &d[i].trial[k], &training, &validation);
}

/* Prints the table below its title, or into its file in --outdir. */
static int put_table(struct cli *cli, const struct args_experiment_describe *args, const struct table *t,
                     const char *title, const char *file, struct error *err)
{
    if (!args->outdir) {
        fprintf(cli->out, "%s\n", title);
        if (strcmp(file, "experiments.csv") == 0)
            table_show_record(cli, t, args->csv);
        else
            table_show(cli, t, args->csv);
        return 0;
    }
    if (dir_make(args->outdir, 0755, err) < 0)
        return -1;
    const char *path = arena_printf(&cli->arena, "%s/%s", args->outdir, file);
    cleanup_fclose FILE *to = fopen(path, "w");
    if (!to)
        return error_errno(err, "%s", path);
    table_print(t, true, to);
    return fflush(to) == EOF ? error_errno(err, "%s", path) : 0;
}

static int print_documents(struct cli *cli, const int32_t *id, size_t n, struct error *err)
{
    cleanup_json struct json_object *all = json_object_new_array();
    for (size_t i = 0; i < n; i++) {
        struct wire_get_experiment_request in = {.experiment_id = id[i]};
        struct json_object *one;
        if (api_call_document(cli, ROUTE_ID_GET_EXPERIMENT, &in, &one, err) < 0)
            return -1;
        json_object_array_add(all, one);
    }
    output_json(cli, all);
    return 0;
}

int cmd_experiment_describe(struct cli *cli, const struct args_experiment_describe *args, struct error *err)
{
    cleanup_table struct table experiments = TABLE_INIT, trials = TABLE_INIT, workloads = TABLE_INIT;
    int32_t *id;
    size_t n;
    if (read_ids(cli, args, &id, &n, err) < 0)
        return -1;
    if (args->json)
        return print_documents(cli, id, n, err);
    struct described *d = arena_array(&cli->arena, struct described, n);
    for (size_t i = 0; i < n; i++) {
        struct wire_get_experiment_request in = {.experiment_id = id[i]};
        struct wire_get_experiment_response out;
        if (api_call(cli, ROUTE_ID_GET_EXPERIMENT, &in, &out, err) < 0)
            return -1;
        d[i].experiment = out.experiment;
    }
    for (size_t i = 0; i < n; i++)
        if (fetch_trials(cli, &d[i], err) < 0)
            return -1;
    bool terminal = cli->out_width > 0 && !args->csv && !args->outdir;
    fill_experiments(&experiments, d, n, terminal);
    fill_trials(&trials, d, n);
    fill_workloads(&workloads, d, n, args->metrics);
    if (put_table(cli, args, &experiments, "Experiment:", "experiments.csv", err) < 0 ||
        put_table(cli, args, &trials, "\nTrials:", "trials.csv", err) < 0 ||
        put_table(cli, args, &workloads, "\nWorkloads:", "workloads.csv", err) < 0)
        return -1;
    for (size_t i = 0; i < n && !terminal; i++) /* scripts get the usual columns only */
        if (d[i].experiment->failure)
            experiment_tell_state(cli, d[i].experiment);
    return 0;
}
