#include "common/task/spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/base/bytes.h"
#include "common/base/cleanup.h"
#include "common/base/must.h"
#include "common/system/files.h"

#define HEADER 16
#define RECORD_MAX (4 * TASK_LINE_MAX)
#define SEGMENT_BYTES (1024 * 1024)
#define NAME_LEN 20

struct segment {
    uint64_t first, next; /* holds the lines first … next - 1 */
    uint64_t bytes;
    int fd;
};

struct spool {
    int dir;
    uint64_t max_bytes, segment_bytes;
    struct segment *segment; /* in order; lines are written to the last one; there is at least one after spool_open() */
    size_t segment_n, segment_cap;
    struct strbuf pending; /* records that are not yet written to a file */
    uint64_t next;         /* number of the next line, pending lines counted */
    uint64_t acked;
    bool write_failed;
    /* where the last spool_read() ended: first line of the segment, next line, and that line's offset */
    struct {
        uint64_t first, seq, offset;
    } at;
};

/* FNV-1a. It tells an incomplete or foreign record from a whole one. It need not resist attacks, since only the owner
 * can write these files. */
static uint32_t record_checksum(const void *data, size_t n)
{
    const uint8_t *p = data;
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < n; i++)
        h = (h ^ p[i]) * 16777619u;
    return h;
}

static struct segment *last_segment(const struct spool *s)
{
    return &s->segment[s->segment_n - 1];
}

static int segment_add(struct spool *s, uint64_t first, struct error *err)
{
    char name[NAME_LEN + 1];
    snprintf(name, sizeof(name), "%020" PRIu64, first);
    int fd = openat(s->dir, name, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0)
        return error_errno(err, "spool: cannot open segment %s", name);
    if (s->segment_n == s->segment_cap) {
        s->segment_cap = s->segment_cap ? 2 * s->segment_cap : 8;
        s->segment = must_realloc(s->segment, s->segment_cap * sizeof(*s->segment));
    }
    s->segment[s->segment_n++] = (struct segment){.first = first, .next = first, .fd = fd};
    return 0;
}

static void segment_drop_first(struct spool *s)
{
    char name[NAME_LEN + 1];
    snprintf(name, sizeof(name), "%020" PRIu64, s->segment[0].first);
    close(s->segment[0].fd);
    unlinkat(s->dir, name, 0);
    s->segment_n--;
    memmove(s->segment, s->segment + 1, s->segment_n * sizeof(*s->segment));
}

/* Reads the record at `offset` into buf. Returns its length on disk, or 0 if no whole record of number `seq` starts
 * there. */
static size_t record_read(int fd, uint64_t offset, uint64_t seq, char *buf, size_t cap)
{
    ssize_t n = pread(fd, buf, cap, (off_t)offset);
    if (n < HEADER)
        return 0;
    struct cursor c = cursor_of(buf, (size_t)n);
    uint32_t length = cursor_u32(&c), sum = cursor_u32(&c);
    if (length < 8 || length > RECORD_MAX || (size_t)length + 8 > (size_t)n || sum != record_checksum(buf + 8, length))
        return 0;
    return cursor_u64(&c) == seq ? length + 8 : 0;
}

/* Counts the whole records of a segment that an earlier supervisor has left, and cuts off what follows them. */
static int segment_recover(struct segment *g, struct error *err)
{
    char buf[RECORD_MAX + HEADER];
    size_t n;
    while ((n = record_read(g->fd, g->bytes, g->next, buf, sizeof(buf))) > 0) {
        g->bytes += n;
        g->next++;
    }
    if (ftruncate(g->fd, (off_t)g->bytes) < 0)
        return error_errno(err, "spool: cannot cut a torn segment");
    return 0;
}

static int compare_u64(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static int list_segments(int dir, uint64_t **ret, size_t *ret_n, struct error *err)
{
    int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (!d)
        return error_errno(err, "spool: cannot list segments");
    uint64_t *list = NULL;
    size_t n = 0;
    for (struct dirent *e; (e = readdir(d));) {
        if (strlen(e->d_name) != NAME_LEN || strspn(e->d_name, "0123456789") != NAME_LEN)
            continue;
        list = must_realloc(list, (n + 1) * sizeof(*list));
        list[n++] = strtoull(e->d_name, NULL, 10);
    }
    closedir(d);
    if (n)
        qsort(list, n, sizeof(*list), compare_u64);
    *ret = list;
    *ret_n = n;
    return 0;
}

static int recover_segments(struct spool *s, struct error *err)
{
    cleanup_free uint64_t *first = NULL;
    size_t n = 0;
    if (list_segments(s->dir, &first, &n, err) < 0)
        return -1;
    for (size_t i = 0; i < n; i++) {
        if (segment_add(s, first[i], err) < 0 || segment_recover(last_segment(s), err) < 0)
            return -1;
    }
    if (!n && segment_add(s, 1, err) < 0)
        return -1;
    s->next = last_segment(s)->next;
    s->acked = s->segment[0].first - 1;
    return 0;
}

int spool_open(int dir, uint64_t max_bytes, struct spool **ret, struct error *err)
{
    struct spool *s = must_calloc(1, sizeof(*s));
    s->dir = dir;
    s->max_bytes = max_bytes;
    s->segment_bytes = max_bytes / 4 < SEGMENT_BYTES ? max_bytes / 4 : SEGMENT_BYTES;
    if (recover_segments(s, err) < 0) {
        spool_free(s);
        return -1;
    }
    *ret = s;
    return 0;
}

void spool_free(struct spool *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->segment_n; i++)
        close(s->segment[i].fd);
    free(s->segment);
    strbuf_release(&s->pending);
    free(s);
}

