#include "store/metrics/metric_totals.h"

#include <math.h>

#include "common/base/hash.h"
#include "common/base/must.h"
#include "store/metrics/metric_summary.h"
#include "store/metrics/metric_value.h"

enum { REBUILD_PAGE = 1000 }; /* so many reports are in memory at a time */

/* ---- summaries --------------------------------------------------------------------------------------------------- */

static void add_metrics(struct metric_summary *s, const char *metrics, int32_t steps)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct metric_members m = metric_members_of(metrics);
    while (metric_members_next(&m, &a)) {
        struct metric_value v = metric_value_of(m.value, m.value_n, &a);
        metric_summary_add(s, m.name, &v, steps);
    }
}

static int save_summary(struct store *st, int32_t trial_id, const char *group, const struct metric_summary *s,
                        struct error *err)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    metric_summary_print(s, &text);
    return query_send(st, Q_SUMMARIES_SET, SQL_ARGS(sql_int(trial_id), sql_text(group), sql_text_n(text.s, text.n)),
                      err);
}

int metric_totals_add(struct store *st, const struct store_report *r, const struct metric_trial *t, const char *fresh,
                      struct error *err)
{
    struct metric_summary *s = metric_summary_new();
    int rc = t->summary ? metric_summary_read(s, t->summary, err) : 0;
    if (rc == 0) {
        add_metrics(s, fresh, r->steps);
        rc = save_summary(st, r->trial_id, r->group, s, err);
    }
    metric_summary_free(s);
    return rc;
}

/* ---- validations ------------------------------------------------------------------------------------------------- */

/* Finds the searcher's metric in a report. NaN is not returned, since no number compares with it. */
static bool searcher_value(const struct metric_trial *t, const char *metrics, double *ret)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct metric_members m = metric_members_of(metrics);
    bool found = false;
    while (metric_members_next(&m, &a)) {
        if (strcmp(m.name, t->searcher_metric) != 0)
            continue;
        struct metric_value v = metric_value_of(m.value, m.value_n, &a);
        found = metric_value_number(&v, ret) && !isnan(*ret);
    }
    return found;
}

int metric_totals_validated(struct store *st, const struct store_report *r, const struct metric_trial *t, int64_t id,
                            const char *metrics, bool *ret_best, struct error *err)
{
    double v = 0;
    bool has = searcher_value(t, metrics, &v);
    if (query_send(st, Q_TRIALS_LATEST_VALIDATION,
                   SQL_ARGS(sql_int(r->trial_id), sql_int(id), sql_opt_real(has, v), sql_int(r->steps)), err) < 0)
        return -1;
    *ret_best = has && (!t->has_best || (t->smaller_is_better ? v < t->best : v > t->best));
    if (!*ret_best)
        return 0; /* the report cannot be the experiment's best either */
    if (query_send(st, Q_TRIALS_IMPROVE, SQL_ARGS(sql_int(r->trial_id), sql_int(id), sql_real(v)), err) < 0)
        return -1;
    return query_send(st, Q_EXPERIMENTS_IMPROVE, SQL_ARGS(sql_int(t->experiment_id), sql_int(r->trial_id), sql_real(v)),
                      err);
}

/* ---- rebuilding -------------------------------------------------------------------------------------------------- */

struct group_summary {
    const char *group;
    struct metric_summary *summary;
    UT_hash_handle hh;
};

struct rebuilt {
    struct arena a;
    struct group_summary *groups;
    int64_t best_id, latest_id;
    bool has_best, has_latest;
    double best, latest;
};

static void rebuilt_release(struct rebuilt *b)
{
    struct group_summary *g, *next;
    HASH_ITER(hh, b->groups, g, next) {
        metric_summary_free(g->summary);
        HASH_DEL(b->groups, g);
    }
    arena_release(&b->a);
}

static struct metric_summary *summary_of(struct rebuilt *b, const char *group)
{
    struct group_summary *g;
    HASH_FIND_STR(b->groups, group, g);
    if (g)
        return g->summary;
    g = arena_new(&b->a, struct group_summary);
    *g = (struct group_summary){.group = arena_strdup(&b->a, group), .summary = metric_summary_new()};
    HASH_ADD_KEYPTR(hh, b->groups, g->group, strlen(g->group), g);
    return g->summary;
}

