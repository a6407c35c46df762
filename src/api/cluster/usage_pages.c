/* The use of slots one by one: each allocation, and each time in which an agent was there. */
#include <inttypes.h>
#include <string.h>

#include "api/cluster/usage.h"
#include "api/pipeline/convert.h"
#include "api/pipeline/raw_handlers.h"
#include "common/base/clock.h"
#include "gen/handlers.h"
#include "store/functions.h"

enum {
    PAGE_ROWS = 200,
    REPLY_ROWS_MAX = 100000, /* of the RPC route, whose reply is in memory as a whole */
};

/* Where a listing is. It is read page by page, so that it needs the memory of one page only. */
struct listing {
    struct usage_span span;
    int64_t now_us, after_us;
    char after_id[CORE_ALLOCATION_ID_MAX];
    bool with_agents, begun;
};

/* Reads the next page. *ret_more is false if it is the last one. */
static int next_page(struct listing *l, struct store *db, struct arena *a, struct store_usage **ret, size_t *ret_n,
                     bool *ret_more, struct error *err)
{
    if (store_usage_page(db, l->span.from_us, l->span.to_us, l->after_us, l->after_id, PAGE_ROWS, l->with_agents, a,
                         ret, ret_n, err) < 0)
        return -1;
    *ret_more = *ret_n == PAGE_ROWS;
    if (*ret_n > 0) {
        const struct store_usage *last = &(*ret)[*ret_n - 1];
        l->after_us = last->start_us;
        snprintf(l->after_id, sizeof(l->after_id), "%s", last->allocation_id);
    }
    return 0;
}

/* How long the row overlaps the span that was asked for. */
static double seconds_within(const struct listing *l, const struct store_usage *u)
{
    int64_t end = u->end_us ? u->end_us : l->now_us;
    int64_t from = u->start_us > l->span.from_us ? u->start_us : l->span.from_us;
    int64_t to = end < l->span.to_us ? end : l->span.to_us;
    return to > from ? (double)(to - from) / 1e6 : 0;
}

/* What ran: training for a trial, else the kind of the task in small letters, and agent for an agent. */
static const char *kind_of(const struct store_usage *u, struct arena *a)
{
    char *kind = arena_strdup(a, strcmp(u->task_type, "TRIAL") == 0 ? "training" : u->task_type);
    for (char *p = kind; *p; p++)
        *p = *p >= 'A' && *p <= 'Z' ? (char)(*p + 'a' - 'A') : *p;
    return kind;
}

static const char *time_text(int64_t us, struct arena *a)
{
    char text[CLOCK_TEXT_MAX];
    if (us == 0)
        return "";
    clock_format(us, text);
    return arena_strdup(a, text);
}

static const char *text_or_none(const char *text)
{
    return text ? text : "";
}

/* The labels, with a comma between each two. A comma within a label has a backslash before it. */
static int labels_text(const char *json, struct arena *a, const char **ret, struct error *err)
{
    const char **label;
    size_t n;
    cleanup_strbuf struct strbuf out = STRBUF_INIT;
    if (string_list_of_json(json, a, &label, &n, err) < 0)
        return -1;
    for (size_t i = 0; i < n; i++) {
        if (i)
            strbuf_addc(&out, ',');
        for (const char *p = label[i]; *p; p++) {
            if (*p == '\\' || *p == ',')
                strbuf_addc(&out, '\\');
            strbuf_addc(&out, *p);
        }
    }
    *ret = arena_strdup(a, strbuf_str(&out));
    return 0;
}

/* ---- the tables -------------------------------------------------------------------------------------------------- */

static int add_raw(const struct listing *l, const struct store_usage *u, struct arena *a, struct strbuf *out,
                   struct error *err)
{
    const char *labels;
    if (labels_text(u->labels, a, &labels, err) < 0)
        return -1;
    const char *field[] = {arena_printf(a, "%d", u->experiment_id),
                           kind_of(u, a),
                           text_or_none(u->username),
                           labels,
                           arena_printf(a, "%d", u->slots),
                           time_text(u->start_us, a),
                           time_text(u->end_us, a),
                           arena_printf(a, "%f", seconds_within(l, u))};
    usage_add_line(out, field, sizeof(field) / sizeof(*field));
    return 0;
}

static int add_allocation(const struct listing *l, const struct store_usage *u, struct arena *a, struct strbuf *out,
                          struct error *err)
{
    double hours = u->slots * seconds_within(l, u) / 3600;
    double pulling_s = u->pulled_us > u->start_us ? (double)(u->pulled_us - u->start_us) / 1e6 : 0;
    const char *field[] = {u->allocation_id,
                           u->task_type,
                           text_or_none(u->username),
                           text_or_none(u->workspace_name),
                           u->experiment_id ? arena_printf(a, "%d", u->experiment_id) : "",
                           arena_printf(a, "%d", u->slots),
                           time_text(u->start_us, a),
                           time_text(u->end_us, a),
                           pulling_s > 0 ? arena_printf(a, "%f", pulling_s) : "0.0",
                           hours > 0 ? arena_printf(a, "%f", hours) : "0.0",
                           u->pool};
    usage_add_line(out, field, sizeof(field) / sizeof(*field));
    return 0;
}

