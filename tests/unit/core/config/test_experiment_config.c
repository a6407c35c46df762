/* The structs of the configurations of experiments and of other tasks, which tools/gen-config makes: that they have
 * each key of their table, that their defaults are the table's, and that they are read as the document says. */
#include "cmocka_setup.h"

#include <string.h>

#include "common/config/schema.h"
#include "gen/config_numbers.h"
#include "gen/config_tables.h"
#include "gen/experiment_config.h"
#include "gen/task_config.h"

static struct json_object *tree(const char *yaml)
{
    struct json_object *v = NULL;
    cleanup_error struct error err = ERROR_INIT;
    if (yaml_parse(yaml, strlen(yaml), &v, NULL, &err) < 0)
        fail_msg("%s", error_msg(&err));
    return v;
}

/* ---- values of a struct, as JSON --------------------------------------------------------------------------------- */

static struct json_object *section_of(const struct schema_record *r, const void *values, const char *kind);

static struct json_object *texts_of(const char *const *text, size_t n)
{
    struct json_object *list = json_object_new_array();
    for (size_t i = 0; i < n; i++)
        json_object_array_add(list, json_object_new_string(text[i]));
    return list;
}

static struct json_object *numbers_of(const int32_t *number, size_t n)
{
    struct json_object *list = json_object_new_array();
    for (size_t i = 0; i < n; i++)
        json_object_array_add(list, json_object_new_int(number[i]));
    return list;
}

static struct json_object *records_of(const struct schema_record *r, const char *item, size_t n)
{
    struct json_object *list = json_object_new_array();
    for (size_t i = 0; i < n; i++)
        json_object_array_add(list, section_of(r, item + i * r->size, NULL));
    return list;
}

static struct json_object *length_of(const struct schema_length *length, const char *const *unit)
{
    if (length->unit == 0)
        return json_object_new_int64(length->units);
    struct json_object *v = json_object_new_object();
    json_object_object_add(v, unit[length->unit - 1], json_object_new_int64(length->units));
    return v;
}

/* Returns NULL if the value is not set. */
static struct json_object *value_of(const struct schema_field *f, const char *values)
{
    const void *at = values + f->offset;
    size_t n = 0;
    if (f->beside)
        memcpy(&n, values + f->beside, 1);
    switch (f->type) {
    case SCHEMA_FIELD_TEXT:
        return *(const char *const *)at ? json_object_new_string(*(const char *const *)at) : NULL;
    case SCHEMA_FIELD_TREE:
        return json_object_get(*(struct json_object *const *)at);
    case SCHEMA_FIELD_RECORD:
        return section_of(f->record, at, NULL);
    case SCHEMA_FIELD_TEXTS:
    case SCHEMA_FIELD_INT32S:
    case SCHEMA_FIELD_RECORDS:
        memcpy(&n, values + f->beside, sizeof(n));
        return f->type == SCHEMA_FIELD_TEXTS    ? texts_of(*(const char *const *const *)at, n)
               : f->type == SCHEMA_FIELD_INT32S ? numbers_of(*(const int32_t *const *)at, n)
                                                : records_of(f->record, *(const char *const *)at, n);
    default:
        break;
    }
    if (f->beside && !n)
        return NULL;
    switch (f->type) {
    case SCHEMA_FIELD_BOOL:
        return json_object_new_boolean(*(const bool *)at);
    case SCHEMA_FIELD_INT32:
        return json_object_new_int(*(const int32_t *)at);
    case SCHEMA_FIELD_INT64:
    case SCHEMA_FIELD_SIZE:
    case SCHEMA_FIELD_DURATION:
        return json_object_new_int64(*(const int64_t *)at);
    case SCHEMA_FIELD_DOUBLE:
        return json_object_new_double(*(const double *)at);
    case SCHEMA_FIELD_CHOICE:
        return json_object_new_string(f->choice[*(const int *)at]);
    case SCHEMA_FIELD_LENGTH:
        return length_of(at, f->choice);
    default:
        fail_msg("%s: a type that this test does not know", f->name);
        return NULL;
    }
}

/* Makes an object of the values that are set, with the keys that the kind has. If kind is NULL, it is the kind in the
 * struct. */
