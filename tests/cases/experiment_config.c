/* experiment-config-cases.json: what parses, what is complete, how template and config merge, the effective form.
 *
 * The sentences of errors are our own; what a case pins down is the verdict and the places
 * (`<config>.resources.priority`) that are named. Where we decided to differ from the predecessor, a row of
 * `differences` recognises the case by its form and says what must come out instead; docs/compatibility.md gives the
 * reasons. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "common/base/cleanup.h"
#include "core/config/expconf.h"

static const char *text(struct json_object *v, const char *name)
{
    struct json_object *s = json_object_object_get(v, name);
    return s ? json_object_get_string(s) : "";
}

static struct json_object *copy_of(struct json_object *v)
{
    struct json_object *copy = NULL;
    if (v && json_object_deep_copy(v, &copy, NULL) < 0)
        abort();
    return copy;
}

/* Members that are null, except where null is a value of the user's. */
static void strip_nulls(struct json_object *v)
{
    if (json_object_is_type(v, json_type_array)) {
        for (size_t i = 0; i < json_object_array_length(v); i++)
            strip_nulls(json_object_array_get_idx(v, i));
    }
    if (!json_object_is_type(v, json_type_object))
        return;
    size_t n;
    cleanup_free const char **name = json_sorted_names(v, &n);
    for (size_t i = 0; i < n; i++) {
        struct json_object *value = json_object_object_get(v, name[i]);
        if (!value && strcmp(name[i], "val") != 0)
            json_object_object_del(v, name[i]);
        else if (strcmp(name[i], "val") != 0 && strcmp(name[i], "vals") != 0)
            strip_nulls(value);
    }
}

/* Parsed and merged documents are compared without their nulls, and an empty list of mounts means that there are
 * none. */
static struct json_object *essence(struct json_object *v)
{
    struct json_object *copy = copy_of(v);
    strip_nulls(copy);
    struct json_object *mounts = json_object_object_get(copy, "bind_mounts");
    if (mounts && json_object_array_length(mounts) == 0)
        json_object_object_del(copy, "bind_mounts");
    return copy;
}

/* What the predecessor forgets while it parses. */
static void drop_forgotten(struct json_object *config)
{
    static const char *const forgotten[] = {"version", "data_layer", "internal"};
    for (size_t i = 0; i < 3; i++)
        json_object_object_del(config, forgotten[i]);
    struct json_object *resources = json_object_object_get(config, "resources");
    if (resources)
        json_object_object_del(resources, "agent_label");
}

/* ---- Places in errors -------------------------------------------------------------------------------------------- */

/* Each line of an error that begins with <config>, cut after its path: "<config>.a[0] ". */
static void collect_places(const char *message, struct strbuf *out)
{
    for (const char *at = message; (at = strstr(at, "<config>")); at++) {
        if (at != message && at[-1] != '\n' && at[-1] != ' ')
            continue;
        size_t n = strcspn(at, ": \n");
        if (at[n] == ':' || at[n] == ' ')
            strbuf_addf(out, "%.*s ", (int)n, at);
    }
}

/* Every place of `expected` is named in `found`; a finer place will do, as will the section that holds a field. */
static bool names_places(const char *found, const char *expected, struct strbuf *missing)
{
    cleanup_strbuf struct strbuf have = STRBUF_INIT, want = STRBUF_INIT;
    collect_places(found, &have);
    collect_places(expected, &want);
    for (const char *at = strbuf_str(&want); *at;) {
        size_t n = strcspn(at, " ");
        bool there = false;
        for (const char *h = strbuf_str(&have); *h && !there; h += strcspn(h, " ") + 1)
            there = strncmp(h, at, n) == 0 || (strncmp(h, at, strcspn(h, " ")) == 0 && at[strcspn(h, " ")] == '.');
        if (!there)
            strbuf_addf(missing, "%.*s ", (int)n, at);
        at += n + 1;
    }
    return missing->n == 0;
}

static void expect_error(struct case_results *r, const char *section, size_t i, bool failed, const char *found,
                         const char *expected)
{
    cleanup_strbuf struct strbuf missing = STRBUF_INIT;
    if (!failed)
        case_fail(r, section, i, "accepted, expected: %s", expected);
    else if (!names_places(found, expected, &missing))
        case_fail(r, section, i, "does not name %s\nexpected: %s\nfound: %s", missing.s, expected, found);
    else
        case_pass(r);
}

/* ---- Decided differences ----------------------------------------------------------------------------------------- */

static struct json_object *read_yaml(const char *yaml)
{
    struct json_object *v = NULL;
    yaml_parse(yaml, strlen(yaml), &v, NULL, NULL);
    return v ? v : json_object_new_object();
}

static bool expects_no_decoding_of_shm_size(struct json_object *c)
{
    return strstr(text(c, "parse_error"), "resources.shm_size of type int") != NULL;
}

