#include "core/searcher/searcher.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "common/base/hex.h"
#include "common/base/must.h"
#include "core/searcher/hparams.h"
#include "core/searcher/internal.h"

/* Each searcher with a retired name runs as one of these (expconf_view.c). */
static const struct search_method_type *const methods[EXP_SEARCHER_KIND_NR] = {
    [EXP_SEARCHER_SINGLE] = &search_method_single,
    [EXP_SEARCHER_RANDOM] = &search_method_random,
    [EXP_SEARCHER_GRID] = &search_method_grid,
    [EXP_SEARCHER_ASYNC_HALVING] = &search_method_halving,
    [EXP_SEARCHER_ADAPTIVE_ASHA] = &search_method_adaptive_asha,
};

/* ---- actions ----------------------------------------------------------------------------------------------------- */

static struct searcher_action *add_action(struct searcher_actions *a, enum searcher_action_type type, size_t trial)
{
    if (a->n == a->cap) {
        a->cap = a->cap ? 2 * a->cap : 8;
        a->item = must_realloc(a->item, a->cap * sizeof(*a->item));
    }
    struct searcher_action *action = &a->item[a->n++];
    *action = (struct searcher_action){.type = type, .trial = trial};
    return action;
}

void searcher_actions_release(struct searcher_actions *a)
{
    for (size_t i = 0; i < a->n; i++)
        free(a->item[i].hparams);
    free(a->item);
    *a = (struct searcher_actions)SEARCHER_ACTIONS_INIT;
}

/* ---- for methods ------------------------------------------------------------------------------------------------- */

static void draw_request_id(struct rng *rng, char ret[CORE_UUID_MAX])
{
    unsigned char b[UUID_BYTES];
    rng_bytes(rng, b, sizeof(b));
    uuid_encode(b, ret);
}

static struct searcher_trial *add_trial(struct searcher *s)
{
    if (s->trial_n == s->trial_cap) {
        s->trial_cap = s->trial_cap ? 2 * s->trial_cap : 1;
        s->trial = must_realloc(s->trial, s->trial_cap * sizeof(*s->trial));
    }
    struct searcher_trial *t = &s->trial[s->trial_n++];
    *t = (struct searcher_trial){.has_progress = true};
    s->progress_n++;
    return t;
}

/* Adds a trial and draws its hyperparameters, request id and seed. If ret_hparams is NULL, the hyperparameters are
 * drawn all the same, so that the generator's state is the same, and are then freed. */
void searcher_draw_trial(struct searcher *s, uint32_t *ret_seed, struct json_object **ret_hparams)
{
    struct searcher_trial *t = add_trial(s);
    struct json_object *sample = NULL;
    if (!s->type->hyperparameters)
        sample = hparams_sample(s->hyperparameters, &s->rng);
    else if (ret_hparams)
        sample = s->type->hyperparameters(s->method, s->trial_n - 1);
    draw_request_id(&s->rng, t->request_id);
    *ret_seed = (uint32_t)rng_int(&s->rng, UINT64_C(1) << 31);
    if (ret_hparams)
        *ret_hparams = sample;
    else
        json_object_put(sample);
}

size_t method_create(struct searcher *s, struct searcher_actions *ret)
{
    struct searcher_action *action = add_action(ret, SEARCHER_CREATE, s->trial_n);
    cleanup_json struct json_object *sample = NULL;
    struct strbuf text = STRBUF_INIT;
    searcher_draw_trial(s, &action->trial_seed, &sample);
    json_print(sample, &text);
    action->hparams = strbuf_detach(&text);
    memcpy(action->request_id, s->trial[action->trial].request_id, CORE_UUID_MAX);
    return action->trial;
}

void method_validate_after(struct searcher *s, struct searcher_actions *ret, size_t trial, int64_t length)
{
    add_action(ret, SEARCHER_VALIDATE_AFTER, trial)->length = length;
    s->trial[trial].length = length;
    s->trial[trial].completed = false;
}

