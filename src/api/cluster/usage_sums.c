/* The use of slots in sums: by day or month, and by what it was used for. */
#include <string.h>

#include "api/cluster/usage.h"
#include "api/pipeline/internal.h"
#include "api/pipeline/raw.h"
#include "api/pipeline/raw_handlers.h"
#include "common/config/config.h"
#include "common/json/json.h"
#include "gen/handlers.h"
#include "store/functions.h"

enum { REPLY_ENTRIES_MAX = 100000 }; /* of the RPC route, whose reply is in memory as a whole */

/* What a sum can be taken by. The first ones are those of release 0.38.1, in its order. */
enum by { BY_LABEL, BY_USER, BY_POOL, BY_TOTAL, BY_WORKSPACE, BY_EXPERIMENT, BY_AGENT, BY_TASK_TYPE, BY_NR };
enum { BY_USUAL = 1 << BY_LABEL | 1 << BY_USER | 1 << BY_POOL | 1 << BY_TOTAL };
static const char *const by_name[BY_NR] = {
    [BY_LABEL] = "experiment_label",
    [BY_USER] = "username",
    [BY_POOL] = "resource_pool",
    [BY_TOTAL] = "total",
    [BY_WORKSPACE] = "workspace",
    [BY_EXPERIMENT] = "experiment",
    [BY_AGENT] = "agent",
    [BY_TASK_TYPE] = "task_type",
};

struct summing {
    struct usage_periods periods;
    int64_t now_us;
    unsigned by; /* a bit for each */
    bool begun, skipped;
};

static int sums_by(struct store *db, enum by by, const struct usage_span *span, int64_t now_us, struct arena *a,
                   struct store_usage_sum **ret, size_t *ret_n, struct error *err)
{
    if (by == BY_LABEL)
        return store_usage_sums_by_label(db, span->from_us, span->to_us, now_us, a, ret, ret_n, err);
    if (by == BY_AGENT)
        return store_usage_sums_by_agent(db, span->from_us, span->to_us, now_us, a, ret, ret_n, err);
    return store_usage_sums(db, by_name[by], span->from_us, span->to_us, now_us, a, ret, ret_n, err);
}

/* Adds up the pools of each key. The rows are ordered by key. Returns how many are left. */
static size_t merge_pools(struct store_usage_sum *s, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        if (kept > 0 && strcmp(s[kept - 1].key, s[i].key) == 0) {
            s[kept - 1].used_us += s[i].used_us;
            s[kept - 1].failed_us += s[i].failed_us;
        } else {
            s[kept++] = s[i];
        }
    }
    return kept;
}

/* The next period. The periods before anything was used are left out. */
static int next_period(struct summing *s, struct store *db, struct usage_span *ret, char name[USAGE_PERIOD_NAME_MAX],
                       bool *ret_is, struct error *err)
{
    int64_t first = 0;
    if (!s->skipped && store_usage_first(db, &first, err) < 0)
        return -1;
    if (!s->skipped)
        usage_periods_skip(&s->periods, first ? first : s->now_us);
    s->skipped = true;
    *ret_is = usage_periods_next(&s->periods, ret, name);
    return 0;
}

/* ---- what a request asks for ------------------------------------------------------------------------------------- */

static int read_by(struct req *r, unsigned *ret, struct error *err)
{
    const char *text;
    if (req_query_param(r, "by", &text, err) < 0)
        return -1;
    *ret = text && *text ? 0 : BY_USUAL;
    for (const char *p = text ? text : ""; *p;) {
        size_t n = strcspn(p, ",");
        int by = 0;
        while (by < BY_NR && (strlen(by_name[by]) != n || strncmp(by_name[by], p, n) != 0))
            by++;
        if (by == BY_NR)
            return error_set(err, ERR_INVALID,
                             "by has '%.*s', allowed are experiment_label, username, resource_pool, total, workspace, "
                             "experiment, agent and task_type, with commas between them",
                             (int)(n < 40 ? n : 40), p);
        *ret |= 1u << by;
        p += n + (p[n] == ',');
    }
    return 0;
}