void spool_append(struct spool *s, const struct task_line *line)
{
    size_t at = s->pending.n;
    bytes_u32(&s->pending, 0);
    bytes_u32(&s->pending, 0);
    bytes_u64(&s->pending, s->next++);
    task_line_encode(line, &s->pending);
    size_t length = s->pending.n - at - 8;
    bytes_set_u32(&s->pending, at, (uint32_t)length);
    bytes_set_u32(&s->pending, at + 4, record_checksum(s->pending.s + at + 8, length));
}

int spool_flush(struct spool *s, struct error *err)
{
    if (!s->pending.n)
        return 0;
    s->write_failed = true;
    if (last_segment(s)->bytes >= s->segment_bytes && segment_add(s, last_segment(s)->next, err) < 0)
        return -1;
    struct segment *g = last_segment(s);
    if (fd_write_all(g->fd, s->pending.s, s->pending.n) < 0) {
        error_errno(err, "spool: cannot write %zu bytes", s->pending.n);
        /* Part of a record must not stay before what the next attempt writes. */
        if (ftruncate(g->fd, (off_t)g->bytes) < 0)
            return error_wrap(err, "spool: cannot undo a write that failed half-way");
        return -1;
    }
    g->bytes += s->pending.n;
    g->next = s->next;
    strbuf_reset(&s->pending);
    s->write_failed = false;
    return 0;
}

bool spool_full(const struct spool *s)
{
    uint64_t bytes = s->pending.n;
    for (size_t i = 0; i < s->segment_n; i++)
        bytes += s->segment[i].bytes;
    return s->write_failed || bytes >= s->max_bytes;
}

uint64_t spool_last(const struct spool *s)
{
    return s->next - 1;
}

uint64_t spool_acked(const struct spool *s)
{
    return s->acked;
}

void spool_ack(struct spool *s, uint64_t seq)
{
    if (seq <= s->acked)
        return;
    if (seq >= s->next) {
        strbuf_reset(&s->pending);
        s->next = seq + 1;
    }
    s->acked = seq;
    /* The name of the last segment keeps the numbering: before it is removed, an empty segment takes its place. */
    bool all = seq + 1 == s->next && s->pending.n == 0 && last_segment(s)->bytes > 0;
    bool moved = last_segment(s)->next < s->next && s->pending.n == 0;
    if ((all && last_segment(s)->bytes >= s->segment_bytes / 2) || moved)
        segment_add(s, s->next, NULL); /* if this fails, the old segment stays until the next time */
    while (s->segment_n > 1 && s->segment[0].next <= seq + 1)
        segment_drop_first(s);
}

static struct segment *segment_of(struct spool *s, uint64_t seq)
{
    for (size_t i = 0; i < s->segment_n; i++)
        if (seq < s->segment[i].next)
            return &s->segment[i];
    return NULL;
}

/* Moves s->at to line `seq`, or to the first line that is still there. Returns its segment, or NULL if there is no such
 * line. */
static struct segment *seek_line(struct spool *s, uint64_t seq)
{
    struct segment *g = segment_of(s, seq);
    if (!g || (s->at.first == g->first && s->at.seq == seq))
        return g;
    s->at.first = s->at.seq = g->first;
    s->at.offset = 0;
    char buf[HEADER];
    while (s->at.seq < seq) {
        if (pread(g->fd, buf, HEADER, (off_t)s->at.offset) != HEADER)
            return NULL;
        struct cursor c = cursor_of(buf, HEADER);
        s->at.offset += 8 + (uint64_t)cursor_u32(&c);
        s->at.seq++;
    }
    return g;
}

int spool_read(struct spool *s, uint64_t after, size_t bytes_max, struct spool_batch *ret, struct error *err)
{
    strbuf_reset(&ret->line);
    ret->count = 0;
    struct segment *g = seek_line(s, after + 1);
    if (!g)
        return 0;
    cleanup_strbuf struct strbuf raw = STRBUF_INIT;
    strbuf_reserve(&raw, bytes_max + RECORD_MAX + HEADER);
    ssize_t n = pread(g->fd, raw.s, bytes_max + RECORD_MAX, (off_t)s->at.offset);
    if (n < 0)
        return error_errno(err, "spool: cannot read segment %" PRIu64, g->first);
    ret->first = s->at.seq;
    for (struct cursor c = cursor_of(raw.s, (size_t)n);
         c.n >= HEADER && ret->line.n < bytes_max && s->at.seq < g->next;) {
        uint32_t length = cursor_u32(&c);
        if (length < 8 || (size_t)length + 4 > c.n)
            break;
        strbuf_add(&ret->line, c.p + 12, length - 8);
        c.p += 4 + length;
        c.n -= 4 + (size_t)length;
        s->at.offset += 8 + (uint64_t)length;
        s->at.seq++;
        ret->count++;
    }
    if (!ret->count)
        return error_set(err, ERR_INTERNAL, "spool: line %" PRIu64 " cannot be read", after + 1);
    return 0;
}
