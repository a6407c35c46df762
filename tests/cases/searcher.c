/* searcher-cases.json: random numbers, sampling, grids, and the tables that successive halving is made of. Runs of
 * whole searches are in searcher_runs.c. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "common/base/rng.h"
#include "core/searcher/adaptive.h"
#include "core/searcher/hparams.h"
#include "searcher_cases.h"

/* ---- rng --------------------------------------------------------------------------------------------------------- */

static void run_primitives(struct cases *c, struct json_object *v)
{
    struct rng r;
    uint8_t bytes[16];
    char hex[33], bits[32];
    rng_init(&r, (uint32_t)member_int(v, "seed"));
    rng_bytes(&r, bytes, sizeof(bytes));
    for (int i = 0; i < 16; i++)
        snprintf(hex + 2 * i, 3, "%02x", bytes[i]);
    bool ok = strcmp(hex, member_string(v, "read16_hex")) == 0;
    ok = ok && (int64_t)rng_int(&r, UINT64_C(1) << 31) == member_int(v, "then_int64n_2_31");
    ok = ok && rng_unit(&r) == member_double(v, "then_unit_interval");
    ok = ok && (int64_t)rng_int(&r, 7) == member_int(v, "then_intn_7");
    ok = ok && rng_uniform(&r, -2, 2) == member_double(v, "then_uniform_m2_2");
    snprintf(bits, sizeof(bits), "%" PRIu64, rng_bits64(&r));
    ok = ok && strcmp(bits, member_string(v, "then_bits64")) == 0;
    case_check(c, ok, "primitives of seed %s", member_string(v, "seed"));
}

/* "-1<<31": the numbers of the ranges are written as Go has them. */
static int64_t shifted_number(const char *text)
{
    char *end;
    while (*text == '(')
        text++;
    int64_t n = strtoll(text, &end, 10);
    return strncmp(end, "<<", 2) == 0 ? n * (INT64_C(1) << strtol(end + 2, NULL, 10)) : n;
}

static void run_range(struct cases *c, struct json_object *v)
{
    const char *range = member_string(v, "int64_range");
    int64_t low = shifted_number(range), high = shifted_number(strchr(range, ',') + 1);
    struct json_object *values = member(v, "values");
    struct rng r;
    bool ok = true;
    rng_init(&r, (uint32_t)member_int(v, "seed"));
    for (size_t i = 0; i < json_object_array_length(values); i++) {
        int64_t drawn = (int64_t)((uint64_t)low + rng_int(&r, (uint64_t)high - (uint64_t)low));
        ok = ok && drawn == json_object_get_int64(json_object_array_get_idx(values, i));
    }
    case_check(c, ok, "seed %s, range %s", member_string(v, "seed"), range);
}

static void run_rng(struct cases *c, struct json_object *section)
{
    for (size_t i = 0; i < json_object_array_length(section); i++) {
        struct json_object *v = json_object_array_get_idx(section, i);
        if (member(v, "int64_range"))
            run_range(c, v);
        else
            run_primitives(c, v);
    }
}

/* ---- creates ----------------------------------------------------------------------------------------------------- */

struct searcher *case_searcher(struct cases *c, struct json_object *v, const char *name)
{
    struct searcher *s = NULL;
    cleanup_error struct error err = ERROR_INIT;
    cleanup_json struct json_object *config = NULL;
    struct json_object *space = member(v, "hyperparameters");
    if (json_object_deep_copy(member(v, "searcher"), &config, NULL) < 0)
        abort();
    if (!member(config, "name"))
        json_object_object_add(config, "name", json_object_new_string(name));
    if (member(v, "smaller_is_better"))
        json_object_object_add(config, "smaller_is_better", json_object_get(member(v, "smaller_is_better")));
    if (searcher_new(json_object_to_json_string(config), space ? json_object_to_json_string(space) : "{}",
                     (uint32_t)member_int(v, "experiment_seed"), &s, &err) < 0)
        case_check(c, false, "%s: %s", member_string(v, "name"), error_msg(&err));
    return s;
}

/* Numbers are compared as numbers, to the last bit. */
static bool same_value(struct json_object *a, struct json_object *b)
{
    if (json_object_is_type(a, json_type_object) && json_object_is_type(b, json_type_object)) {
        if (json_object_object_length(a) != json_object_object_length(b))
            return false;
        json_object_object_foreach(a, key, value)
        {
            if (!json_object_object_get_ex(b, key, NULL) || !same_value(value, member(b, key)))
                return false;
        }
        return true;
    }
    if (json_object_is_type(a, json_type_double) || json_object_is_type(b, json_type_double))
        return json_object_get_double(a) == json_object_get_double(b);
    return json_object_equal(a, b);
}

