#include "core/config/taskconf.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/arena.h"
#include "common/base/cleanup.h"
#include "common/base/must.h"
#include "core/config/expconf_checks.h"
#include "core/config/expconf_internal.h"
#include "core/config/policies.h"
#include "gen/config_numbers.h"
#include "gen/config_tables.h"

/* A taskconf, which callers see, with the memory of its texts. */
struct view {
    struct taskconf config;
    struct arena arena;
};

static const struct schema_key *keys(void)
{
    return task_config_keys;
}

/* ---- The request ------------------------------------------------------------------------------------------------- */

/* Reads the request's document. *ret_positions, which the caller frees, is NULL if the document is no text. */
static int read_document(const struct taskconf_request *rq, struct json_object **ret,
                         struct yaml_positions **ret_positions, struct error *err)
{
    if (!rq->text) {
        *ret = rq->config ? json_object_get(rq->config) : json_object_new_object();
        return expconf_check_values(*ret, err);
    }
    struct json_object *tree = NULL;
    if (expconf_check_text(rq->text_n, rq->cluster, err) < 0)
        return -1;
    if (yaml_parse(rq->text, rq->text_n, &tree, ret_positions, err) < 0)
        return error_wrap(err, "the configuration is not valid YAML");
    *ret = tree ? tree : json_object_new_object();
    return 0;
}

static int check_document(struct json_object *config, enum schema_phase phase, const struct yaml_positions *positions,
                          struct error *err)
{
    struct schema_problems problems = SCHEMA_PROBLEMS_INIT;
    struct schema_place place = {.positions = positions, .root = "<config>"};
    schema_validate(keys(), config, phase, expconf_checks, &place, &problems);
    int r = schema_problems_error(&problems, err);
    schema_problems_release(&problems);
    return r;
}

/* Checks everything that is in the request's document. */
static int check_present(struct json_object *config, const struct yaml_positions *positions, struct error *err)
{
    return check_document(config, SCHEMA_PRESENT, positions, err);
}

/* Lays the document over its template. If the result has mistakes, those of the document itself are reported, with
 * their lines, if it has any. */
static int lay_over_template(struct json_object *document, const struct yaml_positions *positions,
                             struct json_object *template_config, struct json_object **ret, struct error *err)
{
    cleanup_error struct error merged_error = ERROR_INIT;
    if (taskconf_merge(document, template_config, ret, &merged_error) == 0)
        return 0;
    if (check_present(document, positions, err) == 0)
        error_move(err, &merged_error);
    return -1;
}

/* Writes an entrypoint that is a line for the shell as a list with this line. */
static void normalize_entrypoint(struct json_object *config)
{
    struct json_object *entrypoint = schema_get(task_values, config, entrypoint);
    if (!json_object_is_type(entrypoint, json_type_string))
        return;
    struct json_object *list = json_object_new_array();
    json_object_array_add(list, json_object_get(entrypoint));
    schema_put(task_values, config, entrypoint, list);
}

/* Writes a duration as Go does: "30m" becomes "30m0s", and so does a number of nanoseconds. */
static void normalize_idle_timeout(struct json_object *config)
{
    struct json_object *timeout = schema_get(task_values, config, idle_timeout_us);
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    int64_t ns = json_object_get_int64(timeout);
    if (!timeout ||
        (json_object_is_type(timeout, json_type_string) && duration_parse(json_object_get_string(timeout), &ns) < 0))
        return;
    duration_format(ns, &text);
    schema_put(task_values, config, idle_timeout_us, json_object_new_string(text.s));
}

/* Makes one document, in normal form, of the request and its template. */
static int read_request(const struct taskconf_request *rq, struct json_object **ret, struct json_object **warnings,
                        struct error *err)
{
    cleanup_json struct json_object *document = NULL, *merged = NULL;
    struct yaml_positions *positions = NULL;
    int rc = read_document(rq, &document, &positions, err);
    if (rc == 0 && positions)
        expconf_warn_words(positions, warnings);
    if (rc == 0 && rq->cluster->template_config)
        rc = lay_over_template(document, positions, rq->cluster->template_config, &merged, err);
    else if (rc == 0 && (rc = check_present(document, positions, err)) == 0)
        merged = template_lay(keys(), document, NULL);
    yaml_positions_free(positions);
    if (rc < 0)
        return -1;
    normalize_entrypoint(merged);
    normalize_idle_timeout(merged);
    *ret = take_ptr(merged);
    return 0;
}

/* ---- What belongs to the kind ------------------------------------------------------------------------------------ */

static const struct taskconf_kind *kind_of(const struct taskconf_request *rq)
{
    return &taskconf_kinds[rq->kind];
}

