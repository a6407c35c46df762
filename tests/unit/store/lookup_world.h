/* The data of the tests of lookups: random experiments and runs that change. The facts are also kept outside of the
 * store, for the reference. */
#ifndef DET_TESTS_UNIT_STORE_LOOKUP_WORLD_H
#define DET_TESTS_UNIT_STORE_LOOKUP_WORLD_H

#include <math.h>

#include "common/base/rng.h"
#include "store/fixture.h"
#include "store/lookup/lookup.h"
#include "store/lookup/lookup_tables.h"
#include "store/metrics/metrics.h"

enum { EXPERIMENTS = 30, RUNS = 60, WORDS = 5 };

static const char *const words[WORDS] = {"", "alpha", "Beta", "alphabet", "50%"};
static const char *const states[] = {"ACTIVE", "PAUSED", "COMPLETED", "ERROR"};

/* ---- the facts --------------------------------------------------------------------------------------------------- */

struct run_fact {
    bool exists, has_lr, has_opt, has_owner, has_rows, has_loss;
    int experiment, step;
    double lr, rows, least, last;
    const char *opt, *owner;
};
struct experiment_fact {
    bool exists, archived;
    const char *name, *description, *state;
    unsigned labels; /* bit i stands for words[i + 1] */
    int user, best_run;
    double best;
};
struct world {
    struct fixture *f;
    struct store *reader;
    struct rng rng;
    struct experiment_fact x[EXPERIMENTS + 1];
    struct run_fact t[RUNS + 1];
    char user[3][16]; /* the shown names of users 1 and 2 */
    int experiment_n, run_n;
};

static unsigned pick(struct world *w, unsigned n)
{
    return (unsigned)rng_int(&w->rng, n);
}

static const char *label_list(unsigned labels, char ret[128])
{
    int n = snprintf(ret, 128, "[");
    for (int i = 1; i < WORDS; i++)
        if (labels & 1u << (i - 1))
            n += snprintf(ret + n, 128 - (size_t)n, "%s\"%s\"", n > 1 ? "," : "", words[i]);
    snprintf(ret + n, 128 - (size_t)n, "]");
    return ret;
}

/* ---- changes ----------------------------------------------------------------------------------------------------- */

static void add_experiment(struct world *w)
{
    if (w->experiment_n == EXPERIMENTS)
        return;
    int id = ++w->experiment_n;
    struct experiment_fact *x = &w->x[id];
    *x = (struct experiment_fact){.exists = true,
                                  .name = words[pick(w, WORDS)],
                                  .description = words[pick(w, WORDS)],
                                  .state = states[pick(w, 4)],
                                  .labels = pick(w, 16),
                                  .user = 1 + (int)pick(w, 2)};
    struct store_experiment row = fixture_experiment_row(id);
    char job[16], labels[128];
    snprintf(job, sizeof(job), "j%d", id);
    row.job_id = job;
    row.name = x->name;
    row.description = x->description;
    row.state = x->state;
    row.labels = label_list(x->labels, labels);
    row.user_id = x->user;
    OK(w->f, store_experiment_insert(w->f->st, &row, "", 0, &w->f->err));
}

static void add_run(struct world *w)
{
    int x = 1 + (int)pick(w, EXPERIMENTS);
    if (w->run_n == RUNS || !w->x[x].exists)
        return;
    int id = ++w->run_n;
    struct run_fact *t = &w->t[id];
    *t = (struct run_fact){.exists = true,
                           .experiment = x,
                           .has_lr = pick(w, 4) > 0,
                           .lr = pick(w, 5) / 4.0,
                           .has_opt = pick(w, 2) > 0,
                           .opt = words[1 + pick(w, WORDS - 1)]};
    char hparams[128];
    int n = snprintf(hparams, sizeof(hparams), "{\"none\":null");
    if (t->has_lr)
        n += snprintf(hparams + n, sizeof(hparams) - (size_t)n, ",\"lr\":%g", t->lr);
    if (t->has_opt)
        n += snprintf(hparams + n, sizeof(hparams) - (size_t)n, ",\"deep\":{\"opt\":\"%s\"}", t->opt);
    snprintf(hparams + n, sizeof(hparams) - (size_t)n, "}");
    struct trial_row row = fixture_trial_row(id, x);
    row.hparams = hparams;
    OK(w->f, store_trial_put(w->f->st, &row, true, &w->f->err));
}

