/* Snapshots and events as text.
 *
 * A snapshot is a JSON object. The generator's state is not in it: the same number of draws from the same seed leads to
 * it again, and to the request ids. Trials are one number each:
 *
 *     {"version": 2, "method": …, "events": …, "flags": […], "state": {the method's},
 *      "lengths": […], "runs": […]      with operations only
 *      "progress": […]}                 only where progress is the mean of the trials'
 *
 * Version 1 (releases before 0.2) had an object of request ids and letters, for single and random only. */
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "common/base/number.h"
#include "core/searcher/internal.h"

enum { SNAPSHOT_VERSION = 2 };

/* ---- events ------------------------------------------------------------------------------------------------------ */

/* A line has the letter of the event's type, the number of the trial, and the event's values, separated by blanks. */
static const char letters[SEARCHER_EVENT_NR + 1] = "svopex";

static void add_double(struct strbuf *out, double d)
{
    char text[NUMBER_TEXT_MAX];
    number_put_double(d, text);
    strbuf_addf(out, " %s", text);
}

void searcher_event_print(const struct searcher_event *ev, struct strbuf *ret)
{
    strbuf_addc(ret, letters[ev->type]);
    if (ev->type != SEARCHER_STARTED)
        strbuf_addf(ret, " %zu", ev->trial);
    switch (ev->type) {
    case SEARCHER_VALIDATED:
        add_double(ret, ev->metric);
        add_double(ret, ev->time);
        break;
    case SEARCHER_OPERATION_COMPLETED:
        add_double(ret, ev->metric);
        strbuf_addf(ret, " %" PRId64 " %" PRId32, ev->length, ev->run);
        break;
    case SEARCHER_PROGRESS:
        add_double(ret, ev->progress);
        break;
    case SEARCHER_EXITED_EARLY:
        strbuf_addf(ret, " %d", (int)ev->reason);
        break;
    case SEARCHER_STARTED:
    case SEARCHER_EXITED:
    case SEARCHER_EVENT_NR:
        break;
    }
    strbuf_addc(ret, '\n');
}

/* The part of a line that has not been read yet. */
struct words {
    const char *at, *end;
};

static size_t next_word(struct words *w, const char **ret)
{
    while (w->at < w->end && *w->at == ' ')
        w->at++;
    *ret = w->at;
    while (w->at < w->end && *w->at != ' ')
        w->at++;
    return (size_t)(w->at - *ret);
}

static bool take_int(struct words *w, int64_t min, int64_t max, int64_t *ret)
{
    const char *s;
    size_t n = next_word(w, &s);
    return n > 0 && number_scan(s, n) == n && number_to_int64(s, n, ret) == 0 && *ret >= min && *ret <= max;
}

/* Reads a double. number_put_double() writes the three special values without quotes, and number_scan() refuses them as
 * JSON does. */
static bool take_double(struct words *w, double *ret)
{
    const char *s;
    size_t n = next_word(w, &s);
    static const struct {
        const char *text;
        double value;
    } special[] = {{"NaN", NAN}, {"Infinity", HUGE_VAL}, {"-Infinity", -HUGE_VAL}};
    for (size_t i = 0; i < 3; i++) {
        if (n == strlen(special[i].text) && memcmp(s, special[i].text, n) == 0) {
            *ret = special[i].value;
            return true;
        }
    }
    return n > 0 && number_scan(s, n) == n && number_to_double(s, n, ret) == 0;
}