/* Whether the document asks for something by this key: by another value than the default, or than nothing at all. */
static bool asks_for(struct json_object *config, const char *name)
{
    struct json_object *v = json_object_object_get(config, name);
    cleanup_json struct json_object *def = NULL;
    const struct schema_key *key = schema_member(keys(), name, NULL);
    if (!v || (json_object_is_type(v, json_type_array) && json_object_array_length(v) == 0))
        return false;
    def = key->def ? json_tokener_parse(key->def) : NULL;
    return !def || !json_object_equal(def, v);
}

static bool has_proxy_ports(struct json_object *config)
{
    struct json_object *ports = schema_get(exp_environment, schema_get(task_values, config, environment), proxy_ports);
    return json_object_is_type(ports, json_type_array) && json_object_array_length(ports) > 0;
}

/* Adds a sentence for each key of the document that counts for other kinds of tasks only. */
static void warn_of_other_kinds(const struct taskconf_request *rq, struct json_object *config,
                                struct json_object **warnings)
{
    static const struct {
        const char *key;
        enum task_kind of;
    } rows[] = {
        {"notebook_idle_type", TASK_KIND_NOTEBOOK},
        {"tensorboard_args", TASK_KIND_TENSORBOARD},
        {"preemption_timeout", TASK_KIND_GENERIC},
    };
    const char *own = task_kind_word(rq->kind);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        if (rows[i].of != rq->kind && asks_for(config, rows[i].key))
            expconf_warn(warnings, "%s has no effect on a %s: it is for a %s", rows[i].key, own,
                         task_kind_word(rows[i].of));
    if (!kind_of(rq)->runs_entrypoint && asks_for(config, "entrypoint"))
        expconf_warn(warnings, "entrypoint has no effect on a %s: it runs a program of the platform", own);
    if (!kind_of(rq)->has_service && asks_for(config, "idle_timeout") && !has_proxy_ports(config))
        expconf_warn(warnings,
                     "idle_timeout has no effect on a %s without environment.proxy_ports: nobody can see whether it is "
                     "idle",
                     own);
}

/* What rules a TensorBoard whatever its configuration says. */
static void rule_tensorboard(struct json_object *config, struct json_object **warnings)
{
    struct json_object *resources = schema_section(task_values, config, resources);
    struct json_object *slots = schema_get(task_resources, resources, slots);
    if (slots && json_object_get_int(slots) != 0)
        expconf_warn(warnings, "resources.slots has no effect on a tensorboard: it never has slots");
    if (asks_for(config, "description"))
        expconf_warn(warnings, "description has no effect on a tensorboard: its description is made by the master");
    schema_put(task_resources, resources, slots, json_object_new_int(0));
    schema_put(task_values, config, description, NULL);
}

/* A context is unpacked where the task begins, so the request must not say another place. The cluster's own work_dir
 * gives way. */
static int rule_work_dir(const struct taskconf_request *rq, struct json_object *config, struct json_object *lower,
                         struct error *err)
{
    struct json_object *own = schema_get(task_values, config, work_dir),
                       *below = schema_get(task_values, lower, work_dir);
    if (!rq->has_context)
        return 0;
    if (own && !(below && json_object_equal(own, below)))
        return error_set(err, ERR_INVALID,
                         "<config>.work_dir: cannot be set together with a context directory: the task begins in the "
                         "directory of the context's files; leave out one of the two");
    schema_put(task_values, config, work_dir, NULL);
    schema_put(task_values, lower, work_dir, NULL);
    return 0;
}

/* The duration after which an idle task of this kind ends if nobody says one. 0: never. */
static int32_t default_idle_s(const struct taskconf_request *rq)
{
    return rq->kind == TASK_KIND_NOTEBOOK      ? rq->notebook_timeout_s
           : rq->kind == TASK_KIND_TENSORBOARD ? rq->tensorboard_timeout_s
                                               : 0;
}

static void set_program(const struct taskconf_request *rq, struct json_object *config)
{
    const char *const *word = kind_of(rq)->program;
    struct json_object *list = json_object_new_array();
    for (; word && *word; word++)
        json_object_array_add(list, json_object_new_string(*word));
    schema_put(task_values, config, entrypoint, list);
}

