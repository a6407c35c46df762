/* What a TensorBoard shows, from the store. */
#include <stdlib.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "common/json/json.h"
#include "master/programs/task_program.h"
#include "store/experiments/experiments.h"
#include "store/experiments/trials.h"

struct reading {
    struct store *db;
    struct arena *arena;
    struct task_program_source *source;
    size_t n;
};

static int parse_ids(const char *json, struct json_object **ret, struct error *err)
{
    return json && *json ? json_parse(json, strlen(json), ret, err) : 0;
}

static size_t length_of(struct json_object *list)
{
    return json_object_is_type(list, json_type_array) ? json_object_array_length(list) : 0;
}

static struct task_program_source *find_source(const struct reading *r, int32_t experiment_id)
{
    for (size_t i = 0; i < r->n; i++)
        if (r->source[i].experiment_id == experiment_id)
            return &r->source[i];
    return NULL;
}

static int add_experiment(struct reading *r, int32_t id, struct task_program_source **ret, struct error *err)
{
    cleanup_json struct json_object *config = NULL;
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    struct store_experiment x;
    if (store_experiment_get(r->db, id, /* with_config= */ true, r->arena, &x, err) < 0 ||
        json_parse(x.config, strlen(x.config), &config, err) < 0)
        return -1;
    struct json_object *storage = json_object_object_get(config, "checkpoint_storage");
    if (storage)
        json_print(storage, &text);
    else
        strbuf_adds(&text, "{}");
    *ret = &r->source[r->n++];
    **ret = (struct task_program_source){.experiment_id = id, .storage = arena_strdup(r->arena, text.s)};
    return 0;
}

/* Adds a trial to its experiment's source. An experiment that is shown as a whole has its trials already. */
static int add_trial(struct reading *r, int32_t id, const int32_t *whole, size_t whole_n, size_t trial_max,
                     struct error *err)
{
    struct store_trial t;
    if (store_trial_get(r->db, id, /* full= */ false, r->arena, &t, err) < 0)
        return -1;
    for (size_t i = 0; i < whole_n; i++)
        if (whole[i] == t.row.experiment_id)
            return 0;
    struct task_program_source *s = find_source(r, t.row.experiment_id);
    if (!s && add_experiment(r, t.row.experiment_id, &s, err) < 0)
        return -1;
    if (!s->trial_id)
        s->trial_id = arena_array(r->arena, int32_t, trial_max);
    ((int32_t *)s->trial_id)[s->trial_n++] = id; /* the array was made here */
    return 0;
}

static int by_experiment(const void *a, const void *b)
{
    const struct task_program_source *x = a, *y = b;
    return (x->experiment_id > y->experiment_id) - (x->experiment_id < y->experiment_id);
}

int task_program_sources(struct store *db, const char *experiment_ids, const char *trial_ids, struct arena *a,
                         struct task_program_source **ret, size_t *ret_n, struct error *err)
{
    cleanup_json struct json_object *experiments = NULL, *trials = NULL;
    if (parse_ids(experiment_ids, &experiments, err) < 0 || parse_ids(trial_ids, &trials, err) < 0)
        return -1;
    size_t experiment_n = length_of(experiments), trial_n = length_of(trials);
    struct reading r = {.db = db,
                        .arena = a,
                        .source = arena_array(a, struct task_program_source, experiment_n + trial_n + 1)};
    int32_t *whole = arena_array(a, int32_t, experiment_n + 1);
    struct task_program_source *added;
    for (size_t i = 0; i < experiment_n; i++) {
        whole[i] = json_object_get_int(json_object_array_get_idx(experiments, i));
        if (!find_source(&r, whole[i]) && add_experiment(&r, whole[i], &added, err) < 0)
            return -1;
    }
    for (size_t i = 0; i < trial_n; i++)
        if (add_trial(&r, json_object_get_int(json_object_array_get_idx(trials, i)), whole, experiment_n, trial_n,
                      err) < 0)
            return -1;
    qsort(r.source, r.n, sizeof(*r.source), by_experiment);
    *ret = r.source;
    *ret_n = r.n;
    return 0;
}
