#include "core/searcher/searcher.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/json.h"
#include "common/rng.h"
#include "core/searcher/hparams.h"
#include "core/searcher/method.h"

static const struct search_method_type *const methods[] = {&search_method_single, &search_method_random};
enum { METHOD_N = sizeof methods / sizeof methods[0] };

struct searcher {
    const struct search_method_type *type;
    void *method;
    struct json_object *hyperparameters;
    struct rng rng;
    size_t drawn; /* creates drawn from rng: with the seed, all there is to know of its state */
    size_t requested, closed, failed, canceled;
    struct searcher_trial *trial; /* in the order in which they were created */
    size_t trial_n, trial_cap;
};

/* ---- actions ----------------------------------------------------------------------------------------------------- */

static struct searcher_action *add_action(struct searcher_actions *a, enum searcher_action_type type)
{
    if (a->n == a->cap) {
        a->cap = a->cap ? 2 * a->cap : 8;
        a->item = realloc(a->item, a->cap * sizeof *a->item);
        if (a->item == NULL)
            abort();
    }
    struct searcher_action *action = &a->item[a->n++];
    *action = (struct searcher_action){.type = type};
    return action;
}

void searcher_actions_release(struct searcher_actions *a)
{
    for (size_t i = 0; i < a->n; i++)
        free(a->item[i].hparams);
    free(a->item);
    *a = (struct searcher_actions)SEARCHER_ACTIONS_INIT;
}

/* 16 random bytes as a version 4 UUID. */
static void draw_request_id(struct rng *rng, char ret[CORE_UUID_MAX])
{
    uint8_t b[16];
    rng_bytes(rng, b, sizeof b);
    b[6] = (uint8_t)((b[6] & 0x0f) | 0x40);
    b[8] = (uint8_t)((b[8] & 0x3f) | 0x80);
    snprintf(ret, CORE_UUID_MAX, "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0], b[1],
             b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]);
}

int method_create(struct searcher *s, struct searcher_actions *ret, struct error *err)
{
    struct searcher_action *action = add_action(ret, SEARCHER_CREATE);
    cleanup_json struct json_object *sample = hparams_sample(s->hyperparameters, &s->rng);
    struct strbuf text = STRBUF_INIT;
    json_print(sample, &text);
    action->hparams = strbuf_detach(&text);
    draw_request_id(&s->rng, action->request_id);
    action->trial_seed = (uint32_t)rng_int(&s->rng, UINT64_C(1) << 31);
    s->drawn++;
    s->requested++;
    return 0;
}

void method_stop(struct searcher_actions *ret, const char *request_id)
{
    struct searcher_action *action = add_action(ret, SEARCHER_STOP);
    memcpy(action->request_id, request_id, CORE_UUID_MAX);
}

double method_mean_progress(const struct searcher_trial *trial, size_t trial_n)
{
    double sum = 0;
    size_t n = 0;
    for (size_t i = 0; i < trial_n; i++) {
        if (!trial[i].has_progress)
            continue;
        sum += trial[i].closed ? 1 : trial[i].progress;
        n++;
    }
    return n > 0 ? sum / (double)n : 0;
}

/* ---- making one -------------------------------------------------------------------------------------------------- */

static int find_method(struct json_object *config, const struct search_method_type **ret, struct error *err)
{
    struct json_object *name = NULL;
    json_object_object_get_ex(config, "name", &name);
    if (!json_object_is_type(name, json_type_string))
        return error_set(err, ERR_INVALID, "searcher.name: is missing");
    for (size_t i = 0; i < METHOD_N; i++) {
        if (strcmp(methods[i]->name, json_object_get_string(name)) == 0) {
            *ret = methods[i];
            return 0;
        }
    }
    return error_set(err, ERR_INVALID, "searcher.name: this master has no searcher \"%s\" (it has: single, random)",
                     json_object_get_string(name));
}

int searcher_new(const char *config, const char *hyperparameters, uint32_t seed, struct searcher **ret,
                 struct error *err)
{
    cleanup_json struct json_object *conf = NULL;
    cleanup_json struct json_object *space = NULL;
    const struct search_method_type *type = NULL;
    void *method = NULL;
    if (json_parse(config, strlen(config), &conf, err) < 0)
        return error_wrap(err, "searcher");
    if (json_parse(hyperparameters, strlen(hyperparameters), &space, err) < 0)
        return error_wrap(err, "hyperparameters");
    if (hparams_check(space, err) < 0 || find_method(conf, &type, err) < 0 || type->new(conf, &method, err) < 0)
        return -1;

