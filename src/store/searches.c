/* Pages of searches: over store/list.h, with the filters and sorts of a parsed search. */
#include <string.h>

#include "store/list.h"
#include "store/metrics.h"
#include "store/search_internal.h"

/* ---- what both have in common ------------------------------------------------------------------------------------ */

struct search_filter {
    const struct search *s;
    enum sql_dialect dialect;
    int32_t project_id;
};

static void add_filters(struct compose *c, const void *filter, struct arena *a)
{
    const struct search_filter *f = filter;
    if (f->project_id)
        compose_add(c, F_EXPERIMENT_FILTER_PROJECT, SQL_ARGS(sql_int(f->project_id)));
    search_add_filter(c, f->s, f->dialect, a);
}

static void add_sort(struct compose *c, const struct list_spec *s)
{
    const struct search_filter *f = s->filter;
    search_add_sort(c, f->s, f->dialect);
}

static struct search_filter filter_of(struct store *st, const struct search *s, int32_t project_id)
{
    return (struct search_filter){.s = s, .dialect = store_engine(st)->ops->dialect, .project_id = project_id};
}

/* ---- experiments ------------------------------------------------------------------------------------------------- */

static enum sql_fragment experiment_rows(const struct search *s)
{
    for (size_t i = 0; i < s->sort_n; i++)
        if (s->sort[i].operand.column->type == SEARCH_USER)
            return i == 0 ? F_EXPERIMENTS_PAGE_BY_USER : F_SEARCH_EXPERIMENTS_WITH_USER;
    return F_EXPERIMENTS_PAGE;
}

int store_search_experiments(struct store *st, const struct search *s, int32_t project_id, struct page page,
                             struct arena *a, struct store_experiment_list *ret, struct error *err)
{
    const struct search_filter filter = filter_of(st, s, project_id);
    const struct list_spec spec = {
        .count = F_EXPERIMENTS_COUNT, .rows = experiment_rows(s), .wide = true,
        .wide_open = F_EXPERIMENTS_WIDE_OPEN_WITH_CONFIG, .wide_close = F_EXPERIMENTS_WIDE_CLOSE_WITH_CONFIG,
        .few_first = true, .ids = F_EXPERIMENTS_IDS, .among = F_EXPERIMENTS_AMONG, .add_filters = add_filters,
        .filter = &filter, .add_sort = add_sort, .page = page, .window = page_of_query_list,
        .read = store_read_experiment, .row_size = sizeof(struct store_experiment),
    };
    return list_run(st, &spec, a, &ret->experiment, &ret->experiment_n, &ret->window, err);
}

/* ---- runs -------------------------------------------------------------------------------------------------------- */

static enum run_state take_state(struct query *q)
{
    char name[32];
    enum run_state state;
    take_chars(q, name, sizeof(name));
    return run_state_parse(name, &state) < 0 ? RUN_DELETED : state; /* the table's check knows no other */
}

static void read_run(struct query *q, struct arena *a, void *row)
{
    struct store_run *r = row;
    r->id = take_i32(q);
    r->start_us = take_int(q);
    r->end_us = take_int(q);
    r->state = take_state(q);
    r->hparams = take_text(q, a);
    r->checkpoint_size = take_int(q);
    r->checkpoint_count = take_i32(q);
    r->has_metric = take_opt_real(q, &r->metric);
    r->external_id = take_opt_text(q, a);
    r->metadata = take_opt_text(q, a);
    r->archived = take_bool(q);
    r->log_policy_matched = take_opt_text(q, a);
    r->experiment.id = take_i32(q);
    r->experiment.labels = take_text(q, a);
    r->experiment.searcher_type = take_text(q, a);
    r->experiment.searcher_metric = take_text(q, a);
    r->experiment.has_parent = take_opt_i32(q, &r->experiment.parent_id);
    r->experiment.external_id = take_opt_text(q, a);
    r->experiment.resource_pool = take_text(q, a);
    r->experiment.progress = take_real(q);
    r->experiment.description = take_text(q, a);
    r->experiment.name = take_text(q, a);
    r->experiment.unmanaged = take_bool(q);
    r->experiment.multitrial = take_bool(q);
    r->experiment.user_id = take_i32(q);
    r->project_id = take_i32(q);
    r->project_name = take_text(q, a);
    r->project_key = take_text(q, a);
    r->workspace_id = take_i32(q);
    r->workspace_name = take_text(q, a);
    r->parent_archived = take_bool(q);
}

int store_search_runs(struct store *st, const struct search *s, int32_t project_id, struct page page, struct arena *a,
                      struct store_run_list *ret, struct error *err)
{
    const struct search_filter filter = filter_of(st, s, project_id);
    const struct list_spec spec = {
        .count = F_RUNS_COUNT, .rows = F_RUNS_PAGE, .wide = true, .wide_open = F_RUNS_WIDE_OPEN,
        .wide_close = F_RUNS_WIDE_CLOSE, .few_first = true, .ids = F_RUNS_IDS, .among = F_RUNS_AMONG,
        .add_filters = add_filters, .filter = &filter, .add_sort = add_sort, .page = page, .window = page_of_query_list,
        .read = read_run, .row_size = sizeof(struct store_run),
    };
    if (list_run(st, &spec, a, &ret->run, &ret->run_n, &ret->window, err) < 0)
        return -1;
    for (size_t i = 0; i < ret->run_n; i++)
        if (store_summary_metrics(st, ret->run[i].id, a, &ret->run[i].summary_metrics, err) < 0)
            return -1;
    return 0;
}

static void read_id(struct query *q, struct arena *a, void *row) { *(int32_t *)row = take_i32(q); }

int store_search_run_ids(struct store *st, const struct search *s, int32_t project_id, struct arena *a,
                         struct store_ints *ret, struct error *err)
{
    const struct search_filter filter = filter_of(st, s, project_id);
    struct compose c = COMPOSE_INIT;
    int32_t *id = NULL;
    size_t n = 0;
    compose_add(&c, F_RUNS_IDS, SQL_NO_ARGS);
    add_filters(&c, &filter, a);
    compose_add(&c, F_TRIAL_SORT_ID, SQL_NO_ARGS);
    if (query_all_composed(st, &c, read_id, sizeof(*id), a, &id, &n, err) < 0)
        return -1;
    *ret = (struct store_ints){id, n};
    return 0;
}

static void read_brief(struct query *q, struct arena *a, void *row)
{
    struct store_run_brief *r = row;
    r->id = take_i32(q);
    r->state = take_state(q);
    r->archived = take_bool(q);
    r->experiment.id = take_i32(q);
    r->experiment.state = take_state(q);
    r->experiment.user_id = take_i32(q);
    r->experiment.project_id = take_i32(q);
    r->experiment.archived = take_bool(q);
    r->experiment.unmanaged = take_bool(q);
    r->multitrial = take_bool(q);
    r->experiment.place_archived = take_bool(q);
}

int store_run_briefs(struct store *st, struct store_ints ids, struct arena *a, struct store_run_brief **ret,
                     size_t *ret_n, struct error *err)
{
    return query_all(st, Q_RUNS_BRIEFS, SQL_ARGS(sql_text(json_of_ints(a, ids))), read_brief, sizeof(**ret), a, ret,
                     ret_n, err);
}

int store_run_set_archived(struct store *st, int32_t id, bool archived, struct error *err)
{
    return query_exec_one(st, Q_RUNS_SET_ARCHIVED, SQL_ARGS(sql_int(id), sql_bool(archived)), err, "run %d", id);
}