void method_close(struct searcher *s, struct searcher_actions *ret, size_t trial)
{
    add_action(ret, SEARCHER_CLOSE, trial);
    s->trial[trial].closed = true;
}

void method_stop(struct searcher_actions *ret, size_t trial)
{
    add_action(ret, SEARCHER_STOP, trial);
}

size_t method_create_whole(struct searcher *s, struct searcher_actions *ret)
{
    size_t trial = method_create(s, ret);
    if (s->config.max_length.units > 0)
        method_validate_after(s, ret, trial, s->config.max_length.units);
    return trial;
}

bool method_has_open_operation(const struct searcher *s, size_t trial)
{
    return s->trial[trial].length > 0 && !s->trial[trial].completed;
}

int method_check_start(int64_t trials, struct error *err)
{
    if (trials > SEARCHER_START_MAX)
        return error_set(err, ERR_INVALID,
                         "searcher.max_concurrent_trials: %" PRId64 " trials would begin at once, at most %d can; "
                         "set it, or set it lower",
                         trials, SEARCHER_START_MAX);
    return 0;
}

/* ---- making one -------------------------------------------------------------------------------------------------- */

static int make_searcher(struct searcher *s, const char *config, const char *hyperparameters, struct error *err)
{
    cleanup_json struct json_object *conf = NULL;
    if (json_parse(config, strlen(config), &conf, err) < 0)
        return error_wrap(err, "searcher");
    if (json_parse(hyperparameters, strlen(hyperparameters), &s->hyperparameters, err) < 0)
        return error_wrap(err, "hyperparameters");
    if (hparams_check(s->hyperparameters, err) < 0 ||
        expconf_read_searcher(conf, &s->config_arena, &s->config_tree, &s->config, err) < 0)
        return -1;
    s->type = methods[exp_searcher_runs_as(s->config.kind)];
    return s->type->new(&s->config, s->hyperparameters, &s->method, err);
}

int searcher_check_start(const struct searcher *s, size_t hyperparameters_n, struct error *err)
{
    enum { TRIALS_MAX = 3000, BYTES_MAX = 4 * 1024 * 1024 };
    int64_t n = s->type->at_once(s->method);
    if (n > TRIALS_MAX)
        return error_set(err, ERR_INVALID,
                         "searcher.max_concurrent_trials: %" PRId64 " trials would begin at once, at most %d "
                         "can; set it, or set it lower",
                         n, TRIALS_MAX);
    if (n > 1 && (size_t)n * hyperparameters_n > BYTES_MAX)
        return error_set(err, ERR_INVALID,
                         "searcher.max_concurrent_trials: %" PRId64 " trials would begin at once, each with up to %zu "
                         "bytes of hyperparameters; at most %zu such trials can, set it lower",
                         n, hyperparameters_n, BYTES_MAX / hyperparameters_n);
    return 0;
}

int searcher_new(const char *config, const char *hyperparameters, uint32_t seed, struct searcher **ret,
                 struct error *err)
{
    struct searcher *s = must_calloc(1, sizeof(*s));
    rng_init(&s->rng, seed);
    if (make_searcher(s, config, hyperparameters, err) < 0) {
        searcher_free(s);
        return -1;
    }
    *ret = s;
    return 0;
}

void searcher_free(struct searcher *s)
{
    if (!s)
        return;
    if (s->method)
        s->type->free(s->method);
    json_object_put(s->hyperparameters);
    json_object_put(s->config_tree);
    arena_release(&s->config_arena);
    free(s->trial);
    free(s);
}

int searcher_warning(const struct searcher *s, struct strbuf *ret)
{
    enum exp_searcher_kind kind = s->config.kind, runs_as = exp_searcher_runs_as(kind);
    if (runs_as == kind)
        return 0;
    strbuf_addf(ret, "the searcher \"%s\" has been retired and runs as %s", exp_searcher_kind_name(kind),
                exp_searcher_kind_name(runs_as));
    return 1;
}

/* ---- events ------------------------------------------------------------------------------------------------------ */

