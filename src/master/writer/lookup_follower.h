/* Once a second, on the thread of lookups, brings the columns in memory that lookups read
 * (store/lookup/lookup_tables.h) up to date with the database, so that no search has many changes to read first. Then
 * the writer deletes the notes of changes that were read long ago. */
#ifndef DET_MASTER_WRITER_LOOKUP_FOLLOWER_H
#define DET_MASTER_WRITER_LOOKUP_FOLLOWER_H

#include <stdbool.h>
#include <stddef.h>

#include "net/loop/loop.h"

struct pool;
struct lookup_follower;
struct writer;

struct lookup_follower *lookup_follower_new(struct loop *l, struct pool *lookups, struct writer *w);
void lookup_follower_stop(struct lookup_follower *f); /* no further work begins after this; f may be NULL */
/* To be called after the pool and the writer were freed; f may be NULL. */
void lookup_follower_free(struct lookup_follower *f);
size_t lookup_follower_bytes(const struct lookup_follower *f); /* the bytes of all columns, as of the last refresh */

#endif
