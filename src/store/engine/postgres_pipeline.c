/* Statements that are sent together. A statement whose result is not needed at once is sent ahead (libpq's pipeline
 * mode), and the next statement whose result is waited for takes it along. So a group of jobs costs one round trip for
 * each result that is needed, not one for each statement.
 *
 *     job 1: SELECT ┘ one round trip ─ INSERT ─ INSERT ┐
 *     job 2: SELECT ───────────────────────────────────┘ one round trip ─ UPDATE …
 *
 * The server runs the statements in order. After one that failed it skips all others up to the settling. So a job may
 * be told of a failure that belongs to an earlier job, and neither of the two can be rolled back alone. The engine
 * reports this case as tangled. The group is then done again without trust: every job has a savepoint, and its release
 * waits for the results (store_trust()).
 *
 * Many rows of one table are sent by COPY, in chunks, so that memory holds only one chunk. */
#include <stdio.h>
#include <string.h>

#include "store/engine/postgres.h"

enum { COPY_CHUNK = 256 * 1024 };

static int fail_send(struct postgres_engine *e, const char *doing, struct error *err)
{
    if (PQstatus(e->conn) == CONNECTION_BAD)
        return postgres_fail_away(e, err);
    return error_set(err, ERR_INTERNAL, "%s: %.*s", doing, (int)strcspn(PQerrorMessage(e->conn), "\n"),
                     PQerrorMessage(e->conn));
}

/* ---- sending ----------------------------------------------------------------------------------------------------- */

static int open_pipeline(struct postgres_engine *e, const char *doing, struct error *err)
{
    if (e->ahead_n == POSTGRES_AHEAD_MAX && postgres_settle(e, NULL, err) < 0)
        return -1;
    if (PQpipelineStatus(e->conn) == PQ_PIPELINE_OFF && !PQenterPipelineMode(e->conn))
        return fail_send(e, doing, err);
    return 0;
}

static int check_sent(struct postgres_engine *e, int is_sent, const char *doing, struct error *err)
{
    if (!is_sent)
        return fail_send(e, doing, err);
    e->ahead[e->ahead_n++] = doing;
    return 0;
}

int postgres_send_text(struct postgres_engine *e, const char *text, const char *doing, struct error *err)
{
    if (open_pipeline(e, doing, err) < 0)
        return -1;
    return check_sent(e, PQsendQueryParams(e->conn, text, 0, NULL, NULL, NULL, NULL, 1), doing, err);
}

int postgres_send_stmt(struct engine_stmt *s, struct error *err)
{
    struct postgres_engine *e = s->engine;
    struct postgres_params w = {0};
    for (int i = 0; i < s->param_n; i++)
        if (postgres_put_param(s, &w, i, err) < 0)
            return -1;
    if (open_pipeline(e, s->sql, err) < 0)
        return -1;
    e->ahead_of_job = true;
    e->job_wrote |= !s->reads;
    return check_sent(e, PQsendQueryPrepared(e->conn, s->name, s->param_n, w.value, w.length, w.format, 1), s->sql,
                      err);
}

void postgres_forget_text(struct postgres_engine *e, const char *text)
{
    for (int i = 0; i < e->ahead_n; i++)
        if (e->ahead[i] == text)
            e->ahead[i] = "a statement that is no longer there";
}

/* ---- settling ---------------------------------------------------------------------------------------------------- */

static int fail_result(struct postgres_engine *e, const PGresult *result, int i, int released, struct error *err)
{
    if (i < released)
        e->base.failure |= ENGINE_TANGLED;
    return postgres_fail(e, result, e->ahead[i], err);
}

/* Reads the results in their order. The first failure is the one that is reported; the server skipped the statements
 * after it. */
static int take_results(struct postgres_engine *e, int n, int released, PGresult **ret_last, struct error *err)
{
    int rc = 0;
    for (int i = 0; i < n && PQstatus(e->conn) == CONNECTION_OK; i++) {
        PGresult *result = postgres_result(e);
        if (rc == 0 && !postgres_is_good(result))
            rc = fail_result(e, result, i, released, err);
        if (rc == 0 && i == n - 1 && ret_last)
            *ret_last = result;
        else
            PQclear(result);
    }
    return rc < 0 || PQstatus(e->conn) == CONNECTION_OK ? rc : postgres_fail_away(e, err);
}

static int close_pipeline(struct postgres_engine *e, struct error *err)
{
    PGresult *sync = postgres_next_result(e);
    bool synced = PQresultStatus(sync) == PGRES_PIPELINE_SYNC;
    PQclear(sync);
    return synced && PQexitPipelineMode(e->conn) ? 0 : fail_send(e, "end of a group of statements", err);
}

int postgres_settle(struct postgres_engine *e, PGresult **ret_last, struct error *err)
{
    int n = e->ahead_n, released = e->ahead_released;
    PGresult *last = NULL;
    e->ahead_n = e->ahead_released = 0;
    e->ahead_of_job = false;
    if (PQpipelineStatus(e->conn) == PQ_PIPELINE_OFF)
        return 0;
    if (!PQpipelineSync(e->conn))
        return fail_send(e, "a group of statements", err);
    e->round_trips++;
    int rc = take_results(e, n, released, &last, err);
    if (PQstatus(e->conn) == CONNECTION_OK && close_pipeline(e, rc < 0 ? NULL : err) < 0)
        rc = -1;
    if (rc < 0 || !ret_last)
        PQclear(last);
    else
        *ret_last = last;
    return rc;
}

/* ---- COPY -------------------------------------------------------------------------------------------------------- */

static int put_chunk(struct postgres_engine *e, struct strbuf *chunk, struct error *err)
{
    if (PQputCopyData(e->conn, chunk->s, (int)chunk->n) != 1)
        return fail_send(e, "COPY", err);
    strbuf_reset(chunk);
    return 0;
}

static int put_rows(struct postgres_engine *e, const struct engine_rows *rows, struct error *err)
{
    cleanup_strbuf struct strbuf chunk = STRBUF_INIT;
    struct sql_value value[COPY_COLUMNS_MAX];
    postgres_copy_header(&chunk);
    for (size_t i = 0; i < rows->row_n; i++) {
        rows->fill(rows->ctx, i, value);
        if (postgres_copy_row(value, rows->column_n, &chunk, err) < 0)
            return -1;
        if (chunk.n >= COPY_CHUNK && put_chunk(e, &chunk, err) < 0)
            return -1;
    }
    postgres_copy_trailer(&chunk);
    return put_chunk(e, &chunk, err);
}

int postgres_copy(struct engine *base, const char *into, const struct engine_rows *rows, struct error *err)
{
    struct postgres_engine *e = postgres_of(base);
    char sql[1024];
    snprintf(sql, sizeof(sql), "COPY %s FROM STDIN (FORMAT binary)", into);
    e->job_wrote = true;
    if (postgres_settle(e, NULL, err) < 0)
        return -1;
    PGresult *result = postgres_query(e, sql);
    if (PQresultStatus(result) != PGRES_COPY_IN)
        return postgres_finish(e, result, sql, err) < 0 ? -1 : error_set(err, ERR_INTERNAL, "%s: no COPY", sql);
    PQclear(result);
    e->round_trips++;
    int rc = put_rows(e, rows, err);
    if (PQputCopyEnd(e->conn, rc < 0 ? "a row can't be sent" : NULL) != 1)
        return rc < 0 ? -1 : fail_send(e, sql, err);
    return postgres_finish(e, postgres_result(e), sql, rc < 0 ? NULL : err) < 0 ? -1 : rc;
}