size_t searcher_trial_n(const struct searcher *s)
{
    return s->trial_n;
}

size_t searcher_find(struct searcher *s, const char *request_id)
{
    for (size_t i = 0; i < s->trial_n; i++) {
        size_t at = (s->found + i) % s->trial_n;
        if (strcmp(s->trial[at].request_id, request_id) == 0) {
            s->found = at + 1;
            return at;
        }
    }
    return SIZE_MAX;
}

struct searcher_operation searcher_operation(const struct searcher *s, size_t trial)
{
    const struct searcher_trial *t = &s->trial[trial];
    return (struct searcher_operation){.length = t->length,
                                       .completed = t->completed,
                                       .closed = t->closed,
                                       .completed_run = t->completed_run};
}

/* The search is over once every trial that it has created has ended. It counts as canceled
 * or failed only if all of its trials do. */
static void maybe_shut_down(const struct searcher *s, bool may_cancel, struct searcher_actions *ret)
{
    if (s->trial_n != s->exited)
        return;
    struct searcher_action *action = add_action(ret, SEARCHER_SHUTDOWN, SIZE_MAX);
    action->cancel = may_cancel && s->canceled >= s->trial_n;
    action->failure = s->failed >= s->trial_n;
}

/* Methods compare metrics, and a smaller one is better for them. A metric that is not finite is worse than any
 * number. */
double searcher_oriented(const struct searcher *s, double metric)
{
    if (!isfinite(metric))
        return DBL_MAX;
    return s->config.smaller_is_better ? metric : -metric;
}

static int step_operation_completed(struct searcher *s, const struct searcher_event *ev, struct searcher_actions *ret,
                                    struct error *err)
{
    struct searcher_trial *t = &s->trial[ev->trial];
    if (t->length == 0)
        return error_set(err, ERR_PRECONDITION, "this search has no operations: searcher.max_length is not set");
    if (t->exited || t->exited_early || ev->length < t->length || (t->completed && t->length == ev->length))
        return 0; /* the trial has reported this before and the answer was lost, or the report is too late to matter */
    if (t->length != ev->length || t->completed)
        return error_set(err, ERR_PRECONDITION,
                         "the trial was asked to train until %" PRId64 ", and reports that it did until %" PRId64,
                         t->length, ev->length);
    t->completed = true;
    t->completed_run = ev->run;
    s->type->operation_completed(s->method, s, ev->trial, searcher_oriented(s, ev->metric), ret);
    return 1;
}

/* Progress is counted in units of 2⁻³², so that the sum is exact, whatever the order of the reports. */
static void set_progress(struct searcher *s, struct searcher_trial *t, double progress)
{
    uint64_t fixed = !(progress > 0) ? 0 : progress >= 1 ? PROGRESS_ONE : (uint64_t)(progress * (double)PROGRESS_ONE);
    s->progress_sum += fixed - t->progress;
    t->progress = fixed;
}

static int step_progressed(struct searcher *s, const struct searcher_event *ev)
{
    struct searcher_trial *t = &s->trial[ev->trial];
    if (s->type->progress || !t->has_progress || t->exited)
        return 0;
    set_progress(s, t, ev->progress);
    return 1;
}

static int step_exited_early(struct searcher *s, const struct searcher_event *ev, struct searcher_actions *ret)
{
    struct searcher_trial *t = &s->trial[ev->trial];
    if (t->exited_early || t->exited)
        return 0;
    t->exited_early = true;
    if (ev->reason == SEARCHER_EXIT_INVALID_HP && t->has_progress) {
        set_progress(s, t, 0);
        t->has_progress = false;
        s->progress_n--;
    }
    t->canceled = ev->reason == SEARCHER_EXIT_USER_CANCELED;
    t->failed = ev->reason == SEARCHER_EXIT_ERRORED;
    s->canceled += t->canceled;
    s->failed += t->failed;
    if (s->type->exited_early)
        s->type->exited_early(s->method, s, ev->trial, ev->reason, ret);
    maybe_shut_down(s, false, ret);
    return 1;
}