    struct searcher *s = calloc(1, sizeof *s);
    if (s == NULL)
        abort();
    s->type = type;
    s->method = method;
    s->hyperparameters = take_ptr(space);
    rng_init(&s->rng, seed);
    *ret = s;
    return 0;
}

void searcher_free(struct searcher *s)
{
    if (s == NULL)
        return;
    s->type->free(s->method);
    json_object_put(s->hyperparameters);
    free(s->trial);
    free(s);
}

/* ---- events ------------------------------------------------------------------------------------------------------ */

static struct searcher_trial *find_trial(const struct searcher *s, const char *request_id)
{
    for (size_t i = s->trial_n; i-- > 0;)
        if (strcmp(s->trial[i].request_id, request_id) == 0)
            return &s->trial[i];
    return NULL;
}

static struct searcher_trial *add_trial(struct searcher *s, const char *request_id)
{
    if (s->trial_n == s->trial_cap) {
        s->trial_cap = s->trial_cap ? 2 * s->trial_cap : 1;
        s->trial = realloc(s->trial, s->trial_cap * sizeof *s->trial);
        if (s->trial == NULL)
            abort();
    }
    struct searcher_trial *t = &s->trial[s->trial_n++];
    *t = (struct searcher_trial){.created = true, .has_progress = true};
    memcpy(t->request_id, request_id, strnlen(request_id, CORE_UUID_MAX - 1));
    return t;
}

/* Over once every trial asked for has ended: canceled or failed only if all of them were. */
static void maybe_shut_down(const struct searcher *s, bool may_cancel, struct searcher_actions *ret)
{
    if (s->requested != s->closed)
        return;
    struct searcher_action *action = add_action(ret, SEARCHER_SHUTDOWN);
    action->cancel = may_cancel && s->canceled >= s->requested;
    action->failure = s->failed >= s->requested;
}

int searcher_initial_trials(struct searcher *s, struct searcher_actions *ret, struct error *err)
{
    return s->type->initial_trials(s->method, s, ret, err);
}

int searcher_trial_created(struct searcher *s, const char *request_id, struct searcher_actions *ret, struct error *err)
{
    if (find_trial(s, request_id) == NULL)
        add_trial(s, request_id);
    return s->type->trial_created ? s->type->trial_created(s->method, s, request_id, ret, err) : 0;
}

int searcher_validation_completed(struct searcher *s, const char *request_id, const char *metrics,
                                  struct searcher_actions *ret, struct error *err)
{
    if (s->type->validation_completed == NULL)
        return 0;
    cleanup_json struct json_object *tree = NULL;
    if (json_parse(metrics, strlen(metrics), &tree, err) < 0)
        return error_wrap(err, "validation metrics");
    return s->type->validation_completed(s->method, s, request_id, tree, ret, err);
}

int searcher_trial_exited_early(struct searcher *s, const char *request_id, enum searcher_exit reason,
                                struct searcher_actions *ret, struct error *err)
{
    struct searcher_trial *t = find_trial(s, request_id);
    if (t == NULL || t->exited_early)
        return 0;
    t->exited_early = true;
    t->has_progress = t->has_progress && reason != SEARCHER_EXIT_INVALID_HP;
    if (reason == SEARCHER_EXIT_USER_CANCELED) {
        t->canceled = true;
        s->canceled++;
    } else if (reason == SEARCHER_EXIT_ERRORED) {
        t->failed = true;
        s->failed++;
    }
    if (s->type->trial_exited_early && s->type->trial_exited_early(s->method, s, request_id, reason, ret, err) < 0)
        return -1;
    maybe_shut_down(s, false, ret);
    return 0;
}

int searcher_trial_exited(struct searcher *s, const char *request_id, struct searcher_actions *ret, struct error *err)
{
    struct searcher_trial *t = find_trial(s, request_id);
    if (t == NULL || t->closed)
        return 0;
    t->closed = true;
    s->closed++;
    if (s->type->trial_exited && s->type->trial_exited(s->method, s, request_id, ret, err) < 0)
        return -1;
    maybe_shut_down(s, true, ret);
    return 0;
}

