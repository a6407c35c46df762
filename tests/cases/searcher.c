/* searcher-cases.json: random numbers, sampling, and runs of the search methods that exist. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "helpers.h"
#include "common/cleanup.h"
#include "common/rng.h"
#include "core/searcher/searcher.h"

/* ---- rng --------------------------------------------------------------------------------------------------------- */

static void run_primitives(struct cases *c, struct json_object *v)
{
    struct rng r;
    uint8_t bytes[16];
    char hex[33], bits[32];
    rng_init(&r, (uint32_t)member_int(v, "seed"));
    rng_bytes(&r, bytes, sizeof bytes);
    for (int i = 0; i < 16; i++)
        snprintf(hex + 2 * i, 3, "%02x", bytes[i]);
    bool ok = strcmp(hex, member_string(v, "read16_hex")) == 0;
    ok = ok && (int64_t)rng_int(&r, UINT64_C(1) << 31) == member_int(v, "then_int64n_2_31");
    ok = ok && rng_unit(&r) == member_double(v, "then_unit_interval");
    ok = ok && (int64_t)rng_int(&r, 7) == member_int(v, "then_intn_7");
    ok = ok && rng_uniform(&r, -2, 2) == member_double(v, "then_uniform_m2_2");
    snprintf(bits, sizeof bits, "%" PRIu64, rng_bits64(&r));
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
        if (member(v, "int64_range") != NULL)
            run_range(c, v);
        else
            run_primitives(c, v);
    }
}

/* ---- creates ----------------------------------------------------------------------------------------------------- */

static bool is_served(const char *searcher)
{
    return strcmp(searcher, "single") == 0 || strcmp(searcher, "random") == 0;
}

static struct searcher *new_searcher(struct cases *c, struct json_object *v, struct json_object *space)
{
    struct searcher *s = NULL;
    cleanup_error struct error err = ERROR_INIT;
    const char *name = member_string(member(v, "searcher"), "name");
    if (!is_served(name)) {
        case_check(c, false, "searcher %s does not exist yet", name);
        return NULL;
    }
    if (searcher_new(json_object_to_json_string(member(v, "searcher")),
                     space ? json_object_to_json_string(space) : "{}", (uint32_t)member_int(v, "experiment_seed"), &s,
                     &err) < 0)
        case_check(c, false, "searcher %s: %s", name, error_msg(&err));
    return s;
}

/* Numbers are compared as numbers, to the last bit. */
static bool same_value(struct json_object *a, struct json_object *b)
{
    if (json_object_is_type(a, json_type_object) && json_object_is_type(b, json_type_object)) {
        if (json_object_object_length(a) != json_object_object_length(b))
            return false;
        json_object_object_foreach(a, key, value) {
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
    if (json_parse(action->hparams, strlen(action->hparams), &hparams, NULL) < 0)
        return false;
    return strcmp(action->request_id, member_string(expected, "request_id")) == 0 &&
           action->trial_seed == member_int(expected, "trial_seed") && same_value(hparams, member(expected, "hparams"));
}

static void run_create(struct cases *c, struct json_object *v)
{
    struct searcher_actions actions = SEARCHER_ACTIONS_INIT;
    struct json_object *expected = member(v, "initial_creates");
    struct searcher *s = new_searcher(c, v, member(v, "hyperparameters"));
    if (s == NULL)
        return;
    bool ok = searcher_initial_trials(s, &actions, NULL) == 0 && actions.n == json_object_array_length(expected);
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

/* ---- runs of a method -------------------------------------------------------------------------------------------- */

/* All trials run to their end in the order in which they were created. */
static bool simulate(struct searcher *s, int64_t *ret_trials, int64_t *ret_stopped)
{
    struct searcher_actions actions = SEARCHER_ACTIONS_INIT;
    bool shut_down = false;
    *ret_trials = *ret_stopped = 0;
    searcher_initial_trials(s, &actions, NULL);
    for (size_t i = 0; i < actions.n; i++) {
        struct searcher_action a = actions.item[i];
        if (a.type == SEARCHER_CREATE) {
            ++*ret_trials;
            searcher_trial_created(s, a.request_id, &actions, NULL);
            searcher_validation_completed(s, a.request_id, "{\"loss\": 0.5, \"batches\": 1}", &actions, NULL);
            searcher_trial_exited(s, a.request_id, &actions, NULL);
        } else if (a.type == SEARCHER_STOP) {
            ++*ret_stopped;
        } else {
            shut_down = i + 1 == actions.n && !a.cancel && !a.failure;
        }
    }
    searcher_actions_release(&actions);
    return shut_down;
}

static void run_search_methods(struct cases *c, struct json_object *section)
{
    for (size_t i = 0; i < json_object_array_length(section); i++) {
        struct json_object *v = json_object_array_get_idx(section, i);
        int64_t trials, stopped;
        struct searcher *s = new_searcher(c, v, member(v, "hyperparameters"));
        if (s == NULL)
            continue;
        bool ok = simulate(s, &trials, &stopped);
        case_check(c, ok && trials == member_int(v, "total_trials") && stopped == member_int(v, "stopped"),
                   "%s: %" PRId64 " trials, %" PRId64 " stopped, %s", member_string(v, "name"), trials, stopped,
                   ok ? "shut down" : "no clean shutdown");
        searcher_free(s);
    }
}

CASE_SECTION(rng, run_rng)
CASE_SECTION(creates, run_creates)
CASE_SECTION(search_methods, run_search_methods)

const struct case_section searcher_sections[] = {
    CASE_ROW(rng), CASE_ROW(creates), CASE_ROW(search_methods), {0},
};