static bool same_create(const struct searcher_action *action, struct json_object *expected)
{
    cleanup_json struct json_object *hparams = NULL;
    if (action->type != SEARCHER_CREATE || json_parse(action->hparams, strlen(action->hparams), &hparams, NULL) < 0)
        return false;
    return strcmp(action->request_id, member_string(expected, "request_id")) == 0 &&
           action->trial_seed == member_int(expected, "trial_seed") && same_value(hparams, member(expected, "hparams"));
}

static void run_create(struct cases *c, struct json_object *v)
{
    struct searcher_actions actions = SEARCHER_ACTIONS_INIT;
    struct json_object *expected = member(v, "initial_creates");
    struct searcher *s = case_searcher(c, v, NULL);
    if (!s)
        return;
    searcher_step(s, &(struct searcher_event){.type = SEARCHER_STARTED}, &actions, NULL);
    bool ok = actions.n == json_object_array_length(expected);
    for (size_t i = 0; ok && i < actions.n; i++)
        ok = same_create(&actions.item[i], json_object_array_get_idx(expected, i));
    case_check(c, ok, "%s with seed %s", member_string(member(v, "searcher"), "name"),
               member_string(v, "experiment_seed"));
    searcher_actions_release(&actions);
    searcher_free(s);
}

static void run_creates(struct cases *c, struct json_object *section)
{
    for (size_t i = 0; i < json_object_array_length(section); i++)
        run_create(c, json_object_array_get_idx(section, i));
}

/* ---- grids ------------------------------------------------------------------------------------------------------- */

static bool same_points(struct json_object *space, int64_t size, struct json_object *samples)
{
    bool ok = size == (int64_t)json_object_array_length(samples);
    for (int64_t i = 0; ok && i < size; i++) {
        cleanup_json struct json_object *point = hparams_grid_point(space, i);
        ok = same_value(point, json_object_array_get_idx(samples, (size_t)i));
    }
    return ok;
}

static void run_grids(struct cases *c, struct json_object *section)
{
    for (size_t i = 0; i < json_object_array_length(section); i++) {
        struct json_object *v = json_object_array_get_idx(section, i), *space = member(v, "hyperparameters");
        int64_t size = 0;
        bool ok = hparams_check(space, NULL) == 0 && hparams_grid_size(space, &size, NULL) == 0;
        if (member(v, "count"))
            ok = ok && size == member_int(v, "count");
        if (member(v, "samples"))
            ok = ok && same_points(space, size, member(v, "samples"));
        case_check(c, ok, "%s: %" PRId64 " points", json_object_to_json_string(space), size);
    }
}

/* ---- rungs ------------------------------------------------------------------------------------------------------- */

static bool same_ints(const int64_t *found, size_t n, struct json_object *expected)
{
    bool ok = json_object_array_length(expected) == n;
    for (size_t i = 0; ok && i < n; i++)
        ok = found[i] == json_object_get_int64(json_object_array_get_idx(expected, i));
    return ok;
}

static void run_make_rungs(struct cases *c, struct json_object *section)
{
    for (size_t i = 0; i < json_object_array_length(section); i++) {
        struct json_object *v = json_object_array_get_idx(section, i);
        int64_t units[ASHA_RUNGS_MAX];
        int n = (int)member_int(v, "num_rungs");
        if (n <= ASHA_RUNGS_MAX)
            asha_rung_units(n, member_int(v, "max_time"), member_double(v, "divisor"), units);
        case_check(c, n <= ASHA_RUNGS_MAX && same_ints(units, (size_t)n, member(v, "units")), "%s",
                   json_object_to_json_string(v));
    }
}

static void run_insert_metric(struct cases *c, struct json_object *section)
{
    for (size_t i = 0; i < json_object_array_length(section); i++) {
        struct json_object *v = json_object_array_get_idx(section, i), *existing = member(v, "existing");
        struct json_object *expected = member(v, "result");
        struct ranking r = {0};
        for (size_t k = 0; k < json_object_array_length(existing); k++)
            ranking_insert(&r,
                           (struct ranked){.metric = json_object_get_double(json_object_array_get_idx(existing, k))},
                           RANK_BEFORE_EQUALS);
        size_t index = ranking_insert(&r, (struct ranked){.metric = member_double(v, "new")}, RANK_BEFORE_EQUALS);
        bool ok = (int64_t)index == member_int(v, "index") && r.n == json_object_array_length(expected);
        for (size_t k = 0; ok && k < r.n; k++)
            ok = ranking_at(&r, k)->metric == json_object_get_double(json_object_array_get_idx(expected, k));
        case_check(c, ok, "%s: index %zu", json_object_to_json_string(v), index);
        ranking_release(&r);
    }
}

