/* searcher-cases.json: whole searches, from the first trial to the end, in both forms of telling trials how long to
 * train. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "searcher_cases.h"

/* ---- by time: trial after trial, each reports until it is stopped ------------------------------------------------ */

struct outcome {
    bool stopped;
    int64_t at; /* when it was stopped, else 0 */
};

/* When trials report, and what. */
struct script {
    int64_t from, step, to;
    double (*metric)(const struct script *p, size_t trial);
    int64_t reports; /* so far, of all trials */
};

struct run {
    struct searcher *searcher;
    struct searcher_actions actions;
    size_t at; /* actions that were looked at */
    struct outcome *outcome;
    size_t trial_n;
    bool shut_down;
};

static void step(struct run *r, struct searcher_event ev)
{
    searcher_step(r->searcher, &ev, &r->actions, NULL);
}

/* Whether `trial` is among those that are stopped now. */
static bool look_at_actions(struct run *r, size_t trial)
{
    bool stopped = false;
    for (; r->at < r->actions.n; r->at++) {
        const struct searcher_action *a = &r->actions.item[r->at];
        r->trial_n += a->type == SEARCHER_CREATE;
        stopped = stopped || (a->type == SEARCHER_STOP && a->trial == trial);
        r->shut_down = a->type == SEARCHER_SHUTDOWN && !a->failure && !a->cancel;
    }
    return stopped;
}

static struct outcome run_trial(struct run *r, struct script *p, size_t trial)
{
    struct outcome o = {0};
    for (int64_t time = p->from; time <= p->to && !o.stopped; time += p->step) {
        struct searcher_event ev = {.type = SEARCHER_VALIDATED, .trial = trial, .time = (double)time};
        p->reports++;
        ev.metric = p->metric(p, trial);
        step(r, ev);
        o = (struct outcome){look_at_actions(r, trial), time};
    }
    if (!o.stopped)
        o.at = 0;
    step(r, (struct searcher_event){.type = SEARCHER_EXITED, .trial = trial});
    look_at_actions(r, trial);
    return o;
}

static void run_all(struct run *r, struct searcher *s, struct script *p)
{
    *r = (struct run){.searcher = s};
    step(r, (struct searcher_event){.type = SEARCHER_STARTED});
    look_at_actions(r, SIZE_MAX);
    for (size_t i = 0; i < r->trial_n; i++) {
        struct outcome o = run_trial(r, p, i);
        r->outcome = realloc(r->outcome, (i + 1) * sizeof(struct outcome));
        r->outcome[i] = o;
    }
}

static void run_release(struct run *r)
{
    searcher_actions_release(&r->actions);
    searcher_free(r->searcher);
    free(r->outcome);
}

/* ---- runs -------------------------------------------------------------------------------------------------------- */

static double increasing(const struct script *p, size_t trial)
{
    return (double)trial;
}

static double decreasing(const struct script *p, size_t trial)
{
    return -(double)trial;
}

static double zigzag(const struct script *p, size_t trial)
{
    return (double)(7 * trial % 5);
}

static double by_report(const struct script *p, size_t trial)
{
    return (double)p->reports;
}

static double (*pattern(const char *name))(const struct script *p, size_t trial)
{
    return strcmp(name, "increasing") == 0   ? increasing
           : strcmp(name, "decreasing") == 0 ? decreasing
           : strcmp(name, "zigzag") == 0     ? zigzag
                                             : NULL;
}

static bool same_outcomes(const struct run *r, struct json_object *v)
{
    struct json_object *results = member(v, "results");
    bool ok = (int64_t)r->trial_n == member_int(v, "total_trials") && json_object_array_length(results) == r->trial_n;
    for (size_t i = 0; ok && i < r->trial_n; i++) {
        struct json_object *e = json_object_array_get_idx(results, i);
        const struct outcome *o = &r->outcome[member_int(e, "trial")];
        ok = o->stopped == member_bool(e, "stopped") && o->at == member_int(e, "at");
    }
    return ok && searcher_progress(r->searcher) == member_double(v, "final_progress");
}

