/* The store: everything the platform must remember, behind plain synchronous calls on a connection.
 *
 * Threads and queues belong to the master. One connection writes (store_open: it also migrates and checkpoints), any
 * number read (store_open_reader); a connection belongs to one thread at a time. What is stored is told by the files of
 * queries/, one for each family of tables: the records are in rows.h, functions that run one statement or read one page
 * of a list are in functions.h, both made of these files. A family whose functions do more has a header of its own,
 * such as experiments.h. backup.h copies all of it.
 *
 * Conventions of all families:
 *  - No function commits. Writes run inside the caller's transaction (the writer's group commit); reads may run alone.
 *  - Results live in the caller's arena. A row that is not there is ERR_NOT_FOUND with a sentence that names it.
 *  - Times are µs UTC; 0 means "none" (NULL in the table). States are the API's names without their prefix: "ACTIVE".
 *  - JSON columns travel as text; a NULL `const char *` is SQL NULL. `has_x` tells whether an optional number is there.
 *  - Ids of experiments, trials, users, workspaces and projects are given by the caller (the loop allocates them in
 *    memory, starting from store_last_id); ids of reports, sessions and storage backends by the store. No id is ever
 *    used twice.
 *
 * Failures, beside the ordinary kinds:
 *     ERR_CONFLICT      a constraint said no (duplicate name, unknown parent); the savepoint can be rolled back
 *     ERR_UNAVAILABLE   store_is_full(): the disk is full; store_is_away(): the server is gone for the moment. Roll
 *                       back, stop admitting, retry the same batch later
 *     ERR_ABORTED       another master took over; nothing may be written any more
 *     ERR_IO            reading, writing or fsync failed. Exit and recover
 * The flags stay set until store_clear_failure(). */
#ifndef DET_STORE_STORE_H
#define DET_STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/arena.h"
#include "common/base/error.h"

struct store;

enum store_durability {
    STORE_DURABLE_FULL,   /* a commit survives power loss: fsync of the log at each commit */
    STORE_DURABLE_NORMAL, /* a commit survives a crash of the master; power loss may take the last ones */
};

/* Opens (creates, migrates) a database for writing. ERR_PRECONDITION if a newer version wrote it. `place` is the path
 * of a file, or postgresql://USER:PASSWORD@HOST:PORT/NAME?sslmode=…, a database that exists on a PostgreSQL server. */
int store_open(const char *place, enum store_durability durability, struct store **ret, struct error *err);
/* A read-only connection to a database that store_open has opened before. */
int store_open_reader(const char *place, struct store **ret, struct error *err);
void store_close(struct store *st); /* NULL is fine; an open transaction is rolled back */

/* Takes the next epoch, durably, in its own transaction. From then on every store_begin of this connection checks
 * it. */
int store_next_epoch(struct store *st, int64_t *ret_epoch, struct error *err);

/* write; ERR_ABORTED if another master took a later epoch */
int store_begin(struct store *st, struct error *err);
int store_begin_read(struct store *st, struct error *err); /* several reads of one and the same version */
int store_commit(struct store *st, struct error *err);     /* on failure the transaction is rolled back */
void store_rollback(struct store *st);
/* SQLite may end one by itself when it fails. */
bool store_in_transaction(const struct store *st);

/* One job within a group: savepoint … release, or rollback_to, which undoes the job alone and ends the savepoint. What
 * the job sent ahead (query_send) may show its failure as late as at the release, which is then the job's own: roll
 * back to the savepoint. */
int store_savepoint(struct store *st, struct error *err);
int store_release(struct store *st, struct error *err);
int store_rollback_to(struct store *st, struct error *err);

/* With trust jobs on a server have no savepoints, and a release does not wait for what its job sent ahead. A job may
 * then be told of a failure that was another's, and one that fails after it has changed something cannot be rolled back
 * alone: both are store_is_tangled(). Roll all of the transaction back, and do it again without. */
void store_trust(struct store *st, bool trusting);
bool store_is_tangled(const struct store *st);

bool store_is_full(const struct store *st);
bool store_is_away(const struct store *st);
void store_clear_failure(struct store *st);

/* The highest id ever used, deleted rows included; 0 if none. */
enum store_ids { STORE_IDS_EXPERIMENTS, STORE_IDS_TRIALS, STORE_IDS_USERS, STORE_IDS_WORKSPACES, STORE_IDS_PROJECTS };
int store_last_id(struct store *st, enum store_ids which, int64_t *ret, struct error *err);

/* Of secrets only the SHA-256 is kept. */
#define STORE_TOKEN_HASH_SIZE 32
#define STORE_AGENT_KEY_BYTES 32

/* A list of texts or ids, borrowed. n = 0 means "no filter" in filters. */
struct store_texts {
    const char *const *text;
    size_t n;
};
struct store_ints {
    const int32_t *value;
    size_t n;
};

/* Among rows in the order of an id, of any struct that begins with it: the place of the first row with that id or a
 * later one. */
size_t store_first_row_of(const void *rows, size_t n, size_t row_size, int32_t id);
/* The one row with that id; NULL: there is none. */
const void *store_row_by_id(const void *rows, size_t n, size_t row_size, int32_t id);

#endif
