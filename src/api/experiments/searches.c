/* Hyperparameter searches: the operations that a searcher asks of a trial, and the preview of a search. */
#include <string.h>

#include "api/pipeline/convert.h"
#include "api/pipeline/internal.h"
#include "core/core.h"
#include "core/searcher/preview.h"
#include "gen/handlers.h"
#include "store/experiments/trials.h"

/* ---- operations: "train until so much in all, then report" ------------------------------------------------------- */

/* A trial that has ended gets the answer that there is nothing more to do. */
static int operation_of_ended(struct req *r, struct store *db, struct error *err)
{
    const struct wire_get_current_trial_searcher_operation_request *in = r->in;
    struct wire_get_current_trial_searcher_operation_response *ret = r->ret;
    struct store_trial t;
    ret->completed = true;
    return store_trial_get(db, in->trial_id, /* full= */ false, &r->arena, &t, err);
}

int api_get_current_trial_searcher_operation(struct req *r, struct core *core,
                                             const struct wire_get_current_trial_searcher_operation_request *in,
                                             struct wire_get_current_trial_searcher_operation_response *ret,
                                             struct error *err)
{
    struct core_operation_view op;
    if (!core_trial_operation(core, in->trial_id, &op))
        return req_then_read(r, operation_of_ended);
    if (op.length == 0)
        return error_set(err, ERR_PRECONDITION,
                         "trial %d is given no operations: searcher.max_length is not set in its configuration",
                         in->trial_id);
    struct wire_trial_validate_after_operation *length = arena_new(&r->arena,
                                                                   struct wire_trial_validate_after_operation);
    length->length = (uint64_t)op.length;
    struct wire_trial_searcher_operation *w = arena_new(&r->arena, struct wire_trial_searcher_operation);
    w->validate_after = length;
    ret->op = w;
    ret->completed = op.completed;
    return 0;
}

int api_complete_trial_searcher_validation(struct req *r, struct core *core,
                                           const struct wire_complete_trial_searcher_validation_request *in,
                                           struct wire_complete_trial_searcher_validation_response *ret,
                                           struct error *err)
{
    const struct wire_trial_completed_searcher_operation *done = in->completed_operation;
    if (!done || !done->op || done->op->length == 0 || done->op->length > INT64_MAX || !done->has_searcher_metric)
        return error_set(
            err, ERR_INVALID,
            "{\"op\": {\"length\": N}, \"searcherMetric\": X} is expected, with N as the operation has it");
    struct core_event ev = {.type = CORE_TRIAL_OPERATION_COMPLETED,
                            .now_us = r->now_us,
                            .operation = {.trial_id = in->trial_id,
                                          .length = (int64_t)done->op->length,
                                          .metric = done->searcher_metric}};
    return req_core_step(r, core, &ev, NULL, err);
}

/* ---- preview ----------------------------------------------------------------------------------------------------- */

static int32_t to_int32(int64_t n)
{
    return n > INT32_MAX ? INT32_MAX : (int32_t)n;
}

static void plan_to_wire(const struct search_plan *p, struct arena *a, struct wire_experiment_search_summary *ret)
{
    struct wire_experiment_trial_summary *row = arena_array(a, struct wire_experiment_trial_summary, p->n + 1);
    for (size_t i = 0; i < p->n; i++) {
        struct wire_experiment_search_unit *unit = arena_new(a, struct wire_experiment_search_unit);
        unit->max_length = p->row[i].whole;
        if (!p->row[i].whole) {
            unit->name = arena_strdup(a, p->unit);
            unit->value = to_int32(p->row[i].units);
            unit->has_value = true;
        }
        row[i] = (struct wire_experiment_trial_summary){.count = to_int32(p->row[i].trials), .unit = unit};
    }
    ret->trials = row;
    ret->trials_n = p->n;
}

int api_preview_hp_search(struct req *r, const struct wire_preview_hp_search_request *in,
                          struct wire_preview_hp_search_response *ret, struct error *err)
{
    const char *config = in->config ? in->config : "";
    struct search_plan plan;
    cleanup_strbuf struct strbuf searcher = STRBUF_INIT;
    if (search_preview(config, strlen(config), &plan, &searcher, err) < 0)
        return -1;
    struct wire_experiment_search_summary *summary = arena_new(&r->arena, struct wire_experiment_search_summary);
    summary->config = arena_strdup(&r->arena, searcher.s);
    plan_to_wire(&plan, &r->arena, summary);
    search_plan_release(&plan);
    ret->summary = summary;
    return 0;
}