static struct json_object *section_of(const struct schema_record *r, const void *values, const char *kind)
{
    struct json_object *section = json_object_new_object();
    unsigned bit = ~0u;
    const struct schema_field *first = &r->field[0];
    for (int i = 0; kind && first->choice && first->choice[i]; i++)
        if (strcmp(first->choice[i], kind) == 0)
            bit = 1u << i;
    for (size_t i = 0; i < r->field_n; i++) {
        struct json_object *v = !r->field[i].only || r->field[i].only & bit ? value_of(&r->field[i], values) : NULL;
        if (v)
            json_object_object_add(section, r->field[i].name, v);
    }
    return section;
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

static const struct schema_field *field_named(const struct schema_record *r, const char *name)
{
    for (size_t i = 0; i < r->field_n; i++)
        if (strcmp(r->field[i].name, name) == 0)
            return &r->field[i];
    return NULL;
}

/* Makes a copy without the values that are not set or empty, and with all numbers as doubles, because the struct does
 * not distinguish {} from nothing, nor 1 from 1.0. NULL: nothing is left. The function puts v. */
static struct json_object *comparable(struct json_object *v)
{
    struct json_object *copy = NULL;
    if (json_object_is_type(v, json_type_object)) {
        copy = json_object_new_object();
        json_object_object_foreach(v, name, value)
        {
            struct json_object *member = comparable(json_object_get(value));
            if (member)
                json_object_object_add(copy, name, member);
        }
    } else if (json_object_is_type(v, json_type_array)) {
        copy = json_object_new_array();
        for (size_t i = 0; i < json_object_array_length(v); i++)
            json_object_array_add(copy, comparable(json_object_get(json_object_array_get_idx(v, i))));
    } else {
        copy = json_object_is_type(v, json_type_int) ? json_object_new_double(json_object_get_double(v))
                                                     : json_object_get(v);
    }
    json_object_put(v);
    bool is_empty = (json_object_is_type(copy, json_type_object) && json_object_object_length(copy) == 0) ||
                    (json_object_is_type(copy, json_type_array) && json_object_array_length(copy) == 0);
    if (is_empty)
        json_object_put(copy);
    return is_empty ? NULL : copy;
}

static int defaults_seen;

/* Compares the default of each key of the section, and of the sections below it, in the struct and in the table. */
static void compare_defaults(const struct schema_key *section, const struct schema_record *r)
{
    for (size_t i = 0; i < section->child_n; i++) {
        const struct schema_key *key = &section->child[i];
        const struct schema_field *f = field_named(r, key->name);
        if (key->flags & SCHEMA_DROP || key->replaced_by)
            continue;
        if (!f)
            fail_msg("%s: the struct has no such field", key->name);
        if (f->type == SCHEMA_FIELD_RECORD && f->record->field_n > 0)
            compare_defaults(key, f->record);
        if (f->type == SCHEMA_FIELD_RECORDS)
            compare_defaults(key->item, f->record);
        if (!key->def || f->type == SCHEMA_FIELD_TREE)
            continue;
        cleanup_json struct json_object *given = json_tokener_parse(key->def),
                                        *found = comparable(value_of(f, r->defaults)),
                                        *expected = comparable(f->type == SCHEMA_FIELD_LENGTH
                                                                   ? json_object_get(given)
                                                                   : schema_fill(key, given));
        if (!json_object_equal(found, expected))
            fail_msg("%s: the struct's default is %s, the table's %s", key->name, json_object_to_json_string(found),
                     key->def);
        defaults_seen++;
    }
}

static void test_the_struct__has_each_key_of_the_table_with_its_default(void **state)
{
    compare_defaults(experiment_config_keys, &exp_values_record);
    assert_in_range(defaults_seen, 40, 1000); /* makes sure that the loop has compared something */
    defaults_seen = 0;
    compare_defaults(task_config_keys, &task_values_record);
    assert_in_range(defaults_seen, 15, 1000);
}

/* Checks that the struct of an empty document has the values that the table gives to such a document. */
static void expect_filled(const struct schema_key *key, const struct schema_record *r, const char *yaml)
{
    cleanup_arena struct arena a = ARENA_INIT;
    cleanup_json struct json_object *given = tree(yaml), *filled = schema_fill(key, given);
    void *of_given = arena_alloc(&a, r->size), *of_filled = arena_alloc(&a, r->size);
    schema_read(r, given, &a, of_given);
    schema_read(r, filled, &a, of_filled);
    const char *kind = schema_kind(key, given);
    cleanup_json struct json_object *x = comparable(section_of(r, of_given, kind)),
                                    *y = comparable(section_of(r, of_filled, kind));
    if (!json_object_equal(x, y))
        fail_msg("%s: %s\nfilled: %s", yaml, json_object_to_json_string(x), json_object_to_json_string(y));
}

static void test_the_struct__is_the_same_whether_the_table_has_filled_the_document_or_not(void **state)
{
    char yaml[128];
    const struct schema_key *searcher = schema_find(experiment_config_keys, "searcher");
    const struct schema_key *storage = schema_find(experiment_config_keys, "checkpoint_storage");
    for (int i = 0; exp_searcher_kind_names[i]; i++) {
        snprintf(yaml, sizeof(yaml), "{name: %s, metric: m}", exp_searcher_kind_names[i]);
        expect_filled(searcher, &exp_searcher_record, yaml);
    }
    for (int i = 0; exp_checkpoint_storage_kind_names[i]; i++) {
        snprintf(yaml, sizeof(yaml), "{type: %s}", exp_checkpoint_storage_kind_names[i]);
        expect_filled(storage, &exp_checkpoint_storage_record, yaml);
    }
    expect_filled(schema_find(experiment_config_keys, "resources"), &exp_resources_record, "{}");
    expect_filled(schema_find(experiment_config_keys, "environment"), &exp_environment_record, "{image: {cpu: mine}}");
    expect_filled(schema_find(experiment_config_keys, "optimizations"), &exp_optimizations_record,
                  "{mixed_precision: O2}");
    expect_filled(schema_find(experiment_config_keys, "profiling"), &exp_profiling_record, "{}");
    expect_filled(task_config_keys, &task_values_record, "{idle_timeout: 5m}");
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static void test_reading__takes_what_the_document_says(void **state)
{
    cleanup_arena struct arena a = ARENA_INIT;
    cleanup_json struct json_object *v = tree(
        "labels: [a, b]\nentrypoint: [x, y]\nrecords_per_epoch: 9007199254740992\nmin_validation_period: {epochs: 2}\n"
        "resources: {slots_per_trial: 4, max_slots: 0, weight: 0.5, memory_limit: 1 GiB, is_single_node: false,\n"
        "  cpus: 2.5, memory: 4 GiB}\n"
        "searcher: {name: adaptive_asha, metric: m, mode: aggressive, bracket_rungs: [3, 2], max_length: 7, smaller_is_better: false}\n"
        "checkpoint_storage: {type: directory, container_path: /c}\n"
        "bind_mounts: [{host_path: /h, container_path: /c, read_only: true}, {host_path: /i, container_path: /j}]\n"
        "environment: {environment_variables: {cuda: [A=1]}}\nretention_policy: {log_retention_days: -1}\n");
    struct exp_values x;
    exp_values_read(v, &a, &x);
    assert_ptr_equal(x.tree, v);
    assert_int_equal(x.labels_n, 2);
    assert_string_equal(x.labels[1], "b");
    assert_int_equal(json_object_array_length(x.entrypoint), 2);
    assert_int_equal(x.records_per_epoch, 9007199254740992);
    assert_int_equal(x.min_validation_period.unit, EXP_UNIT_EPOCHS);
    assert_int_equal(x.min_validation_period.units, 2);
    assert_int_equal(x.resources.slots_per_trial, 4);
    assert_true(x.resources.has_max_slots && x.resources.max_slots == 0);
    assert_true(x.resources.weight == 0.5);
    assert_int_equal(x.resources.memory_limit_bytes, 1 << 30);
    assert_true(x.resources.cpus == 2.5 && x.resources.memory_bytes == INT64_C(4) << 30);
    assert_true(x.resources.has_is_single_node && !x.resources.is_single_node);
    assert_int_equal(x.searcher.kind, EXP_SEARCHER_ADAPTIVE_ASHA);
    assert_int_equal(x.searcher.mode, EXP_SEARCHER_MODE_AGGRESSIVE);
    assert_int_equal(x.searcher.bracket_rungs_n, 2);
    assert_int_equal(x.searcher.bracket_rungs[0], 3);
    assert_true(x.searcher.has_max_length && x.searcher.max_length.unit == EXP_UNIT_NONE &&
                x.searcher.max_length.units == 7);
    assert_false(x.searcher.smaller_is_better);
    assert_int_equal(x.checkpoint_storage.kind, EXP_CHECKPOINT_STORAGE_DIRECTORY);
    assert_string_equal(x.checkpoint_storage.container_path, "/c");
    assert_int_equal(x.bind_mounts_n, 2);
    assert_true(x.bind_mounts[0].read_only && !x.bind_mounts[1].read_only);
    assert_string_equal(x.bind_mounts[1].propagation, "rprivate");
    assert_int_equal(x.environment.environment_variables.cuda_n, 1);
    assert_true(x.retention_policy.has_log_retention_days && x.retention_policy.log_retention_days == -1);
}

static void test_reading__takes_durations_as_text_and_as_nanoseconds(void **state)
{
    static const struct {
        const char *yaml;
        bool has;
        int64_t us;
    } rows[] = {
        {"{idle_timeout: 1h30m}", true, INT64_C(5400000000)},
        {"{idle_timeout: 1500}", true, 1},
        {"{idle_timeout: soon}", false, 0},
        {"{idle_timeout: null}", false, 0},
        {"{idle_timeout: [1s]}", false, 0},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        cleanup_arena struct arena a = ARENA_INIT;
        cleanup_json struct json_object *v = tree(rows[i].yaml);
        struct task_values x;
        task_values_read(v, &a, &x);
        assert_int_equal(x.has_idle_timeout_us, rows[i].has);
        assert_int_equal(x.idle_timeout_us, rows[i].us);
    }
}

static void test_reading__leaves_unset_what_is_null_or_missing_or_of_another_type(void **state)
{
    cleanup_arena struct arena a = ARENA_INIT;
    cleanup_json struct json_object *v = tree(
        "description: null\nresources: {max_slots: null, weight: null, slots_per_trial: many}\nlabels: none\n"
        "searcher: {name: unheard_of, metric: 5}\nretention_policy: 3\nbind_mounts: [5]\n");
    struct exp_values x;
    exp_values_read(v, &a, &x);
    assert_null(x.description);
    assert_false(x.resources.has_max_slots);
    assert_true(x.resources.weight == EXP_RESOURCES_WEIGHT_DEFAULT);
    assert_int_equal(x.resources.slots_per_trial, EXP_RESOURCES_SLOTS_PER_TRIAL_DEFAULT);
    assert_int_equal(x.labels_n, 0);
    assert_null(x.searcher.metric);
    assert_null(x.retention_policy.tree);
    assert_null(x.security.tree);
    assert_int_equal(x.bind_mounts_n, 1);
    assert_null(x.bind_mounts[0].host_path);
    exp_values_read(NULL, &a, &x);
    assert_int_equal(x.max_restarts, EXP_MAX_RESTARTS_DEFAULT);
}

static void test_reading_a_union__leaves_keys_of_other_kinds_at_zero(void **state)
{
    cleanup_arena struct arena a = ARENA_INIT;
    cleanup_json struct json_object *single = tree("{name: single, metric: m}"),
                                    *random = tree("{name: random, metric: m}");
    struct exp_searcher s;
    exp_searcher_read(single, &a, &s);
    assert_int_equal(s.max_concurrent_trials, 0);
    assert_true(s.divisor == 0);
    assert_true(s.smaller_is_better);
    exp_searcher_read(random, &a, &s);
    assert_int_equal(s.max_concurrent_trials, EXP_SEARCHER_MAX_CONCURRENT_TRIALS_DEFAULT);
    assert_int_equal(s.max_rungs, 0);
}

static void test_changing__sets_the_key_that_the_field_is_read_from(void **state)
{
    cleanup_arena struct arena a = ARENA_INIT;
    cleanup_json struct json_object *v = tree("{searcher: 5, resources: {priority: 3}}");
    struct json_object *resources = schema_section(exp_values, v, resources),
                       *searcher = schema_section(exp_values, v, searcher);
    assert_ptr_equal(schema_get(exp_values, v, resources), resources);
    assert_int_equal(json_object_get_int(schema_get(exp_resources, resources, priority)), 3);
    schema_put(exp_resources, resources, priority, NULL);
    schema_put(exp_resources, resources, memory_limit_bytes, json_object_new_int(7));
    schema_put(exp_searcher, searcher, kind, json_object_new_string("grid"));
    schema_put(exp_values, v, scheduling_unit_batches, json_object_new_int(9));
    assert_null(schema_get(exp_resources, resources, priority));
    assert_null(schema_get(exp_values, resources, reproducibility));
    assert_null(schema_get(exp_reproducibility, NULL, experiment_seed));
    assert_string_equal(json_object_to_json_string_ext(v, JSON_C_TO_STRING_PLAIN),
                        "{\"searcher\":{\"name\":\"grid\"},\"resources\":{\"priority\":null,\"memory_limit\":7},"
                        "\"scheduling_unit\":9}");
    struct exp_values x;
    exp_values_read(v, &a, &x);
    assert_int_equal(x.searcher.kind, EXP_SEARCHER_GRID);
    assert_int_equal(x.scheduling_unit_batches, 9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_struct__has_each_key_of_the_table_with_its_default),
        cmocka_unit_test(test_the_struct__is_the_same_whether_the_table_has_filled_the_document_or_not),
        cmocka_unit_test(test_reading__takes_what_the_document_says),
        cmocka_unit_test(test_reading__takes_durations_as_text_and_as_nanoseconds),
        cmocka_unit_test(test_reading__leaves_unset_what_is_null_or_missing_or_of_another_type),
        cmocka_unit_test(test_reading_a_union__leaves_keys_of_other_kinds_at_zero),
        cmocka_unit_test(test_changing__sets_the_key_that_the_field_is_read_from),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