static void run_runs(struct cases *c, struct json_object *section)
{
    for (size_t i = 0; i < json_object_array_length(section); i++) {
        struct json_object *v = json_object_array_get_idx(section, i), *config = member(v, "searcher");
        int64_t period = member_int(v, "period");
        struct script p = {period, period, member_int(config, "max_time"), pattern(member_string(v, "metric_pattern")),
                           0};
        struct run r;
        struct searcher *s = p.metric ? case_searcher(c, v, NULL) : NULL;
        if (!p.metric)
            case_check(c, false, "unknown metric_pattern %s", member_string(v, "metric_pattern"));
        if (!s)
            continue;
        run_all(&r, s, &p);
        case_check(c, r.shut_down && same_outcomes(&r, v), "%s %s: %zu trials", member_string(config, "name"),
                   member_string(v, "metric_pattern"), r.trial_n);
        run_release(&r);
    }
}

/* ---- search_methods ---------------------------------------------------------------------------------------------- */

/* "0,100,..,900 stop early" */
static struct script script_of(struct json_object *v)
{
    struct script p = {.from = 1, .step = 1, .to = 1, .metric = by_report};
    int64_t second;
    if (sscanf(member_string(v, "report_at"), "%" SCNd64 ",%" SCNd64 ",..,%" SCNd64, &p.from, &second, &p.to) == 3)
        p.step = second - p.from;
    return p;
}

static int64_t stopped_at(const struct run *r, int64_t at)
{
    int64_t n = 0;
    for (size_t i = 0; i < r->trial_n; i++)
        n += r->outcome[i].stopped && r->outcome[i].at == at;
    return n;
}

static int64_t expected_at(struct json_object *stopped, const char *at)
{
    if (!json_object_is_type(stopped, json_type_array))
        return member_int(stopped, at);
    int64_t n = 0; /* bracket by bracket */
    for (size_t i = 0; i < json_object_array_length(stopped); i++)
        n += member_int(json_object_array_get_idx(stopped, i), at);
    return n;
}

static bool same_stops(const struct run *r, struct json_object *all, struct json_object *stopped)
{
    bool ok = true;
    json_object_object_foreach(stopped, at, n)
    {
        (void)n;
        ok = ok && stopped_at(r, strtoll(at, NULL, 10)) == expected_at(all, at);
    }
    return ok;
}

static bool stops_as_expected(const struct run *r, struct json_object *v)
{
    struct json_object *stopped = member(v, "stopped_at");
    if (!stopped) {
        int64_t n = 0;
        for (size_t i = 0; i < r->trial_n; i++)
            n += r->outcome[i].stopped;
        return n == member_int(v, "stopped");
    }
    if (!json_object_is_type(stopped, json_type_array))
        return same_stops(r, stopped, stopped);
    bool ok = true;
    for (size_t i = 0; i < json_object_array_length(stopped); i++)
        ok = ok && same_stops(r, stopped, json_object_array_get_idx(stopped, i));
    return ok;
}

/* The one hyperparameter of every trial, sorted. */
static bool same_values(const struct run *r, struct json_object *sorted)
{
    cleanup_json struct json_object *found = json_object_new_array();
    for (size_t i = 0; i < r->actions.n; i++) {
        cleanup_json struct json_object *hparams = NULL;
        const struct searcher_action *a = &r->actions.item[i];
        if (a->type != SEARCHER_CREATE || json_parse(a->hparams, strlen(a->hparams), &hparams, NULL) < 0)
            continue;
        json_object_object_foreach(hparams, name, value)
        {
            (void)name;
            json_object_array_put_idx(found, json_object_array_length(sorted) - 1 - a->trial, json_object_get(value));
        }
    }
    return json_object_equal(found, sorted); /* grids begin with their last point */
}

