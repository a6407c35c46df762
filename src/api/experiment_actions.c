/* What people do to experiments: states through the core, everything else in the store. A bulk action is the single one
 * for each id, with one {id, error} back for each; a single action turns its error into the reply. */
#include <string.h>

#include "api/convert.h"
#include "api/internal.h"
#include "core/core.h"
#include "gen/handlers.h"
#include "store/experiments.h"

/* ---- state changes ---- */

struct action {
    enum core_event_type event;
    int32_t experiment_id;
    bool over_is_fine; /* cancel and kill of what has ended already */
};

/* The core has never heard of it, or it is over: the store knows which. */
static int action_on_ended(struct req *r, struct error *err)
{
    const struct action *a = r->state;
    struct store_experiment x;
    if (store_experiment_get(r->db, a->experiment_id, /* with_config= */ false, &r->arena, &x, err) < 0)
        return -1;
    if (a->over_is_fine)
        return 0;
    if (a->event == CORE_EXPERIMENT_ACTIVATE)
        return error_set(err, ERR_NOT_FOUND, "experiment '%d' not found among those that are not over; it is %s", x.id,
                         x.state);
    return error_set(err, ERR_PRECONDITION, "experiment in terminal state");
}

static int act(struct req *r, enum core_event_type event, int32_t experiment_id, bool over_is_fine, struct error *err)
{
    struct core_event ev = {.type = event, .now_us = r->now_us, .experiment_id = experiment_id};
    cleanup_error struct error failed = ERROR_INIT;
    if (api_core_step(r->api, &ev, NULL, &failed) == 0)
        return 0;
    if (failed.kind != ERR_NOT_FOUND) {
        error_move(err, &failed);
        return -1;
    }
    struct action *a = arena_new(&r->arena, struct action);
    *a = (struct action){event, experiment_id, over_is_fine};
    r->state = a;
    return req_then(r, REQ_READ, action_on_ended);
}

int api_activate_experiment(struct req *r, const struct wire_activate_experiment_request *in,
                            struct wire_activate_experiment_response *ret, struct error *err)
{
    return act(r, CORE_EXPERIMENT_ACTIVATE, in->id, false, err);
}

int api_pause_experiment(struct req *r, const struct wire_pause_experiment_request *in,
                         struct wire_pause_experiment_response *ret, struct error *err)
{
    return act(r, CORE_EXPERIMENT_PAUSE, in->id, false, err);
}

int api_cancel_experiment(struct req *r, const struct wire_cancel_experiment_request *in,
                          struct wire_cancel_experiment_response *ret, struct error *err)
{
    return act(r, CORE_EXPERIMENT_CANCEL, in->id, true, err);
}

int api_kill_experiment(struct req *r, const struct wire_kill_experiment_request *in,
                        struct wire_kill_experiment_response *ret, struct error *err)
{
    return act(r, CORE_EXPERIMENT_KILL, in->id, true, err);
}

/* ---- archive ---- */

static int set_archived(struct req *r, int32_t id, bool archived, struct error *err)
{
    struct store_experiment x;
    enum run_state state;
    if (store_experiment_get(r->db, id, /* with_config= */ false, &r->arena, &x, err) < 0)
        return -1;
    if (run_state_parse(x.state, &state) < 0 || !run_state_is_terminal(state))
        return error_set(err, ERR_PRECONDITION, "Experiment is not in terminal state.");
    if (x.archived == archived)
        return error_set(err, ERR_PRECONDITION, "experiment %d is %s already", id,
                         archived ? "archived" : "unarchived");
    return store_experiment_set_archived(r->db, id, archived, err);
}

int api_archive_experiment(struct req *r, const struct wire_archive_experiment_request *in,
                           struct wire_archive_experiment_response *ret, struct error *err)
{
    return set_archived(r, in->id, true, err);
}

int api_unarchive_experiment(struct req *r, const struct wire_unarchive_experiment_request *in,
                             struct wire_unarchive_experiment_response *ret, struct error *err)
{
    return set_archived(r, in->id, false, err);
}

/* ---- labels ---- */

static int change_label(struct req *r, int32_t id, const char *label, bool add, const char ***ret, size_t *ret_n,
                        struct error *err)
{
    struct store_experiment x;
    if (store_experiment_get(r->db, id, /* with_config= */ false, &r->arena, &x, err) < 0)
        return -1;
    const char **old;
    size_t n, kept = 0;
    if (string_list_of_json(x.labels, &r->arena, &old, &n, err) < 0)
        return -1;
    const char **labels = arena_array(&r->arena, const char *, n + 1);
    for (size_t i = 0; i < n; i++)
        if (strcmp(old[i], label) != 0)
            labels[kept++] = old[i];
    if (add)
        labels[kept++] = label;
    struct store_experiment_patch patch = {.labels = json_of_string_list(labels, kept, &r->arena)};
    if (store_experiment_patch(r->db, id, &patch, err) < 0)
        return -1;
    *ret = labels;
    *ret_n = kept;
    return 0;
}

int api_put_experiment_label(struct req *r, const struct wire_put_experiment_label_request *in,
                             struct wire_put_experiment_label_response *ret, struct error *err)
{
    if (!in->label || !*in->label)
        return error_set(err, ERR_INVALID, "the label is empty");
    return change_label(r, in->experiment_id, in->label, true, &ret->labels, &ret->labels_n, err);
}

int api_delete_experiment_label(struct req *r, const struct wire_delete_experiment_label_request *in,
                                struct wire_delete_experiment_label_response *ret, struct error *err)
{
    return change_label(r, in->experiment_id, in->label ? in->label : "", false, &ret->labels, &ret->labels_n, err);
}

/* ---- name, description, notes, labels ---- */

int api_patch_experiment(struct req *r, const struct wire_patch_experiment_request *in,
                         struct wire_patch_experiment_response *ret, struct error *err)
{
    const struct wire_experiment_patch_experiment *p = in->experiment;
    if (p->resources || p->checkpoint_storage)
        return error_set(err, ERR_UNIMPLEMENTED,
                         "changing resources or checkpoint_storage of an experiment is planned; "
                         "this version of the master changes name, description, notes and labels");
    const char **labels;
    size_t n;
    if (p->labels && string_list_of_json(p->labels, &r->arena, &labels, &n, err) < 0)
        return error_wrap(err, "labels");
    struct store_experiment_patch patch = {.name = p->name,
                                           .description = p->description,
                                           .notes = p->notes,
                                           .labels = p->labels};
    struct store_experiment x;
    if (store_experiment_patch(r->db, p->id, &patch, err) < 0 ||
        store_experiment_get(r->db, p->id, /* with_config= */ true, &r->arena, &x, err) < 0)
        return -1;
    struct wire_experiment *w = arena_new(&r->arena, struct wire_experiment);
    experiment_to_wire(&x, DISPLAY_STORED, &r->arena, w);
    ret->experiment = w;
    return 0;
}
