/* lifecycle-cases.json: the tables of states. */
#include <string.h>

#include "helpers.h"
#include "core/states.h"

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
    json_object_object_foreach(section, name, to) {
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
    json_object_object_foreach(section, name, terminal) {
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

CASE_SECTION(experiment_transitions, run_experiment_transitions)
CASE_SECTION(trial_transitions, run_trial_transitions)
CASE_SECTION(stopping_to_terminal, run_stopping_to_terminal)
CASE_SECTION(unmanaged_experiment_state, run_unmanaged)

const struct case_section lifecycle_sections[] = {
    CASE_ROW(experiment_transitions),
    CASE_ROW(trial_transitions),
    CASE_ROW(stopping_to_terminal),
    CASE_ROW(unmanaged_experiment_state),
    {0},
};
