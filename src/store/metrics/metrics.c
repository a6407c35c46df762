/* Writes reports: archives the reports of earlier runs, merges or inserts, and updates summaries and the best
 * validation. */
#include "store/metrics/metrics.h"

#include "store/metrics/metric_seal.h"
#include "store/metrics/metric_totals.h"
#include "store/metrics/metric_value.h"

/* Returns the kind of a group. A report makes earlier runs' reports of its own kind at the same step void. */
static const char *group_kind(const char *group)
{
    static const char *const profiling[] = {"gpu", "cpu", "memory", "disk", "network"};
    if (metric_group_is_validation(group) || strcmp(group, "training") == 0)
        return group;
    for (size_t i = 0; i < sizeof(profiling) / sizeof(*profiling); i++)
        if (strcmp(group, profiling[i]) == 0)
            return "profiling";
    return "generic";
}

/* ---- checking a report by itself --------------------------------------------------------------------------------- */

static int check_group(const char *group, struct error *err)
{
    if (!group || !*group)
        return error_set(err, ERR_INVALID,
                         "a metrics report needs a group: \"training\", \"validation\" or a name of your own");
    if (strlen(group) > METRIC_NAME_MAX)
        return error_set(err, ERR_INVALID, "metric group \"%.40s…\" has %zu bytes, at most %d are allowed", group,
                         strlen(group), METRIC_NAME_MAX);
    if (strchr(group, '.'))
        return error_set(err, ERR_INVALID, "metric group \"%s\": a group's name must not contain a dot", group);
    return 0;
}

/* Whether the JSON has "\u0000", which PostgreSQL's JSON cannot hold. With an odd number of backslashes before it,
 * it is not an escape sequence. */
static bool has_nul(const char *json)
{
    for (const char *p = json; (p = strstr(p, "\\u0000")); p += 6) {
        size_t before = 0;
        while (p - before > json && p[-1 - (long)before] == '\\')
            before++;
        if (before % 2 == 0)
            return true;
    }
    return false;
}

static int check_member(const struct store_report *r, const struct metric_members *m, struct error *err)
{
    size_t name_n = strlen(m->name);
    if (name_n > METRIC_NAME_MAX)
        return error_set(err, ERR_INVALID,
                         "trial %d: the name of %s metric \"%.40s…\" has %zu bytes, at most %d are"
                         " allowed",
                         r->trial_id, r->group, m->name, name_n, METRIC_NAME_MAX);
    if (m->value_n > METRIC_VALUE_MAX)
        return error_set(err, ERR_INVALID,
                         "trial %d: %s metric \"%s\" has a value of %zu bytes, at most %d are allowed", r->trial_id,
                         r->group, m->name, m->value_n, METRIC_VALUE_MAX);
    return 0;
}

static int check_members(const struct store_report *r, struct error *err)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct metric_members m = metric_members_of(r->avg_metrics);
    size_t n = 0;
    while (metric_members_next(&m, &a)) {
        if (++n > METRIC_KEYS_MAX)
            return error_set(err, ERR_INVALID,
                             "trial %d: a report of group \"%s\" has more than %d metrics; spread them"
                             " over several groups",
                             r->trial_id, r->group, METRIC_KEYS_MAX);
        if (check_member(r, &m, err) < 0)
            return -1;
    }
    return 0;
}

int store_report_valid(const struct store_report *r, struct error *err)
{
    size_t size = strlen(r->avg_metrics), batches = r->batch_metrics ? strlen(r->batch_metrics) : 0;
    if (check_group(r->group, err) < 0)
        return -1;
    if (r->has_steps && r->steps < 0)
        return error_set(err, ERR_INVALID, "trial %d: steps_completed is %d, it must not be negative", r->trial_id,
                         r->steps);
    if (r->avg_metrics[strspn(r->avg_metrics, " \t\r\n")] != '{')
        return error_set(err, ERR_INVALID, "metrics of trial %d: expected an object of names and values", r->trial_id);
    if (size > METRIC_REPORT_MAX || batches > METRIC_BATCHES_MAX)
        return error_set(err, ERR_INVALID,
                         "trial %d: a report of group \"%s\" has %zu bytes of %s metrics, at most %d are"
                         " allowed",
                         r->trial_id, r->group, size > METRIC_REPORT_MAX ? size : batches,
                         size > METRIC_REPORT_MAX ? "average" : "batch",
                         size > METRIC_REPORT_MAX ? METRIC_REPORT_MAX : METRIC_BATCHES_MAX);
    if (has_nul(r->avg_metrics))
        return error_set(err, ERR_INVALID, "trial %d: metrics must not contain the character NUL", r->trial_id);
    return check_members(r, err);
}

static int check_trial(const struct store_report *r, const struct metric_trial *t, struct error *err)
{
    if (run_state_is_over(t->state))
        return error_set(err, ERR_PRECONDITION, "trial %d has ended (%s), it takes no more metrics", r->trial_id,
                         run_state_name(t->state));
    if (!r->of_current_run && r->run_id != t->run_id)
        return error_set(err, ERR_INVALID,
                         "trial %d: invalid run id, %d != %d: only the trial's current run may report"
                         " metrics",
                         r->trial_id, r->run_id, t->run_id);
    return 0;
}

