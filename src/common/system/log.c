#include "common/system/log.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/strbuf.h"

static const struct {
    const char *name, *color;
    int priority; /* priority for the journal; the numbers of syslog */
} levels[LOG_LEVEL_NR] = {
    [LOG_TRACE] = {"trace", "\033[2m", 7},  [LOG_DEBUG] = {"debug", "\033[2m", 7},
    [LOG_INFO] = {"info", "\033[32m", 6},   [LOG_WARNING] = {"warning", "\033[33m", 4},
    [LOG_ERROR] = {"error", "\033[31m", 3}, [LOG_FATAL] = {"fatal", "\033[1;31m", 2},
};

/* These settings are written while the program starts. log_set_sink() may be called later, and lines may come from any
 * thread, so the sink has a lock. */
static const char *log_program = "";
static int log_journal;
static atomic_bool log_color;
static bool log_json;
static atomic_int log_threshold = LOG_INFO;
static pthread_mutex_t sink_lock = PTHREAD_MUTEX_INITIALIZER;
static log_sink_fn *sink_fn;
static void *sink_ctx;

/* Whether fd is the journal. The service manager tells which file the journal is, since a program may have replaced its
 * stderr. */
static int is_journal(int fd)
{
    const char *named = getenv("JOURNAL_STREAM");
    unsigned long long device, inode;
    struct stat st;
    return named && sscanf(named, "%llu:%llu", &device, &inode) == 2 && fstat(fd, &st) == 0 && st.st_dev == device &&
           st.st_ino == inode;
}

void log_init(const char *program, enum log_level level, int color)
{
    log_program = program;
    log_set_color(color);
    log_journal = is_journal(STDERR_FILENO);
    log_set_level(level);
}

void log_set_json(bool json)
{
    log_json = json;
}

void log_set_level(enum log_level level)
{
    atomic_store_explicit(&log_threshold, level, memory_order_relaxed);
}

void log_set_color(bool color)
{
    atomic_store_explicit(&log_color, color, memory_order_relaxed);
}

enum log_level log_level_now(void)
{
    return (enum log_level)atomic_load_explicit(&log_threshold, memory_order_relaxed);
}

bool log_color_now(void)
{
    return atomic_load_explicit(&log_color, memory_order_relaxed);
}

void log_set_sink(log_sink_fn *fn, void *ctx)
{
    pthread_mutex_lock(&sink_lock);
    sink_fn = fn;
    sink_ctx = ctx;
    pthread_mutex_unlock(&sink_lock);
}

int log_level_parse(const char *name, enum log_level *ret)
{
    if (strcasecmp(name, "warn") == 0) /* another spelling of "warning" */
        name = levels[LOG_WARNING].name;
    for (int i = 0; i < LOG_LEVEL_NR; i++)
        if (strcasecmp(name, levels[i].name) == 0) {
            *ret = (enum log_level)i;
            return 0;
        }
    return -1;
}

const char *log_level_name(enum log_level level)
{
    return levels[level].name;
}

/* Replaces line ends in a line, so that it stays one line whatever a value holds. */
static void flatten_line(char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)s[i] < ' ' || s[i] == 127)
            s[i] = ' ';
}

static void write_all(const char *s, size_t n)
{
    while (n > 0) {
        ssize_t done = write(STDERR_FILENO, s, n);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return; /* stderr cannot be written, and there is no better place for an error */
        s += done;
        n -= (size_t)done;
    }
}

/* Reads a value as log_quote() writes it, or one without quotes, up to the next blank. Returns what follows it. */
static const char *unquote_value(const char *s, struct strbuf *value)
{
    if (*s != '"') {
        size_t n = strcspn(s, " ");
        strbuf_add(value, s, n);
        return s + n;
    }
    for (s++; *s && *s != '"'; s++) {
        bool escaped = *s == '\\' && s[1];
        s += escaped;
        strbuf_addc(value, escaped && *s == 'n' ? '\n' : *s);
    }
    return *s ? s + 1 : s;
}

static void add_member(struct strbuf *line, const char *name, size_t name_n, const char *value, size_t value_n)
{
    if (line->s[line->n - 1] != '{')
        strbuf_addc(line, ',');
    strbuf_add_json(line, name, name_n);
    strbuf_addc(line, ':');
    strbuf_add_json(line, value, value_n);
}