/* The value that a method compares is lower for what is better. */
static void run_get_metric(struct cases *c, struct json_object *section)
{
    for (size_t i = 0; i < json_object_array_length(section); i++) {
        struct json_object *v = json_object_array_get_idx(section, i);
        cleanup_strbuf struct strbuf config = STRBUF_INIT;
        cleanup_error struct error err = ERROR_INIT;
        struct searcher_event ev = {0};
        struct searcher *s = NULL;
        bool smaller = member_bool(v, "smaller_is_better");
        strbuf_addf(&config,
                    "{\"name\": \"async_halving\", \"num_rungs\": 1, \"max_trials\": 1, \"max_time\": 1, \"metric\": "
                    "\"%s\", \"time_metric\": \"%s\", \"smaller_is_better\": %s}",
                    member_string(v, "metric"), member_string(v, "time_metric"), smaller ? "true" : "false");
        bool ok = searcher_new(config.s, "{}", 0, &s, &err) == 0;
        int rv = ok ? searcher_read_metrics(s, json_object_to_json_string(member(v, "metrics")), &ev, &err) : -1;
        if (member(v, "error_contains"))
            ok = ok && rv < 0 && strstr(error_msg(&err), member_string(v, "error_contains"));
        else
            ok = ok && rv > 0 && ev.time == member_double(v, "time") &&
                 searcher_oriented(s, ev.metric) == member_double(v, "value");
        case_check(c, ok, "%s: %s", json_object_to_json_string(v), error_msg(&err));
        searcher_free(s);
    }
}

/* ---- stop_trials ------------------------------------------------------------------------------------------------- */

/* Trials are named by texts of numbers, which serve as numbers of trials here. */
static size_t number_of(const char *name)
{
    return (size_t)strtoul(name, NULL, 10);
}

static bool same_results(const struct asha *a, int rung, struct json_object *expected)
{
    const struct ranking *r = &a->rung[rung].results;
    bool ok = r->n == json_object_array_length(expected);
    for (size_t i = 0; ok && i < r->n; i++) {
        struct json_object *pair = json_object_array_get_idx(expected, i);
        const struct ranked *found = ranking_at(r, i);
        ok = found->trial == number_of(json_object_get_string(json_object_array_get_idx(pair, 0))) &&
             found->metric == json_object_get_double(json_object_array_get_idx(pair, 1));
    }
    return ok;
}

static bool same_stops(const struct searcher_actions *actions, struct json_object *expected)
{
    size_t n = 0;
    for (size_t i = 0; i < actions->n; i++) {
        if (actions->item[i].type != SEARCHER_STOP)
            return false;
        struct json_object *name = json_object_array_get_idx(expected, n++);
        if (!name || actions->item[i].trial != number_of(json_object_get_string(name)))
            return false;
    }
    return n == json_object_array_length(expected);
}

static bool as_expected(const struct asha *a, const struct searcher_actions *actions, struct json_object *expect)
{
    bool ok = same_stops(actions, member(expect, "stop"));
    json_object_object_foreach(member(expect, "trial_rungs"), name, rung)
    {
        ok = ok && a->trial[number_of(name)].rung == json_object_get_int(rung);
    }
    for (int r = 0; r < a->rung_n; r++) {
        char key[32];
        snprintf(key, sizeof(key), "rung%d_metrics", r);
        ok = ok && (!member(expect, key) || same_results(a, r, member(expect, key)));
    }
    return ok;
}

