/* Makes the messages of /stream from the store, on a reader's thread. */
#ifndef DET_API_UPDATES_UPDATE_READ_H
#define DET_API_UPDATES_UPDATE_READ_H

#include "api/updates/update_filter.h"

struct permission_set;
struct store;

/* A change of one object, as all subscribers are told of it. */
struct update {
    enum update_kind kind;
    struct update_ids old, now; /* what the object is, and was before, asked for by */
    int64_t seq;
    bool gone;          /* the object was deleted */
    const char *text;   /* the message with the object; NULL if it is gone */
    const char *leaves; /* the message for those who no longer want the object */
};

/* The changes after *seq, at most `limit` of them, each object once. *seq becomes the number of the last one. */
int updates_read(struct store *db, struct arena *a, int64_t *seq, int64_t limit, struct update **ret, size_t *ret_n,
                 bool *ret_more, struct error *err);

/* Whether somebody with these permissions may see an object of this kind in this workspace. NULL: they may. */
bool update_is_visible(const struct permission_set *may, enum update_kind kind, int32_t workspace_id);

/* What a client lacks: messages one after the other, each ended by a newline. *ret_seq is the number of the last change
 * that they contain. Objects that its user may not see are not there for it. */
int updates_catch_up(struct store *db, struct arena *a, struct update_request *request,
                     const struct permission_set *may, struct strbuf *out, int64_t *ret_seq, struct error *err);

#endif
