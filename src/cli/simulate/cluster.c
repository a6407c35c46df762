#include <string.h>

#include "cli/simulate/trace.h"
#include "common/config/schema.h"
#include "common/json/json.h"
#include "common/system/files.h"
#include "core/sched/policy.h"
#include "gen/config_numbers.h"

enum { CLUSTER_BYTES_MAX = 1 << 20, AGENTS_MAX = 20000 };

struct reader {
    const char *path;
    struct arena *arena;
    struct error *err;
    struct yaml_positions *positions;
};

static int bad_value(struct reader *r, const char *path, const char *words)
{
    struct yaml_mark at;
    if (yaml_position(r->positions, path, &at) == 0)
        return error_set(r->err, ERR_INVALID, "%s:%d:%d: %s %s", r->path, at.line, at.column, path, words);
    return error_set(r->err, ERR_INVALID, "%s: %s %s", r->path, path, words);
}

static int check_names(struct reader *r, struct json_object *o, const char *path, const char *const *known)
{
    if (!json_object_is_type(o, json_type_object))
        return bad_value(r, path, "must be a mapping");
    json_object_object_foreach(o, name, value)
    {
        (void)value;
        size_t i = 0;
        while (known[i] && strcmp(known[i], name) != 0)
            i++;
        if (!known[i])
            return bad_value(r, arena_printf(r->arena, "%s.%s", path, name), "is no key that a simulation knows");
    }
    return 0;
}

static int take_int(struct reader *r, struct json_object *o, const char *path, const char *name, int min, int max,
                    int *ret)
{
    struct json_object *v = NULL;
    if (!json_object_object_get_ex(o, name, &v))
        return 0;
    int64_t n = json_object_get_int64(v);
    if (!json_object_is_type(v, json_type_int) || n < min || n > max)
        return bad_value(r, arena_printf(r->arena, "%s.%s", path, name),
                         arena_printf(r->arena, "must be a whole number from %d to %d", min, max));
    *ret = (int)n;
    return 0;
}

static int take_bool(struct reader *r, struct json_object *o, const char *path, const char *name, bool *ret)
{
    struct json_object *v = NULL;
    if (!json_object_object_get_ex(o, name, &v))
        return 0;
    if (!json_object_is_type(v, json_type_boolean))
        return bad_value(r, arena_printf(r->arena, "%s.%s", path, name), "must be true or false");
    *ret = json_object_get_boolean(v);
    return 0;
}

/* Sets *ret to the index of the key's value among the words; leaves *ret if the key is absent. -1: it is none of them.
 */
static int take_word(struct reader *r, struct json_object *o, const char *path, const char *name,
                     const char *const *words, int *ret)
{
    struct json_object *v = NULL;
    if (!json_object_object_get_ex(o, name, &v))
        return 0;
    for (int i = 0; words[i] && json_object_is_type(v, json_type_string); i++)
        if (strcmp(words[i], json_object_get_string(v)) == 0) {
            *ret = i;
            return 0;
        }
    struct strbuf all = STRBUF_INIT;
    for (int i = 0; words[i]; i++)
        strbuf_addf(&all, "%s%s", i > 0 ? ", " : "must be one of ", words[i]);
    const char *text = arena_strdup(r->arena, strbuf_str(&all));
    strbuf_release(&all);
    return bad_value(r, arena_printf(r->arena, "%s.%s", path, name), text);
}

static int take_aging(struct reader *r, struct json_object *o, const char *path, int64_t *ret)
{
    struct json_object *v = NULL;
    int64_t ns = 0;
    if (!json_object_object_get_ex(o, "aging", &v))
        return 0;
    if (!json_object_is_type(v, json_type_string) || duration_parse(json_object_get_string(v), &ns) < 0 || ns < 0)
        return bad_value(r, arena_printf(r->arena, "%s.aging", path), "must be a duration such as 30m");
    *ret = ns / 1000;
    return 0;
}

static int take_scheduler(struct reader *r, struct json_object *o, const char *path, struct core_pool_opts *ret)
{
    static const char *const known[] = {"type", "fitting_policy", "preemption", "allow_heterogeneous_fits", "aging",
                                        NULL};
    const char *types[SCHED_POLICY_NR + 1] = {NULL};
    static const char *const fits[] = {"best", "worst", NULL};
    int type = SCHED_BY_PRIORITY, fit = 0;
    for (int i = 0; i < SCHED_POLICY_NR; i++)
        types[i] = sched_policy_type((enum sched_policy)i)->name;
    if (check_names(r, o, path, known) < 0 || take_word(r, o, path, "type", types, &type) < 0 ||
        take_word(r, o, path, "fitting_policy", fits, &fit) < 0 ||
        take_bool(r, o, path, "preemption", &ret->sched.preemption) < 0 ||
        take_bool(r, o, path, "allow_heterogeneous_fits", &ret->sched.allow_heterogeneous_fits) < 0 ||
        take_aging(r, o, path, &ret->sched.aging_us) < 0)
        return -1;
    ret->sched.policy = (enum sched_policy)type;
    ret->sched.fitting = fit == 1 ? FITTING_WORST : FITTING_BEST;
    return 0;
}