static bool expects_counts_without_grid(struct json_object *c)
{
    cleanup_json struct json_object *config = read_yaml(text(c, "yaml"));
    struct json_object *searcher = json_object_object_get(config, "searcher");
    bool named = json_object_is_type(searcher, json_type_object) && json_object_object_get(searcher, "name");
    return !named && strstr(text(c, "parse_error"), "count was not provided");
}

/* Refused by the predecessor, accepted here. */
static const struct {
    const char *what;
    bool (*applies)(struct json_object *c);
} accepted_here[] = {
    {"shm_size may be a text with a unit", expects_no_decoding_of_shm_size},
    {"only a grid needs counts", expects_counts_without_grid},
};

static bool differs_by_decision(struct json_object *c)
{
    for (size_t i = 0; i < sizeof(accepted_here) / sizeof(*accepted_here); i++) {
        if (accepted_here[i].applies(c))
            return true;
    }
    return false;
}

/* A searcher that the predecessor refuses for new experiments: max_length serves ASHA here, and the retired names
 * run. */
static bool searcher_runs_here(struct json_object *config)
{
    struct json_object *searcher = json_object_object_get(config, "searcher");
    return strcmp(text(searcher, "name"), "custom") != 0 && json_object_object_get(searcher, "max_length");
}

/* ---- cases ------------------------------------------------------------------------------------------------------- */

static void check_completeness(struct case_results *r, size_t i, struct json_object *c, struct json_object *config)
{
    cleanup_error struct error err = ERROR_INIT;
    bool failed = expconf_check_complete(config, true, &err) < 0;
    if (json_object_object_get(c, "complete_error"))
        expect_error(r, "cases", i, failed, error_msg(&err), text(c, "complete_error"));
    else if (failed)
        case_fail(r, "cases", i, "incomplete: %s", error_msg(&err));
    else
        case_pass(r);
}

/* One verdict a case: the first thing that is wrong with it. */
static void run_parsed(struct case_results *r, size_t i, struct json_object *c, struct json_object *config)
{
    expconf_normalize(config);
    expconf_normalize_hyperparameters(config);
    drop_forgotten(config);
    cleanup_json struct json_object *found = essence(config),
                                    *expected = essence(json_object_object_get(c, "parsed_non_null"));
    if (!json_object_equal(found, expected)) {
        case_expect_json(r, "cases", i, found, expected);
        return;
    }
    cleanup_error struct error err = ERROR_INIT;
    bool refused = expconf_check_runnable(config, &err) < 0;
    bool expect_refused = json_object_object_get(c, "searcher_current_error") && !searcher_runs_here(config);
    if (refused != expect_refused)
        case_fail(r, "cases", i, "searcher %s: %s", refused ? "refused" : "accepted",
                  refused ? error_msg(&err) : text(c, "searcher_current_error"));
    else
        check_completeness(r, i, c, config);
}

static void run_case(struct case_results *r, size_t i, struct json_object *c)
{
    const char *yaml = text(c, "yaml");
    cleanup_json struct json_object *config = NULL;
    cleanup_error struct error err = ERROR_INIT;
    bool failed = expconf_parse(yaml, strlen(yaml), &config, &err) < 0;
    bool expect_failed = !json_object_get_boolean(json_object_object_get(c, "parse_ok"));
    if (expect_failed && differs_by_decision(c)) {
        if (failed)
            case_fail(r, "cases", i, "refused: %s", error_msg(&err));
        else
            case_pass(r);
    } else if (expect_failed) {
        expect_error(r, "cases", i, failed, error_msg(&err), text(c, "parse_error"));
    } else if (failed) {
        case_fail(r, "cases", i, "refused: %s", error_msg(&err));
    } else {
        run_parsed(r, i, c, config);
    }
}

static void run_cases(struct json_object *section, struct json_object *file, struct case_results *r)
{
    for (size_t i = 0; i < json_object_array_length(section); i++)
        run_case(r, i, json_object_array_get_idx(section, i));
}

/* ---- merges ------------------------------------------------------------------------------------------------------ */

/* What our rule gives where the predecessor replaces a list, a length, a hyperparameter, credentials or the searcher:
 * the case then pins down everything else, and the section in question is computed here from the rule, in its plainest
 * form: concatenation with the template first, objects member by member. */
static bool both_have(struct json_object *a, struct json_object *b, const char *name, struct json_object **x,
                      struct json_object **y)
{
    return json_object_object_get_ex(a, name, x) && json_object_object_get_ex(b, name, y) && *x && *y;
}

static struct json_object *plain_merge(struct json_object *upper, struct json_object *lower)
{
    if (json_object_is_type(upper, json_type_array) && json_object_is_type(lower, json_type_array)) {
        struct json_object *list = copy_of(lower);
        for (size_t i = 0; i < json_object_array_length(upper); i++)
            json_object_array_add(list, copy_of(json_object_array_get_idx(upper, i)));
        return list;
    }
    if (!json_object_is_type(upper, json_type_object) || !json_object_is_type(lower, json_type_object))
        return copy_of(upper);
    struct json_object *object = copy_of(lower);
    json_object_object_foreach(upper, name, value)
    {
        struct json_object *other = json_object_object_get(lower, name);
        json_object_object_add(object, name,
                               other && value ? plain_merge(value, other) : copy_of(value ? value : other));
    }
    return object;
}

