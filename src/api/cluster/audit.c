/* The audit log, page by page. Clients check the chain of hashes by themselves (core/records/change_record.h). */
#include "api/pipeline/handler.h"
#include "gen/handlers.h"
#include "store/changes/changes.h"

enum { RECORDS_DEFAULT = 100, RECORDS_MAX = 1000 };

static void record_to_wire(const struct change_record *c, struct wire_audit_record *ret)
{
    *ret = (struct wire_audit_record){
        .seq = c->seq,
        .time = c->at_us,
        .has_time = true,
        .time_us = c->at_us,
        .user_id = c->user_id,
        .username = c->username,
        .via = c->via,
        .session_id = c->session_id,
        .address = c->address,
        .route = c->route,
        .kind = c->kind,
        .object_id = c->object_id,
        .action = c->action,
        .before = c->old_values,
        .after = c->new_values,
        .hash = c->hash,
    };
}

static int read_records(struct req *r, struct store *db, const struct wire_get_audit_records_request *in,
                        struct wire_get_audit_records_response *ret, struct error *err)
{
    struct store_change_head head;
    struct change_record *c;
    int64_t limit = in->limit > 0 ? in->limit : RECORDS_DEFAULT;
    size_t n;
    if (store_change_head(db, &r->arena, &head, err) < 0 ||
        store_changes_after(db, in->after_seq, in->has_since ? in->since : 0, in->has_until ? in->until : 0,
                            in->username ? in->username : "", in->kind ? in->kind : "",
                            limit < RECORDS_MAX ? limit : RECORDS_MAX, &r->arena, &c, &n, err) < 0)
        return -1;
    struct wire_audit_record *w = arena_array(&r->arena, struct wire_audit_record, n + 1);
    for (size_t i = 0; i < n; i++)
        record_to_wire(&c[i], &w[i]);
    *ret = (struct wire_get_audit_records_response){.records = w,
                                                    .records_n = n,
                                                    .head_seq = head.seq,
                                                    .head_hash = head.hash,
                                                    .base_seq = head.base_seq,
                                                    .base_hash = head.base_hash};
    return 0;
}

/* The head and the records are read within one transaction, so that they fit together. */
int api_get_audit_records(struct req *r, struct store *db, const struct wire_get_audit_records_request *in,
                          struct wire_get_audit_records_response *ret, struct error *err)
{
    if (in->limit < 0 || in->after_seq < 0)
        return error_set(err, ERR_INVALID, "limit is %d and afterSeq is %lld; both are at least 0", in->limit,
                         (long long)in->after_seq);
    if (store_begin_read(db, err) < 0)
        return -1;
    int rc = read_records(r, db, in, ret, err);
    store_rollback(db);
    return rc;
}