/* ---- merging ----------------------------------------------------------------------------------------------------- */

static bool find_member(const char *object, const char *name, struct arena *a, struct metric_value *ret)
{
    struct metric_members m = metric_members_of(object);
    bool found = false;
    while (metric_members_next(&m, a)) {
        if (strcmp(m.name, name) != 0)
            continue;
        *ret = metric_value_of(m.value, m.value_n, a);
        found = true;
    }
    return found;
}

static void add_member(struct strbuf *object, const char *name, const struct metric_value *v)
{
    strbuf_addc(object, object->n > 1 ? ',' : '{');
    strbuf_add_json(object, name, strlen(name));
    strbuf_addc(object, ':');
    metric_value_print(v, object);
}

static int report_differs(const struct store_report *r, const char *name, const struct metric_value *was,
                          const struct metric_value *now, struct error *err)
{
    cleanup_strbuf struct strbuf before = STRBUF_INIT, after = STRBUF_INIT;
    metric_value_print(was, &before);
    metric_value_print(now, &after);
    return error_set(err, ERR_INVALID,
                     "trial %d already reported %s metric \"%s\" at step %d with another value"
                     " (%.100s, now %.100s)",
                     r->trial_id, r->group, name, r->steps, strbuf_str(&before), strbuf_str(&after));
}

/* Collects the keys of the report that the stored one lacks, as an object ("" if there are none). A key that both
 * have must have the same value. */
static int fresh_keys(const struct store_report *r, const struct report_row *stored, struct strbuf *ret,
                      struct error *err)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct metric_members m = metric_members_of(r->avg_metrics);
    if (r->batch_metrics && stored->batch_metrics)
        return error_set(err, ERR_INVALID, "trial %d already reported batch metrics of group \"%s\" at step %d",
                         r->trial_id, r->group, r->steps);
    while (metric_members_next(&m, &a)) {
        struct metric_value was, now = metric_value_of(m.value, m.value_n, &a);
        if (!find_member(stored->avg_metrics, m.name, &a, &was))
            add_member(ret, m.name, &now);
        else if (!metric_value_equal(&was, &now))
            return report_differs(r, m.name, &was, &now, err);
    }
    if (ret->n)
        strbuf_addc(ret, '}');
    return 0;
}

/* Makes the object `old` with the members of `fresh` added at its end. */
static void join_metrics(const char *old, const struct strbuf *fresh, struct strbuf *ret)
{
    strbuf_adds(ret, old);
    if (fresh->n == 0)
        return;
    while (ret->n && ret->s[ret->n - 1] != '}')
        strbuf_truncate(ret, ret->n - 1);
    strbuf_truncate(ret, ret->n - 1);
    bool empty = strspn(ret->s, "{ \t\r\n") == ret->n;
    strbuf_adds(ret, empty ? "" : ",");
    strbuf_add(ret, fresh->s + 1, fresh->n - 1);
}

/* Returns 1 with the stored report of the same group and step, 0 if there is none. A step beyond all that were
 * reported needs no look at the store. */
static int find_stored(struct store *st, const struct store_report *r, const struct metric_trial *t, bool may_unseal,
                       struct arena *a, struct report_row *ret, struct error *err)
{
    if (!r->has_steps || r->steps > t->total_batches)
        return 0;
    const struct sql_args args = SQL_ARGS(sql_int(r->trial_id), sql_text(r->group), sql_int(r->steps));
    int found = get_reports_to_merge(st, args, a, ret, err);
    if (found != 0)
        return found;
    if (!may_unseal)
        return metric_sealed_at(st, r->trial_id, r->group, r->steps, a, ret, err);
    found = metric_unseal_at(st, r->trial_id, r->group, r->steps, err);
    return found <= 0 ? found : get_reports_to_merge(st, args, a, ret, err);
}

static int merge_report(struct store *st, const struct store_report *r, const struct report_row *stored,
                        const struct strbuf *fresh, struct strbuf *ret_all, struct error *err)
{
    join_metrics(stored->avg_metrics, fresh, ret_all);
    if (fresh->n == 0 && !r->batch_metrics)
        return 0; /* the same report was stored before and is sent again */
    const struct report_row merged = {.id = stored->id,
                                      .run_id = r->run_id,
                                      .report_us = r->report_us,
                                      .avg_metrics = ret_all->s,
                                      .batch_metrics = r->batch_metrics ? r->batch_metrics : stored->batch_metrics};
    return query_send(st, Q_REPORTS_MERGE, ARGS_REPORTS_MERGE(&merged), err);
}

/* Inserts the report. Only the id of a validation is waited for, since its trial refers to it. */
static int insert_report(struct store *st, const struct store_report *r, int64_t *ret_id, struct error *err)
{
    const struct report_row row = {.trial_id = r->trial_id,
                                   .run_id = r->run_id,
                                   .group = r->group,
                                   .steps = r->has_steps ? r->steps : r->batch,
                                   .stepless = !r->has_steps,
                                   .report_us = r->report_us,
                                   .avg_metrics = r->avg_metrics,
                                   .batch_metrics = r->batch_metrics};
    const struct sql_args args = ARGS_REPORTS_INSERT(&row);
    return metric_group_is_validation(r->group) ? query_int(st, Q_REPORTS_INSERT, args, ret_id, err)
                                                : query_send(st, Q_REPORTS_INSERT, args, err);
}