static bool take_rest(struct words *w, struct searcher_event *ev)
{
    int64_t run = 0, reason = 0;
    switch (ev->type) {
    case SEARCHER_VALIDATED:
        return take_double(w, &ev->metric) && take_double(w, &ev->time);
    case SEARCHER_OPERATION_COMPLETED:
        if (!take_double(w, &ev->metric) || !take_int(w, 0, INT64_MAX, &ev->length) || !take_int(w, 0, INT32_MAX, &run))
            return false;
        ev->run = (int32_t)run;
        return true;
    case SEARCHER_PROGRESS:
        return take_double(w, &ev->progress);
    case SEARCHER_EXITED_EARLY:
        if (!take_int(w, SEARCHER_EXIT_ERRORED, SEARCHER_EXIT_INVALID_HP, &reason))
            return false;
        ev->reason = (enum searcher_exit)reason;
        return true;
    case SEARCHER_STARTED:
    case SEARCHER_EXITED:
    case SEARCHER_EVENT_NR:
        break;
    }
    return true;
}

int searcher_event_parse(const char *line, size_t n, struct searcher_event *ret, struct error *err)
{
    struct words w = {line, line + n};
    struct searcher_event ev = {0};
    const char *word, *letter = NULL;
    int64_t trial = 0;
    if (next_word(&w, &word) == 1 && *word != '\0')
        letter = strchr(letters, *word);
    if (letter)
        ev.type = (enum searcher_event_type)(letter - letters);
    if (!letter || (ev.type != SEARCHER_STARTED && !take_int(&w, 0, UINT32_MAX, &trial)) || !take_rest(&w, &ev) ||
        next_word(&w, &word) != 0)
        return error_set(err, ERR_INVALID, "\"%.*s\" is no event of a searcher", (int)(n < 100 ? n : 100), line);
    ev.trial = (size_t)trial;
    *ret = ev;
    return 0;
}

/* ---- taking a snapshot ------------------------------------------------------------------------------------------- */

static const size_t flags[] = {
    offsetof(struct searcher_trial, exited),       offsetof(struct searcher_trial, exited_early),
    offsetof(struct searcher_trial, failed),       offsetof(struct searcher_trial, canceled),
    offsetof(struct searcher_trial, has_progress), offsetof(struct searcher_trial, completed),
    offsetof(struct searcher_trial, closed),
};
enum { FLAG_N = sizeof(flags) / sizeof(flags[0]) };

static bool *flag_of_trial(struct searcher_trial *t, size_t i)
{
    return (bool *)((char *)t + flags[i]);
}

static int64_t flags_of(struct searcher_trial *t)
{
    int64_t bits = 0;
    for (size_t i = 0; i < FLAG_N; i++)
        bits |= (int64_t)*flag_of_trial(t, i) << i;
    return bits;
}

static int64_t length_of(struct searcher_trial *t)
{
    return t->length;
}

static int64_t run_of(struct searcher_trial *t)
{
    return t->completed_run;
}

static int64_t progress_of(struct searcher_trial *t)
{
    return (int64_t)t->progress;
}

static void add_list(struct json_object *o, const struct searcher *s, const char *name,
                     int64_t (*of)(struct searcher_trial *t))
{
    struct json_object *list = json_object_new_array_ext((int)s->trial_n);
    for (size_t i = 0; i < s->trial_n; i++)
        json_object_array_add(list, json_object_new_int64(of(&s->trial[i])));
    json_object_object_add(o, name, list);
}

void searcher_snapshot(const struct searcher *s, struct strbuf *ret)
{
    cleanup_json struct json_object *o = json_object_new_object();
    json_object_object_add(o, "version", json_object_new_int(SNAPSHOT_VERSION));
    json_object_object_add(o, "method", json_object_new_string(s->type->name));
    json_object_object_add(o, "events", json_object_new_int64((int64_t)s->event_n));
    add_list(o, s, "flags", flags_of);
    if (s->config.max_length.units > 0) {
        add_list(o, s, "lengths", length_of);
        add_list(o, s, "runs", run_of);
    }
    if (!s->type->progress)
        add_list(o, s, "progress", progress_of);
    json_object_object_add(o, "state", s->type->snapshot(s->method));
    json_print(o, ret);
}

uint64_t searcher_event_n(const struct searcher *s)
{
    return s->event_n;
}

/* ---- reading a snapshot ------------------------------------------------------------------------------------------ */

