/* Shows a trial on a terminal: what it is, its metrics (last and best), and one row for each step that reported. */
#include "cli/cmd/trial/trial_show.h"

#include <stdlib.h>

#include "cli/terminal/output.h"

/* ---- metrics ----------------------------------------------------------------------------------------------------- */

static const char *number_text(struct arena *a, struct json_object *metric, const char *key)
{
    struct json_object *v;
    if (!json_object_object_get_ex(metric, key, &v) || !v)
        return NULL;
    return json_object_is_type(v, json_type_double) ? arena_printf(a, "%.6g", json_object_get_double(v))
                                                    : arena_strdup(a, json_object_get_string(v));
}

static void add_metrics(struct table *t, struct json_object *group, const char *group_name,
                        const struct searched_metric *searched)
{
    size_t n;
    const char **name = json_sorted_names(group, &n);
    bool validation = strcmp(group_name, "validation_metrics") == 0;
    for (size_t i = 0; i < n; i++) {
        struct json_object *m = json_object_object_get(group, name[i]);
        bool is_searched = validation && strcmp(name[i], searched->name) == 0;
        if (!json_object_is_type(m, json_type_object))
            continue;
        table_text(t, name[i]);
        table_text(t, validation ? "validation" : strcmp(group_name, "avg_metrics") == 0 ? "training" : group_name);
        table_text(t, number_text(&t->arena, m, "last"));
        table_text(t, is_searched ? number_text(&t->arena, m, searched->smaller_is_better ? "min" : "max") : NULL);
        table_text(t, number_text(&t->arena, m, "min"));
        table_text(t, number_text(&t->arena, m, "max"));
    }
    free(name);
}

static void show_metrics(struct cli *cli, const struct wire_trial *trial, const struct searched_metric *searched)
{
    cleanup_table struct table t = TABLE_INIT;
    cleanup_json struct json_object *all = NULL;
    const char *text = trial->summary_metrics;
    if (!text || json_parse(text, strlen(text), &all, NULL) < 0 || !json_object_is_type(all, json_type_object))
        return;
    table_columns(&t, (const char *const[]){"Metric", "Group", "Last", "Best", "Lowest", "Highest", NULL});
    json_object_object_foreach(all, name, group)
    {
        if (json_object_is_type(group, json_type_object))
            add_metrics(&t, group, name, searched);
    }
    if (t.cell_n == 0)
        return;
    fputs("\nMetrics:\n", cli->out);
    table_show(cli, &t, false);
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

struct step {
    int32_t batches;
    int64_t end_us;
    const char *training, *validation, *checkpoint, *uuid;
};

static int by_batches(const void *a, const void *b)
{
    int32_t x = ((const struct step *)a)->batches, y = ((const struct step *)b)->batches;
    return (x > y) - (x < y);
}

static struct step *step_at(struct trial_steps *all, struct arena *a, int32_t batches)
{
    for (size_t i = all->n; i-- > 0;)
        if (all->step[i].batches == batches)
            return &all->step[i];
    if (all->n == all->cap) {
        size_t cap = all->cap ? all->cap * 2 : 64;
        struct step *longer = arena_array(a, struct step, cap);
        if (all->n)
            memcpy(longer, all->step, all->n * sizeof(*longer));
        all->step = longer;
        all->cap = cap;
    }
    all->step[all->n] = (struct step){.batches = batches};
    return &all->step[all->n++];
}

static void take_metrics(struct trial_steps *all, struct arena *a, const struct wire_trial_metrics_workload *m,
                         bool validation)
{
    if (!m)
        return;
    struct step *s = step_at(all, a, m->total_batches);
    const char *text = m->metrics ? brief_object(a, m->metrics->avg_metrics) : NULL;
    if (validation)
        s->validation = text;
    else
        s->training = text;
    s->end_us = m->end_time > s->end_us ? m->end_time : s->end_us;
}

void trial_steps_add(struct trial_steps *all, struct arena *a, const struct wire_workload_container *w)
{
    take_metrics(all, a, w->training, false);
    take_metrics(all, a, w->validation, true);
    if (w->checkpoint) {
        struct step *s = step_at(all, a, w->checkpoint->total_batches);
        s->checkpoint = state_text(&wire_enum_checkpoint_state, (int32_t)w->checkpoint->state);
        s->uuid = w->checkpoint->uuid;
        s->end_us = w->checkpoint->end_time > s->end_us ? w->checkpoint->end_time : s->end_us;
    }
}

void trial_steps_show(struct cli *cli, struct trial_steps *all)
{
    cleanup_table struct table t = TABLE_INIT;
    if (all->n == 0)
        return;
    qsort(all->step, all->n, sizeof(*all->step), by_batches);
    table_columns(&t, (const char *const[]){"# of Batches", "Report Time", "Training", "Validation", "Checkpoint",
                                            "UUID", NULL});
    for (size_t i = 0; i < all->n; i++) {
        const struct step *s = &all->step[i];
        table_int(&t, s->batches);
        table_time(&t, s->end_us > 0, s->end_us);
        table_text(&t, s->training);
        table_text(&t, s->validation);
        table_text(&t, s->checkpoint);
        table_text(&t, s->uuid);
    }
    fputs("\nSteps:\n", cli->out);
    table_show(cli, &t, false);
}

/* ---- the trial itself -------------------------------------------------------------------------------------------- */

int trial_show(struct cli *cli, const struct wire_trial *trial, struct error *err)
{
    cleanup_table struct table t = TABLE_INIT;
    struct searched_metric searched;
    if (searched_metric_fetch(cli, trial->experiment_id, &searched, err) < 0)
        return -1;
    const struct wire_trial_metrics_workload *best = trial->best_validation;
    const char *best_text = best ? metric_text(&t.arena, best->metrics, searched.name) : NULL;
    table_columns(&t, (const char *const[]){"Trial ID", "Experiment ID", "State", "Started", "Ended", "Batches",
                                            "Restarts", "H-Params", "Best", "Best checkpoint", "Checkpoints", NULL});
    table_int(&t, trial->id);
    table_int(&t, trial->experiment_id);
    table_text(&t, state_text(&wire_enum_trial_state, (int32_t)trial->state));
    table_time(&t, trial->has_start_time, trial->start_time);
    table_time(&t, trial->has_end_time, trial->end_time);
    table_int(&t, trial->total_batches_processed);
    table_text(&t, trial->restarts ? arena_printf(&t.arena, "%d", trial->restarts) : NULL);
    table_object(&t, trial->hparams);
    table_text(&t, best_text
                       ? arena_printf(&t.arena, "%s=%s after %d batches", searched.name, best_text, best->total_batches)
                       : NULL);
    table_text(&t, trial->best_checkpoint ? trial->best_checkpoint->uuid : NULL);
    table_int(&t, trial->checkpoint_count);
    table_show_record(cli, &t, false);
    show_metrics(cli, trial, &searched);
    return 0;
}