/* Adds the values that depend on the kind, on the pool, and on the moment of the request. */
static void add_request_defaults(const struct taskconf_request *rq, struct json_object *config,
                                 const struct expconf_pool *pool)
{
    struct json_object *resources = schema_section(task_values, config, resources);
    if (pool->default_priority > 0 && !schema_get(task_resources, resources, priority))
        schema_put(task_resources, resources, priority, json_object_new_int(pool->default_priority));
    if (!json_object_get_string_len(schema_get(task_values, config, description))) {
        char words[64];
        cleanup_strbuf struct strbuf text = STRBUF_INIT;
        expconf_pet_name(rq->cluster->random, words, sizeof(words));
        strbuf_addf(&text, "%s (%s)", kind_of(rq)->label, words);
        schema_put(task_values, config, description, json_object_new_string(text.s));
    }
    if (default_idle_s(rq) > 0 && !schema_get(task_values, config, idle_timeout_us)) {
        cleanup_strbuf struct strbuf text = STRBUF_INIT;
        duration_format((int64_t)default_idle_s(rq) * 1000000000, &text);
        schema_put(task_values, config, idle_timeout_us, json_object_new_string(text.s));
    }
    if (!kind_of(rq)->runs_entrypoint)
        set_program(rq, config);
    if (rq->kind != TASK_KIND_GENERIC)
        schema_put(task_values, config, preemption_timeout_s, NULL);
}

/* ---- What the cluster adds --------------------------------------------------------------------------------------- */

static bool has_slots(struct json_object *config)
{
    struct json_object *slots = schema_get(task_resources, schema_get(task_values, config, resources), slots);
    return (slots ? json_object_get_int(slots) : TASK_RESOURCES_SLOTS_DEFAULT) > 0;
}

/* Lays the document over what the cluster and the kind of task add to it. */
static int add_defaults(const struct taskconf_request *rq, struct json_object *config, struct json_object **ret,
                        struct error *err)
{
    const struct expconf_pool *pool;
    if (cluster_find_pool(schema_section(task_values, config, resources), has_slots(config), rq->cluster, &pool, err) <
        0)
        return -1;
    cleanup_json struct json_object *lower = cluster_task_defaults(keys(), config, rq->cluster, pool,
                                                                   has_slots(config));
    if (rule_work_dir(rq, config, lower, err) < 0)
        return -1;
    *ret = schema_merge(keys(), config, lower);
    add_request_defaults(rq, *ret, pool);
    return 0;
}

/* Checks what can only be checked in the finished document. */
static int check_whole(const struct taskconf_request *rq, struct json_object *config, struct error *err)
{
    struct schema_problems problems = SCHEMA_PROBLEMS_INIT;
    struct schema_place place = {.root = "<config>"};
    schema_validate(keys(), config, SCHEMA_FINISHED, expconf_checks, &place, &problems);
    if (!schema_get(task_values, config, entrypoint))
        schema_problem(&problems, &place, "entrypoint", "must be set: it says what the %s runs",
                       task_kind_word(rq->kind));
    expconf_check_capabilities(config, &place, &problems);
    int r = schema_problems_error(&problems, err);
    schema_problems_release(&problems);
    return r;
}

/* ---- The view ---------------------------------------------------------------------------------------------------- */

/* Finds the user's words in the entrypoint: all of them, or for a command those behind the entry of commands. */
static void view_argv(struct taskconf *c)
{
    size_t skip = c->kind == TASK_KIND_COMMAND && c->values.entrypoint_n > 0 &&
                          strcmp(c->values.entrypoint[0], TASKCONF_COMMAND_ENTRY) == 0
                      ? 1
                      : 0;
    if (!taskconf_kinds[c->kind].runs_entrypoint)
        return;
    c->argv = c->values.entrypoint + skip;
    c->argv_n = c->values.entrypoint_n - skip;
}

static struct taskconf *new_view(enum task_kind kind, struct json_object *take_tree)
{
    struct view *view = must_calloc(1, sizeof(*view));
    struct taskconf *c = &view->config;
    cleanup_strbuf struct strbuf json = STRBUF_INIT;
    json_print(take_tree, &json);
    c->kind = kind;
    c->tree = take_tree;
    c->json = arena_strndup(&view->arena, json.s, json.n);
    task_values_read(take_tree, &view->arena, &c->values);
    c->idle_timeout_us = c->values.has_idle_timeout_us ? c->values.idle_timeout_us : 0;
    view_argv(c);
    return c;
}

void taskconf_free(struct taskconf *c)
{
    if (!c)
        return;
    struct view *view = (struct view *)c; /* config is the first member of struct view */
    json_object_put(c->tree);
    json_object_put(c->warnings);
    arena_release(&view->arena);
    free(view);
}

const char *const *taskconf_environment_variables(const struct taskconf *c, const char *device_type, size_t *ret_n)
{
    return exp_environment_variables_of(&c->values.environment, device_type, ret_n);
}

const char *taskconf_image(const struct taskconf *c, const char *device_type)
{
    return exp_environment_image_of(&c->values.environment, device_type);
}

/* ---- The whole --------------------------------------------------------------------------------------------------- */

/* Writes the entry of commands in front of the user's words, unless it stands there already, because the request is the
 * effective configuration of an earlier command. */