static int step_exited(struct searcher *s, const struct searcher_event *ev, struct searcher_actions *ret)
{
    struct searcher_trial *t = &s->trial[ev->trial];
    if (t->exited)
        return 0;
    t->exited = true;
    s->exited++;
    if (t->has_progress)
        set_progress(s, t, 1);
    if (s->type->exited)
        s->type->exited(s->method, s, ev->trial, ret);
    maybe_shut_down(s, true, ret);
    return 1;
}

static int step_validated(struct searcher *s, const struct searcher_event *ev, struct searcher_actions *ret)
{
    const struct searcher_trial *t = &s->trial[ev->trial];
    if (!s->type->validated || t->exited || t->exited_early)
        return 0;
    s->type->validated(s->method, s, ev->trial, searcher_oriented(s, ev->metric), ev->time, ret);
    return 1;
}

static int dispatch_event(struct searcher *s, const struct searcher_event *ev, struct searcher_actions *ret,
                          struct error *err)
{
    if (ev->type == SEARCHER_STARTED) {
        if (s->trial_n > 0)
            return error_set(err, ERR_PRECONDITION, "the search has begun already");
        s->type->start(s->method, s, ret);
        return 1;
    }
    if (ev->trial >= s->trial_n)
        return error_set(err, ERR_NOT_FOUND, "the search has no trial %zu", ev->trial);
    switch (ev->type) {
    case SEARCHER_VALIDATED:
        return step_validated(s, ev, ret);
    case SEARCHER_OPERATION_COMPLETED:
        return step_operation_completed(s, ev, ret, err);
    case SEARCHER_PROGRESS:
        return step_progressed(s, ev);
    case SEARCHER_EXITED_EARLY:
        return step_exited_early(s, ev, ret);
    case SEARCHER_EXITED:
        return step_exited(s, ev, ret);
    case SEARCHER_STARTED:
    case SEARCHER_EVENT_NR:
        break;
    }
    return error_set(err, ERR_INTERNAL, "no event of a search has the number %d", (int)ev->type);
}

int searcher_step(struct searcher *s, const struct searcher_event *ev, struct searcher_actions *ret, struct error *err)
{
    int rv = dispatch_event(s, ev, ret, err);
    s->event_n += rv > 0;
    return rv;
}

static int read_number(struct json_object *metrics, const char *name, const char *what, double *ret, struct error *err)
{
    struct json_object *v = NULL;
    if (!json_object_object_get_ex(metrics, name, &v))
        return error_set(err, ERR_INVALID, "%s: the validation reports no metric \"%s\"", what, name);
    if (!json_object_is_type(v, json_type_int) && !json_object_is_type(v, json_type_double))
        return error_set(err, ERR_INVALID, "%s: the metric \"%s\" is no number but %s", what, name,
                         json_object_to_json_string(v));
    *ret = json_object_get_double(v);
    return 0;
}

int searcher_read_metrics(const struct searcher *s, const char *metrics, struct searcher_event *ret, struct error *err)
{
    cleanup_json struct json_object *tree = NULL;
    const struct exp_searcher *c = &s->config;
    if (!s->type->validated || !c->time_metric || !c->has_max_time)
        return 0;
    if (json_parse(metrics, strlen(metrics), &tree, err) < 0)
        return error_wrap(err, "validation metrics");
    if (!json_object_is_type(tree, json_type_object))
        return error_set(err, ERR_INVALID, "validation metrics: are no object");
    ret->type = SEARCHER_VALIDATED;
    if (read_number(tree, c->metric ? c->metric : "", "error parsing searcher metric", &ret->metric, err) < 0 ||
        read_number(tree, c->time_metric, "error parsing searcher time metric", &ret->time, err) < 0)
        return -1;
    return 1;
}

double searcher_progress(const struct searcher *s)
{
    if (s->type->progress)
        return s->type->progress(s->method);
    return s->progress_n > 0 ? (double)s->progress_sum / (double)PROGRESS_ONE / (double)s->progress_n : 0;
}
