/* The store: everything the platform must remember, behind synchronous calls on a connection.
 *
 * Threads and queues belong to the master. One connection writes (store_open(), which also migrates and runs
 * checkpoints of the WAL), and any number of connections read (store_open_reader()). A connection belongs to one thread
 * at a time. The files of queries/, one for each family of tables, declare what is stored. Two headers are made from
 * them: rows.h has the records, and functions.h has the functions that run one statement or read one page of a list. A
 * family whose functions do more has a header of its own, such as experiments.h. backup.h copies the whole store.
 *
 * Conventions of all families:
 *  - No function commits. Writes run inside the caller's transaction (the writer's group commit); reads may run alone.
 *  - Results live in the caller's arena. For a row that does not exist the error is ERR_NOT_FOUND, with a sentence that
 *    names it.
 *  - Times are µs UTC; 0 means "none" (NULL in the table). States are the API's names without their prefix: "ACTIVE".
 *  - JSON columns are passed as text. A NULL `const char *` is SQL NULL. `has_x` tells whether an optional number is
 * set.
 *  - Ids of experiments, trials, users, workspaces and projects are given by the caller (the loop allocates them in
 *    memory, starting from store_last_id()); ids of reports, sessions and storage backends are given by the store. No
 * id is ever used twice.
 *
 * Failures, besides the ordinary kinds:
 *  - ERR_CONFLICT: a constraint refused the change (duplicate name, unknown parent); the savepoint can be rolled back.
 *  - ERR_UNAVAILABLE: the disk is full (store_is_full()), or the server cannot be reached now (store_is_away()). Roll
 *    back, stop admitting requests, and run the same batch again later.
 *  - ERR_ABORTED: another master has taken over; nothing may be written any more.
 *  - ERR_IO: reading, writing or fsync failed. The program has to exit and to recover at its next start.
 * The flags stay set until store_clear_failure() is called. */
#ifndef DET_STORE_STORE_H
#define DET_STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/arena.h"
#include "common/base/error.h"

struct store;

enum store_durability {
    STORE_DURABLE_FULL,   /* a commit survives a loss of power: each commit does an fsync of the log */
    STORE_DURABLE_NORMAL, /* a commit survives a crash of the master; a loss of power may undo the last ones */
};

/* Opens a database for writing, and creates or migrates it if needed. Fails with ERR_PRECONDITION if a newer version
 * of the program wrote it. `place` is the path of a file, or postgresql://USER:PASSWORD@HOST:PORT/NAME?sslmode=…,
 * which names an existing database on a PostgreSQL server. */
int store_open(const char *place, enum store_durability durability, struct store **ret, struct error *err);
/* Opens a read-only connection to a database that store_open() has opened before. */
int store_open_reader(const char *place, struct store **ret, struct error *err);
void store_close(struct store *st); /* NULL is allowed; an open transaction is rolled back */

/* Takes the next epoch durably, in a transaction of its own. From then on every store_begin() of this connection
 * checks that no later epoch was taken. */
int store_next_epoch(struct store *st, int64_t *ret_epoch, struct error *err);

/* Begins a transaction that may write. Fails with ERR_ABORTED if another master took a later epoch. */
int store_begin(struct store *st, struct error *err);
int store_begin_read(struct store *st, struct error *err); /* all reads in it see the same version */
int store_commit(struct store *st, struct error *err);     /* after a failure the transaction is rolled back */
void store_rollback(struct store *st);
/* SQLite may end a transaction by itself when a statement fails. */
bool store_in_transaction(const struct store *st);

/* One job within a group: store_savepoint(), then store_release() or store_rollback_to(). The latter undoes the job
 * alone and ends the savepoint. A statement that the job sent ahead (query_send()) may report its failure as late as
 * at the release; the failure is the job's, and the caller rolls back to the savepoint. */
int store_savepoint(struct store *st, struct error *err);
int store_release(struct store *st, struct error *err);
int store_rollback_to(struct store *st, struct error *err);

/* With trust, jobs on a server have no savepoints, and a release does not wait for what its job sent ahead. Two
 * failures are then possible, both of which are store_is_tangled(): a job is told of a failure that was another
 * job's, or a job fails after it has changed something and cannot be rolled back alone. The caller rolls back the
 * whole transaction, and does it again without trust. */
void store_trust(struct store *st, bool trusting);
bool store_is_tangled(const struct store *st);

bool store_is_full(const struct store *st);
bool store_is_away(const struct store *st);
void store_clear_failure(struct store *st);

/* Returns the highest id ever used, deleted rows included; 0 if none was used. */
enum store_ids {
    STORE_IDS_EXPERIMENTS,
    STORE_IDS_TRIALS,
    STORE_IDS_USERS,
    STORE_IDS_WORKSPACES,
    STORE_IDS_PROJECTS,
    STORE_IDS_MODELS
};
int store_last_id(struct store *st, enum store_ids which, int64_t *ret, struct error *err);

/* Tokens and the keys of agents are stored only as their SHA-256. */
#define STORE_TOKEN_HASH_SIZE 32
#define STORE_AGENT_KEY_BYTES 32

/* A list of texts or ids, borrowed. In a filter n = 0 means that there is no filter. */
struct store_texts {
    const char *const *text;
    size_t n;
};
struct store_ints {
    const int32_t *value;
    size_t n;
};

/* Searches rows that are in the order of their ids. They are structs of any type that begins with the id. Returns
 * the place of the first row with that id or a higher one. */
size_t store_first_row_of(const void *rows, size_t n, size_t row_size, int32_t id);
/* Returns the row with that id; NULL if there is none. */
const void *store_row_by_id(const void *rows, size_t n, size_t row_size, int32_t id);

#endif