/* Writes a line as JSON. The words key=value after the event become members of `fields`. The first word of another
 * form ends them: the rest is a sentence and becomes `text`. All values are strings, so that a key always has the
 * same type. */
static void print_json(struct strbuf *line, const char *time, enum log_level level, const char *body)
{
    static const char name_letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
    strbuf_adds(line, "{");
    add_member(line, "time", 4, time, strlen(time));
    add_member(line, "level", 5, levels[level].name, strlen(levels[level].name));
    add_member(line, "program", 7, log_program, strlen(log_program));
    size_t n = strcspn(body, " ");
    add_member(line, "event", 5, body, n);
    strbuf_adds(line, ",\"fields\":{");
    const char *s = body + n + strspn(body + n, " ");
    while ((n = strspn(s, name_letters)) > 0 && s[n] == '=') {
        struct strbuf value cleanup_strbuf = STRBUF_INIT;
        const char *end = unquote_value(s + n + 1, &value);
        add_member(line, s, n, strbuf_str(&value), value.n);
        s = end + strspn(end, " ");
    }
    strbuf_addc(line, '}');
    if (*s)
        add_member(line, "text", 4, s, strlen(s));
    strbuf_adds(line, "}\n");
}

/* Writes a line as text. Master and agent often share a terminal: there the program's name comes first, and the level
 * has a colour. */
static void print_line(const char *time, enum log_level level, const struct strbuf *body)
{
    struct strbuf line cleanup_strbuf = STRBUF_INIT;
    if (log_json)
        print_json(&line, time, level, body->s);
    else if (log_journal) /* the journal adds the time itself */
        strbuf_addf(&line, "<%d>%s %s\n", levels[level].priority, levels[level].name, body->s);
    else if (log_color)
        strbuf_addf(&line, "%s %s %s%s\033[0m %s\n", time, log_program, levels[level].color, levels[level].name,
                    body->s);
    else
        strbuf_addf(&line, "%s %s %s\n", time, levels[level].name, body->s);
    write_all(line.s, line.n);
}

void log_write(enum log_level level, const char *event, const char *fmt, ...)
{
    if ((int)level < atomic_load_explicit(&log_threshold, memory_order_relaxed))
        return;
    int saved_errno = errno;
    int64_t now_us = clock_now_us();
    char time[CLOCK_TEXT_MAX];
    clock_format(now_us, time);

    struct strbuf body cleanup_strbuf = STRBUF_INIT;
    strbuf_adds(&body, event);
    if (*fmt != '\0')
        strbuf_addc(&body, ' ');
    va_list ap;
    va_start(ap, fmt);
    strbuf_vaddf(&body, fmt, ap);
    va_end(ap);
    flatten_line(body.s, body.n);
    print_line(time, level, &body);

    pthread_mutex_lock(&sink_lock);
    if (sink_fn)
        sink_fn(sink_ctx, now_us, level, body.s);
    pthread_mutex_unlock(&sink_lock);
    errno = saved_errno;
}

enum { QUOTE_BUFFERS = 8, QUOTE_MAX = 1024 };

static int needs_quotes(const char *s)
{
    if (*s == '\0')
        return 1;
    for (; *s != '\0'; s++)
        if ((unsigned char)*s <= ' ' || *s == '"' || *s == '\\' || *s == '=' || *s == 127)
            return 1;
    return 0;
}

const char *log_quote(const char *s)
{
    static _Thread_local char buffers[QUOTE_BUFFERS][QUOTE_MAX];
    static _Thread_local unsigned next;
    if (!s)
        return "-";
    char *out = buffers[next++ % QUOTE_BUFFERS], *p = out, *end = out + QUOTE_MAX - 4;
    int quoted = needs_quotes(s);
    if (quoted)
        *p++ = '"';
    for (; *s != '\0' && p < end; s++) {
        if (*s == '\n' || *s == '"' || *s == '\\')
            *p++ = '\\';
        *p++ = *s == '\n' ? 'n' : *s;
    }
    if (quoted)
        *p++ = '"';
    *p = '\0';
    return out;
}
