#include "store/jobs.h"

#include "store/query.h"

static void read_job(struct query *q, struct arena *a, void *row)
{
    struct store_job *j = row;
    j->id = take_text(q, a);
    j->type = take_text(q, a);
    j->user_id = take_i32(q);
    j->resource_pool = take_text(q, a);
    j->position = take_int(q);
    j->has_priority = take_opt_i32(q, &j->priority);
    j->has_weight = take_opt_real(q, &j->weight);
    j->submitted_us = take_int(q);
}

int store_job_put(struct store *st, const struct store_job *j, struct error *err)
{
    return query_exec(st, Q_JOBS_PUT, SQL_ARGS(sql_text(j->id), sql_text(j->type), sql_int(j->user_id),
                                               sql_text(j->resource_pool), sql_int(j->position),
                                               sql_opt_int(j->has_priority, j->priority),
                                               sql_opt_real(j->has_weight, j->weight), sql_int(j->submitted_us)), NULL,
                                                   err);
}

int store_job_get(struct store *st, const char *id, struct arena *a, struct store_job *ret, struct error *err)
{
    int rc = query_one(st, Q_JOBS_BY_ID, SQL_ARGS(sql_text(id)), read_job, a, ret, err);
    return rc == 0 ? error_set(err, ERR_NOT_FOUND, "job '%s' not found", id) : rc < 0 ? -1 : 0;
}

int store_job_delete(struct store *st, const char *id, struct error *err)
{
    return query_exec(st, Q_JOBS_DELETE, SQL_ARGS(sql_text(id)), NULL, err);
}

int store_jobs_all(struct store *st, struct arena *a, struct store_job **ret, size_t *ret_n, struct error *err)
{
    return query_all(st, Q_JOBS_ALL, SQL_NO_ARGS, read_job, sizeof(**ret), a, ret, ret_n, err);
}