int method_read_count(struct json_object *state, const char *name, int64_t max, int64_t *ret, struct error *err)
{
    struct json_object *v = NULL;
    if (!json_object_is_type(state, json_type_object) || !json_object_object_get_ex(state, name, &v) ||
        !json_object_is_type(v, json_type_int) || json_object_get_int64(v) < 0 || json_object_get_int64(v) > max)
        return error_set(err, ERR_INVALID, "%s: is no number from 0 to %" PRId64, name, max);
    *ret = json_object_get_int64(v);
    return 0;
}

/* Reads a list that has one number for each trial. The list may be missing. */
static int read_list(struct searcher *s, struct json_object *o, const char *name, int64_t max,
                     void (*set)(struct searcher_trial *t, int64_t n), struct error *err)
{
    struct json_object *list = NULL;
    if (!json_object_object_get_ex(o, name, &list))
        return 0;
    if (!json_object_is_type(list, json_type_array) || json_object_array_length(list) != s->trial_n)
        return error_set(err, ERR_INVALID, "%s: is no list of %zu numbers", name, s->trial_n);
    for (size_t i = 0; i < s->trial_n; i++) {
        struct json_object *v = json_object_array_get_idx(list, i);
        int64_t n = json_object_get_int64(v);
        if (!json_object_is_type(v, json_type_int) || n < 0 || n > max)
            return error_set(err, ERR_INVALID, "%s[%zu]: is no number from 0 to %" PRId64, name, i, max);
        set(&s->trial[i], n);
    }
    return 0;
}

static void set_flags(struct searcher_trial *t, int64_t bits)
{
    for (size_t i = 0; i < FLAG_N; i++)
        *flag_of_trial(t, i) = (bits >> i & 1) != 0;
}

static void set_length(struct searcher_trial *t, int64_t n)
{
    t->length = n;
}

static void set_run(struct searcher_trial *t, int64_t n)
{
    t->completed_run = (int32_t)n;
}

static void set_progress(struct searcher_trial *t, int64_t n)
{
    t->progress = (uint64_t)n;
}

/* Counts again what is kept as a sum over all trials. */
static void count_sums(struct searcher *s)
{
    s->exited = s->failed = s->canceled = s->progress_n = 0;
    s->progress_sum = 0;
    for (size_t i = 0; i < s->trial_n; i++) {
        const struct searcher_trial *t = &s->trial[i];
        s->exited += t->exited;
        s->failed += t->failed;
        s->canceled += t->canceled;
        s->progress_n += t->has_progress;
        s->progress_sum += t->progress;
    }
}

static void draw_again(struct searcher *s, size_t n)
{
    uint32_t seed;
    while (s->trial_n < n)
        searcher_draw_trial(s, &seed, NULL);
}

/* A snapshot with a larger number is refused, since no search has so many trials. */
enum { SNAPSHOT_TRIALS_MAX = 100000000 };

static int restore_current(struct searcher *s, struct json_object *o, struct error *err)
{
    struct json_object *list = NULL, *state = NULL;
    int64_t events;
    json_object_object_get_ex(o, "flags", &list);
    json_object_object_get_ex(o, "state", &state);
    if (!json_object_is_type(list, json_type_array))
        return error_set(err, ERR_INVALID, "flags: is no list");
    if (method_read_count(o, "events", INT64_MAX, &events, err) < 0)
        return -1;
    draw_again(s, json_object_array_length(list));
    if (read_list(s, o, "flags", (1 << FLAG_N) - 1, set_flags, err) < 0 ||
        read_list(s, o, "lengths", INT64_MAX, set_length, err) < 0 ||
        read_list(s, o, "runs", INT32_MAX, set_run, err) < 0 ||
        read_list(s, o, "progress", (int64_t)PROGRESS_ONE, set_progress, err) < 0)
        return -1;
    s->event_n = (uint64_t)events;
    count_sums(s);
    return s->type->restore(s->method, state, s->trial_n, err);
}