void searcher_set_trial_progress(struct searcher *s, const char *request_id, double progress)
{
    struct searcher_trial *t = find_trial(s, request_id);
    if (t == NULL || !t->has_progress)
        return;
    t->progress = isfinite(progress) ? progress : 0;
}

double searcher_progress(const struct searcher *s)
{
    return s->type->progress(s->method, s->trial, s->trial_n);
}

/* ---- snapshots --------------------------------------------------------------------------------------------------- */

/* A trial's books, one letter each; progress comes again with its next report. */
static const struct { char letter; size_t offset; } trial_flags[] = {
    {'x', offsetof(struct searcher_trial, closed)},   {'e', offsetof(struct searcher_trial, exited_early)},
    {'f', offsetof(struct searcher_trial, failed)},   {'c', offsetof(struct searcher_trial, canceled)},
    {'p', offsetof(struct searcher_trial, has_progress)},
};
enum { TRIAL_FLAG_N = sizeof trial_flags / sizeof trial_flags[0] };

void searcher_snapshot(const struct searcher *s, struct strbuf *ret)
{
    cleanup_json struct json_object *o = json_object_new_object();
    struct json_object *trials = json_object_new_object();
    for (size_t i = 0; i < s->trial_n; i++) {
        char flags[TRIAL_FLAG_N + 1];
        size_t n = 0;
        for (size_t k = 0; k < TRIAL_FLAG_N; k++)
            if (*(const bool *)((const char *)&s->trial[i] + trial_flags[k].offset))
                flags[n++] = trial_flags[k].letter;
        flags[n] = '\0';
        json_object_object_add(trials, s->trial[i].request_id, json_object_new_string(flags));
    }
    json_object_object_add(o, "method", json_object_new_string(s->type->name));
    json_object_object_add(o, "drawn", json_object_new_int64((int64_t)s->drawn));
    json_object_object_add(o, "requested", json_object_new_int64((int64_t)s->requested));
    json_object_object_add(o, "trials", trials);
    json_object_object_add(o, "state", s->type->snapshot(s->method));
    json_print(o, ret);
}

/* The generator's state is not kept: the same number of draws from the same seed leads to it again. */
static void restore_rng(struct searcher *s, size_t drawn)
{
    struct searcher_actions actions = SEARCHER_ACTIONS_INIT;
    for (size_t i = 0; i < drawn; i++)
        method_create(s, &actions, NULL);
    searcher_actions_release(&actions);
}

static void restore_trial(struct searcher *s, const char *request_id, const char *flags)
{
    struct searcher_trial *t = add_trial(s, request_id);
    for (size_t k = 0; k < TRIAL_FLAG_N; k++)
        *(bool *)((char *)t + trial_flags[k].offset) = strchr(flags, trial_flags[k].letter) != NULL;
    s->closed += t->closed;
    s->failed += t->failed;
    s->canceled += t->canceled;
}

int searcher_restore(struct searcher *s, const char *snapshot, struct error *err)
{
    cleanup_json struct json_object *o = NULL;
    struct json_object *method = NULL, *drawn = NULL, *requested = NULL, *trials = NULL, *state = NULL;
    if (json_parse(snapshot, strlen(snapshot), &o, err) < 0)
        return error_wrap(err, "searcher snapshot");
    json_object_object_get_ex(o, "method", &method);
    json_object_object_get_ex(o, "drawn", &drawn);
    json_object_object_get_ex(o, "requested", &requested);
    json_object_object_get_ex(o, "trials", &trials);
    json_object_object_get_ex(o, "state", &state);
    if (!json_object_is_type(trials, json_type_object) || !json_object_is_type(method, json_type_string) ||
        strcmp(json_object_get_string(method), s->type->name) != 0)
        return error_set(err, ERR_INVALID, "searcher snapshot: is not one of a %s searcher", s->type->name);
    if (s->type->restore(s->method, state, err) < 0)
        return error_wrap(err, "searcher snapshot");

    restore_rng(s, (size_t)json_object_get_int64(drawn));
    s->requested = (size_t)json_object_get_int64(requested);
    json_object_object_foreach(trials, request_id, flags) {
        restore_trial(s, request_id, json_object_get_string(flags));
    }
    return 0;
}