static void add_command_entry(struct json_object *filled)
{
    struct json_object *list = schema_get(task_values, filled, entrypoint), *first = json_object_array_get_idx(list, 0);
    if (first && strcmp(json_object_get_string(first), TASKCONF_COMMAND_ENTRY) == 0)
        return;
    struct json_object *whole = json_object_new_array();
    json_object_array_add(whole, json_object_new_string(TASKCONF_COMMAND_ENTRY));
    for (size_t i = 0; i < json_object_array_length(list); i++)
        json_object_array_add(whole, json_object_get(json_object_array_get_idx(list, i)));
    schema_put(task_values, filled, entrypoint, whole);
}

static int check_limits(const struct taskconf *c, const struct expconf_context *cluster, struct error *err)
{
    const struct schema_record *by_device = &exp_environment_variables_record;
    struct json_object *entrypoint = json_object_object_get(c->tree, "entrypoint");
    if (c->argv_n == 0 && taskconf_kinds[c->kind].runs_entrypoint)
        return error_set(err, ERR_INVALID, "<config>.entrypoint: must name a program");
    for (size_t i = 0; i < by_device->field_n; i++) {
        const char *device_type = by_device->field[i].name;
        size_t n;
        const char *const *variable = taskconf_environment_variables(c, device_type, &n);
        if (expconf_check_start(entrypoint, variable, n, device_type, err) < 0)
            return -1;
    }
    return expconf_check_json(c->json, cluster, err);
}

/* Replaces the document by one that has what the policies demand. */
static int lay_policies(const struct taskconf_request *rq, struct json_object **config, struct error *err)
{
    const struct policies *policies = rq->cluster->policies;
    if (!policies || !policies->invariant)
        return 0;
    struct json_object *laid = policies_lay(policies, keys(), *config);
    json_object_put(*config);
    *config = laid;
    normalize_idle_timeout(laid);
    return check_present(laid, NULL, err) < 0
               ? error_wrap(err, "with the configuration policy of %s merged", policies->invariant_scope)
               : 0;
}

/* Makes the document that lies over the cluster's defaults. */
static int rule_document(const struct taskconf_request *rq, struct json_object **config, struct json_object **warnings,
                         struct error *err)
{
    /* of what the policies demand nobody is warned */
    cleanup_json struct json_object *unheard = NULL;
    if (rq->kind == TASK_KIND_TENSORBOARD)
        rule_tensorboard(*config, warnings);
    if (lay_policies(rq, config, err) < 0)
        return -1;
    if (rq->kind == TASK_KIND_TENSORBOARD)
        rule_tensorboard(*config, &unheard);
    return 0;
}

static bool has_priority(struct json_object *config)
{
    return schema_get(task_resources, schema_get(task_values, config, resources), priority) != NULL;
}

int taskconf_prepare(const struct taskconf_request *rq, struct taskconf **ret, struct error *err)
{
    cleanup_json struct json_object *config = NULL, *whole = NULL, *warnings = NULL;
    if (read_request(rq, &config, &warnings, err) < 0)
        return -1;
    /* done before the cluster's defaults are added, because the master has told its administrator about those */
    expconf_warn_unserved(keys(), config, &warnings);
    warn_of_other_kinds(rq, config, &warnings);
    if (rule_document(rq, &config, &warnings, err) < 0 || add_defaults(rq, config, &whole, err) < 0 ||
        check_whole(rq, whole, err) < 0 ||
        policies_limit(rq->cluster->policies, POLICY_NTSC, whole, has_priority(config), err) < 0)
        return -1;
    struct json_object *filled = schema_fill(keys(), whole);
    if (rq->kind == TASK_KIND_COMMAND)
        add_command_entry(filled);
    cleanup_taskconf struct taskconf *view = new_view(rq->kind, filled);
    if (check_limits(view, rq->cluster, err) < 0)
        return -1;
    view->warnings = take_ptr(warnings);
    *ret = take_ptr(view);
    return 0;
}

int taskconf_from_json(enum task_kind kind, const char *json, size_t n, struct taskconf **ret, struct error *err)
{
    cleanup_json struct json_object *tree = NULL;
    if (json_parse(json, n, &tree, err) < 0)
        return error_wrap(err, "the stored configuration of a %s", task_kind_word(kind));
    if (!json_object_is_type(tree, json_type_object))
        return error_set(err, ERR_INVALID, "the stored configuration of a %s is no object", task_kind_word(kind));
    if (check_document(tree, SCHEMA_FINISHED, NULL, err) < 0)
        return error_wrap(err, "the stored configuration of a %s", task_kind_word(kind));
    *ret = new_view(kind, schema_fill(keys(), tree));
    return 0;
}
