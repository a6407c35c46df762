#include "store/experiments/environments.h"

#include "store/row_io.h"

/* Computes FNV-1a of a document. Documents with the same fingerprint are still told apart by their texts. */
static int64_t fingerprint_of_text(const char *text)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return (int64_t)h;
}

/* Stores the document if it is not stored yet, and sets *ret to its id. For no document *ret is NULL. */
static int put_document(struct store *st, const char *document, struct sql_value *ret, struct error *err)
{
    int64_t id = 0;
    *ret = sql_null();
    if (!document)
        return 0;
    struct sql_args args = SQL_ARGS(sql_int(fingerprint_of_text(document)), sql_text(document));
    if (query_int(st, Q_ENVIRONMENTS_FIND, args, &id, err) < 0)
        return -1;
    if (!id && (query_exec(st, Q_ENVIRONMENTS_INSERT, args, NULL, err) < 0 ||
                query_int(st, Q_ENVIRONMENTS_FIND, args, &id, err) < 0))
        return -1;
    *ret = sql_int(id);
    return 0;
}

int store_environment_put(struct store *st, const struct store_environment *e, struct error *err)
{
    struct sql_value host, python;
    if (put_document(st, e->host, &host, err) < 0 || put_document(st, e->python, &python, err) < 0)
        return -1;
    if (query_exec(st, Q_ALLOCATION_ENVIRONMENTS_PUT,
                   SQL_ARGS(sql_text(e->allocation_id), sql_text(e->container_id), host, python,
                            sql_int(e->python_seen)),
                   NULL, err) < 0)
        return explain_conflict(err, "allocation '%.80s' does not exist", e->allocation_id);
    return 0;
}