static int read_monthly(struct req *r, bool *ret, struct error *err)
{
    const char *text;
    int32_t period = 0;
    if (req_query_param(r, "period", &text, err) < 0)
        return -1;
    if (text && (codec_enum_number(&wire_enum_master_resource_allocation_aggregation_period, text, &period) < 0 ||
                 period == WIRE_MASTER_RESOURCE_ALLOCATION_AGGREGATION_PERIOD_UNSPECIFIED))
        return error_set(err, ERR_INVALID,
                         "period is '%.60s', allowed are RESOURCE_ALLOCATION_AGGREGATION_PERIOD_DAILY and "
                         "RESOURCE_ALLOCATION_AGGREGATION_PERIOD_MONTHLY",
                         text);
    *ret = period == WIRE_MASTER_RESOURCE_ALLOCATION_AGGREGATION_PERIOD_MONTHLY;
    return 0;
}

static int start_sums(struct req *r, stream_fetch_fn *fetch, struct error *err)
{
    struct summing *s = arena_new(&r->arena, struct summing);
    const char *start, *end;
    bool monthly = false;
    *s = (struct summing){.now_us = r->now_us};
    if (read_by(r, &s->by, err) < 0 || read_monthly(r, &monthly, err) < 0 ||
        req_query_param(r, "start_date", &start, err) < 0 || req_query_param(r, "end_date", &end, err) < 0 ||
        usage_periods_read(start ? start : "", end ? end : "", monthly, r->now_us, &s->periods, err) < 0)
        return -1;
    r->state = s;
    return usage_stream(r, fetch);
}

/* ---- the tables -------------------------------------------------------------------------------------------------- */

static const char *seconds_text(int64_t us, struct arena *a)
{
    return arena_printf(a, "%f", (double)us / 1e6);
}

static int add_aggregated(struct req *r, struct store *db, const struct usage_span *span, const char *period,
                          struct error *err)
{
    const struct summing *s = r->state;
    for (int by = 0; by < BY_NR; by++) {
        cleanup_arena struct arena a = ARENA_INIT;
        struct store_usage_sum *sum;
        size_t n;
        if (!(s->by & 1u << by))
            continue;
        if (sums_by(db, (enum by)by, span, s->now_us, &a, &sum, &n, err) < 0)
            return -1;
        n = merge_pools(sum, n);
        for (size_t i = 0; i < n; i++)
            usage_add_line(stream_batch(r),
                           (const char *const[]){by_name[by], sum[i].key, period, seconds_text(sum[i].used_us, &a)}, 4);
        if (n == 0 && by == BY_TOTAL) /* a day without use is a day, too */
            usage_add_line(stream_batch(r), (const char *const[]){by_name[by], "total", period, "0.000000"}, 4);
    }
    return 0;
}

static const char *hours_text(int64_t us, struct arena *a)
{
    return arena_printf(a, "%.6f", (double)us / 3.6e9);
}

/* The price of a slot for an hour (resource_pools[].slot_hour_price). False: the pool has none. */
static bool price_of(const struct config *config, const char *pool, double *ret)
{
    struct json_object *list = config_get(config, "resource_pools"), *name, *price;
    for (size_t i = 0; list && i < json_object_array_length(list); i++) {
        struct json_object *p = json_object_array_get_idx(list, i);
        if (json_object_object_get_ex(p, "pool_name", &name) && strcmp(json_object_get_string(name), pool) == 0 &&
            json_object_object_get_ex(p, "slot_hour_price", &price) && price) {
            *ret = json_object_get_double(price);
            return true;
        }
    }
    return false;
}

static const struct store_usage_sum *sum_of_pool(const struct store_usage_sum *s, size_t n, const char *pool)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(s[i].pool, pool) == 0)
            return &s[i];
    return NULL;
}

/* One line of a pool. used or capacity may be NULL, but not both. */
static void add_pool_line(struct req *r, const char *period, const struct store_usage_sum *used,
                          const struct store_usage_sum *capacity, struct arena *a)
{
    const char *pool = used ? used->pool : capacity->pool;
    int64_t us = used ? used->used_us : 0, there = capacity ? capacity->used_us : 0;
    double idle = there > us ? (double)(there - us) / (double)there : 0, price;
    bool priced = price_of(api_info(r->api)->config, pool, &price);
    const char *field[] = {period,
                           pool,
                           hours_text(us, a),
                           capacity ? hours_text(there, a) : "",
                           there > 0 ? arena_printf(a, "%.4f", idle) : "",
                           hours_text(used ? used->failed_us : 0, a),
                           priced ? arena_printf(a, "%.2f", (double)us / 3.6e9 * price) : ""};
    usage_add_line(stream_batch(r), field, sizeof(field) / sizeof(*field));
}

