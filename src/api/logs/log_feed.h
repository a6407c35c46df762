/* The newest lines of tasks whose log somebody follows, in memory: a follower that is up to date is fed from here and
 * reads no store, and all followers of a task share one copy.
 *
 * A task has a feed while it has followers. What is committed is pushed, in the order of the commits; at most
 * LOG_FEED_BYTES of it stay, so a follower that lags behind goes on from the store, and costs nothing here. Lines that
 * are stored without being pushed (the core's own) are a gap: each follower looks into the store once. Loop only, but
 * for the lines of a chunk that is held: they do not change. */
#ifndef DET_API_LOG_FEED_H
#define DET_API_LOG_FEED_H

#include <stdbool.h>
#include <stdint.h>

#include "store/logs/task_logs.h"

enum { LOG_FEED_BYTES = 256 * 1024 }; /* of a task; the newest batch stays however long it is */

struct log_feeds;
struct log_feed;

struct log_feeds *log_feeds_new(void);
void log_feeds_free(struct log_feeds *f); /* nobody may follow any more; NULL is fine */

struct log_feed *log_feed_follow(struct log_feeds *f, const char *task_id);
void log_feed_leave(struct log_feeds *f, struct log_feed *feed);

/* Nothing happens when nobody follows the task. */
void log_feed_push(struct log_feeds *f, const char *task_id, int64_t first_id, const struct store_log_line *line, size_t n);
void log_feed_gap(struct log_feeds *f, const char *task_id);
void log_feed_end(struct log_feeds *f, const char *task_id); /* the task is over */

/* Lines that follow one another; held until log_chunk_drop(). */
struct log_chunk {
    const struct store_log_line *line;
    size_t n;
};

/* What a follower knows that has read the store to its end: how far the feed was when it began to. */
struct log_mark { int64_t gaps; }; /* LOG_MARK_NONE: it has not */
#define LOG_MARK_NONE ((struct log_mark){-1})
struct log_mark log_feed_mark(const struct log_feed *feed);
bool log_feed_is_over(const struct log_feed *feed);

enum log_feed_look {
    LOG_FEED_STORE, /* the feed does not reach back to the cursor, or does not know: read the store */
    LOG_FEED_LINES, /* *ret has lines behind the cursor */
    LOG_FEED_NONE,  /* nothing is there that the follower does not have */
};
enum log_feed_look log_feed_look(struct log_feed *feed, struct log_mark mark, int64_t cursor,
                                 const struct log_chunk **ret);
void log_chunk_drop(const struct log_chunk *c); /* NULL is fine */

#endif
