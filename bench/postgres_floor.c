/* What does the server itself take in a second from one connection: a row updated and committed, by libpq alone?
 * Usage: postgres_floor PLACE (a database that store_append has filled) */
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/clock.h"

static void check_result(PGconn *c, PGresult *r)
{
    ExecStatusType s = PQresultStatus(r);
    if (s != PGRES_COMMAND_OK && s != PGRES_TUPLES_OK) {
        fprintf(stderr, "%s", PQerrorMessage(c));
        exit(1);
    }
    PQclear(r);
}

int main(int argc, char **argv)
{
    enum { N = 1000 };
    PGconn *c = PQconnectdb(argc > 1 ? argv[1] : "");
    check_result(c, PQexec(c, "CREATE TABLE IF NOT EXISTS floor (id bigint PRIMARY KEY, n bigint)"));
    check_result(c, PQexec(c, "INSERT INTO floor VALUES (1, 0) ON CONFLICT DO NOTHING"));
    check_result(c, PQprepare(c, "add", "UPDATE floor SET n = n + 1 WHERE id = 1", 0, NULL));
    int64_t start = clock_monotonic_us();
    for (int i = 0; i < N; i++)
        check_result(c, PQexecPrepared(c, "add", 0, NULL, NULL, NULL, 0));
    printf("%-58s %10.0f /s\n", "one row a commit, libpq alone", N * 1e6 / (double)(clock_monotonic_us() - start));
    PQfinish(c);
    return 0;
}