static int add_summary(struct req *r, struct store *db, const struct usage_span *span, const char *period,
                       struct error *err)
{
    const struct summing *s = r->state;
    cleanup_arena struct arena a = ARENA_INIT;
    struct store_usage_sum *used, *capacity;
    size_t n, capacity_n;
    if (sums_by(db, BY_POOL, span, s->now_us, &a, &used, &n, err) < 0 ||
        store_usage_capacity(db, span->from_us, span->to_us, &a, &capacity, &capacity_n, err) < 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        add_pool_line(r, period, &used[i], sum_of_pool(capacity, capacity_n, used[i].pool), &a);
    for (size_t i = 0; i < capacity_n; i++)
        if (!sum_of_pool(used, n, capacity[i].pool))
            add_pool_line(r, period, NULL, &capacity[i], &a);
    return 0;
}

/* The same by something else: what was used, what of it failed, and its price. */
static int add_costs(struct req *r, struct store *db, enum by by, const struct usage_span *span, const char *period,
                     struct error *err)
{
    const struct summing *s = r->state;
    cleanup_arena struct arena a = ARENA_INIT;
    struct store_usage_sum *sum;
    size_t n;
    double price;
    if (sums_by(db, by, span, s->now_us, &a, &sum, &n, err) < 0)
        return -1;
    for (size_t i = 0; i < n; i++) {
        bool priced = price_of(api_info(r->api)->config, sum[i].pool, &price);
        const char *field[] = {period,
                               by_name[by],
                               sum[i].key,
                               sum[i].pool,
                               hours_text(sum[i].used_us, &a),
                               hours_text(sum[i].failed_us, &a),
                               priced ? arena_printf(&a, "%.2f", (double)sum[i].used_us / 3.6e9 * price) : ""};
        usage_add_line(stream_batch(r), field, sizeof(field) / sizeof(*field));
    }
    return 0;
}

static int add_all_costs(struct req *r, struct store *db, const struct usage_span *span, const char *period,
                         struct error *err)
{
    const struct summing *s = r->state;
    for (int by = 0; by < BY_NR; by++)
        if (s->by & 1u << by && add_costs(r, db, (enum by)by, span, period, err) < 0)
            return -1;
    return 0;
}

typedef int add_fn(struct req *r, struct store *db, const struct usage_span *span, const char *period,
                   struct error *err);

static int fetch_periods(struct req *r, struct store *db, const char *header, add_fn *add, enum stream_next *ret_next,
                         struct error *err)
{
    struct summing *s = r->state;
    if (!s->begun)
        strbuf_adds(stream_batch(r), header);
    s->begun = true;
    *ret_next = STREAM_MORE;
    while (stream_batch_bytes(r) < STREAM_BATCH_BYTES) {
        struct usage_span span;
        char period[USAGE_PERIOD_NAME_MAX];
        bool is;
        if (next_period(s, db, &span, period, &is, err) < 0)
            return -1;
        if (!is) {
            *ret_next = STREAM_END;
            return 0;
        }
        if (add(r, db, &span, period, err) < 0)
            return -1;
    }
    return 0;
}

static int fetch_aggregated(struct req *r, struct store *db, enum stream_next *ret_next, struct error *err)
{
    return fetch_periods(r, db, "aggregation_type,aggregation_key,date,seconds\n", add_aggregated, ret_next, err);
}

static int fetch_summary(struct req *r, struct store *db, enum stream_next *ret_next, struct error *err)
{
    return fetch_periods(r, db,
                         "date,resource_pool,used_slot_hours,available_slot_hours,idle_share,failed_slot_hours,cost\n",
                         add_summary, ret_next, err);
}

static int fetch_costs(struct req *r, struct store *db, enum stream_next *ret_next, struct error *err)
{
    return fetch_periods(r, db, "date,by,key,resource_pool,used_slot_hours,failed_slot_hours,cost\n", add_all_costs,
                         ret_next, err);
}

int raw_usage_aggregated(struct req *r, struct core *core, struct error *err)
{
    return start_sums(r, fetch_aggregated, err);
}

int raw_usage_summary(struct req *r, struct core *core, struct error *err)
{
    const char *by;
    if (req_query_param(r, "by", &by, err) < 0)
        return -1;
    return start_sums(r, by && *by ? fetch_costs : fetch_summary, err);
}

/* ---- the aggregated sums as a message ---------------------------------------------------------------------------- */

static int add_map(struct req *r, struct store *db, enum by by, const struct usage_span *span,
                   struct wire_map_float **ret, size_t *ret_n, struct error *err)
{
    struct store_usage_sum *sum;
    size_t n;
    if (sums_by(db, by, span, r->now_us, &r->arena, &sum, &n, err) < 0)
        return -1;
    n = merge_pools(sum, n);
    *ret = arena_array(&r->arena, struct wire_map_float, n + 1);
    for (size_t i = 0; i < n; i++)
        (*ret)[i] = (struct wire_map_float){.key = sum[i].key, .value = (float)((double)sum[i].used_us / 1e6)};
    *ret_n = n;
    return 0;
}

static int to_entry(struct req *r, struct store *db, const struct usage_span *span, bool monthly, const char *period,
                    struct wire_master_resource_allocation_aggregated_entry *ret, struct error *err)
{
    struct wire_map_float *total;
    size_t n;
    *ret = (struct wire_master_resource_allocation_aggregated_entry){
        .period_start = arena_strdup(&r->arena, period),
        .period = monthly ? WIRE_MASTER_RESOURCE_ALLOCATION_AGGREGATION_PERIOD_MONTHLY
                          : WIRE_MASTER_RESOURCE_ALLOCATION_AGGREGATION_PERIOD_DAILY};
    if (add_map(r, db, BY_TOTAL, span, &total, &n, err) < 0 ||
        add_map(r, db, BY_USER, span, &ret->by_username, &ret->by_username_n, err) < 0 ||
        add_map(r, db, BY_LABEL, span, &ret->by_experiment_label, &ret->by_experiment_label_n, err) < 0 ||
        add_map(r, db, BY_POOL, span, &ret->by_resource_pool, &ret->by_resource_pool_n, err) < 0)
        return -1;
    ret->seconds = n ? total[0].value : 0;
    return 0;
}

static size_t entry_size(const struct wire_master_resource_allocation_aggregated_entry *e)
{
    return 1 + e->by_username_n + e->by_experiment_label_n + e->by_resource_pool_n;
}

int api_resource_allocation_aggregated(struct req *r, struct store *db,
                                       const struct wire_resource_allocation_aggregated_request *in,
                                       struct wire_resource_allocation_aggregated_response *ret, struct error *err)
{
    bool monthly = in->period == WIRE_MASTER_RESOURCE_ALLOCATION_AGGREGATION_PERIOD_MONTHLY;
    struct summing s = {.now_us = r->now_us};
    size_t cap = 0, size = 0;
    if (in->period == WIRE_MASTER_RESOURCE_ALLOCATION_AGGREGATION_PERIOD_UNSPECIFIED)
        return error_set(err, ERR_INVALID, "no aggregation period specified: period is daily or monthly");
    if (usage_periods_read(in->start_date ? in->start_date : "", in->end_date ? in->end_date : "", monthly, r->now_us,
                           &s.periods, err) < 0)
        return -1;
    for (;;) {
        struct usage_span span;
        char period[USAGE_PERIOD_NAME_MAX];
        bool is;
        if (next_period(&s, db, &span, period, &is, err) < 0)
            return -1;
        if (!is)
            return 0;
        if (ret->resource_entries_n == cap) {
            cap = 2 * cap + 31;
            struct wire_master_resource_allocation_aggregated_entry *larger =
                arena_array(&r->arena, struct wire_master_resource_allocation_aggregated_entry, cap);
            if (ret->resource_entries_n)
                memcpy(larger, ret->resource_entries, ret->resource_entries_n * sizeof(*larger));
            ret->resource_entries = larger;
        }
        struct wire_master_resource_allocation_aggregated_entry *e = &ret->resource_entries[ret->resource_entries_n++];
        if (to_entry(r, db, &span, monthly, period, e, err) < 0)
            return -1;
        size += entry_size(e);
        if (size > REPLY_ENTRIES_MAX)
            return error_set(err, ERR_INVALID,
                             "the reply would have more than %d entries; ask for fewer days, for months, or for "
                             "/resources/allocation/aggregated, which has no limit",
                             REPLY_ENTRIES_MAX);
    }
}
