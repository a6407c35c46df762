/* lifecycle-cases.json: the tables of states, which checkpoints are kept, and the signatures of web hooks. */
#include <stdlib.h>
#include <string.h>

#include "core/experiments/gc.h"
#include "core/records/states.h"
#include "helpers.h"
#include "signature.h"

static bool row_is(const struct sm_type *type, int from, struct json_object *to)
{
    for (int state = 0; state < type->state_n; state++) {
        bool allowed = (type->state[from].allowed & SM_TO(state)) != 0;
        if (allowed != list_has(to, sm_type_name_of(type, state)))
            return false;
    }
    return true;
}

static void run_table(struct cases *c, const struct sm_type *type, struct json_object *section)
{
    json_object_object_foreach(section, name, to)
    {
        int from;
        case_check(c, sm_type_state_of(type, name, &from) == 0 && row_is(type, from, to), "%s of a %s", name,
                   type->name);
    }
}

static void run_experiment_transitions(struct cases *c, struct json_object *section)
{
    run_table(c, &experiment_sm, section);
}

static void run_trial_transitions(struct cases *c, struct json_object *section)
{
    run_table(c, &trial_sm, section);
}

static void run_stopping_to_terminal(struct cases *c, struct json_object *section)
{
    json_object_object_foreach(section, name, terminal)
    {
        enum run_state stopping;
        bool ok = run_state_parse(name, &stopping) == 0 && run_state_is_stopping(stopping);
        case_check(c,
                   ok &&
                       strcmp(run_state_name(run_state_terminal_for(stopping)), json_object_get_string(terminal)) == 0,
                   "%s", name);
    }
}

/* RUNNING is how people see ACTIVE. */
static enum run_state parse_shown(const char *name)
{
    enum run_state s = RUN_DELETED;
    if (strcmp(name, "RUNNING") == 0)
        return RUN_ACTIVE;
    run_state_parse(name, &s);
    return s;
}

static void run_unmanaged(struct cases *c, struct json_object *section)
{
    for (size_t i = 0; i < json_object_array_length(section); i++) {
        struct json_object *v = json_object_array_get_idx(section, i), *trials = member(v, "trials");
        enum run_state state[16];
        size_t n = json_object_array_length(trials);
        for (size_t k = 0; k < n && k < 16; k++)
            state[k] = parse_shown(json_object_get_string(json_object_array_get_idx(trials, k)));
        case_check(c,
                   n <= 16 && unmanaged_experiment_state(state, (int)n) == parse_shown(member_string(v, "experiment")),
                   "%s", json_object_to_json_string(v));
    }
}

/* ---- which checkpoints are kept ---------------------------------------------------------------------------------- */

static struct gc_candidate candidate_of(struct json_object *v)
{
    struct json_object *metric = member(v, "metric");
    return (struct gc_candidate){.trial_id = (int32_t)member_int(v, "trial"),
                                 .steps_completed = (int32_t)member_int(v, "steps_completed"),
                                 .has_metric = metric != NULL,
                                 .metric = json_object_get_double(metric),
                                 .validation_id = member_int(v, "id")};
}

static int number_at(struct json_object *list, size_t i)
{
    return json_object_get_int(json_object_array_get_idx(list, i));
}

/* {"save_experiment_best": 2, …}, or the three numbers in this order. */
static struct gc_policy policy_of(struct json_object *c)
{
    struct json_object *p = member(c, "policy"), *smaller = member(c, "smaller_is_better");
    bool smaller_is_better = !smaller || json_object_get_boolean(smaller);
    if (json_object_is_type(p, json_type_array))
        return (struct gc_policy){number_at(p, 0), number_at(p, 1), number_at(p, 2), smaller_is_better};
    return (struct gc_policy){(int)member_int(p, "save_experiment_best"), (int)member_int(p, "save_trial_best"),
                              (int)member_int(p, "save_trial_latest"), smaller_is_better};
}

static bool list_has_number(struct json_object *list, int64_t number)
{
    for (size_t i = 0; list && i < json_object_array_length(list); i++)
        if (json_object_get_int64(json_object_array_get_idx(list, i)) == number)
            return true;
    return false;
}

/* The checkpoints of a worked case; the validation's id is the checkpoint's. */
static const struct gc_candidate worked_case[] = {
    {1, 1, false, 0, 1, false},  {1, 2, false, 0, 2, false},  {1, 3, true, 0.6, 3, false}, {1, 4, true, 0.5, 4, false},
    {1, 5, true, 0.4, 5, false}, {2, 1, false, 0, 6, false},  {2, 2, true, 0.2, 7, false}, {2, 3, true, 0.3, 8, false},
    {2, 4, false, 0, 9, false},  {2, 5, false, 0, 10, false},
};
enum { WORKED_N = sizeof(worked_case) / sizeof(*worked_case) };

struct checkpoints {
    struct gc_candidate *item;
    size_t n;
};

static bool has_checkpoint(const struct checkpoints *all, int64_t id)
{
    for (size_t i = 0; i < all->n; i++)
        if (all->item[i].validation_id == id)
            return true;
    return false;
}