static void run_stop_trial(struct cases *c, struct json_object *v)
{
    struct json_object *units = member(v, "rung_units"), *results = member(v, "rung0_metrics");
    struct json_object *report = member(v, "report");
    struct searcher_actions actions = SEARCHER_ACTIONS_INIT;
    struct asha_length length = {.form = ASHA_BY_TIME, .units = 1};
    struct asha a;
    asha_init(&a, &length, member_double(v, "divisor"), (int)json_object_array_length(units), /* max_trials= */ 1, 1);
    for (int r = 0; r < a.rung_n; r++)
        a.rung[r].units = json_object_get_int64(json_object_array_get_idx(units, (size_t)r));
    json_object_object_foreach(member(v, "trial_rungs"), name, rung)
    {
        asha_place(&a, number_of(name), json_object_get_int(rung));
    }
    for (size_t i = 0; i < json_object_array_length(results); i++) {
        struct json_object *pair = json_object_array_get_idx(results, i);
        struct ranked result = {.trial = (uint32_t)number_of(
                                    json_object_get_string(json_object_array_get_idx(pair, 0))),
                                .metric = json_object_get_double(json_object_array_get_idx(pair, 1))};
        ranking_insert(&a.rung[0].results, result, RANK_AFTER_EQUALS);
    }
    asha_validated(&a, NULL, number_of(member_string(report, "trial")), member_double(report, "metric"),
                   member_double(report, "time"), &actions);
    case_check(c, as_expected(&a, &actions, member(v, "expect")), "%s", member_string(v, "name"));
    searcher_actions_release(&actions);
    asha_release(&a);
}

static void run_stop_trials(struct cases *c, struct json_object *section)
{
    for (size_t i = 0; i < json_object_array_length(section); i++)
        run_stop_trial(c, json_object_array_get_idx(section, i));
}

/* ---- brackets ---------------------------------------------------------------------------------------------------- */

enum { BRACKETS_MAX = 64 };

static void run_bracket_max_trials(struct cases *c, struct json_object *section)
{
    for (size_t i = 0; i < json_object_array_length(section); i++) {
        struct json_object *v = json_object_array_get_idx(section, i), *rungs = member(v, "brackets");
        struct adaptive_bracket b[BRACKETS_MAX] = {{0}};
        int64_t found[BRACKETS_MAX];
        size_t n = json_object_array_length(rungs);
        for (size_t k = 0; k < n && k < BRACKETS_MAX; k++)
            b[k].rungs = json_object_get_int(json_object_array_get_idx(rungs, k));
        adaptive_share_trials(b, n, member_int(v, "max_trials"), member_double(v, "divisor"));
        for (size_t k = 0; k < n; k++)
            found[k] = b[k].max_trials;
        case_check(c, same_ints(found, n, member(v, "expect")), "%s", json_object_to_json_string(v));
    }
}

static void run_bracket_max_concurrent(struct cases *c, struct json_object *section)
{
    for (size_t i = 0; i < json_object_array_length(section); i++) {
        struct json_object *v = json_object_array_get_idx(section, i), *trials = member(v, "bracket_trials");
        struct adaptive_bracket b[BRACKETS_MAX] = {{0}};
        int64_t found[BRACKETS_MAX];
        size_t n = json_object_array_length(trials);
        for (size_t k = 0; k < n && k < BRACKETS_MAX; k++)
            b[k].max_trials = json_object_get_int64(json_object_array_get_idx(trials, k));
        adaptive_share_concurrency(b, n, member_int(v, "max_concurrent"), member_double(v, "divisor"));
        for (size_t k = 0; k < n; k++)
            found[k] = b[k].max_concurrent;
        case_check(c, same_ints(found, n, member(v, "expect")), "%s", json_object_to_json_string(v));
    }
}

/* `config` is a searcher section without its name. */
static bool same_brackets(struct json_object *config, struct json_object *expected)
{
    cleanup_json struct json_object *copy = NULL, *tree = NULL;
    cleanup_free struct adaptive_bracket *b = NULL;
    cleanup_arena struct arena a = ARENA_INIT;
    struct exp_searcher s;
    size_t n = 0;
    if (json_object_deep_copy(config, &copy, NULL) < 0)
        abort();
    json_object_object_add(copy, "name", json_object_new_string("adaptive_asha"));
    if (expconf_read_searcher(copy, &a, &tree, &s, NULL) < 0 || adaptive_brackets(&s, &b, &n, NULL) < 0)
        return false;
    bool ok = n == json_object_array_length(expected);
    for (size_t i = 0; ok && i < n; i++) {
        struct json_object *e = json_object_array_get_idx(expected, i);
        int64_t units[ASHA_RUNGS_MAX];
        asha_rung_units(b[i].rungs, s.max_time, s.divisor, units);
        ok = b[i].rungs == member_int(e, "num_rungs") && b[i].max_trials == member_int(e, "max_trials") &&
             b[i].max_concurrent == member_int(e, "max_concurrent_trials") &&
             (!member(e, "rung_units") || same_ints(units, (size_t)b[i].rungs, member(e, "rung_units")));
    }
    return ok;
}

