/* Keeps in memory the newest lines of the tasks whose logs somebody follows. A follower that is up to date gets its
 * lines from here and does not read the store. All followers of a task share one copy.
 *
 * A task has a feed while it has followers. Committed lines are pushed in the order of the commits. At most
 * LOG_FEED_BYTES of them stay; a follower that falls behind reads the store again and costs nothing here. Lines that
 * are stored without being pushed (those of the core) are a gap, after which each follower reads the store once.
 * Call everything on the loop; but any thread may read the lines of a chunk that is held, since they do not change. */
#ifndef DET_API_LOGS_LOG_FEED_H
#define DET_API_LOGS_LOG_FEED_H

#include <stdbool.h>
#include <stdint.h>

#include "store/logs/task_logs.h"

enum { LOG_FEED_BYTES = 256 * 1024 }; /* for each task; the newest batch is kept however long it is */

struct log_feeds;
struct log_feed;

struct log_feeds *log_feeds_new(void);
void log_feeds_free(struct log_feeds *f); /* nobody may follow any more; NULL is allowed */

struct log_feed *log_feed_follow(struct log_feeds *f, const char *task_id);
void log_feed_leave(struct log_feeds *f, struct log_feed *feed);

/* Does nothing if nobody follows the task. */
void log_feed_push(struct log_feeds *f, const char *task_id, int64_t first_id, const struct store_log_line *line,
                   size_t n);
void log_feed_gap(struct log_feeds *f, const char *task_id);
void log_feed_end(struct log_feeds *f, const char *task_id); /* the task has ended */

/* Consecutive lines. They stay until log_chunk_drop() is called. */
struct log_chunk {
    const struct store_log_line *line;
    size_t n;
};

/* The mark of a follower that has read the store to its end: the feed's count of gaps when that reading began. */
struct log_mark {
    int64_t gaps;
}; /* LOG_MARK_NONE: the follower has not read the store to its end */
#define LOG_MARK_NONE ((struct log_mark){-1})
struct log_mark log_feed_mark(const struct log_feed *feed);
bool log_feed_is_over(const struct log_feed *feed);

enum log_feed_look {
    LOG_FEED_STORE, /* the feed does not reach back to the cursor, or there was a gap: read the store */
    LOG_FEED_LINES, /* *ret has lines after the cursor */
    LOG_FEED_NONE,  /* the follower has all lines */
};
enum log_feed_look log_feed_look(struct log_feed *feed, struct log_mark mark, int64_t cursor,
                                 const struct log_chunk **ret);
void log_chunk_drop(const struct log_chunk *c); /* NULL is allowed */

#endif