/* ---- archiving --------------------------------------------------------------------------------------------------- */

/* Archives reports of earlier runs. They are looked for only as long as an earlier run may have some at this step or
 * beyond. */
static int archive_older(struct store *st, const struct store_report *r, struct metric_trial *t, bool *ret_archived,
                         struct error *err)
{
    int64_t changes = 0, blocks = 0;
    bool new_run = r->run_id > t->report_run_id;
    if (new_run) {
        t->report_run_id = r->run_id;
        t->stale_steps = t->total_batches;
    }
    bool scan = r->run_id == t->report_run_id && r->steps <= t->stale_steps;
    if (scan && metric_blocks_archive(st, r->trial_id, r->run_id, r->steps, &blocks, err) < 0)
        return -1;
    if (scan && query_exec(st, Q_REPORTS_ARCHIVE,
                           SQL_ARGS(sql_int(r->trial_id), sql_int(r->run_id), sql_int(r->steps),
                                    sql_text(group_kind(r->group))),
                           &changes, err) < 0)
        return -1;
    if (scan)
        t->stale_steps = r->steps;
    *ret_archived = changes + blocks > 0;
    if (!new_run && !scan)
        return 0;
    return query_send(st, Q_TRIALS_SET_REPORT_RUN,
                      SQL_ARGS(sql_int(r->trial_id), sql_int(t->report_run_id), sql_int(t->stale_steps)), err);
}

/* ---- storing a report -------------------------------------------------------------------------------------------- */

/* What the report has changed: the id, if it is a validation's or was stored before, the keys that are new, and all
 * keys that the stored report has now. */
struct written {
    int64_t id;
    struct strbuf fresh, all;
};

static int put_report(struct store *st, const struct store_report *r, const struct metric_trial *t, struct written *w,
                      struct error *err)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct report_row stored;
    int found = find_stored(st, r, t, /* may_unseal= */ true, &a, &stored, err);
    if (found < 0)
        return -1;
    if (found) {
        w->id = stored.id;
        return fresh_keys(r, &stored, &w->fresh, err) < 0 ? -1 : merge_report(st, r, &stored, &w->fresh, &w->all, err);
    }
    strbuf_adds(&w->fresh, r->avg_metrics);
    strbuf_adds(&w->all, r->avg_metrics);
    return insert_report(st, r, &w->id, err);
}

static int keep_totals(struct store *st, const struct store_report *r, const struct metric_trial *t,
                       const struct written *w, struct store_report_result *ret, struct error *err)
{
    if (ret->archived_older)
        return metric_totals_rebuild(st, r->trial_id, t, err);
    if (w->fresh.n && metric_totals_add(st, r, t, w->fresh.s, err) < 0)
        return -1;
    if (r->steps > t->total_batches &&
        query_send(st, Q_TRIALS_PROGRESS, SQL_ARGS(sql_int(r->trial_id), sql_int(r->steps)), err) < 0)
        return -1;
    /* The totals get all metrics, not only the new ones, since a merge may have completed the searcher's metric. */
    return metric_group_is_validation(r->group)
               ? metric_totals_validated(st, r, t, w->id, w->all.s, &ret->best_of_trial, err)
               : 0;
}

int store_report_add(struct store *st, const struct store_report *report, struct store_report_result *ret,
                     struct error *err)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct written w = {0};
    struct store_report_result result = {0};
    struct store_report r = *report;
    struct metric_trial t;
    if (!r.has_steps)
        r.steps = 0;
    if (metric_trial_get(st, r.trial_id, r.group, &a, &t, err) < 0 || check_trial(&r, &t, err) < 0)
        return -1;
    if (r.of_current_run)
        r.run_id = t.run_id;
    if (r.has_steps && archive_older(st, &r, &t, &result.archived_older, err) < 0)
        return -1;
    int rc = put_report(st, &r, &t, &w, err);
    if (rc == 0)
        rc = keep_totals(st, &r, &t, &w, &result, err);
    strbuf_release(&w.fresh);
    strbuf_release(&w.all);
    if (rc == 0)
        *ret = result;
    return rc;
}

int store_report_check(struct store *st, const struct store_report *r, struct error *err)
{
    cleanup_arena struct arena a = ARENA_INIT;
    cleanup_strbuf struct strbuf fresh = STRBUF_INIT;
    struct metric_trial t;
    struct report_row stored;
    if (metric_trial_get(st, r->trial_id, r->group, &a, &t, err) < 0 || check_trial(r, &t, err) < 0)
        return -1;
    int found = find_stored(st, r, &t, /* may_unseal= */ false, &a, &stored, err);
    if (found <= 0 || stored.run_id < r->run_id) /* a report of an earlier run will be archived, not merged */
        return found < 0 ? -1 : 0;
    return fresh_keys(r, &stored, &fresh, err);
}