static void run_make_brackets(struct cases *c, struct json_object *section)
{
    for (size_t i = 0; i < json_object_array_length(section); i++) {
        struct json_object *v = json_object_array_get_idx(section, i);
        case_check(c, same_brackets(member(v, "config"), member(v, "expect")), "%s", json_object_to_json_string(v));
    }
}

/* ---- previews ---------------------------------------------------------------------------------------------------- */

static bool same_plan(const struct search_plan *p, struct json_object *expected)
{
    bool ok = p->n == json_object_array_length(expected);
    for (size_t i = 0; ok && i < p->n; i++) {
        struct json_object *e = json_object_array_get_idx(expected, i), *unit = member(e, "unit");
        ok = p->row[i].trials == member_int(e, "count") && p->row[i].whole == member_bool(unit, "maxLength");
        if (ok && !p->row[i].whole)
            ok = p->row[i].units == member_int(unit, "value") && strcmp(p->unit, member_string(unit, "name")) == 0;
    }
    return ok;
}

static void run_simulate_preview(struct cases *c, struct json_object *section)
{
    for (size_t i = 0; i < json_object_array_length(section); i++) {
        struct json_object *v = json_object_array_get_idx(section, i);
        struct search_plan plan = {0};
        struct searcher *s = case_searcher(c, v, NULL);
        if (!s)
            continue;
        searcher_preview(s, &plan);
        case_check(c, same_plan(&plan, member(v, "trials")), "%s", json_object_to_json_string(v));
        search_plan_release(&plan);
        searcher_free(s);
    }
}

static bool same_counts(const struct search_plan *p, struct json_object *expected)
{
    bool ok = p->n == json_object_array_length(expected);
    for (size_t i = 0; ok && i < p->n; i++) {
        struct json_object *pair = json_object_array_get_idx(expected, i);
        ok = p->row[i].units == json_object_get_int64(json_object_array_get_idx(pair, 0)) &&
             p->row[i].trials == json_object_get_int64(json_object_array_get_idx(pair, 1));
    }
    return ok;
}

/* Each row: a configuration, its brackets, its preview. */
static void run_brackets(struct cases *c, struct json_object *section)
{
    static const char *const results[] = {"brackets", "preview_units_to_count"};
    for (size_t i = 0; i < json_object_array_length(section); i++) {
        struct json_object *v = json_object_array_get_idx(section, i), *config = NULL;
        struct search_plan plan = {0};
        if (json_object_deep_copy(v, &config, NULL) < 0)
            abort();
        for (size_t k = 0; k < 2; k++)
            json_object_object_del(config, results[k]);
        json_object_object_add(config, "time_metric", json_object_new_string("batches"));
        cleanup_json struct json_object *whole = json_object_new_object();
        json_object_object_add(whole, "searcher", config);
        struct searcher *s = case_searcher(c, whole, "adaptive_asha");
        if (!s)
            continue;
        searcher_preview(s, &plan);
        bool ok = same_brackets(config, member(v, "brackets")) &&
                  same_counts(&plan, member(v, "preview_units_to_count"));
        case_check(c, ok, "%s", json_object_to_json_string(v));
        search_plan_release(&plan);
        searcher_free(s);
    }
}

CASE_SECTION(rng, run_rng)
CASE_SECTION(make_rungs, run_make_rungs)
CASE_SECTION(insert_metric, run_insert_metric)
CASE_SECTION(get_metric, run_get_metric)
CASE_SECTION(stop_trials, run_stop_trials)
CASE_SECTION(bracket_max_trials, run_bracket_max_trials)
CASE_SECTION(bracket_max_concurrent, run_bracket_max_concurrent)
CASE_SECTION(make_brackets, run_make_brackets)
CASE_SECTION(grids, run_grids)
CASE_SECTION(simulate_preview, run_simulate_preview)
CASE_SECTION(brackets, run_brackets)
CASE_SECTION(creates, run_creates)

const struct case_section searcher_sections[] = {
    CASE_ROW(rng),
    CASE_ROW(make_rungs),
    CASE_ROW(insert_metric),
    CASE_ROW(get_metric),
    CASE_ROW(stop_trials),
    CASE_ROW(bracket_max_trials),
    CASE_ROW(bracket_max_concurrent),
    CASE_ROW(make_brackets),
    CASE_ROW(grids),
    CASE_ROW(simulate_preview),
    CASE_ROW(brackets),
    CASE_ROW(creates),
    {0},
};
