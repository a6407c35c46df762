/* The audit log, as the store keeps it. Code that changes rows does not know of it: triggers, made of
 * contract/audited.json, note the changes of a job as long as the job has an author. The commit makes records of the
 * notes, in the same transaction: a change and its record are durable together, or neither is. */
#ifndef DET_STORE_CHANGES_CHANGES_H
#define DET_STORE_CHANGES_CHANGES_H

#include "core/records/change_record.h"
#include "store/functions.h"
#include "store/store.h"

/* Who changes something. The texts are borrowed. */
struct change_author {
    int64_t at_us;
    int32_t user_id;
    int64_t session_id;
    const char *username, *via, *address, *route;
};
/* One text for store_act_as(), in the arena. */
const char *change_author_text(struct arena *a, const struct change_author *author);

/* Names the author of what is changed from now on within the transaction; NULL: nobody, and nothing is noted. The text
 * must live until the next call. */
int store_act_as(struct store *st, const char *author, struct error *err);

/* Checks the whole log, from its first record to the one that the head names. ERR_PRECONDITION says which record is
 * wrong. *ret_head receives the head, in the arena. */
int store_changes_verify(struct store *st, struct arena *a, struct store_change_head *ret_head, struct error *err);

/* Removes the oldest records, at most `limit` of them, as far as they are older than before_us. The head notes the hash
 * of the last one that was removed, with which the rest still has to begin. Returns how many there were in *ret_n. */
int store_changes_trim(struct store *st, int64_t before_us, int64_t limit, int64_t *ret_n, struct error *err);

#endif