static void expect_plainly(struct json_object *config, struct json_object *template_config,
                           struct json_object *expected, const char *name)
{
    struct json_object *x, *y;
    if (both_have(config, template_config, name, &x, &y))
        json_object_object_add(expected, name, plain_merge(x, y));
}

static struct json_object *expected_merge(struct json_object *c, struct json_object *config,
                                          struct json_object *template_config)
{
    static const char *const plain[] = {
        "data", "searcher", "slurm", "pbs", "min_validation_period", "min_checkpoint_period"};
    struct json_object *expected = copy_of(json_object_object_get(c, "merged_non_null")), *x, *y;
    for (size_t i = 0; expected && i < sizeof(plain) / sizeof(*plain); i++)
        expect_plainly(config, template_config, expected, plain[i]);
    if (expected && both_have(config, template_config, "environment", &x, &y))
        expect_plainly(x, y, json_object_object_get(expected, "environment"), "registry_auth");
    return expected;
}

static bool is_twofold_length(struct json_object *merged, const char *name)
{
    struct json_object *v = json_object_object_get(merged, name);
    return json_object_is_type(v, json_type_object) && json_object_object_length(v) > 1;
}

static void run_merge(struct case_results *r, size_t i, struct json_object *c)
{
    cleanup_json struct json_object *config = read_yaml(text(c, "config")),
                                    *template_config = read_yaml(text(c, "template"));
    cleanup_json struct json_object *merged = NULL, *expected = expected_merge(c, config, template_config);
    cleanup_error struct error err = ERROR_INIT;
    bool failed = expconf_merge(config, template_config, &merged, &err) < 0;
    bool contradicts = expected && (is_twofold_length(expected, "min_validation_period") ||
                                    is_twofold_length(expected, "min_checkpoint_period"));
    bool quirk = strstr(text(c, "error"), "count was not provided") != NULL; /* the whole is not a grid */
    if (contradicts || (!expected && !quirk)) {
        expect_error(r, "merges", i, failed, error_msg(&err),
                     contradicts ? "<config>: a length in two units" : text(c, "error"));
        return;
    }
    if (failed) {
        case_fail(r, "merges", i, "refused: %s", error_msg(&err));
        return;
    }
    if (!expected) {
        case_pass(r);
        return;
    }
    cleanup_json struct json_object *a = essence(merged), *b = essence(expected);
    case_expect_json(r, "merges", i, a, b);
}

static void run_merges(struct json_object *section, struct json_object *file, struct case_results *r)
{
    for (size_t i = 0; i < json_object_array_length(section); i++)
        run_merge(r, i, json_object_array_get_idx(section, i));
}

/* ---- minimal_defaulted ------------------------------------------------------------------------------------------- */

/* What somebody has to write to get the given effective form: only what has no default. */
static struct json_object *minimal_config(struct json_object *effective)
{
    static const char *const own[] = {"name", "entrypoint", "hyperparameters", "reproducibility"};
    struct json_object *config = json_object_new_object(), *searcher = json_object_new_object(),
                       *storage = json_object_new_object();
    for (size_t i = 0; i < 4; i++)
        json_object_object_add(config, own[i], copy_of(json_object_object_get(effective, own[i])));
    struct json_object *from = json_object_object_get(effective, "searcher");
    json_object_object_add(searcher, "name", json_object_new_string(text(from, "name")));
    json_object_object_add(searcher, "metric", json_object_new_string(text(from, "metric")));
    json_object_object_add(config, "searcher", searcher);
    from = json_object_object_get(effective, "checkpoint_storage");
    json_object_object_add(storage, "type", json_object_new_string(text(from, "type")));
    json_object_object_add(storage, "host_path", json_object_new_string(text(from, "host_path")));
    json_object_object_add(config, "checkpoint_storage", storage);
    return config;
}

static void run_minimal(struct json_object *section, struct json_object *file, struct case_results *r)
{
    cleanup_json struct json_object *config = minimal_config(section), *parsed = NULL, *filled = NULL;
    cleanup_strbuf struct strbuf yaml = STRBUF_INIT;
    cleanup_error struct error err = ERROR_INIT;
    yaml_print(config, &yaml);
    if (expconf_parse(yaml.s, yaml.n, &parsed, &err) < 0 || expconf_check_complete(parsed, false, &err) < 0) {
        case_fail(r, "minimal_defaulted", 0, "%s", error_msg(&err));
        return;
    }
    expconf_normalize(parsed);
    filled = expconf_fill(parsed);
    case_expect_json(r, "minimal_defaulted", 0, filled, section);
}

const struct case_section experiment_config_sections[] = {
    {"cases", run_cases},   {"merges", run_merges}, {"minimal_defaulted", run_minimal},
    {"minimal_yaml", NULL}, {NULL, NULL},
};
