/* A record of the audit log: one row that somebody has changed. The records form a chain: the hash of each covers all
 * its other fields and the hash of the record before it. Whoever alters, removes or reorders records has to compute all
 * later hashes anew, and the last one then differs from what was noted elsewhere (docs/security.md#audit-log). Pure. */
#ifndef DET_CORE_RECORDS_CHANGE_RECORD_H
#define DET_CORE_RECORDS_CHANGE_RECORD_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"

enum { CHANGE_HASH_TEXT_MAX = 65 };

struct change_record {
    int64_t seq, at_us; /* the first record is number 1 */
    int32_t user_id;    /* 0: nobody had logged in, or the master itself */
    const char *username, *via;
    int64_t session_id; /* 0: none */
    const char *address, *route, *kind, *object_id, *action;
    const char *old_values, *new_values; /* JSON; NULL: there was, or is, no such row */
    const char *hash;                    /* 64 hexadecimal digits */
};

/* Computes the hash of a record that follows a record with the hash `before`: SHA-256 over `before`, and then each
 * field in its order as LENGTH:BYTES, with numbers as digits, and ~, for a JSON text that is NULL. */
void change_record_hash(const char *before, const struct change_record *c, char ret[CHANGE_HASH_TEXT_MAX]);

/* Where a check of the chain has arrived: the number and the hash of the last record that was right. */
struct change_chain {
    int64_t seq;
    char hash[CHANGE_HASH_TEXT_MAX];
};
void change_chain_begin(struct change_chain *chain, int64_t seq, const char *hash);
/* Checks the next record. ERR_PRECONDITION: the record is not the one that was written after the one before it. */
int change_chain_add(struct change_chain *chain, const struct change_record *c, struct error *err);
/* Checks that the chain ends with the record that the log must end with. */
int change_chain_end(const struct change_chain *chain, int64_t seq, const char *hash, struct error *err);

#endif