static void run_search_methods(struct cases *c, struct json_object *section)
{
    for (size_t i = 0; i < json_object_array_length(section); i++) {
        struct json_object *v = json_object_array_get_idx(section, i);
        struct script p = script_of(v);
        struct run r;
        struct searcher *s = case_searcher(c, v, NULL);
        if (!s)
            continue;
        run_all(&r, s, &p);
        bool ok = r.shut_down && (int64_t)r.trial_n == member_int(v, "total_trials") && stops_as_expected(&r, v) &&
                  (!member(v, "sorted_values") || same_values(&r, member(v, "sorted_values")));
        case_check(c, ok, "%s: %zu trials", member_string(v, "name"), r.trial_n);
        run_release(&r);
    }
}

/* ---- operations: a queue, the head of which is carried out, and what follows is appended ------------------------- */

struct legacy {
    struct searcher *searcher;
    struct searcher_actions queue;
    struct json_object *trials; /* those expected, in the order of their creation; NULL: see `metric` */
    double (*metric)(size_t trial);
    struct json_object *lengths; /* found: a list for each trial */
};

static double constant(size_t trial)
{
    return 1;
}

static double by_trial(size_t trial)
{
    return (double)trial;
}

static double metric_of(const struct legacy *l, size_t trial)
{
    return l->trials ? member_double(json_object_array_get_idx(l->trials, trial), "metric") : l->metric(trial);
}

/* Such a trial ends at its last operation. */
static bool exits_early(const struct legacy *l, size_t trial, size_t operations)
{
    struct json_object *t = l->trials ? json_object_array_get_idx(l->trials, trial) : NULL;
    return member_bool(t, "early_exit") && operations == json_object_array_length(member(t, "ops"));
}

static void carry_out(struct legacy *l, const struct searcher_action *a)
{
    struct searcher_event exited = {.type = SEARCHER_EXITED, .trial = a->trial};
    struct json_object *lengths = json_object_array_get_idx(l->lengths, a->trial);
    if (a->type == SEARCHER_CREATE) {
        json_object_array_add(l->lengths, json_object_new_array());
    } else if (a->type == SEARCHER_CLOSE) {
        searcher_step(l->searcher, &exited, &l->queue, NULL);
    } else if (a->type == SEARCHER_VALIDATE_AFTER) {
        json_object_array_add(lengths, json_object_new_int64(a->length));
        struct searcher_event ev = {.type = SEARCHER_OPERATION_COMPLETED,
                                    .trial = a->trial,
                                    .length = a->length,
                                    .metric = metric_of(l, a->trial)};
        struct searcher_event early = {.type = SEARCHER_EXITED_EARLY,
                                       .trial = a->trial,
                                       .reason = SEARCHER_EXIT_USER_CANCELED};
        bool ends = exits_early(l, a->trial, json_object_array_length(lengths));
        searcher_step(l->searcher, ends ? &early : &ev, &l->queue, NULL);
        if (ends)
            searcher_step(l->searcher, &exited, &l->queue, NULL);
    }
}

/* Whether it came to its end. */
static bool run_legacy(struct legacy *l)
{
    bool over = false;
    l->lengths = json_object_new_array();
    searcher_step(l->searcher, &(struct searcher_event){.type = SEARCHER_STARTED}, &l->queue, NULL);
    for (size_t i = 0; i < l->queue.n; i++) {
        struct searcher_action a = l->queue.item[i]; /* the queue grows under our hands */
        over = a.type == SEARCHER_SHUTDOWN;
        if (a.trial != SIZE_MAX && l->trials && a.trial >= json_object_array_length(l->trials))
            return false; /* more than were expected */
        carry_out(l, &a);
    }
    return over;
}

static void legacy_release(struct legacy *l)
{
    searcher_actions_release(&l->queue);
    searcher_free(l->searcher);
    json_object_put(l->lengths);
}

static bool same_lengths(const struct legacy *l)
{
    bool ok = json_object_array_length(l->lengths) == json_object_array_length(l->trials);
    for (size_t i = 0; ok && i < json_object_array_length(l->trials); i++)
        ok = json_object_equal(json_object_array_get_idx(l->lengths, i),
                               member(json_object_array_get_idx(l->trials, i), "ops"));
    return ok;
}

