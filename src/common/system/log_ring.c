#include "common/system/log_ring.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/must.h"

struct entry {
    int64_t time_us;
    enum log_level level;
    char *text;
    size_t n;
};

/* Line number i stands at place i modulo lines_max. */
struct log_ring {
    pthread_mutex_t lock;
    size_t lines_max, bytes_max, bytes;
    int64_t first, end;
    struct entry *entry;
};

struct log_ring *log_ring_new(size_t lines_max, size_t bytes_max)
{
    struct log_ring *r = must_calloc(1, sizeof(*r));
    r->entry = must_calloc(lines_max, sizeof(*r->entry));
    pthread_mutex_init(&r->lock, NULL);
    r->lines_max = lines_max;
    r->bytes_max = bytes_max;
    return r;
}

static struct entry *entry_at(const struct log_ring *r, int64_t id)
{
    return &r->entry[(size_t)id % r->lines_max];
}

static void forget_oldest(struct log_ring *r)
{
    struct entry *e = entry_at(r, r->first++);
    r->bytes -= e->n;
    free(e->text);
    e->text = NULL;
}

void log_ring_free(struct log_ring *r)
{
    if (!r)
        return;
    while (r->first < r->end)
        forget_oldest(r);
    pthread_mutex_destroy(&r->lock);
    free(r->entry);
    free(r);
}

void log_ring_add(void *ctx, int64_t now_us, enum log_level level, const char *line)
{
    struct log_ring *r = ctx;
    char *text = must_strdup(line);
    struct entry e = {.time_us = now_us, .level = level, .text = text, .n = strlen(text)};
    pthread_mutex_lock(&r->lock);
    while (r->first < r->end && ((size_t)(r->end - r->first) >= r->lines_max || r->bytes + e.n > r->bytes_max))
        forget_oldest(r);
    *entry_at(r, r->end++) = e;
    r->bytes += e.n;
    pthread_mutex_unlock(&r->lock);
}

void log_ring_range(struct log_ring *r, int64_t *ret_first, int64_t *ret_end)
{
    pthread_mutex_lock(&r->lock);
    *ret_first = r->first;
    *ret_end = r->end;
    pthread_mutex_unlock(&r->lock);
}

size_t log_ring_read(struct log_ring *r, int64_t from, size_t max, struct arena *a, struct log_ring_line **ret)
{
    struct log_ring_line *line = arena_array(a, struct log_ring_line, max + 1);
    size_t n = 0;
    pthread_mutex_lock(&r->lock);
    for (int64_t id = from > r->first ? from : r->first; id < r->end && n < max; id++) {
        const struct entry *e = entry_at(r, id);
        line[n++] = (struct log_ring_line){.id = id,
                                           .time_us = e->time_us,
                                           .level = e->level,
                                           .text = arena_strndup(a, e->text, e->n)};
    }
    pthread_mutex_unlock(&r->lock);
    *ret = line;
    return n;
}