static int take_agents(struct reader *r, struct json_object *list, const char *path, struct sim_agents **ret)
{
    static const char *const known[] = {"count", "slots", NULL};
    if (!json_object_is_type(list, json_type_array) || json_object_array_length(list) == 0)
        return bad_value(r, path, "must be a list of {count, slots}");
    size_t n = json_object_array_length(list);
    int all = 0;
    *ret = arena_array(r->arena, struct sim_agents, n + 1);
    for (size_t i = 0; i < n; i++) {
        struct json_object *o = json_object_array_get_idx(list, i);
        const char *at = arena_printf(r->arena, "%s[%zu]", path, i);
        (*ret)[i].count = 1;
        if (check_names(r, o, at, known) < 0 || take_int(r, o, at, "count", 1, AGENTS_MAX, &(*ret)[i].count) < 0 ||
            take_int(r, o, at, "slots", 0, CORE_DEVICES_MAX, &(*ret)[i].slots) < 0)
            return -1;
        all += (*ret)[i].count;
        if (all > AGENTS_MAX)
            return bad_value(r, path, "has more than 20000 agents");
    }
    return 0;
}

static int take_pool(struct reader *r, struct json_object *o, struct json_object *scheduler, const char *path,
                     struct core_pool_opts *ret, struct sim_agents **ret_agents)
{
    static const char *const known[] = {"pool_name", "description", "max_aux_containers_per_agent",
                                        "scheduler", "agents",      NULL};
    struct json_object *name = NULL, *own = NULL, *agents = NULL;
    ret->max_aux_containers_per_agent = MASTER_CONFIG_RESOURCE_POOLS_MAX_AUX_CONTAINERS_PER_AGENT_DEFAULT;
    if (check_names(r, o, path, known) < 0 ||
        take_int(r, o, path, "max_aux_containers_per_agent", 0, 1000000, &ret->max_aux_containers_per_agent) < 0)
        return -1;
    if (!json_object_object_get_ex(o, "pool_name", &name) || !json_object_is_type(name, json_type_string) ||
        json_object_get_string_len(name) == 0 || json_object_get_string_len(name) >= CORE_POOL_MAX)
        return bad_value(r, path, "needs a pool_name");
    ret->name = arena_strdup(r->arena, json_object_get_string(name));
    if (json_object_object_get_ex(o, "scheduler", &own)) {
        if (take_scheduler(r, own, arena_printf(r->arena, "%s.scheduler", path), ret) < 0)
            return -1;
    } else if (scheduler && take_scheduler(r, scheduler, "resource_manager.scheduler", ret) < 0) {
        return -1;
    }
    if (!json_object_object_get_ex(o, "agents", &agents))
        return bad_value(r, path, "needs agents: a list of {count, slots}");
    return take_agents(r, agents, arena_printf(r->arena, "%s.agents", path), ret_agents);
}

static int take_all(struct reader *r, struct json_object *root, struct sim_cluster *ret)
{
    struct json_object *list = NULL, *manager = NULL, *scheduler = NULL;
    if (!json_object_is_type(root, json_type_object) || !json_object_object_get_ex(root, "resource_pools", &list) ||
        !json_object_is_type(list, json_type_array) || json_object_array_length(list) == 0)
        return bad_value(r, "resource_pools", "must be a list of pools, as in master.yaml, each with its agents");
    if (json_object_object_get_ex(root, "resource_manager", &manager) && json_object_is_type(manager, json_type_object))
        json_object_object_get_ex(manager, "scheduler", &scheduler);
    ret->pool_n = json_object_array_length(list);
    ret->pool = arena_array(r->arena, struct core_pool_opts, ret->pool_n);
    ret->agents = arena_array(r->arena, struct sim_agents *, ret->pool_n);
    for (size_t i = 0; i < ret->pool_n; i++) {
        const char *path = arena_printf(r->arena, "resource_pools[%zu]", i);
        if (take_pool(r, json_object_array_get_idx(list, i), scheduler, path, &ret->pool[i], &ret->agents[i]) < 0)
            return -1;
        for (size_t k = 0; k < i; k++)
            if (strcmp(ret->pool[k].name, ret->pool[i].name) == 0)
                return bad_value(r, path, "has the name of another pool");
    }
    return 0;
}

int sim_cluster_read(const char *path, struct arena *a, struct sim_cluster *ret, struct error *err)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    cleanup_json struct json_object *root = NULL;
    struct reader r = {.path = path, .arena = a, .err = err};
    *ret = (struct sim_cluster){.file = path};
    if (file_read(path, CLUSTER_BYTES_MAX, &text, err) < 0)
        return -1;
    if (yaml_parse(strbuf_str(&text), text.n, &root, &r.positions, err) < 0)
        return error_wrap(err, "%s", path);
    int rv = take_all(&r, root, ret);
    yaml_positions_free(r.positions);
    return rv;
}