/* Cases of grids give no hyperparameters, only the number of trials: any axis of as many points will do. */
static void add_grid(struct json_object *v)
{
    struct json_object *axis = json_object_new_object(), *space = json_object_new_object();
    if (strcmp(member_string(member(v, "searcher"), "name"), "grid") == 0 && !member(v, "hyperparameters")) {
        json_object_object_add(axis, "type", json_object_new_string("categorical"));
        json_object_object_add(axis, "vals", json_object_get(member(v, "trials")));
        json_object_object_add(space, "x", json_object_get(axis));
        json_object_object_add(v, "hyperparameters", json_object_get(space));
    }
    json_object_put(axis);
    json_object_put(space);
}

static void run_by_value(struct cases *c, struct json_object *section, const char *name)
{
    for (size_t i = 0; i < json_object_array_length(section); i++) {
        struct json_object *v = json_object_array_get_idx(section, i);
        add_grid(v);
        struct legacy l = {.searcher = case_searcher(c, v, name), .trials = member(v, "trials")};
        if (!l.searcher)
            continue;
        bool ok = run_legacy(&l);
        case_check(c, ok && same_lengths(&l), "%s: %s%s", member_string(v, "name"), ok ? "" : "no end, ",
                   json_object_to_json_string(l.lengths));
        legacy_release(&l);
    }
}

static int by_text(const void *a, const void *b)
{
    return strcmp(json_object_to_json_string(*(struct json_object *const *)a),
                  json_object_to_json_string(*(struct json_object *const *)b));
}

static void run_simulated(struct cases *c, struct json_object *section, const char *name)
{
    for (size_t i = 0; i < json_object_array_length(section); i++) {
        struct json_object *v = json_object_array_get_idx(section, i),
                           *expected = member(v, "expected_trials_unordered");
        const char *validation = member_string(v, "validation");
        struct legacy l = {.searcher = case_searcher(c, v, name)};
        if (!l.searcher)
            continue;
        l.metric = strcmp(validation, "ConstantValidation") == 0 ? constant : by_trial;
        bool ok = (l.metric == constant || strcmp(validation, "TrialIDMetric") == 0) && run_legacy(&l);
        json_object_array_sort(l.lengths, by_text);
        json_object_array_sort(expected, by_text);
        case_check(c, ok && json_object_equal(l.lengths, expected), "%s (%s): %s", member_string(v, "name"), validation,
                   json_object_to_json_string(l.lengths));
        legacy_release(&l);
    }
}

static void run_halving_by_value(struct cases *c, struct json_object *section)
{
    run_by_value(c, section, "async_halving");
}

static void run_random_by_value(struct cases *c, struct json_object *section)
{
    run_by_value(c, section, "random");
}

static void run_grid_by_value(struct cases *c, struct json_object *section)
{
    run_by_value(c, section, "grid");
}

static void run_halving_simulated(struct cases *c, struct json_object *section)
{
    run_simulated(c, section, "async_halving");
}

static void run_random_simulated(struct cases *c, struct json_object *section)
{
    run_simulated(c, section, "random");
}

CASE_SECTION(runs, run_runs)
CASE_SECTION(search_methods, run_search_methods)
CASE_SECTION(legacy_promotion, run_halving_by_value)
CASE_SECTION(legacy_stopping, run_halving_by_value)
CASE_SECTION(legacy_random, run_random_by_value)
CASE_SECTION(legacy_grid, run_grid_by_value)
CASE_SECTION(legacy_promotion_sim, run_halving_simulated)
CASE_SECTION(legacy_stopping_sim, run_halving_simulated)
CASE_SECTION(legacy_random_sim, run_random_simulated)

const struct case_section searcher_run_sections[] = {
    CASE_ROW(runs),
    CASE_ROW(search_methods),
    CASE_ROW(legacy_promotion),
    CASE_ROW(legacy_stopping),
    CASE_ROW(legacy_random),
    CASE_ROW(legacy_grid),
    CASE_ROW(legacy_promotion_sim),
    CASE_ROW(legacy_stopping_sim),
    CASE_ROW(legacy_random_sim),
    {0},
};