static struct run_fact *some_run(struct world *w, int *ret_id)
{
    *ret_id = 1 + (int)pick(w, RUNS);
    return w->t[*ret_id].exists ? &w->t[*ret_id] : NULL;
}

static void report(struct world *w)
{
    int id;
    struct run_fact *t = some_run(w, &id);
    if (!t)
        return;
    char metrics[64];
    double loss = pick(w, 5) / 2.0;
    struct experiment_fact *x = &w->x[t->experiment];
    snprintf(metrics, sizeof(metrics), "{\"loss\":%g}", loss);
    struct store_report_result result;
    const struct store_report r = {.trial_id = id,
                                   .run_id = 1,
                                   .group = "validation",
                                   .has_steps = true,
                                   .steps = ++t->step,
                                   .report_us = T0,
                                   .avg_metrics = metrics};
    OK(w->f, store_report_add(w->f->st, &r, &result, &w->f->err));
    t->least = t->has_loss ? fmin(t->least, loss) : loss;
    t->last = loss;
    t->has_loss = true;
    if (x->best_run == 0 || loss < x->best) {
        x->best_run = id;
        x->best = loss;
    }
}

static void set_metadata(struct world *w)
{
    int id;
    struct run_fact *t = some_run(w, &id);
    char text[96];
    if (!t)
        return;
    t->has_owner = pick(w, 2) > 0;
    t->owner = words[pick(w, WORDS)];
    t->has_rows = pick(w, 2) > 0;
    t->rows = pick(w, 4);
    int n = snprintf(text, sizeof(text), "{\"x\":[1,{}]");
    if (t->has_owner)
        n += snprintf(text + n, sizeof(text) - (size_t)n, ",\"owner\":\"%s\"", t->owner);
    if (t->has_rows)
        n += snprintf(text + n, sizeof(text) - (size_t)n, ",\"data\":{\"rows\":%g}", t->rows);
    snprintf(text + n, sizeof(text) - (size_t)n, "}");
    OK(w->f, store_trial_set_metadata(w->f->st, id, text, &w->f->err));
}

static void change_experiment(struct world *w)
{
    int id = 1 + (int)pick(w, EXPERIMENTS);
    struct experiment_fact *x = &w->x[id];
    char labels[128];
    if (!x->exists)
        return;
    switch (pick(w, 4)) {
    case 0:
        x->archived = !x->archived;
        OK(w->f, store_experiment_set_archived(w->f->st, id, x->archived, &w->f->err));
        return;
    case 1:
        x->state = states[pick(w, 4)];
        OK(w->f, store_experiment_set_state(w->f->st, id, x->state, T0 + DAY_US, &w->f->err));
        return;
    case 2:
        x->user = 3 - x->user;
        fixture_give(w->f, id, x->user);
        return;
    default:
        x->name = words[pick(w, WORDS)];
        x->labels = pick(w, 16);
        OK(w->f, store_experiment_patch(w->f->st, id,
                                        &(struct store_experiment_patch){.name = x->name,
                                                                         .labels = label_list(x->labels, labels)},
                                        &w->f->err));
    }
}

static void remove_experiment(struct world *w)
{
    int id = 1 + (int)pick(w, EXPERIMENTS);
    if (!w->x[id].exists || pick(w, 3))
        return;
    fixture_delete(w->f, id);
    w->x[id].exists = false;
    for (int t = 1; t <= RUNS; t++)
        w->t[t].exists = w->t[t].exists && w->t[t].experiment != id;
}

static void rename_user(struct world *w)
{
    int id = 1 + (int)pick(w, 2);
    struct store_user_patch u = {.username = id == 1 ? "admin" : "other", .has_active = true, .active = true};
    snprintf(w->user[id], sizeof(w->user[id]), "%s%u", words[1 + pick(w, 3)], pick(w, 3));
    u.display_name = w->user[id];
    OK(w->f, store_user_patch(w->f->st, &u, id, T0, &w->f->err));
}

static void change(struct world *w)
{
    static void (*const changes[])(
        struct world *w) = {add_experiment,    add_run,           add_run,           report,     report, set_metadata,
                            change_experiment, change_experiment, remove_experiment, rename_user};
    OK(w->f, store_begin(w->f->st, &w->f->err));
    for (unsigned n = 1 + pick(w, 4); n; n--)
        changes[pick(w, sizeof(changes) / sizeof(*changes))](w);
    OK(w->f, store_commit(w->f->st, &w->f->err));
}

#endif