typedef int add_fn(const struct listing *l, const struct store_usage *u, struct arena *a, struct strbuf *out,
                   struct error *err);

static int fetch_lines(struct req *r, struct store *db, const char *header, add_fn *add, enum stream_next *ret_next,
                       struct error *err)
{
    struct listing *l = r->state;
    bool more = true;
    if (!l->begun)
        strbuf_adds(stream_batch(r), header);
    l->begun = true;
    while (more && stream_batch_bytes(r) < STREAM_BATCH_BYTES) {
        cleanup_arena struct arena a = ARENA_INIT;
        struct store_usage *u;
        size_t n;
        if (next_page(l, db, &a, &u, &n, &more, err) < 0)
            return -1;
        for (size_t i = 0; i < n; i++)
            if (add(l, &u[i], &a, stream_batch(r), err) < 0)
                return -1;
    }
    *ret_next = more ? STREAM_MORE : STREAM_END;
    return 0;
}

static int fetch_raw(struct req *r, struct store *db, enum stream_next *ret_next, struct error *err)
{
    return fetch_lines(r, db, "experiment_id,kind,username,labels,slots,start_time,end_time,seconds\n", add_raw,
                       ret_next, err);
}

static int fetch_allocations(struct req *r, struct store *db, enum stream_next *ret_next, struct error *err)
{
    return fetch_lines(r, db,
                       "allocation_id,task_type,username,workspace_name,experiment_id,slots,start_time,end_time,"
                       "imagepulling_time,slot_hours,resource_pool\n",
                       add_allocation, ret_next, err);
}

static int start_listing(struct req *r, bool with_agents, stream_fetch_fn *fetch, struct error *err)
{
    struct listing *l = arena_new(&r->arena, struct listing);
    *l = (struct listing){.now_us = r->now_us, .with_agents = with_agents};
    if (usage_span_of_query(r, &l->span, err) < 0)
        return -1;
    r->state = l;
    return usage_stream(r, fetch);
}

int raw_usage_raw(struct req *r, struct core *core, struct error *err)
{
    return start_listing(r, /* with_agents= */ true, fetch_raw, err);
}

int raw_usage_allocations(struct req *r, struct core *core, struct error *err)
{
    return start_listing(r, /* with_agents= */ false, fetch_allocations, err);
}

/* ---- the same as a message --------------------------------------------------------------------------------------- */

static int to_entry(const struct listing *l, const struct store_usage *u, struct arena *a,
                    struct wire_master_resource_allocation_raw_entry *ret, struct error *err)
{
    *ret = (struct wire_master_resource_allocation_raw_entry){.kind = kind_of(u, a),
                                                              .start_time = u->start_us,
                                                              .has_start_time = true,
                                                              .end_time = u->end_us,
                                                              .has_end_time = u->end_us != 0,
                                                              .experiment_id = u->experiment_id,
                                                              .username = text_or_none(u->username),
                                                              .user_id = u->owner_id,
                                                              .seconds = (float)seconds_within(l, u),
                                                              .slots = u->slots};
    return string_list_of_json(u->labels, a, &ret->labels, &ret->labels_n, err);
}

int api_resource_allocation_raw(struct req *r, struct store *db, const struct wire_resource_allocation_raw_request *in,
                                struct wire_resource_allocation_raw_response *ret, struct error *err)
{
    struct listing l = {.span = {in->timestamp_after, in->timestamp_before}, .now_us = r->now_us, .with_agents = true};
    if (!in->has_timestamp_after || !in->has_timestamp_before)
        return error_set(err, ERR_INVALID,
                         "timestampAfter and timestampBefore are needed: times such as "
                         "2026-11-01T00:00:00Z");
    if (usage_span_check(&l.span, err) < 0)
        return -1;
    size_t cap = 0;
    for (bool more = true; more;) {
        struct store_usage *u;
        size_t n;
        if (next_page(&l, db, &r->arena, &u, &n, &more, err) < 0)
            return -1;
        if (ret->resource_entries_n + n > REPLY_ROWS_MAX)
            return error_set(err, ERR_INVALID,
                             "there are more than %d entries between the two times; ask for a shorter time, or for "
                             "/resources/allocation/raw, which has no limit",
                             REPLY_ROWS_MAX);
        if (ret->resource_entries_n + n > cap) {
            cap = 2 * cap + PAGE_ROWS;
            struct wire_master_resource_allocation_raw_entry *larger =
                arena_array(&r->arena, struct wire_master_resource_allocation_raw_entry, cap);
            if (ret->resource_entries_n)
                memcpy(larger, ret->resource_entries, ret->resource_entries_n * sizeof(*larger));
            ret->resource_entries = larger;
        }
        for (size_t i = 0; i < n; i++)
            if (to_entry(&l, &u[i], &r->arena, &ret->resource_entries[ret->resource_entries_n++], err) < 0)
                return -1;
    }
    return 0;
}
