/* The audit log: its records as JSON lines, and a check of their chain, which is done here and not by the master. */
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cmd/show.h"
#include "cli/connection/api.h"
#include "common/base/clock.h"
#include "core/records/change_record.h"

enum { PAGE = 1000 };

static const char *text_of(struct json_object *v, const char *key)
{
    struct json_object *field = json_object_object_get(v, key);
    return field ? json_object_get_string(field) : NULL;
}

static int64_t number_of(struct json_object *v, const char *key)
{
    return json_object_get_int64(json_object_object_get(v, key));
}

static struct change_record record_of(struct json_object *v)
{
    return (struct change_record){
        .seq = number_of(v, "seq"),
        .at_us = number_of(v, "timeUs"),
        .user_id = (int32_t)number_of(v, "userId"),
        .username = text_of(v, "username"),
        .via = text_of(v, "via"),
        .session_id = number_of(v, "sessionId"),
        .address = text_of(v, "address"),
        .route = text_of(v, "route"),
        .kind = text_of(v, "kind"),
        .object_id = text_of(v, "objectId"),
        .action = text_of(v, "action"),
        .old_values = text_of(v, "before"),
        .new_values = text_of(v, "after"),
        .hash = text_of(v, "hash"),
    };
}

/* One page of records. *ret_n is their number; the last one's number is where the next page begins. */
static int read_page(struct cli *cli, struct wire_get_audit_records_request *in, struct json_object **ret,
                     struct json_object **ret_records, size_t *ret_n, struct error *err)
{
    in->limit = PAGE;
    if (api_call_document(cli, ROUTE_ID_GET_AUDIT_RECORDS, in, ret, err) < 0)
        return -1;
    *ret_records = json_object_object_get(*ret, "records");
    *ret_n = json_object_array_length(*ret_records);
    if (*ret_n > 0)
        in->after_seq = number_of(json_object_array_get_idx(*ret_records, *ret_n - 1), "seq");
    return 0;
}

int cmd_master_audit_export(struct cli *cli, const struct args_master_audit_export *args, struct error *err)
{
    struct wire_get_audit_records_request in = {.username = args->user, .kind = args->kind};
    size_t n;
    if (option_time("--since", args->since, &in.since, &in.has_since, err) < 0 ||
        option_time("--until", args->until, &in.until, &in.has_until, err) < 0)
        return -1;
    do {
        cleanup_json struct json_object *page = NULL;
        struct json_object *records;
        if (read_page(cli, &in, &page, &records, &n, err) < 0)
            return -1;
        for (size_t i = 0; i < n; i++)
            fprintf(cli->out, "%s\n",
                    json_object_to_json_string_ext(json_object_array_get_idx(records, i),
                                                   JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE));
    } while (n > 0);
    return 0;
}

/* A record that was noted before, SEQ:HASH. */
struct noted {
    int64_t seq; /* 0: none was given */
    const char *hash;
};

static int read_noted(const char *text, struct noted *ret, struct error *err)
{
    char *end = NULL;
    *ret = (struct noted){0};
    if (!text)
        return 0;
    ret->seq = strtoll(text, &end, 10);
    if (ret->seq < 1 || *end != ':' || strlen(end + 1) != CHANGE_HASH_TEXT_MAX - 1)
        return error_set(err, ERR_USAGE,
                         "--head is \"%s\"; it has the form SEQ:HASH, as det master audit verify prints it", text);
    ret->hash = end + 1;
    return 0;
}

static int check_noted(const struct noted *noted, const struct change_chain *chain, struct error *err)
{
    if (!noted->hash || noted->seq != chain->seq || strcmp(noted->hash, chain->hash) == 0)
        return 0;
    return error_set(
        err, ERR_PRECONDITION,
        "the audit log is damaged: record %lld has the hash %s, but the hash %s was noted; the records up to "
        "it are not those that were written",
        (long long)chain->seq, chain->hash, noted->hash);
}

static int check_records(struct json_object *records, size_t n, const struct noted *noted, struct change_chain *chain,
                         struct error *err)
{
    for (size_t i = 0; i < n; i++) {
        struct change_record c = record_of(json_object_array_get_idx(records, i));
        if (change_chain_add(chain, &c, err) < 0 || check_noted(noted, chain, err) < 0)
            return -1;
    }
    return 0;
}

static int check_base(const struct noted *noted, const struct change_chain *chain, struct error *err)
{
    if (noted->seq && noted->seq < chain->seq)
        return error_set(
            err, ERR_PRECONDITION,
            "record %lld was removed because of its age (the log begins after record %lld): give a later one",
            (long long)noted->seq, (long long)chain->seq);
    return check_noted(noted, chain, err);
}

/* The master may write records while the pages are read: the last page tells where the log ends. */
static int check_log(struct cli *cli, const struct noted *noted, struct change_chain *chain, struct error *err)
{
    struct wire_get_audit_records_request in = {0};
    for (bool first = true;; first = false) {
        cleanup_json struct json_object *page = NULL;
        struct json_object *records;
        size_t n;
        if (!first)
            in.after_seq = chain->seq;
        if (read_page(cli, &in, &page, &records, &n, err) < 0)
            return -1;
        if (first)
            change_chain_begin(chain, number_of(page, "baseSeq"), text_of(page, "baseHash"));
        if ((first && check_base(noted, chain, err) < 0) || check_records(records, n, noted, chain, err) < 0)
            return -1;
        if (n < PAGE)
            return change_chain_end(chain, number_of(page, "headSeq"), text_of(page, "headHash"), err);
    }
}

int cmd_master_audit_verify(struct cli *cli, const struct args_master_audit_verify *args, struct error *err)
{
    struct noted noted;
    struct change_chain chain;
    if (read_noted(args->head, &noted, err) < 0 || check_log(cli, &noted, &chain, err) < 0)
        return -1;
    if (noted.seq > chain.seq)
        return error_set(err, ERR_PRECONDITION,
                         "the audit log is damaged: it ends with record %lld, but record %lld was noted",
                         (long long)chain.seq, (long long)noted.seq);
    fprintf(cli->out, "The audit log is complete and unaltered up to record %lld:%s\n", (long long)chain.seq,
            chain.hash);
    return 0;
}
