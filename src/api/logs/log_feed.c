#include "api/logs/log_feed.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "common/base/arena.h"
#include "common/base/hash.h"
#include "common/base/must.h"

struct chunk {
    struct log_chunk lines; /* must be first: followers hold a chunk by the address of its lines */
    struct arena arena;
    size_t bytes;
    int holders; /* number of references, the feed's own included */
    TAILQ_ENTRY(chunk) link;
};

struct log_feed {
    char *task_id;
    int followers;
    bool over;
    int64_t gaps;
    TAILQ_HEAD(chunk_list, chunk) chunks; /* the lines of all chunks follow one another without a gap */
    size_t bytes;
    UT_hash_handle hh;
};

struct log_feeds {
    struct log_feed *by_task;
};

static int64_t first_of(const struct chunk *c)
{
    return c->lines.line[0].id;
}
static int64_t last_of(const struct chunk *c)
{
    return c->lines.line[c->lines.n - 1].id;
}

/* ---- chunks ------------------------------------------------------------------------------------------------------ */

void log_chunk_drop(const struct log_chunk *given)
{
    struct chunk *c = (struct chunk *)given;
    if (!c || --c->holders > 0)
        return;
    arena_release(&c->arena);
    free(c);
}

static struct chunk *chunk_of(int64_t first_id, const struct store_log_line *line, size_t n)
{
    struct chunk *c = must_calloc(1, sizeof(*c));
    struct store_log_line *copy = arena_dup(&c->arena, line, n * sizeof(*line));
    for (size_t i = 0; i < n; i++) {
        struct store_log_line *l = &copy[i];
        l->id = first_id + (int64_t)i;
        l->allocation_id = arena_strdup(&c->arena, l->allocation_id);
        l->agent_id = arena_strdup(&c->arena, l->agent_id);
        l->container_id = arena_strdup(&c->arena, l->container_id);
        l->source = arena_strdup(&c->arena, l->source);
        l->stdtype = arena_strdup(&c->arena, l->stdtype);
        l->text = arena_strndup(&c->arena, l->text, l->text_n);
        c->bytes += l->text_n;
    }
    c->lines = (struct log_chunk){.line = copy, .n = n};
    c->holders = 1;
    return c;
}

static void drop_oldest(struct log_feed *feed)
{
    struct chunk *c = TAILQ_FIRST(&feed->chunks);
    TAILQ_REMOVE(&feed->chunks, c, link);
    feed->bytes -= c->bytes;
    log_chunk_drop(&c->lines);
}

static void drop_all(struct log_feed *feed)
{
    while (!TAILQ_EMPTY(&feed->chunks))
        drop_oldest(feed);
}

/* ---- feeds ------------------------------------------------------------------------------------------------------- */

struct log_feeds *log_feeds_new(void)
{
    struct log_feeds *f = must_calloc(1, sizeof(*f));
    return f;
}

static void feed_free(struct log_feeds *f, struct log_feed *feed)
{
    HASH_DEL(f->by_task, feed);
    drop_all(feed);
    free(feed->task_id);
    free(feed);
}

void log_feeds_free(struct log_feeds *f)
{
    struct log_feed *feed, *next;
    if (!f)
        return;
    HASH_ITER(hh, f->by_task, feed, next)
        feed_free(f, feed);
    free(f);
}

static struct log_feed *find_feed(struct log_feeds *f, const char *task_id)
{
    struct log_feed *feed;
    HASH_FIND_STR(f->by_task, task_id, feed);
    return feed;
}

struct log_feed *log_feed_follow(struct log_feeds *f, const char *task_id)
{
    struct log_feed *feed = find_feed(f, task_id);
    if (!feed) {
        feed = must_calloc(1, sizeof(*feed));
        feed->task_id = must_strdup(task_id);
        TAILQ_INIT(&feed->chunks);
        HASH_ADD_KEYPTR(hh, f->by_task, feed->task_id, strlen(feed->task_id), feed);
    }
    feed->followers++;
    return feed;
}

void log_feed_leave(struct log_feeds *f, struct log_feed *feed)
{
    if (--feed->followers == 0)
        feed_free(f, feed);
}

void log_feed_push(struct log_feeds *f, const char *task_id, int64_t first_id, const struct store_log_line *line,
                   size_t n)
{
    struct log_feed *feed = find_feed(f, task_id);
    if (!feed || n == 0)
        return;
    struct chunk *newest = TAILQ_LAST(&feed->chunks, chunk_list);
    if (newest && first_id != last_of(newest) + 1) {
        feed->gaps++;
        drop_all(feed);
    }
    struct chunk *c = chunk_of(first_id, line, n);
    TAILQ_INSERT_TAIL(&feed->chunks, c, link);
    feed->bytes += c->bytes;
    while (feed->bytes > LOG_FEED_BYTES && TAILQ_FIRST(&feed->chunks) != c)
        drop_oldest(feed);
}

void log_feed_gap(struct log_feeds *f, const char *task_id)
{
    struct log_feed *feed = find_feed(f, task_id);
    if (feed)
        feed->gaps++;
}

void log_feed_end(struct log_feeds *f, const char *task_id)
{
    struct log_feed *feed = find_feed(f, task_id);
    if (feed)
        feed->over = true;
}

/* ---- what followers ask ------------------------------------------------------------------------------------------ */

struct log_mark log_feed_mark(const struct log_feed *feed)
{
    return (struct log_mark){feed->gaps};
}

bool log_feed_is_over(const struct log_feed *feed)
{
    return feed->over;
}

enum log_feed_look log_feed_look(struct log_feed *feed, struct log_mark mark, int64_t cursor,
                                 const struct log_chunk **ret)
{
    struct chunk *c;
    *ret = NULL;
    if (mark.gaps != feed->gaps)
        return LOG_FEED_STORE;
    /* from the newest chunk back, since followers usually need the newest lines */
    TAILQ_FOREACH_REVERSE(c, &feed->chunks, chunk_list, link) {
        if (last_of(c) <= cursor)
            return LOG_FEED_NONE;
        if (first_of(c) > cursor + 1)
            continue;
        c->holders++;
        *ret = &c->lines;
        return LOG_FEED_LINES;
    }
    return TAILQ_EMPTY(&feed->chunks) ? LOG_FEED_NONE : LOG_FEED_STORE;
}