static void rebuild_validation(struct rebuilt *b, const struct metric_trial *t, const struct report_row *row)
{
    double v;
    b->latest_id = row->id;
    b->has_latest = searcher_value(t, row->avg_metrics, &v);
    if (!b->has_latest)
        return;
    b->latest = v;
    if (!b->has_best || (t->smaller_is_better ? v < b->best : v > b->best)) {
        b->has_best = true;
        b->best = v;
        b->best_id = row->id;
    }
}

/* Adds the summaries of sealed reports, which were computed when the reports were sealed. */
static int rebuild_blocks(struct store *st, int32_t trial_id, struct rebuilt *b, struct error *err)
{
    struct query q;
    int rc;
    if (query_start(st, Q_METRIC_COLUMN_SUMMARIES, SQL_ARGS(sql_int(trial_id)), &q, err) < 0)
        return -1;
    while ((rc = query_next(&q, err)) > 0) {
        cleanup_arena struct arena a = ARENA_INIT;
        struct column_summary column;
        read_column_summary(&q, &a, &column);
        if (metric_summary_read(summary_of(b, column.group), column.summary, err) < 0) {
            rc = -1;
            break;
        }
    }
    query_end(&q);
    return rc;
}

/* Reads one page of the trial's reports, those after (*steps, *id). *ret_n is the number of reports read. */
static int rebuild_page(struct store *st, int32_t trial_id, const struct metric_trial *t, struct rebuilt *b,
                        int64_t *steps, int64_t *id, int *ret_n, struct error *err)
{
    struct query q;
    int rc;
    *ret_n = 0;
    if (query_start(st, Q_REPORTS_OF_TRIAL,
                    SQL_ARGS(sql_int(trial_id), sql_int(*steps), sql_int(*id), sql_int(REBUILD_PAGE)), &q, err) < 0)
        return -1;
    while ((rc = query_next(&q, err)) > 0) {
        cleanup_arena struct arena a = ARENA_INIT;
        struct report_row row;
        read_report_row(&q, &a, &row);
        add_metrics(summary_of(b, row.group), row.avg_metrics, row.steps);
        if (metric_group_is_validation(row.group))
            rebuild_validation(b, t, &row);
        *steps = row.steps;
        *id = row.id;
        (*ret_n)++;
    }
    query_end(&q);
    return rc;
}

static int rebuild_rows(struct store *st, int32_t trial_id, const struct metric_trial *t, struct rebuilt *b,
                        struct error *err)
{
    int64_t steps = INT64_MIN, id = 0;
    int n;
    do {
        if (rebuild_page(st, trial_id, t, b, &steps, &id, &n, err) < 0)
            return -1;
    } while (n == REBUILD_PAGE);
    return 0;
}

static int save_rebuilt(struct store *st, int32_t trial_id, const struct metric_trial *t, const struct rebuilt *b,
                        struct error *err)
{
    if (query_exec(st, Q_SUMMARIES_DELETE, SQL_ARGS(sql_int(trial_id)), NULL, err) < 0)
        return -1;
    for (const struct group_summary *g = b->groups; g; g = g->hh.next)
        if (save_summary(st, trial_id, g->group, g->summary, err) < 0)
            return -1;
    if (query_exec(st, Q_TRIALS_SET_VALIDATIONS,
                   SQL_ARGS(sql_int(trial_id), sql_time(b->best_id), sql_opt_real(b->has_best, b->best),
                            sql_time(b->latest_id), sql_opt_real(b->has_latest, b->latest)),
                   NULL, err) < 0)
        return -1;
    return query_exec(st, Q_EXPERIMENTS_RECOMPUTE_BEST, SQL_ARGS(sql_int(t->experiment_id)), NULL, err);
}

int metric_totals_rebuild(struct store *st, int32_t trial_id, const struct metric_trial *t, struct error *err)
{
    struct rebuilt b = {0};
    int rc = rebuild_blocks(st, trial_id, &b, err);
    if (rc == 0)
        rc = rebuild_rows(st, trial_id, t, &b, err);
    if (rc == 0)
        rc = save_rebuilt(st, trial_id, t, &b, err);
    rebuilt_release(&b);
    return rc;
}