/* Version 1 of snapshots has letters where version 2 has bits, and has neither events nor operations. */
static void set_letters(struct searcher_trial *t, const char *text)
{
    t->exited = strchr(text, 'x') != NULL;
    t->exited_early = strchr(text, 'e') != NULL;
    t->failed = strchr(text, 'f') != NULL;
    t->canceled = strchr(text, 'c') != NULL;
    t->has_progress = strchr(text, 'p') != NULL;
    t->progress = t->exited && t->has_progress ? PROGRESS_ONE : 0;
    t->length = 0;
}

static int restore_version_1(struct searcher *s, struct json_object *o, struct error *err)
{
    struct json_object *trials = NULL, *state = NULL;
    int64_t drawn;
    json_object_object_get_ex(o, "trials", &trials);
    json_object_object_get_ex(o, "state", &state);
    if (!json_object_is_type(trials, json_type_object))
        return error_set(err, ERR_INVALID, "trials: is no object");
    if (method_read_count(o, "drawn", SNAPSHOT_TRIALS_MAX, &drawn, err) < 0)
        return -1;
    if (drawn != json_object_object_length(trials))
        return error_set(err, ERR_INVALID, "drawn: is not the number of trials");
    draw_again(s, (size_t)drawn);
    json_object_object_foreach(trials, request_id, letters_of)
    {
        size_t i = searcher_find(s, request_id);
        if (i == SIZE_MAX || !json_object_is_type(letters_of, json_type_string))
            return error_set(err, ERR_INVALID, "trials: %s is none of this search", request_id);
        set_letters(&s->trial[i], json_object_get_string(letters_of));
    }
    count_sums(s);
    return s->type->restore(s->method, state, s->trial_n, err);
}

static int restore_snapshot(struct searcher *s, struct json_object *o, struct error *err)
{
    struct json_object *version = NULL, *method = NULL;
    json_object_object_get_ex(o, "version", &version);
    json_object_object_get_ex(o, "method", &method);
    if (!json_object_is_type(method, json_type_string) || strcmp(json_object_get_string(method), s->type->name) != 0)
        return error_set(err, ERR_INVALID, "is not one of a %s searcher", s->type->name);
    if (!version)
        return restore_version_1(s, o, err);
    if (!json_object_is_type(version, json_type_int) || json_object_get_int64(version) != SNAPSHOT_VERSION)
        return error_set(err, ERR_INVALID, "is of version %s, this program knows up to %d",
                         json_object_to_json_string(version), SNAPSHOT_VERSION);
    return restore_current(s, o, err);
}

/* Gives the kept events to the searcher once more. The actions are dropped: they were carried out when the events were
 * new. */
static int replay_events(struct searcher *s, const char *events, struct error *err)
{
    while (*events != '\0') {
        struct searcher_actions actions = SEARCHER_ACTIONS_INIT;
        struct searcher_event ev;
        size_t n = strcspn(events, "\n");
        if (searcher_event_parse(events, n, &ev, err) < 0)
            return -1;
        int rv = searcher_step(s, &ev, &actions, err);
        searcher_actions_release(&actions);
        if (rv < 0)
            return -1;
        events += n + (events[n] == '\n');
    }
    return 0;
}

int searcher_restore(struct searcher *s, const char *snapshot, const char *events, struct error *err)
{
    cleanup_json struct json_object *o = NULL;
    if (json_parse(snapshot, strlen(snapshot), &o, err) < 0)
        return error_wrap(err, "searcher snapshot");
    if (!json_object_is_type(o, json_type_object))
        return error_set(err, ERR_INVALID, "searcher snapshot: is no object");
    if (restore_snapshot(s, o, err) < 0)
        return error_wrap(err, "searcher snapshot");
    if (events && replay_events(s, events, err) < 0)
        return error_wrap(err, "searcher events");
    return 0;
}