static bool names_others(struct json_object *section, const struct checkpoints *all)
{
    for (size_t i = 0; section && i < json_object_array_length(section); i++) {
        struct json_object *keep = member(json_object_array_get_idx(section, i), "keep");
        for (size_t k = 0; keep && k < json_object_array_length(keep); k++)
            if (!has_checkpoint(all, number_at(keep, k)))
                return true;
    }
    return false;
}

/* The file's section gc_checkpoints. Case files are samples, this section like the others: where cases keep checkpoints
 * that it lacks, it is a sample of the worked case, and the rest is taken from there. */
static struct checkpoints checkpoints_of(struct json_object *file)
{
    struct json_object *list = member(file, "gc_checkpoints");
    size_t n = json_object_is_type(list, json_type_array) ? json_object_array_length(list) : 0;
    struct checkpoints all = {.item = calloc(n + WORKED_N, sizeof(*all.item))};
    for (size_t i = 0; i < n; i++)
        all.item[all.n++] = candidate_of(json_object_array_get_idx(list, i));
    bool sampled = names_others(member(file, "gc"), &all) || names_others(member(file, "gc_grid"), &all);
    for (size_t i = 0; sampled && i < WORKED_N; i++)
        if (!has_checkpoint(&all, worked_case[i].validation_id))
            all.item[all.n++] = worked_case[i];
    return all;
}

static bool keeps(const struct checkpoints *all, struct json_object *keep)
{
    size_t kept = 0;
    for (size_t i = 0; i < all->n; i++) {
        if (all->item[i].keep != list_has_number(keep, all->item[i].validation_id))
            return false;
        kept += all->item[i].keep;
    }
    return keep && kept == json_object_array_length(keep);
}

static void run_gc(const char *name, struct json_object *section, struct json_object *file, struct case_results *r)
{
    struct cases c = {.section = name, .results = r};
    struct checkpoints all = checkpoints_of(file);
    for (size_t i = 0; i < json_object_array_length(section); i++) {
        struct json_object *v = json_object_array_get_idx(section, i);
        struct gc_policy policy = policy_of(v);
        gc_choose(&policy, all.item, all.n);
        case_check(&c, keeps(&all, member(v, "keep")), "%s", json_object_to_json_string(v));
    }
    free(all.item);
}

static void gc_section(struct json_object *section, struct json_object *file, struct case_results *r)
{
    run_gc("gc", section, file, r);
}

static void gc_grid_section(struct json_object *section, struct json_object *file, struct case_results *r)
{
    run_gc("gc_grid", section, file, r);
}

/* One trial with checkpoints at steps 1 … 4 whose metric rises with the step; the lists name the steps that go. */
static void run_gc_unit(struct cases *c, struct json_object *section)
{
    struct json_object *list = member(section, "cases");
    for (size_t i = 0; list && i < json_object_array_length(list); i++) {
        struct json_object *v = json_object_array_get_idx(list, i);
        struct gc_policy policy = policy_of(v);
        struct gc_candidate candidate[4];
        bool right = true;
        for (int k = 0; k < 4; k++)
            candidate[k] = (struct gc_candidate){
                .trial_id = 1, .steps_completed = k + 1, .has_metric = true, .metric = k + 1, .validation_id = k + 1};
        gc_choose(&policy, candidate, 4);
        for (int k = 0; k < 4; k++)
            right = right && candidate[k].keep != list_has_number(member(v, "delete"), k + 1);
        case_check(c, right, "%s", json_object_to_json_string(v));
    }
}

/* ---- web hooks --------------------------------------------------------------------------------------------------- */

static void run_signatures(struct cases *c, struct json_object *section)
{
    for (size_t i = 0; i < json_object_array_length(section); i++) {
        struct json_object *v = json_object_array_get_idx(section, i);
        const char *body = member_string(v, "body");
        char found[SIGNATURE_TEXT_MAX] = "";
        signature_of(member_string(v, "key"), member_int(v, "timestamp"), body, strlen(body), found, NULL);
        case_check(c, strcmp(found, member_string(v, "signature")) == 0, "%s gave %s", json_object_to_json_string(v),
                   found);
    }
}

CASE_SECTION(experiment_transitions, run_experiment_transitions)
CASE_SECTION(trial_transitions, run_trial_transitions)
CASE_SECTION(stopping_to_terminal, run_stopping_to_terminal)
CASE_SECTION(unmanaged_experiment_state, run_unmanaged)
CASE_SECTION(gc_unit, run_gc_unit)
CASE_SECTION(webhook_signatures, run_signatures)

const struct case_section lifecycle_sections[] = {
    CASE_ROW(experiment_transitions),
    CASE_ROW(trial_transitions),
    CASE_ROW(stopping_to_terminal),
    CASE_ROW(unmanaged_experiment_state),
    {"gc_checkpoints", NULL},
    CASE_ROW(gc),
    CASE_ROW(gc_grid),
    CASE_ROW(gc_unit),
    CASE_ROW(webhook_signatures),
    {0},
};
